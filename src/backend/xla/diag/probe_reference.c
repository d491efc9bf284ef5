// What each probe means: f32 arithmetic in the order that its contract says. Every product and sum is a statement of its
// own, so that no compiler makes one rounding of two; exp, tanh and roots are taken in double and rounded once.
#include "backend/xla/diag/probe_reference.h"

#include <math.h>
#include <stdint.h>

#include "base/macros.h"

// ---- operands ------------------------------------------------------------------------------------------

static uint32_t next(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 8;
}

// In [-scale, scale), with all 24 bits in use.
static void floats(void *to, int n, float scale, uint32_t seed) {
  float *x = to;
  for (int i = 0; i < n; i++) {
    float unit = (float)next(&seed) * (1.0f / 8388608.0f);
    unit = unit - 1.0f;
    x[i] = unit * scale;
  }
}

// Words of 4 bits, the lowest first; scales and biases that no product with 0 .. 15 leaves exact.
void cel_probe_fill_dequant(void *const *operands) {
  uint32_t *words = operands[0], seed = 5;
  for (int i = 0; i < 4; i++) words[i] = next(&seed) << 12 ^ next(&seed);
  floats(operands[1], 4, 0.3f, 6);
  floats(operands[2], 4, 2, 7);
}

// Whole numbers of 12 bits whose products and sums of two are exact in f32: any order and any fused product gives these
// bits, operands cut to fewer bits (TF32, bfloat16) do not.
void cel_probe_fill_matmul(void *const *operands) {
  static const int sizes[2] = {4, 6};
  uint32_t seed = 11;
  for (int k = 0; k < 2; k++) {
    float *x = operands[k];
    for (int i = 0; i < sizes[k]; i++) x[i] = (float)(2049 + 2 * (int)(next(&seed) % 423)) * (i & 1 ? -1.0f : 1.0f);
  }
}

void cel_probe_fill_sum(void *const *operands) {
  floats(operands[0], 8, 3, 21);
  floats(operands[1], 8, 0.7f, 22);
}

void cel_probe_fill_norm(void *const *operands) {
  floats(operands[0], 8, 3, 23);
  floats(operands[1], 4, 0.7f, 24);
}

void cel_probe_fill_one(void *const *operands) { floats(operands[0], 8, 6, 31); }

void cel_probe_fill_projection(void *const *operands) {
  floats(operands[0], 8, 2, 41);
  floats(operands[1], 12, 1, 42);
}

void cel_probe_fill_rope(void *const *operands) {
  float *cosines = operands[1], *sines = operands[2];
  floats(operands[0], 32, 2, 51);
  for (int t = 0; t < 2; t++) {
    for (int i = 0; i < 4; i++) {
      double angle = (5 + t) * pow(10000, -i / 4.0);
      cosines[t * 4 + i] = (float)cos(angle);
      sines[t * 4 + i] = (float)sin(angle);
    }
  }
}

// Of sizes so different that sums are rounded all the way: another order has other bits.
void cel_probe_fill_scan(void *const *operands) {
  float *x = operands[0];
  floats(x, 260, 1, 61);
  for (int i = 0; i < 260; i++) x[i] = x[i] * (1.0f / (float)(1 << i % 7));
}

// ---- meanings ------------------------------------------------------------------------------------------

void cel_probe_dequant(const void *const *operands, float *y) {
  const uint32_t *words = operands[0];
  const float *scales = operands[1], *biases = operands[2];
  for (int i = 0; i < 32; i++) {
    float q = (float)(words[i / 8] >> 4 * (i % 8) & 15);
    float scaled = q * scales[i / 8];
    y[i] = scaled + biases[i / 8];
  }
}

static float dot(const float *x, const float *w, int n) {
  float sum = 0;
  for (int i = 0; i < n; i++) {
    float product = x[i] * w[i];
    sum = sum + product;
  }
  return sum;
}

void cel_probe_matmul(const void *const *operands, float *y) {  // [2, 2] by [2, 3]
  const float *x = operands[0], *w = operands[1];
  for (int i = 0; i < 2; i++) {
    for (int j = 0; j < 3; j++) {
      float a = x[i * 2] * w[j], b = x[i * 2 + 1] * w[3 + j];
      y[i * 3 + j] = a + b;
    }
  }
}

void cel_probe_add(const void *const *operands, float *y) {
  const float *a = operands[0], *b = operands[1];
  for (int i = 0; i < 8; i++) y[i] = a[i] + b[i];
}

static float root_of(float mean) {  // 1 / sqrt(mean + 1e-5), the sum rounded
  float shifted = mean + 1e-5f;
  return (float)(1 / sqrt((double)shifted));
}

