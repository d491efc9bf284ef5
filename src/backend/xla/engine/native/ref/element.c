// Elements: float formats, wrapping integers, and the conversions between all element types.
#include "backend/xla/engine/native/ref/element.h"

#include <math.h>

cel_ref_format cel_ref_format_of(cel_etype t) {
  switch (t) {
    case CEL_ET_F8E4M3FN: return (cel_ref_format){4, 3, true};
    case CEL_ET_F8E5M2: return (cel_ref_format){5, 2, false};
    case CEL_ET_BF16: return (cel_ref_format){8, 7, false};
    case CEL_ET_F16: return (cel_ref_format){5, 10, false};
    case CEL_ET_F64: return (cel_ref_format){11, 52, false};
    default: return (cel_ref_format){8, 23, false};
  }
}

uint32_t cel_ref_encode(cel_ref_format f, double x) {
  uint32_t sign = (signbit(x) ? 1u : 0u) << (f.ebits + f.mbits);
  uint32_t all = (1u << (f.ebits + f.mbits)) - 1, inf = all & ~((1u << f.mbits) - 1);
  if (isnan(x)) return sign | (f.finite_only ? all : inf | 1u << (f.mbits - 1));
  uint32_t over = f.finite_only ? all : inf;
  if (isinf(x)) return sign | over;
  double a = fabs(x);
  if (a == 0) return sign;
  int e, bias = (1 << (f.ebits - 1)) - 1;
  (void)frexp(a, &e);
  e = e - 1 < 1 - bias ? 1 - bias : e - 1;  // subnormals share the smallest exponent
  if (e > bias + 1) return sign | over;
  // In units of the last place; a carry out of the mantissa moves into the exponent by itself.
  uint32_t bits = (uint32_t)rint(ldexp(a, f.mbits - e)) + ((uint32_t)(e + bias - 1) << f.mbits);
  return sign | (bits >= over ? over : bits);
}

double cel_ref_decode(cel_ref_format f, uint32_t bits) {
  uint32_t man = bits & ((1u << f.mbits) - 1), exp = bits >> f.mbits & ((1u << f.ebits) - 1);
  bool negative = bits >> (f.ebits + f.mbits) & 1;
  int bias = (1 << (f.ebits - 1)) - 1;
  double a;
  if (exp == (1u << f.ebits) - 1 && (!f.finite_only || man == (1u << f.mbits) - 1))
    a = man ? (double)NAN : (double)INFINITY;
  else if (exp == 0)
    a = ldexp((double)man, 1 - bias - f.mbits);
  else
    a = ldexp((double)(man | 1u << f.mbits), (int)exp - bias - f.mbits);
  return negative ? -a : a;
}

uint64_t cel_ref_get_bits(cel_etype t, const void *p, int64_t i) {
  int bytes = cel_ref_bytes(t), width = cel_ref_bits(t);
  const char *at = (const char *)p + i * bytes;
  uint8_t b8;
  uint16_t b16;
  uint32_t b32;
  uint64_t b64;
  switch (bytes) {
    case 1: memcpy(&b8, at, 1); return width < 8 ? b8 & ((1u << width) - 1) : b8;
    case 2: memcpy(&b16, at, 2); return b16;
    case 4: memcpy(&b32, at, 4); return b32;
    default: memcpy(&b64, at, 8); return b64;
  }
}

void cel_ref_put_bits(cel_etype t, void *p, int64_t i, uint64_t bits) {
  int bytes = cel_ref_bytes(t), width = cel_ref_bits(t);
  char *at = (char *)p + i * bytes;
  if (width < 8) {  // kept sign- or zero-extended in its byte
    uint64_t low = bits & ((1u << width) - 1);
    bool negative = cel_ref_class(t) == 'S' && low >> (width - 1) & 1;
    bits = negative ? low | ~(uint64_t)0 << width : low;
  }
  uint8_t b8 = (uint8_t)bits;
  uint16_t b16 = (uint16_t)bits;
  uint32_t b32 = (uint32_t)bits;
  switch (bytes) {
    case 1: memcpy(at, &b8, 1); break;
    case 2: memcpy(at, &b16, 2); break;
    case 4: memcpy(at, &b32, 4); break;
    default: memcpy(at, &bits, 8); break;
  }
}

int64_t cel_ref_get_int(cel_etype t, const void *p, int64_t i) {
  if (t == CEL_ET_PRED) return ((const char *)p)[i] != 0;
  uint64_t bits = cel_ref_get_bits(t, p, i);
  int width = cel_ref_bits(t);
  if (cel_ref_class(t) == 'S' && width < 64 && bits >> (width - 1) & 1) bits |= ~(uint64_t)0 << width;
  int64_t x;
  memcpy(&x, &bits, 8);
  return x;
}

void cel_ref_put_int(cel_etype t, void *p, int64_t i, uint64_t x) { cel_ref_put_bits(t, p, i, x); }

double cel_ref_get_other_float(cel_etype t, const void *p, int64_t i) {
  double d;
  uint16_t h;
  switch (t) {
    case CEL_ET_F64: memcpy(&d, (const char *)p + i * 8, 8); return d;
    case CEL_ET_F16: memcpy(&h, (const char *)p + i * 2, 2); return (double)cel_f16_to_f32(h);
    case CEL_ET_BF16: memcpy(&h, (const char *)p + i * 2, 2); return (double)cel_bf16_to_f32(h);
    default: return cel_ref_decode(cel_ref_format_of(t), ((const uint8_t *)p)[i]);
  }
}

