// Files, read whole or mapped. Threads: a mapping may be read by any number of threads.
#ifndef CEL_BASE_FILE_H
#define CEL_BASE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/str.h"

// A read-only mapping of a whole file. An empty file maps to data = "" and bytes = 0. Copies of the struct are views of the
// one mapping.
typedef struct cel_map {
  const uint8_t *data;
  int64_t bytes;
  int fd, guard;  // of a mapping that is not empty
} cel_map;

// Should the file become shorter, or the disk fail, while the mapping is read, then what is lost reads as zeros and nothing
// crashes (map_guard.h: a SIGBUS handler for the process): ask cel_map_check behind each piece of work.
// Fails: CEL_NOT_FOUND when there is no such file, CEL_INVALID for a folder, CEL_IO otherwise.
CEL_MUST_CHECK cel_status cel_map_open(const char *path, cel_map *out, cel_err *err);
// CEL_IO when bytes of the file have been lost since it was mapped: what was read may have been zeros. `path` is for the
// message. Cheap: one system call.
CEL_MUST_CHECK cel_status cel_map_check(const cel_map *map, const char *path, cel_err *err);
void cel_map_close(cel_map *map);  // a zeroed map is fine

// Reads a file whole into a NUL-terminated buffer the caller frees. Refuses files over `max_bytes`
// by naming both numbers. *bytes may be NULL.
CEL_MUST_CHECK cel_status cel_read_file(const char *path, int64_t max_bytes, char **text, int64_t *bytes,
                                        cel_err *err);
// Writes to PATH.partial, flushes to disk, renames: the file is whole or not there. What is there and no regular
// file (a device, a pipe) is written to as it is. What stood under PATH.partial is removed, no link there is followed.
// Fails: CEL_BUSY when another process writes the same file, CEL_IO otherwise.
CEL_MUST_CHECK cel_status cel_write_file(const char *path, const void *data, int64_t bytes, cel_err *err);

// Opens a file of one's own making for writing: what stands under its name, a link to somewhere else perhaps, goes. -1 with
// errno set.
int cel_file_anew(const char *path);
// Is the open file still the one that has the name, or has another process taken that?
bool cel_file_has_name(int fd, const char *path);

bool cel_is_file(const char *path);
bool cel_is_dir(const char *path);
// Makes every missing folder of `path`.
CEL_MUST_CHECK cel_status cel_make_dirs(const char *path, cel_err *err);

#endif
