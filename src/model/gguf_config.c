// GGUF metadata -> config.json's keys (the layout before transformers 5: top-level rope_theta, rope_scaling).
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/gguf_convert.h"

// One row per architecture that is translated. Converters permute the q and k rows of llama-type files;
// gemma's fold the 1 of its (1 + w) norms into the weights.
typedef struct family {
  const char *arch, *model_type;
  bool interleaved, gemma, qkv_bias_fixed;
} family;

static const family families[] = {
  {"llama", "llama", true, false, false},  // mistral files too
  {"qwen2", "qwen2", false, false, true},
  {"qwen3", "qwen3", false, false, false},
  {"gemma3", "gemma3_text", false, true, false},
};

typedef struct maker {
  const cel_gguf *g;
  const cel_tensor_list *list;
  const family *family;
  cel_json *config;
  cel_err *err;
  char key[128];  // the last one looked up, whole
} maker;

static const family *find_family(cel_str arch) {
  for (int i = 0; i < CEL_COUNT(families); i++) {
    if (cel_str_is(arch, families[i].arch)) return &families[i];
  }
  return NULL;
}

bool cel_gguf_rope_interleaved(const cel_gguf *g) {
  cel_str arch = CEL_STR("");
  if (cel_gguf_string(g, "general.architecture", &arch, NULL, NULL) != CEL_OK) return false;
  const family *f = find_family(arch);
  return f && f->interleaved;
}

// ---- putting --------------------------------------------------------------------------------------

static cel_status put_int(maker *m, const char *key, int64_t v) {
  return cel_gguf_put(m->config, key, json_integer(v), m->err);
}
static cel_status put_bool(maker *m, const char *key, bool v) {
  return cel_gguf_put(m->config, key, json_boolean(v), m->err);
}
static cel_status put_word(maker *m, const char *key, const char *v) {
  return cel_gguf_put(m->config, key, json_string(v), m->err);
}

static cel_status put_num(maker *m, cel_json *obj, const char *key, double v) {
  if (isfinite(v)) return cel_gguf_put(obj, key, json_real(v), m->err);
  return cel_fail(m->err, CEL_MALFORMED, "%s: metadata \"%s\" is not a finite number", m->g->file, m->key);
}

// ---- getting --------------------------------------------------------------------------------------

static const char *full(maker *m, const char *suffix) {
  snprintf(m->key, sizeof m->key, "%s.%s", m->family->arch, suffix);
  return m->key;
}

static cel_status bad_size(maker *m, int64_t v) {
  return cel_fail(m->err, CEL_MALFORMED, "%s: metadata \"%s\" is %lld, a positive 32-bit number is needed", m->g->file,
                  m->key, (long long)v);
}

// All items of a per-layer array, when they are equal.
static cel_status equal_items(maker *m, const cel_gguf_value *v, int64_t *out) {
  int size = cel_gguf_type_bytes(v->item_type);
  if (!cel_gguf_is_int(v->item_type) || v->count < 1) {
    return cel_fail(m->err, CEL_MALFORMED, "%s: metadata \"%s\" is an array of %lld %s, integers are needed", m->g->file,
                    m->key, (long long)v->count, cel_gguf_type_name(v->item_type));
  }
  *out = cel_gguf_int_at(v->item_type, v->at);
  for (int64_t i = 1; i < v->count; i++) {
    if (cel_gguf_int_at(v->item_type, v->at + i * size) == *out) continue;
    return cel_fail(m->err, CEL_UNSUPPORTED, "%s: metadata \"%s\" differs from layer to layer; only one value for all is "
                    "supported", m->g->file, m->key);
  }
  return CEL_OK;
}

