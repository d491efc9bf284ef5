// What all bodies of the linear kernels agree on: how a row of weights is cut, how activations are packed,
// and in which order one output is summed. Internal to kernel/.
//
// A row of a quantized matrix is a sequence of units of U elements (U = 32; 64 for 4-bit affine). Within a
// unit, position p stands for element (U / 16) * (p % 16) + p / 16: then 16-bit words of the file's bytes,
// shifted and masked, are already the weights of 16 positions in order. A unit has one scale, or (Q2_K, Q3_K,
// Q6_K, nvfp4, and 4-bit affine with groups of 32) one per half, a half being elements [0, U/2) or [U/2, U):
// positions with p % 16 < 8, or the others. Formats with a bias have as many biases as scales. Tables of values
// (IQ4_NL, IQ4_XS) are integers already; E2M1 numbers are, when doubled, with half the scale.
//
// One output, CEL_LIN_PREC_I16: with q = integer weights, x = int16 activations of one scale per unit, xsum = their sum
// times that scale, unit after unit, and within a unit half after half where it has two scales:
//   d = sum of q[p] * x[p]             (exact, int32: |q| <= 255, |x| <= 32767, at most 64 of them)
//   y = fma((float)d, s * xs, y)
//   y = fma(b, xsum, y)                where the format has biases
// CEL_LIN_PREC_I8 with cel_lin_bytes: the same, |x| <= 127.
// CEL_LIN_PREC_F32: acc[p % 8] = fma(w[p], x[p], acc[p % 8]) over positions in order; plain formats, mxfp8 and fp8 have
// units of 8 in their natural order, the last one filled with zeros.
#ifndef CEL_XLA_NATIVE_KERNEL_LINEAR_H
#define CEL_XLA_NATIVE_KERNEL_LINEAR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "backend/xla/engine/native/kernel/kernel.h"
#include "base/half.h"

enum {
  CEL_LIN_BATCH = 8,        // units whose scales are widened together
  CEL_LIN_UNIT_MAX = 64,
  CEL_LIN_COLS = 640,       // at most, of one stretch of a sum: what is unpacked together; twice that where it is unpacked to bytes
  CEL_LIN_BLOCK_BYTES = 48 << 10,  // least scratch: a panel of integers (panel.h), or of widened rows with their sums (wide_tile.h)
};

static inline bool cel_lin_plain(cel_linear_format f) { return f <= CEL_LIN_BF16; }
// Single floats in their order, no integers.
static inline bool cel_lin_floats(cel_linear_format f) { return cel_lin_plain(f) || f == CEL_LIN_MLX_MXFP8 || f == CEL_LIN_FP8; }
static inline bool cel_lin_integers(const cel_linear *w) {
  return !cel_lin_floats(w->format) && w->precision != CEL_LIN_PREC_F32;
}
// Activations are bytes: weights, less a constant, have at most 6 bits and no sign.
static inline bool cel_lin_bytes(const cel_linear *w) {
  if (w->precision != CEL_LIN_PREC_I8) return false;
  switch (w->format) {
    case CEL_LIN_Q4_0:
    case CEL_LIN_Q4_1:
    case CEL_LIN_Q5_0:
    case CEL_LIN_Q5_1:
    case CEL_LIN_Q4_K:
    case CEL_LIN_Q5_K:
    case CEL_LIN_Q6_K: return true;
    case CEL_LIN_AFFINE: return w->bits <= 6;
    default: return false;
  }
}
static inline int cel_lin_unit(const cel_linear *w) {
  if (cel_lin_floats(w->format)) return 8;
  return w->format == CEL_LIN_AFFINE && w->bits == 4 ? 64 : 32;
}
// Scales per unit: 1 or 2.
static inline int cel_lin_halves(const cel_linear *w) {
  if (w->format == CEL_LIN_AFFINE) return w->bits == 4 && w->group == 32 ? 2 : 1;
  return cel_linear_traits_of(w->format)->scales;
}
static inline bool cel_lin_biased(cel_linear_format f) { return cel_linear_traits_of(f)->biased; }
// Activation sums per unit: as many as biases; one where there are none, so that packs can be shared.
static inline int cel_lin_sums(const cel_linear *w) { return cel_lin_biased(w->format) ? cel_lin_halves(w) : 1; }
static inline int64_t cel_lin_units(const cel_linear *w) {
  int u = cel_lin_unit(w);
  return (w->cols + u - 1) / u;
}
static inline int64_t cel_lin_round(int64_t n, int64_t to) { return (n + to - 1) / to * to; }
// Units to a stretch of the sum of at most so many columns: equal ones, of whole batches.
static inline int64_t cel_lin_stretch(const cel_linear *w, int64_t columns) {
  const int64_t units = cel_lin_units(w), most = columns / cel_lin_unit(w) / CEL_LIN_BATCH * CEL_LIN_BATCH;
  const int64_t n = (units + most - 1) / most;
  const int64_t even = cel_lin_round((units + n - 1) / n, CEL_LIN_BATCH);
  return even < most ? even : most;
}
// The element at position p of a unit.
static inline int cel_lin_element(int unit, int p) { return unit / 16 * (p % 16) + p / 16; }

