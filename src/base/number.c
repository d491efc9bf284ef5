#include "base/number.h"

#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool digit(char c) { return c >= '0' && c <= '9'; }

typedef struct parts {
  bool negative, exact;  // exact: the digits fit 2^53 and are in `whole`
  uint64_t whole;        // all digits without the point
  int64_t exponent;      // of ten
  size_t point;          // where it stands in the text; its length when there is none
} parts;

static size_t digits(cel_str s, size_t i, parts *p, bool fraction) {
  for (; i < s.n && digit(s.p[i]); i++) {
    if (p->whole > ((UINT64_C(1) << 53) - 9) / 10) p->exact = false;
    else p->whole = p->whole * 10 + (uint64_t)(s.p[i] - '0');
    p->exponent -= fraction;
  }
  return i;
}

static bool split(cel_str s, parts *p) {
  size_t i = 0, before;
  *p = (parts){.exact = true, .point = s.n};
  if (i < s.n && (s.p[i] == '-' || s.p[i] == '+')) p->negative = s.p[i++] == '-';
  before = i;
  i = digits(s, i, p, false);
  size_t n = i - before;
  if (i < s.n && s.p[i] == '.') {
    p->point = i++;
    before = i;
    i = digits(s, i, p, true);
    n += i - before;
  }
  if (n == 0) return false;
  if (i == s.n) return true;
  if (s.p[i] != 'e' && s.p[i] != 'E') return false;
  i++;
  bool down = i < s.n && s.p[i] == '-';
  if (i < s.n && (s.p[i] == '-' || s.p[i] == '+')) i++;
  if (i == s.n) return false;
  int64_t e = 0;
  for (; i < s.n && digit(s.p[i]); i++) {
    if (e < INT64_MAX / 100) e = e * 10 + (s.p[i] - '0');
  }
  p->exponent += down ? -e : e;
  return i == s.n;
}

// Clinger's simple case: both factors are doubles, so one rounding is all there is.
static bool fast(const parts *p, double *out) {
  static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  if (!p->exact || p->exponent < -22 || p->exponent > 22) return false;
  double x = (double)p->whole;
  x = p->exponent < 0 ? x / tens[-p->exponent] : x * tens[p->exponent];
  *out = p->negative ? -x : x;
  return true;
}

bool cel_parse_double(cel_str text, double *out) {
  parts p;
  if (!split(text, &p)) return false;
  if (fast(&p, out)) return true;
  cel_buf b = {0};
  cel_buf_add(&b, text.p, p.point);
  if (p.point < text.n) {
    cel_buf_addz(&b, localeconv()->decimal_point);
    cel_buf_add(&b, text.p + p.point + 1, text.n - p.point - 1);
  }
  bool ok = !b.failed;
  if (ok) *out = strtod(b.p, NULL);
  cel_buf_deinit(&b);
  return ok;
}

int cel_plain_point(char *text) {
  const char *point = localeconv()->decimal_point;
  size_t bytes = strlen(point), n = strlen(text);
  char *at = bytes && strcmp(point, ".") != 0 ? strstr(text, point) : NULL;
  if (!at) return (int)n;
  *at = '.';
  memmove(at + 1, at + bytes, strlen(at + bytes) + 1);
  return (int)(n - (bytes - 1));
}

int cel_print_double(char out[CEL_NUMBER_BYTES], double x, int n_digits) {
  snprintf(out, CEL_NUMBER_BYTES, "%.*g", n_digits, x);
  return cel_plain_point(out);
}