void cel_probe_rms_norm(const void *const *operands, float *y) {
  const float *x = operands[0], *w = operands[1];
  for (int r = 0; r < 2; r++, x += 4, y += 4) {
    float root = root_of(dot(x, x, 4) / 4);
    for (int i = 0; i < 4; i++) {
      float normed = x[i] * root;
      y[i] = normed * w[i];
    }
  }
}

void cel_probe_layer_norm(const void *const *operands, float *y) {
  const float *x = operands[0], *w = operands[1];
  for (int r = 0; r < 2; r++, x += 4, y += 4) {
    float off[4], sum = 0;
    for (int i = 0; i < 4; i++) sum = sum + x[i];
    float mean = sum / 4;
    for (int i = 0; i < 4; i++) off[i] = x[i] - mean;
    float root = root_of(dot(off, off, 4) / 4);
    for (int i = 0; i < 4; i++) {
      float normed = off[i] * root;
      y[i] = normed * w[i];
    }
  }
}

void cel_probe_softmax(const void *const *operands, float *y) {
  const float *x = operands[0];
  for (int r = 0; r < 2; r++, x += 4, y += 4) {
    float top = x[0], sum = 0;
    for (int i = 1; i < 4; i++) top = CEL_MAX(top, x[i]);
    for (int i = 0; i < 4; i++) {
      float below = x[i] - top;
      y[i] = (float)exp((double)below);
      sum = sum + y[i];
    }
    for (int i = 0; i < 4; i++) y[i] = y[i] / sum;
  }
}

static void project(const void *const *operands, float *y, float (*act)(float)) {  // x [2, 4], w [3, 4]
  const float *x = operands[0], *w = operands[1];
  for (int i = 0; i < 2; i++) {
    for (int j = 0; j < 3; j++) y[i * 3 + j] = act(dot(x + i * 4, w + j * 4, 4));
  }
}

static float silu(float x) {
  float sigmoid = (float)(1 / (1 + exp(-(double)x)));
  return x * sigmoid;
}

static float gelu(float x) {
  float cube = x * x;
  cube = cube * x;
  cube = cube * 0.044715f;
  float inner = x + cube;
  inner = inner * 0.797884583f;
  float outer = (float)tanh((double)inner) + 1.0f, half = x * 0.5f;
  return half * outer;
}

void cel_probe_silu(const void *const *operands, float *y) { project(operands, y, silu); }
void cel_probe_gelu(const void *const *operands, float *y) { project(operands, y, gelu); }

// x [2, 2, 8], pairs (i, i + 4) turned by the angle of column i.
void cel_probe_rope(const void *const *operands, float *y) {
  const float *x = operands[0], *cosines = operands[1], *sines = operands[2];
  for (int t = 0; t < 2; t++) {
    for (int h = 0; h < 2; h++) {
      const float *in = x + (t * 2 + h) * 8;
      float *out = y + (t * 2 + h) * 8;
      for (int i = 0; i < 4; i++) {
        float c = cosines[t * 4 + i], s = sines[t * 4 + i];
        float ac = in[i] * c, bs = in[i + 4] * s, bc = in[i + 4] * c, as = in[i] * s;
        out[i] = ac - bs;
        out[i + 4] = bc + as;
      }
    }
  }
}

// Sums of all values up to each one, in the order of a block of 64 threads of a GPU: four values per thread one after the
// other, the threads' totals within a warp of 32 by doubling distances, the second warp behind the first one's total.
static void scan_row(const float *x, float *y) {
  enum { THREADS = 64, EACH = 4, WARP = 32 };
  float own[THREADS][EACH] = {{0}}, total[THREADS], before[THREADS];
  for (int i = 0; i < 130; i++) own[i / EACH][i % EACH] = x[i];
  for (int t = 0; t < THREADS; t++) {
    for (int k = 1; k < EACH; k++) own[t][k] = own[t][k - 1] + own[t][k];
    total[t] = own[t][EACH - 1];
  }
  for (int d = 1; d < WARP; d *= 2) {
    for (int t = THREADS - 1; t >= 0; t--) {
      if (t % WARP >= d) total[t] = total[t] + total[t - d];
    }
  }
  for (int t = 0; t < THREADS; t++) {
    float inside = t % WARP ? total[t - 1] : 0;
    before[t] = t < WARP ? inside : inside + total[WARP - 1];
  }
  for (int i = 0; i < 130; i++) y[i] = own[i / EACH][i % EACH] + before[i / EACH];
}

void cel_probe_scan(const void *const *operands, float *y) {
  scan_row(operands[0], y);
  scan_row((const float *)operands[0] + 130, y + 130);
}
