// Table of the AVX2 kernels (with FMA and F16C), and those too small for a file of their own.
#include "backend/xla/engine/native/kernel/kernel.h"

#if defined(__x86_64__)
#include "backend/xla/engine/native/kernel/x86_avx2.h"

#define NAME(kernel) cel_avx2_##kernel
#include "backend/xla/engine/native/kernel/elementwise.h"

const cel_kernels cel_kernels_avx2 = {
  .isa = "avx2",
  .linear_pack = cel_avx2_linear_pack,
  .linear_mul = cel_avx2_linear_mul,
  .linear_row = cel_avx2_linear_row,
  .add_rows = cel_avx2_add_rows,
  .narrow_f16 = cel_avx2_narrow_f16,
  .narrow_i16 = cel_avx2_narrow_i16,
  .narrow_i8 = cel_avx2_narrow_i8,
  .attention = cel_avx2_attention,
  .rms_norm = cel_avx2_rms_norm,
  .layer_norm = cel_avx2_layer_norm,
  .rope = cel_avx2_rope,
  .silu_mul = cel_avx2_silu_mul,
  .gelu_tanh_mul = cel_avx2_gelu_tanh_mul,
  .short_conv = cel_avx2_short_conv,
  .gated_delta = cel_avx2_gated_delta,
  .add = cel_avx2_add,
  .sub = cel_avx2_sub,
  .mul = cel_avx2_mul,
  .div = cel_avx2_div,
  .max = cel_avx2_max,
  .min = cel_avx2_min,
  .neg = cel_avx2_neg,
  .abs = cel_avx2_abs,
  .sqrt = cel_avx2_sqrt,
  .rsqrt = cel_avx2_rsqrt,
  .exp = cel_avx2_exp,
  .tanh = cel_avx2_tanh,
  .logistic = cel_avx2_logistic,
};

#endif
