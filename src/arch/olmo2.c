// OLMo 2: norms behind the sublayers only, and one norm over the whole projections of q and of k. OLMo 3 lets three of
// four layers slide and scales the rotation of the full ones alone.
#include "arch/describe.h"

extern const cel_family cel_family_olmo2, cel_family_olmo3;

static const cel_class_defaults defaults = {
    .vocab = 50304, .hidden = 4096, .inter = 11008, .layers = 32, .n_q = 32, .n_kv = 32, .max_position = 2048,
    .eps = 1e-5, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = -1, .eos = 50279,
};

static cel_status read_block(const cel_json *cfg, const cel_json *root, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  cel_arch_name_post_norms(a);
  cel_arch_name_qk_norms(a);
  a->qk_norm = CEL_QK_NORM_FLAT;
  return cel_arch_read_attention_bias((cel_keys){cfg, ""}, "attention_bias", false, a, err);
}

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(read_block(cfg, root, a, err));
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e4}, arena, a, rope_of, err));
  return cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err);
}

// In the old layout the sliding layers have the class's base whatever rope_theta says, as in transformers.
static cel_status describe3(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(read_block(cfg, root, a, err));
  CEL_TRY(cel_arch_read_window(cfg, 4096, &a->window, err));
  int rope_of[2];
  cel_rope_defaults ropes = {.theta = 5e5, .local_theta = 5e5};
  CEL_TRY(cel_arch_read_ropes(cfg, &ropes, arena, a, rope_of, err));
  return cel_arch_read_layers(cfg, cel_layer_full_every, 4, rope_of, arena, a, err);
}

const cel_family cel_family_olmo2 = {
    .name = "olmo2",
    .model_types = {"olmo2"},
    .gguf_archs = {"olmo2"},
    .special = "norms behind the sublayers only; q and k normed over the whole projection",
    .describe = describe,
};

const cel_family cel_family_olmo3 = {
    .name = "olmo3",
    .model_types = {"olmo3"},
    .gguf_archs = {NULL},
    .special = "OLMo 2 with 3 sliding layers to 1 full; the full ones alone have a scaled rotation",
    .describe = describe3,
};
