// AVX2: unpacked rows against packed tokens, four tokens and sixteen rows at a time.
#include "backend/xla/engine/native/kernel/kernel.h"

#if defined(__x86_64__)
#include "backend/xla/engine/native/kernel/x86_panel.h"
#include "backend/xla/engine/native/kernel/x86_avx2_vec.h"

enum { ROWS = CEL_PANEL_ROWS, TOKENS = 4 };

// One number for each of a token's sixteen rows. Named, not in arrays: compilers then keep them in registers.
typedef struct ints {
  __m256i low, high;
} ints;
typedef struct sums {
  __m256 low, high;
} sums;

static CEL_ALWAYS_INLINE __m256i load_i(const void *p) { return _mm256_loadu_si256(p); }

static CEL_ALWAYS_INLINE ints add_pair(ints d, __m256i low, __m256i high, int32_t x) {
  __m256i pair = _mm256_set1_epi32(x);
  return (ints){settled(_mm256_add_epi32(d.low, _mm256_madd_epi16(low, pair))),
                settled(_mm256_add_epi32(d.high, _mm256_madd_epi16(high, pair)))};
}

// One unit or half of it: the sum goes on by its product and bias.
static CEL_ALWAYS_INLINE void add_product(ints d, const cel_panel_token *x, int half, const float *s, const float *b, bool bias,
                                          sums *acc) {
  __m256 xs = _mm256_broadcast_ss(x->s), low = acc->low, high = acc->high;
  low = _mm256_fmadd_ps(_mm256_cvtepi32_ps(d.low), _mm256_mul_ps(_mm256_loadu_ps(s), xs), low);
  high = _mm256_fmadd_ps(_mm256_cvtepi32_ps(d.high), _mm256_mul_ps(_mm256_loadu_ps(s + 8), xs), high);
  if (bias) {
    __m256 xsum = _mm256_broadcast_ss(x->sum + half);
    low = _mm256_fmadd_ps(_mm256_loadu_ps(b), xsum, low);
    high = _mm256_fmadd_ps(_mm256_loadu_ps(b + 8), xsum, high);
  }
  *acc = (sums){low, high};
}

// ---- words ------------------------------------------------------------------------------------------

static CEL_ALWAYS_INLINE void add_unit(cel_panel_shape f, const int16_t *q, const float *s, const float *b,
                                       const cel_panel_token *x, int half, int n, sums *acc) {
  const int pairs = f.unit / 2 / f.halves;
  const __m256i zero = _mm256_setzero_si256();
  ints d0 = {zero, zero}, d1 = d0, d2 = d0, d3 = d0;
  CEL_UNROLLED(32)
  for (int i = 0; i < pairs; i++) {
    const int at = cel_panel_entry(f.halves, half, i);
    const __m256i low = load_i(q + i * 2 * ROWS), high = load_i(q + i * 2 * ROWS + 16);
    d0 = add_pair(d0, low, high, x[0].x[at]);
    if (n > 1) d1 = add_pair(d1, low, high, x[1].x[at]);
    if (n > 2) d2 = add_pair(d2, low, high, x[2].x[at]);
    if (n > 3) d3 = add_pair(d3, low, high, x[3].x[at]);
  }
  add_product(d0, &x[0], half, s, b, f.bias, &acc[0]);
  if (n > 1) add_product(d1, &x[1], half, s, b, f.bias, &acc[1]);
  if (n > 2) add_product(d2, &x[2], half, s, b, f.bias, &acc[2]);
  if (n > 3) add_product(d3, &x[3], half, s, b, f.bias, &acc[3]);
}

// ---- bytes ------------------------------------------------------------------------------------------

// Products of fours that 16 bits can add up: 2 * 15 * 127 * 8, 2 * 31 * 127 * 4 and 2 * 63 * 127 * 2 are below 2^15.
static CEL_ALWAYS_INLINE int run_of(int bits) { return bits <= 4 ? 8 : bits == 5 ? 4 : 2; }

static CEL_ALWAYS_INLINE ints add_four(ints d, __m256i low, __m256i high, int32_t x) {
  __m256i four = _mm256_set1_epi32(x);
  return (ints){settled(_mm256_add_epi16(d.low, _mm256_maddubs_epi16(low, four))),
                settled(_mm256_add_epi16(d.high, _mm256_maddubs_epi16(high, four)))};
}

// Sums of 16 bits join those of 32.
static CEL_ALWAYS_INLINE ints join(ints d, ints run, bool first) {
  const __m256i one = _mm256_set1_epi16(1);
  __m256i low = _mm256_madd_epi16(run.low, one), high = _mm256_madd_epi16(run.high, one);
  if (first) return (ints){low, high};
  return (ints){settled(_mm256_add_epi32(d.low, low)), settled(_mm256_add_epi32(d.high, high))};
}

static CEL_ALWAYS_INLINE void close_unit(cel_panel_shape f, ints d, const cel_panel_token *x, int half, const float *s,
                                         const float *b, sums *acc) {
  if (f.offset) {
    const __m256i less = _mm256_set1_epi32(cel_panel_excess(f, x, half));
    d = (ints){_mm256_sub_epi32(d.low, less), _mm256_sub_epi32(d.high, less)};
  }
  add_product(d, x, half, s, b, f.bias, acc);
}

