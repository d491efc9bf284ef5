// The meaning of every packed weight format, stated in StableHLO: bytes or words to f32. These are the
// decompositions that kernels are checked against. Layouts: GGUF blocks as the gguf package's reader
// defines them, MLX affine as mx.quantize writes it (text-architectures §1.6).
#include <math.h>
#include <string.h>

#include "backend/xla/emit/emit_internal.h"

static hlo shift_right(cel_hlo_builder *b, hlo x, int by) {
  return by ? cel_hlo_binary_scalar(b, CEL_HLO_SHIFT_RIGHT_LOGICAL, x, by) : x;
}
static hlo bits_of(cel_hlo_builder *b, hlo x, int from, int mask) {
  return cel_hlo_binary_scalar(b, CEL_HLO_AND, shift_right(b, x, from), mask);
}
static hlo f32(cel_hlo_builder *b, hlo x) { return cel_hlo_convert(b, x, CEL_ET_F32); }

// blocks [r, nb, bytes] -> bytes [from, from + n) as [r, nb, n].
static hlo bytes_at(cel_hlo_builder *b, hlo blocks, int64_t from, int64_t n) {
  return cel_hlo_slice_dim(b, blocks, 2, from, from + n, 1);
}

// The f16 at byte `from` of each block, as f32 [r, nb].
static hlo half_at(cel_hlo_builder *b, hlo blocks, int64_t from) {
  return f32(b, cel_hlo_bitcast(b, bytes_at(b, blocks, from, 2), CEL_ET_F16));
}

// x [r, nb, ...] (op) v [r, nb] along the dimensions behind.
static hlo per_block(cel_hlo_builder *b, cel_hlo_opcode op, hlo x, hlo v) {
  if (!x || !v) return NULL;
  int64_t map[CEL_HLO_MAX_RANK] = {0, 1, 2, 3};
  return cel_hlo_binary(b, op, x, cel_hlo_broadcast(b, v, x->type->rank, x->type->dims, map));
}

// [r, nb, n] bytes -> [r, nb, 2n]: all low nibbles, then all high ones.
static hlo nibbles(cel_hlo_builder *b, hlo q) {
  hlo parts[2] = {bits_of(b, q, 0, 15), shift_right(b, q, 4)};
  return cel_hlo_concat(b, parts, 2, 2);
}

// [r, nb, n] -> [r, nb, count, n], entry k shifted right by k * step and masked: bit planes.
static hlo planes(cel_hlo_builder *b, hlo q, int64_t count, int step, int mask) {
  if (!q) return NULL;
  const int64_t *d = q->type->dims;
  int64_t dims[4] = {d[0], d[1], count, d[2]}, map[3] = {0, 1, 3};
  hlo wide = cel_hlo_broadcast(b, q, 4, dims, map);
  hlo by = cel_hlo_binary_scalar(b, CEL_HLO_MULTIPLY, cel_hlo_iota(b, CEL_ET_UI8, 4, dims, 2), step);
  return cel_hlo_binary_scalar(b, CEL_HLO_AND, cel_hlo_binary(b, CEL_HLO_SHIFT_RIGHT_LOGICAL, wide, by), mask);
}

// Four bytes of high bits [r, nb, 4] -> bit j for element j, [r, nb, 32], in place 16.
static hlo fifth_bits(cel_hlo_builder *b, hlo qh) {
  if (!qh) return NULL;
  const int64_t *d = qh->type->dims;
  int64_t wide_dims[4] = {d[0], d[1], 4, 8}, map[3] = {0, 1, 2}, dims[3] = {d[0], d[1], 32};
  hlo wide = cel_hlo_broadcast(b, qh, 4, wide_dims, map);
  hlo bit = cel_hlo_binary(b, CEL_HLO_SHIFT_RIGHT_LOGICAL, wide, cel_hlo_iota(b, CEL_ET_UI8, 4, wide_dims, 3));
  bit = cel_hlo_binary_scalar(b, CEL_HLO_AND, bit, 1);
  return cel_hlo_reshape(b, cel_hlo_binary_scalar(b, CEL_HLO_SHIFT_LEFT, bit, 4), 3, dims);
}

