// The AVX-512 bodies. The f32 linear kernels and everything else are those of AVX2. Internal to kernel/.
#ifndef CEL_XLA_NATIVE_KERNEL_X86_AVX512_H
#define CEL_XLA_NATIVE_KERNEL_X86_AVX512_H

#include "backend/xla/engine/native/kernel/kernel.h"
#include "backend/xla/engine/native/kernel/x86_avx2.h"

// Names by table, so that a test can hold a second, emulated copy.
#ifndef CEL_AVX512_NAME
#define CEL_AVX512_NAME(name) cel_avx512_##name
#define CEL_VNNI_NAME(name) cel_vnni_##name
#define CEL_AVX512_TABLE cel_kernels_avx512
#define CEL_VNNI_TABLE cel_kernels_vnni
#endif

void CEL_AVX512_NAME(linear_mul)(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens,
                                 float *y, int64_t y_stride, int64_t row_begin, int64_t row_end, void *scratch);
void CEL_VNNI_NAME(linear_mul)(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens,
                               float *y, int64_t y_stride, int64_t row_begin, int64_t row_end, void *scratch);

extern const cel_kernels CEL_AVX512_TABLE, CEL_VNNI_TABLE;

#endif