// A size; one per layer is accepted when all are equal. 0 when absent (some writers put 0 for none).
static cel_status get_size(maker *m, const char *suffix, int64_t *out) {
  const cel_gguf_value *v = cel_gguf_find(m->g, full(m, suffix));
  *out = 0;
  if (!v) return CEL_OK;
  if (v->type == CEL_GGUF_ARRAY) {
    CEL_TRY(equal_items(m, v, out));
  } else {
    CEL_TRY(cel_gguf_int(m->g, m->key, out, NULL, m->err));
  }
  return *out >= 0 && *out <= INT32_MAX ? CEL_OK : bad_size(m, *out);
}

static cel_status require_size(maker *m, const char *suffix, const char *key, int64_t *out) {
  CEL_TRY(get_size(m, suffix, out));
  if (*out > 0) return put_int(m, key, *out);
  if (cel_gguf_find(m->g, m->key)) return bad_size(m, *out);
  return cel_fail(m->err, CEL_MALFORMED, "%s: metadata \"%s\" is missing", m->g->file, m->key);
}

static cel_status get_num(maker *m, const char *suffix, double *out, bool *found) {
  return cel_gguf_num(m->g, full(m, suffix), out, found, m->err);
}

static const cel_tensor *tensor(const maker *m, const char *name) {
  return cel_tensor_list_find(m->list->items, m->list->n, name);
}

// ---- the parts ------------------------------------------------------------------------------------

typedef struct sizes { int64_t layers, hidden, inter, heads, kv_heads, head_dim, context; } sizes;

// key_length, or what the first q matrix says, or hidden / heads.
static cel_status find_head_dim(maker *m, sizes *s) {
  int64_t value_length;
  const cel_tensor *q = tensor(m, "model.layers.0.self_attn.q_proj.weight");
  CEL_TRY(get_size(m, "attention.key_length", &s->head_dim));
  CEL_TRY(get_size(m, "attention.value_length", &value_length));
  if (!s->head_dim) s->head_dim = (q && q->rank == 2 ? q->dims[0] : s->hidden) / s->heads;
  if (s->head_dim < 1) return cel_fail(m->err, CEL_MALFORMED, "%s: attention heads without width", m->g->file);
  if (!value_length || value_length == s->head_dim) return put_int(m, "head_dim", s->head_dim);
  return cel_fail(m->err, CEL_UNSUPPORTED, "%s: metadata \"%s\" is %lld, other than the width of keys, %lld", m->g->file,
                  m->key, (long long)value_length, (long long)s->head_dim);
}

static cel_status make_sizes(maker *m, sizes *s) {
  CEL_TRY(require_size(m, "block_count", "num_hidden_layers", &s->layers));
  CEL_TRY(require_size(m, "embedding_length", "hidden_size", &s->hidden));
  CEL_TRY(require_size(m, "feed_forward_length", "intermediate_size", &s->inter));
  CEL_TRY(require_size(m, "attention.head_count", "num_attention_heads", &s->heads));
  CEL_TRY(require_size(m, "context_length", "max_position_embeddings", &s->context));
  CEL_TRY(get_size(m, "attention.head_count_kv", &s->kv_heads));
  CEL_TRY(put_int(m, "num_key_value_heads", s->kv_heads ? s->kv_heads : s->heads));
  return find_head_dim(m, s);
}

static cel_status make_norm(maker *m) {
  double eps;
  bool found;
  CEL_TRY(get_num(m, "attention.layer_norm_rms_epsilon", &eps, &found));
  if (!found) return cel_fail(m->err, CEL_MALFORMED, "%s: metadata \"%s\" is missing", m->g->file, m->key);
  CEL_TRY(put_num(m, m->config, "rms_norm_eps", eps));
  if (m->family->gemma) return put_bool(m, "mlxcel_norm_plus_one_folded", true);
  return CEL_OK;
}