// Up to four tokens where one run makes the unit, else two: there are 16 registers.
static CEL_ALWAYS_INLINE void add_unit_bytes(cel_panel_shape f, const uint8_t *q, const float *s, const float *b,
                                             const cel_panel_token *x, int half, int n, sums *acc) {
  const int fours = f.unit / 4 / f.halves, run = CEL_MIN(run_of(f.bits), fours);
  const __m256i zero = _mm256_setzero_si256();
  ints d0 = {zero, zero}, d1 = d0, d2 = d0, d3 = d0;
  for (int first = 0; first < fours; first += run) {
    ints r0 = {zero, zero}, r1 = r0, r2 = r0, r3 = r0;
    CEL_UNROLLED(8)
    for (int i = 0; i < run; i++) {
      const int at = cel_panel_entry(f.halves, half, first + i);
      const __m256i low = load_i(q + (first + i) * 4 * ROWS), high = load_i(q + (first + i) * 4 * ROWS + 32);
      r0 = add_four(r0, low, high, x[0].x[at]);
      if (n > 1) r1 = add_four(r1, low, high, x[1].x[at]);
      if (n > 2) r2 = add_four(r2, low, high, x[2].x[at]);
      if (n > 3) r3 = add_four(r3, low, high, x[3].x[at]);
    }
    d0 = join(d0, r0, first == 0);
    if (n > 1) d1 = join(d1, r1, first == 0);
    if (n > 2) d2 = join(d2, r2, first == 0);
    if (n > 3) d3 = join(d3, r3, first == 0);
  }
  close_unit(f, d0, &x[0], half, s, b, &acc[0]);
  if (n > 1) close_unit(f, d1, &x[1], half, s, b, &acc[1]);
  if (n > 2) close_unit(f, d2, &x[2], half, s, b, &acc[2]);
  if (n > 3) close_unit(f, d3, &x[3], half, s, b, &acc[3]);
}

// ---- tiles ------------------------------------------------------------------------------------------

static CEL_ALWAYS_INLINE void add_half(cel_panel_shape f, const cel_panel *p, int64_t u, int half, const cel_panel_token *x,
                                       int n, sums *acc) {
  const int64_t at = u * f.unit * ROWS + half * (f.unit / f.halves) * ROWS;
  const float *s = p->s + (u * f.halves + half) * ROWS, *b = p->b + (u * f.halves + half) * ROWS;
  if (!f.bits) {
    add_unit(f, p->u.words + at, s, b, x, half, n, acc);
  } else if (n <= 2 || f.unit / 4 / f.halves <= run_of(f.bits)) {
    add_unit_bytes(f, p->u.bytes + at, s, b, x, half, n, acc);
  } else {
    add_unit_bytes(f, p->u.bytes + at, s, b, x, half, 2, acc);
    add_unit_bytes(f, p->u.bytes + at, s, b, x + 2, half, 2, acc + 2);
  }
}

static CEL_ALWAYS_INLINE void load_sums(const cel_panel_tile *g, int n, sums *acc) {
  const __m256 zero = _mm256_setzero_ps();
  for (int t = 0; t < n; t++) {
    const float *y = g->y + t * g->y_stride;
    acc[t] = g->first ? (sums){zero, zero} : (sums){load_first(y, g->rows), load_first(y + 8, g->rows - 8)};
  }
}

static CEL_ALWAYS_INLINE void store_sums(const cel_panel_tile *g, int n, const sums *acc) {
  for (int t = 0; t < n; t++) {
    float *y = g->y + t * g->y_stride;
    store_first(y, g->rows, acc[t].low);
    store_first(y + 8, g->rows - 8, acc[t].high);
  }
}

// n tokens against the whole panel.
static CEL_ALWAYS_INLINE void tile(const cel_panel_tile *g, cel_panel_shape f, int n) {
  sums acc[TOKENS];
  cel_panel_token x[TOKENS];
  cel_panel_tokens(g, n, x);
  load_sums(g, n, acc);
  for (int64_t u = 0; u < g->units; u++) {
    for (int h = 0; h < f.halves; h++) add_half(f, g->panel, u, h, x, n, acc);
    cel_panel_next_unit(g, f, n, x);
  }
  store_sums(g, n, acc);
}

#define TILE_TOKENS 4
#include "backend/xla/engine/native/kernel/panel_tiles.h"

#define CEL_PANEL(name, ...) \
  static CEL_NOINLINE void name(const cel_panel_tile *t, int64_t n) { tiles(*t, (cel_panel_shape){__VA_ARGS__}, n); }
#include "backend/xla/engine/native/kernel/x86_panel.def"
#undef CEL_PANEL

cel_panel_multiply *const cel_avx2_panels[CEL_PANEL_KINDS] = {
#define CEL_PANEL(name, ...) [CEL_PANEL_##name] = name,
#include "backend/xla/engine/native/kernel/x86_panel.def"
#undef CEL_PANEL
};

#endif
