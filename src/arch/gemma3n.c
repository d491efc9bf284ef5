// Gemma 3n, the text side: several planes of hidden rows of which one goes through each layer and the others are
// predicted and corrected (AltUp), a low-rank path beside attention (LAuReL), an embedding for every layer, later layers
// that read the keys and values of earlier ones, and first layers whose gates are cut off at a quantile.
#include <math.h>

#include "arch/describe.h"

extern const cel_family cel_family_gemma3n;

static const cel_class_defaults defaults = {
    .vocab = 262400, .hidden = 2048, .inter = 16384, .layers = 35, .n_q = 8, .n_kv = 2, .head_dim = 256,
    .max_position = 32768,
    .eps = 1e-6, .act_key = "hidden_activation", .act = "gelu_pytorch_tanh", .tied = true, .bos = 2, .eos = 1,
    .inter_by_layer = true,
};

static const struct { cel_weight_role role; const char *name; } names[] = {
    {CEL_W_Q_NORM, "model.layers.{i}.self_attn.q_norm"},
    {CEL_W_K_NORM, "model.layers.{i}.self_attn.k_norm"},
    {CEL_W_PLE_EMBED, "model.embed_tokens_per_layer"},
    {CEL_W_PLE_PROJECTION, "model.per_layer_model_projection"},
    {CEL_W_PLE_NORM, "model.per_layer_projection_norm"},
    {CEL_W_LAUREL_LEFT, "model.layers.{i}.laurel.linear_left"},
    {CEL_W_LAUREL_RIGHT, "model.layers.{i}.laurel.linear_right"},
    {CEL_W_LAUREL_NORM, "model.layers.{i}.laurel.post_laurel_norm"},
    {CEL_W_ALTUP_PROJECTION, "model.altup_projections.{i}"},
    {CEL_W_ALTUP_UNEMBED, "model.altup_unembed_projections.{i}"},
    {CEL_W_ALTUP_ROUTER, "model.layers.{i}.altup.modality_router"},
    {CEL_W_ALTUP_ROUTER_NORM, "model.layers.{i}.altup.router_norm"},
    {CEL_W_ALTUP_PREDICT, "model.layers.{i}.altup.prediction_coefs"},
    {CEL_W_ALTUP_CORRECT, "model.layers.{i}.altup.correction_coefs"},
    {CEL_W_ALTUP_SCALE, "model.layers.{i}.altup.correct_output_scale"},
    {CEL_W_PLE_GATE, "model.layers.{i}.per_layer_input_gate"},
    {CEL_W_PLE_UP, "model.layers.{i}.per_layer_projection"},
    {CEL_W_PLE_POST_NORM, "model.layers.{i}.post_per_layer_input_norm"},
};

static cel_status read_planes(cel_keys k, cel_arch *a, cel_err *err) {
  cel_gemma3n *g = &a->gemma3n;
  int64_t planes = 4, active = 0;
  *g = (cel_gemma3n){.ple = 256, .ple_vocab = 262144, .laurel = 64, .scale_corrected = true};
  CEL_TRY(cel_keys_int(k, "altup_num_inputs", 1, 16, &planes, err));
  CEL_TRY(cel_keys_int(k, "altup_active_idx", 0, planes - 1, &active, err));
  CEL_TRY(cel_keys_bool(k, "altup_correct_scale", &g->scale_corrected, err));
  CEL_TRY(cel_keys_int(k, "hidden_size_per_layer_input", 1, CEL_ARCH_MAX_DIM, &g->ple, err));
  CEL_TRY(cel_keys_int(k, "vocab_size_per_layer_input", 1, CEL_ARCH_MAX_DIM, &g->ple_vocab, err));
  CEL_TRY(cel_keys_int(k, "laurel_rank", 1, CEL_ARCH_MAX_DIM, &g->laurel, err));
  g->planes = (int)planes;
  g->active = (int)active;
  if (planes - 1 > a->n_layers)
    return cel_fail(err, CEL_UNSUPPORTED, "config key altup_num_inputs is %lld; at most num_hidden_layers + 1, %d, is supported",
                    (long long)planes, a->n_layers + 1);
  return CEL_OK;
}

// One width for all layers, or one each.
static cel_status read_widths(cel_keys k, cel_arch *a, cel_err *err) {
  const cel_json *list = cel_json_get(k.obj, "intermediate_size");
  if (!cel_json_is_array(list)) return CEL_OK;
  if (cel_json_array_size(list) != (size_t)a->n_layers)
    return cel_fail(err, CEL_MALFORMED, "config key intermediate_size is a list of %zu; num_hidden_layers says %d",
                    cel_json_array_size(list), a->n_layers);
  a->inter = 0;
  for (int i = 0; i < a->n_layers; i++) {
    int64_t width = 0;
    CEL_TRY(cel_keys_int_of(k, "intermediate_size", cel_json_array_get(list, (size_t)i), 1, CEL_ARCH_MAX_DIM, &width, err));
    a->layers[i].inter = width;
    a->inter = CEL_MAX(a->inter, width);
  }
  return CEL_OK;
}

