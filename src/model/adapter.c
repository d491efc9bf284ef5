// Adapters: low-rank matrices (LoRA; Hu et al. 2021) beside the linear weights of a checkpoint. Whatever the files are like, an
// adapted module M has
//   M.lora_A.weight [r, in]    M.lora_B.weight [out, r]    M.lora_scale, f32 [1]
// and its product is W x + scale * (B (A x)). Sources: a folder as PEFT or mlx-lm write it, or one of those that a
// checkpoint carries itself (Phi-4-multimodal: M.lora_A.NAME.weight, with NAME_lora {r, lora_alpha} in its config).
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "model/checkpoint_private.h"
#include "model/names.h"
#include "model/safetensors.h"

enum { NAME_MOST = 512, CONFIG_MOST = 16 << 20 };

// ---- one of the checkpoint's own ---------------------------------------------------------------------

static const char lora_key[] = "_lora";

// NAME_lora of the config, at the root or in the text level; NULL: the checkpoint has no such adapter.
static const cel_json *own_block(const cel_checkpoint *c, const char *name) {
  char key[NAME_MOST];
  if (snprintf(key, sizeof key, "%s%s", name, lora_key) >= NAME_MOST) return NULL;
  const cel_json *block = cel_json_get(c->config, key);
  if (!block) block = cel_json_get(cel_json_get(c->config, "text_config"), key);
  return cel_json_is_object(block) ? block : NULL;
}

// M.lora_A.NAME.weight -> M.lora_A.weight; false for other tensors.
static bool own_name(const char *name, const char *adapter, char out[NAME_MOST]) {
  static const char *const parts[] = {".lora_A.", ".lora_B."};
  size_t n = strlen(adapter);
  for (int i = 0; i < CEL_COUNT(parts); i++) {
    const char *at = strstr(name, parts[i]), *rest = at ? at + strlen(parts[i]) : NULL;
    if (!rest || strncmp(rest, adapter, n) != 0 || rest[n] != '.') continue;
    return snprintf(out, NAME_MOST, "%.*s%s", (int)(rest - name), name, rest + n + 1) < NAME_MOST;
  }
  return false;
}

static cel_status take_own(cel_checkpoint *c, cel_err *err) {
  cel_tensor_list *l = &c->priv->list;
  char name[NAME_MOST];
  bool any = false;
  for (int64_t i = 0; i < l->n; i++) {
    if (!own_name(l->items[i].name, c->adapter, name)) continue;
    if (!(l->items[i].name = cel_arena_dup(&c->priv->arena, name, strlen(name)))) return cel_fail_oom(err, "an adapter");
    any = true;
  }
  if (any) return cel_tensor_list_sort(l, err);
  return cel_fail(err, CEL_NOT_FOUND, "%s: the config has %s%s, but no tensor is named ...lora_A.%s.weight", c->path, c->adapter,
                  lora_key, c->adapter);
}

// The names a user may choose from, for a refusal.
static cel_status no_such_adapter(const cel_checkpoint *c, cel_err *err) {
  char known[200] = "";
  size_t n = 0, at;
  cel_str key;
  cel_json *value;
  cel_json_object_foreach(c->config, at, key, value) {
    cel_str tail = cel_str_of(lora_key);
    if (!cel_json_is_object(value) || !cel_str_ends(key, tail)) continue;
    key.n -= tail.n;
    int used = snprintf(known + n, sizeof known - n, "%s%.40s", n ? ", " : "", cel_show(key).text);
    if (used > 0 && (size_t)used < sizeof known - n) n += (size_t)used;
  }
  return cel_fail(err, CEL_NOT_FOUND, "%s: no adapter \"%s\": it is no folder, and the adapters of this checkpoint are: %s",
                  c->path, cel_show(cel_str_of(c->adapter)).text, n ? known : "none");
}

// ---- a folder ------------------------------------------------------------------------------------------

typedef struct folder {
  cel_checkpoint *c;
  const char *config_path, *weights_path;  // in the arena
  bool mlx;
  cel_json *config;
  double alpha;    // PEFT
  bool root;       // PEFT's rslora: over the root of the rank
  double scale;    // MLX
} folder;

static cel_status refuse(const folder *f, const char *key, const char *why, cel_err *err) {
  return cel_fail(err, CEL_UNSUPPORTED, "%s: %s: %s", f->config_path, key, why);
}

