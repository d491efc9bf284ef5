// Template: linear kernels on quantized weights in 16 lanes, compiled with and without the fused dot product.
// The including file defines NAME(kernel) and add_dot(acc, a, b): acc + pairwise dot of 16-bit integers.
//
// As in linear.h, but a vector holds 32 positions: acc and d have 16 lanes (position p of 32 in lane p / 2),
// folded to eight (l and l + 8) at the end, where the bias sums join in. The file's bytes are unpacked with the
// eight-lane code, except where wider registers do it in fewer steps.
#include "backend/xla/engine/native/kernel/x86_avx2_linear.h"

enum { TILE_ROWS = 4, TILE_TOKENS = 4 };

static CEL_ALWAYS_INLINE __m512i load64(const void *p) { return _mm512_loadu_si512(p); }
static CEL_ALWAYS_INLINE __m512i join(__m256i low, __m256i high) {
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}
static CEL_ALWAYS_INLINE __m512i set512(int v) { return _mm512_set1_epi16((short)v); }
// Four shift counts, one for each 128 bits.
static CEL_ALWAYS_INLINE __m512i counts(int a, int b, int c, int d) {
  const int k = 0x10001;
  return _mm512_setr_epi32(a * k, a * k, a * k, a * k, b * k, b * k, b * k, b * k, c * k, c * k, c * k, c * k, d * k,
                           d * k, d * k, d * k);
}
static CEL_ALWAYS_INLINE __m512i nibbles32(const uint8_t *p) {
  __m512i v = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)p));
  return _mm512_and_si512(_mm512_srlv_epi16(v, counts(0, 4, 8, 12)), set512(15));
}

static CEL_ALWAYS_INLINE void unpack512(lin_kind f, const uint8_t *b, int k, bool whole, __m512i *q) {
  const uint8_t *block = b + k * block_bytes_of(f);
  __m256i half[4];
  if (f == K_Q4_0) {
    q[0] = _mm512_sub_epi16(nibbles32(block + 2), set512(8));
  } else if (f == K_Q4_1) {
    q[0] = nibbles32(block + 4);
  } else if (unit_of(f) == 64) {
    const uint8_t *p = b + 32 * k;
    __m512i v = _mm512_broadcast_i64x4(whole ? load32(p) : _mm256_zextsi128_si256(_mm_loadu_si128((const void *)p)));
    q[0] = _mm512_and_si512(_mm512_srlv_epi16(v, counts(0, 0, 4, 4)), set512(15));
    q[1] = _mm512_and_si512(_mm512_srlv_epi16(v, counts(8, 8, 12, 12)), set512(15));
  } else {
    unpack_unit(f, b, k, whole, half);
    q[0] = join(half[0], half[1]);
  }
}

static CEL_ALWAYS_INLINE __m512 scale512(int halves, const float *prod, int k) {
  if (halves == 1) return _mm512_set1_ps(prod[k]);
  __m256 pair = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_broadcast_ss(prod + 2 * k)),
                                     _mm_broadcast_ss(prod + 2 * k + 1), 1);
  return _mm512_castpd_ps(_mm512_broadcast_f64x4(_mm256_castps_pd(pair)));
}

static CEL_ALWAYS_INLINE float finish512(__m512 acc, __m256 bacc) {
  __m256 high = _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(acc), 1));
  return reduce8(_mm256_add_ps(_mm256_add_ps(_mm512_castps512_ps256(acc), high), bacc));
}

