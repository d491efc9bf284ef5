// The formats as vector kernels see them, and what each is made of. `k` is a constant wherever these are called from loops, so
// each call keeps one branch. Internal to kernel/.
#ifndef CEL_XLA_NATIVE_KERNEL_LINEAR_KIND_H
#define CEL_XLA_NATIVE_KERNEL_LINEAR_KIND_H

#include "backend/xla/engine/native/kernel/linear.h"
#include "base/macros.h"

// Affine splits by bits and by scales per unit.
typedef enum lin_kind {
#define CEL_LINEAR(code, name, block, bytes, scales, biased) K_##code,
#include "backend/xla/engine/native/kernel/linear.def"
#undef CEL_LINEAR
  K_AFFINE2, K_AFFINE3, K_AFFINE4, K_AFFINE4_G32, K_AFFINE5, K_AFFINE6, K_AFFINE8
} lin_kind;
enum { LIN_KINDS = K_AFFINE8 + 1 };
// Weights that are small integers with scales: what most files have, and the others. Lists of two halves compile in half the time.
#define CEL_LIN_COMMON_KINDS(X) \
  X(Q4_0) X(Q4_1) X(Q5_0) X(Q5_1) X(Q8_0) X(Q4_K) X(Q5_K) X(Q6_K) X(AFFINE8) X(AFFINE4) X(AFFINE4_G32)
#define CEL_LIN_SMALL_KINDS(X)                                                                                   \
  X(Q2_K) X(Q3_K) X(IQ4_NL) X(IQ4_XS) X(MXFP4) X(TQ1_0) X(TQ2_0) X(Q8_1) X(Q8_K) X(AFFINE2) X(AFFINE3) X(AFFINE5) \
  X(AFFINE6) X(MLX_MXFP4) X(MLX_NVFP4)

static inline lin_kind kind_of(const cel_linear *w) {
  if (w->format != CEL_LIN_AFFINE) return (lin_kind)w->format;
  switch (w->bits) {
    case 2: return K_AFFINE2;
    case 3: return K_AFFINE3;
    case 4: return w->group == 32 ? K_AFFINE4_G32 : K_AFFINE4;
    case 5: return K_AFFINE5;
    case 6: return K_AFFINE6;
    default: return K_AFFINE8;
  }
}
// Bits of an MLX kind's element, 0 for others.
static CEL_ALWAYS_INLINE int bits_of(lin_kind k) {
  switch (k) {
    case K_AFFINE2: return 2;
    case K_AFFINE3: return 3;
    case K_AFFINE4:
    case K_AFFINE4_G32:
    case K_MLX_MXFP4:
    case K_MLX_NVFP4: return 4;
    case K_AFFINE5: return 5;
    case K_AFFINE6: return 6;
    case K_AFFINE8: return 8;
    default: return 0;
  }
}
static CEL_ALWAYS_INLINE bool affine(lin_kind k) { return k >= K_AFFINE2; }
static CEL_ALWAYS_INLINE int unit_of(lin_kind k) { return k == K_AFFINE4 || k == K_AFFINE4_G32 ? 64 : 32; }
static CEL_ALWAYS_INLINE int halves_of(lin_kind k) {
  switch (k) {
#define CEL_LINEAR(code, name, block, bytes, scales, biased) case K_##code: return scales;
#include "backend/xla/engine/native/kernel/linear.def"
#undef CEL_LINEAR
    default: return k == K_AFFINE4_G32 ? 2 : 1;
  }
}
static CEL_ALWAYS_INLINE bool biased(lin_kind k) {
  switch (k) {
#define CEL_LINEAR(code, name, block, bytes, scales, biased) case K_##code: return biased;
#include "backend/xla/engine/native/kernel/linear.def"
#undef CEL_LINEAR
    default: return true;
  }
}
static CEL_ALWAYS_INLINE int block_of(lin_kind k) {
  switch (k) {
#define CEL_LINEAR(code, name, block, bytes, scales, biased) case K_##code: return block;
#include "backend/xla/engine/native/kernel/linear.def"
#undef CEL_LINEAR
    default: return 0;
  }
}
static CEL_ALWAYS_INLINE int block_bytes_of(lin_kind k) {
  switch (k) {
#define CEL_LINEAR(code, name, block, bytes, scales, biased) case K_##code: return bytes;
#include "backend/xla/engine/native/kernel/linear.def"
#undef CEL_LINEAR
    default: return 0;
  }
}
// Bytes of one batch of 8 units.
static CEL_ALWAYS_INLINE int batch_bytes_of(lin_kind k) {
  if (bits_of(k)) return unit_of(k) * bits_of(k);
  return block_of(k) == 256 ? block_bytes_of(k) : 8 * block_bytes_of(k);
}

// Formats whose blocks of a unit each begin with an f16 scale, and a bias where they have one.
static CEL_ALWAYS_INLINE bool leading_scale(lin_kind f) {
  return f == K_Q4_0 || f == K_Q4_1 || f == K_Q5_0 || f == K_Q5_1 || f == K_Q8_0 || f == K_Q8_1 || f == K_IQ4_NL;
}

// Bits of a kind that multiplies bytes (cel_lin_bytes), 0 for the others.
static CEL_ALWAYS_INLINE int byte_bits(lin_kind f) {
  switch (f) {
    case K_Q4_0:
    case K_Q4_1:
    case K_Q4_K: return 4;
    case K_Q5_0:
    case K_Q5_1:
    case K_Q5_K: return 5;
    case K_Q6_K: return 6;
    default: return affine(f) && bits_of(f) <= 6 ? bits_of(f) : 0;
  }
}

// False for the half unit that may end a row of 4-bit affine.
static CEL_ALWAYS_INLINE bool is_whole(lin_kind f, const cel_linear *w, int64_t u) {
  return f != K_AFFINE4_G32 || (u + 1) * 64 <= w->cols;
}

// Where 8 rows from `row` on begin; those behind `last` stand for rows that are not there.
typedef struct eight_rows {
  int64_t index[8];
  const uint8_t *at[8];
} eight_rows;

static CEL_ALWAYS_INLINE eight_rows rows_from(const cel_linear *w, int64_t row, int64_t last) {
  eight_rows e;
  for (int r = 0; r < 8; r++) {
    e.index[r] = CEL_MIN(row + r, last);
    e.at[r] = w->w + e.index[r] * w->w_row_bytes;
  }
  return e;
}

#endif