static bool is_empty(const cel_json *object) { return !object || cel_json_object_size(object) == 0; }

static cel_status read_peft(folder *f, cel_err *err) {
  const cel_json *j = f->config;
  const char *type = cel_json_string(j, "peft_type", "");
  if (strcmp(type, "LORA") != 0) return refuse(f, "peft_type", "only LORA is supported", err);
  static const char *const off[] = {"use_dora", "lora_bias", "fan_in_fan_out", "use_qalora"};
  for (int i = 0; i < CEL_COUNT(off); i++) {
    if (cel_json_bool(j, off[i], false)) return refuse(f, off[i], "true is not supported", err);
  }
  if (!is_empty(cel_json_get(j, "alpha_pattern"))) return refuse(f, "alpha_pattern", "one lora_alpha for all modules is supported", err);
  f->alpha = cel_json_num(j, "lora_alpha", 0);
  f->root = cel_json_bool(j, "use_rslora", false);
  if (f->alpha > 0 && isfinite(f->alpha)) return CEL_OK;
  return cel_fail(err, CEL_MALFORMED, "%s: lora_alpha must be a positive number", f->config_path);
}

static cel_status read_mlx(folder *f, cel_err *err) {
  const char *type = cel_json_string(f->config, "fine_tune_type", "lora");
  if (strcmp(type, "lora") != 0) return refuse(f, "fine_tune_type", "only lora is supported", err);
  f->scale = cel_json_num(cel_json_get(f->config, "lora_parameters"), "scale", 0);
  if (f->scale > 0 && isfinite(f->scale)) return CEL_OK;
  return cel_fail(err, CEL_MALFORMED, "%s: lora_parameters.scale must be a positive number", f->config_path);
}

// A file of the adapter's folder, in the arena.
static cel_status place(folder *f, const char *name, const char **out, cel_err *err) {
  *out = cel_arena_printf(&f->c->priv->arena, "%s/%s", f->c->adapter, name);
  return *out ? CEL_OK : cel_fail_oom(err, name);
}

static cel_status find_files(folder *f, cel_err *err) {
  CEL_TRY(place(f, "adapter_config.json", &f->config_path, err));
  CEL_TRY(place(f, "adapter_model.safetensors", &f->weights_path, err));
  if (cel_is_file(f->weights_path)) return CEL_OK;
  f->mlx = true;
  CEL_TRY(place(f, "adapters.safetensors", &f->weights_path, err));
  if (cel_is_file(f->weights_path)) return CEL_OK;
  return cel_fail(err, CEL_NOT_FOUND, "%s: no adapter_model.safetensors (PEFT) and no adapters.safetensors (mlx-lm) in this folder",
                  f->c->adapter);
}

// The transpose of a small matrix, in the arena.
static cel_status turn(folder *f, cel_tensor *t, cel_err *err) {
  int64_t rows = t->dims[0], cols = t->dims[1], item = rows > 0 && cols > 0 ? t->bytes / (rows * cols) : 0;
  uint8_t *copy = cel_arena_alloc(&f->c->priv->arena, (size_t)t->bytes + 1);
  if (!copy) return cel_fail_oom(err, "an adapter");
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t k = 0; k < cols; k++) memcpy(copy + (k * rows + r) * item, (const uint8_t *)t->data + (r * cols + k) * item, (size_t)item);
  }
  t->dims[0] = cols;
  t->dims[1] = rows;
  t->data = copy;
  return CEL_OK;
}

// The module as the checkpoint names it, with `part` behind it.
static bool module_name(cel_str raw, const char *part, char out[NAME_MOST]) {
  cel_str wrapper = CEL_STR("base_model.model."), head, tail;
  char plain[NAME_MOST];
  int64_t expert;
  if (cel_str_starts(raw, wrapper)) raw = (cel_str){raw.p + wrapper.n, raw.n - wrapper.n};
  if (!cel_name_from_hf(raw, &head, &tail)) return false;
  if (snprintf(plain, sizeof plain, "%.*s%.*s", (int)head.n, head.p, (int)tail.n, tail.p) >= NAME_MOST) return false;
  if (cel_name_of_experts(plain, false, out, NAME_MOST, &expert)) memcpy(plain, out, strlen(out) + 1);
  return expert < 0 && snprintf(out, NAME_MOST, "%s%s", plain, part) < NAME_MOST;
}