static CEL_ALWAYS_INLINE void products(int halves, const float *s, const float *xs, float *prod) {
  __m256 x = _mm256_loadu_ps(xs);
  if (halves == 1) {
    _mm256_storeu_ps(prod, _mm256_mul_ps(_mm256_loadu_ps(s), x));
    return;
  }
  __m256 low = _mm256_permutevar8x32_ps(x, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
  __m256 high = _mm256_permutevar8x32_ps(x, _mm256_setr_epi32(4, 4, 5, 5, 6, 6, 7, 7));
  _mm256_storeu_ps(prod, _mm256_mul_ps(_mm256_loadu_ps(s), low));
  _mm256_storeu_ps(prod + 8, _mm256_mul_ps(_mm256_loadu_ps(s + 8), high));
}

static CEL_ALWAYS_INLINE __m256 bias_sum(int halves, const float *b, const float *xsum, __m256 bacc) {
  for (int h = 0; h < halves; h++)
    bacc = _mm256_fmadd_ps(_mm256_loadu_ps(b + 8 * h), _mm256_loadu_ps(xsum + 8 * h), bacc);
  return bacc;
}

static CEL_ALWAYS_INLINE bool whole_unit(lin_kind f, const cel_linear *w, int64_t u) {
  return f != K_AFFINE4_G32 || (u + 1) * 64 <= w->cols;
}

// ---- one token --------------------------------------------------------------------------------------

static CEL_ALWAYS_INLINE __m256 scale_row(lin_kind f, const cel_linear *w, int64_t row, const float *xs,
                                          const float *xsum, float *prod) {
  const int halves = halves_of(f);
  const int64_t units = cel_lin_units(w);
  const uint8_t *p = w->w + row * w->w_row_bytes;
  __m256 bacc = _mm256_setzero_ps();
  for (int64_t u0 = 0; u0 < units; u0 += CEL_LIN_BATCH, p += batch_bytes_of(f)) {
    float s[16], b[16];
    batch_scales(f, w, p, row, u0, CEL_MIN(CEL_LIN_BATCH, units - u0), s, b);
    products(halves, s, xs + u0, prod + u0 * halves);
    if (biased(f)) bacc = bias_sum(halves, b, xsum + u0 * halves, bacc);
  }
  return bacc;
}

static CEL_ALWAYS_INLINE __m512 add_unit(lin_kind f, const uint8_t *p, int k, bool whole, const int16_t *x,
                                         const float *prod, __m512 acc) {
  __m512i q[2];
  unpack512(f, p, k, whole, q);
  __m512i d = _mm512_madd_epi16(q[0], load64(x));
  if (unit_of(f) == 64) d = add_dot(d, q[1], load64(x + 32));
  return _mm512_fmadd_ps(_mm512_cvtepi32_ps(d), scale512(halves_of(f), prod, k), acc);
}

static CEL_ALWAYS_INLINE void gemv_rows(lin_kind f, const cel_linear *w, const uint8_t *packed, float *y, int64_t row,
                                        int n_rows, float *prod) {
  const int unit = unit_of(f), halves = halves_of(f);
  const float *xs = (const void *)(packed + cel_lin_scales_at(w)), *xsum = (const void *)(packed + cel_lin_sums_at(w));
  const int64_t units = cel_lin_units(w), step = w->w_row_bytes, width = cel_lin_round(units, CEL_LIN_BATCH) * halves;
  const uint8_t *p = w->w + row * step;
  const int16_t *x = (const void *)packed;
  __m512 acc[2];
  __m256 bacc[2];
  for (int r = 0; r < n_rows; r++) {
    acc[r] = _mm512_setzero_ps();
    bacc[r] = scale_row(f, w, row + r, xs, xsum, prod + r * width);
  }
  int64_t u0 = 0;
  for (; u0 + CEL_LIN_BATCH <= units; u0 += CEL_LIN_BATCH, p += batch_bytes_of(f), x += CEL_LIN_BATCH * unit) {
    for (int r = 0; r < n_rows; r++)
      for (int line = 0; line < batch_bytes_of(f); line += 64)
        _mm_prefetch((const char *)p + (r + n_rows) * step + line, _MM_HINT_T0);
#pragma GCC unroll 8
    for (int k = 0; k < CEL_LIN_BATCH; k++)
      for (int r = 0; r < n_rows; r++)
        acc[r] = add_unit(f, p + r * step, k, whole_unit(f, w, u0 + k), x + k * unit, prod + r * width + u0 * halves, acc[r]);
  }
  for (int k = 0; k < units - u0; k++)
    for (int r = 0; r < n_rows; r++)
      acc[r] = add_unit(f, p + r * step, k, whole_unit(f, w, u0 + k), x + k * unit, prod + r * width + u0 * halves, acc[r]);
  for (int r = 0; r < n_rows; r++) y[row + r] = finish512(acc[r], bacc[r]);
}

static CEL_ALWAYS_INLINE void gemv(lin_kind f, const cel_linear *w, const uint8_t *packed, float *y, int64_t begin,
                                   int64_t end, float *prod) {
  int64_t r = begin;
  for (; r + 2 <= end; r += 2) gemv_rows(f, w, packed, y, r, 2, prod);
  for (; r < end; r++) gemv_rows(f, w, packed, y, r, 1, prod);
}

// ---- many tokens ------------------------------------------------------------------------------------

static CEL_ALWAYS_INLINE void unpack_row(lin_kind f, const cel_linear *w, int64_t row, uint8_t *out) {
  const int unit = unit_of(f), halves = halves_of(f);
  const int64_t units = cel_lin_units(w);
  const uint8_t *p = w->w + row * w->w_row_bytes;
  float *s = (float *)(void *)(out + cel_lin_row_scales_at(w)), *b = (float *)(void *)(out + cel_lin_row_biases_at(w));
  for (int64_t u0 = 0; u0 < units; u0 += CEL_LIN_BATCH, p += batch_bytes_of(f)) {
    int n = (int)CEL_MIN(CEL_LIN_BATCH, units - u0);
    batch_scales(f, w, p, row, u0, n, s + u0 * halves, b + u0 * halves);
#pragma GCC unroll 8
    for (int k = 0; k < CEL_LIN_BATCH; k++) {
      if (k >= n) break;
      __m512i q[2];
      unpack512(f, p, k, whole_unit(f, w, u0 + k), q);
      for (int v = 0; v < unit / 32; v++) _mm512_storeu_si512(out + ((u0 + k) * unit + 32 * v) * 2, q[v]);
    }
  }
}

typedef struct tile {
  const cel_linear *w;
  const uint8_t *rows, *tokens;
  int64_t row_stride, token_stride;
  float *y;
  int64_t y_stride;
} tile;

static CEL_ALWAYS_INLINE void tile_mul(const tile *g, int unit, int halves, bool bias, int n_rows, int n_tokens) {
  const int64_t units = cel_lin_units(g->w), scales = cel_lin_scales_at(g->w), sums = cel_lin_sums_at(g->w);
  const int64_t biases = cel_lin_row_biases_at(g->w);
  __m512 acc[TILE_ROWS][TILE_TOKENS];
  for (int r = 0; r < n_rows; r++)
    for (int t = 0; t < n_tokens; t++) acc[r][t] = _mm512_setzero_ps();
  for (int64_t u0 = 0; u0 < units; u0 += CEL_LIN_BATCH) {
    float prod[TILE_ROWS][TILE_TOKENS][16];
    int n = (int)CEL_MIN(CEL_LIN_BATCH, units - u0);
    for (int r = 0; r < n_rows; r++)
      for (int t = 0; t < n_tokens; t++)
        products(halves, (const float *)(const void *)(g->rows + r * g->row_stride + scales) + u0 * halves,
                 (const float *)(const void *)(g->tokens + t * g->token_stride + scales) + u0, prod[r][t]);
    for (int k = 0; k < n; k++) {
      const int64_t at = (u0 + k) * unit * 2;
      __m512i q[TILE_ROWS][2];
      for (int r = 0; r < n_rows; r++)
        for (int v = 0; v < unit / 32; v++) q[r][v] = load64(g->rows + r * g->row_stride + at + 64 * v);
      for (int t = 0; t < n_tokens; t++) {
        const uint8_t *x = g->tokens + t * g->token_stride + at;
        for (int r = 0; r < n_rows; r++) {
          __m512i d = _mm512_madd_epi16(q[r][0], load64(x));
          if (unit == 64) d = add_dot(d, q[r][1], load64(x + 64));
          acc[r][t] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(d), scale512(halves, prod[r][t], k), acc[r][t]);
        }
      }
    }
  }
  for (int r = 0; r < n_rows; r++)
    for (int t = 0; t < n_tokens; t++) {
      __m256 bacc = _mm256_setzero_ps();
      const float *b = (const void *)(g->rows + r * g->row_stride + biases);
      const float *xsum = (const void *)(g->tokens + t * g->token_stride + sums);
      for (int64_t j = 0; bias && j < units * halves; j += 8 * halves) bacc = bias_sum(halves, b + j, xsum + j, bacc);
      g->y[t * g->y_stride + r] = finish512(acc[r][t], bacc);
    }
}

