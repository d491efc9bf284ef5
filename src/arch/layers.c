// Which layers see the whole past, which a window, and which have a recurrent state (text-architectures §1.4).
#include <stdio.h>

#include "arch/describe.h"

cel_attention_kind cel_layer_all_full(int layer, int64_t unused) {
  (void)layer, (void)unused;
  return CEL_ATTENTION_FULL;
}

cel_attention_kind cel_layer_all_sliding(int layer, int64_t unused) {
  (void)layer, (void)unused;
  return CEL_ATTENTION_SLIDING;
}

cel_attention_kind cel_layer_sliding_from(int layer, int64_t first) {
  return layer >= first ? CEL_ATTENTION_SLIDING : CEL_ATTENTION_FULL;
}

cel_attention_kind cel_layer_full_every(int layer, int64_t period) {
  return (layer + 1) % period == 0 ? CEL_ATTENTION_FULL : CEL_ATTENTION_SLIDING;
}

cel_attention_kind cel_layer_even_sliding(int layer, int64_t unused) {
  (void)unused;
  return layer % 2 == 0 ? CEL_ATTENTION_SLIDING : CEL_ATTENTION_FULL;
}

static cel_status refuse_word(const cel_arch *a, const cel_json *item, int layer, cel_err *err) {
  char path[48], right[96];
  snprintf(path, sizeof path, "layer_types, entry %d,", layer);
  snprintf(right, sizeof right, "one of full_attention, sliding_attention%s%s", a->conv.kernel > 0 ? ", conv" : "",
           a->delta.kernel > 0 ? ", linear_attention" : "");
  return cel_keys_refuse((cel_keys){NULL, path}, "", item, CEL_UNSUPPORTED, right, err);
}

// A family that has neither block knows neither word.
static cel_status read_word(const cel_arch *a, const cel_json *item, int layer, cel_layer *out, cel_err *err) {
  const char *word = cel_json_is_string(item) ? cel_json_string_value(item) : "";
  if (strcmp(word, "full_attention") == 0 || strcmp(word, "attention") == 0) {
    out->attention = CEL_ATTENTION_FULL;
  } else if (strcmp(word, "sliding_attention") == 0) {
    out->attention = CEL_ATTENTION_SLIDING;
  } else if (strcmp(word, "conv") == 0 && a->conv.kernel > 0) {
    out->mixer = CEL_MIXER_CONV;
  } else if (strcmp(word, "linear_attention") == 0 && a->delta.kernel > 0) {
    out->mixer = CEL_MIXER_DELTA;
  } else {
    return refuse_word(a, item, layer, err);
  }
  return CEL_OK;
}

static cel_status check_layer(const cel_arch *a, int layer, cel_attention_kind kind, int rope, cel_err *err) {
  if (kind == CEL_ATTENTION_SLIDING && a->window == 0)
    return cel_fail(err, CEL_MALFORMED, "config makes layer %d slide, but sliding_window gives no window", layer);
  if (rope == CEL_ROPE_ABSENT)
    return cel_fail(err, CEL_MALFORMED, "config key rope_parameters has no entry %s, which layer %d needs",
                    kind == CEL_ATTENTION_SLIDING ? "sliding_attention" : "full_attention", layer);
  return CEL_OK;
}

cel_status cel_arch_read_layers(const cel_json *cfg, cel_layer_rule rule, int64_t argument, const int rope_of[2],
                                cel_arena *arena, cel_arch *a, cel_err *err) {
  const cel_json *types = cel_json_get(cfg, "layer_types");
  if (types && !cel_json_is_array(types))
    return cel_fail(err, CEL_MALFORMED, "config key layer_types is no list; it must be a list of %d strings", a->n_layers);
  if (types && cel_json_array_size(types) != (size_t)a->n_layers)
    return cel_fail(err, CEL_MALFORMED, "config key layer_types is a list of %zu; num_hidden_layers says %d",
                    cel_json_array_size(types), a->n_layers);
  cel_layer *layers = CEL_NEW_ARRAY(arena, cel_layer, a->n_layers);
  if (!layers) return cel_fail_oom(err, "the layer schedule");
  for (int i = 0; i < a->n_layers; i++) {
    cel_layer l = {.attention = rule(i, argument), .rope = -1, .inter = a->inter};
    if (types) CEL_TRY(read_word(a, cel_json_array_get(types, (size_t)i), i, &l, err));
    if (l.mixer == CEL_MIXER_ATTENTION) {
      l.rope = rope_of[l.attention];
      CEL_TRY(check_layer(a, i, l.attention, l.rope, err));
    }
    layers[i] = l;
  }
  a->layers = layers;
  return CEL_OK;
}

cel_status cel_arch_read_window(const cel_json *cfg, int64_t otherwise, int64_t *window, cel_err *err) {
  cel_keys k = {cfg, ""};
  *window = cel_keys_is_null(k, "sliding_window") ? 0 : otherwise;
  return cel_keys_int(k, "sliding_window", 1, CEL_ARCH_MAX_POSITION, window, err);
}

cel_status cel_arch_read_period(const cel_json *cfg, int64_t otherwise, int64_t *period, cel_err *err) {
  cel_keys k = {cfg, ""};
  *period = otherwise;
  CEL_TRY(cel_keys_int(k, "_sliding_window_pattern", 1, CEL_ARCH_MAX_LAYERS, period, err));
  return cel_keys_int(k, "sliding_window_pattern", 1, CEL_ARCH_MAX_LAYERS, period, err);
}

void cel_arch_full_layers_without_rope(cel_arch *a) {
  for (int i = 0; i < a->n_layers; i++)
    if (a->layers[i].attention == CEL_ATTENTION_FULL) a->layers[i].rope = -1;
}

cel_status cel_arch_read_upper_window(const cel_json *cfg, cel_arch *a, int64_t *first, cel_err *err) {
  cel_keys k = {cfg, ""};
  bool use = false;
  CEL_TRY(cel_keys_bool(k, "use_sliding_window", &use, err));
  CEL_TRY(cel_arch_read_window(cfg, 4096, &a->window, err));
  int64_t from = 28;
  CEL_TRY(cel_keys_int(k, "max_window_layers", 0, CEL_ARCH_MAX_POSITION, &from, err));
  if (!use) a->window = 0;
  *first = a->window ? from : a->n_layers;
  return CEL_OK;
}
