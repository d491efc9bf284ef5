// The keys every text family shares, with the defaults of its class, and the names of Llama's weights.
#include <math.h>
#include <stdio.h>

#include "arch/describe.h"

static const char *const llama_names[CEL_W_COUNT] = {
    [CEL_W_EMBED] = "model.embed_tokens",
    [CEL_W_FINAL_NORM] = "model.norm",
    [CEL_W_HEAD] = "lm_head",
    [CEL_W_ATTN_NORM] = "model.layers.{i}.input_layernorm",
    [CEL_W_Q] = "model.layers.{i}.self_attn.q_proj",
    [CEL_W_K] = "model.layers.{i}.self_attn.k_proj",
    [CEL_W_V] = "model.layers.{i}.self_attn.v_proj",
    [CEL_W_O] = "model.layers.{i}.self_attn.o_proj",
    [CEL_W_MLP_NORM] = "model.layers.{i}.post_attention_layernorm",
    [CEL_W_GATE] = "model.layers.{i}.mlp.gate_proj",
    [CEL_W_UP] = "model.layers.{i}.mlp.up_proj",
    [CEL_W_DOWN] = "model.layers.{i}.mlp.down_proj",
};

// At the root a size has no default: a file without it is broken, not small.
static cel_status read_size(cel_keys k, bool nested, const char *key, int64_t hi, int64_t otherwise, int64_t *out,
                            cel_err *err) {
  if (!nested) CEL_TRY(cel_keys_need(k, key, err));
  *out = otherwise;
  return cel_keys_int(k, key, 1, hi, out, err);
}

static cel_status read_heads(cel_keys k, bool nested, const cel_class_defaults *d, cel_arch *a, cel_err *err) {
  int64_t n_q = 0;
  CEL_TRY(read_size(k, nested, "num_attention_heads", CEL_ARCH_MAX_HEADS, d->n_q, &n_q, err));
  bool class_kv = nested && d->n_kv > 0 && !cel_keys_is_null(k, "num_key_value_heads");
  int64_t n_kv = class_kv ? d->n_kv : n_q;
  CEL_TRY(cel_keys_int(k, "num_key_value_heads", 1, CEL_ARCH_MAX_HEADS, &n_kv, err));
  if (n_q % n_kv != 0)
    return cel_fail(err, CEL_MALFORMED,
                    "config key num_attention_heads is %lld, no multiple of num_key_value_heads %lld",
                    (long long)n_q, (long long)n_kv);
  a->n_q = (int)n_q;
  a->n_kv = (int)n_kv;
  return CEL_OK;
}

static cel_status read_head_dim(cel_keys k, const cel_class_defaults *d, cel_arch *a, cel_err *err) {
  int64_t dim = cel_keys_is_null(k, "head_dim") ? 0 : d->head_dim;
  CEL_TRY(cel_keys_int(k, "head_dim", 2, CEL_ARCH_MAX_HEAD_DIM, &dim, err));
  if (dim == 0) {
    if (a->hidden % a->n_q != 0)
      return cel_fail(err, CEL_MALFORMED,
                      "config has no head_dim, and hidden_size %lld is no multiple of num_attention_heads %d",
                      (long long)a->hidden, a->n_q);
    dim = a->hidden / a->n_q;
  }
  if (dim < 2 || dim > CEL_ARCH_MAX_HEAD_DIM || dim % 2 != 0)
    return cel_fail(err, CEL_MALFORMED, "config gives heads of width %lld (head_dim, else hidden_size / "
                    "num_attention_heads); it must be even, from 2 to %d", (long long)dim, CEL_ARCH_MAX_HEAD_DIM);
  if (dim * a->n_q > CEL_ARCH_MAX_DIM)
    return cel_fail(err, CEL_MALFORMED, "config gives num_attention_heads %d times head_dim %lld; the product must "
                    "be at most %d", a->n_q, (long long)dim, CEL_ARCH_MAX_DIM);
  a->head_dim = (int)dim;
  return CEL_OK;
}

static cel_status read_act(cel_keys k, const cel_class_defaults *d, cel_arch *a, cel_err *err) {
  static const struct { const char *name; cel_act act; } known[] = {
      {"silu", CEL_ACT_SILU},           {"swish", CEL_ACT_SILU},
      {"gelu_pytorch_tanh", CEL_ACT_GELU_TANH}, {"gelu_new", CEL_ACT_GELU_TANH},
      {"gelu", CEL_ACT_GELU_ERF},       {"relu", CEL_ACT_RELU},
      {"relu2", CEL_ACT_RELU2},         {"xielu", CEL_ACT_XIELU},
  };
  const char *name = d->act, *key = d->act_key;
  if (d->act_alias && !cel_json_get(k.obj, key)) key = d->act_alias;
  CEL_TRY(cel_keys_string(k, key, &name, err));
  for (int i = 0; i < CEL_COUNT(known); i++) {
    if (strcmp(name, known[i].name) != 0) continue;
    a->act = known[i].act;
    return CEL_OK;
  }
  return cel_keys_refuse(k, key, cel_json_get(k.obj, key), CEL_UNSUPPORTED,
                         "one of silu, swish, gelu_pytorch_tanh, gelu_new, gelu, relu, relu2, xielu", err);
}

