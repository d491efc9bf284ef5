// Where published wheels put their plugins.
#include <string.h>

#include "backend/xla/engine/common/packages.h"
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

typedef struct search {
  const char *name;
  cel_buf *path;
} search;

// The first plugin of the name below one folder of packages.
static bool in_folder(void *context, const char *folder, size_t n) {
  const search *s = context;
  for (int i = 0; i < CEL_COUNT(plugins); i++) {
    if (*s->name && strcmp(plugins[i].name, s->name) != 0) continue;
    s->path->n = 0;
    cel_buf_printf(s->path, "%.*s/%s", (int)n, folder, plugins[i].path);
    if (s->path->p && cel_is_file(s->path->p)) return true;
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
  search s = {name, path};
  return cel_packages_find(folders, in_folder, &s) ? CEL_OK : not_there(name, err);
}
