// Qwen2 and 2.5: biases on q, k and v always; the upper layers may slide. MiMo is Qwen2 without a window: its files name
// one that the model never applies; the layers that predict further tokens are not read.
#include "arch/describe.h"

extern const cel_family cel_family_qwen2, cel_family_mimo;

static const cel_class_defaults defaults = {
    .vocab = 151936, .hidden = 4096, .inter = 22016, .layers = 32, .n_q = 32, .n_kv = 32, .max_position = 32768,
    .eps = 1e-6, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = -1, .eos = -1,
};

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  a->qkv_bias = true;
  int64_t first = 0;
  CEL_TRY(cel_arch_read_upper_window(cfg, a, &first, err));
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e4}, arena, a, rope_of, err));
  return cel_arch_read_layers(cfg, cel_layer_sliding_from, first, rope_of, arena, a, err);
}

static cel_status describe_mimo(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  a->qkv_bias = true;
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e4}, arena, a, rope_of, err));
  return cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err);
}

const cel_family cel_family_mimo = {
    .name = "mimo",
    .model_types = {"mimo"},
    .gguf_archs = {NULL},  // GGUF files of it say "qwen2"
    .special = "Qwen2 without a window; heads that predict further tokens are left out",
    .describe = describe_mimo,
};

const cel_family cel_family_qwen2 = {
    .name = "qwen2",
    .model_types = {"qwen2"},
    .gguf_archs = {"qwen2"},
    .special = "Llama with biases on q, k and v; the upper layers may slide",
    .describe = describe,
};
