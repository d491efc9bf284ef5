// NEON: scales and biases of a batch of units, of one row and of eight. Internal to kernel/.
#ifndef CEL_XLA_NATIVE_KERNEL_ARM_NEON_SCALES_H
#define CEL_XLA_NATIVE_KERNEL_ARM_NEON_SCALES_H

#include "backend/xla/engine/native/kernel/arm_neon_unit.h"

// ---- numbers ----------------------------------------------------------------------------------------

static CEL_ALWAYS_INLINE float32x4_t widen_f16(uint16x4_t v) { return vcvt_f32_f16(vreinterpret_f16_u16(v)); }
static CEL_ALWAYS_INLINE float32x4_t widen_bf16(uint16x4_t v) { return vreinterpretq_f32_u32(vshll_n_u16(v, 16)); }

// Bytes of any alignment.
static CEL_ALWAYS_INLINE float32x4_t load_floats4(const uint8_t *p, int type) {
  if (type == CEL_LIN_F32) return vreinterpretq_f32_u8(vld1q_u8(p));
  const uint16x4_t v = vreinterpret_u16_u8(vld1_u8(p));
  return type == CEL_LIN_F16 ? widen_f16(v) : widen_bf16(v);
}
static CEL_ALWAYS_INLINE vec8 load_floats8(const uint8_t *p, int type) {
  return (vec8){load_floats4(p, type), load_floats4(p + (type == CEL_LIN_F32 ? 16 : 8), type)};
}

static CEL_ALWAYS_INLINE vec8 widen_u8(uint8x8_t v) {
  const uint16x8_t t = vmovl_u8(v);
  return (vec8){vcvtq_f32_u32(vmovl_u16(vget_low_u16(t))), vcvtq_f32_u32(vmovl_high_u16(t))};
}
static CEL_ALWAYS_INLINE vec8 widen_s8(int8x8_t v) {
  const int16x8_t t = vmovl_s8(v);
  return (vec8){vcvtq_f32_s32(vmovl_s16(vget_low_s16(t))), vcvtq_f32_s32(vmovl_high_s16(t))};
}

// Four E4M3 numbers: exponent and mantissa to the place f32 has them, times 2^120; see cel_lin_e4m3.
static CEL_ALWAYS_INLINE float32x4_t e4m3(uint32x4_t v) {
  const uint32x4_t low = vandq_u32(v, vdupq_n_u32(127));
  const float32x4_t x = vmulq_n_f32(vreinterpretq_f32_u32(vshlq_n_u32(low, 20)), 0x1p120f);
  const uint32x4_t nan = vshrq_n_u32(vceqq_u32(low, vdupq_n_u32(127)), 1);  // 0x7FFFFFFF
  const uint32x4_t sign = vshlq_n_u32(vshrq_n_u32(v, 7), 31);
  return vreinterpretq_f32_u32(vorrq_u32(vreinterpretq_u32_f32(x), vorrq_u32(nan, sign)));
}
static CEL_ALWAYS_INLINE vec8 load_e4m3(const uint8_t *p) {
  const uint16x8_t t = vmovl_u8(vld1_u8(p));
  return (vec8){e4m3(vmovl_u16(vget_low_u16(t))), e4m3(vmovl_high_u16(t))};
}

// ---- one row: s[8 * halves], b[8 * halves] of the batch at p, whose first unit is u0 -------------------------

// Twelve bytes as 8 scales and 8 minimums, see cel_lin_k_scale.
static CEL_ALWAYS_INLINE void k_scales(const uint8_t *p, uint8x8_t *scale, uint8x8_t *minimum) {
  uint32_t a, b, c;
  memcpy(&a, p, 4);
  memcpy(&b, p + 4, 4);
  memcpy(&c, p + 8, 4);
  const uint32_t s1 = (c & 0x0F0F0F0Fu) | (a >> 2 & 0x30303030u), m1 = (c >> 4 & 0x0F0F0F0Fu) | (b >> 2 & 0x30303030u);
  *scale = vcreate_u8((a & 0x3F3F3F3Fu) | (uint64_t)s1 << 32);
  *minimum = vcreate_u8((b & 0x3F3F3F3Fu) | (uint64_t)m1 << 32);
}

static CEL_ALWAYS_INLINE void k45_scales(const uint8_t *p, float *s, float *b) {
  uint8x8_t scale, minimum;
  k_scales(p + 4, &scale, &minimum);
  store8(s, mul8(widen_u8(scale), cel_lin_f16(p)));
  store8(b, mul8(widen_u8(minimum), -cel_lin_f16(p + 2)));
}

// 16 integers of 8 bits, times d.
static CEL_ALWAYS_INLINE void scale16(int8x16_t k, float d, float *s) {
  store8(s, mul8(widen_s8(vget_low_s8(k)), d));
  store8(s + 8, mul8(widen_s8(vget_high_s8(k)), d));
}

