// OLMoE: many small experts in a Llama block; q and k normed over the whole projection, then q, k and v clipped.
#include "arch/describe.h"

extern const cel_family cel_family_olmoe;

static const cel_class_defaults defaults = {
    .vocab = 50304, .hidden = 2048, .inter = 2048, .layers = 16, .n_q = 16, .n_kv = 16, .max_position = 4096,
    .eps = 1e-5, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = -1, .eos = 50279,
};
static const cel_moe_defaults experts = {
    .n_experts = 64, .top_k = 8, .router = CEL_ROUTER_SOFTMAX, .renorm_key = "norm_topk_prob"};

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  cel_keys k = {cfg, ""};
  a->qk_norm = CEL_QK_NORM_FLAT;
  cel_arch_name_qk_norms(a);
  CEL_TRY(cel_arch_read_attention_bias(k, "attention_bias", false, a, err));
  CEL_TRY(cel_keys_num(k, "clip_qkv", 1e-6, 1e9, &a->clip_qkv, err));
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e4}, arena, a, rope_of, err));
  CEL_TRY(cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err));
  CEL_TRY(cel_arch_read_moe(cfg, &experts, a, err));
  return cel_arch_read_sparse_layers(cfg, cel_sparse_all, NULL, a, err);
}

const cel_family cel_family_olmoe = {
    .name = "olmoe",
    .model_types = {"olmoe"},
    .gguf_archs = {"olmoe"},
    .special = "Llama with experts; q and k normed over the whole projection, then clipped with v",
    .describe = describe,
};
