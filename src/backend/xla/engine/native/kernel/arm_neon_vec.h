// NEON: four-lane functions (exp within 1 ulp, logistic and tanh within 3), and eight lanes in two vectors. Internal to kernel/.
#ifndef CEL_XLA_NATIVE_KERNEL_ARM_NEON_VEC_H
#define CEL_XLA_NATIVE_KERNEL_ARM_NEON_VEC_H

#include <arm_neon.h>
#include <stdint.h>
#include <string.h>

#include "base/macros.h"

static CEL_ALWAYS_INLINE float32x4_t set4(float x) { return vdupq_n_f32(x); }

// The first n (0..4) floats, zeros behind them; reads no further.
static CEL_ALWAYS_INLINE float32x4_t load_first4(const float *p, int64_t n) {
  float t[4] = {0};
  memcpy(t, p, (size_t)n * sizeof *t);
  return vld1q_f32(t);
}
static CEL_ALWAYS_INLINE void store_first4(float *p, int64_t n, float32x4_t v) {
  float t[4];
  vst1q_f32(t, v);
  memcpy(p, t, (size_t)n * sizeof *t);
}

// Element i of a sum of eight lanes goes to lane i % 8.
typedef struct vec8 {
  float32x4_t low, high;
} vec8;

static CEL_ALWAYS_INLINE vec8 zero8(void) { return (vec8){set4(0), set4(0)}; }
static CEL_ALWAYS_INLINE vec8 load8(const float *p) { return (vec8){vld1q_f32(p), vld1q_f32(p + 4)}; }
static CEL_ALWAYS_INLINE void store8(float *p, vec8 v) {
  vst1q_f32(p, v.low);
  vst1q_f32(p + 4, v.high);
}
// The first n of eight floats; all of them where there are more.
static CEL_ALWAYS_INLINE vec8 load_first8(const float *p, int64_t n) {
  if (n >= 8) return load8(p);
  if (n <= 4) return (vec8){load_first4(p, n), set4(0)};
  return (vec8){vld1q_f32(p), load_first4(p + 4, n - 4)};
}
static CEL_ALWAYS_INLINE void store_first8(float *p, int64_t n, vec8 v) {
  if (n >= 8) {
    store8(p, v);
    return;
  }
  if (n >= 4) vst1q_f32(p, v.low);
  else store_first4(p, n, v.low);
  if (n > 4) store_first4(p + 4, n - 4, v.high);
}
static CEL_ALWAYS_INLINE vec8 mul8(vec8 a, float b) { return (vec8){vmulq_n_f32(a.low, b), vmulq_n_f32(a.high, b)}; }
// y + a * b, fused.
static CEL_ALWAYS_INLINE vec8 fma8(vec8 y, vec8 a, vec8 b) {
  return (vec8){vfmaq_f32(y.low, a.low, b.low), vfmaq_f32(y.high, a.high, b.high)};
}
static CEL_ALWAYS_INLINE vec8 fma8_by(vec8 y, vec8 a, float b) {
  return (vec8){vfmaq_n_f32(y.low, a.low, b), vfmaq_n_f32(y.high, a.high, b)};
}

// ((l0 + l4) + (l2 + l6)) + ((l1 + l5) + (l3 + l7)).
static CEL_ALWAYS_INLINE float reduce8(vec8 v) {
  const float32x4_t h = vaddq_f32(v.low, v.high);
  return vpadds_f32(vadd_f32(vget_low_f32(h), vget_high_f32(h)));
}
// The same of two: their pairs of sums.
static CEL_ALWAYS_INLINE float32x4_t reduce_pair(vec8 a, vec8 b) {
  const float64x2_t x = vreinterpretq_f64_f32(vaddq_f32(a.low, a.high)), y = vreinterpretq_f64_f32(vaddq_f32(b.low, b.high));
  return vaddq_f32(vreinterpretq_f32_f64(vzip1q_f64(x, y)), vreinterpretq_f32_f64(vzip2q_f64(x, y)));
}
static CEL_ALWAYS_INLINE float32x4_t reduce8x4(vec8 a, vec8 b, vec8 c, vec8 d) {
  return vpaddq_f32(reduce_pair(a, b), reduce_pair(c, d));
}

