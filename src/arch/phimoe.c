// Phi-3.5-MoE: norms with means and biases; two experts for each token, chosen and weighed one after the other among
// near rivals (sparsemixer); a longrope whose amplitude alone depends on the length.
#include "arch/describe.h"

extern const cel_family cel_family_phimoe;

static const cel_class_defaults defaults = {
    .vocab = 32064, .hidden = 4096, .inter = 6400, .layers = 32, .n_q = 32, .n_kv = 8, .max_position = 131072,
    .eps = 1e-5, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = 1, .eos = 2,
};
static const cel_moe_defaults experts = {.n_experts = 16, .top_k = 2, .router = CEL_ROUTER_SPARSEMIXER};

static cel_status read_experts(const cel_json *cfg, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_moe(cfg, &experts, a, err));
  if (a->moe.top_k != 2 || a->moe.n_experts < 2)
    return cel_fail(err, CEL_UNSUPPORTED, "config key num_experts_per_tok is %d of %d experts; sparsemixer chooses two",
                    a->moe.top_k, a->moe.n_experts);
  a->moe.jitter = 0.01;
  CEL_TRY(cel_keys_num((cel_keys){cfg, ""}, "router_jitter_noise", 0, 1e3, &a->moe.jitter, err));
  return cel_arch_read_sparse_layers(cfg, cel_sparse_all, NULL, a, err);
}

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  cel_keys k = {cfg, ""};
  a->norm = CEL_NORM_LAYER;
  a->norm_bias = true;
  CEL_TRY(cel_arch_read_attention_bias(k, "attention_bias", false, a, err));
  CEL_TRY(cel_keys_bool(k, "lm_head_bias", &a->head_bias, err));
  CEL_TRY(cel_arch_read_window(cfg, 0, &a->window, err));
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e6, .mscales = true}, arena, a, rope_of, err));
  cel_layer_rule rule = a->window ? cel_layer_all_sliding : cel_layer_all_full;
  CEL_TRY(cel_arch_read_layers(cfg, rule, 0, rope_of, arena, a, err));
  return read_experts(cfg, a, err);
}

const cel_family cel_family_phimoe = {
    .name = "phimoe",
    .model_types = {"phimoe"},
    .gguf_archs = {"phimoe"},
    .special = "norms with means and biases, experts chosen by sparsemixer, longrope with amplitudes by length",
    .describe = describe,
};
