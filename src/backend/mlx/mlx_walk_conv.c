// The short convolution (LFM2): causal, depthwise, over the last `taps` inputs of each channel, of which the state keeps
// taps - 1, oldest first. y_t[c] = sum over j of w[c][j] * u_{t - taps + 1 + j}[c].
#include "backend/mlx/mlx_walk.h"

typedef struct convolution {
  int layer;
  int64_t channels, taps;
  arr u;       // [N, channels]
  arr by_tap;  // [channels, taps]
} convolution;

static arr convolve(cel_mlx_walk *w, cel_mlx_span *s, void *context) {  // [n, channels]
  const convolution *x = context;
  int64_t old[2] = {x->taps - 1, x->channels};
  arr *state = &s->row->conv[w->arch->layers[x->layer].state], y = NULL;
  arr parts[2] = {*state ? *state : cel_mlx_zeros(w->c, w->type, 2, old), cel_mlx_part(w, s, x->u, 0)};
  arr all = cel_mlx_concat(w->c, parts, 2, 0);
  for (int64_t j = 0; j < x->taps; j++) {
    arr tap = cel_mlx_shape2(w, cel_mlx_slice(w->c, x->by_tap, 1, j, j + 1, 1), 1, x->channels);
    arr part = cel_mlx_mul(w, cel_mlx_slice(w->c, all, 0, j, j + s->n, 1), tap);
    y = j ? cel_mlx_add(w, y, part) : part;
  }
  cel_mlx_replace(w, state, cel_mlx_contiguous(w->c, cel_mlx_slice(w->c, all, 0, s->n, s->n + x->taps - 1, 1)));
  return y;
}

arr cel_mlx_short_conv(cel_mlx_walk *w, int layer, arr u, arr weight) {
  if (!u || !weight) return NULL;
  convolution x = {.layer = layer, .channels = cel_mlx_dim(u, 1), .u = u};
  x.taps = cel_mlx_dim(weight, 0) / x.channels;
  x.by_tap = cel_mlx_cast(w->c, cel_mlx_shape2(w, weight, x.channels, x.taps), w->type);
  return cel_mlx_each_span(w, convolve, &x);
}

arr cel_mlx_conv(cel_mlx_walk *w, int layer, arr h) {
  int64_t width = w->arch->hidden;
  arr x = cel_mlx_product(w, CEL_W_CONV_IN, layer, h), thirds[3];  // B, C, x
  for (int i = 0; i < 3; i++) thirds[i] = cel_mlx_slice(w->c, x, 1, i * width, (i + 1) * width, 1);
  const cel_mlx_weight *p = cel_mlx_weight_of(w->m, CEL_W_CONV, layer);
  arr y = cel_mlx_short_conv(w, layer, cel_mlx_mul(w, thirds[0], thirds[2]), p->vector);
  if (p->bias) y = cel_mlx_add(w, y, p->bias);
  return cel_mlx_product(w, CEL_W_CONV_OUT, layer, cel_mlx_mul(w, thirds[1], y));
}