// w = d * (q - zero), or d * q + m.
static hlo legacy(cel_hlo_builder *b, hlo blocks, hlo q, int zero, bool has_min) {
  hlo x = f32(b, q);
  if (zero) x = cel_hlo_binary_scalar(b, CEL_HLO_SUBTRACT, x, zero);
  x = per_block(b, CEL_HLO_MULTIPLY, x, half_at(b, blocks, 0));
  return has_min ? per_block(b, CEL_HLO_ADD, x, half_at(b, blocks, 2)) : x;
}

static hlo q4_0(cel_hlo_builder *b, hlo x) { return legacy(b, x, nibbles(b, bytes_at(b, x, 2, 16)), 8, false); }
static hlo q4_1(cel_hlo_builder *b, hlo x) { return legacy(b, x, nibbles(b, bytes_at(b, x, 4, 16)), 0, true); }
static hlo q5(cel_hlo_builder *b, hlo x, int qh_at, int zero, bool has_min) {
  hlo high = fifth_bits(b, bytes_at(b, x, qh_at, 4));
  hlo q = cel_hlo_binary(b, CEL_HLO_OR, nibbles(b, bytes_at(b, x, qh_at + 4, 16)), high);
  return legacy(b, x, q, zero, has_min);
}
static hlo q5_0(cel_hlo_builder *b, hlo x) { return q5(b, x, 2, 16, false); }
static hlo q5_1(cel_hlo_builder *b, hlo x) { return q5(b, x, 4, 0, true); }
static hlo q8_0(cel_hlo_builder *b, hlo x) {
  return legacy(b, x, cel_hlo_bitcast(b, bytes_at(b, x, 2, 32), CEL_ET_I8), 0, false);
}

// Q4_K and Q5_K: twelve bytes hold eight 6-bit scales and eight 6-bit mins. The first four of each lie in
// the low bits of bytes 0..3 and 4..7; the others have their low nibbles in bytes 8..11 and their upper
// two bits on top of the first ones.
static void k_scales(cel_hlo_builder *b, hlo blocks, hlo *scales, hlo *mins) {
  hlo s0 = bytes_at(b, blocks, 4, 4), s1 = bytes_at(b, blocks, 8, 4), s2 = bytes_at(b, blocks, 12, 4);
  hlo top0 = cel_hlo_binary_scalar(b, CEL_HLO_SHIFT_LEFT, shift_right(b, s0, 6), 4);
  hlo top1 = cel_hlo_binary_scalar(b, CEL_HLO_SHIFT_LEFT, shift_right(b, s1, 6), 4);
  hlo sc[2] = {bits_of(b, s0, 0, 63), cel_hlo_binary(b, CEL_HLO_OR, bits_of(b, s2, 0, 15), top0)};
  hlo mn[2] = {bits_of(b, s1, 0, 63), cel_hlo_binary(b, CEL_HLO_OR, shift_right(b, s2, 4), top1)};
  *scales = per_block(b, CEL_HLO_MULTIPLY, f32(b, cel_hlo_concat(b, sc, 2, 2)), half_at(b, blocks, 0));
  *mins = per_block(b, CEL_HLO_MULTIPLY, f32(b, cel_hlo_concat(b, mn, 2, 2)), half_at(b, blocks, 2));
}

// x [r, nb, 8, 32] (op) v [r, nb, 8].
static hlo per_sub_block(cel_hlo_builder *b, cel_hlo_opcode op, hlo x, hlo v) {
  if (!x || !v) return NULL;
  int64_t map[3] = {0, 1, 2};
  return cel_hlo_binary(b, op, x, cel_hlo_broadcast(b, v, 4, x->type->dims, map));
}

