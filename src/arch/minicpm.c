// MiniCPM 1 and 2: Llama with multipliers under names of its own: scale_emb of embeddings, scale_depth / sqrt(layers) of
// sublayers, and the last hidden rows divided by hidden / dim_model_base.
#include <math.h>

#include "arch/describe.h"

extern const cel_family cel_family_minicpm;

static const cel_class_defaults defaults = {
    .vocab = 32000, .hidden = 4096, .inter = 11008, .layers = 32, .n_q = 32, .max_position = 2048,
    .eps = 1e-6, .act_key = "hidden_act", .act = "silu", .tied = true, .bos = 1, .eos = 2,
};

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  CEL_TRY(cel_arch_read_minicpm_scales((cel_keys){cfg, ""}, a, err));
  CEL_TRY(cel_arch_read_attention_bias((cel_keys){cfg, ""}, "attention_bias", false, a, err));
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e4}, arena, a, rope_of, err));
  return cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err);
}

// MiniCPM 3 has the same keys and brings the class defaults as *a.
cel_status cel_arch_read_minicpm_scales(cel_keys k, cel_arch *a, cel_err *err) {
  double emb = a->embed_mul, depth = 0, base = 0;
  CEL_TRY(cel_keys_num(k, "scale_emb", 1e-6, 1e6, &emb, err));
  CEL_TRY(cel_keys_num(k, "scale_depth", 1e-6, 1e6, &depth, err));
  CEL_TRY(cel_keys_num(k, "dim_model_base", 1, 1e9, &base, err));
  a->embed_mul = emb;
  if (depth > 0) a->residual_mul = depth / sqrt((double)a->n_layers);
  if (base > 0) a->logit_mul = base / (double)a->hidden;
  return CEL_OK;
}

const cel_family cel_family_minicpm = {
    .name = "minicpm",
    .model_types = {"minicpm"},
    .gguf_archs = {"minicpm"},
    .special = "Llama with multipliers of embeddings, sublayers and the last hidden rows",
    .describe = describe,
};
