// ERNIE 4.5 with experts: the dense model's attention; a bias chooses experts without weighing them; shared experts.
#include "arch/describe.h"

extern const cel_family cel_family_ernie4_5_moe;

static const cel_class_defaults defaults = {
    .vocab = 103424, .hidden = 2560, .inter = 12288, .layers = 28, .n_q = 20, .n_kv = 4, .max_position = 131072,
    .eps = 1e-5, .act_key = "hidden_act", .act = "silu", .tied = true, .bos = 1, .eos = 2,
};
static const cel_moe_defaults experts = {
    .n_experts = 64, .top_k = 6, .inter = 1536, .router = CEL_ROUTER_SOFTMAX_BIASED, .renorm = true};

// From a first layer to a last one, each interval-th.
static bool between(int layer, const int64_t *arguments) {
  return layer >= arguments[0] && layer <= arguments[1] && (layer + 1) % arguments[2] == 0;
}

static cel_status read_experts(const cel_json *cfg, cel_arch *a, cel_err *err) {
  cel_keys k = {cfg, ""};
  CEL_TRY(cel_arch_read_moe(cfg, &experts, a, err));
  CEL_TRY(cel_arch_read_shared_experts(cfg, "moe_num_shared_experts", 2, a, err));
  cel_arch_correct_router(a);
  a->moe.renorm_min = 1e-12;
  CEL_TRY(cel_keys_num(k, "moe_norm_min", 0, 1, &a->moe.renorm_min, err));
  int64_t where[3] = {1, a->n_layers - 1, 1};
  CEL_TRY(cel_keys_int(k, "moe_layer_start_index", 0, CEL_ARCH_MAX_LAYERS, &where[0], err));
  CEL_TRY(cel_keys_int(k, "moe_layer_end_index", -1, CEL_ARCH_MAX_LAYERS, &where[1], err));
  CEL_TRY(cel_keys_int(k, "moe_layer_interval", 1, CEL_ARCH_MAX_LAYERS, &where[2], err));
  if (where[1] == -1) where[1] = a->n_layers - 1;
  return cel_arch_read_sparse_layers(cfg, between, where, a, err);
}

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  CEL_TRY(cel_arch_read_attention_bias((cel_keys){cfg, ""}, "use_bias", false, a, err));
  a->mlp_bias = a->head_bias = a->qkv_bias;
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 5e5, .interleaved = true}, arena, a, rope_of, err));
  CEL_TRY(cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err));
  CEL_TRY(read_experts(cfg, a, err));
  a->moe.expert_bias = a->mlp_bias;
  return CEL_OK;
}

const cel_family cel_family_ernie4_5_moe = {
    .name = "ernie4_5_moe",
    .model_types = {"ernie4_5_moe"},
    .gguf_archs = {"ernie4_5-moe"},
    .special = "ERNIE 4.5 with experts that a biased softmax chooses, and shared ones",
    .describe = describe,
};
