// NEON: one unit of each quantized format as bytes. `f` is a constant wherever these are called, so each call keeps one branch.
// The bytes of a unit of 32 are in the order of its elements; of a unit of 64 they are the even elements of the first 32, the
// odd ones, then those of the other 32: nibbles fall apart so. Either way the first half's come first. Internal to kernel/.
#ifndef CEL_XLA_NATIVE_KERNEL_ARM_NEON_UNIT_H
#define CEL_XLA_NATIVE_KERNEL_ARM_NEON_UNIT_H

#include "backend/xla/engine/native/kernel/arm_neon_vec.h"
#include "backend/xla/engine/native/kernel/linear_kind.h"

static CEL_ALWAYS_INLINE uint8x16_t set_u8(int v) { return vdupq_n_u8((uint8_t)v); }
// Left by `by` bits, right where that is negative.
static CEL_ALWAYS_INLINE uint8x16_t shift_u8(uint8x16_t v, int by) { return vshlq_u8(v, vdupq_n_s8((int8_t)by)); }
// Bits of v that belong to mask, moved left by `by`.
static CEL_ALWAYS_INLINE uint8x16_t bits_u8(uint8x16_t v, int by, int mask) { return vandq_u8(shift_u8(v, by), set_u8(mask)); }

static CEL_ALWAYS_INLINE void nibbles(uint8x16_t v, uint8x16_t *q) {
  q[0] = vandq_u8(v, set_u8(15));
  q[1] = vshrq_n_u8(v, 4);
}

