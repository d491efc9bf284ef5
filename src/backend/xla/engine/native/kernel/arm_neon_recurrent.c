// NEON: the delta rule. The short convolution is the plain loop, which compilers vectorize here.
#include "backend/xla/engine/native/kernel/kernel.h"

#if defined(__aarch64__)
#include "backend/xla/engine/native/kernel/arm_neon.h"
#include "backend/xla/engine/native/kernel/arm_neon_vec.h"
#include "backend/xla/engine/native/kernel/recurrent.h"

enum { LANES = 4, WIDE = CEL_DELTA_COLUMNS / LANES };

// A whole block of columns: eight vectors.
static void turn_whole(float *s, int64_t stride, int d_k, const cel_delta_token *x) {
  float32x4_t learned[WIDE], out[WIDE];
  for (int c = 0; c < WIDE; c++) learned[c] = out[c] = set4(0);
  for (int i = 0; i < d_k; i++) {
    float *row = s + i * stride;
    CEL_UNROLLED(8)
    for (int c = 0; c < WIDE; c++) {
      const float32x4_t v = vmulq_n_f32(vld1q_f32(row + c * LANES), x->keep);
      vst1q_f32(row + c * LANES, v);
      learned[c] = vfmaq_n_f32(learned[c], v, x->k[i]);
    }
  }
  for (int c = 0; c < WIDE; c++) learned[c] = vmulq_n_f32(vsubq_f32(vld1q_f32(x->v + c * LANES), learned[c]), x->beta);
  for (int i = 0; i < d_k; i++) {
    float *row = s + i * stride;
    CEL_UNROLLED(8)
    for (int c = 0; c < WIDE; c++) {
      const float32x4_t v = vfmaq_n_f32(vld1q_f32(row + c * LANES), learned[c], x->k[i]);
      vst1q_f32(row + c * LANES, v);
      out[c] = vfmaq_n_f32(out[c], v, x->q[i]);
    }
  }
  for (int c = 0; c < WIDE; c++) vst1q_f32(x->o + c * LANES, out[c]);
}

// Up to four columns of a narrower one.
static void turn_part(float *s, int64_t stride, int d_k, const cel_delta_token *x, int at, int n) {
  float32x4_t learned = set4(0), out = learned;
  for (int i = 0; i < d_k; i++) {
    const float32x4_t v = vmulq_n_f32(load_first4(s + i * stride + at, n), x->keep);
    store_first4(s + i * stride + at, n, v);
    learned = vfmaq_n_f32(learned, v, x->k[i]);
  }
  learned = vmulq_n_f32(vsubq_f32(load_first4(x->v + at, n), learned), x->beta);
  for (int i = 0; i < d_k; i++) {
    const float32x4_t v = vfmaq_n_f32(load_first4(s + i * stride + at, n), learned, x->k[i]);
    store_first4(s + i * stride + at, n, v);
    out = vfmaq_n_f32(out, v, x->q[i]);
  }
  store_first4(x->o + at, n, out);
}

static void turn(const cel_gated_delta *d, const cel_delta_item *it, const cel_delta_token *x) {
  if (it->columns == CEL_DELTA_COLUMNS) {
    turn_whole(it->run.state, d->d_v, d->d_k, x);
    return;
  }
  for (int c = 0; c < it->columns; c += LANES) turn_part(it->run.state, d->d_v, d->d_k, x, c, CEL_MIN(it->columns - c, (int)LANES));
}

void cel_neon_gated_delta(const cel_gated_delta *d, int64_t item_begin, int64_t item_end) {
  for (int64_t item = item_begin; item < item_end; item++) {
    const cel_delta_item it = cel_delta_item_of(d, item);
    if (!it.run.state) cel_delta_zero(d, &it);
    for (int64_t t = it.run.begin; it.run.state && t < it.run.end; t++) {
      const cel_delta_token x = cel_delta_token_of(d, &it, t);
      turn(d, &it, &x);
    }
  }
}

#endif
