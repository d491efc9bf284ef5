// Cohere: attention and MLP side by side behind one norm that takes the mean off, neighbouring columns rotated together,
// logits scaled. Cohere 2: 3 sliding layers to 1 full, and only the sliding ones are rotated.
#include "arch/describe.h"

extern const cel_family cel_family_cohere, cel_family_cohere2;

static const cel_class_defaults defaults = {
    .vocab = 256000, .hidden = 8192, .inter = 22528, .layers = 40, .n_q = 64, .n_kv = 64, .max_position = 8192,
    .eps = 1e-5, .eps_key = "layer_norm_eps", .act_key = "hidden_act", .act = "silu", .tied = true, .bos = 5, .eos = 255001,
};

static cel_status read_block(const cel_json *cfg, const cel_json *root, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  cel_keys k = {cfg, ""};
  a->norm = CEL_NORM_LAYER;
  a->placement = CEL_PARALLEL;
  a->logit_mul = 0.0625;
  CEL_TRY(cel_keys_num(k, "logit_scale", 1e-9, 1e9, &a->logit_mul, err));
  return cel_arch_read_attention_bias(k, "attention_bias", false, a, err);
}

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(read_block(cfg, root, a, err));
  bool normed = false;
  CEL_TRY(cel_keys_bool((cel_keys){cfg, ""}, "use_qk_norm", &normed, err));
  if (normed) {
    a->qk_norm = CEL_QK_NORM_HEAD_LAYER;
    cel_arch_name_qk_norms(a);
  }
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 5e5, .interleaved = true}, arena, a, rope_of, err));
  return cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err);
}

static cel_status describe2(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(read_block(cfg, root, a, err));
  CEL_TRY(cel_arch_read_window(cfg, 4096, &a->window, err));
  int64_t period;
  CEL_TRY(cel_arch_read_period(cfg, 4, &period, err));
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e4, .interleaved = true}, arena, a, rope_of, err));
  CEL_TRY(cel_arch_read_layers(cfg, cel_layer_full_every, period, rope_of, arena, a, err));
  cel_arch_full_layers_without_rope(a);
  return CEL_OK;
}

const cel_family cel_family_cohere = {
    .name = "cohere",
    .model_types = {"cohere"},
    .gguf_archs = {"command-r"},
    .special = "attention and MLP side by side behind one layer norm, interleaved rotation, scaled logits",
    .describe = describe,
};

const cel_family cel_family_cohere2 = {
    .name = "cohere2",
    .model_types = {"cohere2"},
    .gguf_archs = {"cohere2"},
    .special = "Cohere with 3 sliding layers to 1 full, which has no rotation",
    .describe = describe2,
};
