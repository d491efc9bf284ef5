// Gemma 2: Gemma with four norms, soft caps on scores and logits, and every other layer sliding.
#include <math.h>

#include "arch/describe.h"

extern const cel_family cel_family_gemma2;

static const cel_class_defaults defaults = {
    .vocab = 256000, .hidden = 2304, .inter = 9216, .layers = 26, .n_q = 8, .n_kv = 4, .head_dim = 256,
    .max_position = 8192,
    .eps = 1e-6, .act_key = "hidden_activation", .act = "gelu_pytorch_tanh", .tied = true, .bos = 2, .eos = 1,
    .act_alias = "hidden_act",
};

// A cap that is absent is the class's, one that is null is none.
static cel_status read_cap(cel_keys k, const char *key, double otherwise, double *cap, cel_err *err) {
  *cap = cel_keys_is_null(k, key) ? 0 : otherwise;
  return cel_keys_num(k, key, 1e-6, 1e9, cap, err);
}

static cel_status read_scalars(cel_keys k, cel_arch *a, cel_err *err) {
  double scalar = 256;
  CEL_TRY(cel_keys_num(k, "query_pre_attn_scalar", 1e-6, 1e9, &scalar, err));
  a->attn_scale = 1.0 / sqrt(scalar);
  a->embed_mul = sqrt((double)a->hidden);
  CEL_TRY(read_cap(k, "attn_logit_softcapping", 50, &a->attn_softcap, err));
  CEL_TRY(read_cap(k, "final_logit_softcapping", 30, &a->final_softcap, err));
  return cel_arch_read_attention_bias(k, "attention_bias", false, a, err);
}

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  cel_keys k = {cfg, ""};
  cel_arch_name_four_norms(a);
  CEL_TRY(cel_arch_read_gemma_norm(k, a, err));
  CEL_TRY(read_scalars(k, a, err));
  CEL_TRY(cel_arch_read_window(cfg, 4096, &a->window, err));
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e4}, arena, a, rope_of, err));
  cel_layer_rule rule = a->window ? cel_layer_even_sliding : cel_layer_all_full;
  return cel_arch_read_layers(cfg, rule, 0, rope_of, arena, a, err);
}

const cel_family cel_family_gemma2 = {
    .name = "gemma2",
    .model_types = {"gemma2"},
    .gguf_archs = {"gemma2"},
    .special = "Gemma with four norms, soft caps on scores and logits, every other layer sliding",
    .describe = describe,
};
