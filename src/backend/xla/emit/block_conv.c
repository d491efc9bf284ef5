// The short convolution (LFM2): causal, depthwise, over the last `taps` inputs of each channel, of which the state
// keeps taps - 1, oldest first. y_t[c] = sum over j of w[j][c] * u_{t - taps + 1 + j}[c].
#include "backend/xla/emit/emit_internal.h"

// Along a new leading dimension of `n`.
static hlo repeat_rows(cel_hlo_builder *b, hlo row, int64_t n) {
  if (!row) return NULL;
  int64_t dims[2] = {n, row->type->dims[0]}, map[1] = {1};
  return cel_hlo_broadcast(b, row, 2, dims, map);
}

static hlo tap(cel_hlo_builder *b, hlo w, int64_t j) {
  return w ? cel_hlo_reshape(b, cel_hlo_slice_dim(b, w, 0, j, j + 1, 1), 1, w->type->dims + 1) : NULL;
}

// sum (NULL: none yet) + w[j] * x, x [N, C] being what tap j sees.
static hlo add_tap(cel_hlo_builder *b, hlo sum, hlo w, int64_t j, hlo x) {
  hlo y = x ? cel_hlo_binary(b, CEL_HLO_MULTIPLY, x, repeat_rows(b, tap(b, w, j), x->type->dims[0])) : NULL;
  return j ? cel_hlo_binary(b, CEL_HLO_ADD, sum, y) : y;
}

// One sequence: the old inputs ahead of the new ones, [taps - 1 + N, C].
static hlo in_order(cel_hlo_builder *b, hlo u, hlo w, hlo *state) {
  if (!u || !*state) return NULL;
  int64_t n = u->type->dims[0], c = u->type->dims[1], kept = (*state)->type->dims[2];
  int64_t old[2] = {kept, c}, row[4] = {1, 1, kept, c};
  hlo parts[2] = {cel_hlo_reshape(b, *state, 2, old), u}, y = NULL;
  hlo all = cel_hlo_concat(b, parts, 2, 0);
  for (int64_t j = 0; j <= kept; j++) y = add_tap(b, y, w, j, cel_hlo_slice_dim(b, all, 0, j, j + n, 1));
  *state = cel_hlo_reshape(b, cel_hlo_slice_dim(b, all, 0, n, n + kept, 1), 4, row);
  return y;
}

// Every token in a sequence of its own: state [N, 1, taps - 1, C].
static hlo side_by_side(cel_hlo_builder *b, hlo u, hlo w, hlo *state) {
  if (!u || !*state) return NULL;
  int64_t n = u->type->dims[0], c = u->type->dims[1], kept = (*state)->type->dims[2];
  int64_t one[4] = {n, 1, 1, c}, flat[2] = {n, c};
  hlo parts[2] = {*state, cel_hlo_reshape(b, u, 4, one)}, y = NULL;
  hlo all = cel_hlo_concat(b, parts, 2, 2);
  for (int64_t j = 0; j <= kept; j++) y = add_tap(b, y, w, j, cel_hlo_reshape(b, cel_hlo_slice_dim(b, all, 2, j, j + 1, 1), 2, flat));
  *state = cel_hlo_slice_dim(b, all, 2, 1, kept + 1, 1);
  return y;
}

static const cel_hlo_func *decomposition(cel_emit *e, hlo u, hlo w, hlo state) {
  if (!u || !w || !state || !e->slots) return NULL;
  cel_emit_scope scope;
  const cel_hlo_func *made = cel_emit_begin(e, &scope, "short_conv", "short_conv");
  if (made) return made;
  cel_hlo_builder *b = &e->b;
  hlo in = cel_hlo_arg(b, "u", u->type), taps = cel_hlo_arg(b, "weight", w->type);
  hlo old = cel_hlo_arg(b, "state", state->type), slots = cel_hlo_arg(b, "slots", e->slots->type);
  hlo entry = cel_hlo_arg(b, "layer", cel_hlo_tensor(b->module, CEL_ET_I32, 0, NULL));
  hlo rows = cel_emit_state_rows(b, old, entry, slots), results[2];
  results[0] = e->slots->type->rank == 1 ? side_by_side(b, in, taps, &rows) : in_order(b, in, taps, &rows);
  results[1] = cel_emit_state_write(b, old, entry, slots, rows);
  return cel_emit_end_many(e, &scope, results, 2);
}

hlo cel_emit_short_conv(cel_emit *e, int layer, hlo u, hlo weight) {
  if (!u || !weight) return NULL;
  cel_hlo_builder *b = &e->b;
  static const int64_t taps_first[2] = {1, 0};
  int64_t dims[2] = {u->type->dims[1], cel_hlo_elements(weight->type) / u->type->dims[1]};
  hlo w = cel_hlo_transpose(b, cel_hlo_reshape(b, weight, 2, dims), taps_first);
  hlo entry = cel_hlo_scalar(b, CEL_ET_I32, e->arch->layers[layer].state), old = e->state[CEL_STATE_CONV];
  hlo operands[5] = {u, w, old, e->slots, entry};
  hlo y = cel_hlo_composite(b, "mlxcel.short_conv", operands, 5, NULL, 0, decomposition(e, u, w, old));
  if (y) e->state[CEL_STATE_CONV] = &y->def->results[1];
  return y;
}

hlo cel_emit_conv(cel_emit *e, int layer, hlo h) {
  cel_hlo_builder *b = &e->b;
  cel_hlo_path(b, "layers.%d.conv", layer);
  hlo x = cel_emit_linear(e, CEL_W_CONV_IN, layer, h), thirds[3];  // B, C, x
  for (int i = 0; i < 3; i++) thirds[i] = cel_hlo_slice_dim(b, x, 1, i * e->arch->hidden, (i + 1) * e->arch->hidden, 1);
  const cel_emit_weight *w = cel_emit_weight_of(e, CEL_W_CONV, layer);
  hlo y = cel_emit_short_conv(e, layer, cel_hlo_binary(b, CEL_HLO_MULTIPLY, thirds[0], thirds[2]), w->vector);
  if (w->bias) y = cel_hlo_binary(b, CEL_HLO_ADD, y, cel_emit_along_last(b, w->bias, y));
  cel_emit_tap(e, layer, "conv", y);
  return cel_emit_linear(e, CEL_W_CONV_OUT, layer, cel_hlo_binary(b, CEL_HLO_MULTIPLY, thirds[1], y));
}
