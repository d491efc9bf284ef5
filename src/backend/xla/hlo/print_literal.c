// Numbers and dense literals. Every literal reads back to the same bits.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/xla/hlo/print.h"

// Above this many elements a literal that is no splat is one string of hexadecimal bytes.
enum { LIST_AT_MOST = 64 };

void cel_print_int(cel_buf *out, int64_t v) {
  char digits[24];
  int n = 0;
  uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
  do digits[n++] = (char)('0' + u % 10);
  while (u /= 10);
  if (v < 0) cel_buf_addc(out, '-');
  while (n) cel_buf_addc(out, digits[--n]);
}

static void print_unsigned(cel_buf *out, uint64_t u) {
  char digits[24];
  snprintf(digits, sizeof digits, "%llu", (unsigned long long)u);
  cel_buf_addz(out, digits);
}

// ---- floats ------------------------------------------------------------------------------------
//
// MLIR writes six significant digits when they read back to the same bits, else as many as any value of
// the type may need, else the bits in hexadecimal. Its decimals are cut before they are rounded (the exact
// integer mantissa * 5^k loses as many digits as its surplus of bits allows), so 1e-05 as f32 comes out as
// 9.99999974E-6. We follow the arithmetic, so that texts agree byte for byte.

enum { EXACT_DIGITS = 800 };  // the longest exact decimal of an f64 has 767

typedef struct decimal {
  char digits[24];  // no trailing zeros; at least one digit
  int n, last;      // power of ten of the last digit
} decimal;

static int digits_at_most(cel_etype e) {
  switch (e) {
    case CEL_ET_F64: return 17;
    case CEL_ET_F32: return 9;
    case CEL_ET_F16: return 5;
    case CEL_ET_BF16: return 4;
    case CEL_ET_F8E4M3FN: return 3;
    default: return 2;
  }
}

static void strip_zeros(decimal *d) {
  for (; d->n > 1 && d->digits[d->n - 1] == '0'; d->n--) d->last++;
}

// Rounds digits[kept] half up to `precision` digits.
static decimal round_digits(const char *digits, int kept, int precision, int last) {
  decimal d = {.n = CEL_MIN(kept, precision), .last = last + CEL_MAX(0, kept - precision)};
  memcpy(d.digits, digits, (size_t)d.n);
  if (kept > precision && digits[precision] >= '5') {
    while (d.n && d.digits[d.n - 1] == '9') d.n--, d.last++;
    if (d.n) d.digits[d.n - 1]++;
    else d.digits[d.n++] = '1';
  }
  strip_zeros(&d);
  return d;
}

// magnitude: positive and finite.
static decimal to_decimal(double magnitude, int precision) {
  int e2, k;
  uint64_t mantissa = (uint64_t)ldexp(frexp(magnitude, &e2), 53);
  for (e2 -= 53; mantissa % 2 == 0; e2++) mantissa /= 2;
  k = e2 < 0 ? -e2 : 0;  // mantissa * 5^k * 10^-k, or mantissa * 2^e2
  int bits = (int)floor(log2((double)mantissa) + (e2 < 0 ? k * 2.321928094887362348 : e2)) + 1;
  char text[EXACT_DIGITS + 16], digits[EXACT_DIGITS + 16];
  int n = 0, wanted = CEL_MIN(EXACT_DIGITS, (int)(bits * 0.30103) + 3);
  snprintf(text, sizeof text, "%.*e", wanted - 1, magnitude);
  const char *p = text;
  for (; *p && *p != 'e'; p++)
    if (*p >= '0' && *p <= '9') digits[n++] = *p;  // not the separator, which is the locale's
  int first = *p == 'e' ? atoi(p + 1) : 0, total = first + k + 1;
  int needed = (precision * 196 + 58) / 59, cut = bits > needed ? (bits - needed) * 59 / 196 : 0;
  int kept = CEL_MAX(1, CEL_MIN(n, total - cut));
  return round_digits(digits, kept, precision, first - kept + 1);
}

// Whether the decimal reads back to the same element. The text has no separator: locales don't matter.
static bool survives(cel_etype e, double magnitude, const decimal *d) {
  char text[48];
  unsigned char again[8], once[8];
  snprintf(text, sizeof text, "%.*se%d", d->n, d->digits, d->last);
  double back = e == CEL_ET_F32 ? (double)strtof(text, NULL) : strtod(text, NULL);
  return cel_hlo_element_from_double(e, back, again) && cel_hlo_element_from_double(e, magnitude, once) &&
         memcmp(again, once, (size_t)cel_etype_bytes(e)) == 0;
}

