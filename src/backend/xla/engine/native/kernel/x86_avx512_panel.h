// Template: a panel of sixteen rows in one vector, up to eight tokens at a time, compiled with and without the fused dot
// products. The including file defines NAME(kernel), add_words(d, w, x): d + dot products of pairs of 16-bit integers, and
// add_bytes(d, w, x): d + dot products of fours of unsigned and signed bytes. Everything else is that of AVX2.
#include "backend/xla/engine/native/kernel/x86_avx2_vec.h"
#include "backend/xla/engine/native/kernel/x86_panel.h"

enum { TOKENS = 8 };

static CEL_ALWAYS_INLINE __m512i load64(const void *p) { return _mm512_loadu_si512(p); }
static CEL_ALWAYS_INLINE __m512 both(__m256 low, __m256 high) {
  return _mm512_castpd_ps(_mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_castps_pd(low)), _mm256_castps_pd(high), 1));
}

static CEL_ALWAYS_INLINE __m512i add_entry(cel_panel_shape f, __m512i d, __m512i w, int32_t x) {
  const __m512i all = _mm512_set1_epi32(x);
  return f.bits ? add_bytes(d, w, all) : add_words(d, w, all);
}

// One unit or half of it: the sum goes on by its product and bias.
static CEL_ALWAYS_INLINE void close_unit(cel_panel_shape f, __m512i d, const cel_panel_token *x, int half, const float *s,
                                         const float *b, __m512 *acc) {
  if (f.offset) d = _mm512_sub_epi32(d, _mm512_set1_epi32(cel_panel_excess(f, x, half)));
  const __m512 scale = _mm512_mul_ps(_mm512_loadu_ps(s), _mm512_set1_ps(*x->s));
  *acc = _mm512_fmadd_ps(_mm512_cvtepi32_ps(d), scale, *acc);
  if (f.bias) *acc = _mm512_fmadd_ps(_mm512_loadu_ps(b), _mm512_set1_ps(x->sum[half]), *acc);
}

// Named sums, not an array: compilers then keep them in registers.
#define EACH(do) do(0) do(1) do(2) do(3) do(4) do(5) do(6) do(7)
#define ADD(t) \
  if (n > t) d##t = add_entry(f, d##t, w, x[t].x[at]);
#define CLOSE(t) \
  if (n > t) close_unit(f, d##t, &x[t], half, s, b, &acc[t]);

static CEL_ALWAYS_INLINE void add_half(cel_panel_shape f, const cel_panel *p, int64_t u, int half, const cel_panel_token *x,
                                       int n, __m512 *acc) {
  const int entries = f.unit / (f.bits ? 4 : 2) / f.halves, bytes = f.unit * (f.bits ? 1 : 2) * CEL_PANEL_ROWS;
  const uint8_t *q = p->u.bytes + u * bytes + half * (bytes / f.halves);
  const float *s = p->s + (u * f.halves + half) * CEL_PANEL_ROWS, *b = p->b + (u * f.halves + half) * CEL_PANEL_ROWS;
  const __m512i zero = _mm512_setzero_si512();
  __m512i d0 = zero, d1 = zero, d2 = zero, d3 = zero, d4 = zero, d5 = zero, d6 = zero, d7 = zero;
  CEL_UNROLLED(32)
  for (int i = 0; i < entries; i++) {
    const int at = cel_panel_entry(f.halves, half, i);
    const __m512i w = load64(q + i * 4 * CEL_PANEL_ROWS);
    EACH(ADD)
  }
  EACH(CLOSE)
}

static CEL_ALWAYS_INLINE void tile(const cel_panel_tile *g, cel_panel_shape f, int n) {
  __m512 acc[TOKENS];
  cel_panel_token x[TOKENS];
  cel_panel_tokens(g, n, x);
  for (int t = 0; t < n; t++) {
    const float *y = g->y + t * g->y_stride;
    acc[t] = g->first ? _mm512_setzero_ps() : both(load_first(y, g->rows), load_first(y + 8, g->rows - 8));
  }
  for (int64_t u = 0; u < g->units; u++) {
    for (int h = 0; h < f.halves; h++) add_half(f, g->panel, u, h, x, n, acc);
    cel_panel_next_unit(g, f, n, x);
  }
  for (int t = 0; t < n; t++) {
    float *y = g->y + t * g->y_stride;
    store_first(y, g->rows, _mm512_castps512_ps256(acc[t]));
    store_first(y + 8, g->rows - 8, _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(acc[t]), 1)));
  }
}

#define TILE_TOKENS 8
#include "backend/xla/engine/native/kernel/panel_tiles.h"

#define CEL_PANEL(name, ...) \
  static CEL_NOINLINE void name(const cel_panel_tile *t, int64_t n) { tiles(*t, (cel_panel_shape){__VA_ARGS__}, n); }
#include "backend/xla/engine/native/kernel/x86_panel.def"
#undef CEL_PANEL

void NAME(linear_mul)(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens, float *y,
                      int64_t y_stride, int64_t row_begin, int64_t row_end, void *scratch) {
  static cel_panel_multiply *const panels[CEL_PANEL_KINDS] = {
#define CEL_PANEL(name, ...) [CEL_PANEL_##name] = name,
#include "backend/xla/engine/native/kernel/x86_panel.def"
#undef CEL_PANEL
  };
  cel_avx2_linear_mul_panels(w, packed, pack_stride, n_tokens, y, y_stride, row_begin, row_end, panels, scratch);
}
