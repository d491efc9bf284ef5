// Qwen2-MoE: Qwen2's attention; many small experts and one shared, which a switch of each token weighs. Qwen3-MoE:
// Qwen3's attention, no shared expert. Some layers may be dense.
#include "arch/describe.h"

extern const cel_family cel_family_qwen2_moe, cel_family_qwen3_moe;

static const cel_class_defaults defaults2 = {
    .vocab = 151936, .hidden = 2048, .inter = 5632, .layers = 24, .n_q = 16, .n_kv = 16, .max_position = 32768,
    .eps = 1e-6, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = -1, .eos = -1,
};
static const cel_class_defaults defaults3 = {
    .vocab = 151936, .hidden = 2048, .inter = 6144, .layers = 24, .n_q = 32, .n_kv = 4, .max_position = 32768,
    .eps = 1e-6, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = -1, .eos = -1,
};
static const cel_moe_defaults experts2 = {.n_experts = 60, .top_k = 4, .inter = 1408, .router = CEL_ROUTER_SOFTMAX,
                                          .renorm_key = "norm_topk_prob"};
static const cel_moe_defaults experts3 = {.n_experts = 128, .top_k = 8, .inter = 768, .router = CEL_ROUTER_SOFTMAX,
                                          .renorm_key = "norm_topk_prob"};

// Even layers below `first` slide.
static cel_attention_kind even_below(int layer, int64_t first) {
  return layer % 2 == 0 && layer < first ? CEL_ATTENTION_SLIDING : CEL_ATTENTION_FULL;
}

// sliding_window counts with use_sliding_window only.
static cel_status read_gated_window(const cel_json *cfg, cel_arch *a, cel_err *err) {
  bool use = false;
  CEL_TRY(cel_keys_bool((cel_keys){cfg, ""}, "use_sliding_window", &use, err));
  a->window = 0;
  return use ? cel_arch_read_window(cfg, 4096, &a->window, err) : CEL_OK;
}

static cel_status describe2(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults2, a, err));
  cel_keys k = {cfg, ""};
  int64_t first = 28;
  int rope_of[2];
  a->qkv_bias = true;
  CEL_TRY(cel_keys_bool(k, "qkv_bias", &a->qkv_bias, err));
  CEL_TRY(read_gated_window(cfg, a, err));
  CEL_TRY(cel_keys_int(k, "max_window_layers", 0, CEL_ARCH_MAX_POSITION, &first, err));
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e4}, arena, a, rope_of, err));
  CEL_TRY(cel_arch_read_layers(cfg, a->window ? even_below : cel_layer_all_full, first, rope_of, arena, a, err));
  CEL_TRY(cel_arch_read_moe(cfg, &experts2, a, err));
  a->moe.shared = CEL_SHARED_GATED;
  a->moe.shared_inter = 5632;
  CEL_TRY(cel_keys_int(k, "shared_expert_intermediate_size", 1, CEL_ARCH_MAX_DIM, &a->moe.shared_inter, err));
  a->names[CEL_W_SHARED_SWITCH] = "model.layers.{i}.mlp.shared_expert_gate";
  return cel_arch_read_qwen_sparse_layers(cfg, a, err);
}

static cel_status describe3(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults3, a, err));
  int rope_of[2];
  a->qk_norm = CEL_QK_NORM_HEAD;
  cel_arch_name_qk_norms(a);
  CEL_TRY(cel_arch_read_attention_bias((cel_keys){cfg, ""}, "attention_bias", false, a, err));
  CEL_TRY(read_gated_window(cfg, a, err));
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e4}, arena, a, rope_of, err));
  CEL_TRY(cel_arch_read_layers(cfg, a->window ? cel_layer_all_sliding : cel_layer_all_full, 0, rope_of, arena, a, err));
  CEL_TRY(cel_arch_read_moe(cfg, &experts3, a, err));
  return cel_arch_read_qwen_sparse_layers(cfg, a, err);
}

const cel_family cel_family_qwen2_moe = {
    .name = "qwen2_moe",
    .model_types = {"qwen2_moe"},
    .gguf_archs = {"qwen2moe"},
    .special = "Qwen2 with experts and a shared one behind a switch; softmax router",
    .describe = describe2,
};

const cel_family cel_family_qwen3_moe = {
    .name = "qwen3_moe",
    .model_types = {"qwen3_moe"},
    .gguf_archs = {"qwen3moe"},
    .special = "Qwen3 with experts; softmax router, dense layers between",
    .describe = describe3,
};