static cel_status read_sizes(cel_keys k, bool nested, const cel_class_defaults *d, cel_arch *a, cel_err *err) {
  int64_t layers = 0;
  const char *layers_key = "num_hidden_layers";
  if (d->layers_alias && !cel_json_get(k.obj, layers_key)) layers_key = d->layers_alias;
  CEL_TRY(read_size(k, nested, layers_key, CEL_ARCH_MAX_LAYERS, d->layers, &layers, err));
  a->n_layers = (int)layers;
  CEL_TRY(read_size(k, nested, "vocab_size", CEL_ARCH_MAX_DIM, d->vocab, &a->vocab, err));
  CEL_TRY(read_size(k, nested, "hidden_size", CEL_ARCH_MAX_DIM, d->hidden, &a->hidden, err));
  const char *inter_key = d->inter_alias && cel_json_get(k.obj, d->inter_alias) ? d->inter_alias : "intermediate_size";
  bool by_layer = d->inter_by_layer && cel_json_is_array(cel_json_get(k.obj, inter_key));
  if (!by_layer) CEL_TRY(read_size(k, nested, inter_key, CEL_ARCH_MAX_DIM, d->inter, &a->inter, err));
  a->max_position = d->max_position;
  return cel_keys_int(k, "max_position_embeddings", 1, CEL_ARCH_MAX_POSITION, &a->max_position, err);
}

// Token ids and the tie may stand at the root of a wrapper. A null id is "none", not the class default.
static cel_status read_outer(cel_keys k, cel_keys outer, const cel_class_defaults *d, cel_arch *a, cel_err *err) {
  a->tied = d->tied;
  CEL_TRY(cel_keys_bool(outer, "tie_word_embeddings", &a->tied, err));
  CEL_TRY(cel_keys_bool(k, "tie_word_embeddings", &a->tied, err));
  cel_keys where = cel_json_object_get(k.obj, "bos_token_id") ? k : outer;
  int64_t bos = cel_keys_is_null(where, "bos_token_id") ? -1 : d->bos;
  CEL_TRY(cel_keys_int(where, "bos_token_id", -1, INT32_MAX, &bos, err));
  a->bos = (int32_t)bos;
  a->n_eos = d->eos >= 0;
  a->eos[0] = d->eos;
  return CEL_OK;
}

cel_status cel_arch_read_common(const cel_json *cfg, const cel_json *root, const cel_class_defaults *d, cel_arch *a,
                                cel_err *err) {
  bool nested = cfg != root;
  cel_keys k = {cfg, nested ? "text_config." : ""}, outer = {root, ""};
  CEL_TRY(read_sizes(k, nested, d, a, err));
  CEL_TRY(read_heads(k, nested, d, a, err));
  CEL_TRY(read_head_dim(k, d, a, err));
  CEL_TRY(read_act(k, d, a, err));
  CEL_TRY(read_outer(k, outer, d, a, err));
  a->norm_eps = d->eps;
  if (d->eps_alias) CEL_TRY(cel_keys_num(k, d->eps_alias, 1e-12, 1, &a->norm_eps, err));
  const char *eps_key = d->eps_key ? d->eps_key : "rms_norm_eps";
  if (*eps_key) CEL_TRY(cel_keys_num(k, eps_key, 1e-12, 1, &a->norm_eps, err));
  a->norm = CEL_NORM_RMS;
  a->placement = CEL_PRE_NORM;
  a->qk_norm = CEL_QK_NORM_NONE;
  a->attn_scale = 1.0 / sqrt((double)a->head_dim);
  a->embed_mul = a->residual_mul = a->logit_mul = 1.0;
  memcpy(a->names, llama_names, sizeof a->names);
  return CEL_OK;
}

cel_status cel_arch_read_attention_bias(cel_keys k, const char *key, bool otherwise, cel_arch *a, cel_err *err) {
  a->qkv_bias = otherwise;
  CEL_TRY(cel_keys_bool(k, key, &a->qkv_bias, err));
  a->o_bias = a->qkv_bias;
  return CEL_OK;
}

cel_status cel_arch_read_gemma_norm(cel_keys k, cel_arch *a, cel_err *err) {
  bool folded = false, both_ways = false;
  CEL_TRY(cel_keys_bool(k, "mlxcel_norm_plus_one_folded", &folded, err));
  a->norm = folded ? CEL_NORM_RMS : CEL_NORM_RMS_PLUS_ONE;
  CEL_TRY(cel_keys_bool(k, "use_bidirectional_attention", &both_ways, err));
  if (!both_ways) return CEL_OK;
  return cel_fail(err, CEL_UNSUPPORTED, "config key use_bidirectional_attention is true: an embedding model; only causal "
                  "models can generate");
}

