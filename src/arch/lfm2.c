// LFM2: short convolutions with a few attention layers between, norms over the heads of q and k, names of its own.
// LFM2-MoE: the same with experts from some layer on.
#include <math.h>

#include "arch/describe.h"

extern const cel_family cel_family_lfm2, cel_family_lfm2_moe;

static const cel_class_defaults defaults = {
    .vocab = 65536, .hidden = 2560, .inter = 12288, .layers = 32, .n_q = 32, .n_kv = 8, .max_position = 128000,
    .eps = 1e-5, .eps_key = "norm_eps", .act_key = "hidden_act", .act = "silu", .tied = true, .bos = 1, .eos = 2,
    .inter_alias = "block_ff_dim",
};
static const cel_class_defaults defaults_moe = {
    .vocab = 65536, .hidden = 2048, .inter = 7168, .layers = 32, .n_q = 32, .n_kv = 8, .max_position = 128000,
    .eps = 1e-5, .eps_key = "norm_eps", .act_key = "hidden_act", .act = "silu", .tied = true, .bos = 1, .eos = 2,
};
static const cel_moe_defaults experts = {.n_experts = 32, .top_k = 4, .inter = 1792, .router = CEL_ROUTER_SIGMOID,
                                         .renorm_key = "norm_topk_prob", .renorm = true};

static void name_weights(cel_arch *a) {
  static const char *const names[CEL_W_COUNT] = {
      [CEL_W_FINAL_NORM] = "model.embedding_norm",
      [CEL_W_ATTN_NORM] = "model.layers.{i}.operator_norm",
      [CEL_W_MLP_NORM] = "model.layers.{i}.ffn_norm",
      [CEL_W_O] = "model.layers.{i}.self_attn.out_proj",
      [CEL_W_Q_NORM] = "model.layers.{i}.self_attn.q_layernorm",
      [CEL_W_K_NORM] = "model.layers.{i}.self_attn.k_layernorm",
      [CEL_W_CONV_IN] = "model.layers.{i}.conv.in_proj",
      [CEL_W_CONV] = "model.layers.{i}.conv.conv",
      [CEL_W_CONV_OUT] = "model.layers.{i}.conv.out_proj",
      [CEL_W_GATE] = "model.layers.{i}.feed_forward.w1",
      [CEL_W_UP] = "model.layers.{i}.feed_forward.w3",
      [CEL_W_DOWN] = "model.layers.{i}.feed_forward.w2",
  };
  for (int i = 0; i < CEL_W_COUNT; i++)
    if (names[i]) a->names[i] = names[i];
}

static void name_experts(cel_arch *a) {
  static const char *const names[CEL_W_COUNT] = {
      [CEL_W_ROUTER] = "model.layers.{i}.feed_forward.gate",
      [CEL_W_ROUTER_CORRECTION] = "model.layers.{i}.feed_forward.expert_bias",
      [CEL_W_EXPERT_GATE] = "model.layers.{i}.feed_forward.experts.gate_proj",
      [CEL_W_EXPERT_UP] = "model.layers.{i}.feed_forward.experts.up_proj",
      [CEL_W_EXPERT_GATE_UP] = "model.layers.{i}.feed_forward.experts.gate_up_proj",
      [CEL_W_EXPERT_DOWN] = "model.layers.{i}.feed_forward.experts.down_proj",
  };
  for (int i = 0; i < CEL_W_COUNT; i++)
    if (names[i]) a->names[i] = names[i];
}

// Older files list the attention layers; without either list all layers have attention, as in transformers.
static cel_status read_attention_indices(const cel_json *cfg, cel_arch *a, cel_err *err) {
  cel_keys k = {cfg, ""};
  const cel_json *list = cel_json_get(cfg, "full_attn_idxs");
  if (cel_json_get(cfg, "layer_types") || !list) return CEL_OK;
  if (!cel_json_is_array(list)) return cel_keys_refuse(k, "full_attn_idxs", list, CEL_MALFORMED, "a list of layers", err);
  int rope = a->layers[0].rope;
  for (int i = 0; i < a->n_layers; i++) {
    a->layers[i].mixer = CEL_MIXER_CONV;
    a->layers[i].rope = -1;
  }
  for (size_t i = 0; i < cel_json_array_size(list); i++) {
    int64_t layer;
    CEL_TRY(cel_keys_int_of(k, "full_attn_idxs", cel_json_array_get(list, i), 0, a->n_layers - 1, &layer, err));
    a->layers[layer].mixer = CEL_MIXER_ATTENTION;
    a->layers[layer].rope = rope;
  }
  return CEL_OK;
}

