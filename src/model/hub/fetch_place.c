// Where the files of a download lie, and how they come into their folder.
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "model/hub/fetch_private.h"

bool cel_fetch_has(const char *dir, const cel_hub_file *f, bool trusted) {
  cel_buf path = {0};
  struct stat st;
  cel_buf_printf(&path, "%s/%s", dir, f->path);
  bool has = !path.failed && lstat(path.p, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == f->bytes;
  if (has && !trusted) {
    char hex[CEL_SHA256_HEX_BYTES] = "";
    cel_sha256 s;
    cel_sha256_init(&s);
    has = f->sha256[0] && cel_sha256_add_file(&s, path.p, f->bytes, NULL) == CEL_OK;
    if (has) cel_sha256_end_hex(&s, hex);
    has = has && !strcmp(hex, f->sha256);
  }
  cel_buf_deinit(&path);
  return has;
}

cel_status cel_fetch_parents(const char *path, cel_err *err) {
  cel_buf dir = {0};
  const char *slash = strrchr(path, '/');
  if (!slash || slash == path) return CEL_OK;
  cel_buf_add(&dir, path, (size_t)(slash - path));
  cel_status s = dir.failed ? cel_fail_oom(err, "a folder name") : cel_make_dirs(dir.p, err);
  cel_buf_deinit(&dir);
  return s;
}

cel_status cel_fetch_sync(const char *dir, cel_err *err) {
  int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return cel_fail(err, CEL_IO, "%s: %s", dir, strerror(errno));
  int failed = fsync(fd) != 0 && errno != EINVAL;  // some file systems have no such thing
  close(fd);
  return failed ? cel_fail(err, CEL_IO, "%s: fsync: %s", dir, strerror(errno)) : CEL_OK;
}

static cel_status sync_parent(const char *path, cel_err *err) {
  cel_buf dir = {0};
  const char *slash = strrchr(path, '/');
  if (slash == path) cel_buf_addc(&dir, '/');
  else if (slash) cel_buf_add(&dir, path, (size_t)(slash - path));
  else cel_buf_addc(&dir, '.');
  cel_status s = dir.failed ? cel_fail_oom(err, "a folder name") : cel_fetch_sync(dir.p, err);
  cel_buf_deinit(&dir);
  return s;
}

static bool same_content(const char *a, const char *b) {
  cel_map x = {0}, y = {0};
  bool same = cel_map_open(a, &x, NULL) == CEL_OK && cel_map_open(b, &y, NULL) == CEL_OK && x.bytes == y.bytes &&
              memcmp(x.data, y.data, (size_t)x.bytes) == 0 && cel_map_check(&x, a, NULL) == CEL_OK &&
              cel_map_check(&y, b, NULL) == CEL_OK;
  cel_map_close(&x);
  cel_map_close(&y);
  return same;
}

// A user's own file is not replaced by another one unasked.
static cel_status may_replace(const cel_fetch_job *j, const char *from, const char *to, cel_err *err) {
  struct stat st;
  if (!j->o->in_place || j->same_commit || j->o->force || lstat(to, &st) != 0 || same_content(from, to)) return CEL_OK;
  return cel_fail(err, CEL_INVALID, "%s is there already and is not the hub's; --force replaces it", to);
}

static cel_status move_one(const cel_fetch_job *j, const cel_hub_file *f, cel_err *err) {
  cel_buf from = {0}, to = {0};
  cel_buf_printf(&from, "%s/%s", j->partial.p, f->path);
  cel_buf_printf(&to, "%s/%s", j->folder.p, f->path);
  cel_status s = from.failed || to.failed ? cel_fail_oom(err, "a file name") : may_replace(j, from.p, to.p, err);
  if (s == CEL_OK) s = cel_fetch_parents(to.p, err);
  if (s == CEL_OK && rename(from.p, to.p) != 0) s = cel_fail(err, CEL_IO, "%s: rename: %s", to.p, strerror(errno));
  if (s == CEL_OK) s = sync_parent(to.p, err);
  cel_buf_deinit(&from);
  cel_buf_deinit(&to);
  return s;
}

// File by file into a folder that is there: each of them is whole at any time.
static cel_status merge(cel_fetch_job *j, cel_err *err) {
  for (int i = 0; i < j->record.n_files; i++) {
    if (j->record.files[i].wanted && !j->have[i]) CEL_TRY(move_one(j, &j->record.files[i], err));
  }
  CEL_TRY(cel_store_origin_write(j->folder.p, &j->origin, err));
  return cel_store_delete_tree(j->partial.p, err);
}

// The old entry steps aside for a moment, so that the new one is never mixed with it.
static cel_status swap(cel_fetch_job *j, cel_err *err) {
  cel_buf old = {0};
  const char *slash = strrchr(j->folder.p, '/'), *name = slash ? slash + 1 : j->folder.p;
  cel_buf_printf(&old, "%.*s.%s.old", (int)(name - j->folder.p), j->folder.p, name);
  cel_status s = old.failed ? cel_fail_oom(err, "a folder name") : cel_store_delete_tree(old.p, err);
  if (s == CEL_OK && rename(j->folder.p, old.p) != 0) s = cel_fail(err, CEL_IO, "%s: rename: %s", old.p, strerror(errno));
  if (s == CEL_OK && rename(j->partial.p, j->folder.p) != 0) {
    s = cel_fail(err, CEL_IO, "%s: rename: %s", j->folder.p, strerror(errno));
    if (rename(old.p, j->folder.p) != 0) s = cel_err_prefix(err, "%s could not be put back", old.p);
  }
  if (s == CEL_OK) s = sync_parent(j->folder.p, err);
  if (s == CEL_OK) s = cel_store_delete_tree(old.p, err);
  cel_buf_deinit(&old);
  return s;
}

static cel_status appear(cel_fetch_job *j, cel_err *err) {
  if (rename(j->partial.p, j->folder.p) != 0) return cel_fail(err, CEL_IO, "%s: rename: %s", j->folder.p, strerror(errno));
  return sync_parent(j->folder.p, err);
}

cel_status cel_fetch_publish(cel_fetch_job *j, cel_err *err) {
  cel_store_origin there;
  bool exists = cel_is_dir(j->folder.p), known = cel_store_origin_read(j->folder.p, &there);
  if (j->o->in_place || (exists && (!known || j->same_commit))) return merge(j, err);
  CEL_TRY(cel_store_origin_write(j->partial.p, &j->origin, err));
  return exists ? swap(j, err) : appear(j, err);
}
