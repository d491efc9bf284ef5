// 16-bit floats and f32, exact in both directions: round to nearest, ties to even; NaN stays NaN (its
// quiet bit set), subnormals are kept.
#ifndef CEL_BASE_HALF_H
#define CEL_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline float cel_f32_from_bits(uint32_t u) {
  float f;
  memcpy(&f, &u, 4);
  return f;
}
static inline uint32_t cel_f32_bits(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  return u;
}

static inline float cel_bf16_to_f32(uint16_t h) { return cel_f32_from_bits((uint32_t)h << 16); }

static inline uint16_t cel_f32_to_bf16(float f) {
  uint32_t u = cel_f32_bits(f);
  if ((u & 0x7FFFFFFFu) > 0x7F800000u) return (uint16_t)(u >> 16 | 0x40);
  return (uint16_t)((u + 0x7FFFu + (u >> 16 & 1)) >> 16);
}

static inline float cel_f16_to_f32(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, exp = h >> 10 & 31, man = h & 0x3FF;
  if (exp == 31) return cel_f32_from_bits(sign | 0x7F800000u | man << 13 | (man ? 0x400000u : 0));
  if (exp) return cel_f32_from_bits(sign | (exp + 112) << 23 | man << 13);
  float small = (float)man * 0x1p-24f;  // exact: man < 2^10
  return cel_f32_from_bits(sign | cel_f32_bits(small));
}

static inline uint16_t cel_f32_to_f16(float f) {
  uint32_t u = cel_f32_bits(f), sign = u >> 16 & 0x8000, a = u & 0x7FFFFFFFu;
  if (a > 0x7F800000u) return (uint16_t)(sign | 0x7E00 | (a >> 13 & 0x3FF));
  if (a >= 0x477FF000u) return (uint16_t)(sign | 0x7C00);  // 65520 and up round to infinity
  if (a < 0x38800000u) {                                   // below 2^-14: subnormal or zero
    float t = cel_f32_from_bits(a) + 0.5f;                 // ulp of [0.5, 1) is 2^-24: the add rounds
    return (uint16_t)(sign | (cel_f32_bits(t) - 0x3F000000u));
  }
  return (uint16_t)(sign | ((a + 0xFFFu + (a >> 13 & 1)) - 0x38000000u) >> 13);
}

#endif
