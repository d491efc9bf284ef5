#define _POSIX_C_SOURCE 200809L
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map_guard.h"

static cel_status open_for_read(const char *path, int *fd, int64_t *bytes, cel_err *err) {
  *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe without a writer must not hold us up
  if (*fd < 0) {
    cel_status s = errno == ENOENT || errno == ENOTDIR ? CEL_NOT_FOUND : CEL_IO;
    return cel_fail(err, s, "%s: %s", path, strerror(errno));
  }
  struct stat st;
  if (fstat(*fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    close(*fd);
    return cel_fail(err, CEL_INVALID, "%s: not a regular file", path);
  }
  *bytes = (int64_t)st.st_size;
  return CEL_OK;
}

cel_status cel_map_open(const char *path, cel_map *out, cel_err *err) {
  int fd;
  int64_t bytes;
  CEL_TRY(open_for_read(path, &fd, &bytes, err));
  *out = (cel_map){.data = (const uint8_t *)""};
  if (bytes == 0) {
    close(fd);
    return CEL_OK;
  }
  void *p = mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE, fd, 0);
  if (p == MAP_FAILED) {
    cel_status s = cel_fail(err, CEL_IO, "%s: cannot map %lld bytes: %s", path, (long long)bytes, strerror(errno));
    close(fd);
    return s;
  }
  int guard = cel_map_guard(p, (size_t)bytes);
  if (guard < 0) {
    munmap(p, (size_t)bytes);
    close(fd);
    return cel_fail(err, CEL_IO, "%s: %d files are mapped already, and no more can be", path, CEL_MAPS_MOST);
  }
  *out = (cel_map){p, bytes, fd, guard};
  return CEL_OK;
}

cel_status cel_map_check(const cel_map *map, const char *path, cel_err *err) {
  struct stat st;
  if (map->bytes == 0) return CEL_OK;
  if (fstat(map->fd, &st) != 0) return cel_fail(err, CEL_IO, "%s: %s", path, strerror(errno));
  if (st.st_size < map->bytes) {
    return cel_fail(err, CEL_IO, "%s: the file became shorter while it was in use (%lld bytes of %lld are left); load it again when it is whole",
                    path, (long long)st.st_size, (long long)map->bytes);
  }
  int64_t lost = cel_map_lost(map->guard);
  if (lost < 0) return CEL_OK;
  return cel_fail(err, CEL_IO, "%s: the bytes from %lld on could not be read while the file was in use (it became shorter, or the disk failed); load it again when it is whole",
                  path, (long long)lost);
}

void cel_map_close(cel_map *map) {
  if (map->bytes) {
    cel_map_release(map->guard);
    munmap((void *)(uintptr_t)map->data, (size_t)map->bytes);
    close(map->fd);
  }
  *map = (cel_map){0};
}

static cel_status read_all(int fd, const char *path, char *p, int64_t bytes, cel_err *err) {
  for (int64_t got = 0; got < bytes;) {
    ssize_t n = read(fd, p + got, (size_t)(bytes - got));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      return cel_fail(err, CEL_IO, "%s: read %lld of %lld bytes: %s", path, (long long)got, (long long)bytes,
                      n < 0 ? strerror(errno) : "the file became shorter");
    }
    got += n;
  }
  return CEL_OK;
}

cel_status cel_read_file(const char *path, int64_t max_bytes, char **text, int64_t *bytes, cel_err *err) {
  int fd;
  int64_t size;
  *text = NULL;
  CEL_TRY(open_for_read(path, &fd, &size, err));
  cel_status status = CEL_OK;
  char *p = NULL;
  if (size > max_bytes) {
    status = cel_fail(err, CEL_MALFORMED, "%s: %lld bytes, at most %lld are read", path, (long long)size,
                      (long long)max_bytes);
  } else if (!(p = malloc((size_t)size + 1))) {
    status = cel_fail_oom(err, path);
  } else {
    status = read_all(fd, path, p, size, err);
  }
  close(fd);
  if (status != CEL_OK) {
    free(p);
    return status;
  }
  p[size] = 0;
  *text = p;
  if (bytes) *bytes = size;
  return CEL_OK;
}

static cel_status write_all(int fd, const char *path, const char *p, int64_t bytes, cel_err *err) {
  while (bytes > 0) {
    ssize_t n = write(fd, p, (size_t)bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return cel_fail(err, CEL_IO, "%s: write: %s", path, strerror(errno));
    p += n;
    bytes -= n;
  }
  if (fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS) return cel_fail(err, CEL_IO, "%s: fsync: %s", path, strerror(errno));
  return CEL_OK;
}

// Devices and pipes are written to, not replaced.
static cel_status write_through(const char *path, const void *data, int64_t bytes, cel_err *err) {
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return cel_fail(err, CEL_IO, "%s: %s", path, strerror(errno));
  cel_status status = write_all(fd, path, data, bytes, err);
  if (close(fd) != 0 && status == CEL_OK) status = cel_fail(err, CEL_IO, "%s: close: %s", path, strerror(errno));
  return status;
}

int cel_file_anew(const char *path) {
  if (unlink(path) != 0 && errno != ENOENT) return -1;
  return open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

bool cel_file_has_name(int fd, const char *path) {
  struct stat mine, named;
  return fstat(fd, &mine) == 0 && lstat(path, &named) == 0 && mine.st_ino == named.st_ino && mine.st_dev == named.st_dev;
}

cel_status cel_write_file(const char *path, const void *data, int64_t bytes, cel_err *err) {
  struct stat st;
  if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) return write_through(path, data, bytes, err);
  cel_buf partial = {0};
  cel_buf_printf(&partial, "%s.partial", path);
  if (partial.failed) return cel_fail_oom(err, "a file name");
  int fd = cel_file_anew(partial.p);
  cel_status status = CEL_OK;
  if (fd < 0) {
    status = cel_fail(err, CEL_IO, "%s: %s", path, strerror(errno));
  } else {
    status = write_all(fd, path, data, bytes, err);
    bool ours = cel_file_has_name(fd, partial.p);
    if (close(fd) != 0 && status == CEL_OK) status = cel_fail(err, CEL_IO, "%s: close: %s", path, strerror(errno));
    if (status == CEL_OK && !ours) status = cel_fail(err, CEL_BUSY, "%s: another process writes it", path);
    if (status == CEL_OK && rename(partial.p, path) != 0) {
      status = cel_fail(err, CEL_IO, "%s: rename: %s", path, strerror(errno));
    }
    if (status != CEL_OK && ours) unlink(partial.p);
  }
  cel_buf_deinit(&partial);
  return status;
}

bool cel_is_file(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool cel_is_dir(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

cel_status cel_make_dirs(const char *path, cel_err *err) {
  cel_buf b = {0};
  cel_buf_addz(&b, path);
  if (b.failed) return cel_fail_oom(err, "a folder name");
  cel_status status = CEL_OK;
  for (size_t i = 1; i <= b.n && status == CEL_OK; i++) {
    if (b.p[i] != '/' && b.p[i] != 0) continue;
    char saved = b.p[i];
    b.p[i] = 0;
    if (mkdir(b.p, 0777) != 0 && errno != EEXIST) status = cel_fail(err, CEL_IO, "%s: %s", b.p, strerror(errno));
    b.p[i] = saved;
  }
  cel_buf_deinit(&b);
  return status;
}