static CEL_ALWAYS_INLINE void tile_rows(tile g, int unit, int halves, bool bias, int n_rows, int64_t n_tokens) {
  for (; n_tokens >= TILE_TOKENS; n_tokens -= TILE_TOKENS) {
    tile_mul(&g, unit, halves, bias, n_rows, TILE_TOKENS);
    g.tokens += TILE_TOKENS * g.token_stride;
    g.y += TILE_TOKENS * g.y_stride;
  }
  for (; n_tokens > 0; n_tokens--) {
    tile_mul(&g, unit, halves, bias, n_rows, 1);
    g.tokens += g.token_stride;
    g.y += g.y_stride;
  }
}

static CEL_ALWAYS_INLINE void panel_mul(tile g, int unit, int halves, bool bias, int64_t n_rows, int64_t n_tokens) {
  for (; n_rows >= TILE_ROWS; n_rows -= TILE_ROWS) {
    tile_rows(g, unit, halves, bias, TILE_ROWS, n_tokens);
    g.rows += TILE_ROWS * g.row_stride;
    g.y += TILE_ROWS;
  }
  for (; n_rows > 0; n_rows--) {
    tile_rows(g, unit, halves, bias, 1, n_tokens);
    g.rows += g.row_stride;
    g.y++;
  }
}

