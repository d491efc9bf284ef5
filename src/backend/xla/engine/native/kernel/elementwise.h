// Template: the elementwise loops, compiled once per instruction set (the compiler vectorizes them). The
// including file defines NAME(kernel). Every operation is rounded once, so all sets give the same bits.
#include <math.h>

#include "backend/xla/engine/native/kernel/kernel.h"
#include "base/half.h"

// Zeros of both signs: max gives +0, min gives -0. A NaN operand makes the sum NaN.
static inline float max_of(float a, float b) {
  if (a > b) return a;
  if (a < b) return b;
  return a == b ? cel_f32_from_bits(cel_f32_bits(a) & cel_f32_bits(b)) : a + b;
}
static inline float min_of(float a, float b) {
  if (a < b) return a;
  if (a > b) return b;
  return a == b ? cel_f32_from_bits(cel_f32_bits(a) | cel_f32_bits(b)) : a + b;
}

#define BINARY(name, value)                                                      \
  void NAME(name)(float *y, const float *a, const float *b, int64_t n) {         \
    for (int64_t i = 0; i < n; i++) y[i] = value;                                \
  }
#define UNARY(name, value)                                                       \
  void NAME(name)(float *y, const float *a, int64_t n) {                         \
    for (int64_t i = 0; i < n; i++) y[i] = value;                                \
  }
BINARY(add, a[i] + b[i])
BINARY(sub, a[i] - b[i])
BINARY(mul, a[i] * b[i])
BINARY(div, a[i] / b[i])
BINARY(max, max_of(a[i], b[i]))
BINARY(min, min_of(a[i], b[i]))
UNARY(neg, -a[i])
UNARY(abs, fabsf(a[i]))
UNARY(sqrt, sqrtf(a[i]))
UNARY(rsqrt, 1.0f / sqrtf(a[i]))
#undef BINARY
#undef UNARY

// One head; y == x or apart.
static inline void rotate_half(float *y, const float *x, const float *cs, const float *sn, int half) {
  for (int j = 0; j < half; j++) {
    float a = x[j], b = x[j + half];
    y[j] = a * cs[j] - b * sn[j];
    y[j + half] = b * cs[j] + a * sn[j];
  }
}
static inline void rotate_pairs(float *y, const float *x, const float *cs, const float *sn, int half) {
  for (int j = 0; j < half; j++) {
    float a = x[2 * j], b = x[2 * j + 1];
    y[2 * j] = a * cs[j] - b * sn[j];
    y[2 * j + 1] = b * cs[j] + a * sn[j];
  }
}

void NAME(rope)(float *y, const float *x, const float *cs, const float *sn, int n_heads, int d, int dims,
                bool interleaved) {
  for (int h = 0; h < n_heads; h++, y += d, x += d) {
    if (interleaved) rotate_pairs(y, x, cs, sn, dims / 2);
    else rotate_half(y, x, cs, sn, dims / 2);
    if (y != x)
      for (int c = dims; c < d; c++) y[c] = x[c];
  }
}
