#define _POSIX_C_SOURCE 200809L
#include "base/sha256.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4, 4.2.2).
static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static inline uint32_t turn(uint32_t x, int n) { return x >> n | x << (32 - n); }

static inline uint32_t big_endian(const uint8_t *p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

// Round r of eight: the word called a in the standard is v[-r mod 8].
static CEL_ALWAYS_INLINE void step(uint32_t v[8], int r, uint32_t add) {
  uint32_t a = v[(8 - r) & 7], b = v[(9 - r) & 7], c = v[(10 - r) & 7];
  uint32_t e = v[(12 - r) & 7], f = v[(13 - r) & 7], g = v[(14 - r) & 7];
  uint32_t t = v[(15 - r) & 7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + (g ^ (e & (f ^ g))) + add;
  v[(11 - r) & 7] += t;
  v[(15 - r) & 7] = t + (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) | (c & (a | b)));
}

static void block(uint32_t h[8], const uint8_t *p) {
  uint32_t w[64], v[8];
  for (int i = 0; i < 16; i++) w[i] = big_endian(p + 4 * i);
  for (int i = 16; i < 64; i++) {
    uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + w[i - 7] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
  }
  memcpy(v, h, sizeof v);
  // The eight words change places in each round; here they stay, and the round turns around them: eight rounds are whole.
  for (int i = 0; i < 64; i += 8) {
    step(v, 0, k[i] + w[i]);
    step(v, 1, k[i + 1] + w[i + 1]);
    step(v, 2, k[i + 2] + w[i + 2]);
    step(v, 3, k[i + 3] + w[i + 3]);
    step(v, 4, k[i + 4] + w[i + 4]);
    step(v, 5, k[i + 5] + w[i + 5]);
    step(v, 6, k[i + 6] + w[i + 6]);
    step(v, 7, k[i + 7] + w[i + 7]);
  }
  for (int i = 0; i < 8; i++) h[i] += v[i];
}

void cel_sha256_init(cel_sha256 *s) {
  static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  memset(s, 0, sizeof *s);
  memcpy(s->h, start, sizeof start);
}

void cel_sha256_add(cel_sha256 *s, const void *data, size_t n) {
  const uint8_t *p = data;
  size_t held = (size_t)(s->n_bytes % 64);
  s->n_bytes += n;
  if (held) {
    size_t take = CEL_MIN(64 - held, n);
    if (take) memcpy(s->block + held, p, take);
    p += take;
    n -= take;
    if (held + take < 64) return;
    block(s->h, s->block);
  }
  for (; n >= 64; p += 64, n -= 64) block(s->h, p);
  if (n) memcpy(s->block, p, n);
}

void cel_sha256_end(cel_sha256 *s, uint8_t out[CEL_SHA256_BYTES]) {
  static const uint8_t padding[64] = {0x80};
  uint64_t bits = s->n_bytes * 8;
  size_t held = (size_t)(s->n_bytes % 64);
  cel_sha256_add(s, padding, held < 56 ? 56 - held : 120 - held);
  uint8_t length[8];
  for (int i = 0; i < 8; i++) length[i] = (uint8_t)(bits >> (56 - 8 * i));
  cel_sha256_add(s, length, 8);
  for (int i = 0; i < 32; i++) out[i] = (uint8_t)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

void cel_sha256_end_hex(cel_sha256 *s, char out[CEL_SHA256_HEX_BYTES]) {
  uint8_t digest[CEL_SHA256_BYTES];
  cel_sha256_end(s, digest);
  for (int i = 0; i < 64; i++) out[i] = "0123456789abcdef"[digest[i / 2] >> (i % 2 ? 0 : 4) & 15];
  out[64] = 0;
}

bool cel_sha256_is_hex(const char *text) {
  int n = 0;
  while (isxdigit((unsigned char)text[n])) n++;
  return n == 64 && text[n] == 0;
}

static cel_status add_open(cel_sha256 *s, int fd, const char *path, int64_t bytes, cel_err *err) {
  uint8_t part[65536];
  while (bytes > 0) {
    ssize_t n = read(fd, part, (size_t)CEL_MIN(bytes, (int64_t)sizeof part));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cel_fail(err, CEL_IO, "%s: %s", path, strerror(errno));
    if (n == 0) return cel_fail(err, CEL_IO, "%s: %lld bytes are missing at its end", path, (long long)bytes);
    cel_sha256_add(s, part, (size_t)n);
    bytes -= n;
  }
  return CEL_OK;
}

cel_status cel_sha256_add_file(cel_sha256 *s, const char *path, int64_t bytes, cel_err *err) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return cel_fail(err, errno == ENOENT ? CEL_NOT_FOUND : CEL_IO, "%s: %s", path, strerror(errno));
  cel_status status = add_open(s, fd, path, bytes, err);
  close(fd);
  return status;
}