// x = n ln 2 + r, |r| <= ln 2 / 2; e^r = 1 + r + r^2 q(r), q fitted to 2e-8. 2^n in two factors, so that
// results reach down through the subnormals and up to infinity. NaN passes.
static CEL_ALWAYS_INLINE float32x4_t exp4(float32x4_t x) {
  x = vminq_f32(vmaxq_f32(x, set4(-104.0f)), set4(89.0f));  // NaN when either is
  const float32x4_t n = vrndnq_f32(vmulq_n_f32(x, 0x1.715476p+0f));
  float32x4_t r = vfmsq_f32(x, n, set4(0x1.62e4p-1f));  // ln 2 in two parts; the first product is exact
  r = vfmsq_f32(r, n, set4(0x1.7f7d1cp-20f));
  float32x4_t q = set4(0x1.6d4366p-10f);
  q = vfmaq_f32(set4(0x1.120ba6p-7f), q, r);
  q = vfmaq_f32(set4(0x1.5554e8p-5f), q, r);
  q = vfmaq_f32(set4(0x1.5554dcp-3f), q, r);
  q = vfmaq_f32(set4(0.5f), q, r);
  q = vfmaq_f32(r, vmulq_f32(q, r), r);
  q = vaddq_f32(q, set4(1.0f));
  const int32x4_t i = vcvtq_s32_f32(n), half = vshrq_n_s32(i, 1), rest = vsubq_s32(i, half), bias = vdupq_n_s32(127);
  const float32x4_t f = vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(half, bias), 23));
  const float32x4_t g = vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(rest, bias), 23));
  return vmulq_f32(vmulq_f32(q, f), g);
}

static CEL_ALWAYS_INLINE uint32x4_t sign4(float32x4_t x) {
  return vandq_u32(vreinterpretq_u32_f32(x), vdupq_n_u32(0x80000000u));
}

// e = exp(-|x|): 1 / (1 + e) for x >= 0, e / (1 + e) for x < 0, small results kept.
static CEL_ALWAYS_INLINE float32x4_t logistic4(float32x4_t x) {
  const float32x4_t e = exp4(vnegq_f32(vabsq_f32(x)));
  const float32x4_t top = vbslq_f32(vcltzq_s32(vreinterpretq_s32_f32(x)), e, set4(1.0f));
  return vdivq_f32(top, vaddq_f32(set4(1.0f), e));
}

// |x| < 0.625: x + x^3 t(x^2), fitted to 2e-8; else 1 - 2 / (1 + e^2x) with the sign of x.
static CEL_ALWAYS_INLINE float32x4_t tanh4(float32x4_t x) {
  const float32x4_t a = vabsq_f32(x), z = vmulq_f32(x, x);
  float32x4_t t = set4(0.0022958412300795317f);
  t = vfmaq_f32(set4(-0.008346980437636375f), t, z);
  t = vfmaq_f32(set4(0.021769961342215538f), t, z);
  t = vfmaq_f32(set4(-0.05395940691232681f), t, z);
  t = vfmaq_f32(set4(0.13333304226398468f), t, z);
  t = vfmaq_f32(set4(-0.3333333432674408f), t, z);
  const float32x4_t near = vfmaq_f32(x, vmulq_f32(t, z), x);
  const float32x4_t e = exp4(vaddq_f32(a, a));
  float32x4_t far = vsubq_f32(set4(1.0f), vdivq_f32(set4(2.0f), vaddq_f32(set4(1.0f), e)));
  far = vreinterpretq_f32_u32(vorrq_u32(vreinterpretq_u32_f32(far), sign4(x)));
  return vbslq_f32(vcltq_f32(a, set4(0.625f)), near, far);
}

#endif