// A packed token row.
//   integers: int16 q[units * U], or int8 (cel_lin_bytes, cel_lin_byte_at) | int32 total[units][2 halves] of them |
//     float scale[units up to 8s] | float sum[same * sums]
//   F32: float x[units * U], in the order of positions
// What packs a row multiplies it: the tables of arm64 keep these places and sizes, but order the integers of a unit their own way
// (arm_pack.h).
static inline int64_t cel_lin_totals_at(const cel_linear *w) {
  return cel_lin_units(w) * cel_lin_unit(w) * (cel_lin_bytes(w) ? 1 : 2);
}
static inline int64_t cel_lin_scales_at(const cel_linear *w) { return cel_lin_totals_at(w) + cel_lin_units(w) * 8; }
// Where position p of a unit is among its bytes: positions 16 apart are neighbours, words of a unit pair up so.
static inline int cel_lin_byte_at(int p) { return p / 32 * 32 + p % 16 * 2 + p / 16 % 2; }
static inline int64_t cel_lin_sums_at(const cel_linear *w) {
  return cel_lin_scales_at(w) + cel_lin_round(cel_lin_units(w), CEL_LIN_BATCH) * 4;
}

// An unpacked row in scratch: integers: int16 q[units * U] | float s[units up to 8s * halves] | float b[same];
// F32: float w[units * U].
static inline int64_t cel_lin_row_scales_at(const cel_linear *w) { return cel_lin_units(w) * cel_lin_unit(w) * 2; }
static inline int64_t cel_lin_row_biases_at(const cel_linear *w) {
  return cel_lin_row_scales_at(w) + cel_lin_round(cel_lin_units(w), CEL_LIN_BATCH) * 4 * cel_lin_halves(w);
}
static inline int64_t cel_lin_row_stride(const cel_linear *w) {
  int64_t batches = cel_lin_round(cel_lin_units(w), CEL_LIN_BATCH);
  if (!cel_lin_integers(w)) return cel_lin_round(cel_lin_units(w) * cel_lin_unit(w) * 4, 64);
  return cel_lin_round(cel_lin_row_biases_at(w) + batches * 4 * cel_lin_halves(w), 64);
}

// Eight lanes to one number, in the one order all bodies use.
static inline float cel_lin_reduce(const float a[8]) {
  return ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]));
}

static inline uint16_t cel_lin_u16(const uint8_t *p) {
  uint16_t v;
  memcpy(&v, p, 2);
  return v;
}
static inline float cel_lin_f16(const uint8_t *p) { return cel_f16_to_f32(cel_lin_u16(p)); }

// Element i of an array of type F32, F16 or BF16.
static inline float cel_lin_float(const uint8_t *p, int type, int64_t i) {
  float f;
  if (type == CEL_LIN_F16) return cel_lin_f16(p + 2 * i);
  if (type == CEL_LIN_BF16) return cel_bf16_to_f32(cel_lin_u16(p + 2 * i));
  memcpy(&f, p + 4 * i, 4);
  return f;
}

