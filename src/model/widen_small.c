// GGUF blocks of two to four bits and of tables, to f32; written like widen_blocks.c, and Q8_1 and Q8_K, which
// GGUF has types for though no published file stores weights in them.
#include <math.h>
#include <stdint.h>

#include "base/half.h"
#include "model/widen.h"

enum { QK = 32, QK_K = 256 };

static float half_at(const uint8_t *p) { return cel_f16_to_f32(cel_load_u16(p)); }

// Two bits of element i of a 256-block held in 64 bytes: two runs of 32 bytes, four bit pairs each.
static int two_bits(const uint8_t *qs, int i) { return qs[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2) & 3; }

// 16 bytes: scale in the low nibble, minimum in the high one | 64 bytes of bit pairs | d f16 | dmin f16.
// d * scale * q - dmin * min, both per 16 elements
void cel_widen_q2_k(const void *src, float *dst, int64_t n) {
  const uint8_t *p = src;
  for (int64_t b = 0; b < n; b += QK_K, p += 84, dst += QK_K) {
    float d = half_at(p + 80), dmin = half_at(p + 82);
    for (int i = 0; i < QK_K; i++) {
      float scale = d * (float)(p[i / 16] & 15), min = dmin * (float)(p[i / 16] >> 4);
      dst[i] = scale * (float)two_bits(p + 16, i) - min;
    }
  }
}

// Scale g of 16 in Q3_K's 12 bytes: low nibbles of bytes 0-7 are scales 0-7, high ones 8-15; bytes 8-11 hold
// the upper bit pairs, pair k of byte j for scale 4k + j. Stored with 32 added.
static int q3_scale(const uint8_t *s, int g) {
  int low = g < 8 ? s[g] & 15 : s[g - 8] >> 4, high = s[8 + g % 4] >> (g / 4 * 2) & 3;
  return (low | high << 4) - 32;
}

// 32 bytes: bit k of byte j is the third bit of element 32k + j | 64 bytes of bit pairs | 12 bytes of scales |
// d f16. d * scale * (q - 4 unless the third bit is set)
void cel_widen_q3_k(const void *src, float *dst, int64_t n) {
  const uint8_t *p = src;
  for (int64_t b = 0; b < n; b += QK_K, p += 110, dst += QK_K) {
    float d = half_at(p + 108);
    for (int i = 0; i < QK_K; i++) {
      int third = p[i % 32] >> (i / 32) & 1;
      float scale = d * (float)q3_scale(p + 96, i / 16);
      dst[i] = scale * (float)(two_bits(p + 32, i) - (third ? 0 : 4));
    }
  }
}

// Five base-3 digits in a byte, the first one topmost: digit k is what 3^(k + 1) carries over 2^8.
static int digit(uint8_t q, int k) {
  static const uint8_t power[5] = {1, 3, 9, 27, 81};
  return ((uint8_t)(q * power[k]) * 3) >> 8;
}

// 48 + 4 bytes of digits | d f16. Bytes 0-31 hold elements 0-159 (digit k of byte j: 32k + j), bytes 32-47
// 160-239, bytes 48-51 240-255. d * (digit - 1)
void cel_widen_tq1_0(const void *src, float *dst, int64_t n) {
  const uint8_t *p = src;
  for (int64_t b = 0; b < n; b += QK_K, p += 54, dst += QK_K) {
    float d = half_at(p + 52);
    for (int i = 0; i < 160; i++) dst[i] = d * (float)(digit(p[i % 32], i / 32) - 1);
    for (int i = 0; i < 80; i++) dst[160 + i] = d * (float)(digit(p[32 + i % 16], i / 16) - 1);
    for (int i = 0; i < 16; i++) dst[240 + i] = d * (float)(digit(p[48 + i % 4], i / 4) - 1);
  }
}

// 64 bytes of bit pairs | d f16. d * (q - 1)
void cel_widen_tq2_0(const void *src, float *dst, int64_t n) {
  const uint8_t *p = src;
  for (int64_t b = 0; b < n; b += QK_K, p += 66, dst += QK_K) {
    float d = half_at(p + 64);
    for (int i = 0; i < QK_K; i++) dst[i] = d * (float)(two_bits(p, i) - 1);
  }
}

static const int8_t nl_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

