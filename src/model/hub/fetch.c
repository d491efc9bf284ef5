// The course of a download: lock, record, choice, what is missing, files, publication.
#define _POSIX_C_SOURCE 200809L
#include "model/hub/fetch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/file.h"
#include "model/hub/fetch_private.h"

// Of a user's folder everything stays inside it; of an entry of the store it lies beside it.
static cel_status name_places(cel_fetch_job *j, cel_err *err) {
  size_t n = strlen(j->o->folder);
  while (n > 1 && j->o->folder[n - 1] == '/') n--;
  cel_buf_add(&j->folder, j->o->folder, n);
  cel_buf_printf(&j->partial, j->o->in_place ? "%s/.mlxcel.partial" : "%s.partial", j->folder.p ? j->folder.p : "");
  cel_buf_printf(&j->lock, j->o->in_place ? "%s/.mlxcel.lock" : "%s.lock", j->folder.p ? j->folder.p : "");
  if (j->folder.failed || j->partial.failed || j->lock.failed) return cel_fail_oom(err, "a folder name");
  return CEL_OK;
}

// The folder that holds lock and partial, made when it is missing; it goes again when nothing came into it.
static cel_status make_home(cel_fetch_job *j, cel_buf *made, cel_err *err) {
  const char *slash = strrchr(j->lock.p, '/');
  cel_buf dir = {0};
  if (!slash || slash == j->lock.p) return CEL_OK;
  cel_buf_add(&dir, j->lock.p, (size_t)(slash - j->lock.p));
  if (!dir.failed && !cel_is_dir(dir.p)) cel_buf_adds(made, cel_buf_str(&dir));
  cel_status s = dir.failed || made->failed ? cel_fail_oom(err, "a folder name") : cel_make_dirs(dir.p, err);
  cel_buf_deinit(&dir);
  return s;
}

static cel_status name_origin(cel_fetch_job *j, cel_err *err) {
  const char *revision = j->o->revision ? j->o->revision : "main";
  int a = snprintf(j->origin.repo, sizeof j->origin.repo, "%s", j->o->repo);
  int b = snprintf(j->origin.revision, sizeof j->origin.revision, "%s", revision);
  if (a >= (int)sizeof j->origin.repo || b >= (int)sizeof j->origin.revision || b == 0) {
    return cel_fail(err, CEL_INVALID, "the revision \"%.40s\" has %d characters; 1 to %zu are taken", revision, b, sizeof j->origin.revision - 1);
  }
  return CEL_OK;
}

static bool has_all_by_name(const cel_fetch_job *j) {
  bool all = true;
  for (int i = 0; all && i < j->record.n_files; i++) {
    cel_buf path = {0};
    if (!j->record.files[i].wanted) continue;
    cel_buf_printf(&path, "%s/%s", j->folder.p, j->record.files[i].path);
    all = !path.failed && cel_is_file(path.p);
    cel_buf_deinit(&path);
  }
  return all;
}

// What a folder of another repository or commit means for this download. A whole model that the hub has a newer
// commit of is kept with a word about it (*keep), when no certain revision was asked for.
static cel_status check_occupant(cel_fetch_job *j, bool *keep, cel_err *err) {
  cel_store_origin there;
  *keep = false;
  if (!cel_store_origin_read(j->folder.p, &there)) return CEL_OK;
  bool same_repo = !strcmp(there.repo, j->o->repo);
  j->same_commit = same_repo && !strcmp(there.commit, j->record.commit);
  if (j->same_commit || j->o->force) return CEL_OK;
  if (same_repo && !j->o->revision && !strcmp(there.revision, "main") && has_all_by_name(j)) {
    char text[400];
    snprintf(text, sizeof text, "%.190s is here at commit %.12s; the hub is at %.12s now (--force fetches that)", j->o->repo, there.commit,
             j->record.commit);
    if (j->o->watch && j->o->watch->note) j->o->watch->note(j->o->watch->context, text);
    *keep = true;
    return CEL_OK;
  }
  return cel_fail(err, CEL_INVALID, "%s holds %s at %.12s (revision %s); %s is at %.12s now: --force replaces it", j->folder.p, there.repo,
                  there.commit, there.revision, j->origin.revision, j->record.commit);
}

// An earlier try of another commit: files that a digest proves may stay.
static cel_status prepare_partial(cel_fetch_job *j, cel_err *err) {
  cel_store_origin there;
  bool same = cel_store_origin_read(j->partial.p, &there) && !strcmp(there.commit, j->record.commit) && !strcmp(there.repo, j->o->repo);
  j->partial_same = same;
  CEL_TRY(cel_make_dirs(j->partial.p, err));
  for (int i = 0; !same && i < j->record.n_files; i++) {
    const cel_hub_file *f = &j->record.files[i];
    if (f->sha256[0]) continue;
    cel_buf path = {0};
    cel_buf_printf(&path, "%s/%s", j->partial.p, f->path);
    cel_status s = path.failed ? cel_fail_oom(err, "a file name") : cel_store_delete_tree(path.p, err);
    cel_buf_deinit(&path);
    CEL_TRY(s);
  }
  return cel_store_origin_write(j->partial.p, &j->origin, err);
}

static bool go_on(cel_fetch_job *j) {
  const cel_fetch_watch *w = j->o->watch;
  return !w || !w->progress || w->progress(w->context, &j->now);
}