// The 128 nibble bytes of a K block: four runs of 32 bytes, low nibbles then high: [r, nb, 8, 32].
static hlo k_nibbles(cel_hlo_builder *b, hlo qs) {
  if (!qs) return NULL;
  const int64_t *d = qs->type->dims;
  int64_t runs[5] = {d[0], d[1], 4, 1, 32}, dims[4] = {d[0], d[1], 8, 32};
  hlo q = cel_hlo_reshape(b, qs, 5, runs);
  hlo parts[2] = {bits_of(b, q, 0, 15), shift_right(b, q, 4)};
  return cel_hlo_reshape(b, cel_hlo_concat(b, parts, 2, 3), 4, dims);
}

static hlo k_values(cel_hlo_builder *b, hlo blocks, hlo q) {
  hlo scales, mins;
  k_scales(b, blocks, &scales, &mins);
  hlo x = per_sub_block(b, CEL_HLO_MULTIPLY, f32(b, q), scales);
  return per_sub_block(b, CEL_HLO_SUBTRACT, x, mins);
}

static hlo q4_k(cel_hlo_builder *b, hlo x) { return k_values(b, x, k_nibbles(b, bytes_at(b, x, 16, 128))); }
static hlo q5_k(cel_hlo_builder *b, hlo x) {
  hlo high = cel_hlo_binary_scalar(b, CEL_HLO_SHIFT_LEFT, planes(b, bytes_at(b, x, 16, 32), 8, 1, 1), 4);
  return k_values(b, x, cel_hlo_binary(b, CEL_HLO_OR, k_nibbles(b, bytes_at(b, x, 48, 128)), high));
}

// Q6_K: two halves of 128 elements; 64 bytes of low nibbles and 32 bytes of upper bit pairs each.
static hlo q6_k(cel_hlo_builder *b, hlo x) {
  if (!x) return NULL;
  int64_t r = x->type->dims[0], nb = x->type->dims[1];
  int64_t halves[4] = {r, nb, 2, 64}, pairs[3] = {r, nb * 2, 32}, values[4] = {r, nb, 2, 128}, sixteen[4] = {r, nb, 16, 16};
  hlo ql = cel_hlo_reshape(b, bytes_at(b, x, 0, 128), 4, halves);
  hlo parts[2] = {bits_of(b, ql, 0, 15), shift_right(b, ql, 4)};
  hlo low = cel_hlo_concat(b, parts, 2, 3);
  hlo high = planes(b, cel_hlo_reshape(b, bytes_at(b, x, 128, 64), 3, pairs), 4, 2, 3);
  high = cel_hlo_reshape(b, cel_hlo_binary_scalar(b, CEL_HLO_SHIFT_LEFT, high, 4), 4, values);
  hlo q = cel_hlo_binary_scalar(b, CEL_HLO_SUBTRACT, f32(b, cel_hlo_binary(b, CEL_HLO_OR, low, high)), 32);
  hlo sc = f32(b, cel_hlo_bitcast(b, bytes_at(b, x, 192, 16), CEL_ET_I8));
  sc = per_block(b, CEL_HLO_MULTIPLY, sc, half_at(b, x, 208));
  int64_t map[3] = {0, 1, 2};
  return cel_hlo_binary(b, CEL_HLO_MULTIPLY, cel_hlo_reshape(b, q, 4, sixteen), cel_hlo_broadcast(b, sc, 4, sixteen, map));
}

// ---- two and three bits, tables, base-3 digits -------------------------------------------------------

// The 64 bytes of bit pairs of a K block: two runs of 32 bytes, four pairs each: [r, nb, 16, 16].
static hlo bit_pairs(cel_hlo_builder *b, hlo qs) {
  if (!qs) return NULL;
  const int64_t *d = qs->type->dims;
  int64_t runs[3] = {d[0], d[1] * 2, 32}, dims[4] = {d[0], d[1], 16, 16};
  return cel_hlo_reshape(b, planes(b, cel_hlo_reshape(b, qs, 3, runs), 4, 2, 3), 4, dims);
}

