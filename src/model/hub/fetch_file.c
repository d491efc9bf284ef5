// One file of a download, and the hub's record.
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/hub/fetch_private.h"

static bool report(cel_fetch_job *j) {
  const cel_fetch_watch *w = j->o->watch;
  return !w || !w->progress || w->progress(w->context, &j->now);
}

// ---- the record --------------------------------------------------------------------------------------------

typedef struct text_sink {
  cel_fetch_job *job;
  cel_buf text;
} text_sink;

static int64_t text_from(void *context) {
  (void)context;
  return 0;  // small: each try begins anew
}

static cel_status text_begin(void *context, int64_t from, cel_err *err) {
  (void)from, (void)err;
  cel_buf_clear(&((text_sink *)context)->text);
  return CEL_OK;
}

static cel_status text_add(void *context, const void *data, size_t n, cel_err *err) {
  text_sink *t = context;
  cel_buf_add(&t->text, data, n);
  return t->text.failed ? cel_fail_oom(err, "the hub's record") : CEL_OK;
}

static bool text_go_on(void *context) { return report(((text_sink *)context)->job); }

static cel_status text_restart(void *context, cel_err *err) { return text_begin(context, 0, err); }

cel_status cel_fetch_record(cel_fetch_job *j, cel_err *err) {
  cel_buf url = {0};
  text_sink t = {.job = j};
  cel_buf_printf(&url, "%s/api/models/%s/revision/", j->endpoint.p, j->o->repo);
  cel_hub_add_escaped(&url, j->o->revision ? j->o->revision : "main", false);
  cel_buf_addz(&url, "?blobs=true");
  cel_fetch_source s = {.url = url.p, .what = j->o->repo, .expect = -1, .most = CEL_HUB_RECORD_BYTES_MOST, .first = true,
                        .from = text_from, .restart = text_restart, .sink = {text_begin, text_add, text_go_on, &t}};
  cel_status status = url.failed ? cel_fail_oom(err, "an address") : cel_fetch_try(j, &s, err);
  if (status == CEL_OK) status = cel_hub_parse(cel_buf_str(&t.text), j->o->repo, &j->record, err);
  cel_buf_deinit(&t.text);
  cel_buf_deinit(&url);
  return status;
}

// ---- a file --------------------------------------------------------------------------------------------------

typedef struct file_sink {
  cel_fetch_job *job;
  const cel_hub_file *file;
  int fd;
  int64_t at;        // bytes in the file, all of them in the digest
  int64_t before;    // job->now.done when this file began
  cel_sha256 digest;
  cel_buf part, final, url;  // part: hidden, until it is right
} file_sink;

static void show(file_sink *f) {
  f->job->now.file_done = f->at;
  f->job->now.done = f->before + f->at;
}

static int64_t file_from(void *context) { return ((file_sink *)context)->at; }

static cel_status file_restart(void *context, cel_err *err) {
  file_sink *f = context;
  if (ftruncate(f->fd, 0) != 0 || lseek(f->fd, 0, SEEK_SET) != 0) return cel_fail(err, CEL_IO, "%s: %s", f->part.p, strerror(errno));
  f->at = 0;
  cel_sha256_init(&f->digest);
  show(f);
  return CEL_OK;
}

static cel_status file_begin(void *context, int64_t from, cel_err *err) {
  file_sink *f = context;
  return from == f->at ? CEL_OK : file_restart(f, err);  // this server does not resume
}

static cel_status file_add(void *context, const void *data, size_t n, cel_err *err) {
  file_sink *f = context;
  const char *p = data;
  cel_sha256_add(&f->digest, data, n);
  while (n) {
    ssize_t w = write(f->fd, p, n);
    if (w < 0 && errno == EINTR) continue;
    if (w <= 0) {
      return cel_fail(err, CEL_IO, "%s: %s after %lld of %lld bytes; they are kept, and the next download goes on with them", f->final.p,
                      w < 0 ? strerror(errno) : "nothing was written", (long long)f->at, (long long)f->file->bytes);
    }
    p += w;
    n -= (size_t)w;
    f->at += w;
  }
  show(f);
  return CEL_OK;
}

static bool file_go_on(void *context) { return report(((file_sink *)context)->job); }

static void part_name(const cel_fetch_job *j, const cel_hub_file *f, cel_buf *out) {
  const char *slash = strrchr(f->path, '/');
  int head = slash ? (int)(slash - f->path) + 1 : 0;
  cel_buf_printf(out, "%s/%.*s.%s.part", j->partial.p, head, f->path, f->path + head);
}

