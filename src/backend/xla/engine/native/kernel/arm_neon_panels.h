// What the files of the products of NEON's table share. Internal to kernel/.
#ifndef CEL_XLA_NATIVE_KERNEL_ARM_NEON_PANELS_H
#define CEL_XLA_NATIVE_KERNEL_ARM_NEON_PANELS_H

#include "backend/xla/engine/native/kernel/arm_panel.h"

extern cel_panel_multiply *const cel_neon_panels[CEL_PANEL_KINDS];
// linear_mul of the formats of CEL_LIN_SMALL_KINDS.
void cel_neon_linear_mul_small(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens, float *y,
                               int64_t y_stride, int64_t row_begin, int64_t row_end, void *scratch);

#endif
