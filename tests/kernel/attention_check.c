// Attention against f64, against the scalar table, and against itself in other chunks.
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "kernel/check.h"

typedef struct shape {
  int n_q, n_kv, d, n, start, capacity, slots;
  int window;
  float softcap;
  int latent;  // > 0: the width of values, which are the first columns of the keys
} shape;

// Column c of key or value j that head h of token i sees.
static double kv(const cel_attention *a, const void *p, int64_t i, int h, int64_t j, int c) {
  int64_t at = a->slots[i * a->slot_step] * a->slot_stride + h / (a->n_q / a->n_kv) * a->head_stride + j * a->width;
  if (a->kv == CEL_KV_F16) return (double)cel_f16_to_f32(((const uint16_t *)p)[at + c]);
  if (a->kv == CEL_KV_F32) return (double)((const float *)p)[at + c];
  float step;
  if (a->kv == CEL_KV_I8) {
    memcpy(&step, (const int8_t *)p + at + a->d + c / cel_kept_group_i8(a->d) * 4, sizeof step);
    return (double)step * ((const int8_t *)p)[at + c];
  }
  memcpy(&step, (const int16_t *)p + at + a->d, sizeof step);
  return (double)step * ((const int16_t *)p)[at + c];
}

static void attend_f64(const cel_attention *a, int64_t i, int h, double *out) {
  double p[2048], most = -INFINITY, total = 0;
  const float *q = a->q + (i * a->n_q + h) * a->d;
  int64_t lo = a->window > 0 && a->positions[i] - a->window + 1 > 0 ? a->positions[i] - a->window + 1 : 0;
  for (int64_t j = lo; j <= a->positions[i]; j++) {
    double s = 0;
    for (int c = 0; c < a->d; c++) s += (double)q[c] * kv(a, a->k, i, h, j, c);
    s *= (double)a->scale;
    if (a->softcap > 0) s = (double)a->softcap * tanh(s / (double)a->softcap);
    p[j] = s;
    most = fmax(most, s);
  }
  for (int c = 0; c < a->dv; c++) out[c] = 0;
  for (int64_t j = lo; j <= a->positions[i]; j++) {
    double w = exp(p[j] - most);
    total += w;
    for (int c = 0; c < a->dv; c++) out[c] += w * kv(a, a->v, i, h, j, c);
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
         "attention %s heads %d/%d d %d/%d n %d start %d slots %d window %d softcap %g: off by %g, from scalar by %g",
         kv_name(a->kv), s->n_q, s->n_kv, s->d, a->dv, s->n, s->start, s->slots, s->window, (double)s->softcap, worst, worst_scalar);
}

// Chunks of the same tokens, and items one by one, for other numbers of workers.
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
      part.workers = 1 << i;  // other heads go together
      run(c->now, &part, 1 + i, scratch);
    }
    int64_t at = first_difference(out, whole, a->n * width);
    expect(c, at < 0, "attention heads %d/%d d %d n %d start %d window %d: chunks of %d differ at %d", s->n_q, s->n_kv,
           s->d, s->n, s->start, s->window, chunks[i], (int)at);
  }
}

// n vectors of d as a cache keeps them.
static const void *kept(check *c, cel_kv kv, const float *x, int64_t n, int d) {
  const int64_t vector = (int64_t)cel_kv_width(kv, d) * cel_kv_bytes(kv);
  if (kv == CEL_KV_F32) return x;
  char *y = guarded((size_t)(n * vector));
  for (int64_t i = 0; i < n; i++) narrow_kept(c->now, kv, y + i * vector, x + i * d, d);
  return y;
}

static void check_kept(check *c, cel_attention a, const shape *s, cel_kv kv, const float *k, const float *v, float *want) {
  int64_t vectors = (int64_t)s->capacity * s->n_kv * s->slots;
  float *got = a.out;
  a.kv = kv;
  a.width = cel_kv_width(kv, a.d);
  a.head_stride = (int64_t)s->capacity * a.width;
  a.slot_stride = a.head_stride * s->n_kv;
  a.k = kept(c, kv, k, vectors, a.d);
  a.v = s->latent ? a.k : kept(c, kv, v, vectors, a.d);
  void *scratch = guarded((size_t)cel_attention_scratch_bytes(&a));
  run(c->now, &a, 1000, scratch);
  a.out = want;
  run(c->ref, &a, 1000, scratch);
  a.out = got;
  against(c, &a, s, got, want);
  same_bits_any_way(c, &a, s, got);
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
  cel_attention a = {.q = q, .out = got, .slots = slots,
                     .slot_step = s->slots > 1, .positions = positions, .n = s->n, .n_q = s->n_q, .n_kv = s->n_kv,
                     .d = s->d, .dv = dv, .scale = 1 / sqrtf((float)s->d), .softcap = s->softcap, .window = s->window};
  for (int kind = CEL_KV_F32; kind < CEL_KV_KINDS; kind++) check_kept(c, a, s, (cel_kv)kind, k, v, want);
  release_all();
}

