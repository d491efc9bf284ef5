// The plain decoding of GGUF blocks of two and three bits, of tables, of base-3 digits and of signed bytes.
#include "backend/xla/engine/native/kernel/linear.h"

const int8_t cel_lin_nl_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
const int8_t cel_lin_e2m1_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Units of a K block lie as bit pairs in two runs of 32 bytes: pair unit % 4 of run unit / 4.
static int pair(const uint8_t *qs, int unit, int e) { return qs[unit / 4 * 32 + e] >> (unit % 4 * 2) & 3; }

// Q2_K: 16 bytes of scale (low nibble) and minimum (high), per 16 elements | 64 bytes of pairs | d | dmin.
static void decode_q2k(const uint8_t *b, int unit, cel_lin_unit_values *out) {
  float d = cel_lin_f16(b + 80), m = cel_lin_f16(b + 82);
  for (int h = 0; h < 2; h++) {
    out->s[h] = d * (float)(b[2 * unit + h] & 15);  // exact
    out->b[h] = -(m * (float)(b[2 * unit + h] >> 4));
  }
  for (int p = 0; p < 32; p++) out->q[p] = (int16_t)pair(b + 16, unit, cel_lin_element(32, p));
}

// Q3_K: 32 bytes, whose bit `unit` is the third of an element | 64 bytes of pairs | 12 bytes of scales | d.
static void decode_q3k(const uint8_t *b, int unit, cel_lin_unit_values *out) {
  float d = cel_lin_f16(b + 108);
  for (int h = 0; h < 2; h++) out->s[h] = d * (float)cel_lin_q3_scale(b + 96, 2 * unit + h);  // exact
  for (int p = 0; p < 32; p++) {
    int e = cel_lin_element(32, p);
    out->q[p] = (int16_t)((pair(b + 32, unit, e) | (b[e] >> unit & 1) << 2) - 4);
  }
}

// Nibbles as in Q4_0 that choose among 16 values.
static void decode_table(const uint8_t *qs, const int8_t *values, cel_lin_unit_values *out) {
  for (int p = 0; p < 32; p++) {
    int e = cel_lin_element(32, p);
    out->q[p] = values[e < 16 ? qs[e] & 15 : qs[e - 16] >> 4];
  }
}

// Digit k of five in a byte, the first topmost: what 3 times (byte * 3^k mod 256) carries over 256.
static int digit(uint8_t q, int k) {
  static const uint8_t power[5] = {1, 3, 9, 27, 81};
  return ((uint8_t)(q * power[k]) * 3) >> 8;
}

// TQ1_0: 32 bytes hold units 0..4, a digit each; 16 bytes elements 160..239; 4 bytes elements 240..255.
static int tq1_digit(const uint8_t *b, int i) {
  if (i < 160) return digit(b[i % 32], i / 32);
  if (i < 240) return digit(b[32 + (i - 160) % 16], (i - 160) / 16);
  return digit(b[48 + (i - 240) % 4], (i - 240) / 4);
}

static void decode_bytes(const uint8_t *qs, cel_lin_unit_values *out) {
  for (int p = 0; p < 32; p++) out->q[p] = (int8_t)qs[cel_lin_element(32, p)];
}

static void decode_digits(cel_linear_format f, const uint8_t *b, int unit, cel_lin_unit_values *out) {
  for (int p = 0; p < 32; p++) {
    int e = cel_lin_element(32, p);
    out->q[p] = (int16_t)((f == CEL_LIN_TQ1_0 ? tq1_digit(b, 32 * unit + e) : pair(b, unit, e)) - 1);
  }
}

void cel_lin_decode_small(cel_linear_format f, const uint8_t *b, int unit, cel_lin_unit_values *out) {
  switch (f) {
    case CEL_LIN_Q2_K: decode_q2k(b, unit, out); break;
    case CEL_LIN_Q3_K: decode_q3k(b, unit, out); break;
    case CEL_LIN_IQ4_NL:
      out->s[0] = cel_lin_f16(b);
      decode_table(b + 2, cel_lin_nl_values, out);
      break;
    case CEL_LIN_IQ4_XS:
      out->s[0] = cel_lin_f16(b) * (float)cel_lin_xs_scale(b, unit);  // exact
      decode_table(b + 8 + 16 * unit, cel_lin_nl_values, out);
      break;
    case CEL_LIN_MXFP4:
      out->s[0] = cel_lin_half_power(b[0]);
      decode_table(b + 1, cel_lin_e2m1_values, out);
      break;
    case CEL_LIN_TQ1_0:
    case CEL_LIN_TQ2_0:
      out->s[0] = cel_lin_f16(b + (f == CEL_LIN_TQ1_0 ? 52 : 64));
      decode_digits(f, b, unit, out);
      break;
    case CEL_LIN_Q8_1:  // d, the block's sum (not needed here)
      out->s[0] = cel_lin_f16(b);
      decode_bytes(b + 4, out);
      break;
    default:  // Q8_K: d f32, 256 bytes, sums
      memcpy(&out->s[0], b, 4);
      decode_bytes(b + 4 + 32 * unit, out);
  }
}
