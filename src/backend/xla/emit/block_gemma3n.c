// Gemma 3n's layers (text-architectures §2.13). The hidden state is several planes [N, hidden]. Around each layer AltUp
// (Baykal et al. 2023) predicts all planes from all, lets one go through attention and MLP, and corrects the others by
// what that one gained; LAuReL (Menghani et al. 2024) is a low-rank path beside attention; an embedding of the layer's own
// is added to the planes that did not go through it.
#include <math.h>

#include "backend/xla/emit/emit_internal.h"

enum { PLANES_MOST = 16 };

typedef struct planes {
  hlo at[PLANES_MOST];
} planes;

static hlo times(cel_hlo_builder *b, hlo x, hlo y) { return cel_hlo_binary(b, CEL_HLO_MULTIPLY, x, y); }
static hlo plus(cel_hlo_builder *b, hlo x, hlo y) { return cel_hlo_binary(b, CEL_HLO_ADD, x, y); }
static hlo scaled(cel_hlo_builder *b, hlo x, double by) { return cel_hlo_binary_scalar(b, CEL_HLO_MULTIPLY, x, by); }

static hlo rms(cel_emit *e, cel_weight_role role, int layer, hlo x) {
  return cel_emit_rms_norm(e, x, cel_emit_weight_of(e, role, layer)->vector, 0, e->arch->norm_eps);
}

static hlo normed(cel_emit *e, cel_weight_role role, int layer, hlo x) {
  return cel_emit_tap(e, layer, cel_emit_norm_name(role), rms(e, role, layer, x));
}

static hlo column_of(cel_hlo_builder *b, hlo x, int64_t j) {  // x [N, n] -> [N]
  if (!x) return NULL;
  return cel_hlo_reshape(b, cel_hlo_slice_dim(b, x, 1, j, j + 1, 1), 1, x->type->dims);
}

// ---- the planes before the first layer and behind the last -----------------------------------------------

static hlo magnitude(cel_hlo_builder *b, hlo x) { return cel_emit_row_mean(b, times(b, x, x)); }

// x with the root mean square of each row that `like` has there.
static hlo as_large_as(cel_hlo_builder *b, hlo x, hlo like) {
  hlo target = cel_hlo_unary(b, CEL_HLO_SQRT, magnitude(b, like));
  hlo own = cel_hlo_unary(b, CEL_HLO_SQRT, cel_hlo_binary_scalar(b, CEL_HLO_MAXIMUM, magnitude(b, x), 1e-5));
  return cel_hlo_binary(b, CEL_HLO_DIVIDE, times(b, x, cel_emit_along_rows(b, target, x)), cel_emit_along_rows(b, own, x));
}

static planes unfold(cel_emit *e, hlo x) {
  planes p = {{x}};
  cel_hlo_path(&e->b, "altup");
  for (int j = 1; j < e->arch->gemma3n.planes; j++) {
    p.at[j] = cel_emit_tap_part(e, -1, "planes", j, as_large_as(&e->b, cel_emit_linear(e, CEL_W_ALTUP_PROJECTION, j - 1, x), x));
  }
  return p;
}

static hlo fold(cel_emit *e, const planes *p) {
  cel_hlo_builder *b = &e->b;
  int n = e->arch->gemma3n.planes;
  hlo sum = p->at[0];
  cel_hlo_path(b, "altup");
  for (int j = 1; j < n; j++) {
    sum = plus(b, sum, as_large_as(b, cel_emit_linear(e, CEL_W_ALTUP_UNEMBED, j - 1, p->at[j]), p->at[0]));
  }
  return cel_emit_tap(e, -1, "folded", cel_hlo_binary_scalar(b, CEL_HLO_DIVIDE, sum, n));
}

// ---- the embedding of every layer ------------------------------------------------------------------------