// Bit e of the 32 is the fifth of element e.
static CEL_ALWAYS_INLINE void fifth_bits(const uint8_t *p, uint8x16_t *q) {
  static const uint8_t places[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  const uint8x16_t place = vld1q_u8(places);
  for (int i = 0; i < 2; i++) {
    const uint8x16_t v = vcombine_u8(vdup_n_u8(p[2 * i]), vdup_n_u8(p[2 * i + 1]));
    q[i] = vorrq_u8(q[i], vandq_u8(vtstq_u8(v, place), set_u8(16)));
  }
}

static CEL_ALWAYS_INLINE void unit_k45(const uint8_t *b, int k, bool five, uint8x16_t *q) {
  for (int i = 0; i < 2; i++) {
    const uint8x16_t v = vld1q_u8(b + (five ? 48 : 16) + k / 2 * 32 + 16 * i);
    q[i] = k % 2 ? vshrq_n_u8(v, 4) : vandq_u8(v, set_u8(15));
    if (five) q[i] = vorrq_u8(q[i], bits_u8(vld1q_u8(b + 16 + 16 * i), 4 - k, 16));
  }
}

static CEL_ALWAYS_INLINE void unit_q6k(const uint8_t *b, int unit, uint8x16_t *q) {
  const int half = unit / 4, k = unit % 4;
  for (int i = 0; i < 2; i++) {
    const uint8x16_t v = vld1q_u8(b + half * 64 + k % 2 * 32 + 16 * i), h = vld1q_u8(b + 128 + half * 32 + 16 * i);
    q[i] = vorrq_u8(k < 2 ? vandq_u8(v, set_u8(15)) : vshrq_n_u8(v, 4), bits_u8(h, 4 - 2 * k, 0x30));
  }
}

// ---- a stream of bits -------------------------------------------------------------------------------

// The bytes that 16 elements from 16 * i on begin in, in the vector that stream loads.
static CEL_ALWAYS_INLINE uint8x16_t stream(int bits, const uint8_t *p, int i) {
  uint32_t tail;
  if (bits >= 5) return vld1q_u8(i ? p + 4 * bits - 16 : p);
  uint32x4_t v = vreinterpretq_u32_u8(vcombine_u8(vld1_u8(p), vdup_n_u8(0)));
  if (bits == 2) return vreinterpretq_u8_u32(v);
  memcpy(&tail, p + 8, 4);
  return vreinterpretq_u8_u32(vsetq_lane_u32(tail, v, 2));
}

#define EACH16(X, bits, from)                                                                                            \
  X(0, bits, from), X(1, bits, from), X(2, bits, from), X(3, bits, from), X(4, bits, from), X(5, bits, from),            \
  X(6, bits, from), X(7, bits, from), X(8, bits, from), X(9, bits, from), X(10, bits, from), X(11, bits, from),          \
  X(12, bits, from), X(13, bits, from), X(14, bits, from), X(15, bits, from)
#define PLACE(e, bits, from) (e) * (bits) / 8 + (from)
#define DOWN(e, bits, from) -((e) * (bits) % 8)
#define PLACES(bits, from) {{EACH16(PLACE, bits, 0)}, {EACH16(PLACE, bits, from)}}

// Element e lies within two bytes: what the first has of it, moved down, and the second, moved up.
static CEL_ALWAYS_INLINE void fields(int bits, const uint8_t *p, uint8x16_t *q) {
  static const uint8_t places[7][2][16] = {[2] = PLACES(2, 4), [3] = PLACES(3, 6), [5] = PLACES(5, 6), [6] = PLACES(6, 4)};
  static const int8_t downs[7][16] = {[2] = {EACH16(DOWN, 2, 0)}, [3] = {EACH16(DOWN, 3, 0)}, [5] = {EACH16(DOWN, 5, 0)},
                                      [6] = {EACH16(DOWN, 6, 0)}};
  const int8x16_t down = vld1q_s8(downs[bits]), up = vaddq_s8(down, vdupq_n_s8(8));
  for (int i = 0; i < 2; i++) {
    const uint8x16_t v = stream(bits, p, i), at = vld1q_u8(places[bits][i]);
    q[i] = vshlq_u8(vqtbl1q_u8(v, at), down);
    if (bits != 2) q[i] = vorrq_u8(q[i], vshlq_u8(vqtbl1q_u8(v, vaddq_u8(at, set_u8(1))), up));
    q[i] = vandq_u8(q[i], set_u8((1 << bits) - 1));
  }
}
#undef EACH16
#undef PLACE
#undef DOWN
#undef PLACES

// ---- tables, pairs and digits -----------------------------------------------------------------------

// 16 bytes of nibbles that choose from a table.
static CEL_ALWAYS_INLINE void chosen(const uint8_t *p, uint8x16_t table, uint8x16_t *q) {
  nibbles(vld1q_u8(p), q);
  for (int i = 0; i < 2; i++) q[i] = vqtbl1q_u8(table, q[i]);
}

static CEL_ALWAYS_INLINE uint8x16_t nl_table(void) { return vreinterpretq_u8_s8(vld1q_s8(cel_lin_nl_values)); }
// Twelve more than the values: no sign.
static CEL_ALWAYS_INLINE uint8x16_t e2m1_table(void) {
  return vaddq_u8(vreinterpretq_u8_s8(vld1q_s8(cel_lin_e2m1_values)), set_u8(12));
}

// Low nibbles are even elements, high ones odd.
static CEL_ALWAYS_INLINE void chosen_in_order(const uint8_t *p, uint8x16_t table, uint8x16_t *q) {
  uint8x16_t t[2];
  chosen(p, table, t);
  q[0] = vzip1q_u8(t[0], t[1]);
  q[1] = vzip2q_u8(t[0], t[1]);
}

static CEL_ALWAYS_INLINE void pairs(const uint8_t *qs, int unit, uint8x16_t *q) {
  for (int i = 0; i < 2; i++) q[i] = bits_u8(vld1q_u8(qs + unit / 4 * 32 + 16 * i), -(unit % 4 * 2), 3);
}

static CEL_ALWAYS_INLINE void unit_q3k(const uint8_t *b, int unit, uint8x16_t *q) {
  pairs(b + 32, unit, q);
  for (int i = 0; i < 2; i++) q[i] = vorrq_u8(q[i], bits_u8(vld1q_u8(b + 16 * i), 2 - unit, 4));
}

// Digits of base 3, chosen by powers of three (see digit in linear_small.c): thrice the product's low byte carries at 86 and 171.
static CEL_ALWAYS_INLINE uint8x16_t digits(uint8x16_t v, uint8x16_t power) {
  const uint8x16_t t = vmulq_u8(v, power);
  return vsubq_u8(vsubq_u8(set_u8(0), vcgeq_u8(t, set_u8(86))), vcgeq_u8(t, set_u8(171)));
}

static CEL_ALWAYS_INLINE int power_of_3(int k) { return k == 0 ? 1 : k == 1 ? 3 : k == 2 ? 9 : k == 3 ? 27 : 81; }

static CEL_ALWAYS_INLINE void unit_tq1(const uint8_t *b, int unit, uint8x16_t *q) {
  static const uint8_t powers[16] = {1, 1, 1, 1, 3, 3, 3, 3, 9, 9, 9, 9, 27, 27, 27, 27};
  if (unit < 5) {
    for (int i = 0; i < 2; i++) q[i] = digits(vld1q_u8(b + 16 * i), set_u8(power_of_3(unit)));
    return;
  }
  const uint8x16_t v = vld1q_u8(b + 32);
  if (unit < 7) {
    for (int i = 0; i < 2; i++) q[i] = digits(v, set_u8(power_of_3(2 * unit - 10 + i)));
    return;
  }
  uint32_t four;
  memcpy(&four, b + 48, 4);
  q[0] = digits(v, set_u8(81));
  q[1] = digits(vreinterpretq_u8_u32(vdupq_n_u32(four)), vld1q_u8(powers));
}

// ---- all ----------------------------------------------------------------------------------------------

// What unpack_raw leaves to be taken off every byte.
static CEL_ALWAYS_INLINE int offset_of(lin_kind f) {
  switch (f) {
    case K_Q4_0: return 8;
    case K_Q5_0: return 16;
    case K_Q6_K: return 32;
    case K_Q3_K: return 4;
    case K_TQ1_0:
    case K_TQ2_0: return 1;
    case K_MXFP4:
    case K_MLX_MXFP4:
    case K_MLX_NVFP4: return 12;
    default: return 0;
  }
}
// Bytes with a sign; eight bits of either kind are wide, the others have no sign and at most seven.
static CEL_ALWAYS_INLINE bool with_sign(lin_kind f) {
  return f == K_Q8_0 || f == K_Q8_1 || f == K_Q8_K || f == K_IQ4_NL || f == K_IQ4_XS;
}
static CEL_ALWAYS_INLINE bool wide(lin_kind f) { return with_sign(f) || f == K_AFFINE8; }

static CEL_ALWAYS_INLINE void load_32(const uint8_t *p, uint8x16_t *q) {
  q[0] = vld1q_u8(p);
  q[1] = vld1q_u8(p + 16);
}

// Unit k (0..7) of the batch at b; `whole` is false for the half unit that may end a row of 4-bit affine.
static CEL_ALWAYS_INLINE void unpack_raw(lin_kind f, const uint8_t *b, int k, bool whole, uint8x16_t *q) {
  const uint8_t *block = b + k * block_bytes_of(f);
  switch (f) {
    case K_Q4_0: nibbles(vld1q_u8(block + 2), q); break;
    case K_Q4_1: nibbles(vld1q_u8(block + 4), q); break;
    case K_Q5_0:
      nibbles(vld1q_u8(block + 6), q);
      fifth_bits(block + 2, q);
      break;
    case K_Q5_1:
      nibbles(vld1q_u8(block + 8), q);
      fifth_bits(block + 4, q);
      break;
    case K_Q8_0: load_32(block + 2, q); break;
    case K_Q8_1: load_32(block + 4, q); break;
    case K_Q8_K: load_32(b + 4 + 32 * k, q); break;
    case K_AFFINE8: load_32(b + 32 * k, q); break;
    case K_Q4_K: unit_k45(b, k, false, q); break;
    case K_Q5_K: unit_k45(b, k, true, q); break;
    case K_Q6_K: unit_q6k(b, k, q); break;
    case K_AFFINE2: fields(2, b + 8 * k, q); break;
    case K_AFFINE3: fields(3, b + 12 * k, q); break;
    case K_AFFINE5: fields(5, b + 20 * k, q); break;
    case K_AFFINE6: fields(6, b + 24 * k, q); break;
    case K_MLX_MXFP4:
    case K_MLX_NVFP4: chosen_in_order(b + 16 * k, e2m1_table(), q); break;
    case K_MXFP4: chosen(block + 1, e2m1_table(), q); break;
    case K_IQ4_NL: chosen(block + 2, nl_table(), q); break;
    case K_IQ4_XS: chosen(b + 8 + 16 * k, nl_table(), q); break;
    case K_Q2_K: pairs(b + 16, k, q); break;
    case K_Q3_K: unit_q3k(b, k, q); break;
    case K_TQ1_0: unit_tq1(b, k, q); break;
    case K_TQ2_0: pairs(b, k, q); break;
    default:
      nibbles(vld1q_u8(b + 32 * k), q);
      nibbles(whole ? vld1q_u8(b + 32 * k + 16) : set_u8(0), q + 2);
  }
}

// Eight of the integers of a vector, which is the first or the second half of it.
static CEL_ALWAYS_INLINE int16x8_t words_of(lin_kind f, uint8x16_t q, int half) {
  if (f == K_AFFINE8) return vreinterpretq_s16_u16(half ? vmovl_high_u8(q) : vmovl_u8(vget_low_u8(q)));
  const int8x16_t v = vreinterpretq_s8_u8(vsubq_u8(q, set_u8(offset_of(f))));
  return half ? vmovl_high_s8(v) : vmovl_s8(vget_low_s8(v));
}

#endif
