// Mixtral: Mistral's attention, and of a few wide experts two for each token, their weights divided by their sum.
#include "arch/describe.h"

extern const cel_family cel_family_mixtral;

static const cel_class_defaults defaults = {
    .vocab = 32000, .hidden = 4096, .inter = 14336, .layers = 32, .n_q = 32, .n_kv = 8, .max_position = 131072,
    .eps = 1e-5, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = 1, .eos = 2,
};
static const cel_moe_defaults experts = {.n_experts = 8, .top_k = 2, .router = CEL_ROUTER_SOFTMAX, .renorm = true};

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  CEL_TRY(cel_arch_read_window(cfg, 0, &a->window, err));
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e6}, arena, a, rope_of, err));
  cel_layer_rule rule = a->window ? cel_layer_all_sliding : cel_layer_all_full;
  CEL_TRY(cel_arch_read_layers(cfg, rule, 0, rope_of, arena, a, err));
  CEL_TRY(cel_arch_read_moe(cfg, &experts, a, err));
  return cel_arch_read_sparse_layers(cfg, cel_sparse_all, NULL, a, err);
}

const cel_family cel_family_mixtral = {
    .name = "mixtral",
    .model_types = {"mixtral"},
    .gguf_archs = {NULL},  // GGUF files of it say "llama"
    .special = "Mistral with experts, softmax router divided by the sum of the chosen",
    .describe = describe,
};
