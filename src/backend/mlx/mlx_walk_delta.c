// The gated delta net (Qwen3-Next): a convolution over q, k and v, then a state S [d_k, d_v] per value head that forgets by
// e^g and learns the value it did not foresee, token after token, in f32:
//   S <- e^g S;  d = beta (v - S^T k);  S <- S + k d^T;  o = S^T q
#include <math.h>

#include "backend/mlx/mlx_walk.h"

typedef struct delta_rule {  // heads all value heads, f32
  int layer;
  arr q, k;                  // [N, heads, d_k]
  arr v;                     // [N, heads, d_v]
  arr decay, beta;           // [N, heads], decay e^g
} delta_rule;

static arr groups(cel_mlx_walk *w, arr x, int64_t n) { return x ? cel_mlx_shape3(w, x, w->n, n, cel_mlx_dim(x, 1) / n) : NULL; }

static arr token(cel_mlx_walk *w, arr x, int64_t t, int64_t a, int64_t b, int64_t d) {
  return cel_mlx_shape3(w, cel_mlx_slice(w->c, x, 0, t, t + 1, 1), a, b, d);
}

// One token: state [heads, d_k, d_v] becomes the new one; [heads, 1, d_v].
static arr turn(cel_mlx_walk *w, const delta_rule *r, int64_t t, arr *state) {
  const cel_delta *d = &w->arch->delta;
  int64_t n = d->n_v;
  arr kept = cel_mlx_mul(w, *state, token(w, r->decay, t, n, 1, 1)), key = token(w, r->k, t, n, 1, d->d_k);
  arr missed = cel_mlx_sub(w, token(w, r->v, t, n, 1, d->d_v), cel_mlx_matmul(w->c, key, kept));
  arr learned = cel_mlx_mul(w, missed, token(w, r->beta, t, n, 1, 1));
  *state = cel_mlx_add(w, kept, cel_mlx_mul(w, cel_mlx_shape3(w, key, n, d->d_k, 1), learned));
  return cel_mlx_matmul(w->c, token(w, r->q, t, n, 1, d->d_k), *state);
}

static arr run(cel_mlx_walk *w, cel_mlx_span *s, void *context) {  // [n, heads, d_v]
  enum { AT_ONCE = 64 };
  const cel_delta *d = &w->arch->delta;
  const delta_rule *r = context;
  int64_t dims[3] = {d->n_v, d->d_k, d->d_v};
  arr *slot = &s->row->delta[w->arch->layers[r->layer].state], out[AT_ONCE], all = NULL;
  arr state = *slot ? *slot : cel_mlx_zeros(w->c, CEL_MLX_F32, 3, dims);
  for (int64_t from = 0; from < s->n; from += AT_ONCE) {
    int n = (int)CEL_MIN(AT_ONCE, s->n - from);
    for (int i = 0; i < n; i++) out[i] = cel_mlx_shape3(w, turn(w, r, s->at + from + i, &state), 1, d->n_v, d->d_v);
    arr parts[2] = {all, n > 1 ? cel_mlx_concat(w->c, out, n, 0) : out[0]};
    all = from ? cel_mlx_concat(w->c, parts, 2, 0) : parts[1];
  }
  cel_mlx_replace(w, slot, state);
  return all;
}

// x / sqrt(sum x^2 + 1e-6) times `factor`, over each head's width.
static arr unit_length(cel_mlx_walk *w, arr x, double factor) {
  if (!x) return NULL;
  double width = (double)cel_mlx_dim(x, 2);
  return cel_mlx_by(w, cel_mlx_rms_norm(w->c, x, NULL, 1e-6 / width), factor / sqrt(width));
}

// A key head serves n_v / n_k value heads that follow each other, or that are n_k apart.
static arr repeat_heads(cel_mlx_walk *w, arr x) {
  const cel_delta *d = &w->arch->delta;
  int64_t ratio = d->n_v / d->n_k, together[4] = {w->n, d->n_k, ratio, d->d_k}, apart[4] = {w->n, ratio, d->n_k, d->d_k};
  int64_t one[4] = {w->n, d->tiled ? 1 : d->n_k, d->tiled ? d->n_k : 1, d->d_k}, *wide = d->tiled ? apart : together;
  if (ratio == 1) return x;
  return cel_mlx_shape3(w, cel_mlx_broadcast(w->c, cel_mlx_reshape(w->c, x, 4, one), 4, wide), w->n, d->n_v, d->d_k);
}

