// Single elements of dense data: numbers to the bits of an element type and back, exact in both directions
// (round to nearest, ties to even, from double; no step over a narrower type).
#include <math.h>
#include <string.h>

#include "backend/xla/hlo/infer.h"

typedef struct float_format {
  int exponent_bits, mantissa_bits;
  bool finite_only;  // no infinities; the largest code is NaN (E4M3FN)
} float_format;

static bool format_of(cel_etype e, float_format *f) {
  switch (e) {
    case CEL_ET_F8E4M3FN: *f = (float_format){4, 3, true}; return true;
    case CEL_ET_F8E5M2: *f = (float_format){5, 2, false}; return true;
    case CEL_ET_F16: *f = (float_format){5, 10, false}; return true;
    case CEL_ET_BF16: *f = (float_format){8, 7, false}; return true;
    default: return false;
  }
}

// The code without sign of |v| for a narrow format.
static uint32_t encode_magnitude(double v, float_format f) {
  uint32_t infinity = ((1u << f.exponent_bits) - 1) << f.mantissa_bits;
  uint32_t nan = f.finite_only ? infinity | ((1u << f.mantissa_bits) - 1) : infinity | 1u << (f.mantissa_bits - 1);
  uint32_t over = f.finite_only ? nan : infinity;
  if (isnan(v)) return nan;
  if (isinf(v)) return over;
  uint64_t bits;
  memcpy(&bits, &v, 8);
  int exponent = (int)(bits >> 52 & 0x7FF) - 1023;
  if (exponent == -1023) return 0;  // zero, or far below the smallest subnormal of every narrow format
  uint64_t mantissa = (bits & 0xFFFFFFFFFFFFFu) | (uint64_t)1 << 52;
  int biased = exponent + (1 << (f.exponent_bits - 1)) - 1, shift = 52 - f.mantissa_bits;
  if (biased <= 0) shift += 1 - biased;
  if (shift > 54) return 0;
  uint64_t q = mantissa >> shift, rest = mantissa & (((uint64_t)1 << shift) - 1), half = (uint64_t)1 << (shift - 1);
  if (rest > half || (rest == half && (q & 1))) q++;
  if (biased > (1 << f.exponent_bits)) return over;
  uint64_t code = biased > 0 ? ((uint64_t)(biased - 1) << f.mantissa_bits) + q : q;
  return code >= over ? over : (uint32_t)code;
}

static double decode(uint32_t code, float_format f) {
  uint32_t sign = code >> (f.exponent_bits + f.mantissa_bits) & 1;
  int exponent = (int)(code >> f.mantissa_bits & ((1u << f.exponent_bits) - 1));
  uint32_t mantissa = code & ((1u << f.mantissa_bits) - 1);
  int top = (1 << f.exponent_bits) - 1, bias = (1 << (f.exponent_bits - 1)) - 1;
  double v;
  if (exponent == top && (!f.finite_only || mantissa == (1u << f.mantissa_bits) - 1))
    v = mantissa ? (double)NAN : (double)INFINITY;
  else if (exponent == 0)
    v = ldexp((double)mantissa, 1 - bias - f.mantissa_bits);
  else
    v = ldexp((double)(mantissa | 1u << f.mantissa_bits), exponent - bias - f.mantissa_bits);
  return sign ? -v : v;
}

// Little-endian, so that modules read the same everywhere.
static void put(void *out, uint64_t bits, int bytes) {
  unsigned char *p = out;
  for (int i = 0; i < bytes; i++) p[i] = (unsigned char)(bits >> (8 * i));
}

static uint64_t get(const void *data, int bytes) {
  const unsigned char *p = data;
  uint64_t bits = 0;
  for (int i = bytes; i-- > 0;) bits = bits << 8 | p[i];
  return bits;
}

static void put_f32(void *out, float v) {
  uint32_t u;
  memcpy(&u, &v, 4);
  put(out, u, 4);
}

static void put_f64(void *out, double v) {
  uint64_t u;
  memcpy(&u, &v, 8);
  put(out, u, 8);
}

bool cel_hlo_element_from_int(cel_etype e, int64_t value, void *out) {
  int bits = cel_etype_bits(e);
  switch (cel_etype_class(e)) {
    case 'P':
      if (value != 0 && value != 1) return false;
      put(out, (uint64_t)value, 1);
      return true;
    case 'S':
      if (bits < 64 && (value < -((int64_t)1 << (bits - 1)) || value > ((int64_t)1 << (bits - 1)) - 1)) return false;
      put(out, (uint64_t)value, cel_etype_bytes(e));
      return true;
    case 'U':
      if (bits < 64 && (value < 0 || value > ((int64_t)1 << bits) - 1)) return false;
      put(out, (uint64_t)value, cel_etype_bytes(e));
      return true;
    default: return false;
  }
}

static bool integer_from_double(cel_etype e, double value, void *out) {
  if (!(value == floor(value))) return false;  // NaN fails, too
  if (e == CEL_ET_UI64 && value >= 0x1p63) {
    if (value >= 0x1p64) return false;
    put(out, (uint64_t)value, 8);
    return true;
  }
  if (!(value >= -0x1p63 && value < 0x1p63)) return false;
  if (e == CEL_ET_UI64 && value < 0) return false;
  return cel_hlo_element_from_int(e, (int64_t)value, out);
}

bool cel_hlo_element_from_double(cel_etype e, double value, void *out) {
  float_format f;
  switch (e) {
    case CEL_ET_F32: put_f32(out, (float)value); return true;
    case CEL_ET_F64: put_f64(out, value); return true;
    case CEL_ET_C64:
      put_f32(out, (float)value);
      put_f32((char *)out + 4, 0);
      return true;
    case CEL_ET_C128:
      put_f64(out, value);
      put_f64((char *)out + 8, 0);
      return true;
    default: break;
  }
  if (!format_of(e, &f)) return integer_from_double(e, value, out);
  uint32_t sign = signbit(value) ? 1u << (f.exponent_bits + f.mantissa_bits) : 0;
  put(out, sign | encode_magnitude(value, f), cel_etype_bytes(e));
  return true;
}

uint64_t cel_hlo_element_bits(cel_etype e, const void *data) { return get(data, CEL_MIN(cel_etype_bytes(e), 8)); }

double cel_hlo_element_to_double(cel_etype e, const void *data) {
  float_format f;
  uint64_t bits = cel_hlo_element_bits(e, data);
  if (e == CEL_ET_F64) {
    double d;
    memcpy(&d, &bits, 8);
    return d;
  }
  if (e == CEL_ET_F32) {
    uint32_t low = (uint32_t)bits;
    float v;
    memcpy(&v, &low, 4);
    return v;
  }
  return format_of(e, &f) ? decode((uint32_t)bits, f) : 0;
}
