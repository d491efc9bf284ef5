// SIMDe in the place of the processor's AVX-512, with the few functions it lacks.
#ifndef CEL_TESTS_KERNEL_EMULATED_H
#define CEL_TESTS_KERNEL_EMULATED_H

#define SIMDE_ENABLE_NATIVE_ALIASES
#define CEL_NO_UNROLL
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wextra"
#endif
#include <simde/x86/avx512.h>
#include <simde/x86/f16c.h>
#include <simde/x86/fma.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

static inline __m512 emulated_cvtepi32_ps(__m512i v) {
  simde__m512i_private from = simde__m512i_to_private(v);
  simde__m512_private to;
  for (int i = 0; i < 16; i++) to.f32[i] = (float)from.i32[i];
  return simde__m512_from_private(to);
}
#undef _mm512_madd_epi16  // an alias with a wrong number of parameters
#define _mm512_madd_epi16(a, b) simde_mm512_madd_epi16(a, b)
#undef _mm512_cvtepi32_ps
#define _mm512_cvtepi32_ps(v) emulated_cvtepi32_ps(v)

#endif
