// Architectures with layers of their own kind: what their metadata says, and tensors that GGUF keeps in another form than
// a folder does (numbers in metadata, stacks of matrices, values already computed with).
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "model/gguf_reading.h"

// An array of n f32 values. NULL when the key is absent.
static cel_status float_list(const cel_gguf *g, const char *key, int64_t n, const uint8_t **out, cel_err *err) {
  const cel_gguf_value *v = cel_gguf_find(g, key);
  *out = NULL;
  if (!v) return CEL_OK;
  if (v->type != CEL_GGUF_ARRAY || v->item_type != CEL_GGUF_F32 || v->count != n) {
    return cel_fail(err, CEL_MALFORMED, "%s: metadata \"%s\" must be an array of %lld f32, one for each layer", g->file, key,
                    (long long)n);
  }
  *out = v->at;
  return CEL_OK;
}

static float float_at(const uint8_t *list, int64_t i) {
  float v;
  memcpy(&v, list + 4 * i, sizeof v);
  return v;
}

// `yes` NULL: `otherwise` everywhere.
static cel_status put_layer_words(cel_gguf_maker *m, const cel_gguf_value *yes, const char *word, const char *otherwise) {
  CEL_TRY(cel_gguf_put(m->config, "layer_types", cel_json_array(), m->err));
  cel_json *list = cel_json_object_get(m->config, "layer_types");
  for (int64_t i = 0; i < m->s.layers; i++) {
    if (cel_json_array_append_new(list, cel_json_string_of(yes && cel_gguf_item(yes, i) ? word : otherwise)) != 0) return cel_fail_oom(m->err, "a config");
  }
  return CEL_OK;
}

// A new tensor of F32 values, room for them in *values.
static cel_status add_floats(cel_tensor_list *l, const char *name, int64_t n, const char *file, float **values, cel_err *err) {
  cel_tensor t = {.dtype = CEL_DT_F32, .rank = 1, .dims = {n}, .file = file};
  if (!cel_mul_i64(n, sizeof **values, &t.bytes) || !(*values = cel_arena_alloc(l->arena, (size_t)t.bytes + 1))) return cel_fail_oom(err, name);
  t.data = *values;
  return cel_tensor_list_add(l, &t, CEL_STR(""), cel_str_of(name), err);
}

// ---- Apertus: the four numbers of a layer's activation are metadata -----------------------------------------

cel_status cel_gguf_apertus_tensors(const cel_gguf *g, cel_tensor_list *l, cel_err *err) {
  static const char *const names[] = {"alpha_p", "alpha_n", "beta", "eps"};
  int64_t layers = 0;
  CEL_TRY(cel_gguf_int(g, "apertus.block_count", &layers, NULL, err));
  for (int k = 0; k < CEL_COUNT(names); k++) {
    char name[80];
    const uint8_t *list;
    snprintf(name, sizeof name, "xielu.%s", names[k]);
    CEL_TRY(float_list(g, name, layers, &list, err));
    for (int64_t i = 0; list && i < layers; i++) {
      float *value;
      snprintf(name, sizeof name, "model.layers.%lld.mlp.act_fn.%s", (long long)i, names[k]);
      CEL_TRY(add_floats(l, name, 1, g->file, &value, err));
      *value = float_at(list, i);
    }
  }
  return CEL_OK;
}

// ---- Gemma 3n ---------------------------------------------------------------------------------------------------

// The matrices of a stack [n, out, in] under names of their own.
static cel_status unstack(cel_tensor_list *l, int64_t at, const char *stem, cel_err *err) {
  cel_tensor t = l->items[at];
  int64_t n = t.dims[0];
  if (t.rank != 3 || n < 1 || n > 64 || t.bytes % n != 0) {
    return cel_fail(err, CEL_MALFORMED, "%s: tensor \"%s\" is %s; a stack of matrices is needed", t.file, t.name,
                    cel_show_dims(t.dims, t.rank).text);
  }
  t.rank = 2;
  t.dims[0] = t.dims[1];
  t.dims[1] = t.dims[2];
  t.bytes /= n;
  for (int64_t i = 0; i < n; i++, t.data = (const uint8_t *)t.data + t.bytes) {
    char name[80];
    snprintf(name, sizeof name, "%s.%lld.weight", stem, (long long)i);
    CEL_TRY(cel_tensor_list_add(l, &t, CEL_STR(""), cel_str_of(name), err));
  }
  return CEL_OK;
}