// "1.000000e+00": a digit, six more (the last always 0), two digits of exponent.
static void print_short(cel_buf *out, const decimal *d) {
  int exponent = d->last + d->n - 1;
  cel_buf_printf(out, "%c.%.*s%.*se%c%02d", d->digits[0], d->n - 1, d->digits + 1, 7 - d->n, "000000",
                 exponent < 0 ? '-' : '+', abs(exponent));
}

// Plain notation near 1, else with E. False where there would be no separator: an integer.
static bool print_long(cel_buf *out, const decimal *d, int precision) {
  int exponent = d->last + d->n - 1;
  if (d->last >= 0 && d->last <= 3 && d->n + d->last <= precision) return false;
  if (d->last < 0 && exponent >= 0)
    cel_buf_printf(out, "%.*s.%.*s", exponent + 1, d->digits, d->n - exponent - 1, d->digits + exponent + 1);
  else if (d->last < 0 && -exponent <= 3)
    cel_buf_printf(out, "0.%.*s%.*s", -exponent - 1, "000", d->n, d->digits);
  else
    cel_buf_printf(out, "%c.%.*sE%c%d", d->digits[0], d->n > 1 ? d->n - 1 : 1, d->n > 1 ? d->digits + 1 : "0",
                   exponent < 0 ? '-' : '+', abs(exponent));
  return true;
}

void cel_print_float(cel_buf *out, cel_etype e, const void *data) {
  double v = cel_hlo_element_to_double(e, data);
  if (v == 0) {
    cel_buf_addz(out, signbit(v) ? "-0.000000e+00" : "0.000000e+00");
    return;
  }
  if (isfinite(v)) {
    size_t before = out->n;
    decimal d = to_decimal(fabs(v), 6);
    if (signbit(v)) cel_buf_addc(out, '-');
    if (survives(e, fabs(v), &d)) {
      print_short(out, &d);
      return;
    }
    d = to_decimal(fabs(v), digits_at_most(e));
    if (survives(e, fabs(v), &d) && print_long(out, &d, digits_at_most(e))) return;
    if (!out->failed) out->n = before;
  }
  cel_buf_printf(out, "0x%llX", (unsigned long long)cel_hlo_element_bits(e, data));
}

// ---- dense literals ------------------------------------------------------------------------------

static void print_element(cel_buf *out, const cel_hlo_attr *a, int64_t i) {
  cel_etype e = a->type->etype;
  const unsigned char *p = (const unsigned char *)a->data + (a->splat ? 0 : i * cel_etype_bytes(e));
  switch (cel_etype_class(e)) {
    case 'P': cel_buf_addz(out, *p ? "true" : "false"); break;
    case 'S': cel_print_int(out, cel_hlo_dense_int(a, i)); break;
    case 'U': print_unsigned(out, cel_hlo_element_bits(e, p)); break;
    case 'F': cel_print_float(out, e, p); break;
    default: {
      cel_etype part = e == CEL_ET_C64 ? CEL_ET_F32 : CEL_ET_F64;
      cel_buf_addc(out, '(');
      cel_print_float(out, part, p);
      cel_buf_addc(out, ',');
      cel_print_float(out, part, p + cel_etype_bytes(part));
      cel_buf_addc(out, ')');
    }
  }
}

static void print_hex(cel_buf *out, const cel_hlo_attr *a) {
  static const char digits[] = "0123456789ABCDEF";
  const unsigned char *p = a->data;
  int64_t bytes = cel_hlo_bytes(a->type);
  cel_buf_addz(out, "\"0x");
  if (!cel_buf_reserve(out, (size_t)bytes * 2 + 64)) return;
  for (int64_t i = 0; i < bytes; i++) {
    char pair[2] = {digits[p[i] >> 4], digits[p[i] & 15]};
    cel_buf_add(out, pair, 2);
  }
  cel_buf_addc(out, '"');
}

// Brackets by dimension: "[[1, 2], [3, 4]]". Elements are few, so a depth of the rank is no matter.
static int64_t print_nested(cel_buf *out, const cel_hlo_attr *a, int dim, int64_t at) {
  if (dim == a->type->rank) {
    print_element(out, a, at);
    return at + 1;
  }
  cel_buf_addc(out, '[');
  for (int64_t i = 0; i < a->type->dims[dim]; i++) {
    if (i) cel_buf_addz(out, ", ");
    at = print_nested(out, a, dim + 1, at);
  }
  cel_buf_addc(out, ']');
  return at;
}

void cel_print_dense(cel_buf *out, const cel_hlo_attr *a) {
  int64_t n = cel_hlo_elements(a->type);
  cel_buf_addz(out, "dense<");
  // Types narrower than a byte have no agreed hexadecimal form: always a list.
  if (a->splat) print_element(out, a, 0);
  else if (n > LIST_AT_MOST && cel_etype_bits(a->type->etype) >= 8) print_hex(out, a);
  else if (n) print_nested(out, a, 0, 0);
  cel_buf_addc(out, '>');
}
