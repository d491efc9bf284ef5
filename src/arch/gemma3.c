// Gemma 3, the text side: four norms of weight 1 + w, norms over the heads of q and k, five sliding layers
// to one full with rotary bases of their own, embeddings times sqrt(hidden).
#include <math.h>

#include "arch/describe.h"

extern const cel_family cel_family_gemma3;

static const cel_class_defaults defaults = {
    .vocab = 262208, .hidden = 2304, .inter = 9216, .layers = 26, .n_q = 8, .n_kv = 4, .head_dim = 256,
    .max_position = 131072,
    .eps = 1e-6, .act_key = "hidden_activation", .act = "gelu_pytorch_tanh", .tied = true, .bos = 2, .eos = 1,
};

static cel_status read_scalars(cel_keys k, cel_arch *a, cel_err *err) {
  double scalar = 256;
  CEL_TRY(cel_keys_num(k, "query_pre_attn_scalar", 1e-6, 1e9, &scalar, err));
  a->attn_scale = 1.0 / sqrt(scalar);
  a->embed_mul = sqrt((double)a->hidden);
  CEL_TRY(cel_keys_num(k, "final_logit_softcapping", 1e-6, 1e9, &a->final_softcap, err));
  // attn_logit_softcapping is Gemma 2's: Gemma 3 files may carry it and the model never applies it.
  CEL_TRY(cel_keys_bool(k, "attention_bias", &a->qkv_bias, err));
  a->o_bias = a->qkv_bias;
  return CEL_OK;
}

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  cel_keys k = {cfg, ""};
  cel_arch_name_qk_norms(a);
  cel_arch_name_four_norms(a);
  a->qk_norm = CEL_QK_NORM_HEAD;
  CEL_TRY(cel_arch_read_gemma_norm(k, a, err));
  CEL_TRY(read_scalars(k, a, err));
  CEL_TRY(cel_arch_read_window(cfg, 4096, &a->window, err));
  int64_t period;
  CEL_TRY(cel_arch_read_period(cfg, 6, &period, err));
  int rope_of[2];
  cel_rope_defaults ropes = {.theta = 1e6, .local_theta = 1e4};
  CEL_TRY(cel_arch_read_ropes(cfg, &ropes, arena, a, rope_of, err));
  return cel_arch_read_layers(cfg, cel_layer_full_every, period, rope_of, arena, a, err);
}

const cel_family cel_family_gemma3 = {
    .name = "gemma3",
    .model_types = {"gemma3_text", "gemma3"},
    .gguf_archs = {"gemma3"},
    .special = "four norms of weight 1 + w, q/k head norms, 5 sliding layers to 1 full, two rope bases",
    .describe = describe,
};
