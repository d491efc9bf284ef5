// EXAONE 3: Llama in GPT-2's names, with older names of keys, too. EXAONE 4: norms behind the sublayers, norms over the
// heads of q and k; where some layers slide, those that do not have no rotation.
#include "arch/describe.h"

extern const cel_family cel_family_exaone, cel_family_exaone4;

static const cel_class_defaults defaults3 = {
    .vocab = 102400, .hidden = 4096, .inter = 14336, .layers = 32, .n_q = 32, .n_kv = 8, .max_position = 4096,
    .eps = 1e-5, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = 1, .eos = 361,
    .layers_alias = "num_layers", .eps_alias = "layer_norm_epsilon", .act_alias = "activation_function",
};
static const cel_class_defaults defaults4 = {
    .vocab = 102400, .hidden = 4096, .inter = 16384, .layers = 32, .n_q = 32, .n_kv = 32, .max_position = 2048,
    .eps = 1e-5, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = 0, .eos = 2,
};

#define FILES "transformer.h.{i}."
#define LAYER "model.layers.{i}."
static const cel_file_rule files3[] = {
    {CEL_FILE_RENAMED, "transformer.wte", {"model.embed_tokens"}},
    {CEL_FILE_RENAMED, "transformer.ln_f", {"model.norm"}},
    {CEL_FILE_RENAMED, FILES "ln_1", {LAYER "input_layernorm"}},
    {CEL_FILE_RENAMED, FILES "ln_2", {LAYER "post_attention_layernorm"}},
    {CEL_FILE_RENAMED, FILES "attn.attention.q_proj", {LAYER "self_attn.q_proj"}},
    {CEL_FILE_RENAMED, FILES "attn.attention.k_proj", {LAYER "self_attn.k_proj"}},
    {CEL_FILE_RENAMED, FILES "attn.attention.v_proj", {LAYER "self_attn.v_proj"}},
    {CEL_FILE_RENAMED, FILES "attn.attention.out_proj", {LAYER "self_attn.o_proj"}},
    {CEL_FILE_RENAMED, FILES "mlp.c_fc_0", {LAYER "mlp.gate_proj"}},
    {CEL_FILE_RENAMED, FILES "mlp.c_fc_1", {LAYER "mlp.up_proj"}},
    {CEL_FILE_RENAMED, FILES "mlp.c_proj", {LAYER "mlp.down_proj"}},
    {.module = NULL},
};

static cel_status describe3(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults3, a, err));
  cel_keys k = {cfg, ""};
  CEL_TRY(cel_arch_read_attention_bias(k, "attention_bias", false, a, err));
  CEL_TRY(cel_keys_bool(k, "mlp_bias", &a->mlp_bias, err));
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 5e5}, arena, a, rope_of, err));
  return cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err);
}

// A pattern of letters, L slides and G is full, packed as bits below a leading 1.
static cel_attention_kind by_letters(int layer, int64_t packed) {
  int n = 0;
  while (packed >> (n + 1)) n++;
  return packed >> (layer % n) & 1 ? CEL_ATTENTION_SLIDING : CEL_ATTENTION_FULL;
}

static cel_status pack_letters(cel_keys k, const cel_json *v, int64_t *packed, cel_err *err) {
  const char *word = cel_json_string_value(v);
  size_t n = strlen(word);
  if (n < 1 || n > 48 || strspn(word, "LG") != n)
    return cel_keys_refuse(k, "sliding_window_pattern", v, CEL_MALFORMED, "a number, or up to 48 letters L and G", err);
  *packed = INT64_C(1) << n;
  for (size_t i = 0; i < n; i++) *packed |= (int64_t)(word[i] == 'L') << i;
  return CEL_OK;
}

static cel_status read_schedule(const cel_json *cfg, const int rope_of[2], cel_arena *arena, cel_arch *a, cel_err *err) {
  const cel_json *v = cel_json_get(cfg, "sliding_window_pattern");
  int64_t argument = 4;
  cel_layer_rule rule = cel_layer_full_every;
  if (!a->window) {
    rule = cel_layer_all_full;
  } else if (cel_json_is_string(v)) {
    rule = by_letters;
    CEL_TRY(pack_letters((cel_keys){cfg, ""}, v, &argument, err));
  } else {
    CEL_TRY(cel_arch_read_period(cfg, 4, &argument, err));
  }
  return cel_arch_read_layers(cfg, rule, argument, rope_of, arena, a, err);
}

static cel_status describe4(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults4, a, err));
  cel_arch_name_post_norms(a);
  cel_arch_name_qk_norms(a);
  a->qk_norm = CEL_QK_NORM_HEAD;
  CEL_TRY(cel_arch_read_window(cfg, 4096, &a->window, err));
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 1e4}, arena, a, rope_of, err));
  CEL_TRY(read_schedule(cfg, rope_of, arena, a, err));
  if (a->window) cel_arch_full_layers_without_rope(a);
  return CEL_OK;
}

const cel_family cel_family_exaone = {
    .name = "exaone",
    .model_types = {"exaone"},
    .gguf_archs = {"exaone"},
    .files = files3,
    .special = "Llama in GPT-2's names",
    .describe = describe3,
};

const cel_family cel_family_exaone4 = {
    .name = "exaone4",
    .model_types = {"exaone4"},
    .gguf_archs = {"exaone4"},
    .special = "norms behind the sublayers, q/k head norms; full layers without rotation where others slide",
    .describe = describe4,
};
