// NEON: the linear kernels on quantized weights: packing, and the formats that most files have. The rest are in
// arm_neon_linear_small.c.
#include "backend/xla/engine/native/kernel/kernel.h"

#if defined(__aarch64__)
#include "backend/xla/engine/native/kernel/arm_neon.h"
#include "backend/xla/engine/native/kernel/arm_neon_panels.h"
#include "backend/xla/engine/native/kernel/arm_neon_words.h"
#include "backend/xla/engine/native/kernel/arm_one.h"
#include "backend/xla/engine/native/kernel/arm_unpack.h"

#define NAME(kernel) cel_neon_##kernel
#define PLANES 0
#include "backend/xla/engine/native/kernel/arm_pack.h"

#define KINDS CEL_LIN_COMMON_KINDS
#include "backend/xla/engine/native/kernel/arm_mul.h"

void cel_neon_linear_mul(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens, float *y,
                         int64_t y_stride, int64_t row_begin, int64_t row_end, void *scratch) {
  if (!cel_lin_integers(w)) {
    cel_neon_linear_mul_f32(w, packed, pack_stride, n_tokens, y, y_stride, row_begin, row_end, scratch);
  } else if (!mul_listed(w, packed, pack_stride, n_tokens, y, y_stride, row_begin, row_end, cel_neon_panels, scratch)) {
    cel_neon_linear_mul_small(w, packed, pack_stride, n_tokens, y, y_stride, row_begin, row_end, scratch);
  }
}

#endif
