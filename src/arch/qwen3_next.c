// Qwen3-Next: gated delta nets with every fourth layer an attention whose output is gated, norms of weight 1 + w, experts
// and a shared one behind a switch. Qwen 3.5's text: the same with the projections apart, dense or with experts; of its
// three position axes text has three equal ones, which is the plain rotation.
#include "arch/describe.h"

extern const cel_family cel_family_qwen3_next, cel_family_qwen3_5, cel_family_qwen3_5_moe;

static const cel_class_defaults defaults = {
    .vocab = 151936, .hidden = 2048, .inter = 5632, .layers = 48, .n_q = 16, .n_kv = 2, .head_dim = 256,
    .max_position = 32768,
    .eps = 1e-6, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = -1, .eos = -1,
};
static const cel_class_defaults defaults5 = {
    .vocab = 248320, .hidden = 4096, .inter = 12288, .layers = 32, .n_q = 16, .n_kv = 4, .head_dim = 256,
    .max_position = 32768,
    .eps = 1e-6, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = -1, .eos = -1,
};
static const cel_class_defaults defaults5_moe = {
    .vocab = 248320, .hidden = 2048, .inter = 512, .layers = 40, .n_q = 16, .n_kv = 2, .head_dim = 256,
    .max_position = 32768,
    .eps = 1e-6, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = -1, .eos = -1,
    .inter_alias = "moe_intermediate_size",
};
static const cel_moe_defaults experts5 = {.n_experts = 256, .top_k = 8, .inter = 512, .router = CEL_ROUTER_SOFTMAX, .renorm = true};
static const cel_moe_defaults experts = {.n_experts = 512, .top_k = 10, .inter = 512, .router = CEL_ROUTER_SOFTMAX,
                                         .renorm_key = "norm_topk_prob", .renorm = true};

static void name_grouped(cel_arch *a) {
  a->names[CEL_W_DELTA_QKVZ] = "model.layers.{i}.linear_attn.in_proj_qkvz";
  a->names[CEL_W_DELTA_BA] = "model.layers.{i}.linear_attn.in_proj_ba";
}

static void name_separate(cel_arch *a) {
  a->names[CEL_W_DELTA_QKV] = "model.layers.{i}.linear_attn.in_proj_qkv";
  a->names[CEL_W_DELTA_Z] = "model.layers.{i}.linear_attn.in_proj_z";
  a->names[CEL_W_DELTA_B] = "model.layers.{i}.linear_attn.in_proj_b";
  a->names[CEL_W_DELTA_A] = "model.layers.{i}.linear_attn.in_proj_a";
}

static void name_weights(cel_arch *a) {
  cel_arch_name_qk_norms(a);
  a->names[CEL_W_DELTA_CONV] = "model.layers.{i}.linear_attn.conv1d";
  a->names[CEL_W_DELTA_A_LOG] = "model.layers.{i}.linear_attn.A_log";
  a->names[CEL_W_DELTA_DT_BIAS] = "model.layers.{i}.linear_attn.dt_bias";
  a->names[CEL_W_DELTA_NORM] = "model.layers.{i}.linear_attn.norm";
  a->names[CEL_W_DELTA_OUT] = "model.layers.{i}.linear_attn.out_proj";
}

static cel_status read_delta(cel_keys k, cel_arch *a, cel_err *err) {
  int64_t taps = 4, n_k = 16, n_v = 32, d_k = 128, d_v = 128;
  CEL_TRY(cel_keys_int(k, "linear_conv_kernel_dim", 2, CEL_ARCH_MAX_TAPS, &taps, err));
  CEL_TRY(cel_keys_int(k, "linear_num_key_heads", 1, 4096, &n_k, err));
  CEL_TRY(cel_keys_int(k, "linear_num_value_heads", 1, 4096, &n_v, err));
  CEL_TRY(cel_keys_int(k, "linear_key_head_dim", 1, 1024, &d_k, err));
  CEL_TRY(cel_keys_int(k, "linear_value_head_dim", 1, 1024, &d_v, err));
  if (n_v % n_k != 0)
    return cel_fail(err, CEL_MALFORMED, "config key linear_num_value_heads is %lld, no multiple of linear_num_key_heads %lld",
                    (long long)n_v, (long long)n_k);
  if (a->act != CEL_ACT_SILU)
    return cel_keys_refuse(k, "hidden_act", cel_json_get(k.obj, "hidden_act"), CEL_UNSUPPORTED, "silu in this family", err);
  bool tiled = false;  // a GGUF file's
  CEL_TRY(cel_keys_bool(k, "mlxcel_delta_tiled", &tiled, err));
  a->delta = (cel_delta){.tiled = tiled, .kernel = (int)taps, .n_k = (int)n_k, .n_v = (int)n_v, .d_k = (int)d_k, .d_v = (int)d_v};
  return CEL_OK;
}

