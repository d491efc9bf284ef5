// Integers of MLIR text, up to 64 bits. Decimals are base/number.h's.
#include <string.h>

#include "backend/xla/hlo/parse.h"

static int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

bool cel_parse_uint(cel_str digits, uint64_t *out) {
  bool hex = digits.n > 2 && digits.p[1] == 'x';
  uint64_t base = hex ? 16 : 10, n = 0;
  for (size_t i = hex ? 2 : 0; i < digits.n; i++) {
    uint64_t d = (uint64_t)digit(digits.p[i]);
    if (n > (UINT64_MAX - d) / base) return false;
    n = n * base + d;
  }
  *out = n;
  return true;
}

bool cel_parse_fits(cel_etype e, bool negative, uint64_t magnitude, int64_t *out) {
  int bits = cel_etype_bits(e);
  if (cel_etype_class(e) == 'P') {
    *out = magnitude != 0;
    return magnitude <= 1;  // 1 and -1 are the same bit
  }
  uint64_t all = UINT64_MAX >> (64 - bits), half = (uint64_t)1 << (bits - 1);
  bool is_signed = cel_etype_class(e) == 'S';
  if (magnitude > (negative ? (is_signed ? half : 0) : all)) return false;
  uint64_t value = negative ? 0 - magnitude : magnitude;
  if (is_signed && value & half) value |= ~all;
  memcpy(out, &value, sizeof value);
  return true;
}
