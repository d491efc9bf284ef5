// Table of the AVX-512 kernels (F, BW, VL, DQ).
#include "backend/xla/engine/native/kernel/kernel.h"

#if defined(__x86_64__)
#include "backend/xla/engine/native/kernel/x86_avx512.h"
#include "backend/xla/engine/native/kernel/x86_intrinsics.h"

#define NAME(kernel) CEL_AVX512_NAME(kernel)
#define add_dot(acc, a, b) _mm512_add_epi32(acc, _mm512_madd_epi16(a, b))
#include "backend/xla/engine/native/kernel/x86_avx512_linear.h"

const cel_kernels CEL_AVX512_TABLE = {
  .isa = "avx512",
  .linear_mul = NAME(linear_mul),
};

#endif
