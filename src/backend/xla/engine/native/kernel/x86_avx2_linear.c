// AVX2: the linear kernels on quantized weights with 16-bit activations. One token reads the rows as they
// lie in the file; several tokens share a panel of unpacked rows. The sums are those of linear.h in both.
#include "backend/xla/engine/native/kernel/kernel.h"

#if defined(__x86_64__)
#include <math.h>

#include "backend/xla/engine/native/kernel/scalar.h"
#include "backend/xla/engine/native/kernel/x86_avx2.h"
#include "backend/xla/engine/native/kernel/x86_avx2_linear.h"

// ---- packing ----------------------------------------------------------------------------------------

// 16 floats as 16-bit integers in their order.
static CEL_ALWAYS_INLINE __m256i quantize16(const float *x, __m256 to_int) {
  __m256i a = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), to_int));
  __m256i b = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8), to_int));
  return _mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xD8);
}

static void order32(const __m256i *n, __m256i *q) {
  const __m256i split = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15,  //
                                         0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
  __m256i a = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(n[0], split), 0xD8);  // evens | odds
  __m256i b = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(n[1], split), 0xD8);
  q[0] = _mm256_permute2x128_si256(a, b, 0x20);
  q[1] = _mm256_permute2x128_si256(a, b, 0x31);
}

// Each 128-bit lane of eight elements becomes the pairs (k, k + 4); pair k of all eight lanes makes q[k].
static void order64(const __m256i *n, __m256i *q) {
  const __m256i pairs = _mm256_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15,  //
                                         0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
  __m256i p[4], t[4];
  for (int i = 0; i < 4; i++) p[i] = _mm256_shuffle_epi8(n[i], pairs);
  __m256i a = _mm256_permute2x128_si256(p[0], p[2], 0x20), b = _mm256_permute2x128_si256(p[0], p[2], 0x31);
  __m256i c = _mm256_permute2x128_si256(p[1], p[3], 0x20), d = _mm256_permute2x128_si256(p[1], p[3], 0x31);
  t[0] = _mm256_unpacklo_epi32(a, b);
  t[1] = _mm256_unpacklo_epi32(c, d);
  t[2] = _mm256_unpackhi_epi32(a, b);
  t[3] = _mm256_unpackhi_epi32(c, d);
  q[0] = _mm256_unpacklo_epi64(t[0], t[1]);
  q[1] = _mm256_unpackhi_epi64(t[0], t[1]);
  q[2] = _mm256_unpacklo_epi64(t[2], t[3]);
  q[3] = _mm256_unpackhi_epi64(t[2], t[3]);
}

static int32_t sum4(__m128i v) {
  v = _mm_add_epi32(v, _mm_shuffle_epi32(v, 0x4E));
  return _mm_cvtsi128_si32(_mm_add_epi32(v, _mm_shuffle_epi32(v, 0xB1)));
}

static float largest(const float *x, int n) {
  __m256i top = _mm256_setzero_si256(), mask = _mm256_set1_epi32(0x7FFFFFFF);
  for (int i = 0; i < n; i += 8) top = _mm256_max_epi32(top, and8(load32((const uint8_t *)(x + i)), mask));
  __m128i m = _mm_max_epi32(_mm256_castsi256_si128(top), _mm256_extracti128_si256(top, 1));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4E));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xB1));
  return cel_f32_from_bits((uint32_t)_mm_cvtsi128_si32(m));
}

// One unit; returns the scale. See quantize in scalar_linear.c.
static CEL_ALWAYS_INLINE float pack_unit(const float *x, int unit, int n_sums, int16_t *out, float *sum) {
  float most = largest(x, unit), scale = most / 32767.0f;
  __m256i n[4], q[4], total = _mm256_setzero_si256();
  bool zero = !(most >= 0x1p-100f) || !(most <= 0x1.fffffep127f);
  if (!(most <= 0x1.fffffep127f)) scale = NAN;
  else if (zero) scale = 0;
  __m256 to_int = set8(32767.0f / most);
  for (int i = 0; i < unit / 16; i++) n[i] = zero ? _mm256_setzero_si256() : quantize16(x + 16 * i, to_int);
  if (unit == 32) order32(n, q);
  else order64(n, q);
  for (int i = 0; i < unit / 16; i++) {
    _mm256_storeu_si256((void *)(out + 16 * i), q[i]);
    total = _mm256_add_epi32(total, _mm256_madd_epi16(q[i], set16(1)));
  }
  int32_t low = sum4(_mm256_castsi256_si128(total)), high = sum4(_mm256_extracti128_si256(total, 1));
  sum[0] = (float)(n_sums == 2 ? low : low + high) * scale;
  if (n_sums == 2) sum[1] = (float)high * scale;
  return scale;
}

