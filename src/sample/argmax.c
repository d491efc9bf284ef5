#include "sample/sample.h"

#include <float.h>
#include <math.h>

enum { BLOCK = 512, LANES = 16 };

// Largest of x[n]; *bad becomes non-zero when one is NaN. Lanes side by side, so that compilers vectorize.
static float block_max(const float *x, int64_t n, int *bad) {
  float best[LANES];
  int nan[LANES] = {0};
  for (int l = 0; l < LANES; l++) best[l] = -INFINITY;
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) {
    for (int l = 0; l < LANES; l++) {
      float v = x[i + l];
      best[l] = v > best[l] ? v : best[l];
      nan[l] |= v != v;
    }
  }
  for (; i < n; i++) {
    best[0] = x[i] > best[0] ? x[i] : best[0];
    nan[0] |= x[i] != x[i];
  }
  for (int l = 1; l < LANES; l++) {
    best[0] = best[l] > best[0] ? best[l] : best[0];
    nan[0] |= nan[l];
  }
  *bad |= nan[0];
  return best[0];
}

int32_t cel_argmax(const float *logits, int64_t vocab) {
  float best = -INFINITY;
  int64_t at = 0;
  int bad = 0;
  for (int64_t i = 0; i < vocab; i += BLOCK) {
    float m = block_max(logits + i, CEL_MIN(BLOCK, vocab - i), &bad);
    if (m > best) best = m, at = i;
  }
  if (bad || vocab <= 0) return -1;
  while (logits[at] != best) at++;  // the first block that has the maximum has it first
  return (int32_t)at;
}
