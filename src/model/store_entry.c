// One entry of the store: its record, its lock, its end.
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "model/store.h"

enum { DEPTH_MOST = 64 };

// ---- record ----------------------------------------------------------------------------------------------

static bool copy(char *out, size_t size, const char *text) {
  size_t n = strlen(text);
  if (n == 0 || n >= size) return false;
  memcpy(out, text, n + 1);
  return true;
}

bool cel_store_origin_read(const char *dir, cel_store_origin *out) {
  *out = (cel_store_origin){{0}, {0}, {0}};
  cel_buf path = {0};
  cel_json *json = NULL;
  cel_buf_printf(&path, "%s/.mlxcel.json", dir);
  bool good = !path.failed && cel_is_file(path.p) && cel_json_load(path.p, 65536, &json, NULL) == CEL_OK &&
              copy(out->repo, sizeof out->repo, cel_json_string(json, "repo", "")) &&
              copy(out->revision, sizeof out->revision, cel_json_string(json, "revision", "")) &&
              copy(out->commit, sizeof out->commit, cel_json_string(json, "commit", ""));
  if (!good) *out = (cel_store_origin){{0}, {0}, {0}};
  cel_json_decref(json);
  cel_buf_deinit(&path);
  return good;
}

cel_status cel_store_origin_write(const char *dir, const cel_store_origin *o, cel_err *err) {
  cel_buf path = {0}, text = {0};
  cel_buf_printf(&path, "%s/.mlxcel.json", dir);
  cel_buf_addz(&text, "{\"repo\":");
  cel_json_add_string(&text, cel_str_of(o->repo));
  cel_buf_addz(&text, ",\"revision\":");
  cel_json_add_string(&text, cel_str_of(o->revision));
  cel_buf_addz(&text, ",\"commit\":");
  cel_json_add_string(&text, cel_str_of(o->commit));
  cel_buf_addz(&text, "}\n");
  cel_status s = path.failed || text.failed ? cel_fail_oom(err, "an entry's record") : cel_write_file(path.p, text.p, (int64_t)text.n, err);
  cel_buf_deinit(&path);
  cel_buf_deinit(&text);
  return s;
}

// ---- lock ------------------------------------------------------------------------------------------------

// A record lock on the whole file: it ends with the process, however that ends.
static cel_status try_lock(int fd, const char *path, cel_err *err) {
  struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (fcntl(fd, F_SETLK, &l) == 0) return CEL_OK;
  if (errno != EACCES && errno != EAGAIN) return cel_fail(err, CEL_IO, "%s: %s", path, strerror(errno));
  long holder = fcntl(fd, F_GETLK, &l) == 0 && l.l_type != F_UNLCK ? (long)l.l_pid : 0;
  if (holder > 0) return cel_fail(err, CEL_BUSY, "process %ld is at work on this model (%s); try again when it has ended", holder, path);
  return cel_fail(err, CEL_BUSY, "another process is at work on this model (%s); try again when it has ended", path);
}

// The holder removes the file at its end, so the one that was locked may be gone from its name: then once more.
cel_status cel_store_lock_take(const char *path, cel_store_lock *out, cel_err *err) {
  *out = (cel_store_lock){-1, NULL};
  for (int tries = 0; tries < 100; tries++) {
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) return cel_fail(err, CEL_IO, "%s: %s", path, strerror(errno));
    cel_status s = try_lock(fd, path, err);
    if (s != CEL_OK) {
      close(fd);
      return s;
    }
    if (!cel_file_has_name(fd, path)) {
      close(fd);
      continue;
    }
    *out = (cel_store_lock){fd, strdup(path)};
    if (out->path) return CEL_OK;
    cel_store_lock_drop(out);
    return cel_fail_oom(err, "a file name");
  }
  return cel_fail(err, CEL_BUSY, "%s comes and goes; try again", path);
}

void cel_store_lock_drop(cel_store_lock *lock) {
  if (lock->path) unlink(lock->path);
  if (lock->fd >= 0) close(lock->fd);
  free(lock->path);
  *lock = (cel_store_lock){-1, NULL};
}

// ---- end -------------------------------------------------------------------------------------------------

static cel_status empty_folder(int fd, const char *shown, int depth, cel_err *err);