static cel_status make_partial_rotary(maker *m, const sizes *s) {
  int64_t dims;
  CEL_TRY(get_size(m, "rope.dimension_count", &dims));
  if (!dims || dims == s->head_dim) return CEL_OK;
  if (dims > s->head_dim) {
    return cel_fail(m->err, CEL_MALFORMED, "%s: metadata \"%s\" is %lld, heads have only %lld", m->g->file, m->key,
                    (long long)dims, (long long)s->head_dim);
  }
  double f = (double)dims / (double)s->head_dim;
  if ((int64_t)((double)s->head_dim * f) < dims) f = nextafter(f, 1);  // readers cut off the product
  return put_num(m, m->config, "partial_rotary_factor", f);
}

// Copies a number into obj[key] when the file has it.
static cel_status copy_num(maker *m, cel_json *obj, const char *suffix, const char *key) {
  double v;
  bool found;
  CEL_TRY(get_num(m, suffix, &v, &found));
  return found ? put_num(m, obj, key, v) : CEL_OK;
}

// llama.cpp multiplies attn_factor with the amplitude of the formula; transformers replaces it.
static cel_status make_yarn(maker *m, cel_json *scaling, double factor) {
  double attn = 1;
  bool found;
  CEL_TRY(copy_num(m, scaling, "rope.scaling.yarn_beta_fast", "beta_fast"));
  CEL_TRY(copy_num(m, scaling, "rope.scaling.yarn_beta_slow", "beta_slow"));
  CEL_TRY(get_num(m, "rope.scaling.attn_factor", &attn, &found));
  if (!found || attn == 1) return CEL_OK;
  return put_num(m, scaling, "attention_factor", attn * (factor > 1 ? 0.1 * log(factor) + 1 : 1));
}

static cel_status fill_scaling(maker *m, cel_json *scaling, cel_str type, double factor) {
  CEL_TRY(cel_gguf_put(scaling, "rope_type", json_stringn(type.p, type.n), m->err));
  CEL_TRY(put_num(m, scaling, "factor", factor));
  CEL_TRY(copy_num(m, scaling, "rope.scaling.original_context_length", "original_max_position_embeddings"));
  if (cel_str_is(type, "yarn")) return make_yarn(m, scaling, factor);
  if (cel_str_is(type, "longrope")) return copy_num(m, scaling, "rope.scaling.attn_factor", "attention_factor");
  return CEL_OK;
}

static cel_status make_scaling(maker *m) {
  cel_str type = CEL_STR("linear");  // of files that give only a factor
  double factor = 1;
  bool typed, found;
  CEL_TRY(cel_gguf_string(m->g, full(m, "rope.scaling.type"), &type, &typed, m->err));
  if (typed && !cel_str_is(type, "none") && !cel_str_is(type, "linear") && !cel_str_is(type, "yarn") &&
      !cel_str_is(type, "longrope")) {
    return cel_fail(m->err, CEL_UNSUPPORTED, "%s: metadata \"%s\" is \"%s\"; none, linear, yarn and longrope are known",
                    m->g->file, m->key, cel_show(type).text);
  }
  CEL_TRY(get_num(m, "rope.scaling.factor", &factor, &found));
  if (!found) CEL_TRY(get_num(m, "rope.scale_linear", &factor, NULL));
  if (cel_str_is(type, "none") || (cel_str_is(type, "linear") && (factor == 0 || factor == 1))) return CEL_OK;
  cel_json *scaling = json_object();
  CEL_TRY(cel_gguf_put(m->config, "rope_scaling", scaling, m->err));
  return fill_scaling(m, scaling, type, factor);
}

static cel_status make_rope(maker *m, const sizes *s) {
  double theta = m->family->gemma ? 1e6 : 1e4, local = 1e4;
  CEL_TRY(get_num(m, "rope.freq_base", &theta, NULL));
  CEL_TRY(put_num(m, m->config, "rope_theta", theta));
  if (m->family->gemma) {
    CEL_TRY(get_num(m, "rope.freq_base_swa", &local, NULL));
    CEL_TRY(put_num(m, m->config, "rope_local_base_freq", local));
  }
  CEL_TRY(make_partial_rotary(m, s));
  return make_scaling(m);
}