static hlo q2_k(cel_hlo_builder *b, hlo x) {
  hlo packed = bytes_at(b, x, 0, 16);
  hlo scales = per_block(b, CEL_HLO_MULTIPLY, f32(b, bits_of(b, packed, 0, 15)), half_at(b, x, 80));
  hlo mins = per_block(b, CEL_HLO_MULTIPLY, f32(b, shift_right(b, packed, 4)), half_at(b, x, 82));
  hlo y = per_sub_block(b, CEL_HLO_MULTIPLY, f32(b, bit_pairs(b, bytes_at(b, x, 16, 64))), scales);
  return per_sub_block(b, CEL_HLO_SUBTRACT, y, mins);
}

// Sixteen six-bit scales: nibbles of eight bytes, and bit pairs of four more, with 32 added.
static hlo q3_scales(cel_hlo_builder *b, hlo x) {
  hlo high = planes(b, bytes_at(b, x, 104, 4), 4, 2, 3), low = nibbles(b, bytes_at(b, x, 96, 8));
  if (!high || !low) return NULL;
  high = cel_hlo_reshape(b, cel_hlo_binary_scalar(b, CEL_HLO_SHIFT_LEFT, high, 4), 3, low->type->dims);
  hlo sc = f32(b, cel_hlo_binary(b, CEL_HLO_OR, low, high));
  return per_block(b, CEL_HLO_MULTIPLY, cel_hlo_binary_scalar(b, CEL_HLO_SUBTRACT, sc, 32), half_at(b, x, 108));
}

// The third bit of element 32k + j is bit k of byte j; where it is not set, 4 is taken off.
static hlo q3_k(cel_hlo_builder *b, hlo x) {
  hlo low = bit_pairs(b, bytes_at(b, x, 32, 64)), third = planes(b, bytes_at(b, x, 0, 32), 8, 1, 1);
  if (!low || !third) return NULL;
  third = cel_hlo_reshape(b, cel_hlo_binary_scalar(b, CEL_HLO_SHIFT_LEFT, third, 2), 4, low->type->dims);
  hlo q = cel_hlo_binary_scalar(b, CEL_HLO_SUBTRACT, f32(b, cel_hlo_binary(b, CEL_HLO_OR, low, third)), 4);
  return per_sub_block(b, CEL_HLO_MULTIPLY, q, q3_scales(b, x));
}

// Digits of bytes [r, nb, n]: digit k is what 3 times (byte * 3^k mod 256) carries over 256. -> [r, nb, count * n]
static hlo digits(cel_hlo_builder *b, hlo q, int64_t count) {
  static const uint8_t powers[5] = {1, 3, 9, 27, 81};
  if (!q) return NULL;
  const int64_t *d = q->type->dims;
  int64_t wide[4] = {d[0], d[1], count, d[2]}, map[3] = {0, 1, 3}, power_map[1] = {2}, flat[3] = {d[0], d[1], count * d[2]};
  hlo power = cel_hlo_broadcast(b, cel_hlo_dense(b, CEL_ET_UI8, 1, &count, powers), 4, wide, power_map);
  hlo v = cel_hlo_binary(b, CEL_HLO_MULTIPLY, cel_hlo_broadcast(b, q, 4, wide, map), power);
  v = cel_hlo_binary_scalar(b, CEL_HLO_MULTIPLY, cel_hlo_convert(b, v, CEL_ET_UI16), 3);
  return cel_hlo_reshape(b, f32(b, shift_right(b, v, 8)), 3, flat);
}

static hlo tq1_0(cel_hlo_builder *b, hlo x) {
  hlo parts[3] = {digits(b, bytes_at(b, x, 0, 32), 5), digits(b, bytes_at(b, x, 32, 16), 5), digits(b, bytes_at(b, x, 48, 4), 4)};
  hlo q = cel_hlo_binary_scalar(b, CEL_HLO_SUBTRACT, cel_hlo_concat(b, parts, 3, 2), 1);
  return per_block(b, CEL_HLO_MULTIPLY, q, half_at(b, x, 52));
}

