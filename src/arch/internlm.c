// InternLM 2: Llama with q, k and v in one product, grouped by kv head, and names of its own. InternLM 3: Llama with
// biases by two keys and heads of an own width.
#include "arch/describe.h"

extern const cel_family cel_family_internlm2, cel_family_internlm3;

static const cel_class_defaults defaults2 = {
    .vocab = 103168, .hidden = 4096, .inter = 11008, .layers = 32, .n_q = 32, .max_position = 2048,
    .eps = 1e-6, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = 1, .eos = 2,
};
static const cel_class_defaults defaults3 = {
    .vocab = 128512, .hidden = 4096, .inter = 11008, .layers = 32, .n_q = 32, .head_dim = 128, .max_position = 32768,
    .eps = 1e-5, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = 1, .eos = 2,
};

#define LAYER "model.layers.{i}."
static const cel_file_rule files2[] = {
    {CEL_FILE_RENAMED, "model.tok_embeddings", {"model.embed_tokens"}},
    {CEL_FILE_RENAMED, "output", {"lm_head"}},
    {CEL_FILE_RENAMED, LAYER "attention_norm", {LAYER "input_layernorm"}},
    {CEL_FILE_RENAMED, LAYER "ffn_norm", {LAYER "post_attention_layernorm"}},
    {CEL_FILE_RENAMED, LAYER "attention.wo", {LAYER "self_attn.o_proj"}},
    {CEL_FILE_RENAMED, LAYER "feed_forward.w1", {LAYER "mlp.gate_proj"}},
    {CEL_FILE_RENAMED, LAYER "feed_forward.w3", {LAYER "mlp.up_proj"}},
    {CEL_FILE_RENAMED, LAYER "feed_forward.w2", {LAYER "mlp.down_proj"}},
    {.module = NULL},
};

static cel_status finish(const cel_json *cfg, cel_arena *arena, cel_arch *a, cel_err *err) {
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e4}, arena, a, rope_of, err));
  return cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err);
}

static cel_status describe2(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults2, a, err));
  a->names[CEL_W_QKV] = LAYER "attention.wqkv";
  CEL_TRY(cel_arch_read_attention_bias((cel_keys){cfg, ""}, "bias", false, a, err));
  return finish(cfg, arena, a, err);
}

// Older files call the keys qkv_bias and bias, where bias is that of o as well as of the MLP. Only files in which the
// two agree exist, and readers differ about the others.
static cel_status read_biases(const cel_json *cfg, cel_arch *a, cel_err *err) {
  cel_keys k = {cfg, ""};
  CEL_TRY(cel_keys_bool(k, "qkv_bias", &a->qkv_bias, err));
  CEL_TRY(cel_keys_bool(k, "bias", &a->mlp_bias, err));
  CEL_TRY(cel_keys_bool(k, "attention_bias", &a->qkv_bias, err));
  CEL_TRY(cel_keys_bool(k, "mlp_bias", &a->mlp_bias, err));
  a->o_bias = a->qkv_bias;
  if (a->qkv_bias == a->mlp_bias) return CEL_OK;
  return cel_fail(err, CEL_UNSUPPORTED, "config key qkv_bias (attention_bias) is %s and bias (mlp_bias) is %s; they must be equal",
                  a->qkv_bias ? "true" : "false", a->mlp_bias ? "true" : "false");
}

static cel_status describe3(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults3, a, err));
  CEL_TRY(read_biases(cfg, a, err));
  return finish(cfg, arena, a, err);
}

const cel_family cel_family_internlm2 = {
    .name = "internlm2",
    .model_types = {"internlm2"},
    .gguf_archs = {"internlm2"},
    .files = files2,
    .special = "Llama with q, k and v in one product, grouped by kv head",
    .describe = describe2,
};

const cel_family cel_family_internlm3 = {
    .name = "internlm3",
    .model_types = {"internlm3"},
    .gguf_archs = {NULL},  // GGUF files of it say "llama"
    .special = "Llama with heads of an own width; biases everywhere or nowhere",
    .describe = describe3,
};
