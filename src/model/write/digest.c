// Words of eight bytes, each multiplied into the state by an odd constant (the 64-bit golden ratio) with a rotation:
// any changed, moved or missing byte changes the end value.
#include <string.h>

#include "model/write/encode.h"

static uint64_t mix(uint64_t state, uint64_t word) {
  state = (state ^ word) * 0x9E3779B97F4A7C15u;
  return state << 31 | state >> 33;
}

// Whole words only but for the last call: bands are cut anywhere, so bytes go one by one up to a word's end.
void cel_digest_add(cel_digest *d, const void *data, int64_t bytes) {
  const uint8_t *p = data, *end = p + bytes;
  while (p < end && d->n % 8 != 0) {
    d->state ^= (uint64_t)*p++ << 8 * (d->n % 8);
    if (++d->n % 8 == 0) d->state = mix(d->state, 0);
  }
  for (; end - p >= 8; p += 8, d->n += 8) {
    uint64_t word = 0;
    for (int i = 7; i >= 0; i--) word = word << 8 | p[i];
    d->state = mix(d->state, word);
  }
  while (p < end) {
    d->state ^= (uint64_t)*p++ << 8 * (d->n % 8);
    if (++d->n % 8 == 0) d->state = mix(d->state, 0);
  }
}

uint64_t cel_digest_end(const cel_digest *d) { return mix(mix(d->state, 0x5BD1E995u), d->n); }
