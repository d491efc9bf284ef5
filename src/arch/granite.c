// Granite 3: Llama with four multipliers: of embeddings, scores, sublayers and (dividing) logits. HyperCLOVA X has the
// same, but its logits are multiplied, and norms may follow the sublayers.
#include "arch/describe.h"

extern const cel_family cel_family_granite, cel_family_hyperclovax;

static const cel_class_defaults defaults = {
    .vocab = 32000, .hidden = 4096, .inter = 11008, .layers = 32, .n_q = 32, .n_kv = 32, .max_position = 2048,
    .eps = 1e-6, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = 1, .eos = 2,
};

static cel_status read_block(const cel_json *cfg, const cel_json *root, double attention, double *logits, cel_arch *a,
                             cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  cel_keys k = {cfg, ""};
  if (attention != 0) a->attn_scale = attention;
  CEL_TRY(cel_keys_num(k, "attention_multiplier", 1e-9, 1e9, &a->attn_scale, err));
  CEL_TRY(cel_keys_num(k, "embedding_multiplier", 1e-9, 1e9, &a->embed_mul, err));
  CEL_TRY(cel_keys_num(k, "residual_multiplier", 1e-9, 1e9, &a->residual_mul, err));
  CEL_TRY(cel_keys_num(k, "logits_scaling", 1e-9, 1e9, logits, err));
  CEL_TRY(cel_arch_read_attention_bias(k, "attention_bias", false, a, err));
  return cel_keys_bool(k, "mlp_bias", &a->mlp_bias, err);
}

static cel_status finish(const cel_json *cfg, cel_arena *arena, cel_arch *a, cel_err *err) {
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e4}, arena, a, rope_of, err));
  return cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err);
}

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  double logits = 1;
  CEL_TRY(read_block(cfg, root, 1, &logits, a, err));  // the class's scale of scores is 1, not D^-1/2
  a->logit_mul = 1 / logits;
  return finish(cfg, arena, a, err);
}

static cel_status describe_clova(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  bool post = true;
  CEL_TRY(read_block(cfg, root, 0, &a->logit_mul, a, err));
  CEL_TRY(cel_keys_bool((cel_keys){cfg, ""}, "use_post_norm", &post, err));
  if (post) {
    a->placement = CEL_PRE_POST_NORM;
    a->names[CEL_W_ATTN_POST_NORM] = "model.layers.{i}.post_norm1";
    a->names[CEL_W_MLP_POST_NORM] = "model.layers.{i}.post_norm2";
  }
  return finish(cfg, arena, a, err);
}

const cel_family cel_family_granite = {
    .name = "granite",
    .model_types = {"granite"},
    .gguf_archs = {"granite"},
    .special = "Llama with multipliers of embeddings, scores, sublayers and logits",
    .describe = describe,
};

const cel_family cel_family_hyperclovax = {
    .name = "hyperclovax",
    .model_types = {"hyperclovax"},
    .gguf_archs = {NULL},
    .special = "Granite's multipliers, logits multiplied; norms behind the sublayers, too",
    .describe = describe_clova,
};
