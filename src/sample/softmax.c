// Weights are computed a block at a time and not kept: a draw computes them again up to the one it falls on.
#include "sample/softmax.h"

#include "base/macros.h"

enum { BLOCK = 256, LANES = 8 };

// The n weights of a block, and their sum: LANES partial ones, then those in order.
static double block_mass(const float *x, int64_t n, float max, float temperature, float *w) {
  double part[LANES] = {0}, sum = 0;
  for (int64_t i = 0; i < n; i++) w[i] = cel_softmax_weight((x[i] - max) / temperature);
  for (int64_t i = n; i < BLOCK; i++) w[i] = 0;
  for (int64_t i = 0; i < BLOCK; i += LANES)
    for (int lane = 0; lane < LANES; lane++) part[lane] += (double)w[i + lane];
  for (int lane = 0; lane < LANES; lane++) sum += part[lane];
  return sum;
}

double cel_softmax_mass(const float *x, int64_t n, float max, float temperature) {
  float w[BLOCK];
  double sum = 0;
  for (int64_t i = 0; i < n; i += BLOCK) sum += block_mass(x + i, CEL_MIN(BLOCK, n - i), max, temperature, w);
  return sum;
}

// The last of x[n] that can be drawn: the largest one can.
static int64_t last_possible(const float *x, int64_t n, float max, float temperature) {
  while (n > 1 && !(cel_softmax_weight((x[n - 1] - max) / temperature) > 0)) n--;
  return n - 1;
}

int64_t cel_softmax_draw(const float *x, int64_t n, float max, float temperature, double u) {
  const double target = u * cel_softmax_mass(x, n, max, temperature);
  float w[BLOCK];
  double before = 0;
  for (int64_t i = 0; i < n; i += BLOCK) {
    const int64_t here = CEL_MIN(BLOCK, n - i);
    const double mass = block_mass(x + i, here, max, temperature, w);
    if (before + mass <= target) {
      before += mass;
      continue;
    }
    for (int64_t j = 0; j < here; j++) {
      before += (double)w[j];
      if (before > target) return i + j;
    }
    return i + last_possible(x + i, here, max, temperature);  // one by one they are a little less than in the block's order
  }
  return last_possible(x, n, max, temperature);  // u * sum was rounded up to the sum
}
