#define _POSIX_C_SOURCE 200809L
#include "model/write/out.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "model/store.h"
#include "model/tensor_list.h"

typedef struct out_file { int fd; char *path; } out_file;

struct cel_out {
  bool folder, replace, made, committed;
  cel_buf destination, parent, partial, old;
  cel_store_lock lock;
  out_file *files;
  int64_t n_files, cap_files;
};

static cel_status system_error(cel_err *err, const char *path, const char *what) {
  return cel_fail(err, CEL_IO, "%s: %s: %s", path, what, strerror(errno));
}

// ---- the destination --------------------------------------------------------------------------------

static cel_status set_names(cel_out *o, const char *destination, cel_buf *lock, cel_err *err) {
  size_t n = strlen(destination);
  while (n > 1 && destination[n - 1] == '/') n--;
  cel_buf_add(&o->destination, destination, n);
  if (o->destination.failed) return cel_fail_oom(err, "a path");
  const char *slash = strrchr(o->destination.p, '/'), *name = slash ? slash + 1 : o->destination.p;
  if (!*name || !strcmp(name, ".") || !strcmp(name, "..")) {
    return cel_fail(err, CEL_INVALID, "%s: a destination needs a name of its own", destination);
  }
  if (!slash) cel_buf_addz(&o->parent, ".");
  else cel_buf_add(&o->parent, o->destination.p, slash == o->destination.p ? 1 : (size_t)(slash - o->destination.p));
  cel_buf_printf(&o->partial, "%s/.%s.partial", o->parent.p, name);
  cel_buf_printf(&o->old, "%s/.%s.old", o->parent.p, name);
  cel_buf_printf(lock, "%s/.%s.lock", o->parent.p, name);
  return o->parent.failed || o->partial.failed || o->old.failed || lock->failed ? cel_fail_oom(err, "a path") : CEL_OK;
}

// A folder that somebody may want for something else than this model is not replaced.
static cel_status check_old_folder(const char *path, cel_err *err) {
  DIR *d = opendir(path);
  if (!d) return system_error(err, path, "opening it");
  bool empty = true, config = false, odd = false;
  for (const struct dirent *e; (e = readdir(d));) {
    struct stat st;
    if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
    empty = false;
    config |= !strcmp(e->d_name, "config.json");
    bool folder = fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
    odd |= folder && strcmp(e->d_name, "additional_chat_templates") != 0;
  }
  closedir(d);
  if (empty || (config && !odd)) return CEL_OK;
  return cel_fail(err, CEL_INVALID, "%s holds something else than a model (%s): --force does not replace it", path,
                  odd ? "folders" : "no config.json");
}

static cel_status check_destination(const cel_out *o, cel_err *err) {
  struct stat st;
  const char *path = o->destination.p;
  if (!cel_is_dir(o->parent.p)) return cel_fail(err, CEL_INVALID, "%s: there is no folder %s to write it into", path, o->parent.p);
  if (lstat(path, &st) != 0) return errno == ENOENT ? CEL_OK : system_error(err, path, "looking at it");
  if (!o->replace) return cel_fail(err, CEL_INVALID, "%s is there already; --force replaces it", path);
  if (o->folder && S_ISDIR(st.st_mode)) return check_old_folder(path, err);
  if (!o->folder && S_ISREG(st.st_mode)) return CEL_OK;
  return cel_fail(err, CEL_INVALID, "%s is there and no %s: --force does not replace it", path, o->folder ? "folder" : "regular file");
}

static cel_status begin(cel_out *o, const char *destination, cel_err *err) {
  cel_buf lock = {0};
  cel_status s = set_names(o, destination, &lock, err);
  if (s == CEL_OK) s = check_destination(o, err);
  if (s == CEL_OK) s = cel_store_lock_take(lock.p, &o->lock, err);
  cel_buf_deinit(&lock);
  CEL_TRY(s);
  CEL_TRY(cel_store_delete_tree(o->partial.p, err));  // what a killed process left
  o->made = true;
  if (!o->folder || mkdir(o->partial.p, 0777) == 0) return CEL_OK;
  return system_error(err, o->partial.p, "making the folder");
}

cel_status cel_out_begin(const char *destination, bool folder, bool replace, cel_out **out, cel_err *err) {
  cel_out *o = calloc(1, sizeof *o);
  *out = NULL;
  if (!o) return cel_fail_oom(err, "an output");
  *o = (cel_out){.folder = folder, .replace = replace, .lock = {-1, NULL}};
  cel_status s = begin(o, destination, err);
  if (s != CEL_OK) {
    cel_out_end(o);
    return s;
  }
  *out = o;
  return CEL_OK;
}

const char *cel_out_path(const cel_out *out) { return out->partial.p; }

// ---- writing ----------------------------------------------------------------------------------------

static cel_status add_file(cel_out *o, const char *path, int *index, cel_err *err) {
  void *items = o->files;
  if (!cel_grow(&items, o->n_files, &o->cap_files, sizeof *o->files)) return cel_fail_oom(err, path);
  o->files = items;
  char *kept = malloc(strlen(path) + 1);
  if (!kept) return cel_fail_oom(err, path);
  strcpy(kept, path);
  int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (fd < 0) {
    free(kept);
    return system_error(err, path, "making the file");
  }
  *index = (int)o->n_files;
  o->files[o->n_files++] = (out_file){fd, kept};
  return CEL_OK;
}

