// Weights of a softmax over a vocabulary. Portable and vectorized by compilers: a polynomial instead of libm's expf, sums in an order
// that depends on nothing, so that a seed draws the same tokens on every machine.
#ifndef CEL_SAMPLE_SOFTMAX_H
#define CEL_SAMPLE_SOFTMAX_H

#include <stdint.h>

#include "base/half.h"

// exp(z) for z <= 0, within 2e-7 of it; 0 below -87, where floats lose their precision. Range reduction by multiples of ln 2 as in
// Cody and Waite, 1980; Taylor's polynomial of degree 7 for the rest, |r| <= ln 2 / 2. Compares integers, not floats: loops of it
// vectorize.
static inline float cel_softmax_weight(float z) {
  const float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number, in the low bits
  const int32_t most = 0x42AE0000;  // 87
  const int32_t size = (int32_t)(cel_f32_bits(z) & 0x7FFFFFFFu), bounded = size < most ? size : most;
  const float x = -cel_f32_from_bits((uint32_t)bounded);
  const float rounded = x * 1.44269504f + magic, k = rounded - magic;
  const float r = x - k * 0.693359375f + k * 2.12194440e-4f;
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const uint32_t power = (cel_f32_bits(rounded) + 127u) << 23;  // magic's own bits are shifted out
  return p * cel_f32_from_bits(power & -(uint32_t)(size <= most));
}

// Sum of exp((x - max) / temperature), max being the largest of x[n]; elements may be -infinity. Pure.
double cel_softmax_mass(const float *x, int64_t n, float max, float temperature);
// Where u in [0, 1) falls, elements side by side in their order, each as wide as its weight. Pure.
int64_t cel_softmax_draw(const float *x, int64_t n, float max, float temperature, double u);

#endif
