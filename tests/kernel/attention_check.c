// Attention against f64, against the scalar table, and against itself in other chunks.
#include <math.h>
#include <string.h>

#include "kernel/check.h"

typedef struct shape {
  int n_q, n_kv, d, n, start, capacity, slots;
  int window;
  float softcap;
  int latent;  // > 0: the width of values, which are the first columns of the keys
} shape;

static const float *kv(const cel_attention *a, const float *p, int64_t i, int h, int64_t j) {
  return p + a->slots[i * a->slot_step] * a->slot_stride + h / (a->n_q / a->n_kv) * a->head_stride + j * a->d;
}

static void attend_f64(const cel_attention *a, int64_t i, int h, double *out) {
  double p[2048], most = -INFINITY, total = 0;
  const float *q = a->q + (i * a->n_q + h) * a->d;
  int64_t lo = a->window > 0 && a->positions[i] - a->window + 1 > 0 ? a->positions[i] - a->window + 1 : 0;
  for (int64_t j = lo; j <= a->positions[i]; j++) {
    double s = 0;
    for (int c = 0; c < a->d; c++) s += (double)q[c] * (double)kv(a, a->k, i, h, j)[c];
    s *= (double)a->scale;
    if (a->softcap > 0) s = (double)a->softcap * tanh(s / (double)a->softcap);
    p[j] = s;
    most = fmax(most, s);
  }
  for (int c = 0; c < a->dv; c++) out[c] = 0;
  for (int64_t j = lo; j <= a->positions[i]; j++) {
    double w = exp(p[j] - most);
    total += w;
    for (int c = 0; c < a->dv; c++) out[c] += w * (double)kv(a, a->v, i, h, j)[c];
  }
  for (int c = 0; c < a->dv; c++) out[c] /= total;
}

static void run(const cel_kernels *k, const cel_attention *a, int64_t step, void *scratch) {
  int64_t items = cel_attention_items(a);
  for (int64_t i = 0; i < items; i += step) k->attention(a, i, CEL_MIN(i + step, items), scratch);
}

static void against(check *c, const cel_attention *a, const shape *s, const float *got, const float *scalar) {
  double want[CEL_ATTENTION_WIDEST], worst = 0, worst_scalar = 0;
  for (int64_t i = 0; i < a->n; i++)
    for (int h = 0; h < a->n_q; h++) {
      attend_f64(a, i, h, want);
      for (int e = 0; e < a->dv; e++) {
        int64_t at = (i * a->n_q + h) * a->dv + e;
        worst = fmax(worst, isnan(got[at]) ? INFINITY : fabs((double)got[at] - want[e]));
        worst_scalar = fmax(worst_scalar, fabs((double)got[at] - (double)scalar[at]));
      }
    }
  expect(c, worst <= 4e-6 && worst_scalar <= 4e-6,  // |v| < 2
         "attention heads %d/%d d %d/%d n %d start %d slots %d window %d softcap %g: off by %g, from scalar by %g", s->n_q,
         s->n_kv, s->d, a->dv, s->n, s->start, s->slots, s->window, (double)s->softcap, worst, worst_scalar);
}

// Chunks of the same tokens, and items one by one.
static void same_bits_any_way(check *c, const cel_attention *a, const shape *s, const float *whole) {
  static const int chunks[] = {1, 7, 16, 64};
  int64_t width = (int64_t)a->n_q * a->dv;
  float *out = guarded_floats(a->n * width);
  void *scratch = guarded((size_t)cel_attention_scratch_bytes(a));
  for (int i = 0; i < CEL_COUNT(chunks); i++) {
    memset(out, 0xFF, (size_t)(a->n * width) * sizeof *out);
    for (int64_t t = 0; t < a->n; t += chunks[i]) {
      cel_attention part = *a;
      part.n = CEL_MIN(chunks[i], a->n - t);
      part.q += t * a->n_q * a->d;
      part.out = out + t * width;
      part.positions += t;
      part.slots += t * a->slot_step;
      run(c->now, &part, 1 + i, scratch);
    }
    int64_t at = first_difference(out, whole, a->n * width);
    expect(c, at < 0, "attention heads %d/%d d %d n %d start %d window %d: chunks of %d differ at %d", s->n_q, s->n_kv,
           s->d, s->n, s->start, s->window, chunks[i], (int)at);
  }
}

