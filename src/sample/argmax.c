#include <math.h>
#include <string.h>

#include "sample/sample.h"

enum { BLOCK = 512, INFINITY_KEY = 0x7F800000 };

// Integers in the order of the floats, both zeros being one: whole loops of these vectorize without licence to
// reorder float operations.
static int32_t order_key(float x) {
  int32_t bits;
  x += 0.0f;
  memcpy(&bits, &x, sizeof bits);
  return bits ^ ((bits >> 31) & 0x7FFFFFFF);
}

// The largest key of a block; the sign bit of *bad is set when there is a NaN.
static int32_t block_max(const float *x, int64_t n, int32_t *bad) {
  int32_t max = INT32_MIN, nan = 0;
  for (int64_t i = 0; i < n; i++) {
    int32_t key = order_key(x[i]);
    nan |= INFINITY_KEY - (key ^ (key >> 31));  // what is subtracted are the bits without sign
    max = key > max ? key : max;
  }
  *bad |= nan;
  return max;
}

int32_t cel_argmax(const float *logits, int64_t vocab) {
  int32_t best = INT32_MIN, bad = 0;
  int64_t at = 0;
  for (int64_t i = 0; i < vocab; i += BLOCK) {
    int32_t max = block_max(logits + i, CEL_MIN(BLOCK, vocab - i), &bad);
    if (max > best) best = max, at = i;
  }
  if (vocab <= 0 || bad < 0) return -1;
  while (order_key(logits[at]) != best) at++;  // the first block that has the maximum has it first
  return (int32_t)at;
}
