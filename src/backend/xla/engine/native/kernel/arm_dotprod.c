// Table of the kernels that use dot products of bytes (FEAT_DotProd): packing, and the formats that most files have. The rest are in
// arm_dotprod_small.c; everything else is NEON's.
#include "backend/xla/engine/native/kernel/kernel.h"

#if defined(__aarch64__)
#include "backend/xla/engine/native/kernel/arm_dotprod.h"
#include "backend/xla/engine/native/kernel/arm_dotprod_fours.h"
#include "backend/xla/engine/native/kernel/arm_neon.h"
#include "backend/xla/engine/native/kernel/arm_one.h"
#include "backend/xla/engine/native/kernel/arm_unpack.h"

#define NAME(kernel) cel_dotprod_##kernel
#define PLANES 1
#include "backend/xla/engine/native/kernel/arm_pack.h"

#define KINDS CEL_LIN_COMMON_KINDS
#include "backend/xla/engine/native/kernel/arm_mul.h"

void cel_dotprod_linear_mul(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens, float *y,
                            int64_t y_stride, int64_t row_begin, int64_t row_end, void *scratch) {
  if (!cel_lin_integers(w)) {
    cel_neon_linear_mul_f32(w, packed, pack_stride, n_tokens, y, y_stride, row_begin, row_end, scratch);
  } else if (!mul_listed(w, packed, pack_stride, n_tokens, y, y_stride, row_begin, row_end, cel_dotprod_panels, scratch)) {
    cel_dotprod_linear_mul_small(w, packed, pack_stride, n_tokens, y, y_stride, row_begin, row_end, scratch);
  }
}

const cel_kernels cel_kernels_dotprod = {
  .isa = "dotprod",
  .linear_pack = cel_dotprod_linear_pack,
  .linear_mul = cel_dotprod_linear_mul,
};

#endif
