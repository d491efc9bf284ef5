// Llama 1 to 3.x and its kin (SmolLM2, TinyLlama, Yi ...): the block all others are compared with.
#include "arch/describe.h"

extern const cel_family cel_family_llama;

static const cel_class_defaults defaults = {
    .vocab = 32000, .hidden = 4096, .inter = 11008, .layers = 32, .n_q = 32, .max_position = 2048,
    .eps = 1e-6, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = 1, .eos = 2,
};

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  cel_keys k = {cfg, ""};
  CEL_TRY(cel_keys_bool(k, "attention_bias", &a->qkv_bias, err));
  a->o_bias = a->qkv_bias;  // one key for all four projections
  CEL_TRY(cel_keys_bool(k, "mlp_bias", &a->mlp_bias, err));
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e4}, arena, a, rope_of, err));
  return cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err);
}

const cel_family cel_family_llama = {
    .name = "llama",
    .model_types = {"llama"},
    .gguf_archs = {"llama"},
    .special = "pre-norm RMS, grouped heads, gated SiLU; every rope type; optional biases",
    .describe = describe,
};