static CEL_ALWAYS_INLINE void q2_scales(const uint8_t *p, float *s, float *b) {
  uint8x16_t q[2];
  nibbles(vld1q_u8(p), q);
  scale16(vreinterpretq_s8_u8(q[0]), cel_lin_f16(p + 80), s);
  scale16(vreinterpretq_s8_u8(q[1]), -cel_lin_f16(p + 82), b);
}

// See cel_lin_q3_scale.
static CEL_ALWAYS_INLINE void q3_scales(const uint8_t *p, float *s) {
  uint32_t w[3], k[4];
  memcpy(w, p + 96, 12);
  const uint32_t low = 0x0F0F0F0Fu, high = 0x30303030u;
  k[0] = (w[0] & low) | (w[2] << 4 & high);
  k[1] = (w[1] & low) | (w[2] << 2 & high);
  k[2] = (w[0] >> 4 & low) | (w[2] & high);
  k[3] = (w[1] >> 4 & low) | (w[2] >> 2 & high);
  scale16(vsubq_s8(vreinterpretq_s8_u32(vld1q_u32(k)), vdupq_n_s8(32)), cel_lin_f16(p + 108), s);
}

// One byte a scale, of the n units that exist.
static CEL_ALWAYS_INLINE void byte_scales(lin_kind f, const cel_linear *w, const uint8_t *p, int64_t row, int64_t u0,
                                          int64_t n, float *s) {
  if (f == K_MXFP4) {
    for (int64_t k = 0; k < n; k++) s[k] = cel_lin_half_power(p[17 * k]);
    return;
  }
  p = w->scales + row * (w->cols / w->group) + u0 * halves_of(f);
  if (f == K_MLX_NVFP4 && n == 8) {
    store8(s, mul8(load_e4m3(p), 0.5f));
    store8(s + 8, mul8(load_e4m3(p + 8), 0.5f));
    return;
  }
  for (int64_t k = 0; k < n * halves_of(f); k++)
    s[k] = f == K_MLX_NVFP4 ? cel_lin_e4m3(p[k]) * 0.5f : cel_lin_mlx_half_power(p[k]);
}

// Eight numbers, each of them for `repeat` of the eight places.
static CEL_ALWAYS_INLINE void store_repeated(const uint8_t *p, int type, int repeat, float *out) {
  if (repeat == 1) {
    store8(out, load_floats8(p, type));
  } else if (repeat == 2) {
    const float32x4_t v = load_floats4(p, type);
    store8(out, (vec8){vzip1q_f32(v, v), vzip2q_f32(v, v)});
  } else {
    store8(out, (vec8){set4(cel_lin_float(p, type, 0)), set4(cel_lin_float(p, type, 1))});
  }
}

// One array of scales or biases of affine; `left`: spans of the batch that exist, of 8 * halves.
static CEL_ALWAYS_INLINE void affine_values(lin_kind f, const uint8_t *p, int type, int64_t u0, int repeat, int64_t left,
                                            float *out) {
  const int halves = halves_of(f), bytes = type == CEL_LIN_F32 ? 4 : 2;
  const int64_t first = u0 * halves / repeat;
  if (left == 8 * halves) {
    for (int h = 0; h < halves; h++) store_repeated(p + (first + 8 * h / repeat) * bytes, type, repeat, out + 8 * h);
    return;
  }
  for (int64_t i = 0; i < 8 * halves; i++) out[i] = i < left ? cel_lin_float(p, type, first + i / repeat) : 0;
}

static CEL_ALWAYS_INLINE void affine_scales(lin_kind f, const cel_linear *w, int64_t row, int64_t u0, int64_t n, float *s,
                                            float *b) {
  const int halves = halves_of(f), span = unit_of(f) / halves, repeat = w->group / span;
  const int64_t at = row * (w->cols / w->group) * (w->scale_type == CEL_LIN_F32 ? 4 : 2);
  const int64_t left = CEL_MIN(n * halves, (w->cols - u0 * unit_of(f) + span - 1) / span);
  affine_values(f, w->scales + at, w->scale_type, u0, repeat, left, s);
  affine_values(f, w->biases + at, w->scale_type, u0, repeat, left, b);
}

