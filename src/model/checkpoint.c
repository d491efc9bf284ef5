#include "model/checkpoint.h"

#include <stdlib.h>
#include <string.h>

#include "model/checkpoint_private.h"
#include "model/gguf.h"
#include "model/gguf_convert.h"
#include "model/gguf_split.h"

enum { MAX_CONFIG = 64 << 20 };

// ---- helpers of all parts -------------------------------------------------------------------------

cel_status cel_checkpoint_map(cel_checkpoint *c, const char *path, cel_map *map, const char **file, cel_err *err) {
  cel_checkpoint_private *p = c->priv;
  void *items = p->maps;
  if (!cel_grow(&items, p->n_maps, &p->cap_maps, sizeof *p->maps)) return cel_fail_oom(err, path);
  p->maps = items;
  if (!(*file = cel_arena_dup(&p->arena, path, strlen(path)))) return cel_fail_oom(err, path);
  CEL_TRY(cel_map_open(path, &p->maps[p->n_maps].map, err));
  p->maps[p->n_maps].path = *file;
  *map = p->maps[p->n_maps++].map;
  c->file_bytes += map->bytes;
  c->n_files++;
  return CEL_OK;
}

const char *cel_checkpoint_path(cel_checkpoint *c, const char *name) {
  return cel_arena_printf(&c->priv->arena, "%s/%s", c->dir, name);
}

cel_status cel_checkpoint_text(cel_checkpoint *c, cel_str text, const char *name, const char **out, cel_err *err) {
  if (text.n && memchr(text.p, 0, text.n)) {
    return cel_fail(err, CEL_MALFORMED, "%s: a text with a NUL byte inside", name);
  }
  *out = cel_arena_dup(&c->priv->arena, text.p, text.n);
  return *out ? CEL_OK : cel_fail_oom(err, name);
}

// ---- a folder -------------------------------------------------------------------------------------

// An absent file leaves *out NULL.
static cel_status load_object(cel_checkpoint *c, const char *name, cel_json **out, cel_err *err) {
  const char *path = cel_checkpoint_path(c, name);
  if (!path) return cel_fail_oom(err, name);
  if (!cel_is_file(path)) return CEL_OK;
  CEL_TRY(cel_json_load(path, MAX_CONFIG, out, err));
  return cel_json_is_object(*out) ? CEL_OK : cel_fail(err, CEL_MALFORMED, "%s: not a JSON object", path);
}

static cel_status open_folder(cel_checkpoint *c, cel_err *err) {
  cel_checkpoint_private *p = c->priv;
  c->format = CEL_FORMAT_SAFETENSORS;
  CEL_TRY(load_object(c, "config.json", &p->config, err));
  CEL_TRY(load_object(c, "generation_config.json", &p->generation_config, err));
  CEL_TRY(load_object(c, "tokenizer_config.json", &p->tokenizer_config, err));
  c->config = p->config;
  c->generation_config = p->generation_config;
  c->tokenizer_config = p->tokenizer_config;
  CEL_TRY(cel_checkpoint_load_templates(c, err));
  CEL_TRY(cel_checkpoint_read_quantization(c, err));
  return cel_checkpoint_open_shards(c, err);
}

// ---- a GGUF file ----------------------------------------------------------------------------------

static cel_status take_template(cel_checkpoint *c, const cel_gguf *g, const char *key, const char **out, cel_err *err) {
  cel_str text;
  bool found;
  CEL_TRY(cel_gguf_string(g, key, &text, &found, err));
  if (!found) return CEL_OK;
  cel_status status = cel_checkpoint_text(c, text, key, out, err);
  return status == CEL_OK ? CEL_OK : (cel_err_prefix(err, "%s", g->file), status);
}

