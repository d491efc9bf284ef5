// From config.json to cel_arch: finds the text level, the family by model_type, and unites the end ids.
#include "arch/describe.h"

static bool names_family(const cel_family *f, cel_str type, const char **word) {
  for (int i = 0; i < CEL_COUNT(f->model_types) && f->model_types[i]; i++) {
    if (!cel_str_is(type, f->model_types[i])) continue;
    *word = f->model_types[i];
    return true;
  }
  return false;
}

// Wrappers call the text part of X "X_text"; both mean X.
static const cel_family *find_family(const char *model_type, const char **word) {
  cel_str whole = cel_str_of(model_type), stem = whole;
  if (cel_str_ends(whole, CEL_STR("_text"))) stem.n -= strlen("_text");
  for (int pass = 0; pass < 2; pass++)
    for (const cel_family *const *f = cel_families; *f; f++)
      if (names_family(*f, pass == 0 ? whole : stem, word)) return *f;
  return NULL;
}

static cel_status refuse_type(const cel_json *cfg, const cel_json *root, cel_err *err) {
  const cel_json *type = cel_json_get(cfg, "model_type");
  cel_buf known = {0};
  cel_buf_addz(&known, "one of ");
  for (const cel_family *const *f = cel_families; *f; f++)
    for (int i = 0; i < CEL_COUNT((*f)->model_types) && (*f)->model_types[i]; i++)
      cel_buf_printf(&known, "%s%s", f == cel_families && i == 0 ? "" : ", ", (*f)->model_types[i]);
  cel_keys k = {cfg, cfg == root ? "" : "text_config."}, outer = {root, ""};
  cel_status s = cel_keys_refuse(type ? k : outer, "model_type", type ? type : cel_json_get(root, "model_type"),
                                 CEL_UNSUPPORTED, known.p ? known.p : "a known one", err);
  cel_buf_deinit(&known);
  return s;
}

// The text level: text_config of a wrapper, else the root itself.
static cel_status find_text(const cel_json *root, const cel_json **cfg, const char **model_type, cel_err *err) {
  if (!cel_json_is_object(root)) return cel_fail(err, CEL_MALFORMED, "the config is no JSON object");
  *cfg = root;
  *model_type = NULL;
  CEL_TRY(cel_keys_object((cel_keys){root, ""}, "text_config", cfg, err));
  CEL_TRY(cel_keys_string((cel_keys){root, ""}, "model_type", model_type, err));
  if (*cfg != root) CEL_TRY(cel_keys_string((cel_keys){*cfg, "text_config."}, "model_type", model_type, err));
  return *model_type ? CEL_OK : cel_fail(err, CEL_MALFORMED, "config key model_type is missing");
}

const cel_family *cel_arch_family_of(const cel_json *config) {
  const cel_json *cfg;
  const char *model_type, *word;
  cel_err err;
  return find_text(config, &cfg, &model_type, &err) == CEL_OK ? find_family(model_type, &word) : NULL;
}

// --- End ids --------------------------------------------------------------------------------------
static cel_status add_eos(cel_keys k, const cel_json *v, cel_arch *a, cel_err *err) {
  int64_t id = -1;
  CEL_TRY(cel_keys_int_of(k, "eos_token_id", v, 0, INT32_MAX, &id, err));
  int at = 0;
  while (at < a->n_eos && a->eos[at] < id) at++;
  if (at < a->n_eos && a->eos[at] == id) return CEL_OK;
  if (a->n_eos == CEL_ARCH_MAX_EOS)
    return cel_fail(err, CEL_UNSUPPORTED, "config key %seos_token_id brings the end ids to more than %d", k.path,
                    CEL_ARCH_MAX_EOS);
  memmove(a->eos + at + 1, a->eos + at, (size_t)(a->n_eos - at) * sizeof a->eos[0]);
  a->eos[at] = (int32_t)id;
  a->n_eos++;
  return CEL_OK;
}

static cel_status add_eos_key(cel_keys k, cel_arch *a, cel_err *err) {
  const cel_json *v = cel_json_get(k.obj, "eos_token_id");
  if (!v) return CEL_OK;
  if (!cel_json_is_array(v)) return add_eos(k, v, a, err);
  for (size_t i = 0; i < cel_json_array_size(v); i++) CEL_TRY(add_eos(k, cel_json_array_get(v, i), a, err));
  return CEL_OK;
}

// Every level's ids count: each has been the only right one in some file. The class default (left in *a by
// the family) stands only when no file has the key.
static cel_status unite_eos(const cel_json *cfg, const cel_json *root, const cel_json *generation, cel_arch *a,
                            cel_err *err) {
  const cel_keys levels[] = {
      {cfg, cfg == root ? "" : "text_config."}, {root, ""}, {generation, "(generation_config) "}};
  bool said = false;
  for (int i = 0; i < CEL_COUNT(levels); i++) said |= cel_json_object_get(levels[i].obj, "eos_token_id") != NULL;
  if (!said) return CEL_OK;
  a->n_eos = 0;
  for (int i = 0; i < CEL_COUNT(levels); i++) CEL_TRY(add_eos_key(levels[i], a, err));
  return CEL_OK;
}

// A layer that shares keys and values reads those of the last earlier layer of its kind that has its own.
static cel_status number_states(cel_arch *a, cel_err *err) {
  int last[2] = {-1, -1};
  for (int i = 0; i < a->n_layers; i++) {
    cel_layer *l = &a->layers[i];
    if (l->mixer == CEL_MIXER_CONV) {
      l->state = a->n_conv_layers++;
    } else if (l->mixer == CEL_MIXER_DELTA) {
      l->state = a->n_delta_layers++;
    } else if (!l->kv_shared) {
      l->state = last[l->attention] = a->n_kv_layers++;
    } else if ((l->state = last[l->attention]) < 0) {
      return cel_fail(err, CEL_MALFORMED, "config: layer %d shares keys and values, but no layer of its kind is before it", i);
    }
  }
  return CEL_OK;
}

// Attention within chunks of the text: Llama 4's, which no family here has.
static cel_status refuse_chunks(const cel_json *cfg, const cel_json *root, cel_err *err) {
  static const char key[] = "attention_chunk_size";
  if (!cel_json_get(cfg, key)) return CEL_OK;
  return cel_keys_refuse((cel_keys){cfg, cfg == root ? "" : "text_config."}, key, cel_json_get(cfg, key), CEL_UNSUPPORTED,
                         "null: attention within chunks is not supported", err);
}

cel_status cel_arch_from_config(const cel_json *config, const cel_json *generation_config, cel_arena *arena,
                                cel_arch *out, cel_err *err) {
  const cel_json *cfg;
  const char *model_type, *word;
  CEL_TRY(find_text(config, &cfg, &model_type, err));
  const cel_family *family = find_family(model_type, &word);
  if (!family) return refuse_type(cfg, config, err);
  if (generation_config && !cel_json_is_object(generation_config))
    return cel_fail(err, CEL_MALFORMED, "the generation_config is no JSON object");
  CEL_TRY(refuse_chunks(cfg, config, err));
  *out = (cel_arch){.family = family, .model_type = word, .bos = -1};
  CEL_TRY(family->describe(cfg, config, arena, out, err));
  CEL_TRY(number_states(out, err));
  return unite_eos(cfg, config, generation_config, out, err);
}
