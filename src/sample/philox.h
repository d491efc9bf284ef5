// Philox 4x32 with ten rounds (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011): a bijection of 128-bit counters under a 64-bit key, so any draw can be had without those before.
// Threads: pure.
#ifndef CEL_SAMPLE_PHILOX_H
#define CEL_SAMPLE_PHILOX_H

#include <stdint.h>

void cel_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

// Independent sequences of one seed. CEL_STREAM_DRAW is what cel_uniform gives.
enum { CEL_STREAM_DRAW = 0, CEL_STREAM_XTC = 1 };
double cel_uniform_of(uint64_t seed, uint64_t draw, uint32_t stream);  // [0, 1), 53 bits

#endif
