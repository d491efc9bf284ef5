// The NEON bodies, shared between the files of their table. Internal to kernel/.
#ifndef CEL_XLA_NATIVE_KERNEL_ARM_NEON_H
#define CEL_XLA_NATIVE_KERNEL_ARM_NEON_H

#include "backend/xla/engine/native/kernel/kernel.h"

#define CEL_KERNEL(name, args) void cel_neon_##name args;
#include "backend/xla/engine/native/kernel/kernel.def"
#undef CEL_KERNEL
void cel_neon_linear_mul_f32(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens, float *y,
                             int64_t y_stride, int64_t row_begin, int64_t row_end, void *scratch);

extern const cel_kernels cel_kernels_neon;

#endif
