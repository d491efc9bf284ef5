// The meaning of every packed weight format, stated in StableHLO: bytes or words to f32. These are the
// decompositions that kernels are checked against. Layouts: GGUF blocks as the gguf package's reader
// defines them, MLX affine as mx.quantize writes it (text-architectures §1.6).
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

static const struct {
  const char *format;
  int elements, bytes;
  hlo (*expand)(cel_hlo_builder *b, hlo blocks);
} block_formats[] = {
    {"Q4_0", 32, 18, q4_0},   {"Q4_1", 32, 20, q4_1},   {"Q5_0", 32, 22, q5_0},   {"Q5_1", 32, 24, q5_1},
    {"Q8_0", 32, 34, q8_0},   {"Q4_K", 256, 144, q4_k}, {"Q5_K", 256, 176, q5_k}, {"Q6_K", 256, 210, q6_k},
};

// Words [r, cols * bits / 32] to values: element i occupies bits [i * bits, i * bits + bits) of its row.
static hlo affine(cel_hlo_builder *b, const cel_storage *s, hlo w, hlo scales, hlo biases, int64_t r) {
  if (s->bits != 2 && s->bits != 4 && s->bits != 8) {
    cel_hlo_refuse(b, CEL_UNSUPPORTED, "MLX affine weights of %d bits have no graph form yet (2, 4 and 8 have)", s->bits);
    return NULL;
  }
  int64_t per_word = 32 / s->bits, words = s->cols / per_word, groups = s->cols / s->group;
  int64_t wide[3] = {r, words, per_word}, grouped[3] = {r, groups, s->group}, map[2] = {0, 1}, flat[2] = {r, s->cols};
  hlo by = cel_hlo_binary_scalar(b, CEL_HLO_MULTIPLY, cel_hlo_iota(b, CEL_ET_UI32, 3, wide, 2), s->bits);
  hlo q = cel_hlo_binary(b, CEL_HLO_SHIFT_RIGHT_LOGICAL, cel_hlo_broadcast(b, w, 3, wide, map), by);
  q = cel_hlo_binary_scalar(b, CEL_HLO_AND, q, (double)((1u << s->bits) - 1));
  hlo x = cel_hlo_reshape(b, f32(b, q), 3, grouped);
  x = cel_hlo_binary(b, CEL_HLO_MULTIPLY, x, cel_hlo_broadcast(b, f32(b, scales), 3, grouped, map));
  x = cel_hlo_binary(b, CEL_HLO_ADD, x, cel_hlo_broadcast(b, f32(b, biases), 3, grouped, map));
  return cel_hlo_reshape(b, x, 2, flat);
}

hlo cel_emit_dequantize(cel_hlo_builder *b, const cel_storage *s, hlo w, hlo scales, hlo biases, int64_t rows) {
  if (!strcmp(s->format, "F32") || !strcmp(s->format, "F16") || !strcmp(s->format, "BF16")) return f32(b, w);
  if (!strcmp(s->format, "affine")) return affine(b, s, w, scales, biases, rows);
  for (int i = 0; i < CEL_COUNT(block_formats); i++) {
    if (strcmp(s->format, block_formats[i].format) != 0) continue;
    int64_t nb = s->cols / block_formats[i].elements;
    int64_t blocks[3] = {rows, nb, block_formats[i].bytes}, flat[2] = {rows, s->cols};
    return cel_hlo_reshape(b, block_formats[i].expand(b, cel_hlo_reshape(b, w, 3, blocks)), 2, flat);
  }
  cel_hlo_refuse(b, CEL_UNSUPPORTED, "weights stored as %s have no graph form", s->format);
  return NULL;
}