// d f16 | nibbles as in Q4_0, which choose among 16 values
void cel_widen_iq4_nl(const void *src, float *dst, int64_t n) {
  const uint8_t *p = src;
  for (int64_t b = 0; b < n; b += QK, p += 18, dst += QK) {
    float d = half_at(p);
    for (int j = 0; j < QK / 2; j++) {
      dst[j] = d * (float)nl_values[p[2 + j] & 15];
      dst[j + QK / 2] = d * (float)nl_values[p[2 + j] >> 4];
    }
  }
}

// d f16 | upper bit pairs of 8 scales u16 | their nibbles, 4 bytes | 8 times 16 bytes as in IQ4_NL.
// d * (scale - 32) * value
void cel_widen_iq4_xs(const void *src, float *dst, int64_t n) {
  const uint8_t *p = src;
  for (int64_t b = 0; b < n; b += QK_K, p += 136, dst += QK_K) {
    float d = half_at(p);
    uint16_t high = cel_load_u16(p + 2);
    for (int g = 0; g < 8; g++) {
      int scale = ((p[4 + g / 2] >> (g % 2 * 4) & 15) | (high >> (2 * g) & 3) << 4) - 32;
      float dl = d * (float)scale;
      const uint8_t *q = p + 8 + g * 16;
      for (int j = 0; j < 16; j++) {
        dst[g * QK + j] = dl * (float)nl_values[q[j] & 15];
        dst[g * QK + 16 + j] = dl * (float)nl_values[q[j] >> 4];
      }
    }
  }
}

// One byte: exponent, 2^(e - 127) | nibbles as in Q4_0, E2M1 numbers
void cel_widen_mxfp4(const void *src, float *dst, int64_t n) {
  static const int8_t twice[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  const uint8_t *p = src;
  for (int64_t b = 0; b < n; b += QK, p += 17, dst += QK) {
    // Half of the scale, since the table holds twice the values: exact, the two lowest ones are subnormal.
    float d = cel_f32_from_bits(p[0] < 2 ? 0x00200000u << p[0] : (uint32_t)(p[0] - 1) << 23);
    for (int j = 0; j < QK / 2; j++) {
      dst[j] = d * (float)twice[p[1 + j] & 15];
      dst[j + QK / 2] = d * (float)twice[p[1 + j] >> 4];
    }
  }
}

// d f16 | the block's sum times d, f16 (for dot products; not needed here) | 32 signed bytes
void cel_widen_q8_1(const void *src, float *dst, int64_t n) {
  const uint8_t *p = src;
  for (int64_t b = 0; b < n; b += QK, p += 36, dst += QK) {
    float d = half_at(p);
    for (int j = 0; j < QK; j++) dst[j] = (float)(int8_t)p[4 + j] * d;
  }
}

// d f32 | 256 signed bytes | 16 sums i16
void cel_widen_q8_k(const void *src, float *dst, int64_t n) {
  const uint8_t *p = src;
  for (int64_t b = 0; b < n; b += QK_K, p += 292, dst += QK_K) {
    float d = cel_f32_from_bits(cel_load_u32(p));
    for (int j = 0; j < QK_K; j++) dst[j] = d * (float)(int8_t)p[4 + j];
  }
}

// Eight-bit floats: sign, exponent, mantissa (OCP 8-bit floating point, 2023). E4M3 has no infinities and one
// NaN; E5M2 is the upper half of an f16.
static float e4m3(uint8_t v) {
  int exponent = v >> 3 & 15, mantissa = v & 7;
  float x = exponent ? ldexpf((float)(8 + mantissa), exponent - 10) : ldexpf((float)mantissa, -9);
  if ((v & 127) == 127) x = cel_f32_from_bits(0x7FC00000u);
  return v & 128 ? -x : x;
}

void cel_widen_f8_e4m3(const void *src, float *dst, int64_t n) {
  const uint8_t *p = src;
  for (int64_t i = 0; i < n; i++) dst[i] = e4m3(p[i]);
}

void cel_widen_f8_e5m2(const void *src, float *dst, int64_t n) {
  const uint8_t *p = src;
  for (int64_t i = 0; i < n; i++) dst[i] = cel_f16_to_f32((uint16_t)(p[i] << 8));
}
