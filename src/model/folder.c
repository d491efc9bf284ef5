#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/checkpoint_private.h"

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static cel_status collect(DIR *d, const char *dir, const char *tail, cel_arena *arena, const char ***list, int64_t *n,
                          cel_err *err) {
  int64_t cap = 0;
  const struct dirent *e;
  while ((e = readdir(d))) {
    void *items = *list;
    if (e->d_name[0] == '.' || !cel_str_ends(cel_str_of(e->d_name), cel_str_of(tail))) continue;
    const char *path = cel_arena_printf(arena, "%s/%s", dir, e->d_name);
    if (!path) return cel_fail_oom(err, dir);
    if (!cel_is_file(path)) continue;
    if (!cel_grow(&items, *n, &cap, sizeof **list)) return cel_fail_oom(err, dir);
    *list = items;
    (*list)[(*n)++] = path + strlen(dir) + 1;
  }
  return CEL_OK;
}

cel_status cel_list_files(const char *dir, const char *tail, cel_arena *arena, const char *const **names, int64_t *n,
                          cel_err *err) {
  const char **list = NULL;
  DIR *d = opendir(dir);
  *n = 0;
  if (!d) return cel_fail(err, CEL_IO, "%s: %s", dir, strerror(errno));
  cel_status status = collect(d, dir, tail, arena, &list, n, err);
  closedir(d);
  if (status == CEL_OK) {
    const char **kept = CEL_NEW_ARRAY(arena, const char *, *n + 1);
    if (*n) qsort(list, (size_t)*n, sizeof *list, by_text);
    if (kept && *n) memcpy(kept, list, (size_t)*n * sizeof *list);
    *names = kept;
    if (!kept) status = cel_fail_oom(err, dir);
  }
  free(list);
  return status;
}