static CEL_ALWAYS_INLINE void batch_scales(lin_kind f, const cel_linear *w, const uint8_t *p, int64_t row, int64_t u0,
                                           int64_t n, float *s, float *b) {
  float d;
  if (affine(f)) {
    affine_scales(f, w, row, u0, n, s, b);
    return;
  }
  switch (f) {
    case K_Q4_K:
    case K_Q5_K: k45_scales(p, s, b); break;
    case K_Q6_K: scale16(vreinterpretq_s8_u8(vld1q_u8(p + 192)), cel_lin_f16(p + 208), s); break;
    case K_Q2_K: q2_scales(p, s, b); break;
    case K_Q3_K: q3_scales(p, s); break;
    case K_IQ4_XS:
      d = cel_lin_f16(p);
      for (int k = 0; k < 8; k++) s[k] = d * (float)cel_lin_xs_scale(p, k);
      break;
    case K_TQ1_0: store8(s, mul8((vec8){set4(1), set4(1)}, cel_lin_f16(p + 52))); break;
    case K_TQ2_0: store8(s, mul8((vec8){set4(1), set4(1)}, cel_lin_f16(p + 64))); break;
    case K_Q8_K:
      memcpy(&d, p, 4);
      store8(s, (vec8){set4(d), set4(d)});
      break;
    case K_MXFP4:
    case K_MLX_MXFP4:
    case K_MLX_NVFP4: byte_scales(f, w, p, row, u0, n, s); break;
    default:
      for (int64_t k = 0; k < n; k++) {
        s[k] = cel_lin_f16(p + k * block_bytes_of(f));
        if (biased(f)) b[k] = cel_lin_f16(p + k * block_bytes_of(f) + 2);
      }
  }
}

// ---- eight rows -------------------------------------------------------------------------------------

// Four vectors of four as columns.
static CEL_ALWAYS_INLINE void transpose4(uint32x4_t *v) {
  const uint64x2_t a = vreinterpretq_u64_u32(vtrn1q_u32(v[0], v[1])), b = vreinterpretq_u64_u32(vtrn2q_u32(v[0], v[1]));
  const uint64x2_t c = vreinterpretq_u64_u32(vtrn1q_u32(v[2], v[3])), d = vreinterpretq_u64_u32(vtrn2q_u32(v[2], v[3]));
  v[0] = vreinterpretq_u32_u64(vtrn1q_u64(a, c));
  v[1] = vreinterpretq_u32_u64(vtrn1q_u64(b, d));
  v[2] = vreinterpretq_u32_u64(vtrn2q_u64(a, c));
  v[3] = vreinterpretq_u32_u64(vtrn2q_u64(b, d));
}

// Scales (or biases) of 8 rows, a row after the other, as they are used: [unit and half][8 rows].
static CEL_ALWAYS_INLINE void by_unit(int halves, float (*by_row)[16], float *out, int stride) {
  for (int at = 0; at < 8 * halves; at += 4)
    for (int r = 0; r < 8; r += 4) {
      uint32x4_t v[4];
      for (int i = 0; i < 4; i++) v[i] = vreinterpretq_u32_f32(vld1q_f32(by_row[r + i] + at));
      transpose4(v);
      for (int i = 0; i < 4; i++) vst1q_f32(out + (at + i) * stride + r, vreinterpretq_f32_u32(v[i]));
    }
}

// The f16 at `offset` of each row.
static CEL_ALWAYS_INLINE vec8 column_f16(const eight_rows *e, int64_t offset) {
  uint16x8_t v = vdupq_n_u16(cel_lin_u16(e->at[0] + offset));
  v = vsetq_lane_u16(cel_lin_u16(e->at[1] + offset), v, 1);
  v = vsetq_lane_u16(cel_lin_u16(e->at[2] + offset), v, 2);
  v = vsetq_lane_u16(cel_lin_u16(e->at[3] + offset), v, 3);
  v = vsetq_lane_u16(cel_lin_u16(e->at[4] + offset), v, 4);
  v = vsetq_lane_u16(cel_lin_u16(e->at[5] + offset), v, 5);
  v = vsetq_lane_u16(cel_lin_u16(e->at[6] + offset), v, 6);
  v = vsetq_lane_u16(cel_lin_u16(e->at[7] + offset), v, 7);
  return (vec8){widen_f16(vget_low_u16(v)), widen_f16(vget_high_u16(v))};
}

// Scales and biases of n units from u0 on, whose bytes begin `offset` into each row.
static CEL_ALWAYS_INLINE void eight_scales(lin_kind f, const cel_linear *w, const eight_rows *e, int64_t offset, int64_t u0,
                                           int64_t n, float *s, float *b, int stride) {
  if (leading_scale(f)) {
    for (int64_t k = 0; k < n; k++, offset += block_bytes_of(f)) {
      store8(s + k * stride, column_f16(e, offset));
      if (biased(f)) store8(b + k * stride, column_f16(e, offset + 2));
    }
    return;
  }
  float rows_s[8][16], rows_b[8][16];
  for (int r = 0; r < 8; r++) batch_scales(f, w, e->at[r] + offset, e->index[r], u0, n, rows_s[r], rows_b[r]);
  by_unit(halves_of(f), rows_s, s, stride);
  if (biased(f)) by_unit(halves_of(f), rows_b, b, stride);
}

// What is done to unit k of the n of a batch: in blocks of 256 every unit lies elsewhere, so that k is a constant there.
#define EACH_UNIT(f, n, what)                         \
  if (block_of(f) == 256) {                           \
    CEL_UNROLLED(8)                                   \
    for (int k = 0; k < CEL_LIN_BATCH; k++) what;     \
  } else {                                            \
    for (int k = 0; k < (n); k++) what;               \
  }

#endif
