// The safetensors files of a folder: those that model.safetensors.index.json names; without an index
// model*.safetensors, or when there is none, all *.safetensors.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/checkpoint_private.h"
#include "model/names.h"
#include "model/safetensors.h"

enum { MAX_INDEX = 256 << 20 };

static cel_status open_shard(cel_checkpoint *c, const char *name, cel_err *err) {
  cel_map map = {0};
  const char *file, *path = cel_checkpoint_path(c, name);
  if (!path) return cel_fail_oom(err, name);
  CEL_TRY(cel_checkpoint_map(c, path, &map, &file, err));
  return cel_safetensors_read(map.data, map.bytes, file, &c->priv->list, err);
}

// ---- with an index --------------------------------------------------------------------------------

static bool plain_name(const char *s) {
  return cel_str_ends(cel_str_of(s), CEL_STR(".safetensors")) && !strpbrk(s, "/\\") && s[0] != '.';
}

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

// The shard names of weight_map: checked, sorted, each once.
static cel_status shard_names(const cel_json *weight_map, const char *index, const char **names, int64_t *n,
                              cel_err *err) {
  size_t at;
  cel_str key;
  cel_json *value;
  int64_t all = 0;
  cel_json_object_foreach(weight_map, at, key, value) {
    const char *shard = cel_json_string_value(value);
    if (!shard || !plain_name(shard)) {
      return cel_fail(err, CEL_MALFORMED, "%s: weight_map \"%s\" is \"%s\"; the name of a .safetensors file in the same "
                      "folder is needed", index, cel_show(key).text,
                      shard ? cel_show(cel_str_of(shard)).text : "(not a string)");
    }
    names[all++] = shard;
  }
  if (all) qsort(names, (size_t)all, sizeof *names, by_text);
  *n = 0;
  for (int64_t i = 0; i < all; i++) {
    if (*n == 0 || strcmp(names[*n - 1], names[i]) != 0) names[(*n)++] = names[i];
  }
  return CEL_OK;
}

static const char *file_part(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// Every tensor of the map must be in the shard that the map names.
static cel_status check_map(cel_checkpoint *c, const cel_json *weight_map, const char *index, cel_err *err) {
  size_t at;
  cel_str key;
  cel_json *value;
  cel_json_object_foreach(weight_map, at, key, value) {
    cel_str head, tail;
    char name[1024];
    if (!cel_name_from_hf(key, &head, &tail)) continue;
    int n = snprintf(name, sizeof name, "%.*s%.*s", (int)head.n, head.p, (int)tail.n, tail.p);
    const cel_tensor *t =
        n > 0 && (size_t)n < sizeof name ? cel_tensor_list_find(c->priv->list.items, c->priv->list.n, name) : NULL;
    if (t && strcmp(file_part(t->file), cel_json_string_value(value)) == 0) continue;
    return cel_fail(err, CEL_MALFORMED, "%s: weight_map \"%s\" says %s, %s%s", index, cel_show(key).text,
                    cel_show(cel_str_of(cel_json_string_value(value))).text,
                    t ? "but the tensor is in " : "which has no such tensor", t ? file_part(t->file) : "");
  }
  return CEL_OK;
}

static cel_status open_named(cel_checkpoint *c, const cel_json *weight_map, const char *index, const char **names,
                             cel_err *err) {
  int64_t n = 0;
  CEL_TRY(shard_names(weight_map, index, names, &n, err));
  for (int64_t i = 0; i < n; i++) {
    cel_status s = open_shard(c, names[i], err);
    if (s == CEL_NOT_FOUND) return cel_err_prefix(err, "%s: a shard that weight_map names is missing", index);
    if (s != CEL_OK) return s;
  }
  CEL_TRY(cel_tensor_list_sort(&c->priv->list, err));
  return check_map(c, weight_map, index, err);
}

static cel_status open_indexed(cel_checkpoint *c, const char *index, cel_err *err) {
  cel_json *json;
  CEL_TRY(cel_json_load(index, MAX_INDEX, &json, err));
  const cel_json *weight_map = cel_json_object_get(json, "weight_map");
  const char **names = malloc((cel_json_object_size(weight_map) + 1) * sizeof *names);
  cel_status status;
  if (cel_json_object_size(weight_map) == 0) {
    status = cel_fail(err, CEL_MALFORMED, "%s: weight_map is missing, empty or not an object", index);
  } else {
    status = names ? open_named(c, weight_map, index, names, err) : cel_fail_oom(err, index);
  }
  free(names);
  cel_json_decref(json);
  return status;
}

// ---- without --------------------------------------------------------------------------------------

// NAME-00002-of-00005.safetensors: its two numbers; false for other names.
static bool part_of(const char *name, int *part, int *parts) {
  size_t n = strlen(name), tail = strlen("-00002-of-00005.safetensors");
  int used = 0;
  if (n < tail) return false;
  return sscanf(name + n - tail, "-%5d-of-%5d.safetensors%n", part, parts, &used) == 2 && (size_t)used == tail;
}

static cel_status check_parts(const cel_checkpoint *c, const char *const *names, int64_t n, cel_err *err) {
  int64_t seen = 0;
  int part, of, parts = 0;
  for (int64_t i = 0; i < n; i++) {
    if (!part_of(names[i], &part, &of)) continue;
    parts = of;
    seen++;
  }
  if (seen == 0 || seen == parts) return CEL_OK;
  return cel_fail(err, CEL_NOT_FOUND, "%s: %lld of %d safetensors parts are there (as counted by their names)", c->dir,
                  (long long)seen, parts);
}

static cel_status no_weights(const cel_checkpoint *c, cel_err *err) {
  return cel_fail(err, CEL_NOT_FOUND, "%s: no .safetensors file in this folder (weights in other formats, such as .bin or "
                  ".pth, are not read)", c->dir);
}

// Narrows the sorted list to the names that start with "model", when there are any.
static void prefer_model(const char *const **names, int64_t *n) {
  int64_t first = 0, count = 0;
  for (int64_t i = 0; i < *n; i++) {
    if (!cel_str_starts(cel_str_of((*names)[i]), CEL_STR("model"))) continue;
    if (count++ == 0) first = i;
  }
  if (count == 0) return;
  *names += first;
  *n = count;
}

static cel_status open_all(cel_checkpoint *c, cel_err *err) {
  const char *const *names;
  int64_t n = 0;
  CEL_TRY(cel_list_files(c->dir, ".safetensors", &c->priv->arena, &names, &n, err));
  if (n == 0) return no_weights(c, err);
  prefer_model(&names, &n);
  CEL_TRY(check_parts(c, names, n, err));
  for (int64_t i = 0; i < n; i++) CEL_TRY(open_shard(c, names[i], err));
  return cel_tensor_list_sort(&c->priv->list, err);
}

cel_status cel_checkpoint_open_shards(cel_checkpoint *c, cel_err *err) {
  const char *index = cel_checkpoint_path(c, "model.safetensors.index.json");
  if (!index) return cel_fail_oom(err, c->dir);
  CEL_TRY(cel_is_file(index) ? open_indexed(c, index, err) : open_all(c, err));
  CEL_TRY(cel_checkpoint_take_fp8(c, err));
  return cel_checkpoint_stack_experts(c, err);
}
