// What the files of the DOTPROD and I8MM tables share. Internal to kernel/.
#ifndef CEL_XLA_NATIVE_KERNEL_ARM_DOTPROD_H
#define CEL_XLA_NATIVE_KERNEL_ARM_DOTPROD_H

#include "backend/xla/engine/native/kernel/arm_panel.h"

extern cel_panel_multiply *const cel_dotprod_panels[CEL_PANEL_KINDS];
void cel_dotprod_linear_pack(const cel_linear *w, const float *x, int64_t x_stride, int64_t n_tokens, uint8_t *packed,
                             int64_t pack_stride);
void cel_dotprod_linear_mul(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens, float *y,
                            int64_t y_stride, int64_t row_begin, int64_t row_end, void *scratch);
// The same of the formats of CEL_LIN_SMALL_KINDS.
void cel_dotprod_linear_mul_small(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens, float *y,
                                  int64_t y_stride, int64_t row_begin, int64_t row_end, void *scratch);

extern const cel_kernels cel_kernels_dotprod, cel_kernels_i8mm;

#endif
