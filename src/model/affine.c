// MLX affine quantization: a row is one little-endian bit stream, element i in bits [i*b, i*b + b).
#include "base/half.h"
#include "model/dtype.h"
#include "model/widen.h"

// 32 elements of b bits are 4*b whole bytes, and lie in one group.
enum { BATCH = 32 };

// Unpacks `count` (<= BATCH) elements. Reads no byte behind the last element's.
static void unpack(const uint8_t *p, int bits, int count, uint32_t *q) {
  uint32_t held = 0, mask = (1u << bits) - 1;
  int have = 0;
  for (int i = 0; i < count; i++) {
    if (have < bits) {
      held |= (uint32_t)*p++ << have;
      have += 8;
    }
    q[i] = held & mask;
    held >>= bits;
    have -= bits;
  }
}

void cel_affine_widen(const void *packed, const void *scales, const void *biases, cel_dtype scale_type, int bits,
                      int group, int64_t cols, float *dst) {
  const cel_dtype_traits *t = cel_dtype_of(scale_type);
  const uint8_t *words = packed, *s = scales, *b = biases;
  for (int64_t i = 0; i < cols; i += BATCH, words += 4 * bits) {
    uint32_t q[BATCH];
    int count = cols - i < BATCH ? (int)(cols - i) : BATCH;
    unpack(words, bits, count, q);
    int64_t at = i / group * t->block_bytes;
    float scale, bias;
    t->widen(s + at, &scale, 1);
    t->widen(b + at, &bias, 1);
    for (int j = 0; j < count; j++) dst[i + j] = (float)q[j] * scale + bias;
  }
}
