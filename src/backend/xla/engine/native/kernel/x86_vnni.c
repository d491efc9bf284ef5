// Table of the AVX-512 kernels that use the fused dot product (VNNI).
#include "backend/xla/engine/native/kernel/kernel.h"

#if defined(__x86_64__)
#include "backend/xla/engine/native/kernel/x86_avx512.h"
#include "backend/xla/engine/native/kernel/x86_intrinsics.h"

#define NAME(kernel) CEL_VNNI_NAME(kernel)
#define add_words(d, w, x) _mm512_dpwssd_epi32(d, w, x)
#define add_bytes(d, w, x) _mm512_dpbusd_epi32(d, w, x)
#include "backend/xla/engine/native/kernel/x86_avx512_panel.h"

const cel_kernels CEL_VNNI_TABLE = {
  .isa = "vnni",
  .linear_mul = NAME(linear_mul),
};

#endif
