// Gemma 3n's layers (the emitter's block_gemma3n.c says what they are): planes predicted and corrected around each layer,
// a low-rank path beside attention, an embedding of every layer's own.
#include <math.h>

#include "backend/mlx/mlx_walk.h"

enum { PLANES_MOST = 16 };

typedef struct planes {
  arr at[PLANES_MOST];
} planes;

static arr rms(cel_mlx_walk *w, cel_weight_role role, int layer, arr x) {
  return cel_mlx_rms(w, role, layer, x, w->arch->norm_eps);
}

static arr column(cel_mlx_walk *w, arr x, int64_t j) { return cel_mlx_slice(w->c, x, 1, j, j + 1, 1); }  // [N, n] -> [N, 1]

static arr row_mean(cel_mlx_walk *w, arr x) { return cel_mlx_reduce(w->c, CEL_MLX_MEAN, x, 1, true); }

static arr magnitude(cel_mlx_walk *w, arr x) { return row_mean(w, cel_mlx_mul(w, x, x)); }

static arr root(cel_mlx_walk *w, arr x) { return cel_mlx_unary_op(w->c, CEL_MLX_SQRT, x); }

// x with the root mean square of each row that `like` has there; in f32.
static arr as_large_as(cel_mlx_walk *w, arr x, arr like) {
  x = cel_mlx_f32(w, x);
  arr target = root(w, magnitude(w, cel_mlx_f32(w, like)));
  arr own = root(w, cel_mlx_scalar_op(w->c, CEL_MLX_MAX, magnitude(w, x), 1e-5));
  return cel_mlx_cast(w->c, cel_mlx_div(w, cel_mlx_mul(w, x, target), own), w->type);
}

static planes unfold(cel_mlx_walk *w, arr x) {
  planes p = {{x}};
  for (int j = 1; j < w->arch->gemma3n.planes; j++) {
    p.at[j] = as_large_as(w, cel_mlx_product(w, CEL_W_ALTUP_PROJECTION, j - 1, x), x);
  }
  return p;
}

static arr fold(cel_mlx_walk *w, const planes *p) {
  int n = w->arch->gemma3n.planes;
  arr sum = p->at[0];
  for (int j = 1; j < n; j++) {
    sum = cel_mlx_add(w, sum, as_large_as(w, cel_mlx_product(w, CEL_W_ALTUP_UNEMBED, j - 1, p->at[j]), p->at[0]));
  }
  return cel_mlx_scalar_op(w->c, CEL_MLX_DIV, sum, n);
}

// [N, layers, width]: a token's own rows, and a projection of its embedding. A token that the table lacks has row 0.
static arr layer_inputs(cel_mlx_walk *w, arr x) {
  const cel_gemma3n *g = &w->arch->gemma3n;
  int64_t layers = w->arch->n_layers;
  static const int32_t first = 0;
  arr has = cel_mlx_scalar_op(w->c, CEL_MLX_LT, w->tokens, (double)g->ple_vocab);
  arr ids = cel_mlx_where(w->c, has, w->tokens, cel_mlx_copy(w->c, CEL_MLX_I32, 0, NULL, &first));
  arr own = cel_mlx_by(w, cel_mlx_shape3(w, cel_mlx_lookup(w, CEL_W_PLE_EMBED, ids), w->n, layers, g->ple), sqrt((double)g->ple));
  arr projected = cel_mlx_by(w, cel_mlx_product(w, CEL_W_PLE_PROJECTION, -1, x), 1 / sqrt((double)w->arch->hidden));
  projected = rms(w, CEL_W_PLE_NORM, -1, cel_mlx_shape3(w, projected, w->n, layers, g->ple));
  return cel_mlx_by(w, cel_mlx_add(w, projected, own), sqrt(0.5));
}

static arr modalities(cel_mlx_walk *w, int layer, arr x) {  // f32 [N, planes]
  arr y = cel_mlx_by(w, rms(w, CEL_W_ALTUP_ROUTER_NORM, layer, x), 1 / (double)w->arch->hidden);
  y = cel_mlx_product(w, CEL_W_ALTUP_ROUTER, layer, y);
  return cel_mlx_unary_op(w->c, CEL_MLX_TANH, cel_mlx_f32(w, y));
}

static arr mixture(cel_mlx_walk *w, cel_weight_role role, int layer, arr x) {
  arr m = cel_mlx_cast(w->c, modalities(w, layer, x), w->type);
  return cel_mlx_product(w, role, layer, m);
}

