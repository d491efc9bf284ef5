// GLM-4: half of each head rotated, neighbouring columns together; biases on q, k and v; gate and up in one matrix. The
// later glm4 has four norms, under names that mean something else elsewhere.
#include "arch/describe.h"

extern const cel_family cel_family_glm, cel_family_glm4;

static const cel_class_defaults defaults = {
    .vocab = 151552, .hidden = 4096, .inter = 13696, .layers = 40, .n_q = 32, .n_kv = 2, .head_dim = 128,
    .max_position = 131072,
    .eps = 1.5625e-7, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = -1, .eos = -1,
};

#define LAYER "model.layers.{i}."
static const cel_file_rule files[] = {
    {CEL_FILE_HALVES, LAYER "mlp.gate_up_proj", {LAYER "mlp.gate_proj", LAYER "mlp.up_proj"}},
    {.module = NULL},
};

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  a->qkv_bias = true;
  CEL_TRY(cel_keys_bool((cel_keys){cfg, ""}, "attention_bias", &a->qkv_bias, err));
  int rope_of[2];
  cel_rope_defaults ropes = {.theta = 1e4, .partial = 0.5, .interleaved = true};
  CEL_TRY(cel_arch_read_ropes(cfg, &ropes, arena, a, rope_of, err));
  return cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err);
}

static cel_status describe4(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(describe(cfg, root, arena, a, err));
  a->placement = CEL_PRE_POST_NORM;  // post_attention_layernorm stays the one ahead of the MLP
  a->names[CEL_W_ATTN_POST_NORM] = LAYER "post_self_attn_layernorm";
  a->names[CEL_W_MLP_POST_NORM] = LAYER "post_mlp_layernorm";
  return CEL_OK;
}

const cel_family cel_family_glm = {
    .name = "glm",
    .model_types = {"glm"},
    .gguf_archs = {"chatglm"},
    .files = files,
    .special = "half of each head rotated, interleaved; biases on q, k and v; fused gate and up",
    .describe = describe,
};

const cel_family cel_family_glm4 = {
    .name = "glm4",
    .model_types = {"glm4"},
    .gguf_archs = {"glm4"},
    .files = files,
    .special = "GLM with four norms",
    .describe = describe4,
};
