// What families with experts share: the keys of their configs and the names of their weights.
#include <stdio.h>

#include "arch/describe.h"

enum { EXPERTS_MOST = 1 << 16, TOP_K_MOST = 64 };

// The first of the keys that is present.
static cel_status first_of(cel_keys k, const char *const *keys, int64_t lo, int64_t hi, int64_t otherwise, int64_t *out,
                           cel_err *err) {
  const char *key = keys[0];
  for (int i = 0; keys[i]; i++) {
    if (!cel_json_get(k.obj, keys[i])) continue;
    key = keys[i];
    break;
  }
  if (otherwise <= 0) CEL_TRY(cel_keys_need(k, key, err));
  *out = otherwise;
  return cel_keys_int(k, key, lo, hi, out, err);
}

static void name_weights(cel_arch *a) {
  static const char *const names[CEL_W_COUNT] = {
      [CEL_W_ROUTER] = "model.layers.{i}.mlp.gate",
      [CEL_W_EXPERT_GATE] = "model.layers.{i}.mlp.experts.gate_proj",
      [CEL_W_EXPERT_UP] = "model.layers.{i}.mlp.experts.up_proj",
      [CEL_W_EXPERT_GATE_UP] = "model.layers.{i}.mlp.experts.gate_up_proj",
      [CEL_W_EXPERT_DOWN] = "model.layers.{i}.mlp.experts.down_proj",
      [CEL_W_SHARED_GATE] = "model.layers.{i}.mlp.shared_experts.gate_proj",
      [CEL_W_SHARED_UP] = "model.layers.{i}.mlp.shared_experts.up_proj",
      [CEL_W_SHARED_DOWN] = "model.layers.{i}.mlp.shared_experts.down_proj",
  };
  for (int i = 0; i < CEL_W_COUNT; i++)
    if (names[i]) a->names[i] = names[i];
}

cel_status cel_arch_read_moe(const cel_json *cfg, const cel_moe_defaults *d, cel_arch *a, cel_err *err) {
  static const char *const experts_keys[] = {"num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts",
                                             NULL};
  static const char *const k_keys[] = {"num_experts_per_tok", "moe_k", NULL};
  cel_keys k = {cfg, ""};
  int64_t n = 0, top = 0;
  CEL_TRY(first_of(k, experts_keys, 1, EXPERTS_MOST, d->n_experts, &n, err));
  CEL_TRY(first_of(k, k_keys, 1, CEL_MIN(n, TOP_K_MOST), CEL_MIN(d->top_k, n), &top, err));
  a->moe = (cel_moe){.n_experts = (int)n,
                     .top_k = (int)top,
                     .inter = d->inter ? d->inter : a->inter,
                     .router = d->router,
                     .renorm = d->renorm,
                     .scale = 1,
                     .n_group = 1,
                     .topk_group = 1};
  if (d->inter) CEL_TRY(cel_keys_int(k, "moe_intermediate_size", 1, CEL_ARCH_MAX_DIM, &a->moe.inter, err));
  if (d->renorm_key) CEL_TRY(cel_keys_bool(k, d->renorm_key, &a->moe.renorm, err));
  CEL_TRY(cel_keys_num(k, "routed_scaling_factor", 1e-6, 1e6, &a->moe.scale, err));
  name_weights(a);
  return CEL_OK;
}

cel_status cel_arch_read_expert_groups(const cel_json *cfg, int64_t n_group, int64_t topk_group, cel_arch *a,
                                       cel_err *err) {
  cel_keys k = {cfg, ""};
  int64_t experts = a->moe.n_experts;
  CEL_TRY(cel_keys_int(k, "n_group", 1, experts, &n_group, err));
  CEL_TRY(cel_keys_int(k, "topk_group", 1, CEL_MIN(n_group, TOP_K_MOST), &topk_group, err));
  if (experts % n_group != 0 || topk_group * (experts / n_group) < a->moe.top_k)
    return cel_fail(err, CEL_MALFORMED,
                    "config keys n_group %lld and topk_group %lld: %lld experts must make equal groups, and "
                    "the chosen groups must have the %d experts of a token",
                    (long long)n_group, (long long)topk_group, (long long)experts, a->moe.top_k);
  if (n_group > 1 && a->moe.router == CEL_ROUTER_SIGMOID && experts / n_group < 2)
    return cel_fail(err, CEL_MALFORMED, "config key n_group is %lld: groups of one expert have no two best",
                    (long long)n_group);
  a->moe.n_group = (int)n_group;
  a->moe.topk_group = (int)topk_group;
  return CEL_OK;
}

