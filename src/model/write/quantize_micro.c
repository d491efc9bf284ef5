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

// Nearest E2M1, of two equally near the one nearer to zero, as a search through the list of values finds it; distances
// have the weight's type. Zero has no sign.
static uint8_t to_e2m1(float x, cel_dtype type) {
  static const float values[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  float a = fabsf(x), least = rounded(a, type);
  uint8_t best = 0;
  for (uint8_t i = 1; i < 8; i++) {
    float d = rounded(fabsf(a - values[i]), type);
    if (d < least) least = d, best = i;
  }
  return best ? (uint8_t)(best | (x < 0 ? 8 : 0)) : 0;
}

// Exponent byte of the least power of two that is not below x, as the logarithm in the weight's type has it.
static uint8_t power_above(float x, cel_dtype type) {
  if (x == 0) return 127;
  float e = ceilf(rounded(log2f(x), type));
  return (uint8_t)(fminf(fmaxf(e, -127), 127) + 127);
}

static float of_power(uint8_t b) { return b ? cel_f32_from_bits((uint32_t)b << 23) : 0x1p-127f; }

static float largest(const float *x, int n) {
  float most = 0;
  for (int i = 0; i < n; i++) most = fmaxf(most, fabsf(x[i]));
  return most;
}

void cel_quantize_micro(const float *src, int64_t cols, int bits, int group, cel_dtype value_type, void *packed,
                        void *scales) {
  uint8_t *out = packed, *s = scales;
  const float top = bits == 8 ? 448.0f : 6.0f;
  for (int64_t at = 0; at < cols; at += group, s++) {
    const float *x = src + at;
    float share = rounded(largest(x, group) / top, value_type);
    *s = group == 16 ? to_e4m3(share) : power_above(share, value_type);
    float scale = group == 16 ? of_e4m3(*s) : of_power(*s);
    for (int i = 0; i < group; i++) {
      float v = scale == 0 ? 0 : rounded(x[i] / scale, value_type);
      if (bits == 8) *out++ = to_e4m3(v);
      else if (i % 2 == 0) *out = to_e2m1(v, value_type);
      else *out = (uint8_t)(*out | to_e2m1(v, value_type) << 4), out++;
    }
  }
}
