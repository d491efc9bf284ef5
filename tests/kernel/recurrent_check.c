// The recurrent kernels against f64, against the scalar table bit for bit, in chunks, in parts, and with rows of padding.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/check.h"

enum { ROWS = 3 };

static float *random_floats(check *c, int64_t n, float scale) {
  float *p = guarded_floats(n);
  for (int64_t i = 0; i < n; i++) p[i] = normal(c) * scale;
  return p;
}

static float *copy_of(const float *p, int64_t n) {
  float *q = guarded_floats(n);
  memcpy(q, p, (size_t)n * sizeof *q);
  return q;
}

// ---- short convolution -----------------------------------------------------------------------------

typedef struct conv_shape {
  int64_t n, channels;
  int taps, slot_step;
} conv_shape;

// The input that tap j of token t sees, by the definition, from the state as it was.
static double seen(const cel_short_conv *c, const float *old, int64_t t, int j, int64_t channel) {
  int64_t first = c->slot_step ? t : 0, at = t - first - (c->taps - 1) + j;
  const float *row = old + c->slots[first] * c->slot_stride;
  return (double)(at >= 0 ? c->u[(first + at) * c->channels + channel] : row[(at + c->taps - 1) * c->channels + channel]);
}

static double conv_error(const cel_short_conv *c, const float *old) {
  double worst = 0;
  for (int64_t t = 0; t < c->n; t++)
    for (int64_t i = 0; i < c->channels; i++) {
      double y = 0, size = 0;
      bool padding = c->slots[c->slot_step ? t : 0] >= ROWS;
      for (int j = 0; j < c->taps && !padding; j++) {
        double term = (double)c->weight[j * c->channels + i] * seen(c, old, t, j, i);
        y += term;
        size += fabs(term);
      }
      worst = fmax(worst, fabs((double)c->y[t * c->channels + i] - y) / fmax(size, 1e-3));
    }
  return worst;
}

// The whole in parts of channels, then the same tokens in chunks: the same bits, the same state.
static void conv_parts(check *c, const cel_short_conv *whole, const conv_shape *s, const float *old, int64_t state) {
  cel_short_conv p = *whole;
  p.y = guarded_floats(s->n * s->channels);
  p.state = copy_of(old, state);
  for (int64_t i = 0; i < s->channels; i += 64) c->now->short_conv(&p, i, CEL_MIN(i + 64, s->channels));
  expect(c, first_difference(p.y, whole->y, s->n * s->channels) < 0 && first_difference(p.state, whole->state, state) < 0,
         "short_conv n %lld channels %lld taps %d: parts differ", (long long)s->n, (long long)s->channels, s->taps);
  if (s->slot_step) return;
  p.state = copy_of(old, state);
  for (int64_t t = 0; t < s->n; t += p.n) {
    p.n = CEL_MIN(1 + t % 3, s->n - t);
    p.u = whole->u + t * s->channels;
    p.y = whole->y + t * s->channels;  // the same bits again
    float *before = copy_of(p.y, p.n * s->channels);
    c->now->short_conv(&p, 0, s->channels);
    expect(c, first_difference(p.y, before, p.n * s->channels) < 0, "short_conv: a chunk at %lld differs", (long long)t);
  }
  expect(c, first_difference(p.state, whole->state, state) < 0, "short_conv n %lld taps %d: chunks leave another state",
         (long long)s->n, s->taps);
}

