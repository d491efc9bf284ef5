// Apertus: norms over the heads of q and k, an MLP without a gate whose activation, xIELU, is learnt layer by layer.
#include "arch/describe.h"

extern const cel_family cel_family_apertus;

static const cel_class_defaults defaults = {
    .vocab = 131072, .hidden = 4096, .inter = 14336, .layers = 32, .n_q = 32, .n_kv = 32, .max_position = 65536,
    .eps = 1e-5, .act_key = "hidden_act", .act = "xielu", .tied = false, .bos = 1, .eos = 2,
};
static const cel_rope llama3 = {
    .type = CEL_ROPE_LLAMA3, .theta = 12e6, .factor = 8, .original_max_position = 8192, .low_freq_factor = 1,
    .high_freq_factor = 4, .truncate = true,
};

#define LAYER "model.layers.{i}."
static void name_weights(cel_arch *a) {
  cel_arch_name_qk_norms(a);
  a->names[CEL_W_ATTN_NORM] = LAYER "attention_layernorm";
  a->names[CEL_W_MLP_NORM] = LAYER "feedforward_layernorm";
  a->names[CEL_W_ACT_ALPHA_P] = LAYER "mlp.act_fn.alpha_p";
  a->names[CEL_W_ACT_ALPHA_N] = LAYER "mlp.act_fn.alpha_n";
  a->names[CEL_W_ACT_BETA] = LAYER "mlp.act_fn.beta";
  a->names[CEL_W_ACT_EPS] = LAYER "mlp.act_fn.eps";
}

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  name_weights(a);
  a->qk_norm = CEL_QK_NORM_HEAD;
  CEL_TRY(cel_arch_read_attention_bias((cel_keys){cfg, ""}, "attention_bias", false, a, err));
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 12e6, .otherwise = &llama3}, arena, a, rope_of, err));
  CEL_TRY(cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err));
  cel_arch_mlps_without_gate(a);
  return CEL_OK;
}

const cel_family cel_family_apertus = {
    .name = "apertus",
    .model_types = {"apertus"},
    .gguf_archs = {"apertus"},
    .special = "q/k head norms, an MLP without a gate and a learnt activation in every layer",
    .describe = describe,
};
