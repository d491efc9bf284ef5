// A checker for tables of kernels: each table against the scalar one, in buffers that trap one byte past
// either end. Failures are counted and printed with their parameters; the program's exit status is theirs.
#ifndef CEL_TESTS_KERNEL_CHECK_H
#define CEL_TESTS_KERNEL_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/xla/engine/native/kernel/kernel.h"
#include "base/macros.h"

typedef struct check {
  const cel_kernels *ref, *now;  // scalar; the table under test
  uint64_t random;
  long done, failed;
  int every, cases;  // of the products' cases one in `every` is checked; those seen so far
} check;

// `bytes` bytes between two pages that may not be touched; every second call the first byte lies against
// the lower page, else the last against the upper. Filled with 0xA5. Freed by release_all.
void *guarded(size_t bytes);
// The same, always aligned to 64 (bytes a multiple of 64).
float *guarded_floats(int64_t n);
void release_all(void);

static inline const char *kv_name(cel_kv kv) {
  static const char *const names[CEL_KV_KINDS] = {"f32", "f16", "i16", "i8"};
  return names[kv];
}
// One vector of d as a cache keeps it that is not of f32.
static inline void narrow_kept(const cel_kernels *k, cel_kv kv, void *to, const float *x, int d) {
  if (kv == CEL_KV_F16) k->narrow_f16(to, x, d);
  else if (kv == CEL_KV_I16) k->narrow_i16(to, x, d);
  else k->narrow_i8(to, x, d);
}

uint32_t random_bits(check *c);
float uniform(check *c);  // [-1, 1)
float normal(check *c);   // about a normal distribution
float awkward(check *c);  // any bit pattern

// Counts; on failure prints name and parameters (printf) once per call.
bool expect(check *c, bool ok, const char *fmt, ...) CEL_PRINTF(3, 4);
// First index where bits differ (all NaNs count as one value), or -1.
int64_t first_difference(const float *a, const float *b, int64_t n);
// Distance in units of the last place; NaN against NaN is 0, against a number huge.
double ulps(float got, double want);

void check_linear(check *c);
void check_dtypes(check *c);
void check_attention(check *c);
void check_recurrent(check *c);
void check_math(check *c);
void bench(const cel_kernels *k, const char *filter);

// A matrix of random weights of one format; bytes in guarded memory.
typedef struct weights {
  cel_linear w;
  char name[48];
} weights;
enum { AFFINE_KINDS = 6 * 3 * 2, WEIGHT_KINDS = CEL_LIN_FORMATS - 1 + AFFINE_KINDS };
// kind in [0, WEIGHT_KINDS): the formats of linear.def, with affine's place taken by those behind it, then affine
// by bits, group and scale type.
// Returns false when cols do not fit the format.
bool make_weights(check *c, int kind, cel_linear_precision precision, int64_t rows, int64_t cols, weights *out);

#endif
