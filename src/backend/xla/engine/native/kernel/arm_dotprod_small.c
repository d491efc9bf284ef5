// DOTPROD: the products of the formats that few files have.
#include "backend/xla/engine/native/kernel/kernel.h"

#if defined(__aarch64__)
#include "backend/xla/engine/native/kernel/arm_dotprod.h"
#include "backend/xla/engine/native/kernel/arm_dotprod_fours.h"
#include "backend/xla/engine/native/kernel/arm_one.h"
#include "backend/xla/engine/native/kernel/arm_unpack.h"

#define KINDS CEL_LIN_SMALL_KINDS
#include "backend/xla/engine/native/kernel/arm_mul.h"

void cel_dotprod_linear_mul_small(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens, float *y,
                                  int64_t y_stride, int64_t row_begin, int64_t row_end, void *scratch) {
  mul_listed(w, packed, pack_stride, n_tokens, y, y_stride, row_begin, row_end, cel_dotprod_panels, scratch);
}

#endif
