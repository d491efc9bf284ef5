// Mistral: Llama without biases; when a window is set every layer slides.
#include "arch/describe.h"

extern const cel_family cel_family_mistral;

static const cel_class_defaults defaults = {
    .vocab = 32000, .hidden = 4096, .inter = 14336, .layers = 32, .n_q = 32, .n_kv = 8, .max_position = 131072,
    .eps = 1e-6, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = 1, .eos = 2,
};

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  CEL_TRY(cel_arch_read_window(cfg, 4096, &a->window, err));  // absent is not null: 4096 is the class default
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e4}, arena, a, rope_of, err));
  cel_layer_rule rule = a->window ? cel_layer_all_sliding : cel_layer_all_full;
  return cel_arch_read_layers(cfg, rule, 0, rope_of, arena, a, err);
}

const cel_family cel_family_mistral = {
    .name = "mistral",
    .model_types = {"mistral"},
    .gguf_archs = {NULL},  // GGUF files of Mistral say "llama"
    .special = "Llama with a sliding window on every layer when one is set; no biases",
    .describe = describe,
};