static hlo tq2_0(cel_hlo_builder *b, hlo x) {
  hlo q = cel_hlo_binary_scalar(b, CEL_HLO_SUBTRACT, f32(b, bit_pairs(b, bytes_at(b, x, 0, 64))), 1);
  return per_block(b, CEL_HLO_MULTIPLY, q, half_at(b, x, 64));
}

// table[q], element by element.
static hlo look_up(cel_hlo_builder *b, const float *table, int64_t entries, hlo q) {
  if (!q) return NULL;
  const cel_hlo_type *t = q->type;
  int64_t n = cel_hlo_elements(t);
  hlo ids = cel_hlo_reshape(b, cel_hlo_convert(b, q, CEL_ET_I32), 1, &n);
  return cel_hlo_reshape(b, cel_hlo_take_rows(b, cel_hlo_dense(b, CEL_ET_F32, 1, &entries, table), ids), t->rank, t->dims);
}

static const float nl_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
static const float e2m1_values[16] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};

static hlo iq4_nl(cel_hlo_builder *b, hlo x) {
  return per_block(b, CEL_HLO_MULTIPLY, look_up(b, nl_values, 16, nibbles(b, bytes_at(b, x, 2, 16))), half_at(b, x, 0));
}

// Bytes [r, nb, n] -> [r, nb, n * count]: the fields of each byte in a row, lowest first.
static hlo fields(cel_hlo_builder *b, hlo q, int64_t count, int step, int mask) {
  if (!q) return NULL;
  const int64_t *d = q->type->dims;
  int64_t wide[4] = {d[0], d[1], d[2], count}, map[3] = {0, 1, 2}, flat[3] = {d[0], d[1], d[2] * count};
  hlo by = cel_hlo_binary_scalar(b, CEL_HLO_MULTIPLY, cel_hlo_iota(b, CEL_ET_UI8, 4, wide, 3), step);
  hlo v = cel_hlo_binary(b, CEL_HLO_SHIFT_RIGHT_LOGICAL, cel_hlo_broadcast(b, q, 4, wide, map), by);
  return cel_hlo_reshape(b, cel_hlo_binary_scalar(b, CEL_HLO_AND, v, mask), 3, flat);
}

static hlo iq4_xs(cel_hlo_builder *b, hlo x) {
  if (!x) return NULL;
  int64_t r = x->type->dims[0], nb = x->type->dims[1], runs[4] = {r, nb, 8, 16};
  hlo high = cel_hlo_binary_scalar(b, CEL_HLO_SHIFT_LEFT, fields(b, bytes_at(b, x, 2, 2), 4, 2, 3), 4);
  hlo sc = f32(b, cel_hlo_binary(b, CEL_HLO_OR, fields(b, bytes_at(b, x, 4, 4), 2, 4, 15), high));
  sc = per_block(b, CEL_HLO_MULTIPLY, cel_hlo_binary_scalar(b, CEL_HLO_SUBTRACT, sc, 32), half_at(b, x, 0));
  hlo q = cel_hlo_reshape(b, bytes_at(b, x, 8, 128), 4, runs);
  hlo parts[2] = {bits_of(b, q, 0, 15), shift_right(b, q, 4)};
  return per_sub_block(b, CEL_HLO_MULTIPLY, look_up(b, nl_values, 16, cel_hlo_concat(b, parts, 2, 3)), sc);
}

// 2^(e - 127) as f32: the exponent's own bits, but for e = 0, which is subnormal.
static hlo power_of_two(cel_hlo_builder *b, hlo e) {
  if (!e) return NULL;
  const cel_hlo_type *t = e->type;
  hlo wide = cel_hlo_convert(b, e, CEL_ET_UI32);
  hlo bits = cel_hlo_binary_scalar(b, CEL_HLO_SHIFT_LEFT, wide, 23);
  hlo zero = cel_hlo_compare(b, "EQ", wide, cel_hlo_splat(b, CEL_ET_UI32, t->rank, t->dims, 0));
  bits = cel_hlo_select(b, zero, cel_hlo_splat(b, CEL_ET_UI32, t->rank, t->dims, 0x00400000), bits);
  return cel_hlo_bitcast(b, bits, CEL_ET_F32);
}

