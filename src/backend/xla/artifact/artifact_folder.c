// The folder as a whole: locks, listing, eviction, clearing.
#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE  // flock
#define _DARWIN_C_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/xla/artifact/artifact_file.h"

// ---- locks -------------------------------------------------------------------------------------------

static bool add_lock_path(cel_buf *b, const char *folder, const char *key) {
  cel_buf_printf(b, "%s/%s.lock", folder, key);
  return !b->failed;
}

// Whoever lets a lock go removes its file: what is locked must still have the name.
static int lock_path(const char *path, bool wait) {
  for (;;) {
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666), locked;
    if (fd < 0) return -1;
    do locked = flock(fd, wait ? LOCK_EX : LOCK_EX | LOCK_NB);
    while (locked != 0 && errno == EINTR);
    if (locked == 0 && cel_file_has_name(fd, path)) return fd;
    int saved = errno;
    close(fd);
    errno = saved;
    if (locked != 0) return -1;
  }
}

int cel_artifact_lock(const char *folder, const char *key, bool wait) {
  cel_buf path = {0};
  int fd = add_lock_path(&path, folder, key) ? lock_path(path.p, wait) : -1;
  cel_buf_deinit(&path);
  return fd;
}

void cel_artifact_unlock(const char *folder, const char *key, int fd) {
  cel_buf path = {0};
  if (add_lock_path(&path, folder, key)) (void)unlink(path.p);
  cel_buf_deinit(&path);
  close(fd);
}

// ---- what is there -----------------------------------------------------------------------------------

typedef struct found {
  char name[CEL_SHA256_HEX_BYTES + 32];
  int64_t bytes, used_s, used_ns;
} found;

typedef struct finding {
  found *items;
  int64_t n, cap;
} finding;

static int by_name(const void *a, const void *b) { return strcmp(((const found *)a)->name, ((const found *)b)->name); }

static int by_use(const void *a, const void *b) {
  const found *x = a, *y = b;
  if (x->used_s != y->used_s) return x->used_s < y->used_s ? -1 : 1;
  if (x->used_ns != y->used_ns) return x->used_ns < y->used_ns ? -1 : 1;
  return by_name(a, b);
}

// 64 digits of a key and the suffix.
static bool has_name(const char *name, const char *suffix) {
  size_t n = strlen(name);
  if (n != 2 * CEL_SHA256_BYTES + strlen(suffix) || strcmp(name + 2 * CEL_SHA256_BYTES, suffix) != 0) return false;
  return strspn(name, "0123456789abcdef") >= 2 * CEL_SHA256_BYTES;
}

static bool add(finding *f, int folder, const char *name) {
  struct stat st;
  if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode)) return true;  // gone meanwhile
  if (f->n == f->cap) {
    int64_t cap = f->cap ? 2 * f->cap : 64;
    found *p = realloc(f->items, (size_t)cap * sizeof *p);
    if (!p) return false;
    f->items = p;
    f->cap = cap;
  }
#ifdef __APPLE__
  found x = {.bytes = st.st_size, .used_s = st.st_mtimespec.tv_sec, .used_ns = st.st_mtimespec.tv_nsec};
#else
  found x = {.bytes = st.st_size, .used_s = st.st_mtim.tv_sec, .used_ns = st.st_mtim.tv_nsec};
#endif
  snprintf(x.name, sizeof x.name, "%s", name);
  f->items[f->n++] = x;
  return true;
}

static cel_status find(const char *folder, const char *suffix, finding *f, cel_err *err) {
  *f = (finding){0};
  DIR *d = opendir(folder);
  if (!d) return errno == ENOENT ? CEL_OK : cel_fail(err, CEL_IO, "%s: %s", folder, strerror(errno));
  bool ok = true;
  for (struct dirent *e; ok && (e = readdir(d));) {
    if (has_name(e->d_name, suffix)) ok = add(f, dirfd(d), e->d_name);
  }
  closedir(d);
  if (ok) return CEL_OK;
  free(f->items);
  *f = (finding){0};
  return cel_fail_oom(err, "the entries of a folder");
}

static void sort(finding *f, int (*order)(const void *, const void *)) {
  if (f->n > 1) qsort(f->items, (size_t)f->n, sizeof *f->items, order);
}

