// The widening functions that dtype.def names; reached through cel_dtype_of(t)->widen. Sources may lie at
// any address; n is a multiple of the format's block.
#ifndef CEL_MODEL_WIDEN_H
#define CEL_MODEL_WIDEN_H

#include <stdint.h>
#include <string.h>

static inline uint16_t cel_load_u16(const void *p) {
  const uint8_t *b = p;
  return (uint16_t)(b[0] | b[1] << 8);
}
static inline uint32_t cel_load_u32(const void *p) {
  const uint8_t *b = p;
  return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}
static inline uint64_t cel_load_u64(const void *p) {
  return (uint64_t)cel_load_u32(p) | (uint64_t)cel_load_u32((const uint8_t *)p + 4) << 32;
}

// The 6-bit scale and minimum of sub-block g of 8, from the 12 bytes that Q4_K and Q5_K share: bytes 0-3
// hold scales 0-3 and bytes 4-7 minima 0-3 in six bits each; their top two bits, with the nibbles of bytes
// 8-11, make scales and minima 4-7.
static inline void cel_k_scale_and_min(const uint8_t s[12], int g, int *scale, int *min) {
  if (g < 4) {
    *scale = s[g] & 63;
    *min = s[g + 4] & 63;
  } else {
    *scale = (s[g + 4] & 15) | (s[g - 4] >> 6) << 4;
    *min = s[g + 4] >> 4 | (s[g] >> 6) << 4;
  }
}

void cel_widen_f32(const void *src, float *dst, int64_t n);
void cel_widen_f16(const void *src, float *dst, int64_t n);
void cel_widen_bf16(const void *src, float *dst, int64_t n);
void cel_widen_f64(const void *src, float *dst, int64_t n);
void cel_widen_q4_0(const void *src, float *dst, int64_t n);
void cel_widen_q4_1(const void *src, float *dst, int64_t n);
void cel_widen_q5_0(const void *src, float *dst, int64_t n);
void cel_widen_q5_1(const void *src, float *dst, int64_t n);
void cel_widen_q8_0(const void *src, float *dst, int64_t n);
void cel_widen_q4_k(const void *src, float *dst, int64_t n);
void cel_widen_q5_k(const void *src, float *dst, int64_t n);
void cel_widen_q6_k(const void *src, float *dst, int64_t n);
void cel_widen_q2_k(const void *src, float *dst, int64_t n);
void cel_widen_q3_k(const void *src, float *dst, int64_t n);
void cel_widen_tq1_0(const void *src, float *dst, int64_t n);
void cel_widen_tq2_0(const void *src, float *dst, int64_t n);
void cel_widen_iq4_nl(const void *src, float *dst, int64_t n);
void cel_widen_iq4_xs(const void *src, float *dst, int64_t n);
void cel_widen_mxfp4(const void *src, float *dst, int64_t n);
void cel_widen_q8_1(const void *src, float *dst, int64_t n);
void cel_widen_q8_k(const void *src, float *dst, int64_t n);
void cel_widen_f8_e4m3(const void *src, float *dst, int64_t n);
void cel_widen_f8_e5m2(const void *src, float *dst, int64_t n);

#endif
