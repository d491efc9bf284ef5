// Sizes of packed activations and scratch, and the plain decoding of one unit of every format.
#include "backend/xla/engine/native/kernel/linear.h"

static const cel_linear_traits traits[] = {
#define CEL_LINEAR(code, name, block, bytes, scales, biased) {name, block, bytes, scales, biased},
#include "backend/xla/engine/native/kernel/linear.def"
#undef CEL_LINEAR
};
const char *const cel_linear_precision_names[3] = {"f32", "i16", "i8"};
const cel_linear_traits *cel_linear_traits_of(cel_linear_format f) { return &traits[f]; }

int64_t cel_linear_pack_bytes(const cel_linear *w) {
  int64_t units = cel_lin_units(w);
  if (!cel_lin_integers(w)) return cel_lin_round(units * cel_lin_unit(w) * 4, 64);
  return cel_lin_round(cel_lin_sums_at(w) + cel_lin_round(units, CEL_LIN_BATCH) * 4 * cel_lin_sums(w), 64);
}

bool cel_linear_same_pack(const cel_linear *a, const cel_linear *b) {
  return a->cols == b->cols && cel_lin_integers(a) == cel_lin_integers(b) && cel_lin_bytes(a) == cel_lin_bytes(b) && cel_lin_unit(a) == cel_lin_unit(b) &&
         cel_lin_sums(a) == cel_lin_sums(b);
}

int64_t cel_linear_scratch_bytes(const cel_linear *w) {
  int64_t row = cel_lin_row_stride(w);  // in plain C; elsewhere one token's activations as words, or a panel
  return row > CEL_LIN_BLOCK_BYTES ? row : CEL_LIN_BLOCK_BYTES;
}

int64_t cel_linear_scale_bytes(const cel_linear *w) {
  if (cel_linear_traits_of(w->format)->block) return 0;
  bool floats = w->format == CEL_LIN_AFFINE || w->format == CEL_LIN_FP8;
  return !floats ? 1 : w->scale_type == CEL_LIN_F32 ? 4 : 2;
}

cel_linear cel_linear_rows(const cel_linear *w, int64_t first, int64_t n) {
  cel_linear part = *w;
  part.rows = n;
  part.w += first * w->w_row_bytes;
  if (!w->scales) return part;
  int64_t at = first * (w->cols / w->group) * cel_linear_scale_bytes(w);
  part.scales += at;
  if (w->biases) part.biases += at;
  return part;
}

int cel_linear_row_tile(const cel_linear *w) {
  (void)w;
  return 16;
}

// Blocks of 32 with nibbles: low nibble of byte j is element j, high nibble element j + 16.
static void decode_nibbles(const uint8_t *qs, uint32_t fifth, int offset, int16_t *q) {
  for (int p = 0; p < 32; p++) {
    int e = cel_lin_element(32, p);
    int v = e < 16 ? qs[e] & 15 : qs[e - 16] >> 4;
    q[p] = (int16_t)((v | (int)(fifth >> e & 1) << 4) - offset);
  }
}

static void decode_block32(const cel_linear *w, const uint8_t *b, cel_lin_unit_values *out) {
  uint32_t fifth = 0;
  out->s[0] = cel_lin_f16(b);
  switch (w->format) {
    case CEL_LIN_Q4_0: decode_nibbles(b + 2, 0, 8, out->q); break;
    case CEL_LIN_Q4_1:
      out->b[0] = cel_lin_f16(b + 2);
      decode_nibbles(b + 4, 0, 0, out->q);
      break;
    case CEL_LIN_Q5_0:
      memcpy(&fifth, b + 2, 4);
      decode_nibbles(b + 6, fifth, 16, out->q);
      break;
    case CEL_LIN_Q5_1:
      out->b[0] = cel_lin_f16(b + 2);
      memcpy(&fifth, b + 4, 4);
      decode_nibbles(b + 8, fifth, 0, out->q);
      break;
    default:  // Q8_0
      for (int p = 0; p < 32; p++) out->q[p] = (int8_t)b[2 + cel_lin_element(32, p)];
  }
}

// Q4_K, Q5_K: d, dmin (f16), 12 bytes of scales, [32 bytes of fifth bits], 4 chunks of 32 bytes: low nibbles
// are unit 2c, high nibbles unit 2c + 1; the fifth bit of unit k is bit k.
static void decode_k45(const cel_linear *w, const uint8_t *b, int k, cel_lin_unit_values *out) {
  bool five = w->format == CEL_LIN_Q5_K;
  const uint8_t *qs = b + (five ? 48 : 16) + k / 2 * 32;
  int scale, minimum;
  cel_lin_k_scale(b + 4, k, &scale, &minimum);
  out->s[0] = cel_lin_f16(b) * (float)scale;          // exact: 11 + 6 bits
  out->b[0] = -(cel_lin_f16(b + 2) * (float)minimum);
  for (int p = 0; p < 32; p++) {
    int e = cel_lin_element(32, p);
    int v = k % 2 ? qs[e] >> 4 : qs[e] & 15;
    if (five) v |= (b[16 + e] >> k & 1) << 4;
    out->q[p] = (int16_t)v;
  }
}

