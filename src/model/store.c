#define _POSIX_C_SOURCE 200809L
#include "model/store.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

static const char *variable(const char *name) {
  const char *v = getenv(name);
  return v && *v ? v : NULL;
}

static cel_status home(cel_buf *out, const char *below, cel_err *err) {
  const char *h = variable("HOME");
  if (!h) return cel_fail(err, CEL_NOT_FOUND, "HOME is not set: name the model store with MLXCEL_MODELS_DIR");
  cel_buf_printf(out, "%s/%s", h, below);
  return CEL_OK;
}

cel_status cel_store_root(const char *models_dir, cel_buf *out, cel_err *err) {
  const char *dir = models_dir && *models_dir ? models_dir : variable("MLXCEL_MODELS_DIR");
  if (dir) {
    cel_buf_addz(out, dir);
  } else if (variable("MLXCEL_CACHE_DIR")) {
    cel_buf_printf(out, "%s/models", variable("MLXCEL_CACHE_DIR"));
  } else {
    CEL_TRY(home(out, ".cache/mlxcel/models", err));
  }
  return out->failed ? cel_fail_oom(err, "a folder name") : CEL_OK;
}

// A folder counts when it holds a model at least by its looks.
static bool holds_model(const char *dir) {
  DIR *d = opendir(dir);
  if (!d) return false;
  bool found = false;
  for (struct dirent *e; !found && (e = readdir(d));) {
    cel_str name = cel_str_of(e->d_name);
    found = cel_str_is(name, "config.json") || (cel_str_ends(name, CEL_STR(".gguf")) && name.n > 5);
  }
  closedir(d);
  return found;
}

static bool good_name(const char *s, int *slashes) {
  *slashes = 0;
  if (!*s || *s == '/' || *s == '.' || strstr(s, "..")) return false;
  for (const char *p = s; *p; p++) {
    if (*p == '/') ++*slashes;
    else if (!isalnum((unsigned char)*p) && !strchr("._-", *p)) return false;
  }
  return *slashes <= 1 && s[strlen(s) - 1] != '/';
}

// models--OWNER--NAME/refs/main holds the name of the snapshot.
static cel_status hub_snapshot(const char *owner_name, cel_buf *out, cel_err *err) {
  cel_buf root = {0}, ref = {0};
  cel_status s = CEL_OK;
  if (variable("HF_HUB_CACHE")) cel_buf_addz(&root, variable("HF_HUB_CACHE"));
  else if (variable("HF_HOME")) cel_buf_printf(&root, "%s/hub", variable("HF_HOME"));
  else s = home(&root, ".cache/huggingface/hub", err);
  if (s == CEL_OK) {
    const char *slash = strchr(owner_name, '/');
    cel_buf_printf(&root, "/models--%.*s--%s", (int)(slash - owner_name), owner_name, slash + 1);
    cel_buf_printf(&ref, "%s/refs/main", root.p ? root.p : "");
  }
  char *sha = NULL;
  if (s == CEL_OK && ref.p && cel_is_file(ref.p) && cel_read_file(ref.p, 256, &sha, NULL, NULL) == CEL_OK) {
    sha[strcspn(sha, " \r\n")] = 0;
    if (!strchr(sha, '/') && strcmp(sha, "..") != 0) cel_buf_printf(out, "%s/snapshots/%s", root.p, sha);
  }
  free(sha);
  cel_buf_deinit(&root);
  cel_buf_deinit(&ref);
  return s;
}

static bool try_place(cel_buf *out) {
  bool found = out->p && out->n && holds_model(out->p);
  if (!found) cel_buf_clear(out);
  return found;
}

static cel_status look(const char *owner_name, const char *models_dir, cel_buf *out, cel_err *err) {
  cel_buf_printf(out, "./models/%s", strchr(owner_name, '/') + 1);
  if (try_place(out)) return CEL_OK;
  (void)hub_snapshot(owner_name, out, NULL);
  if (try_place(out)) return CEL_OK;
  CEL_TRY(cel_store_root(models_dir, out, err));
  cel_buf_printf(out, "/%s", owner_name);
  cel_buf store = {0};
  cel_buf_adds(&store, cel_buf_str(out));
  bool found = try_place(out);
  cel_status s = CEL_OK;
  if (!found) {
    s = cel_fail(err, CEL_NOT_FOUND, "no model %s: looked in ./models/%s, the Hugging Face cache and %s", owner_name,
                 strchr(owner_name, '/') + 1, store.p ? store.p : "the store");
  }
  cel_buf_deinit(&store);
  return s;
}

cel_status cel_store_resolve(const char *name, const char *models_dir, cel_buf *out, cel_err *err) {
  cel_buf_clear(out);
  if (cel_is_file(name) || cel_is_dir(name)) {
    cel_buf_addz(out, name);
    return out->failed ? cel_fail_oom(err, "a path") : CEL_OK;
  }
  int slashes;
  if (strstr(name, "://") || !good_name(name, &slashes)) {
    return cel_fail(err, CEL_NOT_FOUND, "%s: no such file or folder (a model is a path, OWNER/NAME, or a bare NAME)", name);
  }
  cel_buf full = {0};
  const char *org = variable("MLXCEL_DEFAULT_ORG");
  if (slashes == 0) cel_buf_printf(&full, "%s/", org ? org : "mlx-community");
  cel_buf_addz(&full, name);
  cel_status s = full.failed ? cel_fail_oom(err, "a model's name") : look(full.p, models_dir, out, err);
  cel_buf_deinit(&full);
  return s;
}
