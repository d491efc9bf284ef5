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

// To the nearest integer up to 127 (the inverse of a subnormal scale may be infinite), ties away from zero.
static uint8_t nearest(float v) {
  float a = fabsf(v) < 127 ? fabsf(v) : 127;
  int q = (int)a;
  q += a - (float)q >= 0.5f;
  return (uint8_t)(int8_t)(v < 0 ? -q : q);
}

void cel_quantize_q8_0(const float *src, void *dst, int64_t n) {
  uint8_t *out = dst;
  for (const float *x = src; x < src + n; x += BLOCK) {
    float most = 0;
    for (int i = 0; i < BLOCK; i++) most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
    float d = most / 127, inverse = d == 0 ? 0 : 1 / d;
    out = put_scale(d, out);
    for (int i = 0; i < BLOCK; i++) *out++ = nearest(x[i] * inverse);
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
    for (int i = 0; i < BLOCK; i++) {
      float v = x[i] * inverse + 8.5f;
      q[i] = (uint8_t)(v < 15 ? v > 0 ? v : 0 : 15);
    }
    for (int i = 0; i < BLOCK / 2; i++) *out++ = (uint8_t)(q[i] | q[i + BLOCK / 2] << 4);
  }
}
