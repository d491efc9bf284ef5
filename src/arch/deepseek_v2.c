// DeepSeek V2 and V3: latent attention with interleaved rotation, yarn's square in the scale of scores, dense layers first,
// then experts in groups with plain shared ones. V2 routes by softmax, V3 by sigmoid with a correction bias. Layers behind
// num_hidden_layers (V3's prediction of further tokens) are not read.
#include "arch/describe.h"

extern const cel_family cel_family_deepseek_v2, cel_family_deepseek_v3;

static const cel_class_defaults defaults2 = {
    .vocab = 102400, .hidden = 4096, .inter = 11008, .layers = 32, .n_q = 32, .head_dim = 64, .max_position = 2048,
    .eps = 1e-6, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = 1, .eos = 2,
};
static const cel_class_defaults defaults3 = {
    .vocab = 129280, .hidden = 7168, .inter = 18432, .layers = 61, .n_q = 128, .n_kv = 128, .head_dim = 64, .max_position = 4096,
    .eps = 1e-6, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = 0, .eos = 1,
};
static const cel_mla parts = {.q_rank = 1536, .kv_rank = 512, .nope = 128, .rope = 64, .v = 128};
static const cel_moe_defaults experts2 = {.n_experts = 64, .inter = 1407, .router = CEL_ROUTER_SOFTMAX};
static const cel_moe_defaults experts3 = {.n_experts = 256, .top_k = 8, .inter = 2048, .router = CEL_ROUTER_SIGMOID,
                                          .renorm_key = "norm_topk_prob", .renorm = true};

// Experts in every layer from the first sparse one on; other steps are of the remote code only.
static cel_status read_sparse_layers(const cel_json *cfg, int64_t first, cel_arch *a, cel_err *err) {
  cel_keys k = {cfg, ""};
  int64_t step = 1;
  CEL_TRY(cel_keys_int(k, "first_k_dense_replace", 0, CEL_ARCH_MAX_LAYERS, &first, err));
  CEL_TRY(cel_keys_int(k, "moe_layer_freq", 1, 1, &step, err));
  return cel_arch_read_sparse_layers(cfg, cel_sparse_from, &first, a, err);
}

static cel_status must_be(cel_keys k, const char *key, const char *right, cel_err *err) {
  const char *word = right;
  CEL_TRY(cel_keys_string(k, key, &word, err));
  return strcmp(word, right) == 0 ? CEL_OK : cel_keys_refuse(k, key, cel_json_get(k.obj, key), CEL_UNSUPPORTED, right, err);
}

// Groups count with one of the two methods; norm_topk_prob is read by nobody.
static cel_status read_method(const cel_json *cfg, cel_arch *a, cel_err *err) {
  cel_keys k = {cfg, ""};
  const char *method = "greedy";
  CEL_TRY(cel_keys_string(k, "topk_method", &method, err));
  if (strcmp(method, "greedy") == 0) return CEL_OK;
  if (strcmp(method, "group_limited_greedy") == 0) return cel_arch_read_expert_groups(cfg, 1, 1, a, err);
  return cel_keys_refuse(k, "topk_method", cel_json_get(cfg, "topk_method"), CEL_UNSUPPORTED,
                         "greedy or group_limited_greedy", err);
}

static cel_status describe2(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  int rope_of[2];
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults2, a, err));
  CEL_TRY(cel_keys_bool((cel_keys){cfg, ""}, "mlp_bias", &a->mlp_bias, err));
  CEL_TRY(cel_arch_read_mla(cfg, &parts, &(cel_rope_defaults){.theta = 1e4, .interleaved = true}, rope_of, arena, a, err));
  CEL_TRY(cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err));
  CEL_TRY(cel_arch_read_moe(cfg, &experts2, a, err));
  CEL_TRY(must_be((cel_keys){cfg, ""}, "scoring_func", "softmax", err));
  CEL_TRY(read_method(cfg, a, err));
  CEL_TRY(cel_arch_read_shared_experts(cfg, "n_shared_experts", 2, a, err));
  return read_sparse_layers(cfg, 0, a, err);
}

static cel_status describe3(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  int rope_of[2];
  cel_rope_defaults ropes = {.theta = 1e4, .interleaved = true};
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults3, a, err));
  CEL_TRY(cel_keys_bool((cel_keys){cfg, ""}, "rope_interleave", &ropes.interleaved, err));
  CEL_TRY(cel_arch_read_mla(cfg, &parts, &ropes, rope_of, arena, a, err));
  CEL_TRY(cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err));
  CEL_TRY(cel_arch_read_moe(cfg, &experts3, a, err));
  CEL_TRY(must_be((cel_keys){cfg, ""}, "scoring_func", "sigmoid", err));
  a->moe.renorm_add = 1e-20;
  if (!cel_json_get(cfg, "routed_scaling_factor")) a->moe.scale = 2.5;
  CEL_TRY(cel_arch_read_expert_groups(cfg, 8, 4, a, err));
  cel_arch_correct_router(a);
  CEL_TRY(cel_arch_read_shared_experts(cfg, "n_shared_experts", 1, a, err));
  return read_sparse_layers(cfg, 3, a, err);
}

const cel_family cel_family_deepseek_v2 = {
    .name = "deepseek_v2",
    .model_types = {"deepseek_v2"},
    .gguf_archs = {"deepseek2"},
    .special = "latent attention, absorbed; softmax router over groups of experts, shared experts",
    .describe = describe2,
};

const cel_family cel_family_deepseek_v3 = {
    .name = "deepseek_v3",
    .model_types = {"deepseek_v3"},
    .gguf_archs = {NULL},  // GGUF files of it say "deepseek2"
    .special = "latent attention, absorbed; sigmoid router with a correction bias over groups, shared experts",
    .describe = describe3,
};