static void check_conv(check *c, const conv_shape *s) {
  int64_t stride = (s->taps - 1) * s->channels, state = ROWS * stride;
  int32_t slots[64];
  for (int64_t i = 0; i < s->n; i++) slots[i] = (int32_t)((i + 1) % (ROWS + 1));  // ROWS: padding
  float *u = random_floats(c, s->n * s->channels, 1), *w = random_floats(c, s->taps * s->channels, 0.5f);
  float *old = random_floats(c, state, 1), *scalar_state = copy_of(old, state), *now_state = copy_of(old, state);
  cel_short_conv a = {.u = u, .weight = w, .y = guarded_floats(s->n * s->channels), .state = scalar_state, .slot_stride = stride,
                      .rows = ROWS, .slots = slots, .slot_step = s->slot_step, .n = s->n, .channels = s->channels, .taps = s->taps};
  cel_short_conv b = a;
  b.y = guarded_floats(s->n * s->channels);
  b.state = now_state;
  c->ref->short_conv(&a, 0, s->channels);
  c->now->short_conv(&b, 0, s->channels);
  expect(c, first_difference(a.y, b.y, s->n * s->channels) < 0 && first_difference(scalar_state, now_state, state) < 0,
         "short_conv n %lld channels %lld taps %d step %d: not the scalar bits", (long long)s->n, (long long)s->channels, s->taps,
         s->slot_step);
  double error = conv_error(&b, old);
  expect(c, error <= 1e-6, "short_conv n %lld channels %lld taps %d step %d: off by %g", (long long)s->n,
         (long long)s->channels, s->taps, s->slot_step, error);
  conv_parts(c, &b, s, old, state);
  release_all();
}

// ---- gated delta rule ------------------------------------------------------------------------------

typedef struct delta_shape {
  int64_t n;
  int n_k, n_v, d_k, d_v, slot_step;
} delta_shape;

// One head of one token in f64; S [d_k][d_v].
static void turn_f64(const cel_gated_delta *d, int64_t t, int h, double *S, double *o) {
  const float *q = d->q + (t * d->n_k + h / (d->n_v / d->n_k)) * d->d_k, *k = d->k + (q - d->q);
  const float *v = d->v + (t * d->n_v + h) * d->d_v;
  double keep = exp((double)d->g[t * d->n_v + h]), beta = (double)d->beta[t * d->n_v + h];
  for (int c = 0; c < d->d_v; c++) {
    double foreseen = 0;
    o[c] = 0;
    for (int i = 0; i < d->d_k; i++) foreseen += (double)k[i] * (S[i * d->d_v + c] *= keep);
    double learned = beta * ((double)v[c] - foreseen);
    for (int i = 0; i < d->d_k; i++) o[c] += (double)q[i] * (S[i * d->d_v + c] += (double)k[i] * learned);
  }
}

static double delta_error(const cel_gated_delta *d, const float *old) {
  double worst = 0, *S = malloc((size_t)(d->d_k * d->d_v + d->d_v) * sizeof *S), *o = S + d->d_k * d->d_v;
  for (int h = 0; S && h < d->n_v; h++)
    for (int64_t t = 0; t < d->n; t++) {
      int64_t slot = d->slots[d->slot_step ? t : 0];
      bool padding = slot >= ROWS;
      const float *from = old + (padding ? 0 : slot * d->slot_stride) + (int64_t)h * d->d_k * d->d_v;
      for (int i = 0; (d->slot_step || t == 0) && i < d->d_k * d->d_v; i++) S[i] = (double)from[i];
      turn_f64(d, t, h, S, o);
      for (int c = 0; c < d->d_v; c++)
        worst = fmax(worst, fabs((double)d->o[(t * d->n_v + h) * d->d_v + c] - (padding ? 0 : o[c])));
    }
  free(S);
  return worst;
}

static void run_items(const cel_kernels *k, const cel_gated_delta *d, int64_t step) {
  for (int64_t i = 0; i < cel_delta_items(d); i += step) k->gated_delta(d, i, CEL_MIN(i + step, cel_delta_items(d)));
}