static CEL_ALWAYS_INLINE void pack_row(const cel_linear *w, int unit, int n_sums, const float *x, uint8_t *out) {
  float *scale = (float *)(void *)(out + cel_lin_scales_at(w)), *sum = (float *)(void *)(out + cel_lin_sums_at(w));
  int16_t *q = (int16_t *)(void *)out;
  int64_t whole = w->cols / unit;
  memset(scale, 0, (size_t)(cel_linear_pack_bytes(w) - cel_lin_scales_at(w)));
  for (int64_t u = 0; u < whole; u++)
    scale[u] = pack_unit(x + u * unit, unit, n_sums, q + u * unit, sum + u * n_sums);
  if (whole * unit == w->cols) return;
  float last[CEL_LIN_UNIT_MAX] = {0};
  memcpy(last, x + whole * unit, (size_t)(w->cols - whole * unit) * sizeof *x);
  scale[whole] = pack_unit(last, unit, n_sums, q + whole * unit, sum + whole * n_sums);
}

void cel_avx2_linear_pack(const cel_linear *w, const float *x, int64_t x_stride, int64_t n_tokens, uint8_t *packed,
                          int64_t pack_stride) {
  if (!cel_lin_i16(w)) {
    cel_scalar_linear_pack(w, x, x_stride, n_tokens, packed, pack_stride);
    return;
  }
  for (int64_t t = 0; t < n_tokens; t++, x += x_stride, packed += pack_stride) {
    if (cel_lin_unit(w) == 32 && cel_lin_sums(w) == 1) pack_row(w, 32, 1, x, packed);
    else if (cel_lin_unit(w) == 32) pack_row(w, 32, 2, x, packed);
    else if (cel_lin_sums(w) == 1) pack_row(w, 64, 1, x, packed);
    else pack_row(w, 64, 2, x, packed);
  }
}

// ---- shared by one and many tokens ------------------------------------------------------------------

// prod = s * xs for one batch: 8 of them, or 16 with the activation scale doubled.
static CEL_ALWAYS_INLINE void batch_products(int halves, const float *s, const float *xs, float *prod) {
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

static CEL_ALWAYS_INLINE __m256 unit_scale(int halves, const float *prod, int k) {
  if (halves == 1) return _mm256_broadcast_ss(prod + k);
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_broadcast_ss(prod + 2 * k)), _mm_broadcast_ss(prod + 2 * k + 1),
                              1);
}

static CEL_ALWAYS_INLINE __m256 add_biases(int halves, const float *b, const float *xsum, __m256 bacc) {
  for (int h = 0; h < halves; h++)
    bacc = _mm256_fmadd_ps(_mm256_loadu_ps(b + 8 * h), _mm256_loadu_ps(xsum + 8 * h), bacc);
  return bacc;
}

static CEL_ALWAYS_INLINE bool is_whole(lin_kind f, const cel_linear *w, int64_t u) {
  return f != K_AFFINE4_G32 || (u + 1) * 64 <= w->cols;
}

// ---- one token --------------------------------------------------------------------------------------

typedef struct activations {
  const int16_t *q;
  const float *scale, *sum;
} activations;

static CEL_ALWAYS_INLINE activations activations_at(const cel_linear *w, const uint8_t *packed) {
  return (activations){(const void *)packed, (const void *)(packed + cel_lin_scales_at(w)),
                       (const void *)(packed + cel_lin_sums_at(w))};
}

static CEL_ALWAYS_INLINE __m256 add_unit(lin_kind f, const uint8_t *p, int k, bool whole, const int16_t *x,
                                         const float *prod, __m256 acc) {
  __m256i q[4], d = _mm256_setzero_si256();
  unpack_unit(f, p, k, whole, q);
  for (int v = 0; v < unit_of(f) / 16; v++) {
    __m256i m = _mm256_madd_epi16(q[v], load32((const uint8_t *)(x + 16 * v)));
    d = v ? _mm256_add_epi32(d, m) : m;
  }
  return _mm256_fmadd_ps(_mm256_cvtepi32_ps(d), unit_scale(halves_of(f), prod, k), acc);
}