static hlo mxfp4(cel_hlo_builder *b, hlo x) {
  if (!x) return NULL;
  int64_t scales[2] = {x->type->dims[0], x->type->dims[1]};
  hlo d = power_of_two(b, cel_hlo_reshape(b, bytes_at(b, x, 0, 1), 2, scales));
  return per_block(b, CEL_HLO_MULTIPLY, look_up(b, e2m1_values, 16, nibbles(b, bytes_at(b, x, 1, 16))), d);
}

static hlo q8_1(cel_hlo_builder *b, hlo x) {
  return per_block(b, CEL_HLO_MULTIPLY, f32(b, cel_hlo_bitcast(b, bytes_at(b, x, 4, 32), CEL_ET_I8)), half_at(b, x, 0));
}

static hlo q8_k(cel_hlo_builder *b, hlo x) {
  hlo d = cel_hlo_bitcast(b, bytes_at(b, x, 0, 4), CEL_ET_F32);
  return per_block(b, CEL_HLO_MULTIPLY, f32(b, cel_hlo_bitcast(b, bytes_at(b, x, 4, 256), CEL_ET_I8)), d);
}

static const struct {
  const char *format;
  int elements, bytes;
  hlo (*expand)(cel_hlo_builder *b, hlo blocks);
} block_formats[] = {
    {"Q4_0", 32, 18, q4_0},   {"Q4_1", 32, 20, q4_1},   {"Q5_0", 32, 22, q5_0},   {"Q5_1", 32, 24, q5_1},
    {"Q8_0", 32, 34, q8_0},   {"Q4_K", 256, 144, q4_k}, {"Q5_K", 256, 176, q5_k}, {"Q6_K", 256, 210, q6_k},
    {"Q2_K", 256, 84, q2_k},  {"Q3_K", 256, 110, q3_k}, {"Q8_1", 32, 36, q8_1},   {"Q8_K", 256, 292, q8_k},
    {"TQ1_0", 256, 54, tq1_0}, {"TQ2_0", 256, 66, tq2_0}, {"IQ4_NL", 32, 18, iq4_nl}, {"IQ4_XS", 256, 136, iq4_xs},
    {"MXFP4", 32, 17, mxfp4},
};

// ---- MLX -----------------------------------------------------------------------------------------------

// Words [r, cols * bits / 32] to unsigned values [r, cols]: element i occupies bits [i * bits, i * bits + bits)
// of its row. Where elements do not straddle words they are shifted out; else every bit is, and weighed.
static hlo unpack(cel_hlo_builder *b, hlo w, int64_t r, int64_t cols, int bits) {
  int64_t per_word = 32 % bits ? 32 : 32 / bits, words = cols * bits / 32;
  int64_t wide[3] = {r, words, per_word}, map[2] = {0, 1}, flat[2] = {r, cols}, single[3] = {r, cols, bits};
  hlo by = cel_hlo_iota(b, CEL_ET_UI32, 3, wide, 2);
  if (per_word != 32) by = cel_hlo_binary_scalar(b, CEL_HLO_MULTIPLY, by, bits);
  hlo q = cel_hlo_binary(b, CEL_HLO_SHIFT_RIGHT_LOGICAL, cel_hlo_broadcast(b, w, 3, wide, map), by);
  q = cel_hlo_binary_scalar(b, CEL_HLO_AND, q, per_word == 32 ? 1 : (double)((1u << bits) - 1));
  if (per_word != 32) return cel_hlo_reshape(b, q, 2, flat);
  hlo bit = cel_hlo_reshape(b, q, 3, single);
  bit = cel_hlo_binary(b, CEL_HLO_SHIFT_LEFT, bit, cel_hlo_iota(b, CEL_ET_UI32, 3, single, 2));
  int64_t last = 2;
  return cel_hlo_reduce(b, CEL_HLO_ADD, bit, &last, 1);
}

