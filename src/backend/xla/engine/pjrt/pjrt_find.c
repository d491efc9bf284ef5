// Where published wheels put their plugins.
#define _POSIX_C_SOURCE 200809L
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "backend/xla/engine/pjrt/pjrt_plugin.h"
#include "base/file.h"

static const struct {
  const char *name, *path;
} plugins[] = {
#define CEL_PJRT_PLUGIN(name, path) {name, path},
#include "backend/xla/engine/pjrt/plugin.def"
#undef CEL_PJRT_PLUGIN
};

static bool known(const char *name) {
  for (int i = 0; i < CEL_COUNT(plugins); i++) {
    if (!strcmp(plugins[i].name, name)) return true;
  }
  return false;
}

static void known_names(cel_buf *out) {
  for (int i = 0; i < CEL_COUNT(plugins); i++) {
    bool said = false;
    for (int k = 0; k < i; k++) said |= !strcmp(plugins[k].name, plugins[i].name);
    if (!said) cel_buf_printf(out, "%s%s", i ? ", " : "", plugins[i].name);
  }
}

// The first plugin of the name below one folder of packages.
static bool in_folder(const char *folder, size_t n, const char *name, cel_buf *path) {
  for (int i = 0; i < CEL_COUNT(plugins); i++) {
    if (*name && strcmp(plugins[i].name, name) != 0) continue;
    path->n = 0;
    cel_buf_printf(path, "%.*s/%s", (int)n, folder, plugins[i].path);
    if (path->p && cel_is_file(path->p)) return true;
  }
  return false;
}

static bool in_list(const char *list, const char *name, cel_buf *path) {
  while (list && *list) {
    size_t n = strcspn(list, ":");
    if (n && in_folder(list, n, name, path)) return true;
    list += n + (list[n] == ':');
  }
  return false;
}

// `pattern` with %s for the root, as of glob(3).
static bool in_pattern(const char *root, const char *below, const char *name, cel_buf *path) {
  cel_buf pattern = {0};
  glob_t found = {0};
  bool is_there = false;
  if (!root || !*root) return false;
  cel_buf_printf(&pattern, "%s%s", root, below);
  if (pattern.p && glob(pattern.p, 0, NULL, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc && !is_there; i++) {
      is_there = in_folder(found.gl_pathv[i], strlen(found.gl_pathv[i]), name, path);
    }
  }
  globfree(&found);
  cel_buf_deinit(&pattern);
  return is_there;
}

static bool find(const char *name, const char *folders, cel_buf *path) {
  static const char *const below[] = {"/lib/python3*/site-packages", "/lib/python3*/dist-packages", "/lib/python3/dist-packages"};
  const char *home = getenv("HOME"), *environment = getenv("VIRTUAL_ENV");
  if (in_list(folders, name, path)) return true;
  if (in_pattern(environment, below[0], name, path)) return true;
  if (in_pattern(home, "/.local/lib/python3*/site-packages", name, path)) return true;
  for (int i = 0; i < CEL_COUNT(below); i++) {
    if (in_pattern("/usr/local", below[i], name, path) || in_pattern("/usr", below[i], name, path)) return true;
  }
  return false;
}

static cel_status not_there(const char *name, cel_err *err) {
  cel_buf names = {0};
  known_names(&names);
  if (*name) cel_buf_clear(&names);
  if (*name) cel_buf_addz(&names, name);
  cel_status s = cel_fail(err, CEL_NOT_FOUND, "no PJRT plugin is installed for %s (looked in MLXCEL_XLA_PJRT_PATH, VIRTUAL_ENV and "
                          "the Python packages of user and system); a plugin's path can be given as "
                          "MLXCEL_XLA_DEVICE=pjrt:/path/to/plugin.so", names.p ? names.p : "any device");
  cel_buf_deinit(&names);
  return s;
}

cel_status cel_pjrt_find(const char *name, const char *folders, cel_buf *path, cel_err *err) {
  path->n = 0;
  if (strchr(name, '/')) {
    cel_buf_addz(path, name);
    if (!path->p) return cel_fail_oom(err, "a plugin's path");
    return cel_is_file(name) ? CEL_OK : cel_fail(err, CEL_NOT_FOUND, "%s: there is no such PJRT plugin", name);
  }
  if (*name && !known(name)) {
    cel_buf names = {0};
    known_names(&names);
    cel_status s = cel_fail(err, CEL_INVALID, "MLXCEL_XLA_DEVICE=pjrt:%s: expected the path of a plugin, or one of %s", name,
                            names.p ? names.p : "");
    cel_buf_deinit(&names);
    return s;
  }
  return find(name, folders, path) ? CEL_OK : not_there(name, err);
}