cel_status cel_gguf_gemma3n_tensors(const cel_gguf *g, cel_tensor_list *l, cel_err *err) {
  static const char *const stems[] = {"model.altup_projections", "model.altup_unembed_projections"};
  (void)g;
  int64_t n = l->n;
  for (int64_t i = 0; i < n; i++) {
    for (int k = 0; k < CEL_COUNT(stems); k++) {
      cel_str name = cel_str_of(l->items[i].name), stem = cel_str_of(stems[k]);
      if (name.n == stem.n + 7 && cel_str_starts(name, stem) && cel_str_ends(name, CEL_STR(".weight"))) CEL_TRY(unstack(l, i, stems[k], err));
    }
  }
  return CEL_OK;
}

// The file has how many deviations above the mean a gate is cut off at (minus infinity: never); a config the share of
// values below that.
static cel_status put_sparsity(cel_gguf_maker *m) {
  const uint8_t *list;
  CEL_TRY(float_list(m->g, cel_gguf_key(m, "activation_sparsity_scale"), m->s.layers, &list, m->err));
  if (!list) return cel_gguf_put_num(m, m->config, "activation_sparsity_pattern", 0);
  CEL_TRY(cel_gguf_put(m->config, "activation_sparsity_pattern", cel_json_array(), m->err));
  cel_json *out = cel_json_object_get(m->config, "activation_sparsity_pattern");
  for (int64_t i = 0; i < m->s.layers; i++) {
    double share = 0.5 * erfc(-(double)float_at(list, i) / sqrt(2.0));
    if (!(share >= 0 && share < 1)) {
      return cel_fail(m->err, CEL_MALFORMED, "%s: metadata \"%s\", entry %lld, is no number of deviations", m->g->file, m->key, (long long)i);
    }
    if (cel_json_array_append_new(out, cel_json_real(share)) != 0) return cel_fail_oom(m->err, "a config");
  }
  return CEL_OK;
}

static cel_status put_rows(cel_gguf_maker *m, const char *tensor, const char *key) {
  const cel_tensor *t = cel_gguf_tensor_of(m, tensor);
  return t && t->rank == 2 ? cel_gguf_put_int(m, key, t->dims[0]) : CEL_OK;
}

cel_status cel_gguf_gemma3n(cel_gguf_maker *m) {
  const cel_gguf_value *slides;
  double theta = 1e6, local = 1e4;
  int64_t active, shared;
  CEL_TRY(cel_gguf_real(m, "rope.freq_base", &theta, NULL));
  CEL_TRY(cel_gguf_put_num(m, m->config, "rope_theta", theta));
  CEL_TRY(cel_gguf_real(m, "rope.freq_base_swa", &local, NULL));
  CEL_TRY(cel_gguf_put_num(m, m->config, "rope_local_base_freq", local));
  CEL_TRY(cel_gguf_copy_size(m, "altup.num_inputs", "altup_num_inputs"));
  CEL_TRY(cel_gguf_size(m, "altup.active_idx", &active));
  CEL_TRY(cel_gguf_put_int(m, "altup_active_idx", active));
  CEL_TRY(cel_gguf_copy_size(m, "embedding_length_per_layer_input", "hidden_size_per_layer_input"));
  CEL_TRY(cel_gguf_size(m, "attention.shared_kv_layers", &shared));
  CEL_TRY(cel_gguf_put_int(m, "num_kv_shared_layers", shared));
  CEL_TRY(put_rows(m, "model.embed_tokens_per_layer.weight", "vocab_size_per_layer_input"));
  CEL_TRY(put_rows(m, "model.layers.0.laurel.linear_left.weight", "laurel_rank"));
  CEL_TRY(cel_gguf_put_bool(m, "altup_correct_scale", cel_gguf_in_layers(m, "altup.correct_output_scale")));
  CEL_TRY(cel_gguf_copy_real(m, m->config, "final_logit_softcapping", "final_logit_softcapping"));
  CEL_TRY(put_sparsity(m));
  CEL_TRY(cel_gguf_copy_size(m, "attention.sliding_window", "sliding_window"));
  CEL_TRY(cel_gguf_per_layer(m, "attention.sliding_window_pattern", &slides));
  return slides ? put_layer_words(m, slides, "sliding_attention", "full_attention") : CEL_OK;
}

