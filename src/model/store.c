#define _POSIX_C_SOURCE 200809L
#include "model/store.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/env.h"
#include "base/file.h"
#include "base/json.h"

static cel_status home(cel_buf *out, const char *below, cel_err *err) {
  const char *h = cel_env(CEL_ENV_HOME);
  if (!h) return cel_fail(err, CEL_NOT_FOUND, "HOME is not set: name the model store with MLXCEL_MODELS_DIR");
  cel_buf_printf(out, "%s/%s", h, below);
  return CEL_OK;
}

cel_status cel_store_root(const char *models_dir, cel_buf *out, cel_err *err) {
  const char *dir = models_dir && *models_dir ? models_dir : cel_env(CEL_ENV_MODELS_DIR);
  if (dir) {
    cel_buf_addz(out, dir);
  } else if (cel_env(CEL_ENV_CACHE_DIR)) {
    cel_buf_printf(out, "%s/models", cel_env(CEL_ENV_CACHE_DIR));
  } else {
    CEL_TRY(home(out, ".cache/mlxcel/models", err));
  }
  return out->failed ? cel_fail_oom(err, "a folder name") : CEL_OK;
}

// ---- is it whole? ------------------------------------------------------------------------------------------

static bool is_full(const char *dir, const char *name) {
  cel_buf path = {0};
  struct stat st;
  cel_buf_printf(&path, "%s/%s", dir, name);
  bool full = !path.failed && stat(path.p, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
  cel_buf_deinit(&path);
  return full;
}

static bool any_full(const char *dir, cel_str ending) {
  DIR *d = opendir(dir);
  bool found = false;
  for (struct dirent *e; d && !found && (e = readdir(d));) {
    cel_str name = cel_str_of(e->d_name);
    found = e->d_name[0] != '.' && name.n > ending.n && cel_str_ends(name, ending) && is_full(dir, e->d_name);
  }
  if (d) closedir(d);
  return found;
}

static bool say_missing(cel_buf *what, const char *name) {
  if (what) cel_buf_addz(what, name);
  return true;
}

// The first shard that the index names and the folder lacks; names that lead elsewhere are the reader's to refuse.
static bool missing_shard(const char *dir, cel_buf *what) {
  cel_buf path = {0};
  cel_json *index = NULL;
  cel_buf_printf(&path, "%s/model.safetensors.index.json", dir);
  bool read = !path.failed && cel_json_load(path.p, 64 << 20, &index, NULL) == CEL_OK, missing = false;
  cel_buf_deinit(&path);
  size_t i;
  cel_str tensor;
  cel_json *shard;
  if (!read) return say_missing(what, "a readable model.safetensors.index.json");
  cel_json_object_foreach(cel_json_object_get(index, "weight_map"), i, tensor, shard) {
    const char *name = cel_json_string_value(shard);
    if (!name || strchr(name, '/') || is_full(dir, name)) continue;
    missing = say_missing(what, name);
    break;
  }
  cel_json_decref(index);
  return missing;
}

bool cel_store_missing(const char *dir, cel_buf *what) {
  if (any_full(dir, CEL_STR(".gguf"))) return false;
  if (!is_full(dir, "config.json")) return say_missing(what, "config.json");
  if (is_full(dir, "model.safetensors.index.json")) return missing_shard(dir, what);
  return any_full(dir, CEL_STR(".safetensors")) ? false : say_missing(what, "*.safetensors");
}

// ---- names -------------------------------------------------------------------------------------------------

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
cel_status cel_store_hub_cache(const char *owner_name, cel_buf *out, cel_err *err) {
  cel_buf root = {0}, ref = {0};
  cel_status s = CEL_OK;
  const char *slash = strchr(owner_name, '/');
  cel_buf_clear(out);
  if (!slash) return cel_fail(err, CEL_INVALID, "\"%.200s\" is not OWNER/NAME", owner_name);
  if (cel_env(CEL_ENV_HF_HUB_CACHE)) cel_buf_addz(&root, cel_env(CEL_ENV_HF_HUB_CACHE));
  else if (cel_env(CEL_ENV_HF_HOME)) cel_buf_printf(&root, "%s/hub", cel_env(CEL_ENV_HF_HOME));
  else s = home(&root, ".cache/huggingface/hub", err);
  if (s == CEL_OK) {
    cel_buf_printf(&root, "/models--%.*s--%s", (int)(slash - owner_name), owner_name, slash + 1);
    cel_buf_printf(&ref, "%s/refs/main", root.p ? root.p : "");
  }
  char *sha = NULL;
  if (s == CEL_OK && ref.p && cel_is_file(ref.p) && cel_read_file(ref.p, 256, &sha, NULL, NULL) == CEL_OK) {
    sha[strcspn(sha, " \r\n")] = 0;
    if (*sha && !strchr(sha, '/') && sha[0] != '.') cel_buf_printf(out, "%s/snapshots/%s", root.p, sha);
  }
  free(sha);
  if (out->n && !cel_is_dir(out->p)) cel_buf_clear(out);
  if (root.failed || ref.failed || out->failed) s = cel_fail_oom(err, "a path");
  cel_buf_deinit(&root);
  cel_buf_deinit(&ref);
  return s;
}

// Is a whole model in *out? Otherwise empties it; the first place that holds a part of one goes to *part, with what
// it lacks.
static bool try_place(cel_buf *out, cel_buf *part) {
  cel_buf what = {0};
  bool there = out->n && cel_is_dir(out->p), whole = there && !cel_store_missing(out->p, &what);
  if (there && !whole && !part->n && what.n) cel_buf_printf(part, "%s lacks %s", out->p, what.p);
  if (!whole) cel_buf_clear(out);
  cel_buf_deinit(&what);
  return whole;
}

static cel_status not_there(const char *owner_name, const char *store, const cel_buf *part, cel_err *err) {
  cel_buf partial = {0};
  cel_buf_printf(&partial, "%s.partial", store);
  bool begun = !partial.failed && cel_is_dir(partial.p);
  cel_buf_deinit(&partial);
  if (begun) {
    return cel_fail(err, CEL_NOT_FOUND, "the download of %s is not finished: mlxcel download %s goes on with it", owner_name, owner_name);
  }
  if (part->n) return cel_fail(err, CEL_NOT_FOUND, "no whole model %s: %s (mlxcel download %s fetches it)", owner_name, part->p, owner_name);
  return cel_fail(err, CEL_NOT_FOUND, "no model %s: looked in ./models/%s, the Hugging Face cache and %s (mlxcel download %s fetches it)",
                  owner_name, strchr(owner_name, '/') + 1, store, owner_name);
}

static cel_status look_into(const char *owner_name, const char *models_dir, cel_buf *out, cel_buf *part, cel_buf *store, cel_err *err) {
  cel_buf_printf(out, "./models/%s", strchr(owner_name, '/') + 1);
  if (try_place(out, part)) return CEL_OK;
  if (cel_store_hub_cache(owner_name, out, NULL) != CEL_OK) cel_buf_clear(out);  // without a HOME there is none
  if (try_place(out, part)) return CEL_OK;
  CEL_TRY(cel_store_root(models_dir, store, err));
  cel_buf_printf(store, "/%s", owner_name);
  cel_buf_adds(out, cel_buf_str(store));
  if (store->failed || out->failed) return cel_fail_oom(err, "a path");
  if (try_place(out, part)) return CEL_OK;
  return not_there(owner_name, store->p, part, err);
}

static cel_status look(const char *owner_name, const char *models_dir, cel_buf *out, cel_err *err) {
  cel_buf part = {0}, store = {0};
  cel_status s = look_into(owner_name, models_dir, out, &part, &store, err);
  cel_buf_deinit(&part);
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
  if (slashes == 0) cel_buf_printf(&full, "%s/", cel_env_or(CEL_ENV_DEFAULT_ORG, "mlx-community"));
  cel_buf_addz(&full, name);
  cel_status s = full.failed ? cel_fail_oom(err, "a model's name") : look(full.p, models_dir, out, err);
  cel_buf_deinit(&full);
  return s;
}
