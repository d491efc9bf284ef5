// Table of the kernels that multiply matrices of bytes (FEAT_I8MM): panels in which a line holds eight neighbours of each of 16
// rows, four tokens at a time. One instruction multiplies two tokens' eight numbers with two rows'. One token goes the way of
// DOTPROD.
#include "backend/xla/engine/native/kernel/kernel.h"

#if defined(__aarch64__)
#include "backend/xla/engine/native/kernel/arm_dotprod.h"
#include "backend/xla/engine/native/kernel/arm_dotprod_planes.h"

enum { LINE = 64, ENTRY_BYTES = 1 };

// The lower plane multiplies weights with a sign: of those that have none, 128 was taken off.
static CEL_ALWAYS_INLINE factors factors_of(lin_kind k, bool bytes) {
  if (with_sign(k)) return (factors){0, 0};
  if (wide(k)) return (factors){-128, -32768};
  return (factors){offset_of(k), bytes ? 0 : 256 * offset_of(k)};
}

static CEL_ALWAYS_INLINE void store_unit(lin_kind f, uint8x16_t (*q)[4], uint8_t *out) {
  for (int v = 0; v < unit_of(f) / 16; v++)
    for (int r = 0; r < 8; r += 2) {
      const int64x2_t a = vreinterpretq_s64_s8(signed_weights(f, q[r][v]));
      const int64x2_t b = vreinterpretq_s64_s8(signed_weights(f, q[r + 1][v]));
      vst1q_u8(out + 2 * v * 2 * LINE + 8 * r, vreinterpretq_u8_s64(vzip1q_s64(a, b)));
      vst1q_u8(out + (2 * v + 1) * 2 * LINE + 8 * r, vreinterpretq_u8_s64(vzip2q_s64(a, b)));
    }
}

#include "backend/xla/engine/native/kernel/arm_tile.h"
#include "backend/xla/engine/native/kernel/arm_unpack.h"

// Two tokens against rows 0 and 1, 2 and 3, 4 and 5, 6 and 7: both rows of the first token, then of the second.
typedef struct squares {
  int32x4_t a, b, c, d;
} squares;

// Eight numbers of both tokens against a line.
static CEL_ALWAYS_INLINE squares add_line(squares s, bool plain, uint8x16_t x, int8x16_t a, int8x16_t b, int8x16_t c,
                                          int8x16_t d) {
  if (plain) return (squares){vusmmlaq_s32(s.a, x, a), vusmmlaq_s32(s.b, x, b), vusmmlaq_s32(s.c, x, c), vusmmlaq_s32(s.d, x, d)};
  const int8x16_t y = vreinterpretq_s8_u8(x);
  return (squares){vmmlaq_s32(s.a, y, a), vmmlaq_s32(s.b, y, b), vmmlaq_s32(s.c, y, c), vmmlaq_s32(s.d, y, d)};
}

// The first or the last eight of 16 numbers of two tokens.
static CEL_ALWAYS_INLINE uint8x16_t both(uint8x16_t a, uint8x16_t b, int last) {
  const uint64x2_t x = vreinterpretq_u64_u8(a), y = vreinterpretq_u64_u8(b);
  return vreinterpretq_u8_u64(last ? vzip2q_u64(x, y) : vzip1q_u64(x, y));
}

typedef struct two_pairs {
  squares first, second;
} two_pairs;

