// Template: eight rows of a panel against up to four tokens, whose sums stay in registers: lanes are rows. The including file
// defines, ahead of it, what its instructions ask for:
//   enum { LINE, ENTRY_BYTES }   bytes of eight rows' entries in the panel, which are followed by those of the other eight; bytes
//                                that stand for one weight
//   corrected(f)                 is there something to be taken off sums of products?
//   factors, factors_of(k, bytes), excess(f, less, total)   what that is; total: of the packed row, of the unit or half
// and behind it
//   dots(f, q, x, half, n)       exact sums of one unit, or half of it, whose panel begins at q
// Internal to kernel/.

// What one token needs of the packed row, from the unit at hand on.
typedef struct token {
  const uint8_t *x;
  const float *s, *sum;
  const int32_t *total;
} token;

// Rows 0..3 (l) and 4..7 (h) of each token. Named, not in arrays: compilers then keep them in registers.
typedef struct ints {
  int32x4_t l0, h0, l1, h1, l2, h2, l3, h3;
} ints;
typedef struct floats {
  float32x4_t l0, h0, l1, h1, l2, h2, l3, h3;
} floats;

static CEL_ALWAYS_INLINE ints no_ints(void) {
  const int32x4_t zero = vdupq_n_s32(0);
  return (ints){zero, zero, zero, zero, zero, zero, zero, zero};
}

#define EACH(do) do(0) do(1) do(2) do(3)

static CEL_ALWAYS_INLINE ints dots(cel_panel_shape f, const uint8_t *q, const token *x, int half, int n);

// Products with scales, and biases.
static CEL_ALWAYS_INLINE void close_four(cel_panel_shape f, int32x4_t d, float32x4_t s, float32x4_t b, float xs, float xsum,
                                         float32x4_t *acc) {
  *acc = vfmaq_f32(*acc, vcvtq_f32_s32(d), vmulq_n_f32(s, xs));
  if (f.bias) *acc = vfmaq_n_f32(*acc, b, xsum);
}

static CEL_ALWAYS_INLINE void close_token(cel_panel_shape f, factors less, int32x4_t low, int32x4_t high,
                                          const token *x, int half, const float *s, const float *b, float32x4_t *acc_low,
                                          float32x4_t *acc_high) {
  if (corrected(f)) {
    const int32_t total = f.halves == 1 ? x->total[0] + x->total[1] : x->total[half];
    const int32x4_t much = vdupq_n_s32(excess(f, less, total));
    low = vsubq_s32(low, much);
    high = vsubq_s32(high, much);
  }
  const float xsum = f.bias ? x->sum[half] : 0;
  close_four(f, low, vld1q_f32(s), vld1q_f32(b), *x->s, xsum, acc_low);
  close_four(f, high, vld1q_f32(s + 4), vld1q_f32(b + 4), *x->s, xsum, acc_high);
}

// Tokens x[0..n) against rows 8 * eight .. of the panel.
static CEL_ALWAYS_INLINE void tile_rows(const cel_panel_tile *g, cel_panel_shape f, int n, int eight) {
  const int64_t rows = g->rows - 8 * eight;
  const factors less = factors_of(kind_of(g->w), f.bytes);
  floats a;
  token x[4];
  float *y = g->y + 8 * eight;
  const uint8_t *q = g->panel->u.bytes + eight * LINE;
  const float *s = g->panel->s + 8 * eight, *b = g->panel->b + 8 * eight;
  const float32x4_t zero = set4(0);
  a.l0 = a.h0 = a.l1 = a.h1 = a.l2 = a.h2 = a.l3 = a.h3 = zero;
#define BEGIN(t)                                                                                            \
  if (n > t) {                                                                                              \
    const int64_t at = t * g->x_stride;                                                                     \
    x[t] = (token){g->x + at, (const void *)(g->xs + at), (const void *)(g->xsum + at), (const void *)(g->total + at)}; \
    if (!g->first) {                                                                                        \
      const vec8 v = load_first8(y + t * g->y_stride, rows);                                                \
      a.l##t = v.low;                                                                                       \
      a.h##t = v.high;                                                                                      \
    }                                                                                                       \
  }
#define CLOSE(t) \
  if (n > t) close_token(f, less, d.l##t, d.h##t, &x[t], half, s, b, &a.l##t, &a.h##t);
#define NEXT(t)                                      \
  if (n > t) {                                       \
    x[t].x += f.unit * (f.bytes ? 1 : 2);            \
    x[t].s++;                                        \
    x[t].sum += f.bias ? f.halves : 1;               \
    x[t].total += 2;                                 \
  }
#define END(t) \
  if (n > t) store_first8(y + t * g->y_stride, rows, (vec8){a.l##t, a.h##t});
  EACH(BEGIN)
  for (int64_t u = 0; u < g->units; u++) {
    for (int half = 0; half < f.halves; half++) {
      const ints d = dots(f, q, x, half, n);
      EACH(CLOSE)
      q += f.unit / f.halves * ENTRY_BYTES * CEL_PANEL_ROWS;
      s += CEL_PANEL_ROWS;
      b += CEL_PANEL_ROWS;
    }
    EACH(NEXT)
  }
  EACH(END)
#undef BEGIN
#undef CLOSE
#undef NEXT
#undef END
}

static CEL_ALWAYS_INLINE void tile(const cel_panel_tile *g, cel_panel_shape f, int n) {
  tile_rows(g, f, n, 0);
  if (g->rows > 8) tile_rows(g, f, n, 1);
}

#define TILE_TOKENS 4
#include "backend/xla/engine/native/kernel/panel_tiles.h"

#define CEL_PANEL(name, ...) \
  static CEL_NOINLINE void name(const cel_panel_tile *t, int64_t n) { tiles(*t, (cel_panel_shape){__VA_ARGS__}, n); }
#include "backend/xla/engine/native/kernel/arm_panel.def"
#undef CEL_PANEL