// Products of scales of a whole row, and its bias sum: apart from the integer sums, which then need not wait
// for them. The row's bytes come to the nearest cache here.
static CEL_ALWAYS_INLINE __m256 row_products(lin_kind f, const cel_linear *w, int64_t row, const activations *x,
                                             float *prod) {
  const int halves = halves_of(f);
  const int64_t units = cel_lin_units(w);
  const uint8_t *p = w->w + row * w->w_row_bytes;
  __m256 bacc = _mm256_setzero_ps();
  for (int64_t u0 = 0; u0 < units; u0 += CEL_LIN_BATCH, p += batch_bytes_of(f)) {
    float s[16], b[16];
    batch_scales(f, w, p, row, u0, CEL_MIN(CEL_LIN_BATCH, units - u0), s, b);
    batch_products(halves, s, x->scale + u0, prod + u0 * halves);
    if (biased(f)) bacc = add_biases(halves, b, x->sum + u0 * halves, bacc);
  }
  return bacc;
}

static CEL_ALWAYS_INLINE void prefetch_batch(lin_kind f, const uint8_t *p) {
  for (int line = 0; line < batch_bytes_of(f); line += 64) _mm_prefetch((const char *)p + line, _MM_HINT_T0);
}

static CEL_ALWAYS_INLINE void gemv_rows(lin_kind f, const cel_linear *w, const uint8_t *packed, float *y, int64_t row,
                                        int n_rows, float *prod) {
  const int unit = unit_of(f), halves = halves_of(f);
  const activations x = activations_at(w, packed);
  const int64_t units = cel_lin_units(w), step = w->w_row_bytes, width = cel_lin_round(units, CEL_LIN_BATCH) * halves;
  const uint8_t *p = w->w + row * step;
  __m256 acc[4], bacc[4];
  for (int r = 0; r < n_rows; r++) {
    acc[r] = _mm256_setzero_ps();
    bacc[r] = row_products(f, w, row + r, &x, prod + r * width);
  }
  const int16_t *xq = x.q;
  int64_t u0 = 0;
  for (; u0 + CEL_LIN_BATCH <= units; u0 += CEL_LIN_BATCH, p += batch_bytes_of(f), xq += CEL_LIN_BATCH * unit) {
    for (int r = 0; r < n_rows; r++) prefetch_batch(f, p + (r + n_rows) * step);
#pragma GCC unroll 8
    for (int k = 0; k < CEL_LIN_BATCH; k++)
      for (int r = 0; r < n_rows; r++)
        acc[r] = add_unit(f, p + r * step, k, is_whole(f, w, u0 + k), xq + k * unit, prod + r * width + u0 * halves, acc[r]);
  }
  for (int k = 0; k < units - u0; k++)
    for (int r = 0; r < n_rows; r++)
      acc[r] = add_unit(f, p + r * step, k, is_whole(f, w, u0 + k), xq + k * unit, prod + r * width + u0 * halves, acc[r]);
  for (int r = 0; r < n_rows; r++) y[row + r] = reduce8(_mm256_add_ps(acc[r], bacc[r]));
}

static CEL_ALWAYS_INLINE void gemv(lin_kind f, const cel_linear *w, const uint8_t *packed, float *y, int64_t begin,
                                   int64_t end, float *prod) {
  enum { ROWS = 2 };
  int64_t r = begin;
  for (; r + ROWS <= end; r += ROWS) gemv_rows(f, w, packed, y, r, ROWS, prod);
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
      __m256i q[4];
      unpack_unit(f, p, k, is_whole(f, w, u0 + k), q);
      for (int v = 0; v < unit / 16; v++) _mm256_storeu_si256((void *)(out + ((u0 + k) * unit + 16 * v) * 2), q[v]);
    }
  }
}

typedef struct tile {  // n_rows unpacked rows against n_tokens packed tokens
  const cel_linear *w;
  const uint8_t *rows, *tokens;
  int64_t row_stride, token_stride;
  float *y;  // of the first row and token
  int64_t y_stride;
} tile;

