// AVX2: norms and activations.
#include "backend/xla/engine/native/kernel/kernel.h"

#if defined(__x86_64__)
#include <math.h>

#include "backend/xla/engine/native/kernel/x86_avx2.h"
#include "backend/xla/engine/native/kernel/x86_avx2_vec.h"
#include "backend/xla/engine/native/kernel/x86_intrinsics.h"

#define UNARY(name)                                                                                     \
  void cel_avx2_##name(float *y, const float *a, int64_t n) {                                           \
    int64_t i = 0;                                                                                      \
    for (; i + 8 <= n; i += 8) _mm256_storeu_ps(y + i, name##8(_mm256_loadu_ps(a + i)));                \
    if (i < n) store_first(y + i, n - i, name##8(load_first(a + i, n - i)));                            \
  }
UNARY(exp)
UNARY(tanh)
UNARY(logistic)

static CEL_ALWAYS_INLINE __m256 silu_mul8(__m256 x, __m256 up) {
  return _mm256_mul_ps(_mm256_mul_ps(x, logistic8(x)), up);
}

static CEL_ALWAYS_INLINE __m256 gelu_tanh_mul8(__m256 x, __m256 up) {
  __m256 cube = _mm256_mul_ps(_mm256_mul_ps(_mm256_mul_ps(set8(0.044715f), x), x), x);
  __m256 u = _mm256_mul_ps(set8(0.7978845608028654f), _mm256_add_ps(x, cube));
  return _mm256_mul_ps(_mm256_mul_ps(x, logistic8(_mm256_add_ps(u, u))), up);
}

#define GATED(name)                                                                                     \
  void cel_avx2_##name(float *y, const float *gate, const float *up, int64_t n) {                       \
    int64_t i = 0;                                                                                      \
    for (; i + 8 <= n; i += 8)                                                                          \
      _mm256_storeu_ps(y + i, name##8(_mm256_loadu_ps(gate + i), _mm256_loadu_ps(up + i)));             \
    if (i < n) store_first(y + i, n - i, name##8(load_first(gate + i, n - i), load_first(up + i, n - i))); \
  }
GATED(silu_mul)
GATED(gelu_tanh_mul)

// Lanes 0..3 in *low, 4..7 in *high; products of two floats are exact in f64.
static CEL_ALWAYS_INLINE void add_squares(__m256 x, __m256d *low, __m256d *high) {
  __m256d a = _mm256_cvtps_pd(_mm256_castps256_ps128(x)), b = _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
  *low = _mm256_fmadd_pd(a, a, *low);
  *high = _mm256_fmadd_pd(b, b, *high);
}

static CEL_ALWAYS_INLINE double sum_of(__m256d low, __m256d high) {
  __m256d four = _mm256_add_pd(low, high);
  __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}

static double mean_square(const float *x, int64_t n) {
  __m256d low = _mm256_setzero_pd(), high = low;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) add_squares(_mm256_loadu_ps(x + i), &low, &high);
  if (i < n) add_squares(load_first(x + i, n - i), &low, &high);
  return sum_of(low, high) / (double)n;
}

void cel_avx2_rms_norm(float *y, const float *x, const float *weight, float plus, float eps, int64_t n) {
  float scale = (float)(1 / sqrt(mean_square(x, n) + (double)eps));
  __m256 r = set8(scale), p = set8(plus);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m256 v = _mm256_mul_ps(_mm256_loadu_ps(x + i), r);
    if (weight) v = _mm256_mul_ps(v, _mm256_add_ps(_mm256_loadu_ps(weight + i), p));
    _mm256_storeu_ps(y + i, v);
  }
  for (; i < n; i++) y[i] = weight ? x[i] * scale * (weight[i] + plus) : x[i] * scale;
}

static CEL_ALWAYS_INLINE void add_values(__m256 x, __m256d *low, __m256d *high) {
  *low = _mm256_add_pd(*low, _mm256_cvtps_pd(_mm256_castps256_ps128(x)));
  *high = _mm256_add_pd(*high, _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)));
}

static float mean_of(const float *x, int64_t n) {
  __m256d low = _mm256_setzero_pd(), high = low;
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) add_values(_mm256_loadu_ps(x + i), &low, &high);
  if (i < n) add_values(load_first(x + i, n - i), &low, &high);
  return (float)(sum_of(low, high) / (double)n);
}

static double variance_of(const float *x, float mean, int64_t n) {
  __m256d low = _mm256_setzero_pd(), high = low;
  __m256 m = set8(mean);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) add_squares(_mm256_sub_ps(_mm256_loadu_ps(x + i), m), &low, &high);
  if (i < n) {  // lanes behind the end hold the mean itself: their difference is 0
    float rest[8];
    _mm256_storeu_ps(rest, m);
    for (int64_t k = i; k < n; k++) rest[k - i] = x[k];
    add_squares(_mm256_sub_ps(_mm256_loadu_ps(rest), m), &low, &high);
  }
  return sum_of(low, high) / (double)n;
}

void cel_avx2_layer_norm(float *y, const float *x, const float *weight, const float *bias, float eps, int64_t n) {
  float mean = mean_of(x, n), scale = (float)(1 / sqrt(variance_of(x, mean, n) + (double)eps));
  __m256 m = set8(mean), r = set8(scale);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m256 v = _mm256_mul_ps(_mm256_sub_ps(_mm256_loadu_ps(x + i), m), r);
    if (weight) v = _mm256_mul_ps(v, _mm256_loadu_ps(weight + i));
    if (bias) v = _mm256_add_ps(v, _mm256_loadu_ps(bias + i));
    _mm256_storeu_ps(y + i, v);
  }
  for (; i < n; i++) {
    float v = (x[i] - mean) * scale;
    if (weight) v *= weight[i];
    y[i] = bias ? v + bias[i] : v;
  }
}

#endif
