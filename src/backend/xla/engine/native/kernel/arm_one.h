// Template: products of one kind of quantized weight with one token, which reads eight rows as they lie in the file. The sums are
// those of linear.h. The including file defines, ahead of it:
//   acts, load_acts(f, bytes, x)        a unit's activations in registers
//   unit_dot(f, bytes, q, x, first, n)  lane by lane, the products of n of a unit's vectors
//   corrected(shape), factors, factors_of(f, bytes), excess(shape, less, total), as in arm_tile.h
// Internal to kernel/.
#include "backend/xla/engine/native/kernel/arm_neon_scales.h"
#include "backend/xla/engine/native/kernel/arm_panel.h"

// The sums of the lanes of four vectors.
static CEL_ALWAYS_INLINE int32x4_t add_across4(const int32x4_t *d) {
  return vpaddq_s32(vpaddq_s32(d[0], d[1]), vpaddq_s32(d[2], d[3]));
}

// Rows 0..3 (l) and 4..7 (h).
typedef struct eight {
  float32x4_t l, h;
} eight;

// One unit or half of it: the sums of eight rows go on by its products and biases.
static CEL_ALWAYS_INLINE eight add_products(cel_panel_shape f, int32x4_t low, int32x4_t high, int32_t less, const float *s,
                                            const float *b, float xs, float xsum, eight acc) {
  if (corrected(f)) {
    low = vsubq_s32(low, vdupq_n_s32(less));
    high = vsubq_s32(high, vdupq_n_s32(less));
  }
  acc.l = vfmaq_f32(acc.l, vcvtq_f32_s32(low), vmulq_n_f32(vld1q_f32(s), xs));
  acc.h = vfmaq_f32(acc.h, vcvtq_f32_s32(high), vmulq_n_f32(vld1q_f32(s + 4), xs));
  if (!f.bias) return acc;
  return (eight){vfmaq_n_f32(acc.l, vld1q_f32(b), xsum), vfmaq_n_f32(acc.h, vld1q_f32(b + 4), xsum)};
}

// Each row's vectors of one unit, by half.
static CEL_ALWAYS_INLINE void eight_dots(lin_kind f, bool bytes, const eight_rows *e, int64_t offset, int k, bool whole,
                                         const uint8_t *x, int32x4_t (*d)[8]) {
  const acts a = load_acts(f, bytes, x);
  const int halves = halves_of(f), n = unit_of(f) / 16 / halves;
  for (int r = 0; r < 8; r++) {
    uint8x16_t q[4];
    unpack_raw(f, e->at[r] + offset, k, whole, q);
    for (int h = 0; h < halves; h++) d[h][r] = unit_dot(f, bytes, q, &a, h * n, n);
  }
}

// Eight rows are read side by side but fetched as they lie, one behind the other, which memory answers faster: each unit
// of a block of rows asks for its share of the next block.
static CEL_ALWAYS_INLINE void prefetch_share(lin_kind f, const uint8_t *block, int64_t u) {
  const int share = batch_bytes_of(f);
  for (int line = 0; line < share; line += 64) __builtin_prefetch(block + u * share + line);
}

// What a packed row holds.
typedef struct packed_row {
  const uint8_t *x;
  const int32_t *total;
  const float *s, *sum;
} packed_row;

static CEL_ALWAYS_INLINE packed_row parts_of(const cel_linear *w, const uint8_t *packed) {
  return (packed_row){packed, (const void *)(packed + cel_lin_totals_at(w)), (const void *)(packed + cel_lin_scales_at(w)),
                      (const void *)(packed + cel_lin_sums_at(w))};
}

// Unit u0 + k of eight rows: their sums go on.
static CEL_ALWAYS_INLINE eight add_unit(lin_kind f, bool bytes, const cel_linear *w, const packed_row *p, const eight_rows *e,
                                        int64_t offset, int64_t u0, int k, const float *s, const float *b, eight acc) {
  const int halves = halves_of(f);
  const cel_panel_shape shape = {unit_of(f), halves, biased(f), bytes, wide(f)};
  const int64_t u = u0 + k;
  int32x4_t d[2][8];
  prefetch_share(f, e->at[0] + 8 * w->w_row_bytes, u);
  eight_dots(f, bytes, e, offset, k, is_whole(f, w, u), p->x + u * unit_of(f) * (bytes ? 1 : 2), d);
  for (int h = 0; h < halves; h++) {
    const int32_t total = halves == 1 ? p->total[2 * u] + p->total[2 * u + 1] : p->total[2 * u + h];
    const float xsum = biased(f) ? p->sum[u * halves + h] : 0;
    const int32_t less = excess(shape, factors_of(f, bytes), total);
    acc = add_products(shape, add_across4(d[h]), add_across4(d[h] + 4), less, s + 8 * h, b + 8 * h, p->s[u], xsum, acc);
  }
  return acc;
}

// Rows [row, row + 8), but none behind `end`.
static CEL_ALWAYS_INLINE void gemv_rows(lin_kind f, bool bytes, const cel_linear *w, const packed_row *p, float *y, int64_t row,
                                        int64_t end) {
  const int halves = halves_of(f);
  const int64_t units = cel_lin_units(w);
  const eight_rows e = rows_from(w, row, end - 1);
  eight acc = {set4(0), set4(0)};
  int64_t offset = 0;
  for (int64_t u0 = 0; u0 < units; u0 += CEL_LIN_BATCH, offset += batch_bytes_of(f)) {
    const int64_t n = CEL_MIN(CEL_LIN_BATCH, units - u0);
    float s[16 * 8], b[16 * 8];
    eight_scales(f, w, &e, offset, u0, n, s, b, 8);
    EACH_UNIT(f, n, acc = add_unit(f, bytes, w, p, &e, offset, u0, k, s + 8 * k * halves, b + 8 * k * halves, acc))
  }
  store_first8(y + row, end - row, (vec8){acc.l, acc.h});
}

static CEL_ALWAYS_INLINE void gemv(lin_kind f, bool bytes, const cel_linear *w, const uint8_t *packed, float *y, int64_t begin,
                                   int64_t end) {
  const packed_row p = parts_of(w, packed);
  for (int64_t r = begin; r < end; r += 8) gemv_rows(f, bytes, w, &p, y, r, end);
}

#define CEL_ARM_ONE(f)                                                                                                \
  static CEL_NOINLINE void one_##f(const cel_linear *w, const uint8_t *packed, float *y, int64_t begin, int64_t end) { \
    if (byte_bits(K_##f) && cel_lin_bytes(w)) gemv(K_##f, byte_bits(K_##f) > 0, w, packed, y, begin, end);            \
    else gemv(K_##f, false, w, packed, y, begin, end);                                                                \
  }
typedef void one_token(const cel_linear *w, const uint8_t *packed, float *y, int64_t begin, int64_t end);
#define CEL_ARM_ONE_BODY(f) [K_##f] = one_##f,