// [N, layers, width]: a token's own rows, and a projection of its embedding. A token that the table lacks has row 0.
static hlo layer_inputs(cel_emit *e, hlo x) {
  cel_hlo_builder *b = &e->b;
  const cel_gemma3n *g = &e->arch->gemma3n;
  int64_t dims[3] = {e->n, e->arch->n_layers, g->ple}, n = e->n;
  cel_hlo_path(b, "layer_inputs");
  hlo limit = cel_hlo_splat(b, CEL_ET_I32, 1, &n, (double)g->ple_vocab), zero = cel_hlo_splat(b, CEL_ET_I32, 1, &n, 0);
  hlo ids = cel_hlo_select(b, cel_hlo_compare(b, "LT", e->tokens, limit), e->tokens, zero);
  hlo own = scaled(b, cel_hlo_reshape(b, cel_emit_lookup(e, CEL_W_PLE_EMBED, ids), 3, dims), sqrt((double)g->ple));
  hlo projected = scaled(b, cel_emit_linear(e, CEL_W_PLE_PROJECTION, -1, x), 1 / sqrt((double)e->arch->hidden));
  projected = rms(e, CEL_W_PLE_NORM, -1, cel_hlo_reshape(b, projected, 3, dims));
  return cel_emit_tap(e, -1, "layer_inputs", scaled(b, plus(b, projected, own), sqrt(0.5)));
}

static hlo input_of(cel_emit *e, hlo inputs, int layer) {
  int64_t dims[2] = {e->n, e->arch->gemma3n.ple};
  return cel_hlo_reshape(&e->b, cel_hlo_slice_dim(&e->b, inputs, 1, layer, layer + 1, 1), 2, dims);
}

// ---- AltUp -----------------------------------------------------------------------------------------------

static hlo modalities(cel_emit *e, int layer, hlo x) {  // [N, planes]
  hlo y = scaled(&e->b, rms(e, CEL_W_ALTUP_ROUTER_NORM, layer, x), 1 / (double)e->arch->hidden);
  return cel_hlo_unary(&e->b, CEL_HLO_TANH, cel_emit_linear(e, CEL_W_ALTUP_ROUTER, layer, y));
}

static planes predict(cel_emit *e, int layer, const planes *h) {
  cel_hlo_builder *b = &e->b;
  int n = e->arch->gemma3n.planes;
  planes p = {{0}};
  cel_hlo_path(b, "layers.%d.predict", layer);
  hlo by = cel_emit_linear(e, CEL_W_ALTUP_PREDICT, layer, modalities(e, layer, h->at[e->arch->gemma3n.active]));
  for (int j = 0; j < n; j++) {
    hlo sum = NULL;
    for (int k = 0; k < n; k++) {
      hlo part = times(b, h->at[k], cel_emit_along_rows(b, column_of(b, by, (int64_t)j * n + k), h->at[k]));
      sum = k ? plus(b, sum, part) : part;
    }
    p.at[j] = cel_emit_tap_part(e, layer, "predicted", j, plus(b, sum, h->at[j]));
  }
  return p;
}

static planes correct(cel_emit *e, int layer, const planes *p, hlo gone_through) {
  cel_hlo_builder *b = &e->b;
  planes c = {{0}};
  cel_hlo_path(b, "layers.%d.correct", layer);
  hlo by = cel_hlo_binary_scalar(b, CEL_HLO_ADD, cel_emit_linear(e, CEL_W_ALTUP_CORRECT, layer, modalities(e, layer, gone_through)), 1);
  hlo gained = cel_hlo_binary(b, CEL_HLO_SUBTRACT, gone_through, p->at[e->arch->gemma3n.active]);
  for (int j = 0; j < e->arch->gemma3n.planes; j++) {
    c.at[j] = plus(b, p->at[j], times(b, gained, cel_emit_along_rows(b, column_of(b, by, j), gained)));
    cel_emit_tap_part(e, layer, "corrected", j, c.at[j]);
  }
  return c;
}

// ---- one layer -------------------------------------------------------------------------------------------

// Of each row, what lies above mean + z * deviation, by how much it does.
static hlo above(cel_hlo_builder *b, hlo x, double z) {
  hlo mean = cel_emit_row_mean(b, x), off = cel_hlo_binary(b, CEL_HLO_SUBTRACT, x, cel_emit_along_rows(b, mean, x));
  hlo deviation = cel_hlo_unary(b, CEL_HLO_SQRT, magnitude(b, off));
  hlo border = plus(b, mean, scaled(b, deviation, z));
  return cel_hlo_binary_scalar(b, CEL_HLO_MAXIMUM, cel_hlo_binary(b, CEL_HLO_SUBTRACT, x, cel_emit_along_rows(b, border, x)), 0);
}

