// What the store holds.
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/store.h"

enum { DEPTH_MOST = 16 };

static void measure(int fd, int64_t *bytes, int64_t *modified, int depth) {
  DIR *d = fdopendir(fd);
  if (!d) {
    close(fd);
    return;
  }
  for (struct dirent *e; (e = readdir(d));) {
    struct stat st;
    if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISREG(st.st_mode)) {
      if (st.st_size > 0 && *bytes <= INT64_MAX - (int64_t)st.st_size) *bytes += (int64_t)st.st_size;
      *modified = CEL_MAX(*modified, (int64_t)st.st_mtime);
    } else if (S_ISDIR(st.st_mode) && depth < DEPTH_MOST) {
      int below = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      if (below >= 0) measure(below, bytes, modified, depth + 1);
    }
  }
  closedir(d);
}

void cel_store_measure(const char *dir, int64_t *bytes, int64_t *modified) {
  int64_t n = 0, newest = -1;
  int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd >= 0) measure(fd, &n, &newest, 0);
  if (bytes) *bytes = n;
  if (modified) *modified = newest;
}

void cel_store_listing_deinit(cel_store_listing *l) {
  for (int i = 0; i < l->n; i++) {
    free(l->entries[i].id);
    free(l->entries[i].path);
  }
  free(l->entries);
  *l = (cel_store_listing){0};
}

static bool is_folder(int parent, const char *name) {
  struct stat st;
  return fstatat(parent, name, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

static char *dup_n(const char *p, size_t n) {
  char *out = malloc(n + 1);
  if (!out) return NULL;
  memcpy(out, p, n);
  out[n] = 0;
  return out;
}

static cel_status add(cel_store_listing *l, const char *root, const char *owner, const char *name, cel_err *err) {
  if ((l->n & (l->n - 1)) == 0) {  // room doubles at each power of two
    cel_store_entry *more = realloc(l->entries, (l->n ? (size_t)l->n * 2 : 1) * sizeof *more);
    if (!more) return cel_fail_oom(err, "a list of models");
    l->entries = more;
  }
  cel_str whole = cel_str_of(name);
  cel_store_entry e = {.partial = cel_str_ends(whole, CEL_STR(".partial"))};
  cel_buf id = {0}, path = {0};
  cel_buf_printf(&path, "%s/%s/%s", root, owner, name);
  cel_buf_printf(&id, "%s/%s", owner, name);
  if (!id.failed && !path.failed) e.id = dup_n(id.p, id.n - (e.partial ? strlen(".partial") : 0));
  e.path = cel_buf_take(&path);
  cel_buf_deinit(&id);
  if (!e.id || !e.path) {
    free(e.id);
    free(e.path);
    return cel_fail_oom(err, "a list of models");
  }
  cel_store_measure(e.path, &e.bytes, &e.modified);
  l->entries[l->n++] = e;
  return CEL_OK;
}

static cel_status list_owner(cel_store_listing *l, const char *root, int fd, const char *owner, cel_err *err) {
  DIR *d = fdopendir(fd);
  if (!d) {
    close(fd);
    return CEL_OK;
  }
  cel_status s = CEL_OK;
  for (struct dirent *e; s == CEL_OK && (e = readdir(d));) {
    if (e->d_name[0] != '.' && is_folder(dirfd(d), e->d_name)) s = add(l, root, owner, e->d_name, err);
  }
  closedir(d);
  return s;
}

static int by_id(const void *a, const void *b) {
  const cel_store_entry *x = a, *y = b;
  int order = strcmp(x->id, y->id);
  return order ? order : (int)x->partial - (int)y->partial;
}

cel_status cel_store_list(const char *root, cel_store_listing *out, cel_err *err) {
  *out = (cel_store_listing){0};
  DIR *d = opendir(root);
  if (!d) return errno == ENOENT ? CEL_OK : cel_fail(err, CEL_IO, "the store %s: %s", root, strerror(errno));
  cel_status s = CEL_OK;
  for (struct dirent *e; s == CEL_OK && (e = readdir(d));) {
    if (e->d_name[0] == '.') continue;
    int fd = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) s = list_owner(out, root, fd, e->d_name, err);
  }
  closedir(d);
  if (s == CEL_OK && out->n) qsort(out->entries, (size_t)out->n, sizeof *out->entries, by_id);
  if (s != CEL_OK) cel_store_listing_deinit(out);
  return s;
}
