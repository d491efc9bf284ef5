// AVX2: the linear kernels in f32: plain weights, and quantized ones widened. The sums are those of linear.h.
#include "backend/xla/engine/native/kernel/kernel.h"

#if defined(__x86_64__)
#include "backend/xla/engine/native/kernel/x86_avx2.h"
#include "backend/xla/engine/native/kernel/x86_avx2_linear.h"
#include "backend/xla/engine/native/kernel/wide_tile.h"

// Eight plain weights, the last n < 8 of a row with zeros behind them.
static CEL_ALWAYS_INLINE __m256 load_last(const uint8_t *p, int type, int64_t n) {
  uint8_t rest[32] = {0};
  memcpy(rest, p, (size_t)n * (type == CEL_LIN_F32 ? 4 : 2));
  return load_floats8(rest, type);
}

// Rows straight from the file, one token.
static CEL_ALWAYS_INLINE void gemv_plain(const cel_linear *w, int type, const float *x, float *y, int64_t row,
                                         int n_rows) {
  const int bytes = type == CEL_LIN_F32 ? 4 : 2;
  const int64_t step = w->w_row_bytes, whole = w->cols / 8 * 8;
  const uint8_t *p = w->w + row * step;
  __m256 acc[4];
  for (int r = 0; r < n_rows; r++) acc[r] = _mm256_setzero_ps();
  for (int64_t i = 0; i < whole; i += 8) {
    __m256 v = _mm256_loadu_ps(x + i);
    for (int line = 0; line < 8 * bytes * n_rows; line += 64)  // a share of the rows behind these, as they lie
      _mm_prefetch((const char *)p + n_rows * step + i * bytes * n_rows + line, _MM_HINT_T0);
    for (int r = 0; r < n_rows; r++) acc[r] = _mm256_fmadd_ps(load_floats8(p + r * step + i * bytes, type), v, acc[r]);
  }
  if (whole < w->cols)
    for (int r = 0; r < n_rows; r++)
      acc[r] = _mm256_fmadd_ps(load_last(p + r * step + whole * bytes, type, w->cols - whole),
                               _mm256_loadu_ps(x + whole), acc[r]);
  for (int r = 0; r < n_rows; r++) y[row + r] = reduce8(acc[r]);
}

// Up to a multiple of 8, zeros behind the end.
static CEL_ALWAYS_INLINE void widen_plain(const cel_linear *w, int type, cel_wide_part part, float *out) {
  const int bytes = type == CEL_LIN_F32 ? 4 : 2;
  const uint8_t *p = w->w + part.row * w->w_row_bytes + part.u * 8 * bytes;
  const int64_t n = CEL_MIN(part.n * 8, w->cols - part.u * 8);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(out + i, load_floats8(p + i * bytes, type));
  if (i < n) _mm256_storeu_ps(out + i, load_last(p + i * bytes, type, n - i));
}

// A unit by position: 8 positions belong to one half each.
static CEL_ALWAYS_INLINE void widen_unit(lin_kind f, const __m256i *q, const float *s, const float *b, float *out) {
  for (int v = 0; v < unit_of(f) / 16; v++)
    for (int h = 0; h < 2; h++) {
      int at = halves_of(f) == 2 ? h : 0;
      __m128i half = h ? _mm256_extracti128_si256(q[v], 1) : _mm256_castsi256_si128(q[v]);
      __m256 x = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(half)), set8(s[at]));
      if (biased(f)) x = _mm256_add_ps(x, set8(b[at]));
      _mm256_storeu_ps(out + 16 * v + 8 * h, x);
    }
}

// A unit by position to one by element: 16 lanes of each of its two or four 16ths are interleaved.
static CEL_ALWAYS_INLINE void order_unit(int unit, const float *t, float *out) {
  for (int j = 0; j < 16; j += 8) {
    __m256 a = _mm256_loadu_ps(t + j), b = _mm256_loadu_ps(t + 16 + j);
    __m256 low = _mm256_unpacklo_ps(a, b), high = _mm256_unpackhi_ps(a, b);
    if (unit == 32) {
      _mm256_storeu_ps(out + 2 * j, _mm256_permute2f128_ps(low, high, 0x20));
      _mm256_storeu_ps(out + 2 * j + 8, _mm256_permute2f128_ps(low, high, 0x31));
      continue;
    }
    __m256 c = _mm256_loadu_ps(t + 32 + j), d = _mm256_loadu_ps(t + 48 + j);
    __m256 low2 = _mm256_unpacklo_ps(c, d), high2 = _mm256_unpackhi_ps(c, d);
    __m256 p0 = _mm256_shuffle_ps(low, low2, 0x44), p1 = _mm256_shuffle_ps(low, low2, 0xEE);
    __m256 p2 = _mm256_shuffle_ps(high, high2, 0x44), p3 = _mm256_shuffle_ps(high, high2, 0xEE);
    _mm256_storeu_ps(out + 4 * j, _mm256_permute2f128_ps(p0, p1, 0x20));
    _mm256_storeu_ps(out + 4 * j + 8, _mm256_permute2f128_ps(p2, p3, 0x20));
    _mm256_storeu_ps(out + 4 * j + 16, _mm256_permute2f128_ps(p0, p1, 0x31));
    _mm256_storeu_ps(out + 4 * j + 24, _mm256_permute2f128_ps(p2, p3, 0x31));
  }
}

