// Plain floats to f32. F64 rounds to nearest; the rest is exact.
#include <stdint.h>
#include <string.h>

#include "base/half.h"
#include "model/widen.h"

void cel_widen_f32(const void *src, float *dst, int64_t n) {
  if (n > 0) memcpy(dst, src, (size_t)n * 4);
}

void cel_widen_f16(const void *src, float *dst, int64_t n) {
  const uint8_t *p = src;
  for (int64_t i = 0; i < n; i++) dst[i] = cel_f16_to_f32(cel_load_u16(p + 2 * i));
}

void cel_widen_bf16(const void *src, float *dst, int64_t n) {
  const uint8_t *p = src;
  for (int64_t i = 0; i < n; i++) dst[i] = cel_bf16_to_f32(cel_load_u16(p + 2 * i));
}

void cel_widen_f64(const void *src, float *dst, int64_t n) {
  const uint8_t *p = src;
  for (int64_t i = 0; i < n; i++) {
    double x;
    memcpy(&x, p + 8 * i, 8);
    dst[i] = (float)x;
  }
}
