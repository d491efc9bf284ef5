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

// Significant digits and the power of ten of the first, from "d.ddde+xx"; the separator is the locale's.
typedef struct decimal {
  char digits[24];
  int n, exponent;
} decimal;

static decimal to_decimal(double magnitude, int digits) {
  char text[48];
  decimal d = {.n = 0};
  snprintf(text, sizeof text, "%.*e", digits - 1, magnitude);
  const char *p = text;
  for (; *p && *p != 'e'; p++)
    if (*p >= '0' && *p <= '9' && d.n < (int)sizeof d.digits) d.digits[d.n++] = *p;
  d.exponent = *p == 'e' ? atoi(p + 1) : 0;
  return d;
}

// Whether reading the value back from `digits` significant digits gives the same element. Written and read
// under the same locale.
static bool survives(cel_etype e, double magnitude, int digits) {
  char text[48];
  unsigned char again[8], once[8];
  snprintf(text, sizeof text, "%.*e", digits - 1, magnitude);
  double back = e == CEL_ET_F32 ? (double)strtof(text, NULL) : strtod(text, NULL);
  return cel_hlo_element_from_double(e, back, again) && cel_hlo_element_from_double(e, magnitude, once) &&
         memcmp(again, once, (size_t)cel_etype_bytes(e)) == 0;
}

// MLIR's first choice: six significant digits, filled up to seven, "1.000000e+00".
static void print_short(cel_buf *out, double magnitude) {
  decimal d = to_decimal(magnitude, 6);
  char text[40];
  snprintf(text, sizeof text, "%c.%.5s0e%c%02d", d.digits[0], d.digits + 1, d.exponent < 0 ? '-' : '+',
           abs(d.exponent));
  cel_buf_addz(out, text);
}

// MLIR's second choice: as many digits as any value of the type needs, plain notation near 1. False where
// that gives no decimal point: such values are written in hexadecimal.
static bool print_full(cel_buf *out, double magnitude, int digits) {
  decimal d = to_decimal(magnitude, digits);
  while (d.n > 1 && d.digits[d.n - 1] == '0') d.n--;
  char text[64];
  int first = d.exponent, last = d.exponent - d.n + 1;  // powers of ten of the first and last digit
  if (last >= 0 && last <= 3 && d.n + last <= digits) return false;
  if (last < 0 && first >= 0)
    snprintf(text, sizeof text, "%.*s.%.*s", first + 1, d.digits, d.n - first - 1, d.digits + first + 1);
  else if (last < 0 && -first <= 3)
    snprintf(text, sizeof text, "0.%.*s%.*s", -first - 1, "000", d.n, d.digits);
  else
    snprintf(text, sizeof text, "%c.%.*sE%c%d", d.digits[0], d.n > 1 ? d.n - 1 : 1, d.n > 1 ? d.digits + 1 : "0",
             d.exponent < 0 ? '-' : '+', abs(d.exponent));
  cel_buf_addz(out, text);
  return true;
}

void cel_print_float(cel_buf *out, cel_etype e, const void *data) {
  double v = cel_hlo_element_to_double(e, data);
  if (isfinite(v)) {
    size_t before = out->n;
    if (signbit(v)) cel_buf_addc(out, '-');
    if (survives(e, fabs(v), 6)) {
      print_short(out, fabs(v));
      return;
    }
    if (print_full(out, fabs(v), e == CEL_ET_F64 ? 17 : 9)) return;
    if (!out->failed) out->n = before;
  }
  char text[24];
  snprintf(text, sizeof text, "0x%llX", (unsigned long long)cel_hlo_element_bits(e, data));
  cel_buf_addz(out, text);
}

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