// Which wanted files are in the folder already; the rest is what the progress counts.
static cel_status look_at_folder(cel_fetch_job *j, cel_fetch_result *out, cel_err *err) {
  j->have = calloc((size_t)j->record.n_files + 1, sizeof *j->have);
  if (!j->have) return cel_fail_oom(err, "a list of files");
  for (int i = 0; i < j->record.n_files; i++) {
    const cel_hub_file *f = &j->record.files[i];
    if (!f->wanted) continue;
    if (!go_on(j)) return cel_fail(err, CEL_CANCELLED, "interrupted");  // digests of large files take their time
    j->have[i] = !j->o->force && cel_fetch_has(j->folder.p, f, j->same_commit);
    out->n_files++;
    if (!cel_add_i64(out->bytes, f->bytes, &out->bytes)) return cel_fail(err, CEL_MALFORMED, "%s: the sizes in the hub's record have no sum", j->o->repo);
    if (j->have[i]) continue;
    j->now.n_files++;
    j->now.total += f->bytes;
  }
  return CEL_OK;
}

static cel_status check_space(const cel_fetch_job *j, cel_err *err) {
  struct statvfs v;
  int64_t need = 0;
  for (int i = 0; i < j->record.n_files; i++) {
    const cel_hub_file *f = &j->record.files[i];
    cel_buf path = {0};
    if (!f->wanted || j->have[i]) continue;
    cel_buf_printf(&path, "%s/%s", j->partial.p, f->path);
    if (path.failed || !cel_is_file(path.p)) need += f->bytes - cel_fetch_begun(j, f);
    cel_buf_deinit(&path);
  }
  if (statvfs(j->partial.p, &v) != 0) return CEL_OK;  // then the writes will tell
  int64_t room;
  if (!cel_mul_i64((int64_t)v.f_bavail, (int64_t)v.f_frsize, &room) || room >= need) return CEL_OK;
  cel_buf text = {0};
  cel_hub_add_size(&text, need);
  cel_buf_addz(&text, " are to be fetched, but only ");
  cel_hub_add_size(&text, room);
  cel_status s = cel_fail(err, CEL_IO, "%s: %s are free on its disk", j->folder.p, text.p ? text.p : "");
  cel_buf_deinit(&text);
  return s;
}

static cel_status fetch_files(cel_fetch_job *j, cel_fetch_result *out, cel_err *err) {
  for (int i = 0; i < j->record.n_files; i++) {
    const cel_hub_file *f = &j->record.files[i];
    if (!f->wanted || j->have[i]) continue;
    int64_t before = j->now.done;
    j->now.path = f->path;
    j->now.file++;
    j->now.file_bytes = f->bytes;
    j->now.file_done = 0;
    if (!cel_fetch_has(j->partial.p, f, j->partial_same)) {
      CEL_TRY(cel_fetch_file(j, f, err));
      out->n_fetched++;
      out->bytes_fetched += f->bytes;
    }
    j->now.file_done = f->bytes;
    j->now.done = before + f->bytes;
    j->now.file_ended = true;
    bool more = go_on(j);
    j->now.file_ended = false;
    if (!more) return cel_fail(err, CEL_CANCELLED, "interrupted");
  }
  return CEL_OK;
}

static cel_status run(cel_fetch_job *j, cel_fetch_result *out, cel_err *err) {
  CEL_TRY(cel_fetch_record(j, err));
  memcpy(out->commit, j->record.commit, sizeof out->commit);
  memcpy(j->origin.commit, j->record.commit, sizeof j->origin.commit);
  CEL_TRY(cel_hub_select(&j->record, j->o->repo, j->o->patterns, j->o->n_patterns, err));
  bool keep;
  CEL_TRY(check_occupant(j, &keep, err));
  if (keep) return CEL_OK;
  CEL_TRY(look_at_folder(j, out, err));
  if (j->now.n_files == 0) return j->same_commit ? CEL_OK : cel_store_origin_write(j->folder.p, &j->origin, err);
  CEL_TRY(prepare_partial(j, err));
  CEL_TRY(check_space(j, err));
  CEL_TRY(fetch_files(j, out, err));
  return cel_fetch_publish(j, err);
}

cel_status cel_fetch(const cel_fetch_options *o, cel_fetch_result *out, cel_err *err) {
  *out = (cel_fetch_result){0};
  cel_fetch_job j = {.o = o};
  cel_store_lock lock = {-1, NULL};
  cel_buf made = {0};
  cel_status s = CEL_OK;
  if (o->token && !cel_http_good_token(o->token)) {
    return cel_fail(err, CEL_INVALID, "the token holds a blank, a control character or other than ASCII, or is longer than 1000 characters");
  }
  CEL_TRY_DONE(s, cel_hub_endpoint(&j.endpoint, err));
  CEL_TRY_DONE(s, name_origin(&j, err));
  CEL_TRY_DONE(s, name_places(&j, err));
  CEL_TRY_DONE(s, make_home(&j, &made, err));
  CEL_TRY_DONE(s, cel_store_lock_take(j.lock.p, &lock, err));
  CEL_TRY_DONE(s, cel_http_new(&j.http, err));
  s = run(&j, out, err);
done:
  cel_http_free(j.http);
  cel_store_lock_drop(&lock);
  if (s != CEL_OK && made.n) rmdir(made.p);
  cel_hub_record_deinit(&j.record);
  free(j.have);
  cel_buf *all[] = {&j.endpoint, &j.folder, &j.partial, &j.lock, &made};
  for (int i = 0; i < CEL_COUNT(all); i++) cel_buf_deinit(all[i]);
  return s;
}
