// Numbers of MLIR text: integers up to 64 bits, and decimals to the nearest double.
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "backend/xla/hlo/parse.h"

enum { LONGEST = 1000 };  // characters of a decimal; a double needs at most 770 to be told from its neighbours

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

// strtod reads the decimal point of the locale, whatever the text has.
static bool slow_double(cel_str text, double *out) {
  char copy[LONGEST + 32];
  const char *point = localeconv()->decimal_point, *dot = memchr(text.p, '.', text.n);
  size_t n = 0, point_n = strlen(point);
  if (text.n > LONGEST || point_n > 16) return false;
  for (size_t i = 0; i < text.n; i++) {
    if (text.p + i == dot) {
      memcpy(copy + n, point, point_n);
      n += point_n;
    } else {
      copy[n++] = text.p[i];
    }
  }
  copy[n] = 0;
  *out = strtod(copy, NULL);
  return true;
}

// Up to 2^53 the digits are an exact double, and so are the powers of ten up to 10^22: one multiplication or
// division of the two rounds once (Clinger, "How to read floating point numbers accurately", 1990).
bool cel_parse_double(cel_str text, double *out) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const char *q = text.p, *end = text.p + text.n;
  uint64_t mantissa = 0;
  int n_digits = 0, exponent = 0;
  bool behind_point = false;
  for (; q < end && (*q == '.' || (*q >= '0' && *q <= '9')); q++) {
    if (*q == '.') {
      behind_point = true;
      continue;
    }
    if (n_digits == 18) return slow_double(text, out);
    mantissa = mantissa * 10 + (uint64_t)(*q - '0');
    n_digits += mantissa != 0;
    exponent -= behind_point;
  }
  if (q < end && (*q == 'e' || *q == 'E')) {
    bool negative = q + 1 < end && q[1] == '-';
    int e = 0;
    for (q += 1 + (q[1] == '-' || q[1] == '+'); q < end && e < 10000; q++) e = e * 10 + (*q - '0');
    exponent += negative ? -e : e;
  }
  if (mantissa == 0) {
    *out = 0;
    return true;
  }
  if (mantissa > (uint64_t)1 << 53 || exponent < -22 || exponent > 22) return slow_double(text, out);
  *out = exponent < 0 ? (double)mantissa / powers[-exponent] : (double)mantissa * powers[exponent];
  return true;
}