// e^g = exp(-exp(A_log) softplus(a + dt_bias)), softplus(x) = max(x, 0) + ln(1 + e^-|x|).
static arr decay(cel_mlx_walk *w, int layer, arr a) {
  arr rate = cel_mlx_unary_op(w->c, CEL_MLX_EXP, cel_mlx_weight_of(w->m, CEL_W_DELTA_A_LOG, layer)->vector);
  a = cel_mlx_add(w, cel_mlx_f32(w, a), cel_mlx_weight_of(w->m, CEL_W_DELTA_DT_BIAS, layer)->vector);
  arr size = cel_mlx_unary_op(w->c, CEL_MLX_ABS, a);
  arr small = cel_mlx_unary_op(w->c, CEL_MLX_EXP, cel_mlx_unary_op(w->c, CEL_MLX_NEGATE, size));
  arr soft = cel_mlx_add(w, cel_mlx_scalar_op(w->c, CEL_MLX_MAX, a, 0), cel_mlx_unary_op(w->c, CEL_MLX_LOG1P, small));
  return cel_mlx_unary_op(w->c, CEL_MLX_EXP, cel_mlx_unary_op(w->c, CEL_MLX_NEGATE, cel_mlx_mul(w, soft, rate)));
}

typedef struct projections {
  arr qkv;   // [N, q of all key heads, k of all, v of all value heads]
  arr z;     // [N, value heads, d_v]
  arr b, a;  // [N, value heads]
} projections;

// Columns [from, to) of each group of x [N, groups, width], flat.
static arr part(cel_mlx_walk *w, arr x, int64_t from, int64_t to) {
  if (!x) return NULL;
  return cel_mlx_shape2(w, cel_mlx_slice(w->c, x, 2, from, to, 1), w->n, (to - from) * cel_mlx_dim(x, 1));
}

// in_proj_qkvz has, per key head, q [d_k], k [d_k], v and z [r d_v] of its r value heads; in_proj_ba b [r] and a [r].
static projections grouped(cel_mlx_walk *w, int layer, arr h) {
  const cel_delta *d = &w->arch->delta;
  int64_t ratio = d->n_v / d->n_k, keys = d->d_k, values = ratio * d->d_v;
  arr x = groups(w, cel_mlx_product(w, CEL_W_DELTA_QKVZ, layer, h), d->n_k), ba = groups(w, cel_mlx_product(w, CEL_W_DELTA_BA, layer, h), d->n_k);
  arr parts[3] = {part(w, x, 0, keys), part(w, x, keys, 2 * keys), part(w, x, 2 * keys, 2 * keys + values)};
  return (projections){.qkv = cel_mlx_concat(w->c, parts, 3, 1),
                       .z = groups(w, part(w, x, 2 * keys + values, 2 * keys + 2 * values), d->n_v),
                       .b = part(w, ba, 0, ratio), .a = part(w, ba, ratio, 2 * ratio)};
}

static projections separate(cel_mlx_walk *w, int layer, arr h) {
  arr qkv = cel_mlx_product(w, CEL_W_DELTA_QKV, layer, h), z = cel_mlx_product(w, CEL_W_DELTA_Z, layer, h);
  arr beta = cel_mlx_product(w, CEL_W_DELTA_B, layer, h), a = cel_mlx_product(w, CEL_W_DELTA_A, layer, h);
  return (projections){qkv, groups(w, z, w->arch->delta.n_v), beta, a};
}

static delta_rule prepare(cel_mlx_walk *w, int layer, const projections *p) {
  const cel_delta *d = &w->arch->delta;
  arr mixed = cel_mlx_silu(w, cel_mlx_short_conv(w, layer, p->qkv, cel_mlx_weight_of(w->m, CEL_W_DELTA_CONV, layer)->vector));
  int64_t k0 = (int64_t)d->n_k * d->d_k, v0 = 2 * k0;
  mixed = cel_mlx_f32(w, mixed);
  delta_rule r = {.layer = layer};
  r.q = repeat_heads(w, unit_length(w, groups(w, cel_mlx_slice(w->c, mixed, 1, 0, k0, 1), d->n_k), 1 / sqrt((double)d->d_k)));
  r.k = repeat_heads(w, unit_length(w, groups(w, cel_mlx_slice(w->c, mixed, 1, k0, v0, 1), d->n_k), 1));
  r.v = groups(w, cel_mlx_slice(w->c, mixed, 1, v0, v0 + (int64_t)d->n_v * d->d_v, 1), d->n_v);
  r.beta = cel_mlx_sigmoid(w, cel_mlx_f32(w, p->b));
  r.decay = decay(w, layer, p->a);
  return r;
}

arr cel_mlx_delta(cel_mlx_walk *w, int layer, arr h) {
  const cel_delta *d = &w->arch->delta;
  projections p = w->arch->names[CEL_W_DELTA_QKV] ? separate(w, layer, h) : grouped(w, layer, h);
  delta_rule r = prepare(w, layer, &p);
  arr o = cel_mlx_rms(w, CEL_W_DELTA_NORM, layer, cel_mlx_cast(w->c, cel_mlx_each_span(w, run, &r), w->type), w->arch->norm_eps);
  o = cel_mlx_mul(w, o, cel_mlx_silu(w, p.z));
  return cel_mlx_product(w, CEL_W_DELTA_OUT, layer, cel_mlx_shape2(w, o, w->n, (int64_t)d->n_v * d->d_v));
}
