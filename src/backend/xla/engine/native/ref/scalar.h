// The arithmetic of single elements, by operation and element type.
#ifndef CEL_XLA_NATIVE_REF_SCALAR_H
#define CEL_XLA_NATIVE_REF_SCALAR_H

#include "backend/xla/engine/native/ref/element.h"

typedef double cel_ref_float1(double x);
typedef double cel_ref_float2(double a, double b);
// Integers and i1: operands extended to 64 bits; the result is cut to `bits` when stored.
typedef uint64_t cel_ref_int1(uint64_t x, int bits, bool is_signed);
typedef uint64_t cel_ref_int2(uint64_t a, uint64_t b, int bits, bool is_signed);
typedef cel_ref_complex cel_ref_complex1(cel_ref_complex x);
typedef cel_ref_complex cel_ref_complex2(cel_ref_complex a, cel_ref_complex b);

// One of the three is set, by the element type's class.
typedef struct cel_ref_unary {
  cel_ref_float1 *f;
  cel_ref_int1 *i;
  cel_ref_complex1 *z;
} cel_ref_unary;
typedef struct cel_ref_binary {
  cel_ref_float2 *f;
  cel_ref_int2 *i;
  cel_ref_complex2 *z;
} cel_ref_binary;

// False: the operation is not elementwise of that many operands, or not defined for the type.
bool cel_ref_unary_of(cel_hlo_opcode op, cel_etype t, cel_ref_unary *out);
bool cel_ref_binary_of(cel_hlo_opcode op, cel_etype t, cel_ref_binary *out);
void cel_ref_apply1(const cel_ref_unary *u, cel_etype t, const void *x, void *y, int64_t i);
// y[k] = u(a[i], b[j])
void cel_ref_apply2(const cel_ref_binary *u, cel_etype t, const void *a, int64_t i, const void *b, int64_t j, void *y,
                    int64_t k);

// How a[i] stands to b[i]; `total`: floats in IEEE-754 totalOrder. Complex numbers: (real, imaginary).
enum { CEL_REF_BELOW = 1, CEL_REF_SAME = 2, CEL_REF_ABOVE = 4, CEL_REF_UNORDERED = 8 };
unsigned cel_ref_order(cel_etype t, const void *a, const void *b, int64_t i, bool total);

#endif