static planes predict(cel_mlx_walk *w, int layer, const planes *h) {
  int n = w->arch->gemma3n.planes;
  planes p = {{0}};
  arr by = mixture(w, CEL_W_ALTUP_PREDICT, layer, h->at[w->arch->gemma3n.active]);
  for (int j = 0; j < n; j++) {
    arr sum = NULL;
    for (int k = 0; k < n; k++) {
      arr part = cel_mlx_mul(w, h->at[k], column(w, by, (int64_t)j * n + k));
      sum = k ? cel_mlx_add(w, sum, part) : part;
    }
    p.at[j] = cel_mlx_add(w, sum, h->at[j]);
  }
  return p;
}

static planes correct(cel_mlx_walk *w, int layer, const planes *p, arr gone_through) {
  planes c = {{0}};
  arr by = cel_mlx_plus(w, mixture(w, CEL_W_ALTUP_CORRECT, layer, gone_through), 1);
  arr gained = cel_mlx_sub(w, gone_through, p->at[w->arch->gemma3n.active]);
  for (int j = 0; j < w->arch->gemma3n.planes; j++) c.at[j] = cel_mlx_add(w, p->at[j], cel_mlx_mul(w, gained, column(w, by, j)));
  return c;
}

// Of each row, what lies above mean + z * deviation, by how much it does.
static arr above(cel_mlx_walk *w, arr x, double z) {
  arr mean = row_mean(w, x), deviation = root(w, magnitude(w, cel_mlx_sub(w, x, mean)));
  arr border = cel_mlx_add(w, mean, cel_mlx_by(w, deviation, z));
  return cel_mlx_scalar_op(w->c, CEL_MLX_MAX, cel_mlx_sub(w, x, border), 0);
}

static arr mlp(cel_mlx_walk *w, int layer, arr x) {
  const cel_layer *l = &w->arch->layers[layer];
  arr gate = cel_mlx_product(w, CEL_W_GATE, layer, x), up = cel_mlx_product(w, CEL_W_UP, layer, x);
  if (l->cut) gate = cel_mlx_cast(w->c, above(w, cel_mlx_f32(w, gate), l->sparsity), w->type);
  return cel_mlx_product(w, CEL_W_DOWN, layer, cel_mlx_gated_act(w, gate, up));
}

static arr through(cel_mlx_walk *w, int layer, arr x) {
  arr h = rms(w, CEL_W_ATTN_NORM, layer, x);
  arr a = cel_mlx_add(w, x, rms(w, CEL_W_ATTN_POST_NORM, layer, cel_mlx_attend_layer(w, layer, h)));
  arr low = cel_mlx_product(w, CEL_W_LAUREL_RIGHT, layer, cel_mlx_product(w, CEL_W_LAUREL_LEFT, layer, h));
  arr y = cel_mlx_by(w, cel_mlx_add(w, a, cel_mlx_add(w, h, rms(w, CEL_W_LAUREL_NORM, layer, low))), sqrt(0.5));
  arr m = mlp(w, layer, rms(w, CEL_W_MLP_NORM, layer, y));
  return cel_mlx_add(w, y, rms(w, CEL_W_MLP_POST_NORM, layer, m));
}

static arr layer_gain(cel_mlx_walk *w, int layer, arr x, arr input) {
  arr scale = cel_mlx_weight_of(w->m, CEL_W_ALTUP_SCALE, layer)->vector;
  if (scale) x = cel_mlx_cast(w->c, cel_mlx_mul(w, x, scale), w->type);
  x = cel_mlx_gated_act(w, cel_mlx_product(w, CEL_W_PLE_GATE, layer, x), input);
  return rms(w, CEL_W_PLE_POST_NORM, layer, cel_mlx_product(w, CEL_W_PLE_UP, layer, x));
}

arr cel_mlx_gemma3n(cel_mlx_walk *w, arr x) {
  const cel_gemma3n *g = &w->arch->gemma3n;
  if (g->planes > PLANES_MOST) {
    cel_mlx_refuse(w->c, CEL_UNSUPPORTED, "%d planes; at most %d", g->planes, PLANES_MOST);
    return NULL;
  }
  arr inputs = layer_inputs(w, x);
  planes h = unfold(w, x);
  for (int layer = 0; layer < w->arch->n_layers; layer++) {
    cel_mlx_path(w->c, "layers.%d", layer);
    planes p = predict(w, layer, &h);
    h = correct(w, layer, &p, through(w, layer, p.at[g->active]));
    arr input = cel_mlx_shape2(w, cel_mlx_slice(w->c, inputs, 1, layer, layer + 1, 1), w->n, g->ple);
    arr gain = layer_gain(w, layer, h.at[g->active], input);
    for (int j = 1; j < g->planes; j++) h.at[j] = cel_mlx_add(w, h.at[j], gain);
  }
  return fold(w, &h);
}