// In the order of elements, cols of them.
static CEL_ALWAYS_INLINE void widen_ordered(lin_kind f, const cel_linear *w, int64_t row, float *out) {
  const int64_t units = cel_lin_units(w), unit = unit_of(f);
  const uint8_t *p = w->w + row * w->w_row_bytes;
  for (int64_t u0 = 0; u0 < units; u0 += CEL_LIN_BATCH, p += batch_bytes_of(f)) {
    int n = (int)CEL_MIN(CEL_LIN_BATCH, units - u0);
    float s[16], b[16], t[CEL_LIN_UNIT_MAX], last[CEL_LIN_UNIT_MAX];
    batch_scales(f, w, p, row, u0, n, s, b);
    for (int k = 0; k < n; k++) {
      __m256i q[4];
      int64_t at = (u0 + k) * unit, left = w->cols - at;
      unpack_unit(f, p, k, is_whole(f, w, u0 + k), q);
      widen_unit(f, q, s + k * halves_of(f), b + k * halves_of(f), t);
      order_unit(unit_of(f), t, left < unit ? last : out + at);
      if (left < unit) memcpy(out + at, last, (size_t)left * sizeof *out);
    }
  }
}

static CEL_ALWAYS_INLINE void widen_quantized(lin_kind f, const cel_linear *w, cel_wide_part part, float *out) {
  const int64_t end = part.u + part.n;
  const uint8_t *p = w->w + part.row * w->w_row_bytes + part.u / CEL_LIN_BATCH * batch_bytes_of(f);
  for (int64_t u0 = part.u; u0 < end; u0 += CEL_LIN_BATCH, p += batch_bytes_of(f)) {
    int n = (int)CEL_MIN(CEL_LIN_BATCH, end - u0);
    float s[16], b[16];
    batch_scales(f, w, p, part.row, u0, n, s, b);
    for (int k = 0; k < n; k++, out += unit_of(f)) {
      __m256i q[4];
      unpack_unit(f, p, k, is_whole(f, w, u0 + k), q);
      widen_unit(f, q, s + k * halves_of(f), b + k * halves_of(f), out);
    }
  }
}

static CEL_ALWAYS_INLINE void widen_mxfp8(const cel_linear *w, cel_wide_part part, float *out) {
  const uint8_t *p = w->w + part.row * w->w_row_bytes, *scales = w->scales + part.row * (w->cols / 32);
  for (int64_t i = part.u * 8; i < (part.u + part.n) * 8; i += 8, out += 8)
    _mm256_storeu_ps(out, _mm256_mul_ps(e4m3(widen_bytes(p + i)), set8(cel_lin_mlx_half_power(scales[i / 32]) * 2)));
}

static CEL_ALWAYS_INLINE void widen_fp8(const cel_linear *w, cel_wide_part part, float *out) {
  const uint8_t *p = w->w + part.row * w->w_row_bytes, *scales = w->scales + part.row * (w->cols / w->group) * 4;
  for (int64_t i = part.u * 8; i < (part.u + part.n) * 8; i += 8, out += 8)
    _mm256_storeu_ps(out, _mm256_mul_ps(e4m3(widen_bytes(p + i)), set8(cel_lin_float(scales, CEL_LIN_F32, i / w->group))));
}

static CEL_NOINLINE void widen_part(const cel_linear *w, cel_wide_part part, float *out) {
#define KIND(f) case K_##f: widen_quantized(K_##f, w, part, out); break;
  CEL_WIDE_ROW(w, part, out, KIND, widen_plain)
#undef KIND
}