// Floats around every half and beyond.
static void check_narrow_f16(check *c) {
  enum { ALL = 65536 };
  uint16_t *back = guarded(ALL * sizeof *back);
  float *x = guarded_floats(ALL);
  for (int step = -2; step <= 2; step++) {
    int bad = 0;
    for (int i = 0; i < ALL; i++) x[i] = cel_f32_from_bits(cel_f32_bits(cel_f16_to_f32((uint16_t)i)) + (uint32_t)step * 0x800u);
    c->now->narrow_f16(back, x, ALL);
    for (int i = 0; i < ALL; i++) {
      float want = x[i] > 65504 ? 65504 : x[i] < -65504 ? -65504 : x[i];
      bad += isnan(x[i]) ? (back[i] & 0x7FFF) <= 0x7C00 : back[i] != cel_f32_to_f16(want);
    }
    expect(c, bad == 0, "narrow_f16: %d of 65536 numbers, %d quarters of a unit off, are not the nearest half", bad, step);
  }
  release_all();
}

static float step_of(const int16_t *y, int n) {
  float step;
  memcpy(&step, y + n, sizeof step);
  return step;
}

// Vectors of all lengths and sizes give the scalar's bits and come back within half a step; NaN and infinity leave their mark.
static void check_narrow_i16(check *c) {
  enum { MOST = 68 };
  for (int n = 4; n <= MOST; n += 4) {
    for (int e = -140; e <= 120; e += 20) {
      float *x = guarded_floats(n), worst = 0;
      int16_t *y = guarded((size_t)(n + 2) * 2), *z = guarded((size_t)(n + 2) * 2);
      for (int i = 0; i < n; i++) x[i] = ldexpf(normal(c), e);
      if (e == 0) x[n / 2] = 0;
      c->now->narrow_i16(y, x, n);
      c->ref->narrow_i16(z, x, n);
      expect(c, memcmp(y, z, (size_t)(n + 2) * 2) == 0, "narrow_i16 of %d around 2^%d: not the scalar's", n, e);
      for (int i = 0; i < n; i++) worst = fmaxf(worst, fabsf(x[i] / step_of(y, n) - (float)y[i]));
      expect(c, worst <= 0.51f, "narrow_i16 of %d around 2^%d: off by %g steps", n, e, (double)worst);
      x[n - 1] = e % 40 ? NAN : INFINITY;
      c->now->narrow_i16(y, x, n);
      expect(c, !isfinite(step_of(y, n)), "narrow_i16 of %d with %g: its step is %g", n, (double)x[n - 1], (double)step_of(y, n));
      release_all();
    }
  }
}

// The same of bytes, in groups with steps of their own: what is no number marks its group alone.
static void check_narrow_i8(check *c) {
  enum { MOST = 576 };
  for (int n = 4; n <= MOST; n += n < 72 ? 4 : 72) {
    const int group = cel_kept_group_i8(n), bytes = cel_kept_width_i8(n);
    for (int e = -140; e <= 120; e += 20) {
      float *x = guarded_floats(n), worst = 0, step;
      int8_t *y = guarded((size_t)bytes), *z = guarded((size_t)bytes);
      for (int i = 0; i < n; i++) x[i] = ldexpf(normal(c), e + i / group % 3);
      if (e == 0) x[n / 2] = 0;
      c->now->narrow_i8(y, x, n);
      c->ref->narrow_i8(z, x, n);
      expect(c, memcmp(y, z, (size_t)bytes) == 0, "narrow_i8 of %d around 2^%d: not the scalar's", n, e);
      for (int i = 0; i < n; i++) {
        memcpy(&step, y + n + i / group * 4, sizeof step);
        worst = fmaxf(worst, fabsf(x[i] / step - (float)y[i]));
      }
      expect(c, worst <= 0.51f, "narrow_i8 of %d around 2^%d: off by %g steps", n, e, (double)worst);
      x[n - 1] = e % 40 ? NAN : INFINITY;
      c->now->narrow_i8(y, x, n);
      for (int g = 0; g < n / group; g++) {
        memcpy(&step, y + n + 4 * g, sizeof step);
        expect(c, !isfinite(step) == (g == n / group - 1), "narrow_i8 of %d with %g: group %d's step is %g", n, (double)x[n - 1], g, (double)step);
      }
      release_all();
    }
  }
}

void check_attention(check *c) {
  check_narrow_f16(c);
  check_narrow_i16(c);
  check_narrow_i8(c);
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