// s + products of a plane, whose first position in the packed unit is `at`; `plain`: it has no sign.
static CEL_ALWAYS_INLINE two_pairs add_plane(two_pairs s, bool plain, const uint8_t *q, const token *x, int at, int positions,
                                             int n) {
  CEL_UNROLLED(4)
  for (int i = 0; i < positions; i += 16) {
    const uint8x16_t x0 = vld1q_u8(x[0].x + at + i), x1 = n > 1 ? vld1q_u8(x[1].x + at + i) : x0;
    const uint8x16_t x2 = n > 2 ? vld1q_u8(x[2].x + at + i) : x0, x3 = n > 2 ? vld1q_u8(x[3].x + at + i) : x0;
    CEL_UNROLLED(2)
    for (int last = 0; last < 2; last++) {
      const int8_t *line = (const int8_t *)q + (i / 8 + last) * 2 * LINE;
      const int8x16_t a = vld1q_s8(line), b = vld1q_s8(line + 16), c = vld1q_s8(line + 32), d = vld1q_s8(line + 48);
      s.first = add_line(s.first, plain, both(x0, x1, last), a, b, c, d);
      if (n > 2) s.second = add_line(s.second, plain, both(x2, x3, last), a, b, c, d);
    }
  }
  return s;
}

static CEL_ALWAYS_INLINE squares shifted(squares s) {
  return (squares){vshlq_n_s32(s.a, 8), vshlq_n_s32(s.b, 8), vshlq_n_s32(s.c, 8), vshlq_n_s32(s.d, 8)};
}

static CEL_ALWAYS_INLINE int32x4_t of_first(int32x4_t a, int32x4_t b) {
  return vreinterpretq_s32_s64(vzip1q_s64(vreinterpretq_s64_s32(a), vreinterpretq_s64_s32(b)));
}
static CEL_ALWAYS_INLINE int32x4_t of_second(int32x4_t a, int32x4_t b) {
  return vreinterpretq_s32_s64(vzip2q_s64(vreinterpretq_s64_s32(a), vreinterpretq_s64_s32(b)));
}

static CEL_ALWAYS_INLINE ints dots(cel_panel_shape f, const uint8_t *q, const token *x, int half, int n) {
  const int positions = f.unit / f.halves, at = half * positions;
  const int32x4_t zero = vdupq_n_s32(0);
  const squares none = {zero, zero, zero, zero};
  two_pairs s = add_plane((two_pairs){none, none}, false, q, x, at, positions, n);
  if (!f.bytes) {
    s = (two_pairs){shifted(s.first), shifted(s.second)};
    s = add_plane(s, true, once_more(q), x, f.unit + at, positions, n);
  }
  const squares p = s.first, r = s.second;
  return (ints){of_first(p.a, p.b),  of_first(p.c, p.d),  of_second(p.a, p.b), of_second(p.c, p.d),
                of_first(r.a, r.b),  of_first(r.c, r.d),  of_second(r.a, r.b), of_second(r.c, r.d)};
}

CEL_LIN_COMMON_KINDS(CEL_ARM_UNPACK)
CEL_LIN_SMALL_KINDS(CEL_ARM_UNPACK)

static void mul(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens, float *y, int64_t y_stride,
                int64_t row_begin, int64_t row_end, void *scratch) {
  static cel_panel_unpack *const unpack[LIN_KINDS] = {CEL_LIN_COMMON_KINDS(CEL_ARM_UNPACK_BODY)
                                                      CEL_LIN_SMALL_KINDS(CEL_ARM_UNPACK_BODY)};
  static cel_panel_multiply *const panels[CEL_PANEL_KINDS] = {
#define CEL_PANEL(name, ...) [CEL_PANEL_##name] = name,
#include "backend/xla/engine/native/kernel/arm_panel.def"
#undef CEL_PANEL
  };
  if (n_tokens == 1 || !cel_lin_integers(w)) {
    cel_dotprod_linear_mul(w, packed, pack_stride, n_tokens, y, y_stride, row_begin, row_end, scratch);
    return;
  }
  const lin_kind f = kind_of(w);
  cel_panel_mul(w, packed, pack_stride, n_tokens, y, y_stride, row_begin, row_end, unpack[f],
                panels[cel_panel_of(f, cel_lin_bytes(w), wide(f))], CEL_LIN_COLS, scratch);
}

const cel_kernels cel_kernels_i8mm = {
  .isa = "i8mm",
  .linear_mul = mul,
};

#endif
