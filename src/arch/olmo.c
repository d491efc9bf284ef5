// OLMo 1: norms without any weight, and q, k and v clipped behind their projections.
#include "arch/describe.h"

extern const cel_family cel_family_olmo;

static const cel_class_defaults defaults = {
    .vocab = 50304, .hidden = 4096, .inter = 11008, .layers = 32, .n_q = 32, .n_kv = 32, .max_position = 2048,
    .eps = 1e-5, .eps_key = "",  // no key: 1e-5 in every file
    .act_key = "hidden_act", .act = "silu", .tied = false, .bos = -1, .eos = 50279,
};

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  cel_keys k = {cfg, ""};
  a->norm = CEL_NORM_LAYER_PLAIN;
  CEL_TRY(cel_keys_num(k, "clip_qkv", 1e-6, 1e9, &a->clip_qkv, err));
  CEL_TRY(cel_arch_read_attention_bias(k, "attention_bias", false, a, err));
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e4}, arena, a, rope_of, err));
  return cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err);
}

const cel_family cel_family_olmo = {
    .name = "olmo",
    .model_types = {"olmo"},
    .gguf_archs = {"olmo"},
    .special = "layer norms without weights; q, k and v clipped",
    .describe = describe,
};