// ---- Granite 4 --------------------------------------------------------------------------------------------------

cel_status cel_gguf_granite_positions(cel_gguf_maker *m, int64_t shared) {
  bool rotated = true;
  CEL_TRY(cel_gguf_bool(m->g, cel_gguf_key(m, "rope.scaling.finetuned"), &rotated, NULL, m->err));
  if (rotated) return CEL_OK;
  CEL_TRY(cel_gguf_put_word(m, "model_type", "granitemoehybrid"));
  CEL_TRY(cel_gguf_put_null(m, "position_embedding_type"));
  CEL_TRY(cel_gguf_put_int(m, "shared_intermediate_size", shared));
  if (!cel_json_get(m->config, "num_experts")) CEL_TRY(cel_gguf_put_int(m, "num_local_experts", 0));
  if (!cel_json_get(m->config, "num_experts_per_tok")) CEL_TRY(cel_gguf_put_int(m, "num_experts_per_tok", 0));
  return put_layer_words(m, NULL, "", "attention");
}

// Files of this name have layers of Mamba 2, where head_count_kv is 0; those without call themselves granite or granitemoe.
cel_status cel_gguf_granitehybrid(cel_gguf_maker *m) {
  const cel_gguf_value *heads;
  CEL_TRY(cel_gguf_granitemoe(m));
  CEL_TRY(cel_gguf_put_word(m, "model_type", "granitemoehybrid"));
  CEL_TRY(cel_gguf_per_layer(m, "attention.head_count_kv", &heads));
  return heads ? put_layer_words(m, heads, "attention", "mamba") : CEL_OK;
}

// ---- Qwen3-Next -------------------------------------------------------------------------------------------------

// -exp(A_log) back to A_log.
static cel_status add_log(cel_tensor_list *l, const cel_tensor *t, int64_t layer, cel_err *err) {
  char name[80];
  float *out;
  if (t->dtype != CEL_DT_F32 || t->rank != 1) {
    return cel_fail(err, CEL_MALFORMED, "%s: tensor \"%s\" is %s %s; a list of F32 is needed", t->file, t->name,
                    cel_dtype_of(t->dtype)->name, cel_show_dims(t->dims, t->rank).text);
  }
  snprintf(name, sizeof name, "model.layers.%lld.linear_attn.A_log", (long long)layer);
  CEL_TRY(add_floats(l, name, t->dims[0], t->file, &out, err));
  for (int64_t i = 0; i < t->dims[0]; i++) {
    float rate = float_at(t->data, i);
    if (!(rate < 0)) {
      return cel_fail(err, CEL_MALFORMED, "%s: tensor \"%s\", entry %lld, is %g; a rate of forgetting is negative", t->file, t->name,
                      (long long)i, (double)rate);
    }
    out[i] = logf(-rate);
  }
  return CEL_OK;
}