static void delta_chunks(check *c, const cel_gated_delta *whole, const float *old, int64_t state) {
  cel_gated_delta p = *whole;
  p.state = copy_of(old, state);
  for (int64_t t = 0; t < whole->n; t += p.n) {
    p.n = CEL_MIN(1 + t % 5, whole->n - t);
    p.q = whole->q + t * p.n_k * p.d_k;
    p.k = whole->k + t * p.n_k * p.d_k;
    p.v = whole->v + t * p.n_v * p.d_v;
    p.g = whole->g + t * p.n_v;
    p.beta = whole->beta + t * p.n_v;
    p.o = guarded_floats(p.n * p.n_v * p.d_v);
    run_items(c->now, &p, 1);
    expect(c, first_difference(p.o, whole->o + t * p.n_v * p.d_v, p.n * p.n_v * p.d_v) < 0, "gated_delta: a chunk at %lld differs",
           (long long)t);
  }
  expect(c, first_difference(p.state, whole->state, state) < 0, "gated_delta: chunks leave another state");
}

static void check_delta(check *c, const delta_shape *s) {
  int64_t stride = (int64_t)s->n_v * s->d_k * s->d_v, state = ROWS * stride, keys = s->n * s->n_k * s->d_k, heads = s->n * s->n_v;
  int32_t slots[64];
  for (int64_t i = 0; i < s->n; i++) slots[i] = (int32_t)((i + 2) % (ROWS + 1));
  float *old = random_floats(c, state, 0.3f), *g = guarded_floats(heads), *beta = guarded_floats(heads);
  for (int64_t i = 0; i < heads; i++) {
    g[i] = -fabsf(normal(c));
    beta[i] = fabsf(uniform(c));
  }
  float unit = 1 / sqrtf((float)s->d_k);
  cel_gated_delta a = {.q = random_floats(c, keys, unit), .k = random_floats(c, keys, unit), .v = random_floats(c, heads * s->d_v, 1),
                       .g = g, .beta = beta, .o = guarded_floats(heads * s->d_v), .state = copy_of(old, state), .slot_stride = stride,
                       .rows = ROWS, .slots = slots, .slot_step = s->slot_step, .n = s->n, .n_k = s->n_k, .n_v = s->n_v, .d_k = s->d_k,
                       .d_v = s->d_v};
  cel_gated_delta b = a;
  b.o = guarded_floats(heads * s->d_v);
  b.state = copy_of(old, state);
  run_items(c->ref, &a, 1 << 20);
  run_items(c->now, &b, 2);
  expect(c, first_difference(a.o, b.o, heads * s->d_v) < 0 && first_difference(a.state, b.state, state) < 0,
         "gated_delta n %lld heads %d/%d widths %d %d step %d: not the scalar bits", (long long)s->n, s->n_v, s->n_k, s->d_k, s->d_v,
         s->slot_step);
  double error = delta_error(&b, old);
  expect(c, error <= 2e-5, "gated_delta n %lld heads %d/%d widths %d %d step %d: off by %g", (long long)s->n, s->n_v, s->n_k, s->d_k,
         s->d_v, s->slot_step, error);
  if (!s->slot_step) delta_chunks(c, &b, old, state);
  release_all();
}

void check_recurrent(check *c) {
  static const conv_shape convs[] = {{1, 8, 3, 0}, {1, 7, 3, 1}, {5, 130, 4, 0}, {4, 64, 4, 1}, {9, 33, 2, 0}, {2, 96, 5, 0},
                                     {40, 20, 3, 0}, {3, 1, 3, 1}};
  static const delta_shape deltas[] = {{1, 1, 1, 4, 4, 0},    {7, 2, 4, 16, 16, 0},  {4, 2, 4, 16, 16, 1}, {3, 1, 2, 128, 128, 0},
                                       {12, 1, 1, 5, 33, 0},  {4, 2, 2, 32, 40, 1},  {20, 1, 3, 8, 64, 0}, {2, 1, 1, 1, 1, 1}};
  for (int i = 0; i < CEL_COUNT(convs); i++) check_conv(c, &convs[i]);
  for (int i = 0; i < CEL_COUNT(deltas); i++) check_delta(c, &deltas[i]);
}
