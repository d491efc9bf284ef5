// ERNIE 4.5, dense: Llama with neighbouring columns rotated together; one key for the biases of every product.
#include "arch/describe.h"

extern const cel_family cel_family_ernie4_5;

static const cel_class_defaults defaults = {
    .vocab = 103424, .hidden = 1024, .inter = 3072, .layers = 18, .n_q = 16, .n_kv = 2, .head_dim = 128,
    .max_position = 131072,
    .eps = 1e-5, .act_key = "hidden_act", .act = "silu", .tied = true, .bos = 1, .eos = 2,
};

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  CEL_TRY(cel_arch_read_attention_bias((cel_keys){cfg, ""}, "use_bias", false, a, err));
  a->mlp_bias = a->qkv_bias;
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 5e5, .interleaved = true}, arena, a, rope_of, err));
  return cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err);
}

const cel_family cel_family_ernie4_5 = {
    .name = "ernie4_5",
    .model_types = {"ernie4_5"},
    .gguf_archs = {"ernie4_5"},
    .special = "Llama with an interleaved rotation and one key for all biases",
    .describe = describe,
};