static CEL_ALWAYS_INLINE void tile_mul(const tile *g, int unit, int halves, bool bias, int n_rows, int n_tokens) {
  const int64_t units = cel_lin_units(g->w), scales = cel_lin_scales_at(g->w), sums = cel_lin_sums_at(g->w);
  const int64_t biases = cel_lin_row_biases_at(g->w);
  __m256 acc[2][4];
  for (int r = 0; r < n_rows; r++)
    for (int t = 0; t < n_tokens; t++) acc[r][t] = _mm256_setzero_ps();
  for (int64_t u0 = 0; u0 < units; u0 += CEL_LIN_BATCH) {
    float prod[2][4][16];
    int n = (int)CEL_MIN(CEL_LIN_BATCH, units - u0);
    for (int r = 0; r < n_rows; r++)
      for (int t = 0; t < n_tokens; t++)
        batch_products(halves, (const float *)(const void *)(g->rows + r * g->row_stride + scales) + u0 * halves,
                       (const float *)(const void *)(g->tokens + t * g->token_stride + scales) + u0, prod[r][t]);
    for (int k = 0; k < n; k++) {
      const int64_t at = (u0 + k) * unit * 2;
      __m256i q[2][4];
      for (int r = 0; r < n_rows; r++)
        for (int v = 0; v < unit / 16; v++) q[r][v] = load32(g->rows + r * g->row_stride + at + 32 * v);
      for (int t = 0; t < n_tokens; t++) {
        __m256i d[2];
        for (int v = 0; v < unit / 16; v++) {
          __m256i x = load32(g->tokens + t * g->token_stride + at + 32 * v);
          for (int r = 0; r < n_rows; r++) {
            __m256i m = _mm256_madd_epi16(q[r][v], x);
            d[r] = v ? _mm256_add_epi32(d[r], m) : m;
          }
        }
        for (int r = 0; r < n_rows; r++)
          acc[r][t] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(d[r]), unit_scale(halves, prod[r][t], k), acc[r][t]);
      }
    }
  }
  for (int r = 0; r < n_rows; r++)
    for (int t = 0; t < n_tokens; t++) {
      __m256 bacc = _mm256_setzero_ps();
      const float *b = (const void *)(g->rows + r * g->row_stride + biases);
      const float *xsum = (const void *)(g->tokens + t * g->token_stride + sums);
      for (int64_t j = 0; bias && j < units * halves; j += 8 * halves) bacc = add_biases(halves, b + j, xsum + j, bacc);
      g->y[t * g->y_stride + r] = reduce8(_mm256_add_ps(acc[r][t], bacc));
    }
}

static CEL_ALWAYS_INLINE void tile_rows(tile g, int unit, int halves, bool bias, int n_rows, int64_t n_tokens) {
  enum { WIDE = 4, NARROW = 2 };  // tokens that fit the registers with units of 32 and 64
  const int width = unit == 32 ? WIDE : NARROW;
  for (; n_tokens >= width; n_tokens -= width) {
    if (unit == 32) tile_mul(&g, unit, halves, bias, n_rows, WIDE);
    else tile_mul(&g, unit, halves, bias, n_rows, NARROW);
    g.tokens += width * g.token_stride;
    g.y += width * g.y_stride;
  }
  for (; n_tokens > 0; n_tokens--) {
    tile_mul(&g, unit, halves, bias, n_rows, 1);
    g.tokens += g.token_stride;
    g.y += g.y_stride;
  }
}

static CEL_ALWAYS_INLINE void panel_mul(tile g, int unit, int halves, bool bias, int64_t n_rows, int64_t n_tokens) {
  for (; n_rows >= 2; n_rows -= 2) {
    tile_rows(g, unit, halves, bias, 2, n_tokens);
    g.rows += 2 * g.row_stride;
    g.y += 2;
  }
  if (n_rows) tile_rows(g, unit, halves, bias, 1, n_tokens);
}

// The six shapes there are; kept apart from the formats so that the tiles are compiled once per shape.
static CEL_NOINLINE void panel32(const tile *g, int64_t n_rows, int64_t n_tokens) {
  panel_mul(*g, 32, 1, false, n_rows, n_tokens);
}
static CEL_NOINLINE void panel32_bias(const tile *g, int64_t n_rows, int64_t n_tokens) {
  panel_mul(*g, 32, 1, true, n_rows, n_tokens);
}
static CEL_NOINLINE void panel32_halves(const tile *g, int64_t n_rows, int64_t n_tokens) {
  panel_mul(*g, 32, 2, false, n_rows, n_tokens);
}
static CEL_NOINLINE void panel32_halves_bias(const tile *g, int64_t n_rows, int64_t n_tokens) {
  panel_mul(*g, 32, 2, true, n_rows, n_tokens);
}
static CEL_NOINLINE void panel64(const tile *g, int64_t n_rows, int64_t n_tokens) {
  panel_mul(*g, 64, 1, true, n_rows, n_tokens);
}
static CEL_NOINLINE void panel64_halves(const tile *g, int64_t n_rows, int64_t n_tokens) {
  panel_mul(*g, 64, 2, true, n_rows, n_tokens);
}

