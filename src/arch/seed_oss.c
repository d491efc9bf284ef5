// Seed-OSS: Llama with wide heads, biases on q, k and v by default and one on o by a key of its own.
#include "arch/describe.h"

extern const cel_family cel_family_seed_oss;

static const cel_class_defaults defaults = {
    .vocab = 155136, .hidden = 4096, .inter = 27648, .layers = 64, .n_q = 80, .n_kv = 8, .head_dim = 128,
    .max_position = 524288,
    .eps = 1e-6, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = 0, .eos = 2,
};

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  cel_keys k = {cfg, ""};
  a->qkv_bias = true;
  CEL_TRY(cel_keys_bool(k, "attention_bias", &a->qkv_bias, err));
  CEL_TRY(cel_keys_bool(k, "attention_out_bias", &a->o_bias, err));
  CEL_TRY(cel_keys_bool(k, "mlp_bias", &a->mlp_bias, err));
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e4}, arena, a, rope_of, err));
  return cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err);
}

const cel_family cel_family_seed_oss = {
    .name = "seed_oss",
    .model_types = {"seed_oss"},
    .gguf_archs = {"seed_oss"},
    .special = "Llama with biases on q, k and v, and a bias on o by a key of its own",
    .describe = describe,
};
