// The AVX2 bodies, shared between the files of their table. Internal to kernel/.
#ifndef CEL_XLA_NATIVE_KERNEL_X86_AVX2_H
#define CEL_XLA_NATIVE_KERNEL_X86_AVX2_H

#include "backend/xla/engine/native/kernel/kernel.h"
#include "backend/xla/engine/native/kernel/x86_panel.h"

#define CEL_KERNEL(name, args) void cel_avx2_##name args;
#include "backend/xla/engine/native/kernel/kernel.def"
#undef CEL_KERNEL
void cel_avx2_linear_mul_f32(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens,
                             float *y, int64_t y_stride, int64_t row_begin, int64_t row_end, void *scratch);
void cel_avx2_linear_mul_small(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens,
                               float *y, int64_t y_stride, int64_t row_begin, int64_t row_end,
                               cel_panel_multiply *const *panels, void *scratch);
// linear_mul with another table's panels for several tokens.
void cel_avx2_linear_mul_panels(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens, float *y,
                                int64_t y_stride, int64_t row_begin, int64_t row_end, cel_panel_multiply *const *panels,
                                void *scratch);

extern const cel_kernels cel_kernels_avx2;

#endif