static CEL_ALWAYS_INLINE void panel(lin_kind f, const tile *g, int64_t n_rows, int64_t n_tokens) {
  if (f == K_AFFINE4) panel64(g, n_rows, n_tokens);
  else if (f == K_AFFINE4_G32) panel64_halves(g, n_rows, n_tokens);
  else if (halves_of(f) == 2 && biased(f)) panel32_halves_bias(g, n_rows, n_tokens);
  else if (halves_of(f) == 2) panel32_halves(g, n_rows, n_tokens);
  else if (biased(f)) panel32_bias(g, n_rows, n_tokens);
  else panel32(g, n_rows, n_tokens);
}

// Tokens go in blocks whose activations stay in the second-level cache while panels pass by.
static CEL_ALWAYS_INLINE void gemm(lin_kind f, const cel_linear *w, const uint8_t *packed, int64_t pack_stride,
                                   int64_t n_tokens, float *y, int64_t y_stride, int64_t begin, int64_t end,
                                   uint8_t *scratch) {
  enum { CACHE = 256 * 1024 };
  const int64_t stride = cel_lin_row_stride(w), block = CEL_MAX(16, CACHE / cel_linear_pack_bytes(w) / 4 * 4);
  for (int64_t t = 0; t < n_tokens; t += block)
    for (int64_t r = begin; r < end; r += CEL_LIN_PANEL_I16) {
      int64_t rows = CEL_MIN(CEL_LIN_PANEL_I16, end - r);
      for (int64_t i = 0; i < rows; i++) unpack_row(f, w, r + i, scratch + i * stride);
      tile g = {w, scratch, packed + t * pack_stride, stride, pack_stride, y + t * y_stride + r, y_stride};
      panel(f, &g, rows, CEL_MIN(block, n_tokens - t));
    }
}

typedef void mul_body(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens, float *y,
                      int64_t y_stride, int64_t begin, int64_t end, uint8_t *scratch);

// Files are full of the first: their single tokens read the rows as they lie. The others unpack rows for one
// token too.
#define FUSED(X) \
  X(Q4_0) X(Q4_1) X(Q5_0) X(Q5_1) X(Q8_0) X(Q4_K) X(Q5_K) X(Q6_K) X(AFFINE8) X(AFFINE4) X(AFFINE4_G32)
#define UNPACKED(X)                                                                                             \
  X(Q2_K) X(Q3_K) X(IQ4_NL) X(IQ4_XS) X(MXFP4) X(TQ1_0) X(TQ2_0) X(Q8_1) X(Q8_K) X(AFFINE2) X(AFFINE3) X(AFFINE5) \
  X(AFFINE6) X(MLX_MXFP4) X(MLX_NVFP4)

#define MUL_FUSED(f)                                                                                          \
  static CEL_NOINLINE void mul_##f(const cel_linear *w, const uint8_t *packed, int64_t pack_stride,           \
                                   int64_t n_tokens, float *y, int64_t y_stride, int64_t begin, int64_t end,  \
                                   uint8_t *scratch) {                                                        \
    if (n_tokens == 1) gemv(K_##f, w, packed, y, begin, end, (float *)(void *)scratch);                       \
    else gemm(K_##f, w, packed, pack_stride, n_tokens, y, y_stride, begin, end, scratch);                     \
  }
#define MUL_UNPACKED(f)                                                                                       \
  static CEL_NOINLINE void mul_##f(const cel_linear *w, const uint8_t *packed, int64_t pack_stride,           \
                                   int64_t n_tokens, float *y, int64_t y_stride, int64_t begin, int64_t end,  \
                                   uint8_t *scratch) {                                                        \
    gemm(K_##f, w, packed, pack_stride, n_tokens, y, y_stride, begin, end, scratch);                          \
  }
FUSED(MUL_FUSED)
UNPACKED(MUL_UNPACKED)

void cel_avx2_linear_mul(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens, float *y,
                         int64_t y_stride, int64_t row_begin, int64_t row_end, void *scratch) {
#define BODY(f) [K_##f] = mul_##f,
  static mul_body *const bodies[] = {FUSED(BODY) UNPACKED(BODY)};
#undef BODY
  if (!cel_lin_i16(w)) {
    cel_avx2_linear_mul_f32(w, packed, pack_stride, n_tokens, y, y_stride, row_begin, row_end, scratch);
    return;
  }
  bodies[kind_of(w)](w, packed, pack_stride, n_tokens, y, y_stride, row_begin, row_end, scratch);
}

#endif
