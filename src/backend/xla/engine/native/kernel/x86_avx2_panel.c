// AVX2: unpacked rows against packed tokens, four tokens and sixteen rows at a time.
#include "backend/xla/engine/native/kernel/kernel.h"

#if defined(__x86_64__)
#include "backend/xla/engine/native/kernel/linear.h"
#include "backend/xla/engine/native/kernel/x86_avx2_panel.h"
#include "backend/xla/engine/native/kernel/x86_avx2_vec.h"

enum { ROWS = CEL_AVX2_PANEL_ROWS, TOKENS = 4 };

// What one token needs of the packed row, from the unit at hand on.
typedef struct token {
  const int32_t *x;  // pairs
  const float *s, *sum;
} token;

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
static CEL_ALWAYS_INLINE void add_product(ints d, const token *x, int half, const float *s, const float *b, bool bias, sums *acc) {
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

// A unit, or one half of it (four of each eight pairs), of n tokens.
static CEL_ALWAYS_INLINE void add_unit(const int16_t *q, const float *s, const float *b, const token *x, int unit, int halves,
                                       int half, bool bias, int n, sums *acc) {
  const __m256i zero = _mm256_setzero_si256();
  ints d0 = {zero, zero}, d1 = d0, d2 = d0, d3 = d0;
#pragma GCC unroll 32
  for (int i = 0; i < unit / 2 / halves; i++) {
    const int at = halves == 1 ? i : i / 4 * 8 + 4 * half + i % 4;
    const __m256i low = load_i(q + i * 2 * ROWS), high = load_i(q + i * 2 * ROWS + 16);
    d0 = add_pair(d0, low, high, x[0].x[at]);
    if (n > 1) d1 = add_pair(d1, low, high, x[1].x[at]);
    if (n > 2) d2 = add_pair(d2, low, high, x[2].x[at]);
    if (n > 3) d3 = add_pair(d3, low, high, x[3].x[at]);
  }
  add_product(d0, &x[0], half, s, b, bias, &acc[0]);
  if (n > 1) add_product(d1, &x[1], half, s, b, bias, &acc[1]);
  if (n > 2) add_product(d2, &x[2], half, s, b, bias, &acc[2]);
  if (n > 3) add_product(d3, &x[3], half, s, b, bias, &acc[3]);
}

static CEL_ALWAYS_INLINE void load_sums(const cel_avx2_tile *g, int n, sums *acc) {
  const __m256 zero = _mm256_setzero_ps();
  for (int t = 0; t < n; t++) {
    const float *y = g->y + t * g->y_stride;
    acc[t] = g->first ? (sums){zero, zero} : (sums){load_first(y, g->rows), load_first(y + 8, g->rows - 8)};
  }
}

static CEL_ALWAYS_INLINE void store_sums(const cel_avx2_tile *g, int n, const sums *acc) {
  for (int t = 0; t < n; t++) {
    float *y = g->y + t * g->y_stride;
    store_first(y, g->rows, acc[t].low);
    store_first(y + 8, g->rows - 8, acc[t].high);
  }
}

// n tokens against the whole panel.
static CEL_ALWAYS_INLINE void tile(const cel_avx2_tile *g, int unit, int halves, bool bias, int n) {
  const int16_t *q = g->panel->q;
  const float *s = g->panel->s, *b = g->panel->b;
  sums acc[TOKENS];
  token x[TOKENS];
  for (int t = 0; t < n; t++)
    x[t] = (token){(const void *)(g->x + t * g->x_stride), (const void *)(g->xs + t * g->x_stride),
                   (const void *)(g->xsum + t * g->x_stride)};
  load_sums(g, n, acc);
  for (int64_t u = 0; u < g->units; u++) {
    for (int h = 0; h < halves; h++, q += unit / halves * ROWS, s += ROWS, b += ROWS)
      add_unit(q, s, b, x, unit, halves, h, bias, n, acc);
    for (int t = 0; t < n; t++) {
      x[t].x += unit / 2;
      x[t].s++;
      x[t].sum += halves;
    }
  }
  store_sums(g, n, acc);
}

static CEL_ALWAYS_INLINE void tiles(cel_avx2_tile g, int unit, int halves, bool bias, int64_t n) {
  int step;
  for (; n > 0; n -= step, g.y += step * g.y_stride, g.x += step * g.x_stride, g.xs += step * g.x_stride,
                g.xsum += step * g.x_stride) {
    step = n >= 4 ? 4 : n >= 2 ? 2 : 1;
    if (step == 4) tile(&g, unit, halves, bias, 4);
    else if (step == 2) tile(&g, unit, halves, bias, 2);
    else tile(&g, unit, halves, bias, 1);
  }
}

void cel_avx2_panel32(const cel_avx2_tile *t, int64_t n) { tiles(*t, 32, 1, false, n); }
void cel_avx2_panel32_bias(const cel_avx2_tile *t, int64_t n) { tiles(*t, 32, 1, true, n); }
void cel_avx2_panel32_halves(const cel_avx2_tile *t, int64_t n) { tiles(*t, 32, 2, false, n); }
void cel_avx2_panel32_halves_bias(const cel_avx2_tile *t, int64_t n) { tiles(*t, 32, 2, true, n); }
void cel_avx2_panel64(const cel_avx2_tile *t, int64_t n) { tiles(*t, 64, 1, true, n); }
void cel_avx2_panel64_halves(const cel_avx2_tile *t, int64_t n) { tiles(*t, 64, 2, true, n); }

#endif