// The normal distribution's quantile, by Newton's steps on its distribution function, rounded as the reference's f32.
static double quantile(double p) {
  double z = 0;
  for (int i = 0; i < 60; i++) {
    double below = 0.5 * erfc(-z / sqrt(2.0)), density = exp(-0.5 * z * z) / sqrt(8.0 * atan(1.0));
    double step = (below - p) / density;
    z -= fmax(-1.0, fmin(1.0, step));
  }
  return (double)(float)z;
}

// A file without the list cuts the gates of the first ten layers at 0.95, if there are more than ten.
static cel_status read_sparsity(cel_keys k, cel_arch *a, cel_err *err) {
  const cel_json *given = cel_json_get(k.obj, "activation_sparsity_pattern");
  double one = 0;
  bool by_layer = cel_json_is_array(given);
  if (given && !by_layer) CEL_TRY(cel_keys_num(k, "activation_sparsity_pattern", 0, 0.9999, &one, err));
  if (by_layer && cel_json_array_size(given) != (size_t)a->n_layers)
    return cel_fail(err, CEL_MALFORMED, "config key activation_sparsity_pattern is a list of %zu; num_hidden_layers says %d",
                    cel_json_array_size(given), a->n_layers);
  for (int i = 0; i < a->n_layers; i++) {
    double p = given ? one : a->n_layers > 10 && i < 10 ? 0.95 : 0;
    if (by_layer) {
      const cel_json *item = cel_json_array_get(given, (size_t)i);
      if (!cel_json_is_number(item) || !(cel_json_number_value(item) >= 0) || !(cel_json_number_value(item) < 1))
        return cel_keys_refuse(k, "activation_sparsity_pattern", item, CEL_MALFORMED, "a list of numbers from 0 to below 1", err);
      p = cel_json_number_value(item);
    }
    a->layers[i].sparsity = p > 0 ? quantile(p) : 0;
    a->layers[i].cut = p > 0;
  }
  return CEL_OK;
}

static cel_status read_shared(cel_keys k, cel_arch *a, cel_err *err) {
  int64_t shared = 15;
  CEL_TRY(cel_keys_int(k, "num_kv_shared_layers", 0, CEL_ARCH_MAX_LAYERS, &shared, err));
  if (shared >= a->n_layers)
    return cel_fail(err, CEL_MALFORMED, "config key num_kv_shared_layers is %lld (15 when absent); it must be below num_hidden_layers, %d",
                    (long long)shared, a->n_layers);
  for (int i = a->n_layers - (int)shared; i < a->n_layers; i++) a->layers[i].kv_shared = true;
  return CEL_OK;
}

static cel_status read_scalars(cel_keys k, cel_arch *a, cel_err *err) {
  a->attn_scale = 1;
  a->embed_mul = sqrt((double)a->hidden);
  a->final_softcap = cel_keys_is_null(k, "final_logit_softcapping") ? 0 : 30;
  CEL_TRY(cel_keys_num(k, "final_logit_softcapping", 1e-6, 1e9, &a->final_softcap, err));
  return cel_arch_read_attention_bias(k, "attention_bias", false, a, err);
}

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  cel_keys k = {cfg, ""};
  cel_arch_name_four_norms(a);
  a->placement = CEL_PRE_POST_NORM;
  a->qk_norm = CEL_QK_NORM_HEAD;
  a->v_norm = true;
  for (int i = 0; i < CEL_COUNT(names); i++) a->names[names[i].role] = names[i].name;
  CEL_TRY(read_planes(k, a, err));
  CEL_TRY(read_scalars(k, a, err));
  CEL_TRY(cel_arch_read_window(cfg, 512, &a->window, err));
  int rope_of[2];
  cel_rope_defaults ropes = {.theta = 1e6, .local_theta = 1e4};
  CEL_TRY(cel_arch_read_ropes(cfg, &ropes, arena, a, rope_of, err));
  CEL_TRY(cel_arch_read_layers(cfg, cel_layer_full_every, 5, rope_of, arena, a, err));
  CEL_TRY(read_widths(k, a, err));
  CEL_TRY(read_sparsity(k, a, err));
  return read_shared(k, a, err);
}

const cel_family cel_family_gemma3n = {
    .name = "gemma3n",
    .model_types = {"gemma3n_text", "gemma3n"},
    .gguf_archs = {"gemma3n"},
    .special = "planes predicted and corrected around each layer, an embedding per layer, shared keys and values, cut gates",
    .describe = describe,
};
