// Gemma 1: norms of weight 1 + w, GeGLU, embeddings times sqrt(hidden), wide heads of which a small model has one for
// keys and values.
#include <math.h>

#include "arch/describe.h"

extern const cel_family cel_family_gemma;

static const cel_class_defaults defaults = {
    .vocab = 256000, .hidden = 3072, .inter = 24576, .layers = 28, .n_q = 16, .n_kv = 16, .head_dim = 256,
    .max_position = 8192,
    .eps = 1e-6, .act_key = "hidden_activation", .act = "gelu_pytorch_tanh", .tied = true, .bos = 2, .eos = 1,
    .act_alias = "hidden_act",
};

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  cel_keys k = {cfg, ""};
  if (a->act == CEL_ACT_GELU_ERF) a->act = CEL_ACT_GELU_TANH;  // its first files say "gelu" and mean the tanh form
  CEL_TRY(cel_arch_read_gemma_norm(k, a, err));
  a->embed_mul = sqrt((double)a->hidden);
  CEL_TRY(cel_arch_read_attention_bias(k, "attention_bias", false, a, err));
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e4}, arena, a, rope_of, err));
  return cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err);
}

const cel_family cel_family_gemma = {
    .name = "gemma",
    .model_types = {"gemma"},
    .gguf_archs = {"gemma"},
    .special = "norms of weight 1 + w, GeGLU, embeddings times sqrt(hidden), heads 256 wide",
    .describe = describe,
};
