// NEON: products of 16-bit integers, and of bytes for one token. In a panel a row of 16-bit integers stands for each position.
// Internal to kernel/.
#ifndef CEL_XLA_NATIVE_KERNEL_ARM_NEON_WORDS_H
#define CEL_XLA_NATIVE_KERNEL_ARM_NEON_WORDS_H

#include "backend/xla/engine/native/kernel/arm_neon_unit.h"
#include "backend/xla/engine/native/kernel/arm_panel.h"

enum { LINE = 16, ENTRY_BYTES = 2 };

// Weights are unpacked without anything to take off.
static CEL_ALWAYS_INLINE bool corrected(cel_panel_shape f) {
  (void)f;
  return false;
}
typedef int factors;
static CEL_ALWAYS_INLINE factors factors_of(lin_kind k, bool bytes) {
  (void)k;
  (void)bytes;
  return 0;
}
static CEL_ALWAYS_INLINE int32_t excess(cel_panel_shape f, factors less, int32_t total) {
  (void)f;
  (void)less;
  (void)total;
  return 0;
}

typedef struct acts {
  int16x8_t words[CEL_LIN_UNIT_MAX / 8];
  int8x16_t bytes[CEL_LIN_UNIT_MAX / 16];
} acts;

static CEL_ALWAYS_INLINE acts load_acts(lin_kind f, bool bytes, const uint8_t *x) {
  acts a;
  for (int i = 0; i < unit_of(f) / 16; i++) {
    if (bytes) {
      a.bytes[i] = vreinterpretq_s8_u8(vld1q_u8(x + 16 * i));
    } else {
      a.words[2 * i] = vreinterpretq_s16_u8(vld1q_u8(x + 32 * i));
      a.words[2 * i + 1] = vreinterpretq_s16_u8(vld1q_u8(x + 32 * i + 16));
    }
  }
  return a;
}

static CEL_ALWAYS_INLINE int32x4_t add_words(int32x4_t d, int16x8_t w, int16x8_t x) {
  return vmlal_high_s16(vmlal_s16(d, vget_low_s16(w), vget_low_s16(x)), w, x);
}

// Two products of bytes fit 16 bits: 2 * 63 * 127.
static CEL_ALWAYS_INLINE int32x4_t add_bytes(int32x4_t d, int8x16_t w, int8x16_t x) {
  return vpadalq_s16(d, vmlal_high_s8(vmull_s8(vget_low_s8(w), vget_low_s8(x)), w, x));
}

static CEL_ALWAYS_INLINE int32x4_t unit_dot(lin_kind f, bool bytes, const uint8x16_t *q, const acts *x, int first, int n) {
  int32x4_t d = vdupq_n_s32(0);
  for (int v = first; v < first + n; v++) {
    if (bytes) {
      d = add_bytes(d, vreinterpretq_s8_u8(vsubq_u8(q[v], set_u8(offset_of(f)))), x->bytes[v]);
    } else {
      d = add_words(d, words_of(f, q[v], 0), x->words[2 * v]);
      d = add_words(d, words_of(f, q[v], 1), x->words[2 * v + 1]);
    }
  }
  return d;
}

// Eight rows of 16 bytes to 16 rows of eight: three shuffles, each of which moves the topmost bit of a byte's place to the bottom.
static CEL_ALWAYS_INLINE void transpose8x16(uint8x16_t *v) {
  for (int round = 0; round < 3; round++) {
    uint8x16_t t[8];
    for (int i = 0; i < 4; i++) {
      t[2 * i] = vzip1q_u8(v[i], v[i + 4]);
      t[2 * i + 1] = vzip2q_u8(v[i], v[i + 4]);
    }
    for (int i = 0; i < 8; i++) v[i] = t[i];
  }
}

static CEL_ALWAYS_INLINE void store_unit(lin_kind f, uint8x16_t (*q)[4], uint8_t *out) {
  for (int v = 0; v < unit_of(f) / 16; v++) {
    uint8x16_t t[8];
    for (int r = 0; r < 8; r++) t[r] = q[r][v];
    transpose8x16(t);
    for (int i = 0; i < 8; i++)
      for (int h = 0; h < 2; h++)
        vst1q_u8(out + (16 * v + 2 * i + h) * 2 * CEL_PANEL_ROWS, vreinterpretq_u8_s16(words_of(f, t[i], h)));
  }
}

#endif
