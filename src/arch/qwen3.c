// Qwen3: a norm over each head of q and k before the rotation; heads of an own width.
#include "arch/describe.h"

extern const cel_family cel_family_qwen3;

static const cel_class_defaults defaults = {
    .vocab = 151936, .hidden = 4096, .inter = 22016, .layers = 32, .n_q = 32, .n_kv = 32, .head_dim = 128,
    .max_position = 32768,
    .eps = 1e-6, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = -1, .eos = -1,
};

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  a->qk_norm = CEL_QK_NORM_HEAD;
  cel_arch_name_qk_norms(a);
  CEL_TRY(cel_arch_read_attention_bias((cel_keys){cfg, ""}, "attention_bias", false, a, err));
  int64_t first = 0;
  CEL_TRY(cel_arch_read_upper_window(cfg, a, &first, err));
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e4}, arena, a, rope_of, err));
  return cel_arch_read_layers(cfg, cel_layer_sliding_from, first, rope_of, arena, a, err);
}

const cel_family cel_family_qwen3 = {
    .name = "qwen3",
    .model_types = {"qwen3"},
    .gguf_archs = {"qwen3"},
    .special = "Llama with RMS norms over each head of q and k before the rotation; own head width",
    .describe = describe,
};
