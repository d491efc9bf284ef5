// NEON: the products of the formats that few files have.
#include "backend/xla/engine/native/kernel/kernel.h"

#if defined(__aarch64__)
#include "backend/xla/engine/native/kernel/arm_neon.h"
#include "backend/xla/engine/native/kernel/arm_neon_panels.h"
#include "backend/xla/engine/native/kernel/arm_neon_words.h"
#include "backend/xla/engine/native/kernel/arm_one.h"
#include "backend/xla/engine/native/kernel/arm_unpack.h"

#define KINDS CEL_LIN_SMALL_KINDS
#include "backend/xla/engine/native/kernel/arm_mul.h"

void cel_neon_linear_mul_small(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens, float *y,
                               int64_t y_stride, int64_t row_begin, int64_t row_end, void *scratch) {
  mul_listed(w, packed, pack_stride, n_tokens, y, y_stride, row_begin, row_end, cel_neon_panels, scratch);
}

#endif
