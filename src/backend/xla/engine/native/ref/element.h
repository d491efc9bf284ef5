// One element of a tensor in memory: read and written as integer, double or complex. Everything goes
// through memcpy, so buffers need no alignment.
#ifndef CEL_XLA_NATIVE_REF_ELEMENT_H
#define CEL_XLA_NATIVE_REF_ELEMENT_H

#include <complex.h>
#include <stdint.h>
#include <string.h>

#include "backend/xla/hlo/hlo.h"
#include "base/half.h"

typedef double complex cel_ref_complex;

// As cel_etype_bytes and its kin for valid types, but inline: they stand in every loop.
static inline int cel_ref_bytes(cel_etype t) {
  static const unsigned char bytes_of[] = {
#define CEL_ETYPE(code, spelling, bits, bytes, class) bytes,
#include "backend/xla/hlo/etype.def"
#undef CEL_ETYPE
  };
  return bytes_of[t];
}
static inline int cel_ref_bits(cel_etype t) {
  static const unsigned char bits_of[] = {
#define CEL_ETYPE(code, spelling, bits, bytes, class) bits,
#include "backend/xla/hlo/etype.def"
#undef CEL_ETYPE
  };
  return bits_of[t];
}
static inline char cel_ref_class(cel_etype t) {
  static const char class_of[] = {
#define CEL_ETYPE(code, spelling, bits, bytes, class) #class[0],
#include "backend/xla/hlo/etype.def"
#undef CEL_ETYPE
  };
  return class_of[t];
}

// The bits of a float format with `ebits` exponent and `mbits` mantissa bits, IEEE rules.
typedef struct cel_ref_format {
  int ebits, mbits;
  bool finite_only;  // f8E4M3FN: no infinities, NaN is all ones
} cel_ref_format;
cel_ref_format cel_ref_format_of(cel_etype t);
uint32_t cel_ref_encode(cel_ref_format f, double x);  // rounds to nearest, ties to even
double cel_ref_decode(cel_ref_format f, uint32_t bits);

// The element's bits, zero-extended; for types of at most 64 bits. Sub-byte types: the low bits only.
uint64_t cel_ref_get_bits(cel_etype t, const void *p, int64_t i);
void cel_ref_put_bits(cel_etype t, void *p, int64_t i, uint64_t bits);

// Integers and i1: sign- or zero-extended to 64 bits. Writing wraps to the element's width.
int64_t cel_ref_get_int(cel_etype t, const void *p, int64_t i);
void cel_ref_put_int(cel_etype t, void *p, int64_t i, uint64_t x);

// Floats: exact when read, rounded once when written.
double cel_ref_get_other_float(cel_etype t, const void *p, int64_t i);  // all but f32
void cel_ref_put_other_float(cel_etype t, void *p, int64_t i, double x);
static inline double cel_ref_get_float(cel_etype t, const void *p, int64_t i) {
  float f;
  if (t != CEL_ET_F32) return cel_ref_get_other_float(t, p, i);
  memcpy(&f, (const char *)p + i * 4, 4);
  return (double)f;
}
static inline void cel_ref_put_float(cel_etype t, void *p, int64_t i, double x) {
  float f = (float)x;
  if (t == CEL_ET_F32)
    memcpy((char *)p + i * 4, &f, 4);
  else
    cel_ref_put_other_float(t, p, i, x);
}

cel_ref_complex cel_ref_get_complex(cel_etype t, const void *p, int64_t i);
void cel_ref_put_complex(cel_etype t, void *p, int64_t i, cel_ref_complex x);
static inline cel_ref_complex cel_ref_complex_of(double re, double im) {
  double parts[2] = {re, im};  // C99 6.2.5: a complex has the layout of an array of two; no NaN mixing
  cel_ref_complex z;
  memcpy(&z, parts, sizeof z);
  return z;
}
// By parts, each product and each sum rounded to the part's type (f32 for C64): what compilers make of it.
cel_ref_complex cel_ref_complex_multiply(cel_etype t, cel_ref_complex a, cel_ref_complex b);

// dst[j] = src[i] of `bytes` bytes each; sizes known to the compiler make this cheap.
static inline void cel_ref_move(int bytes, const void *src, int64_t i, void *dst, int64_t j) {
  switch (bytes) {
    case 1: ((char *)dst)[j] = ((const char *)src)[i]; break;
    case 2: memcpy((char *)dst + j * 2, (const char *)src + i * 2, 2); break;
    case 4: memcpy((char *)dst + j * 4, (const char *)src + i * 4, 4); break;
    case 8: memcpy((char *)dst + j * 8, (const char *)src + i * 8, 8); break;
    default: memcpy((char *)dst + j * 16, (const char *)src + i * 16, 16); break;
  }
}

// convert: one element from type to type, by the rules in ref.h.
void cel_ref_convert_element(cel_etype from, const void *src, int64_t i, cel_etype to, void *dst, int64_t j);

#endif
