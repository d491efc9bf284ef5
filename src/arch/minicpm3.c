// MiniCPM 3: latent attention with rotation of halves, dense MLPs, and MiniCPM's multipliers.
#include <math.h>

#include "arch/describe.h"

extern const cel_family cel_family_minicpm3;

static const cel_class_defaults defaults = {
    .vocab = 73448, .hidden = 2560, .inter = 6400, .layers = 62, .n_q = 40, .n_kv = 40, .head_dim = 32, .max_position = 32768,
    .eps = 1e-5, .act_key = "hidden_act", .act = "silu", .tied = true, .bos = 1, .eos = 2,
};

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  int rope_of[2];
  cel_keys k = {cfg, ""};
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  // The class's multipliers where a key is absent; null is a value: none.
  a->embed_mul = 12;
  if (!cel_keys_is_null(k, "scale_depth")) a->residual_mul = 1.4 / sqrt((double)a->n_layers);
  if (!cel_keys_is_null(k, "dim_model_base")) a->logit_mul = 256 / (double)a->hidden;
  CEL_TRY(cel_arch_read_minicpm_scales(k, a, err));
  CEL_TRY(cel_keys_bool(k, "mlp_bias", &a->mlp_bias, err));
  int v = (int)(a->hidden / a->n_q);  // of a file without v_head_dim
  CEL_TRY(cel_arch_read_mla(cfg, &(cel_mla){.q_rank = 768, .kv_rank = 256, .nope = 64, .rope = 32, .v = v},
                            &(cel_rope_defaults){.theta = 1e4}, rope_of, arena, a, err));
  return cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err);
}

const cel_family cel_family_minicpm3 = {
    .name = "minicpm3",
    .model_types = {"minicpm3"},
    .gguf_archs = {"minicpm3"},
    .special = "latent attention with half rotation, dense; multipliers of embeddings, sublayers and the last hidden rows",
    .describe = describe,
};