static cel_status read_blocks(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  cel_keys k = {cfg, ""};
  int64_t taps = 3;
  int rope_of[2];
  name_weights(a);
  a->qk_norm = CEL_QK_NORM_HEAD;
  CEL_TRY(cel_keys_bool((cel_keys){root, ""}, "tie_embedding", &a->tied, err));
  CEL_TRY(cel_keys_bool(k, "tie_embedding", &a->tied, err));
  CEL_TRY(cel_keys_int(k, "conv_L_cache", 2, CEL_ARCH_MAX_TAPS, &taps, err));
  CEL_TRY(cel_keys_bool(k, "conv_bias", &a->conv.bias, err));
  a->conv.kernel = (int)taps;
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e6}, arena, a, rope_of, err));
  CEL_TRY(cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err));
  return read_attention_indices(cfg, a, err);
}

// The width in the config is that of a plain MLP; the gated one has two thirds of it, in whole blocks.
static cel_status adjust_width(const cel_json *cfg, cel_arch *a, cel_err *err) {
  cel_keys k = {cfg, ""};
  bool adjust = true;
  double factor = cel_keys_is_null(k, "block_ffn_dim_multiplier") ? 0 : 1;
  int64_t block = 256;
  CEL_TRY(cel_keys_bool(k, "block_auto_adjust_ff_dim", &adjust, err));
  CEL_TRY(cel_keys_num(k, "block_ffn_dim_multiplier", 1e-3, 1e3, &factor, err));
  CEL_TRY(cel_keys_int(k, "block_multiple_of", 1, CEL_ARCH_MAX_DIM, &block, err));
  if (!adjust) return CEL_OK;
  int64_t width = (int64_t)(2 * (double)a->inter / 3.0);
  if (factor > 0) {
    width = (int64_t)(factor * (double)width);
    width = (width + block - 1) / block * block;
  }
  if (width < 1 || width > CEL_ARCH_MAX_DIM)
    return cel_fail(err, CEL_MALFORMED, "config gives MLPs of width %lld (intermediate_size %lld, block_ffn_dim_multiplier %g, "
                    "block_multiple_of %lld)", (long long)width, (long long)a->inter, factor, (long long)block);
  a->inter = width;
  return CEL_OK;
}

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  CEL_TRY(adjust_width(cfg, a, err));
  return read_blocks(cfg, root, arena, a, err);
}

static cel_status describe_moe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults_moe, a, err));
  cel_keys k = {cfg, ""};
  if (!cel_json_get(cfg, "full_attn_idxs")) CEL_TRY(cel_keys_need(k, "layer_types", err));
  CEL_TRY(read_blocks(cfg, root, arena, a, err));
  CEL_TRY(cel_arch_read_moe(cfg, &experts, a, err));
  name_experts(a);
  a->moe.renorm_add = 1e-6;
  a->moe.correction_bias = true;
  CEL_TRY(cel_keys_bool(k, "use_expert_bias", &a->moe.correction_bias, err));
  int64_t first = 2;
  CEL_TRY(cel_keys_int(k, "num_dense_layers", 0, CEL_ARCH_MAX_LAYERS, &first, err));
  return cel_arch_read_sparse_layers(cfg, cel_sparse_from, &first, a, err);
}

const cel_family cel_family_lfm2 = {
    .name = "lfm2",
    .model_types = {"lfm2"},
    .gguf_archs = {"lfm2"},
    .special = "short convolutions with a state, attention layers between; norms over each head of q and k",
    .describe = describe,
};

const cel_family cel_family_lfm2_moe = {
    .name = "lfm2_moe",
    .model_types = {"lfm2_moe"},
    .gguf_archs = {"lfm2moe"},
    .special = "LFM2 with experts; sigmoid router whose bias selects and does not weigh",
    .describe = describe_moe,
};
