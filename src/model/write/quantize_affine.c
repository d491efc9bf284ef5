// Affine quantization: a group's extreme of larger magnitude is made exactly representable, the rest is rounded to
// 2^bits levels between the two extremes. All in f32, scale and bias rounded to their type at the end.
#include <math.h>

#include "base/half.h"
#include "base/macros.h"
#include "model/write/quantize.h"

static void put(void *dst, int64_t i, cel_dtype type, float x) {
  cel_narrow(&x, type, (uint8_t *)dst + i * cel_dtype_of(type)->block_bytes, 1);
}

typedef struct level { float scale, bias; } level;

static level fit(const float *x, int n, float top) {
  float lo = x[0], hi = x[0], bias = 0;
  for (int i = 1; i < n; i++) {
    lo = x[i] < lo ? x[i] : lo;
    hi = x[i] > hi ? x[i] : hi;
  }
  bool low_edge = fabsf(lo) > fabsf(hi);
  float scale = fmaxf((hi - lo) / top, 1e-7f), edge = low_edge ? lo : hi;
  if (!low_edge) scale = -scale;
  float steps = rintf(edge / scale);
  if (steps != 0) {
    scale = edge / steps;
    bias = edge;
  }
  return (level){scale, bias};
}

// To the nearest of 0 .. top, ties to even: the sum has no bits behind the point.
static uint8_t nearest(float v, float top) {
  v = v > 0 ? v : 0;
  v = v < top ? v : top;
  return (uint8_t)(v + 0x1p23f - 0x1p23f);
}

// Appends the low `bits` of q[n] to a little-endian bit stream; n * bits is a multiple of 8.
static uint8_t *pack(const uint8_t *q, int n, int bits, uint8_t *out) {
  uint32_t held = 0;
  int have = 0;
  for (int i = 0; i < n; i++) {
    held |= (uint32_t)q[i] << have;
    for (have += bits; have >= 8; have -= 8, held >>= 8) *out++ = (uint8_t)held;
  }
  return out;
}

void cel_quantize_affine(const float *src, int64_t cols, int bits, int group, cel_dtype scale_type, void *packed,
                         void *scales, void *biases) {
  enum { GROUP_MOST = 128 };
  uint8_t q[GROUP_MOST], *out = packed;
  const float top = (float)((1 << bits) - 1);
  for (int64_t at = 0; at < cols; at += group) {
    const float *x = src + at;
    level l = fit(x, group, top);
    for (int i = 0; i < group; i++) q[i] = nearest((x[i] - l.bias) / l.scale, top);
    out = pack(q, group, bits, out);
    put(scales, at / group, scale_type, l.scale);
    put(biases, at / group, scale_type, l.bias);
  }
}
