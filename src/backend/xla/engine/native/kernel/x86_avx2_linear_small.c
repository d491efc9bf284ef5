// AVX2: the products of the formats whose units x86_avx2_small.h unpacks.
#include "backend/xla/engine/native/kernel/kernel.h"

#if defined(__x86_64__)
#include "backend/xla/engine/native/kernel/x86_avx2_rows.h"

#define KINDS(X)                                                                                                \
  X(Q2_K) X(Q3_K) X(IQ4_NL) X(IQ4_XS) X(MXFP4) X(TQ1_0) X(TQ2_0) X(Q8_1) X(Q8_K) X(AFFINE2) X(AFFINE3) X(AFFINE5) \
  X(AFFINE6) X(MLX_MXFP4) X(MLX_NVFP4)
KINDS(CEL_AVX2_MUL)

void cel_avx2_linear_mul_small(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens,
                               float *y, int64_t y_stride, int64_t row_begin, int64_t row_end,
                               cel_panel_multiply *const *panels, void *scratch) {
  static mul_body *const bodies[LIN_KINDS] = {KINDS(CEL_AVX2_BODY)};
  bodies[kind_of(w)](w, packed, pack_stride, n_tokens, y, y_stride, row_begin, row_end, panels, scratch);
}

#endif
