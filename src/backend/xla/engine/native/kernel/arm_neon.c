// Table of the NEON kernels. What it lacks are plain loops, which compilers vectorize for every arm64 processor.
#include "backend/xla/engine/native/kernel/kernel.h"

#if defined(__aarch64__)
#include "backend/xla/engine/native/kernel/arm_neon.h"

const cel_kernels cel_kernels_neon = {
  .isa = "neon",
  .linear_pack = cel_neon_linear_pack,
  .linear_mul = cel_neon_linear_mul,
  .linear_row = cel_neon_linear_row,
  .add_rows = cel_neon_add_rows,
  .attention = cel_neon_attention,
  .rms_norm = cel_neon_rms_norm,
  .layer_norm = cel_neon_layer_norm,
  .silu_mul = cel_neon_silu_mul,
  .gelu_tanh_mul = cel_neon_gelu_tanh_mul,
  .gated_delta = cel_neon_gated_delta,
  .max = cel_neon_max,
  .min = cel_neon_min,
  .exp = cel_neon_exp,
  .tanh = cel_neon_tanh,
  .logistic = cel_neon_logistic,
};

#endif