// Q6_K: 128 bytes of low nibbles, 64 of upper bit pairs, 16 int8 scales, d. Of the 128 elements of a half,
// unit k (0..3) has nibbles in bytes (k % 2) * 32 .., low for k < 2, and pair k of the upper bytes.
static void decode_q6k(const uint8_t *b, int unit, cel_lin_unit_values *out) {
  int half = unit / 4, k = unit % 4;
  const uint8_t *low = b + half * 64 + k % 2 * 32, *high = b + 128 + half * 32;
  float d = cel_lin_f16(b + 208);
  for (int h = 0; h < 2; h++) out->s[h] = d * (float)(int8_t)b[192 + unit * 2 + h];  // exact
  for (int p = 0; p < 32; p++) {
    int e = cel_lin_element(32, p);
    int v = k < 2 ? low[e] & 15 : low[e] >> 4;
    out->q[p] = (int16_t)((v | (high[e] >> 2 * k & 3) << 4) - 32);
  }
}

// `bits` bits from bit `at` of a stream of bytes; reads no byte behind them.
static int field(const uint8_t *p, int64_t at, int bits) {
  int shift = (int)(at % 8), v = p[at / 8] >> shift;
  if (shift + bits > 8) v |= p[at / 8 + 1] << (8 - shift);
  return v & ((1 << bits) - 1);
}

static void decode_affine(const cel_linear *w, int64_t row, int64_t u, cel_lin_unit_values *out) {
  int unit = cel_lin_unit(w);
  int64_t groups = w->cols / w->group, at = u * unit;
  const uint8_t *bytes = w->w + row * w->w_row_bytes;
  for (int h = 0; h < 2; h++) {
    int64_t e = at + h * unit / 2;
    bool there = e < w->cols;  // a row may end after half a unit
    int64_t g = row * groups + (there ? e : at) / w->group;
    out->s[h] = there ? cel_lin_float(w->scales, w->scale_type, g) : 0;
    out->b[h] = there ? cel_lin_float(w->biases, w->scale_type, g) : 0;
  }
  for (int p = 0; p < unit; p++) {
    int64_t e = at + cel_lin_element(unit, p);
    out->q[p] = (int16_t)(e < w->cols ? field(bytes, e * w->bits, w->bits) : 0);
  }
}

// E2M1 nibbles, the low one first; a power of two per 32, or an E4M3 number per 16.
static void decode_micro(const cel_linear *w, int64_t row, int64_t u, cel_lin_unit_values *out) {
  const uint8_t *q = w->w + row * w->w_row_bytes + u * 16, *s = w->scales + row * (w->cols / w->group);
  for (int h = 0; h < 2; h++) {
    out->s[h] = w->format == CEL_LIN_MLX_NVFP4 ? cel_lin_e4m3(s[2 * u + h]) * 0.5f : cel_lin_mlx_half_power(s[u]);
    out->b[h] = 0;
  }
  for (int p = 0; p < 32; p++) out->q[p] = cel_lin_e2m1_values[p < 16 ? q[p] & 15 : q[p - 16] >> 4];
}

void cel_lin_decode(const cel_linear *w, int64_t row, int64_t u, cel_lin_unit_values *out) {
  const cel_linear_traits *t = cel_linear_traits_of(w->format);
  if (w->format == CEL_LIN_AFFINE) decode_affine(w, row, u, out);
  else if (!t->block) decode_micro(w, row, u, out);
  if (!t->block) return;
  int per_block = t->block / 32, k = (int)(u % per_block);
  const uint8_t *b = w->w + row * w->w_row_bytes + u / per_block * t->block_bytes;
  out->b[0] = out->b[1] = 0;
  switch (w->format) {
    case CEL_LIN_Q4_0:
    case CEL_LIN_Q4_1:
    case CEL_LIN_Q5_0:
    case CEL_LIN_Q5_1:
    case CEL_LIN_Q8_0: decode_block32(w, b, out); break;
    case CEL_LIN_Q4_K:
    case CEL_LIN_Q5_K: decode_k45(w, b, k, out); break;
    case CEL_LIN_Q6_K: decode_q6k(b, k, out); break;
    default: cel_lin_decode_small(w->format, b, k, out);
  }
  if (t->scales == 2) return;
  out->s[1] = out->s[0];
  out->b[1] = out->b[0];
}