void cel_arch_mlps_without_gate(cel_arch *a) {
  for (int i = 0; i < a->n_layers; i++) a->layers[i].ffn = CEL_FFN_PLAIN;
}

void cel_arch_name_qk_norms(cel_arch *a) {
  a->names[CEL_W_Q_NORM] = "model.layers.{i}.self_attn.q_norm";
  a->names[CEL_W_K_NORM] = "model.layers.{i}.self_attn.k_norm";
}

void cel_arch_name_post_norms(cel_arch *a) {
  a->placement = CEL_POST_NORM;
  a->names[CEL_W_ATTN_POST_NORM] = "model.layers.{i}.post_attention_layernorm";
  a->names[CEL_W_MLP_POST_NORM] = "model.layers.{i}.post_feedforward_layernorm";
}

void cel_arch_name_four_norms(cel_arch *a) {
  cel_arch_name_post_norms(a);
  a->placement = CEL_PRE_POST_NORM;
  a->names[CEL_W_MLP_NORM] = "model.layers.{i}.pre_feedforward_layernorm";
}

int cel_arch_key_width(const cel_arch *a) {
  return a->mla.kv_rank > 0 ? a->mla.kv_rank + a->mla.rope : a->head_dim;
}

bool cel_arch_recurrent(const cel_arch *a) { return a->n_conv_layers > 0 || a->n_delta_layers > 0; }

int64_t cel_arch_recurrent_size(const cel_arch *a) {
  const cel_delta *d = &a->delta;
  int64_t keys = (int64_t)d->n_k * d->d_k, values = (int64_t)d->n_v * d->d_v;
  int64_t conv = a->n_conv_layers ? (a->conv.kernel - 1) * a->hidden : 0;
  int64_t delta = a->n_delta_layers ? (d->kernel - 1) * (2 * keys + values) + values * d->d_k : 0;
  return a->n_conv_layers * conv + a->n_delta_layers * delta;
}

bool cel_arch_weight_name(const cel_arch *a, cel_weight_role role, int layer, char *out, int out_bytes) {
  if ((int)role < 0 || role >= CEL_W_COUNT || !a->names[role] || out_bytes <= 0) return false;
  const char *form = a->names[role], *hole = strstr(form, "{i}");
  int n;
  if (!hole) {
    n = snprintf(out, (size_t)out_bytes, "%s", form);
  } else {
    if (layer < 0 || layer >= a->n_layers) return false;
    n = snprintf(out, (size_t)out_bytes, "%.*s%d%s", (int)(hole - form), form, layer, hole + 3);
  }
  return n >= 0 && n < out_bytes;
}

bool cel_arch_weight_is(const cel_arch *a, cel_weight_role role, const char *module) {
  const char *form = a->names[role], *hole = form ? strstr(form, "{i}") : NULL;
  if (!hole) return form && !strcmp(form, module);
  size_t head = (size_t)(hole - form), digits = 0;
  long layer = 0;
  if (strncmp(form, module, head) != 0) return false;
  const char *number = module + head;
  while (digits < 6 && number[digits] >= '0' && number[digits] <= '9') layer = layer * 10 + (number[digits++] - '0');
  return digits > 0 && layer < a->n_layers && !strcmp(number + digits, hole + 3);
}

cel_weight_role cel_arch_role_named(const cel_arch *a, const char *form) {
  int r = 0;
  while (r < CEL_W_COUNT && (!a->names[r] || strcmp(a->names[r], form) != 0)) r++;
  return (cel_weight_role)r;
}

bool cel_arch_is_linear(cel_weight_role role) {
  switch (role) {
    case CEL_W_Q: case CEL_W_K: case CEL_W_V: case CEL_W_O: case CEL_W_QKV: case CEL_W_Q_A: case CEL_W_Q_B: case CEL_W_KV_A:
    case CEL_W_CONV_IN: case CEL_W_CONV_OUT:
    case CEL_W_DELTA_QKVZ: case CEL_W_DELTA_BA: case CEL_W_DELTA_QKV: case CEL_W_DELTA_Z: case CEL_W_DELTA_B: case CEL_W_DELTA_A:
    case CEL_W_DELTA_OUT:
    case CEL_W_GATE: case CEL_W_UP: case CEL_W_DOWN: case CEL_W_ROUTER:
    case CEL_W_SHARED_GATE: case CEL_W_SHARED_UP: case CEL_W_SHARED_DOWN: case CEL_W_SHARED_SWITCH:
    case CEL_W_HEAD: case CEL_W_PLE_PROJECTION: case CEL_W_LAUREL_LEFT: case CEL_W_LAUREL_RIGHT:
    case CEL_W_PLE_GATE: case CEL_W_PLE_UP: return true;
    default: return false;
  }
}