// x [r, cols] (op) v [r, groups], one v for `group` columns.
static hlo per_group(cel_hlo_builder *b, cel_hlo_opcode op, hlo x, hlo v, int group) {
  if (!x || !v) return NULL;
  int64_t r = x->type->dims[0], cols = x->type->dims[1], grouped[3] = {r, cols / group, group}, map[2] = {0, 1};
  hlo y = cel_hlo_binary(b, op, cel_hlo_reshape(b, x, 3, grouped), cel_hlo_broadcast(b, v, 3, grouped, map));
  return cel_hlo_reshape(b, y, 2, x->type->dims);
}

static hlo affine(cel_hlo_builder *b, const cel_storage *s, hlo w, hlo scales, hlo biases, int64_t r) {
  hlo x = per_group(b, CEL_HLO_MULTIPLY, f32(b, unpack(b, w, r, s->cols, s->bits)), f32(b, scales), s->group);
  return per_group(b, CEL_HLO_ADD, x, f32(b, biases), s->group);
}

// Every E4M3 number (OCP 8-bit floating point): no infinities, one NaN.
static void e4m3_values(float out[256]) {
  for (int i = 0; i < 256; i++) {
    int exponent = i >> 3 & 15, mantissa = i & 7;
    float x = exponent ? ldexpf((float)(8 + mantissa), exponent - 10) : ldexpf((float)mantissa, -9);
    if ((i & 127) == 127) x = NAN;
    out[i] = i & 128 ? -x : x;
  }
}

// mxfp4: E2M1 nibbles, a power of two per 32; mxfp8: E4M3 bytes, a power of two per 32; nvfp4: E2M1 nibbles, an
// E4M3 number per 16. No biases.
static hlo micro_float(cel_hlo_builder *b, const cel_storage *s, hlo w, hlo scales, int64_t r) {
  float bytes[256];
  e4m3_values(bytes);
  hlo q = unpack(b, w, r, s->cols, s->bits);
  hlo x = s->bits == 8 ? look_up(b, bytes, 256, q) : look_up(b, e2m1_values, 16, q);
  hlo scale = !strcmp(s->format, "nvfp4") ? look_up(b, bytes, 256, scales) : power_of_two(b, scales);
  return per_group(b, CEL_HLO_MULTIPLY, x, scale, s->group);
}

// E4M3 bytes and an f32 for every group.
static hlo fp8(cel_hlo_builder *b, const cel_storage *s, hlo w, hlo scales, int64_t r) {
  float bytes[256];
  e4m3_values(bytes);
  return per_group(b, CEL_HLO_MULTIPLY, look_up(b, bytes, 256, unpack(b, w, r, s->cols, 8)), scales, s->group);
}

hlo cel_emit_dequantize(cel_hlo_builder *b, const cel_storage *s, hlo w, hlo scales, hlo biases, int64_t rows) {
  if (!strcmp(s->format, "F32") || !strcmp(s->format, "F16") || !strcmp(s->format, "BF16")) return f32(b, w);
  if (!strcmp(s->format, "affine")) return affine(b, s, w, scales, biases, rows);
  if (!strcmp(s->format, "mxfp4") || !strcmp(s->format, "mxfp8") || !strcmp(s->format, "nvfp4")) {
    return micro_float(b, s, w, scales, rows);
  }
  if (!strcmp(s->format, "fp8")) return fp8(b, s, w, scales, rows);
  for (int i = 0; i < CEL_COUNT(block_formats); i++) {
    if (strcmp(s->format, block_formats[i].format) != 0) continue;
    int64_t nb = s->cols / block_formats[i].elements;
    int64_t blocks[3] = {rows, nb, block_formats[i].bytes}, flat[2] = {rows, s->cols};
    return cel_hlo_reshape(b, block_formats[i].expand(b, cel_hlo_reshape(b, w, 3, blocks)), 2, flat);
  }
  cel_hlo_refuse(b, CEL_UNSUPPORTED, "weights stored as %s have no graph form", s->format);
  return NULL;
}
