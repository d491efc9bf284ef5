// StarCoder2: norms with mean and bias, an MLP without a gate, biases everywhere by one key, a window on all layers.
#include "arch/describe.h"

extern const cel_family cel_family_starcoder2;

static const cel_class_defaults defaults = {
    .vocab = 49152, .hidden = 3072, .inter = 12288, .layers = 30, .n_q = 24, .n_kv = 2, .max_position = 4096,
    .eps = 1e-5, .eps_key = "norm_epsilon", .act_key = "hidden_act", .act = "gelu_pytorch_tanh", .tied = true,
    .bos = 50256, .eos = 50256,
};

static const cel_file_rule files[] = {
    {CEL_FILE_RENAMED, "model.layers.{i}.mlp.c_fc", {"model.layers.{i}.mlp.up_proj"}},
    {CEL_FILE_RENAMED, "model.layers.{i}.mlp.c_proj", {"model.layers.{i}.mlp.down_proj"}},
    {.module = NULL},
};

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  a->norm = CEL_NORM_LAYER;
  a->norm_bias = true;
  CEL_TRY(cel_arch_read_attention_bias((cel_keys){cfg, ""}, "use_bias", true, a, err));
  a->mlp_bias = a->qkv_bias;
  CEL_TRY(cel_arch_read_window(cfg, 0, &a->window, err));
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e4}, arena, a, rope_of, err));
  cel_layer_rule rule = a->window ? cel_layer_all_sliding : cel_layer_all_full;
  CEL_TRY(cel_arch_read_layers(cfg, rule, 0, rope_of, arena, a, err));
  cel_arch_mlps_without_gate(a);
  return CEL_OK;
}

const cel_family cel_family_starcoder2 = {
    .name = "starcoder2",
    .model_types = {"starcoder2"},
    .gguf_archs = {"starcoder2"},
    .files = files,
    .special = "layer norms, an MLP without a gate, biases everywhere, a window on all layers",
    .describe = describe,
};