static cel_status take_tensor(folder *f, cel_tensor t, cel_err *err) {
  static const char *const ends[2][2] = {{".lora_A.weight", ".lora_B.weight"}, {".lora_a", ".lora_b"}};
  cel_str raw = cel_str_of(t.name);
  char name[NAME_MOST];
  for (int i = 0; i < 2; i++) {
    cel_str end = cel_str_of(ends[f->mlx][i]), module = {raw.p, raw.n - CEL_MIN(end.n, raw.n)};
    if (!cel_str_ends(raw, end) || t.rank != 2 || !module_name(module, ends[0][i], name)) continue;
    if (f->mlx) CEL_TRY(turn(f, &t, err));
    return cel_tensor_list_add(&f->c->priv->list, &t, CEL_STR(""), cel_str_of(name), err);
  }
  return cel_fail(err, CEL_UNSUPPORTED, "%s: tensor \"%s\" %s: only pairs of low-rank matrices (...%s, ...%s) of two dimensions beside "
                  "linear weights are supported", f->weights_path, cel_show(raw).text, cel_show_dims(t.dims, t.rank).text,
                  ends[f->mlx][0], ends[f->mlx][1]);
}

static cel_status take_all(folder *f, cel_err *err) {
  cel_map map = {0};
  const char *file;
  cel_tensor_list list = {.arena = &f->c->priv->arena};
  CEL_TRY(cel_checkpoint_map(f->c, f->weights_path, &map, &file, err));
  cel_status s = cel_safetensors_read(map.data, map.bytes, file, &list, err);
  if (s == CEL_OK && list.n == 0) s = cel_fail(err, CEL_MALFORMED, "%s: no tensors", file);
  for (int64_t i = 0; s == CEL_OK && i < list.n; i++) s = take_tensor(f, list.items[i], err);
  cel_tensor_list_deinit(&list);
  return s == CEL_OK ? cel_tensor_list_sort(&f->c->priv->list, err) : s;
}

static cel_status take_folder(folder *f, cel_err *err) {
  CEL_TRY(find_files(f, err));
  CEL_TRY(cel_json_load(f->config_path, CONFIG_MOST, &f->config, err));
  cel_status s = f->mlx ? read_mlx(f, err) : read_peft(f, err);
  return s == CEL_OK ? take_all(f, err) : s;
}

// ---- either --------------------------------------------------------------------------------------------

cel_status cel_checkpoint_take_adapter(cel_checkpoint *c, cel_err *err) {
  cel_adapter_scaling *how = &c->priv->adapter;
  if (!c->adapter) return CEL_OK;
  if (c->format == CEL_FORMAT_GGUF) {
    return cel_fail(err, CEL_UNSUPPORTED, "%s: adapters go with safetensors folders only: a GGUF file may have its rows in another "
                    "order", c->path);
  }
  const cel_json *own = own_block(c, c->adapter);
  if (own) {
    *how = (cel_adapter_scaling){.alpha = cel_json_num(own, "lora_alpha", 0), .rank = cel_json_int(own, "r", 0)};
    if (how->rank > 0 && how->alpha > 0 && isfinite(how->alpha)) return take_own(c, err);
    return cel_fail(err, CEL_MALFORMED, "%s/config.json: %s%s needs a positive r and lora_alpha", c->dir, c->adapter, lora_key);
  }
  if (!cel_is_dir(c->adapter)) return no_such_adapter(c, err);
  folder f = {.c = c};
  cel_status s = take_folder(&f, err);
  cel_json_decref(f.config);
  *how = (cel_adapter_scaling){.alpha = f.alpha, .scale = f.scale, .root = f.root};
  return s;
}

static float scale_of(const cel_adapter_scaling *how, int64_t rank) {
  if (how->scale > 0) return (float)how->scale;
  return (float)(how->alpha / (how->root ? sqrt((double)rank) : (double)rank));
}

