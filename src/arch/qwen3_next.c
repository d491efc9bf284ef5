// Qwen3-Next: gated delta nets with every fourth layer an attention whose output is gated, norms of weight 1 + w, experts
// and a shared one behind a switch.
#include "arch/describe.h"

extern const cel_family cel_family_qwen3_next;

static const cel_class_defaults defaults = {
    .vocab = 151936, .hidden = 2048, .inter = 5632, .layers = 48, .n_q = 16, .n_kv = 2, .head_dim = 256,
    .max_position = 32768,
    .eps = 1e-6, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = -1, .eos = -1,
};
static const cel_moe_defaults experts = {.n_experts = 512, .top_k = 10, .inter = 512, .router = CEL_ROUTER_SOFTMAX,
                                         .renorm_key = "norm_topk_prob", .renorm = true};

static void name_weights(cel_arch *a) {
  cel_arch_name_qk_norms(a);
  a->names[CEL_W_DELTA_QKVZ] = "model.layers.{i}.linear_attn.in_proj_qkvz";
  a->names[CEL_W_DELTA_BA] = "model.layers.{i}.linear_attn.in_proj_ba";
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
  a->delta = (cel_delta){.kernel = (int)taps, .n_k = (int)n_k, .n_v = (int)n_v, .d_k = (int)d_k, .d_v = (int)d_v};
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

static cel_status read_experts(const cel_json *cfg, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_moe(cfg, &experts, a, err));
  a->moe.shared = CEL_SHARED_GATED;
  a->moe.shared_inter = 512;
  CEL_TRY(cel_keys_int((cel_keys){cfg, ""}, "shared_expert_intermediate_size", 1, CEL_ARCH_MAX_DIM, &a->moe.shared_inter, err));
  a->names[CEL_W_SHARED_SWITCH] = "model.layers.{i}.mlp.shared_expert_gate";
  return cel_arch_read_qwen_sparse_layers(cfg, a, err);
}

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  cel_keys k = {cfg, ""};
  int rope_of[2];
  name_weights(a);
  a->norm = CEL_NORM_RMS_PLUS_ONE;
  a->qk_norm = CEL_QK_NORM_HEAD;
  a->out_gate = true;
  CEL_TRY(cel_arch_read_attention_bias(k, "attention_bias", false, a, err));
  CEL_TRY(read_delta(k, a, err));
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e4, .partial = 0.25}, arena, a, rope_of, err));
  CEL_TRY(cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err));
  CEL_TRY(read_interval(k, a, err));
  return read_experts(cfg, a, err);
}

const cel_family cel_family_qwen3_next = {
    .name = "qwen3_next",
    .model_types = {"qwen3_next"},
    .gguf_archs = {NULL},
    .special = "gated delta nets with a state, every fourth layer a gated attention; experts and a shared one behind a switch",
    .describe = describe,
};