int64_t cel_fetch_begun(const cel_fetch_job *j, const cel_hub_file *f) {
  cel_buf part = {0};
  struct stat st;
  part_name(j, f, &part);
  bool there = f->sha256[0] && !part.failed && lstat(part.p, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= f->bytes;
  cel_buf_deinit(&part);
  return there ? (int64_t)st.st_size : 0;
}

// What is there of an earlier try goes into the digest. Without a digest to prove it, it is not trusted.
static cel_status take_up(file_sink *f, cel_err *err) {
  struct stat st;
  if (fstat(f->fd, &st) != 0 || !S_ISREG(st.st_mode)) return cel_fail(err, CEL_IO, "%s is no plain file", f->part.p);
  if (!f->file->sha256[0] || st.st_size > f->file->bytes) return file_restart(f, err);
  uint8_t data[65536];
  while (f->at < (int64_t)st.st_size) {
    ssize_t n = read(f->fd, data, sizeof data);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return cel_fail(err, CEL_IO, "%s: %s", f->part.p, n < 0 ? strerror(errno) : "it became shorter");
    cel_sha256_add(&f->digest, data, (size_t)n);
    f->at += n;
    show(f);
    if (!report(f->job)) return cel_fail(err, CEL_CANCELLED, "interrupted");
  }
  return CEL_OK;
}

static bool is_right(const file_sink *f, char got[CEL_SHA256_HEX_BYTES]) {
  cel_sha256 copy = f->digest;
  cel_sha256_end_hex(&copy, got);
  return !f->file->sha256[0] || !strcmp(got, f->file->sha256);
}

// A digest that is wrong once may be an old part's fault or a cache's; twice it is the hub's.
static cel_status fetch_right(file_sink *f, cel_err *err) {
  char got[CEL_SHA256_HEX_BYTES], text[400];
  const cel_fetch_watch *w = f->job->o->watch;
  for (int round = 0;; round++) {
    cel_fetch_source s = {.url = f->url.p, .what = f->file->path, .expect = f->file->bytes, .most = f->file->bytes,
                          .from = file_from, .restart = file_restart, .sink = {file_begin, file_add, file_go_on, f}};
    if (f->at < f->file->bytes || f->file->bytes == 0) CEL_TRY(cel_fetch_try(f->job, &s, err));
    if (is_right(f, got)) return CEL_OK;
    CEL_TRY(file_restart(f, err));
    if (round == 1) break;
    snprintf(text, sizeof text, "%.200s: its SHA-256 is wrong; fetching it anew", f->file->path);
    if (w && w->note) w->note(w->context, text);
  }
  unlink(f->part.p);
  return cel_fail(err, CEL_MALFORMED, "%s: its SHA-256 is %s, the hub's record says %s; the file was thrown away", f->file->path, got, f->file->sha256);
}

static cel_status fetch_open(file_sink *f, cel_err *err) {
  CEL_TRY(take_up(f, err));
  CEL_TRY(fetch_right(f, err));
  if (fsync(f->fd) != 0 && errno != EINVAL) return cel_fail(err, CEL_IO, "%s: fsync: %s", f->part.p, strerror(errno));
  if (rename(f->part.p, f->final.p) != 0) return cel_fail(err, CEL_IO, "%s: rename: %s", f->final.p, strerror(errno));
  return CEL_OK;
}

cel_status cel_fetch_file(cel_fetch_job *j, const cel_hub_file *file, cel_err *err) {
  file_sink f = {.job = j, .file = file, .fd = -1, .before = j->now.done};
  cel_sha256_init(&f.digest);
  part_name(j, file, &f.part);
  cel_buf_printf(&f.final, "%s/%s", j->partial.p, file->path);
  cel_buf_printf(&f.url, "%s/%s/resolve/%s/", j->endpoint.p, j->o->repo, j->record.commit);
  cel_hub_add_escaped(&f.url, file->path, true);
  cel_status s = f.part.failed || f.final.failed || f.url.failed ? cel_fail_oom(err, "a file name") : cel_fetch_parents(f.part.p, err);
  if (s == CEL_OK) {
    f.fd = open(f.part.p, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    s = f.fd < 0 ? cel_fail(err, CEL_IO, "%s: %s", f.part.p, strerror(errno)) : fetch_open(&f, err);
  }
  if (f.fd >= 0 && close(f.fd) != 0 && s == CEL_OK) s = cel_fail(err, CEL_IO, "%s: %s", f.part.p, strerror(errno));
  cel_buf_deinit(&f.part);
  cel_buf_deinit(&f.final);
  cel_buf_deinit(&f.url);
  return s;
}
