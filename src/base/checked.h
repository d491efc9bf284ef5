// Arithmetic on sizes that come from outside. Each returns false when the result does not fit or an
// operand is negative; *out is then unspecified.
#ifndef CEL_BASE_CHECKED_H
#define CEL_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"

CEL_MUST_CHECK static inline bool cel_add_i64(int64_t a, int64_t b, int64_t *out) {
  if (a < 0 || b < 0 || a > INT64_MAX - b) return false;
  *out = a + b;
  return true;
}

CEL_MUST_CHECK static inline bool cel_mul_i64(int64_t a, int64_t b, int64_t *out) {
  if (a < 0 || b < 0 || (b != 0 && a > INT64_MAX / b)) return false;
  *out = a * b;
  return true;
}

// Rounds up to a multiple of `align`, a power of two.
CEL_MUST_CHECK static inline bool cel_align_i64(int64_t a, int64_t align, int64_t *out) {
  if (!cel_add_i64(a, align - 1, out)) return false;
  *out &= ~(align - 1);
  return true;
}

#endif
