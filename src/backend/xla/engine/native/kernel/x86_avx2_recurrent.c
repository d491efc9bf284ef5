// AVX2: the recurrent kernels.
#include "backend/xla/engine/native/kernel/kernel.h"

#if defined(__x86_64__)
#include "backend/xla/engine/native/kernel/x86_avx2.h"
#include "backend/xla/engine/native/kernel/x86_avx2_vec.h"
#include "backend/xla/engine/native/kernel/x86_intrinsics.h"

#define NAME(kernel) cel_avx2_##kernel
#include "backend/xla/engine/native/kernel/short_conv.h"

enum { LANES = 8, WIDE = CEL_DELTA_COLUMNS / LANES };

// A whole block of columns: four vectors.
static CEL_ALWAYS_INLINE void turn_whole(float *s, int64_t stride, int d_k, const cel_delta_token *x) {
  __m256 keep = set8(x->keep), learned[WIDE], out[WIDE];
  for (int c = 0; c < WIDE; c++) learned[c] = out[c] = _mm256_setzero_ps();
  for (int i = 0; i < d_k; i++) {
    __m256 k = set8(x->k[i]);
    for (int c = 0; c < WIDE; c++) {
      __m256 v = _mm256_mul_ps(_mm256_loadu_ps(s + i * stride + c * LANES), keep);
      _mm256_storeu_ps(s + i * stride + c * LANES, v);
      learned[c] = _mm256_fmadd_ps(k, v, learned[c]);
    }
  }
  for (int c = 0; c < WIDE; c++)
    learned[c] = _mm256_mul_ps(_mm256_sub_ps(_mm256_loadu_ps(x->v + c * LANES), learned[c]), set8(x->beta));
  for (int i = 0; i < d_k; i++) {
    __m256 k = set8(x->k[i]), q = set8(x->q[i]);
    for (int c = 0; c < WIDE; c++) {
      __m256 v = _mm256_fmadd_ps(k, learned[c], _mm256_loadu_ps(s + i * stride + c * LANES));
      _mm256_storeu_ps(s + i * stride + c * LANES, v);
      out[c] = _mm256_fmadd_ps(q, v, out[c]);
    }
  }
  for (int c = 0; c < WIDE; c++) _mm256_storeu_ps(x->o + c * LANES, out[c]);
}

// Up to eight columns of a narrower one.
static void turn_part(float *s, int64_t stride, int d_k, const cel_delta_token *x, int at, int n) {
  __m256 keep = set8(x->keep), learned = _mm256_setzero_ps(), out = learned;
  for (int i = 0; i < d_k; i++) {
    __m256 v = _mm256_mul_ps(load_first(s + i * stride + at, n), keep);
    store_first(s + i * stride + at, n, v);
    learned = _mm256_fmadd_ps(set8(x->k[i]), v, learned);
  }
  learned = _mm256_mul_ps(_mm256_sub_ps(load_first(x->v + at, n), learned), set8(x->beta));
  for (int i = 0; i < d_k; i++) {
    __m256 v = _mm256_fmadd_ps(set8(x->k[i]), learned, load_first(s + i * stride + at, n));
    store_first(s + i * stride + at, n, v);
    out = _mm256_fmadd_ps(set8(x->q[i]), v, out);
  }
  store_first(x->o + at, n, out);
}

void cel_avx2_gated_delta(const cel_gated_delta *d, int64_t item_begin, int64_t item_end) {
  for (int64_t item = item_begin; item < item_end; item++) {
    cel_delta_item it = cel_delta_item_of(d, item);
    if (!it.run.state) cel_delta_zero(d, &it);
    for (int64_t t = it.run.begin; it.run.state && t < it.run.end; t++) {
      cel_delta_token x = cel_delta_token_of(d, &it, t);
      if (it.columns == CEL_DELTA_COLUMNS) turn_whole(it.run.state, d->d_v, d->d_k, &x);
      else
        for (int c = 0; c < it.columns; c += LANES) turn_part(it.run.state, d->d_v, d->d_k, &x, c, CEL_MIN(it.columns - c, (int)LANES));
    }
  }
}

#endif