// Scores are scaled by query_pre_attn_scalar^-1/2. The 27B model (62 layers) takes hidden / heads, all
// others the width of a head.
static cel_status make_gemma_scale(maker *m, const sizes *s) {
  double scale, scalar = s->layers == 62 ? (double)s->hidden / (double)s->heads : (double)s->head_dim;
  bool found;
  CEL_TRY(get_num(m, "attention.scale", &scale, &found));
  if (found && scale > 0) scalar = 1 / (scale * scale);
  return put_num(m, m->config, "query_pre_attn_scalar", scalar);
}

static cel_status make_gemma(maker *m, const sizes *s) {
  int64_t window, pattern;
  CEL_TRY(make_gemma_scale(m, s));
  CEL_TRY(get_size(m, "attention.sliding_window", &window));
  CEL_TRY(cel_gguf_put(m->config, "sliding_window", window ? json_integer(window) : json_null(), m->err));
  CEL_TRY(get_size(m, "attention.sliding_window_pattern", &pattern));
  CEL_TRY(put_int(m, "sliding_window_pattern", pattern ? pattern : 6));
  CEL_TRY(copy_num(m, m->config, "final_logit_softcapping", "final_logit_softcapping"));
  return put_word(m, "hidden_activation", "gelu_pytorch_tanh");
}

static cel_status make_tensor_facts(maker *m) {
  const cel_tensor *embed = tensor(m, "model.embed_tokens.weight");
  if (!embed || embed->rank != 2) {
    return cel_fail(m->err, CEL_MALFORMED, "%s: tensor \"token_embd.weight\" is missing or not a matrix", m->g->file);
  }
  CEL_TRY(put_int(m, "vocab_size", embed->dims[0]));
  CEL_TRY(put_bool(m, "tie_word_embeddings", !tensor(m, "lm_head.weight")));
  CEL_TRY(put_bool(m, "mlp_bias", tensor(m, "model.layers.0.mlp.gate_proj.bias") != NULL));
  if (m->family->qkv_bias_fixed) return CEL_OK;
  return put_bool(m, "attention_bias", tensor(m, "model.layers.0.self_attn.q_proj.bias") != NULL);
}

// ---- whole files ----------------------------------------------------------------------------------

static cel_status fill_config(maker *m, const cel_gguf_vocab *vocab) {
  sizes s;
  int64_t experts;
  CEL_TRY(get_size(m, "expert_count", &experts));
  if (experts) return put_word(m, "model_type", "mixtral");  // llama's mixture of experts
  CEL_TRY(put_word(m, "model_type", m->family->model_type));
  CEL_TRY(make_sizes(m, &s));
  CEL_TRY(make_norm(m));
  CEL_TRY(make_rope(m, &s));
  CEL_TRY(make_tensor_facts(m));
  CEL_TRY(m->family->gemma ? make_gemma(m, &s) : put_word(m, "hidden_act", "silu"));
  return vocab ? cel_gguf_put_ids(m->config, vocab, m->err) : CEL_OK;
}

cel_status cel_gguf_config(const cel_gguf *g, const cel_tensor_list *list, const cel_gguf_vocab *vocab, cel_json **out,
                           cel_err *err) {
  cel_str arch;
  bool found;
  *out = NULL;
  CEL_TRY(cel_gguf_string(g, "general.architecture", &arch, &found, err));
  maker m = {.g = g, .list = list, .family = found ? find_family(arch) : NULL, .config = json_object(), .err = err};
  if (!m.config) return cel_fail_oom(err, "a config");
  cel_status status = CEL_OK;
  if (found) status = m.family ? fill_config(&m, vocab) : put_word(&m, "model_type", cel_show(arch).text);
  if (status != CEL_OK) {
    json_decref(m.config);
    return status;
  }
  *out = m.config;
  return CEL_OK;
}
