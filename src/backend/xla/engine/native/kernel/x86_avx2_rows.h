// AVX2: products of one kind of quantized weight: one token reads the rows as they lie in the file; several share
// a panel of unpacked rows. The sums are those of linear.h in both. Internal to kernel/.
#ifndef CEL_XLA_NATIVE_KERNEL_X86_AVX2_ROWS_H
#define CEL_XLA_NATIVE_KERNEL_X86_AVX2_ROWS_H

#include "backend/xla/engine/native/kernel/x86_avx2.h"
#include "backend/xla/engine/native/kernel/x86_avx2_linear.h"

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

// x86_avx2_linear.c: unpacked rows against packed tokens, by unit, scales per unit and biases; apart from the
// formats, so that the tiles are compiled once per shape.
typedef void cel_avx2_panel(const tile *g, int64_t n_rows, int64_t n_tokens);
cel_avx2_panel cel_avx2_panel32, cel_avx2_panel32_bias, cel_avx2_panel32_halves, cel_avx2_panel32_halves_bias,
    cel_avx2_panel64, cel_avx2_panel64_halves;

static CEL_ALWAYS_INLINE void panel(lin_kind f, const tile *g, int64_t n_rows, int64_t n_tokens) {
  const bool two = halves_of(f) == 2;
  if (unit_of(f) == 64) (two ? cel_avx2_panel64_halves : cel_avx2_panel64)(g, n_rows, n_tokens);
  else if (biased(f)) (two ? cel_avx2_panel32_halves_bias : cel_avx2_panel32_bias)(g, n_rows, n_tokens);
  else (two ? cel_avx2_panel32_halves : cel_avx2_panel32)(g, n_rows, n_tokens);
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

// A body for kind K_f, named mul_f.
typedef void mul_body(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens, float *y,
                      int64_t y_stride, int64_t begin, int64_t end, uint8_t *scratch);
#define CEL_AVX2_MUL(f)                                                                                       \
  static CEL_NOINLINE void mul_##f(const cel_linear *w, const uint8_t *packed, int64_t pack_stride,           \
                                   int64_t n_tokens, float *y, int64_t y_stride, int64_t begin, int64_t end,  \
                                   uint8_t *scratch) {                                                        \
    if (n_tokens == 1) gemv(K_##f, w, packed, y, begin, end, (float *)(void *)scratch);                       \
    else gemm(K_##f, w, packed, pack_stride, n_tokens, y, y_stride, begin, end, scratch);                     \
  }
#define CEL_AVX2_BODY(f) [K_##f] = mul_##f,

#endif