cel_status cel_arch_read_shared_experts(const cel_json *cfg, const char *key, int64_t otherwise, cel_arch *a,
                                        cel_err *err) {
  int64_t n = otherwise;
  CEL_TRY(cel_keys_int((cel_keys){cfg, ""}, key, 0, 1024, &n, err));
  if (n == 0) return CEL_OK;
  a->moe.shared = CEL_SHARED_PLAIN;
  a->moe.shared_inter = n * a->moe.inter;
  return CEL_OK;
}

void cel_arch_correct_router(cel_arch *a) {
  a->moe.correction_bias = true;
  a->names[CEL_W_ROUTER_CORRECTION] = "model.layers.{i}.mlp.gate.e_score_correction_bias";
}

// ---- layers ----------------------------------------------------------------------------------------

bool cel_sparse_all(int layer, const int64_t *unused) { return (void)layer, (void)unused, true; }
bool cel_sparse_from(int layer, const int64_t *first) { return layer >= *first; }

static void set_sparse(cel_arch *a, int layer, bool sparse) {
  a->layers[layer].ffn = sparse ? CEL_FFN_MOE : CEL_FFN_GATED;
  a->layers[layer].inter = sparse ? 0 : a->inter;
}

static cel_status read_types(const cel_json *types, cel_arch *a, cel_err *err) {
  if (!cel_json_is_array(types) || cel_json_array_size(types) != (size_t)a->n_layers)
    return cel_keys_refuse((cel_keys){NULL, ""}, "mlp_layer_types", types, CEL_MALFORMED,
                           "a list of as many words as there are layers", err);
  for (int i = 0; i < a->n_layers; i++) {
    const cel_json *item = cel_json_array_get(types, (size_t)i);
    const char *word = cel_json_is_string(item) ? cel_json_string_value(item) : "";
    bool sparse = strcmp(word, "sparse") == 0;
    char path[48];
    snprintf(path, sizeof path, "mlp_layer_types, entry %d,", i);
    if (!sparse && strcmp(word, "dense") != 0)
      return cel_keys_refuse((cel_keys){NULL, path}, "", item, CEL_UNSUPPORTED, "one of dense, sparse", err);
    set_sparse(a, i, sparse);
  }
  return CEL_OK;
}

cel_status cel_arch_read_sparse_layers(const cel_json *cfg, cel_sparse_rule rule, const int64_t *arguments, cel_arch *a,
                                       cel_err *err) {
  const cel_json *types = cel_json_get(cfg, "mlp_layer_types");
  if (types) return read_types(types, a, err);
  for (int i = 0; i < a->n_layers; i++) set_sparse(a, i, rule(i, arguments));
  return CEL_OK;
}

static bool each_step(int layer, const int64_t *step) { return (layer + 1) % *step == 0; }

cel_status cel_arch_read_qwen_sparse_layers(const cel_json *cfg, cel_arch *a, cel_err *err) {
  cel_keys k = {cfg, ""};
  int64_t step = 1;
  CEL_TRY(cel_keys_int(k, "decoder_sparse_step", 1, CEL_ARCH_MAX_LAYERS, &step, err));
  CEL_TRY(cel_arch_read_sparse_layers(cfg, each_step, &step, a, err));
  const cel_json *dense = cel_json_get(cfg, "mlp_only_layers");
  if (cel_json_get(cfg, "mlp_layer_types") || !dense) return CEL_OK;
  if (!cel_json_is_array(dense))
    return cel_keys_refuse(k, "mlp_only_layers", dense, CEL_MALFORMED, "a list of layers", err);
  for (size_t i = 0; i < cel_json_array_size(dense); i++) {
    int64_t layer;
    CEL_TRY(cel_keys_int_of(k, "mlp_only_layers", cel_json_array_get(dense, i), 0, CEL_ARCH_MAX_LAYERS, &layer, err));
    if (layer < a->n_layers) set_sparse(a, (int)layer, false);
  }
  return CEL_OK;
}
