// SHA-256 (FIPS 180-4), fed in pieces. Threads: a state belongs to one thread at a time.
#ifndef CEL_BASE_SHA256_H
#define CEL_BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { CEL_SHA256_BYTES = 32, CEL_SHA256_HEX_BYTES = 65 };  // the text with its NUL

typedef struct cel_sha256 {
  uint32_t h[8];
  uint64_t n_bytes;    // taken so far
  uint8_t block[64];   // the last n_bytes % 64 of them
} cel_sha256;

void cel_sha256_init(cel_sha256 *s);
void cel_sha256_add(cel_sha256 *s, const void *data, size_t n);
// The state is used up afterwards; a copy taken before may go on.
void cel_sha256_end(cel_sha256 *s, uint8_t out[CEL_SHA256_BYTES]);
void cel_sha256_end_hex(cel_sha256 *s, char out[CEL_SHA256_HEX_BYTES]);  // lower case

// 64 hexadecimal digits of either case?
bool cel_sha256_is_hex(const char *text);
// Feeds the first `bytes` of a file; fails as cel_read_file does, and when the file is shorter.
CEL_MUST_CHECK cel_status cel_sha256_add_file(cel_sha256 *s, const char *path, int64_t bytes, cel_err *err);

#endif