static cel_status convert(cel_checkpoint *c, const cel_gguf *g, cel_err *err) {
  cel_checkpoint_private *p = c->priv;
  CEL_TRY(cel_gguf_check_kind(g, err));
  CEL_TRY(cel_gguf_tensors(g, &p->list, err));
  CEL_TRY(cel_tensor_list_sort(&p->list, err));
  CEL_TRY(cel_gguf_read_vocab(g, &p->arena, &c->gguf_vocab, err));
  CEL_TRY(cel_gguf_config(g, &p->list, c->gguf_vocab, &p->config, err));
  CEL_TRY(cel_gguf_generation_config(g, c->gguf_vocab, &p->generation_config, err));
  CEL_TRY(cel_gguf_tokenizer_config(c->gguf_vocab, &p->tokenizer_config, err));
  c->config = p->config;
  c->generation_config = p->generation_config;
  c->tokenizer_config = p->tokenizer_config;
  c->rope_interleaved = cel_gguf_rope_interleaved(g);
  CEL_TRY(take_template(c, g, "tokenizer.chat_template", &c->chat_template, err));
  return take_template(c, g, "tokenizer.chat_template.tool_use", &c->chat_template_tools, err);
}

static cel_status open_gguf(cel_checkpoint *c, const char *path, cel_err *err) {
  cel_map map = {0};
  const char *file;
  cel_gguf g;
  c->format = CEL_FORMAT_GGUF;
  CEL_TRY(cel_checkpoint_map(c, path, &map, &file, err));
  CEL_TRY(cel_gguf_read(map.data, map.bytes, file, &c->priv->arena, &g, err));
  CEL_TRY(cel_gguf_open_parts(c, &g, err));
  return convert(c, &g, err);
}

// ---- either ---------------------------------------------------------------------------------------

// A folder without config.json may hold one GGUF file, or the parts of one.
static cel_status open_gguf_of_folder(cel_checkpoint *c, cel_err *err) {
  const char *const *names;
  int64_t n;
  CEL_TRY(cel_list_files(c->dir, ".gguf", &c->priv->arena, &names, &n, err));
  if (n == 1 || cel_gguf_are_parts(names, n)) {
    const char *path = cel_checkpoint_path(c, names[0]);
    return path ? open_gguf(c, path, err) : cel_fail_oom(err, names[0]);
  }
  if (n > 1) {
    return cel_fail(err, CEL_INVALID, "%s: no config.json, and %lld GGUF files (%s, %s, ...): name one of them", c->path,
                    (long long)n, names[0], names[1]);
  }
  return cel_fail(err, CEL_NOT_FOUND, "%s: config.json is missing in this folder (a model is a folder with config.json "
                  "and *.safetensors, or a .gguf file)", c->path);
}

static cel_status set_places(cel_checkpoint *c, const char *path, bool folder, cel_err *err) {
  size_t n = strlen(path), cut = n;
  const char *slash = strrchr(path, '/');
  while (folder && cut > 1 && path[cut - 1] == '/') cut--;
  if (!folder) cut = slash ? (size_t)(slash - path) + (slash == path) : 0;
  c->path = cel_arena_dup(&c->priv->arena, path, n);
  c->dir = cut ? cel_arena_dup(&c->priv->arena, path, cut) : ".";
  return c->path && c->dir ? CEL_OK : cel_fail_oom(err, path);
}

static cel_status open_any(cel_checkpoint *c, const char *path, cel_err *err) {
  bool folder = cel_is_dir(path);
  CEL_TRY(set_places(c, path, folder, err));
  if (folder) {
    const char *config = cel_checkpoint_path(c, "config.json");
    if (!config) return cel_fail_oom(err, path);
    return cel_is_file(config) ? open_folder(c, err) : open_gguf_of_folder(c, err);
  }
  if (cel_is_file(path) && cel_str_ends(cel_str_of(path), CEL_STR(".safetensors"))) {
    return cel_fail(err, CEL_INVALID, "%s: a single safetensors file says nothing about its model; name the folder that "
                    "holds it and config.json", path);
  }
  return open_gguf(c, path, err);
}

