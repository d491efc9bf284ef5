// GGUF blocks to f32. Each format's comment gives the block, byte by byte, and the value of an element;
// products and sums round one after the other in f32, as the gguf package computes them.
#include <stdint.h>

#include "base/half.h"
#include "model/widen.h"

enum { QK = 32, QK_K = 256 };

static float half_at(const uint8_t *p) { return cel_f16_to_f32(cel_load_u16(p)); }

// d f16 | 16 bytes: element j in the low nibble of byte j, element j + 16 in the high one. d * (q - 8)
void cel_widen_q4_0(const void *src, float *dst, int64_t n) {
  const uint8_t *p = src;
  for (int64_t b = 0; b < n; b += QK, p += 18, dst += QK) {
    float d = half_at(p);
    for (int j = 0; j < QK / 2; j++) {
      dst[j] = d * (float)((p[2 + j] & 15) - 8);
      dst[j + QK / 2] = d * (float)((p[2 + j] >> 4) - 8);
    }
  }
}

// d f16 | m f16 | nibbles as in Q4_0. d * q + m
void cel_widen_q4_1(const void *src, float *dst, int64_t n) {
  const uint8_t *p = src;
  for (int64_t b = 0; b < n; b += QK, p += 20, dst += QK) {
    float d = half_at(p), m = half_at(p + 2);
    for (int j = 0; j < QK / 2; j++) {
      dst[j] = d * (float)(p[4 + j] & 15) + m;
      dst[j + QK / 2] = d * (float)(p[4 + j] >> 4) + m;
    }
  }
}

// The fifth bit of element j is bit j of `high`.
static int five_bits(const uint8_t *nibbles, uint32_t high, int j) {
  int low = j < QK / 2 ? nibbles[j] & 15 : nibbles[j - QK / 2] >> 4;
  return low | (int)(high >> j & 1) << 4;
}

// d f16 | high bits u32 | nibbles. d * (q - 16)
void cel_widen_q5_0(const void *src, float *dst, int64_t n) {
  const uint8_t *p = src;
  for (int64_t b = 0; b < n; b += QK, p += 22, dst += QK) {
    float d = half_at(p);
    uint32_t high = cel_load_u32(p + 2);
    for (int j = 0; j < QK; j++) dst[j] = d * (float)(five_bits(p + 6, high, j) - 16);
  }
}

// d f16 | m f16 | high bits u32 | nibbles. d * q + m
void cel_widen_q5_1(const void *src, float *dst, int64_t n) {
  const uint8_t *p = src;
  for (int64_t b = 0; b < n; b += QK, p += 24, dst += QK) {
    float d = half_at(p), m = half_at(p + 2);
    uint32_t high = cel_load_u32(p + 4);
    for (int j = 0; j < QK; j++) dst[j] = d * (float)five_bits(p + 8, high, j) + m;
  }
}

// d f16 | 32 signed bytes. q * d
void cel_widen_q8_0(const void *src, float *dst, int64_t n) {
  const uint8_t *p = src;
  for (int64_t b = 0; b < n; b += QK, p += 34, dst += QK) {
    float d = half_at(p);
    for (int j = 0; j < QK; j++) dst[j] = (float)(int8_t)p[2 + j] * d;
  }
}

// d f16 | dmin f16 | 12 bytes of scales | 128 nibble bytes: 32 bytes hold sub-blocks 2c (low) and 2c + 1
// (high). (d * scale) * q - (dmin * min)
void cel_widen_q4_k(const void *src, float *dst, int64_t n) {
  const uint8_t *p = src;
  for (int64_t b = 0; b < n; b += QK_K, p += 144) {
    float d = half_at(p), dmin = half_at(p + 2);
    for (int g = 0; g < 8; g++, dst += 32) {
      const uint8_t *q = p + 16 + g / 2 * 32;
      int scale, min, shift = g % 2 * 4;
      cel_k_scale_and_min(p + 4, g, &scale, &min);
      float ds = d * (float)scale, dm = dmin * (float)min;
      for (int j = 0; j < 32; j++) dst[j] = ds * (float)(q[j] >> shift & 15) - dm;
    }
  }
}

// As Q4_K with 32 bytes of fifth bits before the nibbles: bit g of byte j belongs to element j of
// sub-block g.
void cel_widen_q5_k(const void *src, float *dst, int64_t n) {
  const uint8_t *p = src;
  for (int64_t b = 0; b < n; b += QK_K, p += 176) {
    float d = half_at(p), dmin = half_at(p + 2);
    for (int g = 0; g < 8; g++, dst += 32) {
      const uint8_t *q = p + 48 + g / 2 * 32, *high = p + 16;
      int scale, min, shift = g % 2 * 4;
      cel_k_scale_and_min(p + 4, g, &scale, &min);
      float ds = d * (float)scale, dm = dmin * (float)min;
      for (int j = 0; j < 32; j++) {
        int v = (q[j] >> shift & 15) | (high[j] >> g & 1) << 4;
        dst[j] = ds * (float)v - dm;
      }
    }
  }
}

// 128 bytes of low nibbles | 64 bytes of high pairs | 16 signed scales | d f16. Each half of 128 elements
// is four runs of 32: runs 0, 1 are the low and runs 2, 3 the high nibbles of its 64 bytes, and run r
// takes bits 2r of its 32 high bytes. (d * scale) * (q - 32), one scale per 16 elements
void cel_widen_q6_k(const void *src, float *dst, int64_t n) {
  const uint8_t *p = src;
  for (int64_t b = 0; b < n; b += QK_K, p += 210) {
    float d = half_at(p + 208);
    for (int run = 0; run < 8; run++, dst += 32) {
      int half = run / 4, r = run % 4;
      const uint8_t *low = p + half * 64 + r % 2 * 32, *high = p + 128 + half * 32, *scale = p + 192 + run * 2;
      for (int j = 0; j < 32; j++) {
        int q = (low[j] >> r / 2 * 4 & 15) | (high[j] >> 2 * r & 3) << 4;
        dst[j] = d * (float)(int8_t)scale[j / 16] * (float)(q - 32);
      }
    }
  }
}
