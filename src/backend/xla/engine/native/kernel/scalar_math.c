// The definition of norms, activations and elementwise kernels. Transcendental functions are libm's in f64,
// rounded once: as near as f32 can be.
#include <math.h>

#include "backend/xla/engine/native/kernel/scalar.h"

#define NAME(kernel) cel_scalar_##kernel
#include "backend/xla/engine/native/kernel/elementwise.h"

static float exp_of(float x) { return (float)exp((double)x); }
static float log_of(float x) { return (float)log((double)x); }
static float log1p_of(float x) { return (float)log1p((double)x); }
static float tanh_of(float x) { return (float)tanh((double)x); }
static float logistic_of(float x) { return (float)(1 / (1 + exp(-(double)x))); }
static float sin_of(float x) { return (float)sin((double)x); }
static float cos_of(float x) { return (float)cos((double)x); }

#define UNARY(name)                                                  \
  void cel_scalar_##name(float *y, const float *a, int64_t n) {      \
    for (int64_t i = 0; i < n; i++) y[i] = name##_of(a[i]);          \
  }
UNARY(exp)
UNARY(log)
UNARY(log1p)
UNARY(tanh)
UNARY(logistic)
UNARY(sin)
UNARY(cos)

// Squares are exact in f64 and summed there in eight lanes (element i in lane i % 8), so the mean does not
// depend on the instruction set.
static double sum_of(const double lane[8]) {
  return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

void cel_scalar_rms_norm(float *y, const float *x, const float *weight, float plus, float eps, int64_t n) {
  double lane[8] = {0};
  for (int64_t i = 0; i < n; i++) lane[i % 8] += (double)x[i] * (double)x[i];
  float r = (float)(1 / sqrt(sum_of(lane) / (double)n + (double)eps));
  for (int64_t i = 0; i < n; i++) y[i] = weight ? x[i] * r * (weight[i] + plus) : x[i] * r;
}

// The mean is rounded to f32 first, so that the squares of differences are exact in f64, too.
void cel_scalar_layer_norm(float *y, const float *x, const float *weight, const float *bias, float eps, int64_t n) {
  double lane[8] = {0}, squares[8] = {0};
  for (int64_t i = 0; i < n; i++) lane[i % 8] += (double)x[i];
  float mean = (float)(sum_of(lane) / (double)n);
  for (int64_t i = 0; i < n; i++) {
    float d = x[i] - mean;
    squares[i % 8] += (double)d * (double)d;
  }
  float r = (float)(1 / sqrt(sum_of(squares) / (double)n + (double)eps));
  for (int64_t i = 0; i < n; i++) {
    float v = (x[i] - mean) * r;
    if (weight) v *= weight[i];
    y[i] = bias ? v + bias[i] : v;
  }
}

void cel_scalar_silu_mul(float *y, const float *gate, const float *up, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = gate[i] * logistic_of(gate[i]) * up[i];
}

// (1 + tanh u) / 2 is logistic(2u), without the cancellation; u = sqrt(2 / pi) (x + 0.044715 x^3).
void cel_scalar_gelu_tanh_mul(float *y, const float *gate, const float *up, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    float x = gate[i], u = 0.7978845608028654f * (x + 0.044715f * x * x * x);
    y[i] = x * logistic_of(2 * u) * up[i];
  }
}
