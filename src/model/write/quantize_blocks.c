// GGUF blocks of 32: an f16 scale, then integers.
#include <math.h>

#include "base/half.h"
#include "model/write/quantize.h"

enum { BLOCK = 32 };

static uint8_t *put_scale(float d, uint8_t *out) {
  uint16_t h = cel_f32_to_f16(d);
  *out++ = (uint8_t)h;
  *out++ = (uint8_t)(h >> 8);
  return out;
}

void cel_quantize_q8_0(const float *src, void *dst, int64_t n) {
  uint8_t *out = dst;
  for (const float *x = src; x < src + n; x += BLOCK) {
    float most = 0;
    for (int i = 0; i < BLOCK; i++) most = fmaxf(most, fabsf(x[i]));
    float d = most / 127, inverse = d == 0 ? 0 : 1 / d;
    out = put_scale(d, out);
    for (int i = 0; i < BLOCK; i++) {  // clamped: the inverse of a subnormal scale may be infinite
      float q = roundf(fminf(fmaxf(x[i] * inverse, -127), 127));
      *out++ = (uint8_t)(int8_t)q;
    }
  }
}

// The value of largest magnitude becomes -8 exactly.
void cel_quantize_q4_0(const float *src, void *dst, int64_t n) {
  uint8_t *out = dst, q[BLOCK];
  for (const float *x = src; x < src + n; x += BLOCK) {
    float edge = x[0];
    for (int i = 1; i < BLOCK; i++)
      if (fabsf(x[i]) > fabsf(edge)) edge = x[i];
    float d = edge / -8, inverse = d == 0 ? 0 : 1 / d;
    out = put_scale(d, out);
    for (int i = 0; i < BLOCK; i++) q[i] = (uint8_t)fminf(fmaxf(x[i] * inverse + 8.5f, 0), 15);
    for (int i = 0; i < BLOCK / 2; i++) *out++ = (uint8_t)(q[i] | q[i + BLOCK / 2] << 4);
  }
}
