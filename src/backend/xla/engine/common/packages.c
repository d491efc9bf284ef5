#define _POSIX_C_SOURCE 200809L
#include "backend/xla/engine/common/packages.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/str.h"

typedef struct search {
  bool (*try)(void *context, const char *folder, size_t n);
  void *context;
} search;

static bool in_list(const search *s, const char *list) {
  while (list && *list) {
    size_t n = strcspn(list, ":");
    if (n && s->try(s->context, list, n)) return true;
    list += n + (list[n] == ':');
  }
  return false;
}

// `below`: what follows the root, as of glob(3).
static bool in_pattern(const search *s, const char *root, const char *below) {
  cel_buf pattern = {0};
  glob_t found = {0};
  bool is_there = false;
  if (!root || !*root) return false;
  cel_buf_printf(&pattern, "%s%s", root, below);
  if (pattern.p && glob(pattern.p, 0, NULL, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc && !is_there; i++) {
      is_there = s->try(s->context, found.gl_pathv[i], strlen(found.gl_pathv[i]));
    }
  }
  globfree(&found);
  cel_buf_deinit(&pattern);
  return is_there;
}

bool cel_packages_find(const char *folders, bool (*try)(void *context, const char *folder, size_t n), void *context) {
  static const char *const below[] = {"/lib/python3*/site-packages", "/lib/python3*/dist-packages", "/lib/python3/dist-packages"};
  const search s = {try, context};
  if (in_list(&s, folders)) return true;
  if (in_pattern(&s, cel_env(CEL_ENV_VIRTUAL_ENV), below[0])) return true;
  if (in_pattern(&s, cel_env(CEL_ENV_HOME), "/.local/lib/python3*/site-packages")) return true;
  for (int i = 0; i < CEL_COUNT(below); i++) {
    if (in_pattern(&s, "/usr/local", below[i]) || in_pattern(&s, "/usr", below[i])) return true;
  }
  return false;
}
