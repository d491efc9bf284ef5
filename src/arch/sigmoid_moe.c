// Families with DeepSeek-V3's router (sigmoid scores, a bias that chooses) around grouped-query attention: GLM-4.5,
// dots.llm1 and EXAONE MoE.
#include "arch/describe.h"

extern const cel_family cel_family_glm4_moe, cel_family_dots1, cel_family_exaone_moe;

static const cel_class_defaults glm = {
    .vocab = 151552, .hidden = 4096, .inter = 10944, .layers = 46, .n_q = 96, .n_kv = 8, .max_position = 131072,
    .eps = 1e-5, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = -1, .eos = -1,
};
static const cel_class_defaults dots = {
    .vocab = 152064, .hidden = 4608, .inter = 10944, .layers = 62, .n_q = 32, .n_kv = 32, .max_position = 2048,
    .eps = 1e-6, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = -1, .eos = -1,
};
static const cel_class_defaults exaone = {
    .vocab = 102400, .hidden = 4096, .inter = 16384, .layers = 32, .n_q = 32, .n_kv = 32, .max_position = 2048,
    .eps = 1e-5, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = 1, .eos = 53,
};
static const cel_moe_defaults glm_experts = {.n_experts = 128, .top_k = 8, .inter = 1408, .router = CEL_ROUTER_SIGMOID,
                                             .renorm_key = "norm_topk_prob", .renorm = true};
static const cel_moe_defaults dots_experts = {
    .inter = 1408, .router = CEL_ROUTER_SIGMOID, .renorm_key = "norm_topk_prob"};
static const cel_moe_defaults exaone_experts = {.n_experts = 64,
                                                .top_k = 8,
                                                .inter = 1024,
                                                .router = CEL_ROUTER_SIGMOID,
                                                .renorm_key = "norm_topk_prob",
                                                .renorm = true};

static cel_status read_experts(const cel_json *cfg, const cel_moe_defaults *d, const char *shared_key, int64_t shared,
                               int64_t first_dense, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_moe(cfg, d, a, err));
  CEL_TRY(cel_arch_read_expert_groups(cfg, 1, 1, a, err));
  CEL_TRY(cel_arch_read_shared_experts(cfg, shared_key, shared, a, err));
  cel_arch_correct_router(a);
  a->moe.renorm_add = 1e-20;
  CEL_TRY(cel_keys_int((cel_keys){cfg, ""}, "first_k_dense_replace", 0, CEL_ARCH_MAX_LAYERS, &first_dense, err));
  return cel_arch_read_sparse_layers(cfg, cel_sparse_from, &first_dense, a, err);
}

static void norm_heads(cel_arch *a) {
  a->qk_norm = CEL_QK_NORM_HEAD;
  cel_arch_name_qk_norms(a);
}

static cel_status describe_glm(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &glm, a, err));
  bool norms = false;
  CEL_TRY(cel_keys_bool((cel_keys){cfg, ""}, "attention_bias", &a->qkv_bias, err));  // of q, k and v alone
  CEL_TRY(cel_keys_bool((cel_keys){cfg, ""}, "use_qk_norm", &norms, err));
  if (norms) norm_heads(a);
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e4, .partial = 0.5}, arena, a, rope_of, err));
  CEL_TRY(cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err));
  return read_experts(cfg, &glm_experts, "n_shared_experts", 1, 1, a, err);
}

static cel_status describe_dots(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a,
                                cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &dots, a, err));
  norm_heads(a);
  CEL_TRY(cel_arch_read_attention_bias((cel_keys){cfg, ""}, "attention_bias", false, a, err));
  CEL_TRY(cel_arch_read_window(cfg, 4096, &a->window, err));
  int64_t first = 62;
  CEL_TRY(cel_keys_int((cel_keys){cfg, ""}, "max_window_layers", 0, CEL_ARCH_MAX_POSITION, &first, err));
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e4}, arena, a, rope_of, err));
  CEL_TRY(cel_arch_read_layers(cfg, cel_layer_sliding_from, a->window ? first : a->n_layers, rope_of, arena, a, err));
  return read_experts(cfg, &dots_experts, "n_shared_experts", 0, 0, a, err);
}

static cel_status describe_exaone(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a,
                                  cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &exaone, a, err));
  norm_heads(a);
  CEL_TRY(cel_arch_read_window(cfg, 4096, &a->window, err));
  int64_t period = 4;
  if (!cel_json_get(cfg, "layer_types")) CEL_TRY(cel_arch_read_period(cfg, 4, &period, err));
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e4}, arena, a, rope_of, err));
  CEL_TRY(
      cel_arch_read_layers(cfg, a->window ? cel_layer_full_every : cel_layer_all_full, period, rope_of, arena, a, err));
  if (a->window) cel_arch_full_layers_without_rope(a);
  return read_experts(cfg, &exaone_experts, "num_shared_experts", 1, 1, a, err);
}

const cel_family cel_family_glm4_moe = {
    .name = "glm4_moe",
    .model_types = {"glm4_moe"},
    .gguf_archs = {"glm4moe"},
    .special = "half of each head rotated, sigmoid router with a correction, shared experts",
    .describe = describe_glm,
};

const cel_family cel_family_dots1 = {
    .name = "dots1",
    .model_types = {"dots1"},
    .gguf_archs = {"dots1"},
    .special = "Qwen3's attention, sigmoid router with a correction, shared experts",
    .describe = describe_dots,
};

const cel_family cel_family_exaone_moe = {
    .name = "exaone_moe",
    .model_types = {"exaone_moe"},
    .gguf_archs = {"exaone-moe"},
    .special = "EXAONE 4's attention behind norms, sigmoid router with a correction, shared experts",
    .describe = describe_exaone,
};