#define PANEL(name, unit, halves, bias)                                                     \
  static CEL_NOINLINE void name(const tile *g, int64_t n_rows, int64_t n_tokens) {          \
    panel_mul(*g, unit, halves, bias, n_rows, n_tokens);                                    \
  }
PANEL(panel32, 32, 1, false)
PANEL(panel32_bias, 32, 1, true)
PANEL(panel32_halves, 32, 2, false)
PANEL(panel64, 64, 1, true)
PANEL(panel64_halves, 64, 2, true)
#undef PANEL

static CEL_ALWAYS_INLINE void panel(lin_kind f, const tile *g, int64_t n_rows, int64_t n_tokens) {
  if (f == K_AFFINE4) panel64(g, n_rows, n_tokens);
  else if (f == K_AFFINE4_G32) panel64_halves(g, n_rows, n_tokens);
  else if (f == K_Q6_K) panel32_halves(g, n_rows, n_tokens);
  else if (biased(f)) panel32_bias(g, n_rows, n_tokens);
  else panel32(g, n_rows, n_tokens);
}

static CEL_ALWAYS_INLINE void mul(lin_kind f, const cel_linear *w, const uint8_t *packed, int64_t pack_stride,
                                  int64_t n_tokens, float *y, int64_t y_stride, int64_t begin, int64_t end,
                                  uint8_t *scratch) {
  enum { CACHE = 512 * 1024 };
  if (n_tokens == 1) {
    gemv(f, w, packed, y, begin, end, (float *)(void *)scratch);
    return;
  }
  const int64_t stride = cel_lin_row_stride(w), block = CEL_MAX(16, CACHE / cel_linear_pack_bytes(w) / 4 * 4);
  for (int64_t t = 0; t < n_tokens; t += block)
    for (int64_t r = begin; r < end; r += CEL_LIN_PANEL_I16) {
      int64_t rows = CEL_MIN(CEL_LIN_PANEL_I16, end - r);
      for (int64_t i = 0; i < rows; i++) unpack_row(f, w, r + i, scratch + i * stride);
      tile g = {w, scratch, packed + t * pack_stride, stride, pack_stride, y + t * y_stride + r, y_stride};
      panel(f, &g, rows, CEL_MIN(block, n_tokens - t));
    }
}

void NAME(linear_mul)(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens, float *y,
                      int64_t y_stride, int64_t row_begin, int64_t row_end, void *scratch) {
  if (!cel_lin_integers(w)) {
    cel_avx2_linear_mul_f32(w, packed, pack_stride, n_tokens, y, y_stride, row_begin, row_end, scratch);
    return;
  }
  switch (cel_lin_bytes(w) ? LIN_KINDS : kind_of(w)) {  // bytes are AVX2's
#define KIND(f) \
  case f: mul(f, w, packed, pack_stride, n_tokens, y, y_stride, row_begin, row_end, scratch); break;
    KIND(K_Q4_0) KIND(K_Q4_1) KIND(K_Q5_0) KIND(K_Q5_1) KIND(K_Q8_0) KIND(K_Q4_K) KIND(K_Q5_K) KIND(K_Q6_K)
    KIND(K_AFFINE8) KIND(K_AFFINE4) KIND(K_AFFINE4_G32)
#undef KIND
    default: cel_avx2_linear_mul(w, packed, pack_stride, n_tokens, y, y_stride, row_begin, row_end, scratch);
  }
}
