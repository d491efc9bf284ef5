// Table of the AVX-512 kernels (F, BW, VL, DQ).
#include "backend/xla/engine/native/kernel/kernel.h"

#if defined(__x86_64__)
#include "backend/xla/engine/native/kernel/x86_avx512.h"
#include "backend/xla/engine/native/kernel/x86_intrinsics.h"

#define NAME(kernel) CEL_AVX512_NAME(kernel)
#define add_words(d, w, x) _mm512_add_epi32(d, _mm512_madd_epi16(w, x))
// A pair of byte products fits 16 bits: weights have at most six.
#define add_bytes(d, w, x) _mm512_add_epi32(d, _mm512_madd_epi16(_mm512_maddubs_epi16(w, x), _mm512_set1_epi16(1)))
#include "backend/xla/engine/native/kernel/x86_avx512_panel.h"

const cel_kernels CEL_AVX512_TABLE = {
  .isa = "avx512",
  .linear_mul = NAME(linear_mul),
};

#endif
