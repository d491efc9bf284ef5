// Hunyuan V1, dense: Llama with norms over the heads of q and k behind the rotation, whose base a fixed alpha stretches.
#include <math.h>

#include "arch/describe.h"

extern const cel_family cel_family_hunyuan_v1_dense;

static const cel_class_defaults defaults = {
    .vocab = 290943, .hidden = 4096, .inter = 11008, .layers = 32, .n_q = 32, .n_kv = 32, .max_position = 2048,
    .eps = 1e-5, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = 1, .eos = 2,
};

// Files call it "dynamic", but with an alpha it does not depend on the length.
static cel_status apply_alpha(const cel_json *cfg, cel_arch *a, cel_err *err) {
  cel_keys top = {cfg, ""}, k = {NULL, "rope_scaling."};
  CEL_TRY(cel_keys_object(top, "rope_parameters", &k.obj, err));
  const cel_json *scaling = NULL;
  CEL_TRY(cel_keys_object(top, "rope_scaling", &scaling, err));
  if (cel_json_object_size(scaling) > 0) k.obj = scaling;
  double alpha = 0;
  CEL_TRY(cel_keys_num(k, "alpha", 0, 1e9, &alpha, err));
  cel_rope *r = &a->ropes[0];
  if (alpha == 0 || r->type != CEL_ROPE_DYNAMIC) return CEL_OK;
  r->type = CEL_ROPE_DEFAULT;
  r->theta *= pow(alpha, (double)r->dims / (r->dims - 2));
  return CEL_OK;
}

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  a->qk_norm = CEL_QK_NORM_HEAD;
  a->qk_norm_after_rope = true;
  a->names[CEL_W_Q_NORM] = "model.layers.{i}.self_attn.query_layernorm";
  a->names[CEL_W_K_NORM] = "model.layers.{i}.self_attn.key_layernorm";
  CEL_TRY(cel_arch_read_attention_bias((cel_keys){cfg, ""}, "attention_bias", false, a, err));
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e4}, arena, a, rope_of, err));
  CEL_TRY(apply_alpha(cfg, a, err));
  return cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err);
}

const cel_family cel_family_hunyuan_v1_dense = {
    .name = "hunyuan_v1_dense",
    .model_types = {"hunyuan_v1_dense"},
    .gguf_archs = {"hunyuan-dense"},
    .special = "Llama with q/k head norms behind the rotation, its base stretched by a fixed alpha",
    .describe = describe,
};
