#include "sample/philox.h"

#include "sample/sample.h"

enum { ROUNDS = 10 };

void cel_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0], k1 = key[1];
  for (int r = 0; r < ROUNDS; r++) {
    uint64_t a = (uint64_t)0xD2511F53u * c0, b = (uint64_t)0xCD9E8D57u * c2;
    c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
    c1 = (uint32_t)b;
    c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
    c3 = (uint32_t)a;
    k0 += 0x9E3779B9u;  // golden ratio
    k1 += 0xBB67AE85u;  // sqrt(3) - 1
  }
  out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

double cel_uniform_of(uint64_t seed, uint64_t draw, uint32_t stream) {
  const uint32_t counter[4] = {(uint32_t)draw, (uint32_t)(draw >> 32), stream, 0};
  const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  uint32_t x[4];
  cel_philox4x32(counter, key, x);
  return (double)(((uint64_t)x[0] << 32 | x[1]) >> 11) * 0x1p-53;
}

double cel_uniform(uint64_t seed, uint64_t draw) { return cel_uniform_of(seed, draw, CEL_STREAM_DRAW); }
