// NEON: norms and activations.
#include "backend/xla/engine/native/kernel/kernel.h"

#if defined(__aarch64__)
#include <math.h>

#include "backend/xla/engine/native/kernel/arm_neon.h"
#include "backend/xla/engine/native/kernel/arm_neon_vec.h"

#define UNARY(name)                                                                   \
  void cel_neon_##name(float *y, const float *a, int64_t n) {                         \
    int64_t i = 0;                                                                    \
    for (; i + 4 <= n; i += 4) vst1q_f32(y + i, name##4(vld1q_f32(a + i)));           \
    if (i < n) store_first4(y + i, n - i, name##4(load_first4(a + i, n - i)));        \
  }
UNARY(exp)
UNARY(tanh)
UNARY(logistic)

// The instructions keep to IEEE: NaN when either is, +0 above -0.
#define BINARY(name)                                                                                          \
  void cel_neon_##name(float *y, const float *a, const float *b, int64_t n) {                                 \
    int64_t i = 0;                                                                                            \
    for (; i + 4 <= n; i += 4) vst1q_f32(y + i, v##name##q_f32(vld1q_f32(a + i), vld1q_f32(b + i)));          \
    if (i < n) store_first4(y + i, n - i, v##name##q_f32(load_first4(a + i, n - i), load_first4(b + i, n - i))); \
  }
BINARY(max)
BINARY(min)

static CEL_ALWAYS_INLINE float32x4_t silu_mul4(float32x4_t x, float32x4_t up) {
  return vmulq_f32(vmulq_f32(x, logistic4(x)), up);
}

static CEL_ALWAYS_INLINE float32x4_t gelu_tanh_mul4(float32x4_t x, float32x4_t up) {
  const float32x4_t cube = vmulq_f32(vmulq_f32(vmulq_n_f32(x, 0.044715f), x), x);
  const float32x4_t u = vmulq_n_f32(vaddq_f32(x, cube), 0.7978845608028654f);
  return vmulq_f32(vmulq_f32(x, logistic4(vaddq_f32(u, u))), up);
}

#define GATED(name)                                                                                        \
  void cel_neon_##name(float *y, const float *gate, const float *up, int64_t n) {                          \
    int64_t i = 0;                                                                                         \
    for (; i + 4 <= n; i += 4) vst1q_f32(y + i, name##4(vld1q_f32(gate + i), vld1q_f32(up + i)));          \
    if (i < n) store_first4(y + i, n - i, name##4(load_first4(gate + i, n - i), load_first4(up + i, n - i))); \
  }
GATED(silu_mul)
GATED(gelu_tanh_mul)

// Eight lanes in f64, element i of the sum in lane i % 8.
typedef struct sums {
  float64x2_t l0, l2, l4, l6;
} sums;

static CEL_ALWAYS_INLINE sums no_sums(void) {
  const float64x2_t zero = vdupq_n_f64(0);
  return (sums){zero, zero, zero, zero};
}

// Products of two floats are exact in f64.
static CEL_ALWAYS_INLINE sums add_squares(sums s, vec8 x) {
  const float64x2_t a = vcvt_f64_f32(vget_low_f32(x.low)), b = vcvt_high_f64_f32(x.low);
  const float64x2_t c = vcvt_f64_f32(vget_low_f32(x.high)), d = vcvt_high_f64_f32(x.high);
  return (sums){vfmaq_f64(s.l0, a, a), vfmaq_f64(s.l2, b, b), vfmaq_f64(s.l4, c, c), vfmaq_f64(s.l6, d, d)};
}

static CEL_ALWAYS_INLINE sums add_values(sums s, vec8 x) {
  return (sums){vaddq_f64(s.l0, vcvt_f64_f32(vget_low_f32(x.low))), vaddq_f64(s.l2, vcvt_high_f64_f32(x.low)),
                vaddq_f64(s.l4, vcvt_f64_f32(vget_low_f32(x.high))), vaddq_f64(s.l6, vcvt_high_f64_f32(x.high))};
}

static CEL_ALWAYS_INLINE double sum_of(sums s) {
  return vpaddd_f64(vaddq_f64(vaddq_f64(s.l0, s.l4), vaddq_f64(s.l2, s.l6)));
}

static double mean_square(const float *x, int64_t n) {
  sums s = no_sums();
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) s = add_squares(s, load8(x + i));
  if (i < n) s = add_squares(s, load_first8(x + i, n - i));
  return sum_of(s) / (double)n;
}

void cel_neon_rms_norm(float *y, const float *x, const float *weight, float plus, float eps, int64_t n) {
  const float scale = (float)(1 / sqrt(mean_square(x, n) + (double)eps));
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    float32x4_t v = vmulq_n_f32(vld1q_f32(x + i), scale);
    if (weight) v = vmulq_f32(v, vaddq_f32(vld1q_f32(weight + i), set4(plus)));
    vst1q_f32(y + i, v);
  }
  for (; i < n; i++) y[i] = weight ? x[i] * scale * (weight[i] + plus) : x[i] * scale;
}

static float mean_of(const float *x, int64_t n) {
  sums s = no_sums();
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) s = add_values(s, load8(x + i));
  if (i < n) s = add_values(s, load_first8(x + i, n - i));
  return (float)(sum_of(s) / (double)n);
}

static CEL_ALWAYS_INLINE vec8 less(vec8 x, float32x4_t mean) {
  return (vec8){vsubq_f32(x.low, mean), vsubq_f32(x.high, mean)};
}

static double variance_of(const float *x, float mean, int64_t n) {
  sums s = no_sums();
  const float32x4_t m = set4(mean);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) s = add_squares(s, less(load8(x + i), m));
  if (i < n) {  // lanes behind the end hold the mean itself: their difference is 0
    float rest[8];
    store8(rest, (vec8){m, m});
    for (int64_t k = i; k < n; k++) rest[k - i] = x[k];
    s = add_squares(s, less(load8(rest), m));
  }
  return sum_of(s) / (double)n;
}

void cel_neon_layer_norm(float *y, const float *x, const float *weight, const float *bias, float eps, int64_t n) {
  const float mean = mean_of(x, n), scale = (float)(1 / sqrt(variance_of(x, mean, n) + (double)eps));
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    float32x4_t v = vmulq_n_f32(vsubq_f32(vld1q_f32(x + i), set4(mean)), scale);
    if (weight) v = vmulq_f32(v, vld1q_f32(weight + i));
    if (bias) v = vaddq_f32(v, vld1q_f32(bias + i));
    vst1q_f32(y + i, v);
  }
  for (; i < n; i++) {
    float v = (x[i] - mean) * scale;
    if (weight) v *= weight[i];
    y[i] = bias ? v + bias[i] : v;
  }
}

#endif
