// What dot_general and convolution share: the arithmetic of a sum of products.
#ifndef CEL_XLA_NATIVE_REF_CONTRACT_H
#define CEL_XLA_NATIVE_REF_CONTRACT_H

#include "backend/xla/engine/native/ref/internal.h"

// In what the products and sums of a result element type are computed; see ref.h.
typedef enum cel_ref_sum {
  CEL_REF_SUM_F32,
  CEL_REF_SUM_F64,
  CEL_REF_SUM_INT,
  CEL_REF_SUM_C64,
  CEL_REF_SUM_C128
} cel_ref_sum;

cel_ref_sum cel_ref_sum_of(cel_etype result);
int64_t cel_ref_sum_bytes(cel_ref_sum s);  // of one number of that kind
// Reads element i of x as number j of `out`; writes number j of `in` as element i of y, rounding or wrapping.
void cel_ref_sum_load(cel_ref_sum s, const cel_ref_tensor *x, int64_t i, void *out, int64_t j);
void cel_ref_sum_store(cel_ref_sum s, const void *in, int64_t j, const cel_ref_tensor *y, int64_t i);
// acc[j] += a[0] * b[j] for n numbers side by side.
void cel_ref_sum_add(cel_ref_sum s, void *acc, const void *a, const void *b, int64_t n);

#endif
