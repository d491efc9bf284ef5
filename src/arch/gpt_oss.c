// gpt-oss: every second layer slides; each head has a sink, a logit that takes its share of the softmax and gives nothing;
// all products have biases, those of the experts too, whose activation is clamped.
#include "arch/describe.h"

extern const cel_family cel_family_gpt_oss;

static const cel_class_defaults defaults = {
    .vocab = 201088, .hidden = 2880, .inter = 2880, .layers = 36, .n_q = 64, .n_kv = 8, .head_dim = 64,
    .max_position = 131072,
    .eps = 1e-5, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = -1, .eos = -1,
};
static const cel_moe_defaults experts = {.n_experts = 128, .top_k = 4, .router = CEL_ROUTER_TOPK_SOFTMAX};
static const cel_rope yarn = {.type = CEL_ROPE_YARN, .theta = 150000, .factor = 32, .original_max_position = 4096,
                              .beta_fast = 32, .beta_slow = 1, .truncate = false};

static cel_status read_experts(const cel_json *cfg, cel_arch *a, cel_err *err) {
  cel_keys k = {cfg, ""};
  CEL_TRY(cel_arch_read_moe(cfg, &experts, a, err));
  a->moe.router_bias = a->moe.expert_bias = a->moe.interleaved = true;
  a->moe.clamp = 7;
  a->moe.alpha = 1.702;
  CEL_TRY(cel_keys_num(k, "swiglu_limit", 1e-6, 1e9, &a->moe.clamp, err));
  CEL_TRY(cel_keys_num(k, "swiglu_alpha", 1e-6, 1e9, &a->moe.alpha, err));
  return cel_arch_read_sparse_layers(cfg, cel_sparse_all, NULL, a, err);
}

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  a->sinks = true;
  a->names[CEL_W_SINKS] = "model.layers.{i}.self_attn.sinks";
  CEL_TRY(cel_arch_read_attention_bias((cel_keys){cfg, ""}, "attention_bias", true, a, err));
  CEL_TRY(cel_arch_read_window(cfg, 128, &a->window, err));
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 150000, .otherwise = &yarn}, arena, a, rope_of, err));
  cel_layer_rule rule = a->window ? cel_layer_even_sliding : cel_layer_all_full;
  CEL_TRY(cel_arch_read_layers(cfg, rule, 0, rope_of, arena, a, err));
  return read_experts(cfg, a, err);
}

const cel_family cel_family_gpt_oss = {
    .name = "gpt_oss",
    .model_types = {"gpt_oss"},
    .gguf_archs = {"gpt-oss"},
    .special = "attention sinks, every other layer slides, biases everywhere, experts with a clamped activation",
    .describe = describe,
};