cel_status cel_checkpoint_finish(cel_checkpoint *c, cel_err *err) {
  cel_checkpoint_private *p = c->priv;
  cel_str tail = CEL_STR(".weight");
  CEL_TRY(cel_checkpoint_take_adapter(c, err));
  CEL_TRY(cel_checkpoint_arrange(c, err));
  CEL_TRY(cel_checkpoint_finish_adapter(c, err));
  c->tensors = p->list.items;
  c->n_tensors = p->list.n;
  const char **modules = CEL_NEW_ARRAY(&p->arena, const char *, c->n_tensors + 1);
  if (!modules) return cel_fail_oom(err, c->path);
  for (int64_t i = 0; i < c->n_tensors; i++) {
    cel_str name = cel_str_of(c->tensors[i].name);
    if (!cel_str_ends(name, tail)) continue;
    if (!(modules[i] = cel_arena_dup(&p->arena, name.p, name.n - tail.n))) return cel_fail_oom(err, c->path);
  }
  p->modules = modules;
  return CEL_OK;
}

cel_status cel_checkpoint_open(const char *path, cel_checkpoint **out, cel_err *err) {
  return cel_checkpoint_open_adapted(path, NULL, out, err);
}

cel_status cel_checkpoint_open_adapted(const char *path, const char *adapter, cel_checkpoint **out, cel_err *err) {
  cel_checkpoint *c = calloc(1, sizeof *c);
  *out = NULL;
  if (!c || !(c->priv = calloc(1, sizeof *c->priv))) {
    free(c);
    return cel_fail_oom(err, "a checkpoint");
  }
  cel_arena_init(&c->priv->arena);
  c->priv->list.arena = &c->priv->arena;
  cel_status status = CEL_OK;
  if (adapter && !(c->adapter = cel_arena_dup(&c->priv->arena, adapter, strlen(adapter)))) status = cel_fail_oom(err, adapter);
  if (status == CEL_OK) status = open_any(c, path, err);
  if (status == CEL_OK) status = cel_checkpoint_finish(c, err);
  status = cel_checkpoint_intact(c, status, err);
  if (status != CEL_OK) {
    cel_checkpoint_close(c);
    return status;
  }
  *out = c;
  return CEL_OK;
}

cel_status cel_checkpoint_intact(const cel_checkpoint *c, cel_status s, cel_err *err) {
  for (int64_t i = 0; i < c->priv->n_maps; i++) CEL_TRY(cel_map_check(&c->priv->maps[i].map, c->priv->maps[i].path, err));
  return s;
}

void cel_checkpoint_close(cel_checkpoint *c) {
  if (!c) return;
  cel_checkpoint_private *p = c->priv;
  for (int64_t i = 0; i < p->n_maps; i++) cel_map_close(&p->maps[i].map);
  free(p->maps);
  cel_tensor_list_deinit(&p->list);
  cel_tensor_list_deinit(&p->filed);
  cel_json_decref(p->config);
  cel_json_decref(p->generation_config);
  cel_json_decref(p->tokenizer_config);
  cel_arena_deinit(&p->arena);
  free(p);
  free(c);
}

const cel_tensor *cel_checkpoint_find(const cel_checkpoint *c, const char *name) {
  return cel_tensor_list_find(c->tensors, c->n_tensors, name);
}

bool cel_checkpoint_place(const cel_checkpoint *c, const cel_tensor *t, const char **file, int64_t *offset) {
  if (t->parts || t->swapped) return false;
  for (int64_t i = 0; i < c->priv->n_maps; i++) {
    const cel_map *m = &c->priv->maps[i].map;
    uintptr_t at = (uintptr_t)t->data, from = (uintptr_t)m->data;
    if (at < from || at - from > (uintptr_t)m->bytes || (uintptr_t)m->bytes - (at - from) < (uintptr_t)t->bytes) continue;
    *file = c->priv->maps[i].path;
    *offset = (int64_t)(at - from);
    return true;
  }
  return false;
}