static void check_shape(check *c, const shape *s) {
  int64_t head = (int64_t)s->capacity * s->d, slot = head * s->n_kv, width = (int64_t)s->n_q * s->d;
  float *k = guarded_floats(slot * s->slots), *v = guarded_floats(slot * s->slots), *q = guarded_floats(s->n * width);
  int dv = s->latent ? s->latent : s->d;
  float *got = guarded_floats((int64_t)s->n * s->n_q * dv), *want = guarded_floats((int64_t)s->n * s->n_q * dv);
  int32_t *positions = guarded((size_t)s->n * 4), *slots = guarded((size_t)(s->slots > 1 ? s->n : 1) * 4);
  for (int64_t i = 0; i < slot * s->slots; i++) {
    v[i] = 2 * uniform(c);
    k[i] = s->latent ? v[i] : normal(c);
  }
  for (int64_t i = 0; i < s->n * width; i++) q[i] = 2 * normal(c);
  slots[0] = 0;
  for (int i = 0; i < s->n; i++) {
    positions[i] = s->slots > 1 ? (s->start + i * 29) % s->capacity : s->start + i;
    if (s->slots > 1) slots[i] = (i * 2 + 1) % s->slots;
  }
  cel_attention a = {.q = q, .out = got, .k = k, .v = s->latent ? k : v, .slot_stride = slot, .head_stride = head, .slots = slots,
                     .slot_step = s->slots > 1, .positions = positions, .n = s->n, .n_q = s->n_q, .n_kv = s->n_kv,
                     .d = s->d, .dv = dv, .scale = 1 / sqrtf((float)s->d), .softcap = s->softcap, .window = s->window};
  void *scratch = guarded((size_t)cel_attention_scratch_bytes(&a));
  run(c->now, &a, 1000, scratch);
  a.out = want;
  run(c->ref, &a, 1000, scratch);
  a.out = got;
  against(c, &a, s, got, want);
  same_bits_any_way(c, &a, s, got);
  release_all();
}

void check_attention(check *c) {
  static const shape shapes[] = {
    // q  kv   d   n start cap slots window cap values
    {9, 3, 64, 1, 0, 1, 1, 0, 0, 0}, {9, 3, 64, 70, 0, 70, 1, 0, 0, 0}, {9, 3, 64, 20, 190, 210, 1, 0, 0, 0},
    {4, 4, 32, 33, 5, 38, 1, 0, 0, 0}, {8, 1, 80, 65, 0, 65, 1, 0, 30, 0}, {32, 1, 4, 19, 60, 79, 1, 0, 0, 0},
    {6, 2, 128, 30, 100, 130, 1, 17, 0, 0}, {2, 1, 96, 130, 0, 130, 1, 64, 0, 0},
    {2, 2, 256, 9, 120, 129, 1, 100, 50, 0}, {4, 2, 68, 12, 60, 72, 1, 1, 0, 0}, {9, 3, 64, 6, 100, 300, 3, 0, 0, 0},
    {4, 2, 16, 11, 7, 150, 5, 33, 0, 0}, {1, 1, 512, 3, 63, 66, 1, 0, 0, 0}, {14, 2, 64, 64, 64, 128, 1, 0, 0, 0},
    {6, 1, 96, 70, 0, 70, 1, 0, 0, 64}, {40, 1, 100, 5, 60, 130, 1, 0, 0, 68}, {16, 1, 576, 17, 60, 77, 1, 0, 0, 512},
    {128, 1, 576, 3, 40, 130, 3, 0, 0, 512}, {22, 1, 1024, 2, 63, 66, 1, 3, 0, 1020},
    {2, 1, 12, 66, 1, 67, 1, 9, 8, 4},
  };
  for (int i = 0; i < CEL_COUNT(shapes); i++) check_shape(c, &shapes[i]);
}