static bool remove_file(const char *folder, const char *name) {
  cel_buf path = {0};
  cel_buf_printf(&path, "%s/%s", folder, name);
  bool gone = path.p && !path.failed && unlink(path.p) == 0;
  cel_buf_deinit(&path);
  return gone;
}

// ---- listing -----------------------------------------------------------------------------------------

static void show(const char *folder, const found *x, bool whole, void (*entry)(void *, const cel_artifact_info *), void *context) {
  char wrong[CEL_ARTIFACT_WRONG_BYTES] = "", key[CEL_SHA256_HEX_BYTES] = "", stem[CEL_SHA256_HEX_BYTES];
  cel_artifact_header h = {0};
  cel_map map = {0};
  cel_err err = {0};
  cel_buf path = {0};
  snprintf(stem, sizeof stem, "%.64s", x->name);
  cel_buf_printf(&path, "%s/%s", folder, x->name);
  bool ok = path.p && cel_map_open(path.p, &map, &err) == CEL_OK;
  if (!ok) snprintf(wrong, sizeof wrong, "%.150s", err.text);
  if (ok) {
    ok = whole ? cel_artifact_check(map.data, map.bytes, stem, &h, wrong) : cel_artifact_read_header(map.data, map.bytes, &h, wrong);
    if (ok) cel_artifact_hex(h.key, key);
  }
  cel_artifact_info info = {.file = x->name, .wrong = ok ? NULL : wrong, .bytes = x->bytes, .created_s = h.created_s,
                            .used_s = x->used_s, .key = key, .engine = h.engine, .version = h.version, .target = h.target,
                            .note = h.note};
  entry(context, &info);
  cel_map_close(&map);
  cel_buf_deinit(&path);
}

cel_status cel_artifact_each(const char *folder, bool whole, void (*entry)(void *context, const cel_artifact_info *info),
                             void *context, cel_err *err) {
  finding f;
  CEL_TRY(find(folder, CEL_ARTIFACT_SUFFIX, &f, err));
  sort(&f, by_name);
  for (int64_t i = 0; i < f.n; i++) show(folder, &f.items[i], whole, entry, context);
  free(f.items);
  return CEL_OK;
}

// ---- making room -------------------------------------------------------------------------------------

// What a process left that was killed: files of entries that nobody has locked.
static void sweep(const char *folder) {
  static const char *const suffixes[] = {CEL_ARTIFACT_SUFFIX ".partial", ".lock"};
  for (int k = 0; k < CEL_COUNT(suffixes); k++) {
    finding f;
    if (find(folder, suffixes[k], &f, NULL) != CEL_OK) continue;
    for (int64_t i = 0; i < f.n; i++) {
      char key[CEL_SHA256_HEX_BYTES];
      snprintf(key, sizeof key, "%.64s", f.items[i].name);
      int lock = cel_artifact_lock(folder, key, false);
      if (lock < 0) continue;
      if (k == 0) (void)remove_file(folder, f.items[i].name);
      cel_artifact_unlock(folder, key, lock);
    }
    free(f.items);
  }
}

void cel_artifact_evict(const char *folder, int64_t limit, const char *keep) {
  finding f;
  int64_t sum = 0;
  if (find(folder, CEL_ARTIFACT_SUFFIX, &f, NULL) != CEL_OK) return;
  for (int64_t i = 0; i < f.n; i++) sum += f.items[i].bytes;
  if (sum > limit) sweep(folder);
  sort(&f, by_use);
  for (int64_t i = 0; i < f.n && sum > limit; i++) {
    if (!strcmp(f.items[i].name, keep)) continue;
    (void)remove_file(folder, f.items[i].name);
    sum -= f.items[i].bytes;
  }
  free(f.items);
}

cel_status cel_artifact_clear(const char *folder, int64_t *n, int64_t *bytes, cel_err *err) {
  finding f;
  *n = *bytes = 0;
  CEL_TRY(find(folder, CEL_ARTIFACT_SUFFIX, &f, err));
  cel_status s = CEL_OK;
  for (int64_t i = 0; i < f.n; i++) {
    if (remove_file(folder, f.items[i].name)) {
      *n += 1;
      *bytes += f.items[i].bytes;
    } else if (errno != ENOENT && s == CEL_OK) {
      s = cel_fail(err, CEL_IO, "%s/%s: %s", folder, f.items[i].name, strerror(errno));
    }
  }
  sweep(folder);
  free(f.items);
  return s;
}
