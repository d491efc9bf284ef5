// Phi-3, 3.5 and 4: Llama with q, k and v in one matrix, gate and up in another, a part of each head rotated in some, and
// for long contexts two lists of factors (longrope): the cache starts anew where the second takes over. Phi-4 multimodal's
// text model is the same under other names; its adapters (LoRA) are for requests with sound or pictures: text goes through
// the base weights alone unless one is asked for (model/adapter.c).
#include "arch/describe.h"

extern const cel_family cel_family_phi3, cel_family_phi4mm;

static const cel_class_defaults defaults = {
    .vocab = 32064, .hidden = 3072, .inter = 8192, .layers = 32, .n_q = 32, .max_position = 4096,
    .eps = 1e-5, .act_key = "hidden_act", .act = "silu", .tied = false, .bos = 1, .eos = 32000,
};

#define LAYER "model.layers.{i}."
static const cel_file_rule files[] = {
    {CEL_FILE_QKV, LAYER "self_attn.qkv_proj", {LAYER "self_attn.q_proj", LAYER "self_attn.k_proj", LAYER "self_attn.v_proj"}},
    {CEL_FILE_HALVES, LAYER "mlp.gate_up_proj", {LAYER "mlp.gate_proj", LAYER "mlp.up_proj"}},
    {.module = NULL},
};

// Microsoft's files have the adapters inside, and .base_layer behind the names of weights; those of transformers have neither.
static const cel_file_rule adapted_files[] = {
    {CEL_FILE_QKV, LAYER "self_attn.qkv_proj.base_layer",
     {LAYER "self_attn.q_proj", LAYER "self_attn.k_proj", LAYER "self_attn.v_proj"}},
    {CEL_FILE_HALVES, LAYER "mlp.gate_up_proj.base_layer", {LAYER "mlp.gate_proj", LAYER "mlp.up_proj"}},
    {CEL_FILE_RENAMED, LAYER "self_attn.o_proj.base_layer", {LAYER "self_attn.o_proj"}},
    {CEL_FILE_RENAMED, LAYER "mlp.down_proj.base_layer", {LAYER "mlp.down_proj"}},
    {CEL_FILE_QKV, LAYER "self_attn.qkv_proj", {LAYER "self_attn.q_proj", LAYER "self_attn.k_proj", LAYER "self_attn.v_proj"}},
    {CEL_FILE_HALVES, LAYER "mlp.gate_up_proj", {LAYER "mlp.gate_proj", LAYER "mlp.up_proj"}},
    {CEL_FILE_RENAMED, LAYER "self_attn.o_proj", {LAYER "self_attn.o_proj"}},
    {CEL_FILE_RENAMED, LAYER "mlp.down_proj", {LAYER "mlp.down_proj"}},
    {.module = NULL},
};

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  CEL_TRY(cel_arch_read_window(cfg, 0, &a->window, err));
  int rope_of[2];
  cel_rope_defaults ropes = {.theta = 1e4, .partial = 1, .yarn_is_longrope = true};
  CEL_TRY(cel_arch_read_ropes(cfg, &ropes, arena, a, rope_of, err));
  cel_layer_rule rule = a->window ? cel_layer_all_sliding : cel_layer_all_full;
  return cel_arch_read_layers(cfg, rule, 0, rope_of, arena, a, err);
}

const cel_family cel_family_phi3 = {
    .name = "phi3",
    .model_types = {"phi3"},
    .gguf_archs = {"phi3"},
    .files = files,
    .special = "Llama with fused products, partial rotation, longrope in two tables",
    .describe = describe,
};

const cel_family cel_family_phi4mm = {
    .name = "phi4mm",
    .model_types = {"phi4mm", "phi4_multimodal"},
    .gguf_archs = {NULL},
    .files = adapted_files,
    .special = "Phi-4 with adapters for sound and pictures (--adapter speech, vision), which text goes without",
    .describe = describe,
};
