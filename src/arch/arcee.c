// Arcee: Llama with an MLP without a gate, its activation max(0, x)^2. Nemotron: the same MLP, norms with mean, bias and
// a weight of 1 + w, half of each head rotated.
#include "arch/describe.h"

extern const cel_family cel_family_arcee, cel_family_nemotron;

static const cel_class_defaults defaults = {
    .vocab = 32000, .hidden = 2560, .inter = 18432, .layers = 32, .n_q = 32, .n_kv = 32, .max_position = 4096,
    .eps = 1e-5, .act_key = "hidden_act", .act = "relu2", .tied = false, .bos = 128000, .eos = 128001,
};
static const cel_class_defaults nemotron_defaults = {
    .vocab = 256000, .hidden = 6144, .inter = 24576, .layers = 32, .n_q = 48, .max_position = 4096,
    .eps = 1e-5, .eps_key = "norm_eps", .act_key = "hidden_act", .act = "relu2", .tied = false, .bos = 2, .eos = 3,
};

static cel_status finish(const cel_json *cfg, const cel_rope_defaults *ropes, cel_arena *arena, cel_arch *a, cel_err *err) {
  cel_keys k = {cfg, ""};
  CEL_TRY(cel_arch_read_attention_bias(k, "attention_bias", false, a, err));
  CEL_TRY(cel_keys_bool(k, "mlp_bias", &a->mlp_bias, err));
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, ropes, arena, a, rope_of, err));
  CEL_TRY(cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err));
  cel_arch_mlps_without_gate(a);
  return CEL_OK;
}

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  return finish(cfg, &(cel_rope_defaults){.theta = 1e4}, arena, a, err);
}

static cel_status describe_nemotron(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &nemotron_defaults, a, err));
  bool folded = false;  // GGUF files hold 1 + w; the loader says so with a key of ours
  CEL_TRY(cel_keys_bool((cel_keys){cfg, ""}, "mlxcel_norm_plus_one_folded", &folded, err));
  a->norm = folded ? CEL_NORM_LAYER : CEL_NORM_LAYER_PLUS_ONE;
  a->norm_bias = true;
  return finish(cfg, &(cel_rope_defaults){.theta = 1e4, .partial = 0.5}, arena, a, err);
}

const cel_family cel_family_arcee = {
    .name = "arcee",
    .model_types = {"arcee"},
    .gguf_archs = {"arcee"},
    .special = "Llama with an MLP without a gate, max(0, x)^2",
    .describe = describe,
};

const cel_family cel_family_nemotron = {
    .name = "nemotron",
    .model_types = {"nemotron"},
    .gguf_archs = {"nemotron"},
    .special = "layer norms of weight 1 + w, an MLP without a gate, half of each head rotated",
    .describe = describe_nemotron,
};