// Without layer_types every full_attention_interval-th layer has attention.
static cel_status read_interval(cel_keys k, cel_arch *a, cel_err *err) {
  int64_t interval = 4;
  CEL_TRY(cel_keys_int(k, "full_attention_interval", 1, CEL_ARCH_MAX_LAYERS, &interval, err));
  for (int i = 0; !cel_json_get(k.obj, "layer_types") && i < a->n_layers; i++) {
    if ((i + 1) % interval == 0) continue;
    a->layers[i].mixer = CEL_MIXER_DELTA;
    a->layers[i].rope = -1;
  }
  return CEL_OK;
}

static cel_status read_experts(const cel_json *cfg, const cel_moe_defaults *d, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_moe(cfg, d, a, err));
  a->moe.shared = CEL_SHARED_GATED;
  a->moe.shared_inter = 512;
  CEL_TRY(cel_keys_int((cel_keys){cfg, ""}, "shared_expert_intermediate_size", 1, CEL_ARCH_MAX_DIM, &a->moe.shared_inter, err));
  a->names[CEL_W_SHARED_SWITCH] = "model.layers.{i}.mlp.shared_expert_gate";
  return CEL_OK;
}

static cel_status read_blocks(const cel_json *cfg, cel_arena *arena, cel_arch *a, cel_err *err) {
  cel_keys k = {cfg, ""};
  int rope_of[2];
  name_weights(a);
  bool folded = false;
  CEL_TRY(cel_keys_bool(k, "mlxcel_norm_plus_one_folded", &folded, err));
  a->norm = folded ? CEL_NORM_RMS : CEL_NORM_RMS_PLUS_ONE;
  a->qk_norm = CEL_QK_NORM_HEAD;
  a->out_gate = true;
  CEL_TRY(cel_arch_read_attention_bias(k, "attention_bias", false, a, err));
  CEL_TRY(read_delta(k, a, err));
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e4, .partial = 0.25}, arena, a, rope_of, err));
  CEL_TRY(cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err));
  return read_interval(k, a, err);
}

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  CEL_TRY(read_blocks(cfg, arena, a, err));
  bool apart = false;  // a GGUF file's
  CEL_TRY(cel_keys_bool((cel_keys){cfg, ""}, "mlxcel_delta_separate", &apart, err));
  if (apart) name_separate(a);
  else name_grouped(a);
  CEL_TRY(read_experts(cfg, &experts, a, err));
  return cel_arch_read_qwen_sparse_layers(cfg, a, err);
}

static cel_status describe5(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults5, a, err));
  CEL_TRY(read_blocks(cfg, arena, a, err));
  name_separate(a);
  return CEL_OK;
}

// No key says whether chosen experts' weights are divided by their sum: they are.
static cel_status describe5_moe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults5_moe, a, err));
  CEL_TRY(read_blocks(cfg, arena, a, err));
  name_separate(a);
  CEL_TRY(read_experts(cfg, &experts5, a, err));
  return cel_arch_read_sparse_layers(cfg, cel_sparse_all, NULL, a, err);
}

const cel_family cel_family_qwen3_next = {
    .name = "qwen3_next",
    .model_types = {"qwen3_next"},
    .gguf_archs = {"qwen3next"},
    .special = "gated delta nets with a state, every fourth layer a gated attention; experts and a shared one behind a switch",
    .describe = describe,
};

const cel_family cel_family_qwen3_5 = {
    .name = "qwen3_5",
    .model_types = {"qwen3_5", "qwen3_5_text"},
    .gguf_archs = {"qwen35"},
    .special = "Qwen3-Next with the projections of its delta nets apart and dense MLPs",
    .describe = describe5,
};

const cel_family cel_family_qwen3_5_moe = {
    .name = "qwen3_5_moe",
    .model_types = {"qwen3_5_moe", "qwen3_5_moe_text"},
    .gguf_archs = {"qwen35moe"},
    .special = "Qwen3-Next with the projections of its delta nets apart",
    .describe = describe5_moe,
};
