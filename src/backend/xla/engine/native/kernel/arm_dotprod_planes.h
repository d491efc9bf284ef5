// DOTPROD: activations of 16 bits are two planes of bytes: the upper ones have a sign, the lower ones none. Weights without a sign
// and with at most seven bits multiply both as they are. Weights of eight bits have a sign where they meet the upper plane, and none
// (128 more) where they meet the lower one. What a product is too large by follows from the sums of the planes. Internal to kernel/.
#ifndef CEL_XLA_NATIVE_KERNEL_ARM_DOTPROD_PLANES_H
#define CEL_XLA_NATIVE_KERNEL_ARM_DOTPROD_PLANES_H

#include "backend/xla/engine/native/kernel/arm_neon_unit.h"
#include "backend/xla/engine/native/kernel/arm_panel.h"

// Kinds without biases have an offset or are wide, wide ones have a sign put on or taken off; the others nothing.
static CEL_ALWAYS_INLINE bool corrected(cel_panel_shape f) { return !f.bias || f.wide; }

// Of the sum of the lower plane (or of all bytes) and of that of the upper one.
typedef struct factors {
  int32_t low, high;
} factors;

// total: see PLANES in arm_pack.h.
static CEL_ALWAYS_INLINE int32_t excess(cel_panel_shape f, factors less, int32_t total) {
  if (f.bytes) return less.low * total;
  return less.low * (total & 0xFFFF) + less.high * (total >> 16);
}

// The same place, which compilers cannot know: else what the first plane loaded of a panel is kept for the second one, and spilled.
static CEL_ALWAYS_INLINE const uint8_t *once_more(const uint8_t *q) {
  __asm__("" : "+r"(q));
  return q;
}

static CEL_ALWAYS_INLINE int8x16_t flip_sign(uint8x16_t v) { return vreinterpretq_s8_u8(veorq_u8(v, set_u8(128))); }
// As a panel keeps them.
static CEL_ALWAYS_INLINE int8x16_t signed_weights(lin_kind f, uint8x16_t q) {
  return f == K_AFFINE8 ? flip_sign(q) : vreinterpretq_s8_u8(q);
}

#endif
