// Granite with experts: its multipliers; a softmax over the chosen experts' logits alone; in some a shared MLP beside
// them. Granite 4 may have no experts at all, only that MLP, and no positions. Its Mamba 2 layers are not supported.
#include "arch/describe.h"

extern const cel_family cel_family_granitemoe, cel_family_granitemoeshared, cel_family_granitemoehybrid;

static const cel_class_defaults defaults = {
    .vocab = 32000, .hidden = 4096, .inter = 11008, .layers = 32, .n_q = 32, .n_kv = 32, .max_position = 2048,
    .eps = 1e-6, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = 1, .eos = 2,
};
static const cel_moe_defaults experts = {.n_experts = 8, .top_k = 2, .router = CEL_ROUTER_TOPK_SOFTMAX};

#define LAYER "model.layers.{i}."
static const cel_file_rule shared_files[] = {
    {CEL_FILE_HALVES,
     LAYER "shared_mlp.input_linear",
     {LAYER "mlp.shared_experts.gate_proj", LAYER "mlp.shared_experts.up_proj"}},
    {CEL_FILE_RENAMED, LAYER "shared_mlp.output_linear", {LAYER "mlp.shared_experts.down_proj"}},
    // Without experts that MLP is the layer's own (mlx-lm's files call it so).
    {CEL_FILE_HALVES, LAYER "shared_mlp.input_linear", {LAYER "mlp.gate_proj", LAYER "mlp.up_proj"}},
    {CEL_FILE_RENAMED, LAYER "shared_mlp.output_linear", {LAYER "mlp.down_proj"}},
    {.module = NULL},
};

static cel_status read_block(const cel_json *cfg, const cel_json *root, cel_arch *a, cel_err *err) {
  double logits = 1;
  cel_keys k = {cfg, ""};
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  a->attn_scale = 1;  // the class's, not D^-1/2
  CEL_TRY(cel_keys_num(k, "attention_multiplier", 1e-9, 1e9, &a->attn_scale, err));
  CEL_TRY(cel_keys_num(k, "embedding_multiplier", 1e-9, 1e9, &a->embed_mul, err));
  CEL_TRY(cel_keys_num(k, "residual_multiplier", 1e-9, 1e9, &a->residual_mul, err));
  CEL_TRY(cel_keys_num(k, "logits_scaling", 1e-9, 1e9, &logits, err));
  a->logit_mul = 1 / logits;
  return cel_arch_read_attention_bias(k, "attention_bias", false, a, err);
}

static cel_status read_experts(const cel_json *cfg, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_moe(cfg, &experts, a, err));
  return cel_arch_read_sparse_layers(cfg, cel_sparse_all, NULL, a, err);
}

static cel_status read_attention(const cel_json *cfg, cel_arena *arena, cel_arch *a, cel_err *err) {
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e4}, arena, a, rope_of, err));
  return cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err);
}

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(read_block(cfg, root, a, err));
  CEL_TRY(read_attention(cfg, arena, a, err));
  return read_experts(cfg, a, err);
}

static cel_status describe_shared(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a,
                                  cel_err *err) {
  CEL_TRY(describe(cfg, root, arena, a, err));
  CEL_TRY(
      cel_keys_int((cel_keys){cfg, ""}, "shared_intermediate_size", 0, CEL_ARCH_MAX_DIM, &a->moe.shared_inter, err));
  if (a->moe.shared_inter > 0) a->moe.shared = CEL_SHARED_PLAIN;
  return CEL_OK;
}

// Every layer must be attention; which ones are not is what layer_types says, and by default all of them.
static cel_status check_types(const cel_json *cfg, cel_err *err) {
  const cel_json *types = cel_json_get(cfg, "layer_types");
  if (!cel_json_is_array(types))
    return cel_fail(err, CEL_UNSUPPORTED,
                    "config key layer_types is missing: all layers are of Mamba 2, which is not supported");
  for (size_t i = 0; i < cel_json_array_size(types); i++) {
    const cel_json *item = cel_json_array_get(types, i);
    const char *word = cel_json_is_string(item) ? cel_json_string_value(item) : "";
    if (!strcmp(word, "mamba") || !strcmp(word, "linear_attention"))
      return cel_fail(err, CEL_UNSUPPORTED,
                      "config key layer_types, entry %zu, is %s: layers of Mamba 2 are not supported", i, word);
    if (strcmp(word, "attention") != 0 && strcmp(word, "full_attention") != 0)
      return cel_keys_refuse((cel_keys){cfg, ""}, "layer_types", item, CEL_UNSUPPORTED,
                             "a list of attention (or full_attention)", err);
  }
  return CEL_OK;
}

// No experts: the shared MLP is the layer's only one.
static void only_shared(cel_arch *a, int64_t inter) {
  a->inter = inter;
  for (int i = 0; i < a->n_layers; i++) a->layers[i].inter = inter;
}

static cel_status describe_hybrid(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a,
                                  cel_err *err) {
  CEL_TRY(read_block(cfg, root, a, err));
  CEL_TRY(check_types(cfg, err));
  CEL_TRY(read_attention(cfg, arena, a, err));
  cel_keys k = {cfg, ""};
  const char *positions = "";
  int64_t n = 8, shared = 1024;
  CEL_TRY(cel_keys_string(k, "position_embedding_type", &positions, err));
  for (int i = 0; i < a->n_layers && strcmp(positions, "rope") != 0; i++) a->layers[i].rope = -1;
  CEL_TRY(cel_keys_int(k, "num_local_experts", 0, 1 << 16, &n, err));
  CEL_TRY(cel_keys_int(k, "shared_intermediate_size", 1, CEL_ARCH_MAX_DIM, &shared, err));
  if (n == 0) {
    only_shared(a, shared);
    return CEL_OK;
  }
  CEL_TRY(read_experts(cfg, a, err));
  a->moe.shared = CEL_SHARED_PLAIN;
  a->moe.shared_inter = shared;
  return CEL_OK;
}

const cel_family cel_family_granitemoe = {
    .name = "granitemoe",
    .model_types = {"granitemoe"},
    .gguf_archs = {"granitemoe"},
    .special = "Granite with experts; softmax over the chosen ones' logits",
    .describe = describe,
};

const cel_family cel_family_granitemoeshared = {
    .name = "granitemoeshared",
    .model_types = {"granitemoeshared"},
    .gguf_archs = {NULL},
    .files = shared_files,
    .special = "Granite with experts and a shared MLP beside them",
    .describe = describe_shared,
};

const cel_family cel_family_granitemoehybrid = {
    .name = "granitemoehybrid",
    .model_types = {"granitemoehybrid"},
    .gguf_archs = {NULL},
    .files = shared_files,
    .special = "Granite 4 whose layers are all attention, with or without experts and positions",
    .describe = describe_hybrid,
};