// Of each key head's rows, those that belong to b (first 0) or a (first 1): a copy of few rows.
static cel_status take_every_other(cel_tensor_list *l, const cel_tensor *t, int64_t layer, int64_t heads, int first, cel_err *err) {
  int64_t run = heads > 0 ? t->dims[0] / heads / 2 : 0;
  if (t->rank != 2 || run < 1 || run * heads * 2 != t->dims[0] || t->bytes % t->dims[0] != 0) {
    return cel_fail(err, CEL_MALFORMED, "%s: tensor \"%s\" is %s; two rows for each value head of %lld key heads are needed", t->file,
                    t->name, cel_show_dims(t->dims, t->rank).text, (long long)heads);
  }
  int64_t part = t->bytes / t->dims[0] * run;
  cel_tensor half = *t;
  half.dims[0] /= 2;
  half.bytes /= 2;
  uint8_t *copy = cel_arena_alloc(l->arena, (size_t)half.bytes + 1);
  if (!copy) return cel_fail_oom(err, t->name);
  for (int64_t h = 0; h < heads; h++) memcpy(copy + h * part, (const uint8_t *)t->data + (2 * h + first) * part, (size_t)part);
  half.data = copy;
  char name[80];
  snprintf(name, sizeof name, "model.layers.%lld.linear_attn.in_proj_%c.weight", (long long)layer, first ? 'a' : 'b');
  return cel_tensor_list_add(l, &half, CEL_STR(""), cel_str_of(name), err);
}

// The layer of "model.layers.3" + tail; -1 for other names.
static int64_t layer_with(const char *name, const char *tail) {
  static const char head[] = "model.layers.";
  int64_t n = 0;
  if (strncmp(name, head, sizeof head - 1) != 0) return -1;
  const char *p = name + sizeof head - 1, *digits = p;
  while (p - digits < 6 && *p >= '0' && *p <= '9') n = n * 10 + (*p++ - '0');
  return p > digits && !strcmp(p, tail) ? n : -1;
}

cel_status cel_gguf_qwen3next_tensors(const cel_gguf *g, cel_tensor_list *l, cel_err *err) {
  int64_t heads = 0, n = l->n;
  CEL_TRY(cel_gguf_int(g, "qwen3next.ssm.group_count", &heads, NULL, err));
  for (int64_t i = 0; i < n; i++) {
    cel_tensor t = l->items[i];
    int64_t rates = layer_with(t.name, ".ssm_a"), both = layer_with(t.name, ".ssm_ba.weight");
    if (rates >= 0) CEL_TRY(add_log(l, &t, rates, err));
    for (int first = 0; both >= 0 && first < 2; first++) CEL_TRY(take_every_other(l, &t, both, heads, first, err));
  }
  return CEL_OK;
}

static cel_status put_delta_nets(cel_gguf_maker *m, int64_t *heads) {
  const cel_gguf_value *recurrent;
  int64_t inner;
  CEL_TRY(cel_gguf_copy_size(m, "ssm.conv_kernel", "linear_conv_kernel_dim"));
  CEL_TRY(cel_gguf_copy_size(m, "ssm.state_size", "linear_key_head_dim"));
  CEL_TRY(cel_gguf_copy_size(m, "ssm.group_count", "linear_num_key_heads"));
  CEL_TRY(cel_gguf_require_size(m, "ssm.time_step_rank", "linear_num_value_heads", heads));
  CEL_TRY(cel_gguf_require_size(m, "ssm.inner_size", NULL, &inner));
  CEL_TRY(cel_gguf_put_int(m, "linear_value_head_dim", inner / *heads));
  CEL_TRY(cel_gguf_copy_size(m, "expert_shared_feed_forward_length", "shared_expert_intermediate_size"));
  CEL_TRY(cel_gguf_copy_size(m, "full_attention_interval", "full_attention_interval"));
  CEL_TRY(cel_gguf_per_layer(m, "attention.recurrent_layers", &recurrent));
  return recurrent ? put_layer_words(m, recurrent, "linear_attention", "full_attention") : CEL_OK;
}

cel_status cel_gguf_qwen3next(cel_gguf_maker *m) {
  int64_t heads;
  CEL_TRY(cel_gguf_put_bool(m, "mlxcel_delta_separate", true));
  CEL_TRY(cel_gguf_put_bool(m, "norm_topk_prob", true));
  return put_delta_nets(m, &heads);
}

// Qwen 3.5: the value heads of all key heads in turn.
cel_status cel_gguf_qwen35(cel_gguf_maker *m) {
  int64_t heads, keys;
  CEL_TRY(put_delta_nets(m, &heads));
  CEL_TRY(cel_gguf_size(m, "ssm.group_count", &keys));
  return keys == heads ? CEL_OK : cel_gguf_put_bool(m, "mlxcel_delta_tiled", true);
}
