// DOTPROD: the products of one unit, and panels in which a line holds four neighbours of each of 16 rows. Internal to kernel/.
#ifndef CEL_XLA_NATIVE_KERNEL_ARM_DOTPROD_FOURS_H
#define CEL_XLA_NATIVE_KERNEL_ARM_DOTPROD_FOURS_H

#include "backend/xla/engine/native/kernel/arm_dotprod_planes.h"
#include "backend/xla/engine/native/kernel/arm_neon_scales.h"

enum { LINE = 32, ENTRY_BYTES = 1 };

// With x = 256 h + l and q = w + 128 where w has a sign: sum w x = 256 sum w h + sum q l - 128 sum l.
// With q and w = q - 128:                                sum q x = 256 sum w h + sum q l + 128 * 256 sum h.
static CEL_ALWAYS_INLINE factors factors_of(lin_kind k, bool bytes) {
  if (with_sign(k)) return (factors){128, 0};
  if (wide(k)) return (factors){0, -32768};
  return (factors){offset_of(k), bytes ? 0 : 256 * offset_of(k)};
}

typedef struct acts {
  int8x16_t high[CEL_LIN_UNIT_MAX / 16];
  uint8x16_t low[CEL_LIN_UNIT_MAX / 16];
} acts;

static CEL_ALWAYS_INLINE acts load_acts(lin_kind f, bool bytes, const uint8_t *x) {
  acts a;
  for (int i = 0; i < unit_of(f) / 16; i++) {
    a.high[i] = vreinterpretq_s8_u8(vld1q_u8(x + 16 * i));
    if (!bytes) a.low[i] = vld1q_u8(x + unit_of(f) + 16 * i);
  }
  return a;
}

static CEL_ALWAYS_INLINE int32x4_t unit_dot(lin_kind f, bool bytes, const uint8x16_t *q, const acts *x, int first, int n) {
  int32x4_t d = vdupq_n_s32(0);
  for (int v = first; v < first + n; v++) d = vdotq_s32(d, signed_weights(f, q[v]), x->high[v]);
  if (bytes) return d;
  uint32x4_t both = vreinterpretq_u32_s32(vshlq_n_s32(d, 8));
  for (int v = first; v < first + n; v++)
    both = vdotq_u32(both, with_sign(f) ? vreinterpretq_u8_s8(flip_sign(q[v])) : q[v], x->low[v]);
  return vreinterpretq_s32_u32(both);
}

static CEL_ALWAYS_INLINE void store_unit(lin_kind f, uint8x16_t (*q)[4], uint8_t *out) {
  for (int v = 0; v < unit_of(f) / 16; v++)
    for (int r = 0; r < 8; r += 4) {
      uint32x4_t t[4];
      for (int i = 0; i < 4; i++) t[i] = vreinterpretq_u32_s8(signed_weights(f, q[r + i][v]));
      transpose4(t);
      for (int i = 0; i < 4; i++) vst1q_u8(out + (4 * v + i) * 2 * LINE + 4 * r, vreinterpretq_u8_u32(t[i]));
    }
}

#endif