static CEL_ALWAYS_INLINE void row_plain(const cel_linear *w, int type, cel_wide_part whole, float *out) {
  const int bytes = type == CEL_LIN_F32 ? 4 : 2;
  const uint8_t *p = w->w + whole.row * w->w_row_bytes;
  int64_t i = 0;
  for (; i + 8 <= w->cols; i += 8) _mm256_storeu_ps(out + i, load_floats8(p + i * bytes, type));
  for (; i < w->cols; i++) out[i] = cel_lin_float(p, type, i);
}

void cel_avx2_linear_row(const cel_linear *w, int64_t row, float *out) {
  const cel_wide_part whole = {row, 0, cel_lin_units(w)};
#define KIND(f) case K_##f: widen_ordered(K_##f, w, row, out); break;
  CEL_WIDE_ROW(w, whole, out, KIND, row_plain)
#undef KIND
}

static CEL_ALWAYS_INLINE void add_columns(float *y, const float *x, const float *w, int64_t stride, int64_t n_rows, int n) {
  __m256 acc[8];
  for (int c = 0; c < n; c++) acc[c] = _mm256_loadu_ps(y + 8 * c);
  for (int64_t r = 0; r < n_rows; r++) {
    __m256 v = _mm256_broadcast_ss(x + r);
    for (int c = 0; c < n; c++) acc[c] = _mm256_fmadd_ps(v, _mm256_loadu_ps(w + r * stride + 8 * c), acc[c]);
  }
  for (int c = 0; c < n; c++) _mm256_storeu_ps(y + 8 * c, acc[c]);
}

void cel_avx2_add_rows(float *y, const float *x, const float *w, int64_t stride, int64_t n_rows, int64_t n_cols) {
  int64_t c = 0;
  for (; c + 64 <= n_cols; c += 64) add_columns(y + c, x, w + c, stride, n_rows, 8);
  for (; c + 8 <= n_cols; c += 8) add_columns(y + c, x, w + c, stride, n_rows, 1);
  if (c == n_cols) return;
  __m256 acc = load_first(y + c, n_cols - c);
  for (int64_t r = 0; r < n_rows; r++)
    acc = _mm256_fmadd_ps(_mm256_broadcast_ss(x + r), load_first(w + r * stride + c, n_cols - c), acc);
  store_first(y + c, n_cols - c, acc);
}

// Of two sums: lane i of each and its lane i + 4, then i and i + 2: [a02 b02 a13 b13].
static CEL_ALWAYS_INLINE __m128 add_halves(__m256 a, __m256 b) {
  const __m128 x = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  const __m128 y = _mm_add_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
  return _mm_add_ps(_mm_unpacklo_ps(x, y), _mm_unpackhi_ps(x, y));
}

// The sums of four rows, each in the order of reduce8.
static CEL_ALWAYS_INLINE void put_four(float *y, __m256 a, __m256 b, __m256 c, __m256 d) {
  const __m128 ab = add_halves(a, b), cd = add_halves(c, d);
  _mm_storeu_ps(y, _mm_add_ps(_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab)));
}

static CEL_ALWAYS_INLINE void tile_mul(const cel_wide_tile *g, int n_rows, int n_tokens) {
  __m256 acc[4][3], x[3];
  float *sums = g->sums;
  for (int r = 0; r < n_rows; r++)
    for (int t = 0; t < n_tokens; t++)
      acc[r][t] = g->first ? _mm256_setzero_ps() : _mm256_loadu_ps(sums + (t * CEL_WIDE_ROWS + r) * 8);
  for (int64_t i = 0; i < g->n; i += 8) {
    for (int t = 0; t < n_tokens; t++) x[t] = _mm256_loadu_ps(g->tokens + t * g->token_stride + i);
    for (int r = 0; r < n_rows; r++) {
      __m256 w = _mm256_loadu_ps(g->rows + r * g->row_stride + i);
      for (int t = 0; t < n_tokens; t++) acc[r][t] = _mm256_fmadd_ps(w, x[t], acc[r][t]);
    }
  }
  for (int t = 0; t < n_tokens; t++) {
    float *y = g->y + t * g->y_stride;
    if (!g->last) for (int r = 0; r < n_rows; r++) _mm256_storeu_ps(sums + (t * CEL_WIDE_ROWS + r) * 8, acc[r][t]);
    else if (n_rows == 4) put_four(y, acc[0][t], acc[1][t], acc[2][t], acc[3][t]);
    else y[0] = reduce8(acc[0][t]);
  }
}

void cel_avx2_linear_mul_f32(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens,
                             float *y, int64_t y_stride, int64_t row_begin, int64_t row_end, void *scratch) {
  cel_wide_mul(w, packed, pack_stride, n_tokens, y, y_stride, row_begin, row_end, scratch, gemv_plain,
               widen_part, tile_mul);
}

#endif