// Six-bit scale and minimum j of the 12 bytes of a K block: the first four of each lie in the low six bits
// of bytes 0..7; of the others, the low nibbles in bytes 8..11, the top two bits above those of the first.
static inline void cel_lin_k_scale(const uint8_t *s, int j, int *scale, int *minimum) {
  if (j < 4) {
    *scale = s[j] & 63;
    *minimum = s[j + 4] & 63;
  } else {
    *scale = (s[j + 4] & 15) | (s[j - 4] >> 6 << 4);
    *minimum = s[j + 4] >> 4 | (s[j] >> 6 << 4);
  }
}

// Power of two 2^(e - 127), halved, exact: the two lowest are subnormal. GGUF's; in MLX 255 is infinite.
static inline float cel_lin_half_power(uint8_t e) {
  return cel_f32_from_bits(e < 2 ? 0x00200000u << e : (uint32_t)(e - 1) << 23);
}
static inline float cel_lin_mlx_half_power(uint8_t e) {
  return e == 255 ? cel_f32_from_bits(0x7F800000u) : cel_lin_half_power(e);
}
// E4M3: the four exponent and three mantissa bits where f32 has them, 2^120 too small; 127 is the one NaN.
static inline float cel_lin_e4m3(uint8_t v) {
  if ((v & 127) == 127) return cel_f32_from_bits(0x7FC00000u);
  float x = cel_f32_from_bits((v & 127u) << 20) * 0x1p120f;
  return v & 128 ? -x : x;
}
// Sixteen values of IQ4_NL and IQ4_XS; E2M1 numbers, doubled.
extern const int8_t cel_lin_nl_values[16], cel_lin_e2m1_values[16];
// Sixteen scales of the 12 bytes of a Q3_K block: low nibbles in bytes 0..7 (first eight low, then high), bit pair
// k of byte 8 + j above scale 4k + j; 32 added.
static inline int cel_lin_q3_scale(const uint8_t *s, int g) {
  int low = g < 8 ? s[g] & 15 : s[g - 8] >> 4, high = s[8 + g % 4] >> (g / 4 * 2) & 3;
  return (low | high << 4) - 32;
}
// Scale g of 8 of an IQ4_XS block: nibbles behind four bytes, upper bit pairs in the u16 at 2; 32 added.
static inline int cel_lin_xs_scale(const uint8_t *b, int g) {
  return ((b[4 + g / 2] >> (g % 2 * 4) & 15) | (cel_lin_u16(b + 2) >> (2 * g) & 3) << 4) - 32;
}
// Element i of a row of mxfp8.
static inline float cel_lin_mxfp8(const cel_linear *w, int64_t row, int64_t i) {
  float scale = cel_lin_mlx_half_power(w->scales[row * (w->cols / 32) + i / 32]) * 2;
  return cel_lin_e4m3(w->w[row * w->w_row_bytes + i]) * scale;
}

// Element i of a row of fp8.
static inline float cel_lin_fp8(const cel_linear *w, int64_t row, int64_t i) {
  float scale;
  memcpy(&scale, w->scales + (row * (w->cols / w->group) + i / w->group) * 4, sizeof scale);
  return cel_lin_e4m3(w->w[row * w->w_row_bytes + i]) * scale;
}

// Unit u of row `row` as integers by position, scales and biases (2 each; equal where there is only one).
typedef struct cel_lin_unit_values {
  int16_t q[CEL_LIN_UNIT_MAX];
  float s[2], b[2];
} cel_lin_unit_values;
void cel_lin_decode(const cel_linear *w, int64_t row, int64_t u, cel_lin_unit_values *out);
// The same for one unit of a block of two to four bits, of a table or of digits (linear_small.c).
void cel_lin_decode_small(cel_linear_format f, const uint8_t *block, int unit, cel_lin_unit_values *out);

#endif
