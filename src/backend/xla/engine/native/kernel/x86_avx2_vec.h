// Eight-lane functions: exp within 1 ulp, logistic and tanh within 3. Internal to kernel/.
#ifndef CEL_XLA_NATIVE_KERNEL_X86_AVX2_VEC_H
#define CEL_XLA_NATIVE_KERNEL_X86_AVX2_VEC_H

#include <stdint.h>
#include <string.h>

#include "backend/xla/engine/native/kernel/x86_intrinsics.h"
#include "base/macros.h"

static CEL_ALWAYS_INLINE __m256 set8(float x) { return _mm256_set1_ps(x); }

// Here the value is in a register: else compilers regroup an unrolled sum, gather all its products first, and spill.
static CEL_ALWAYS_INLINE __m256i settled(__m256i v) {
  __asm__("" : "+x"(v));
  return v;
}

// The first n (0..8) floats, zeros behind them; reads no further.
static CEL_ALWAYS_INLINE __m256i first_lanes(int64_t n) {
  __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), lane);
}
static CEL_ALWAYS_INLINE __m256 load_first(const float *p, int64_t n) { return _mm256_maskload_ps(p, first_lanes(n)); }
static CEL_ALWAYS_INLINE void store_first(float *p, int64_t n, __m256 v) { _mm256_maskstore_ps(p, first_lanes(n), v); }

// x = n ln 2 + r, |r| <= ln 2 / 2; e^r = 1 + r + r^2 q(r), q fitted to 2e-8. 2^n in two factors, so that
// results reach down through the subnormals and up to infinity. NaN passes.
static CEL_ALWAYS_INLINE __m256 exp8(__m256 x) {
  x = _mm256_max_ps(set8(-104.0f), x);  // second operand when either is NaN
  x = _mm256_min_ps(set8(89.0f), x);
  __m256 n = _mm256_round_ps(_mm256_mul_ps(x, set8(0x1.715476p+0f)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m256 r = _mm256_fnmadd_ps(n, set8(0x1.62e4p-1f), x);  // ln 2 in two parts; the first product is exact
  r = _mm256_fnmadd_ps(n, set8(0x1.7f7d1cp-20f), r);
  __m256 q = set8(0x1.6d4366p-10f);
  q = _mm256_fmadd_ps(q, r, set8(0x1.120ba6p-7f));
  q = _mm256_fmadd_ps(q, r, set8(0x1.5554e8p-5f));
  q = _mm256_fmadd_ps(q, r, set8(0x1.5554dcp-3f));
  q = _mm256_fmadd_ps(q, r, set8(0.5f));
  q = _mm256_fmadd_ps(_mm256_mul_ps(q, r), r, r);
  q = _mm256_add_ps(q, set8(1.0f));
  __m256i i = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(i, 1), rest = _mm256_sub_epi32(i, half);
  __m256i bias = _mm256_set1_epi32(127);
  __m256 f = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(half, bias), 23));
  __m256 g = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(rest, bias), 23));
  return _mm256_mul_ps(_mm256_mul_ps(q, f), g);
}

static CEL_ALWAYS_INLINE __m256 abs8(__m256 x) { return _mm256_andnot_ps(set8(-0.0f), x); }

// e = exp(-|x|): 1 / (1 + e) for x >= 0, e / (1 + e) for x < 0, small results kept.
static CEL_ALWAYS_INLINE __m256 logistic8(__m256 x) {
  __m256 e = exp8(_mm256_or_ps(x, set8(-0.0f)));
  __m256 top = _mm256_blendv_ps(set8(1.0f), e, x);
  return _mm256_div_ps(top, _mm256_add_ps(set8(1.0f), e));
}

// |x| < 0.625: x + x^3 t(x^2), fitted to 2e-8; else 1 - 2 / (1 + e^2x) with the sign of x.
static CEL_ALWAYS_INLINE __m256 tanh8(__m256 x) {
  __m256 a = abs8(x), z = _mm256_mul_ps(x, x);
  __m256 t = set8(0.0022958412300795317f);
  t = _mm256_fmadd_ps(t, z, set8(-0.008346980437636375f));
  t = _mm256_fmadd_ps(t, z, set8(0.021769961342215538f));
  t = _mm256_fmadd_ps(t, z, set8(-0.05395940691232681f));
  t = _mm256_fmadd_ps(t, z, set8(0.13333304226398468f));
  t = _mm256_fmadd_ps(t, z, set8(-0.3333333432674408f));
  __m256 near = _mm256_fmadd_ps(_mm256_mul_ps(t, z), x, x);
  __m256 e = exp8(_mm256_add_ps(a, a));
  __m256 far = _mm256_sub_ps(set8(1.0f), _mm256_div_ps(set8(2.0f), _mm256_add_ps(set8(1.0f), e)));
  far = _mm256_or_ps(far, _mm256_and_ps(x, set8(-0.0f)));
  return _mm256_blendv_ps(far, near, _mm256_cmp_ps(a, set8(0.625f), _CMP_LT_OQ));
}

// ((l0 + l4) + (l2 + l6)) + ((l1 + l5) + (l3 + l7)).
static CEL_ALWAYS_INLINE float reduce8(__m256 v) {
  __m128 h = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  h = _mm_add_ps(h, _mm_movehl_ps(h, h));
  return _mm_cvtss_f32(_mm_add_ss(h, _mm_movehdup_ps(h)));
}

#endif
