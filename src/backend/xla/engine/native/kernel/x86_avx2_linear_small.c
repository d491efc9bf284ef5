// AVX2: the products of the formats whose units x86_avx2_small.h unpacks.
#include "backend/xla/engine/native/kernel/kernel.h"

#if defined(__x86_64__)
#include "backend/xla/engine/native/kernel/x86_avx2_rows.h"

CEL_LIN_SMALL_KINDS(CEL_AVX2_MUL)

void cel_avx2_linear_mul_small(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens,
                               float *y, int64_t y_stride, int64_t row_begin, int64_t row_end,
                               cel_panel_multiply *const *panels, void *scratch) {
  static mul_body *const bodies[LIN_KINDS] = {CEL_LIN_SMALL_KINDS(CEL_AVX2_BODY)};
  bodies[kind_of(w)](w, packed, pack_stride, n_tokens, y, y_stride, row_begin, row_end, panels, scratch);
}

#endif
