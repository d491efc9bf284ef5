// Ministral (2): Mistral whose layers slide or see everything, as layer_types says. Ministral 3: a yarn table from the
// start, and queries that grow with the logarithm of their position.
#include "arch/describe.h"

extern const cel_family cel_family_ministral, cel_family_ministral3;

static const cel_class_defaults defaults = {
    .vocab = 32000, .hidden = 4096, .inter = 14336, .layers = 32, .n_q = 32, .n_kv = 8, .max_position = 131072,
    .eps = 1e-6, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = 1, .eos = 2,
};
static const cel_class_defaults defaults3 = {
    .vocab = 131072, .hidden = 4096, .inter = 14336, .layers = 34, .n_q = 32, .n_kv = 8, .head_dim = 128,
    .max_position = 262144,
    .eps = 1e-5, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = 1, .eos = 2,
};
static const cel_rope yarn = {
    .type = CEL_ROPE_YARN, .theta = 1e6, .factor = 16, .original_max_position = 16384, .beta_fast = 32, .beta_slow = 1,
    .mscale = 1, .mscale_all_dim = 1, .truncate = true,
};

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  CEL_TRY(cel_arch_read_window(cfg, 4096, &a->window, err));
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e4}, arena, a, rope_of, err));
  cel_layer_rule rule = a->window ? cel_layer_all_sliding : cel_layer_all_full;
  return cel_arch_read_layers(cfg, rule, 0, rope_of, arena, a, err);
}

// The keys of the queries' growth stand in the dict of the rotation.
static cel_status read_q_scale(const cel_json *cfg, cel_arch *a, cel_err *err) {
  cel_keys k = {NULL, "rope_parameters."}, top = {cfg, ""};
  CEL_TRY(cel_keys_object(top, "rope_scaling", &k.obj, err));
  CEL_TRY(cel_keys_object(top, "rope_parameters", &k.obj, err));
  a->q_pos_beta = k.obj ? 0 : 0.1;
  CEL_TRY(cel_keys_num(k, "llama_4_scaling_beta", 0, 1e3, &a->q_pos_beta, err));
  a->q_pos_original = a->ropes[0].original_max_position;
  if (a->q_pos_original > 0) return CEL_OK;
  a->q_pos_original = 16384;
  return cel_keys_num(k, "original_max_position_embeddings", 1, (double)CEL_ARCH_MAX_POSITION, &a->q_pos_original, err);
}

static cel_status describe3(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults3, a, err));
  CEL_TRY(cel_arch_read_window(cfg, 0, &a->window, err));
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e6, .otherwise = &yarn}, arena, a, rope_of, err));
  CEL_TRY(read_q_scale(cfg, a, err));
  cel_layer_rule rule = a->window ? cel_layer_all_sliding : cel_layer_all_full;
  return cel_arch_read_layers(cfg, rule, 0, rope_of, arena, a, err);
}

const cel_family cel_family_ministral = {
    .name = "ministral",
    .model_types = {"ministral"},
    .gguf_archs = {NULL},
    .special = "Mistral with sliding and full layers mixed",
    .describe = describe,
};

const cel_family cel_family_ministral3 = {
    .name = "ministral3",
    .model_types = {"ministral3"},
    .gguf_archs = {"mistral3"},
    .special = "yarn from the start; queries grow with the logarithm of their position past the original context",
    .describe = describe3,
};
