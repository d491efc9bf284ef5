// DeepSeek V1: Llama with dense first layers, then many small experts and shared ones.
#include "arch/describe.h"

extern const cel_family cel_family_deepseek;

static const cel_class_defaults defaults = {
    .vocab = 102400, .hidden = 4096, .inter = 11008, .layers = 30, .n_q = 32, .n_kv = 32, .max_position = 2048,
    .eps = 1e-6, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = 100000, .eos = 100001,
};
static const cel_moe_defaults experts = {.n_experts = 64, .top_k = 6, .inter = 1407, .router = CEL_ROUTER_SOFTMAX,
                                         .renorm_key = "norm_topk_prob"};

// From a first layer on, those whose number the frequency divides.
static bool each_from(int layer, const int64_t *arguments) {
  return layer >= arguments[0] && layer % arguments[1] == 0;
}

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  cel_keys k = {cfg, ""};
  CEL_TRY(cel_arch_read_attention_bias(k, "attention_bias", false, a, err));
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e4}, arena, a, rope_of, err));
  CEL_TRY(cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err));
  CEL_TRY(cel_arch_read_moe(cfg, &experts, a, err));
  CEL_TRY(cel_arch_read_shared_experts(cfg, "n_shared_experts", 0, a, err));
  a->moe.scale = 1;  // the class knows no routed_scaling_factor
  int64_t where[2] = {0, 1};
  CEL_TRY(cel_keys_int(k, "first_k_dense_replace", 0, CEL_ARCH_MAX_LAYERS, &where[0], err));
  CEL_TRY(cel_keys_int(k, "moe_layer_freq", 1, CEL_ARCH_MAX_LAYERS, &where[1], err));
  return cel_arch_read_sparse_layers(cfg, each_from, where, a, err);
}

const cel_family cel_family_deepseek = {
    .name = "deepseek",
    .model_types = {"deepseek"},
    .gguf_archs = {"deepseek"},
    .special = "Llama with dense first layers, many small experts and shared ones; softmax router",
    .describe = describe,
};