static hlo mlp(cel_emit *e, int layer, hlo x) {
  const cel_layer *l = &e->arch->layers[layer];
  cel_hlo_path(&e->b, "layers.%d.mlp", layer);
  hlo gate = cel_emit_linear(e, CEL_W_GATE, layer, x), up = cel_emit_linear(e, CEL_W_UP, layer, x);
  if (l->cut) gate = above(&e->b, gate, l->sparsity);
  cel_emit_tap(e, layer, "ffn_gate", gate);
  cel_emit_tap(e, layer, "ffn_up", up);
  return cel_emit_linear(e, CEL_W_DOWN, layer, cel_emit_tap(e, layer, "ffn_act", cel_emit_gated_act(e, gate, up)));
}

static hlo through(cel_emit *e, int layer, hlo x) {
  cel_hlo_builder *b = &e->b;
  cel_hlo_path(b, "layers.%d.attn_norm", layer);
  hlo h = normed(e, CEL_W_ATTN_NORM, layer, x);
  hlo attn = cel_emit_tap(e, layer, "attn_out", cel_emit_attention(e, layer, h));
  hlo a = plus(b, x, normed(e, CEL_W_ATTN_POST_NORM, layer, attn));
  cel_hlo_path(b, "layers.%d.laurel", layer);
  hlo low = cel_emit_linear(e, CEL_W_LAUREL_RIGHT, layer, cel_emit_linear(e, CEL_W_LAUREL_LEFT, layer, h));
  hlo laurel = cel_emit_tap(e, layer, "laurel", plus(b, h, rms(e, CEL_W_LAUREL_NORM, layer, low)));
  hlo y = cel_emit_tap(e, layer, "attn_residual", scaled(b, plus(b, a, laurel), sqrt(0.5)));
  hlo m = cel_emit_tap(e, layer, "ffn", mlp(e, layer, normed(e, CEL_W_MLP_NORM, layer, y)));
  return cel_emit_tap(e, layer, "activated", plus(b, y, normed(e, CEL_W_MLP_POST_NORM, layer, m)));
}

static hlo layer_gain(cel_emit *e, int layer, hlo x, hlo input) {
  cel_hlo_builder *b = &e->b;
  cel_hlo_path(b, "layers.%d.input", layer);
  hlo scale = cel_emit_weight_of(e, CEL_W_ALTUP_SCALE, layer)->vector;
  if (scale) x = times(b, x, cel_emit_along_last(b, scale, x));
  x = cel_emit_gated_act(e, cel_emit_linear(e, CEL_W_PLE_GATE, layer, x), input);
  return cel_emit_tap(e, layer, "input", rms(e, CEL_W_PLE_POST_NORM, layer, cel_emit_linear(e, CEL_W_PLE_UP, layer, x)));
}

hlo cel_emit_gemma3n(cel_emit *e, hlo x) {
  const cel_gemma3n *g = &e->arch->gemma3n;
  if (g->planes > PLANES_MOST) {
    cel_hlo_refuse(&e->b, CEL_UNSUPPORTED, "%d planes; at most %d", g->planes, PLANES_MOST);
    return NULL;
  }
  hlo inputs = layer_inputs(e, x);
  planes h = unfold(e, x);
  for (int layer = 0; layer < e->arch->n_layers; layer++) {
    planes p = predict(e, layer, &h);
    h = correct(e, layer, &p, through(e, layer, p.at[g->active]));
    hlo gain = layer_gain(e, layer, h.at[g->active], input_of(e, inputs, layer));
    for (int j = 1; j < g->planes; j++) h.at[j] = plus(&e->b, h.at[j], gain);
    for (int j = 0; j < g->planes; j++) cel_emit_tap_part(e, layer, "output", j, h.at[j]);
  }
  return fold(e, &h);
}