static cel_status make_path(const cel_out *o, const char *name, cel_buf *path, cel_err *err) {
  cel_buf_addz(path, o->partial.p);
  const char *slash = name ? strchr(name, '/') : NULL;
  if (slash) {
    cel_buf_printf(path, "/%.*s", (int)(slash - name), name);
    if (!path->failed && mkdir(path->p, 0777) != 0 && errno != EEXIST) return system_error(err, path->p, "making the folder");
    name = slash + 1;
  }
  if (name) cel_buf_printf(path, "/%s", name);
  return path->failed ? cel_fail_oom(err, "a path") : CEL_OK;
}

// A disk that is too full says so here and not after an hour. Sparse where the system cannot reserve.
static cel_status take_space(const out_file *f, int64_t bytes, cel_err *err) {
  if (ftruncate(f->fd, (off_t)bytes) != 0) return system_error(err, f->path, "taking its space");
#if defined(__linux__)
  int e = bytes ? posix_fallocate(f->fd, 0, (off_t)bytes) : 0;
  if (e == ENOSPC || e == EFBIG || e == EDQUOT) {
    errno = e;
    return system_error(err, f->path, "taking its space");
  }
#endif
  return CEL_OK;
}

cel_status cel_out_add(cel_out *o, const char *name, int64_t bytes, int *index, cel_err *err) {
  cel_buf path = {0};
  cel_status s = make_path(o, name, &path, err);
  if (s == CEL_OK) s = add_file(o, path.p, index, err);
  if (s == CEL_OK) s = take_space(&o->files[*index], bytes, err);
  cel_buf_deinit(&path);
  return s;
}

cel_status cel_out_put(cel_out *o, int index, int64_t offset, const void *data, int64_t bytes, cel_err *err) {
  const out_file *f = &o->files[index];
  for (const char *p = data; bytes > 0;) {
    ssize_t n = pwrite(f->fd, p, (size_t)bytes, (off_t)offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return system_error(err, f->path, "writing");
    p += n;
    offset += n;
    bytes -= n;
  }
  return CEL_OK;
}

cel_status cel_out_add_whole(cel_out *o, const char *name, const void *data, int64_t bytes, cel_err *err) {
  int index;
  CEL_TRY(cel_out_add(o, name, bytes, &index, err));
  return cel_out_put(o, index, 0, data, bytes, err);
}

// ---- the end ----------------------------------------------------------------------------------------

static cel_status flush_fd(int fd, const char *path, cel_err *err) {
  if (fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP) return CEL_OK;
  return system_error(err, path, "flushing it to disk");
}

static cel_status flush_folder(const char *path, cel_err *err) {
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return system_error(err, path, "opening the folder");
  cel_status s = flush_fd(fd, path, err);
  close(fd);
  return s;
}

cel_status cel_out_flush(cel_out *o, cel_err *err) {
  for (int64_t i = 0; i < o->n_files; i++) {
    CEL_TRY(flush_fd(o->files[i].fd, o->files[i].path, err));
#if defined(POSIX_FADV_DONTNEED)
    (void)posix_fadvise(o->files[i].fd, 0, 0, POSIX_FADV_DONTNEED);
#endif
  }
  if (!o->folder) return CEL_OK;
  for (int64_t i = 0; i < o->n_files; i++) {  // folders inside
    char *path = o->files[i].path, *slash = strrchr(path, '/');
    if ((size_t)(slash - path) == o->partial.n) continue;
    *slash = 0;
    cel_status s = flush_folder(path, err);
    *slash = '/';
    CEL_TRY(s);
  }
  return flush_folder(o->partial.p, err);
}

static cel_status close_files(cel_out *o, cel_err *err) {
  cel_status s = CEL_OK;
  for (int64_t i = 0; i < o->n_files; i++) {
    if (close(o->files[i].fd) != 0 && s == CEL_OK) s = system_error(err, o->files[i].path, "closing it");
    free(o->files[i].path);
  }
  o->n_files = 0;
  return s;
}

// A folder cannot be renamed over one that is not empty: the old one steps aside first, and back if need be.
static cel_status swap_folder(cel_out *o, cel_err *err) {
  bool there = cel_is_dir(o->destination.p);
  CEL_TRY(cel_store_delete_tree(o->old.p, err));
  if (there && rename(o->destination.p, o->old.p) != 0) return system_error(err, o->destination.p, "moving it aside");
  if (rename(o->partial.p, o->destination.p) != 0) {
    cel_status s = system_error(err, o->destination.p, "renaming the new one to it");
    if (there && rename(o->old.p, o->destination.p) != 0) cel_err_prefix(err, "what was there is now %s", o->old.p);
    return s;
  }
  o->committed = true;
  return there ? cel_store_delete_tree(o->old.p, err) : CEL_OK;
}

cel_status cel_out_commit(cel_out *o, cel_err *err) {
  CEL_TRY(cel_out_flush(o, err));
  CEL_TRY(close_files(o, err));
  CEL_TRY(check_destination(o, err));  // somebody may have come meanwhile
  if (o->folder) {
    CEL_TRY(swap_folder(o, err));
  } else if (rename(o->partial.p, o->destination.p) != 0) {
    return system_error(err, o->destination.p, "renaming the new one to it");
  }
  o->committed = true;
  return flush_folder(o->parent.p, err);
}

void cel_out_end(cel_out *o) {
  if (!o) return;
  (void)!close_files(o, NULL);
  if (o->made && !o->committed) (void)!cel_store_delete_tree(o->partial.p, NULL);
  cel_store_lock_drop(&o->lock);
  cel_buf *all[] = {&o->destination, &o->parent, &o->partial, &o->old};
  for (int i = 0; i < CEL_COUNT(all); i++) cel_buf_deinit(all[i]);
  free(o->files);
  free(o);
}
