// StableLM: norms with mean and bias, a quarter of each head rotated; optionally attention and MLP side by side, and a
// norm for every head of q and k.
#include "arch/describe.h"

extern const cel_family cel_family_stablelm;

static const cel_class_defaults defaults = {
    .vocab = 50304, .hidden = 2560, .inter = 6912, .layers = 32, .n_q = 32, .n_kv = 32, .max_position = 4096,
    .eps = 1e-5, .eps_key = "layer_norm_eps", .act_key = "hidden_act", .act = "silu", .tied = false, .bos = 0, .eos = 0,
};

#define ATTENTION "model.layers.{i}.self_attn."
static const cel_file_rule files[] = {
    {CEL_FILE_JOINED, ATTENTION "q_layernorm.norms.{e}", {ATTENTION "q_layernorm"}},
    {CEL_FILE_JOINED, ATTENTION "k_layernorm.norms.{e}", {ATTENTION "k_layernorm"}},
    {.module = NULL},
};

static cel_status read_switches(cel_keys k, cel_arch *a, cel_err *err) {
  bool parallel = false, normed = false;
  CEL_TRY(cel_keys_bool(k, "use_qkv_bias", &a->qkv_bias, err));
  CEL_TRY(cel_keys_bool(k, "use_parallel_residual", &parallel, err));
  CEL_TRY(cel_keys_bool(k, "qk_layernorm", &normed, err));
  if (parallel) a->placement = CEL_PARALLEL;
  if (!normed) return CEL_OK;
  a->qk_norm = CEL_QK_NORM_HEAD_LAYER;
  a->names[CEL_W_Q_NORM] = ATTENTION "q_layernorm";
  a->names[CEL_W_K_NORM] = ATTENTION "k_layernorm";
  return CEL_OK;
}

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  a->norm = CEL_NORM_LAYER;
  a->norm_bias = true;
  CEL_TRY(read_switches((cel_keys){cfg, ""}, a, err));
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e4, .partial = 0.25}, arena, a, rope_of, err));
  return cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err);
}

const cel_family cel_family_stablelm = {
    .name = "stablelm",
    .model_types = {"stablelm", "stablelm_epoch"},
    .gguf_archs = {"stablelm"},
    .files = files,
    .special = "layer norms with biases, a quarter of each head rotated",
    .describe = describe,
};
