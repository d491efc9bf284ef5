// MLX's floating modes. Scales are powers of two, rounded up so that nothing saturates, or E4M3 numbers (nvfp4).
#include <math.h>

#include "base/half.h"
#include "model/widen.h"
#include "model/write/quantize.h"

static float rounded(float x, cel_dtype type) {
  cel_round_to(&x, type, 1);
  return x;
}

// Nearest E4M3 (bias 7, largest 448), ties to even, saturating.
static uint8_t to_e4m3(float x) {
  uint32_t u = cel_f32_bits(x), sign = u >> 31 << 7, a = u & 0x7FFFFFFFu;
  if (a >= cel_f32_bits(480)) return (uint8_t)(sign | 0x7E);
  if (a < cel_f32_bits(0x1p-6f)) {  // subnormal: steps of 2^-9; adding 2^14 rounds to them
    float t = cel_f32_from_bits(a) + 0x1p14f;
    return (uint8_t)(sign | (cel_f32_bits(t) - cel_f32_bits(0x1p14f)));
  }
  a += 0x7FFFF + (a >> 20 & 1);
  return (uint8_t)(sign | ((a >> 20) - (120 << 3)));
}

static float of_e4m3(uint8_t b) {
  float x;
  cel_widen_f8_e4m3(&b, &x, 1);
  return x;
}

// Nearest E2M1, of two equally near the one nearer to zero, as a search through the list of values finds it. Zero has no
// sign. (The reference's distances are rounded to the weight's type; that changes no decision.)
static uint8_t to_e2m1(float x) {
  float a = fabsf(x);
  int i = (a > 0.25f) + (a > 0.75f) + (a > 1.25f) + (a > 1.75f) + (a > 2.5f) + (a > 3.5f) + (a > 5.0f);
  return (uint8_t)(i && x < 0 ? i | 8 : i);
}

// Exponent byte of the least power of two that is not below x. (The logarithm is f32's, whatever type the weight has.)
static uint8_t power_above(float x) {
  if (x == 0) return 127;
  return (uint8_t)(fminf(fmaxf(ceilf(log2f(x)), -127), 127) + 127);
}

static float of_power(uint8_t b) { return b ? cel_f32_from_bits((uint32_t)b << 23) : 0x1p-127f; }

static float largest(const float *x, int n) {
  float most = 0;
  for (int i = 0; i < n; i++) most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
  return most;
}

void cel_quantize_micro(const float *src, int64_t cols, int bits, int group, cel_dtype value_type, void *packed,
                        void *scales) {
  uint8_t *out = packed, *s = scales;
  const float top = bits == 8 ? 448.0f : 6.0f;
  for (int64_t at = 0; at < cols; at += group, s++) {
    const float *x = src + at;
    float share = rounded(largest(x, group) / top, value_type);
    *s = group == 16 ? to_e4m3(share) : power_above(share);
    float scale = group == 16 ? of_e4m3(*s) : of_power(*s);
    for (int i = 0; i < group; i++) {
      float v = scale == 0 ? 0 : rounded(x[i] / scale, value_type);
      if (bits == 8) *out++ = to_e4m3(v);
      else if (i % 2 == 0) *out = to_e2m1(v);
      else *out = (uint8_t)(*out | to_e2m1(v) << 4), out++;
    }
  }
}
