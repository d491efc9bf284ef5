// SmolLM3: Llama in which every fourth layer has no rotation.
#include "arch/describe.h"

extern const cel_family cel_family_smollm3;

static const cel_class_defaults defaults = {
    .vocab = 128256, .hidden = 2048, .inter = 11008, .layers = 36, .n_q = 16, .n_kv = 4, .max_position = 32768,
    .eps = 1e-6, .act_key = "hidden_act", .act = "silu", .tied = true, .bos = 128000, .eos = 128001,
};

// no_rope_layers lists the layers that do rotate: 1 is rope, 0 is none. Without it every interval-th layer has none.
static cel_status read_rotates(const cel_json *cfg, int layer, int64_t interval, bool *out, cel_err *err) {
  const cel_json *list = cel_json_get(cfg, "no_rope_layers");
  int64_t flag = (layer + 1) % interval != 0;
  if (list) CEL_TRY(cel_keys_int_of((cel_keys){cfg, ""}, "no_rope_layers", cel_json_array_get(list, (size_t)layer), 0, 1, &flag, err));
  *out = flag != 0;
  return CEL_OK;
}

static cel_status read_schedule(const cel_json *cfg, cel_arch *a, cel_err *err) {
  cel_keys k = {cfg, ""};
  int64_t interval = 4;
  CEL_TRY(cel_keys_int(k, "no_rope_layer_interval", 1, CEL_ARCH_MAX_LAYERS, &interval, err));
  const cel_json *list = cel_json_get(cfg, "no_rope_layers");
  if (list && (!cel_json_is_array(list) || cel_json_array_size(list) != (size_t)a->n_layers))
    return cel_keys_refuse(k, "no_rope_layers", list, CEL_MALFORMED, "a list of as many 0 and 1 as num_hidden_layers", err);
  for (int i = 0; i < a->n_layers; i++) {
    bool rotates;
    CEL_TRY(read_rotates(cfg, i, interval, &rotates, err));
    if (rotates) continue;
    a->layers[i].rope = -1;
    if (a->window && !cel_json_get(cfg, "layer_types")) a->layers[i].attention = CEL_ATTENTION_SLIDING;
  }
  return CEL_OK;
}

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  cel_keys k = {cfg, ""};
  CEL_TRY(cel_arch_read_attention_bias(k, "attention_bias", false, a, err));
  CEL_TRY(cel_keys_bool(k, "mlp_bias", &a->mlp_bias, err));
  bool slides = false;
  CEL_TRY(cel_keys_bool(k, "use_sliding_window", &slides, err));
  CEL_TRY(cel_arch_read_window(cfg, 0, &a->window, err));
  if (!slides) a->window = 0;
  int rope_of[2];
  CEL_TRY(cel_arch_read_ropes(cfg, &(cel_rope_defaults){.theta = 2e6}, arena, a, rope_of, err));
  CEL_TRY(cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err));
  return read_schedule(cfg, a, err);
}

const cel_family cel_family_smollm3 = {
    .name = "smollm3",
    .model_types = {"smollm3"},
    .gguf_archs = {"smollm3"},
    .special = "Llama in which every fourth layer has no rotation",
    .describe = describe,
};