// 16-bit formats: values that are floats already take the short way; others must be rounded only once.
static uint16_t half_bits(cel_etype t, double x) {
  float f = (float)x;
  if ((double)f != x) return (uint16_t)cel_ref_encode(cel_ref_format_of(t), x);
  return t == CEL_ET_F16 ? cel_f32_to_f16(f) : cel_f32_to_bf16(f);
}

void cel_ref_put_other_float(cel_etype t, void *p, int64_t i, double x) {
  if (t == CEL_ET_F64) {
    memcpy((char *)p + i * 8, &x, 8);
  } else if (cel_ref_bytes(t) == 2) {
    uint16_t h = half_bits(t, x);
    memcpy((char *)p + i * 2, &h, 2);
  } else {
    ((uint8_t *)p)[i] = (uint8_t)cel_ref_encode(cel_ref_format_of(t), x);
  }
}

cel_ref_complex cel_ref_get_complex(cel_etype t, const void *p, int64_t i) {
  float f[2];
  double d[2];
  if (t == CEL_ET_C64) {
    memcpy(f, (const char *)p + i * 8, 8);
    return cel_ref_complex_of((double)f[0], (double)f[1]);
  }
  memcpy(d, (const char *)p + i * 16, 16);
  return cel_ref_complex_of(d[0], d[1]);
}

void cel_ref_put_complex(cel_etype t, void *p, int64_t i, cel_ref_complex x) {
  float f[2] = {(float)creal(x), (float)cimag(x)};
  double d[2] = {creal(x), cimag(x)};
  if (t == CEL_ET_C64)
    memcpy((char *)p + i * 8, f, 8);
  else
    memcpy((char *)p + i * 16, d, 16);
}

cel_ref_complex cel_ref_complex_multiply(cel_etype t, cel_ref_complex a, cel_ref_complex b) {
  double ar = creal(a), ai = cimag(a), br = creal(b), bi = cimag(b);
  if (t == CEL_ET_C128) return cel_ref_complex_of(ar * br - ai * bi, ar * bi + ai * br);
  float re = (float)(ar * br) - (float)(ai * bi), im = (float)(ar * bi) + (float)(ai * br);
  return cel_ref_complex_of((double)re, (double)im);
}

// Truncates and saturates to a type of `width` bits; NaN gives 0.
static uint64_t float_to_int(double x, int width, bool is_signed) {
  if (isnan(x)) return 0;
  x = trunc(x);
  int magnitude = is_signed ? width - 1 : width;
  if (x >= ldexp(1, magnitude)) return magnitude == 64 ? ~(uint64_t)0 : ((uint64_t)1 << magnitude) - 1;
  if (!is_signed) return x <= 0 ? 0 : (uint64_t)x;
  if (x <= -ldexp(1, magnitude)) return ~(uint64_t)0 << magnitude;
  return (uint64_t)(int64_t)x;
}

// An integer as a double that will be rounded again to a narrower type: bits that do not fit are gathered
// in the last one (round to odd), so that the second rounding sees on which side of a tie the value lies.
static double int_to_float(int64_t x, bool is_signed, bool again) {
  bool negative = is_signed && x < 0;
  uint64_t mag = negative ? 0 - (uint64_t)x : (uint64_t)x;
  if (again && mag >> 53) mag = (mag >> 11 | ((mag & 0x7FF) != 0)) << 11;
  return negative ? -(double)mag : (double)mag;
}

static void from_float(double x, cel_etype to, void *dst, int64_t j) {
  switch (cel_ref_class(to)) {
    case 'P': cel_ref_put_int(to, dst, j, x != 0); break;
    case 'F': cel_ref_put_float(to, dst, j, x); break;
    case 'C': cel_ref_put_complex(to, dst, j, cel_ref_complex_of(x, 0)); break;
    default: cel_ref_put_int(to, dst, j, float_to_int(x, cel_ref_bits(to), cel_ref_class(to) == 'S'));
  }
}

static void from_int(int64_t x, bool is_signed, cel_etype to, void *dst, int64_t j) {
  bool is_double = to == CEL_ET_F64 || to == CEL_ET_C128;
  switch (cel_ref_class(to)) {
    case 'P': cel_ref_put_int(to, dst, j, x != 0); break;
    case 'F':
    case 'C': from_float(int_to_float(x, is_signed, !is_double), to, dst, j); break;
    default: cel_ref_put_int(to, dst, j, (uint64_t)x); break;
  }
}

void cel_ref_convert_element(cel_etype from, const void *src, int64_t i, cel_etype to, void *dst, int64_t j) {
  if (from == to) {
    cel_ref_move(cel_ref_bytes(from), src, i, dst, j);
    return;
  }
  char class = cel_ref_class(from);
  if (class == 'C' && cel_ref_class(to) == 'C')
    cel_ref_put_complex(to, dst, j, cel_ref_get_complex(from, src, i));
  else if (class == 'C')
    from_float(creal(cel_ref_get_complex(from, src, i)), to, dst, j);  // the imaginary part is dropped
  else if (class == 'F')
    from_float(cel_ref_get_float(from, src, i), to, dst, j);
  else
    from_int(cel_ref_get_int(from, src, i), class == 'S', to, dst, j);
}