static cel_status delete_one(int parent, const char *name, const char *shown, int depth, cel_err *err) {
  struct stat st;
  if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? CEL_OK : cel_fail(err, CEL_IO, "%s: %s: %s", shown, name, strerror(errno));
  }
  bool folder = S_ISDIR(st.st_mode);
  if (folder) {
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return cel_fail(err, CEL_IO, "%s: %s: %s", shown, name, strerror(errno));
    CEL_TRY(empty_folder(fd, shown, depth + 1, err));
  }
  if (unlinkat(parent, name, folder ? AT_REMOVEDIR : 0) != 0) return cel_fail(err, CEL_IO, "%s: %s: %s", shown, name, strerror(errno));
  return CEL_OK;
}

// Takes fd over.
static cel_status empty_folder(int fd, const char *shown, int depth, cel_err *err) {
  DIR *d = fdopendir(fd);
  if (!d) {
    close(fd);
    return cel_fail(err, CEL_IO, "%s: %s", shown, strerror(errno));
  }
  cel_status s = depth > DEPTH_MOST ? cel_fail(err, CEL_UNSUPPORTED, "%s: more than %d folders in one another", shown, DEPTH_MOST) : CEL_OK;
  for (struct dirent *e; s == CEL_OK && (e = readdir(d));) {
    if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) s = delete_one(dirfd(d), e->d_name, shown, depth, err);
  }
  closedir(d);
  return s;
}

cel_status cel_store_delete_tree(const char *path, cel_err *err) { return delete_one(AT_FDCWD, path, path, 0, err); }

static bool exists_at(int fd, const char *name) {
  struct stat st;
  return fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

typedef struct removal {
  cel_buf owner, name, partial, lock, path;
  cel_store_lock held;
  int fd;
} removal;

static cel_status remove_locked(removal *r, const char *root, const char *owner_name, int64_t *bytes, cel_err *err) {
  bool whole = exists_at(r->fd, r->name.p), partial = exists_at(r->fd, r->partial.p);
  if (!whole && !partial) return cel_fail(err, CEL_NOT_FOUND, "the store (%s) has no model %s", root, owner_name);
  CEL_TRY(cel_store_lock_take(r->lock.p, &r->held, err));
  const char *parts[2] = {whole ? r->name.p : NULL, partial ? r->partial.p : NULL};
  for (int i = 0; i < 2; i++) {
    int64_t n = 0;
    if (!parts[i]) continue;
    cel_buf_clear(&r->path);
    cel_buf_printf(&r->path, "%s/%s", r->owner.p, parts[i]);
    if (r->path.failed) return cel_fail_oom(err, "a path");
    cel_store_measure(r->path.p, &n, NULL);
    if (bytes) *bytes += n;
    CEL_TRY(delete_one(r->fd, parts[i], r->path.p, 0, err));
  }
  return CEL_OK;
}

cel_status cel_store_remove(const char *root, const char *owner_name, int64_t *bytes, cel_err *err) {
  const char *slash = strchr(owner_name, '/');
  if (bytes) *bytes = 0;
  if (!slash) return cel_fail(err, CEL_INVALID, "\"%.200s\" is not OWNER/NAME", owner_name);
  removal r = {.held = {-1, NULL}, .fd = -1};
  cel_buf_printf(&r.owner, "%s/%.*s", root, (int)(slash - owner_name), owner_name);
  cel_buf_addz(&r.name, slash + 1);
  cel_buf_printf(&r.partial, "%s.partial", slash + 1);
  cel_buf_printf(&r.lock, "%s/%s.lock", root, owner_name);
  cel_status s = CEL_OK;
  if (r.owner.failed || r.name.failed || r.partial.failed || r.lock.failed) {
    s = cel_fail_oom(err, "a path");
  } else if ((r.fd = open(r.owner.p, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0) {
    if (errno == ENOENT) s = cel_fail(err, CEL_NOT_FOUND, "the store (%s) has no model %s", root, owner_name);
    else s = cel_fail(err, CEL_INVALID, "%s is no folder of the store (links are not followed): %s", r.owner.p, strerror(errno));
  } else {
    s = remove_locked(&r, root, owner_name, bytes, err);
  }
  cel_store_lock_drop(&r.held);
  if (r.fd >= 0) close(r.fd);
  if (s == CEL_OK) rmdir(r.owner.p);  // when that was the owner's last model
  cel_buf *all[] = {&r.owner, &r.name, &r.partial, &r.lock, &r.path};
  for (int i = 0; i < CEL_COUNT(all); i++) cel_buf_deinit(all[i]);
  return s;
}