// Is there a weight of that name that rows are multiplied with as it is?
static bool stands_beside_linear(const cel_arch *arch, const cel_tensor_list *l, const char *module) {
  char weight[NAME_MOST];
  if (snprintf(weight, sizeof weight, "%s.weight", module) >= NAME_MOST || !cel_tensor_list_find(l->items, l->n, weight)) return false;
  for (int role = 0; role < CEL_W_COUNT; role++) {
    if (cel_arch_is_linear((cel_weight_role)role) && cel_arch_weight_is(arch, (cel_weight_role)role, module)) return true;
  }
  return false;
}

// One pair: its matrices, and the scale added to the list.
static cel_status finish_pair(cel_checkpoint *c, const cel_arch *arch, const cel_tensor *a, const char *module, int64_t *added,
                              cel_err *err) {
  cel_checkpoint_private *p = c->priv;
  char name[NAME_MOST + 24];
  snprintf(name, sizeof name, "%s.lora_B.weight", module);
  const cel_tensor *b = cel_tensor_list_find(p->list.items, p->list.n - *added, name);
  if (!b || a->rank != 2 || b->rank != 2 || a->dims[0] < 1 || b->dims[1] != a->dims[0] ||
      (p->adapter.rank > 0 && a->dims[0] != p->adapter.rank)) {
    return cel_fail(err, CEL_MALFORMED, "%s: %s.lora_A is %s, lora_B %s; [r, in] and [out, r] are needed%s", a->file,
                    cel_show(cel_str_of(module)).text, cel_show_dims(a->dims, a->rank).text,
                    b ? cel_show_dims(b->dims, b->rank).text : "is missing", p->adapter.rank ? ", with the config's r" : "");
  }
  cel_tensor_list published = {.items = p->list.items, .n = p->list.n - *added};
  if (!stands_beside_linear(arch, &published, module)) {
    return cel_fail(err, CEL_UNSUPPORTED, "%s: the adapter changes %s, which is no plain linear weight of this model", a->file,
                    cel_show(cel_str_of(module)).text);
  }
  float *scale = CEL_NEW(&p->arena, float);
  if (!scale) return cel_fail_oom(err, "an adapter");
  *scale = scale_of(&p->adapter, a->dims[0]);
  cel_tensor t = {.dtype = CEL_DT_F32, .rank = 1, .dims = {1}, .data = scale, .bytes = sizeof *scale, .file = a->file};
  snprintf(name, sizeof name, "%s.lora_scale", module);
  ++*added;
  return cel_tensor_list_add(&p->list, &t, CEL_STR(""), cel_str_of(name), err);
}

static cel_status finish_pairs(cel_checkpoint *c, const cel_arch *arch, cel_err *err) {
  cel_tensor_list *l = &c->priv->list;
  cel_str ends[2] = {CEL_STR(".lora_A.weight"), CEL_STR(".lora_B.weight")};
  int64_t n = l->n, pairs = 0, others = 0, added = 0;
  for (int64_t i = 0; i < n; i++) {
    cel_tensor t = l->items[i];
    cel_str name = cel_str_of(t.name);
    char module[NAME_MOST];
    others += cel_str_ends(name, ends[1]);
    if (!cel_str_ends(name, ends[0])) continue;
    pairs++;
    if (snprintf(module, sizeof module, "%.*s", (int)(name.n - ends[0].n), name.p) >= NAME_MOST) {
      return cel_fail(err, CEL_MALFORMED, "%s: a tensor's name is too long", t.file);
    }
    CEL_TRY(finish_pair(c, arch, &t, module, &added, err));
  }
  if (pairs == others) return cel_tensor_list_sort(l, err);
  return cel_fail(err, CEL_MALFORMED, "%s: the adapter has %lld matrices lora_A and %lld lora_B; they go in pairs", c->adapter,
                  (long long)pairs, (long long)others);
}

// A config that cannot be described is the model's trouble, told when it is loaded.
cel_status cel_checkpoint_finish_adapter(cel_checkpoint *c, cel_err *err) {
  cel_arena arena;
  cel_arch arch;
  cel_err told;
  if (!c->adapter || !c->config || !cel_arch_family_of(c->config)) return CEL_OK;
  cel_arena_init(&arena);
  cel_status s = CEL_OK;
  cel_status described = cel_arch_from_config(c->config, NULL, &arena, &arch, &told);
  if (described == CEL_OK) s = finish_pairs(c, &arch, err);
  if (described == CEL_OOM) s = cel_fail_oom(err, "a model's description");
  cel_arena_deinit(&arena);
  return s;
}
