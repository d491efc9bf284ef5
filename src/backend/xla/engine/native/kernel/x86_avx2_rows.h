// AVX2: products of one kind of quantized weight: one token reads the rows as they lie in the file; several share
// a panel of unpacked rows. The sums are those of linear.h in both. Internal to kernel/.
#ifndef CEL_XLA_NATIVE_KERNEL_X86_AVX2_ROWS_H
#define CEL_XLA_NATIVE_KERNEL_X86_AVX2_ROWS_H

#include "backend/xla/engine/native/kernel/x86_avx2.h"
#include "backend/xla/engine/native/kernel/x86_avx2_linear.h"
#include "backend/xla/engine/native/kernel/x86_panel.h"

// ---- shared by one and many tokens ------------------------------------------------------------------

// Eight vectors of eight as columns: lane i of in[j] becomes lane j of in[i].
static CEL_ALWAYS_INLINE void transpose8(__m256i *v) {
  __m256i a[8], b[8];
  for (int i = 0; i < 8; i += 2) {
    a[i] = _mm256_unpacklo_epi32(v[i], v[i + 1]);
    a[i + 1] = _mm256_unpackhi_epi32(v[i], v[i + 1]);
  }
  for (int i = 0; i < 8; i += 4)
    for (int k = 0; k < 2; k++) {
      b[i + 2 * k] = _mm256_unpacklo_epi64(a[i + k], a[i + k + 2]);
      b[i + 2 * k + 1] = _mm256_unpackhi_epi64(a[i + k], a[i + k + 2]);
    }
  for (int i = 0; i < 4; i++) {
    v[i] = _mm256_permute2x128_si256(b[i], b[i + 4], 0x20);
    v[i + 4] = _mm256_permute2x128_si256(b[i], b[i + 4], 0x31);
  }
}

// Scales (or biases) of 8 rows, a row after the other, as they are used: [unit and half][8 rows].
static CEL_ALWAYS_INLINE void by_unit(int halves, float (*by_row)[16], float *out, int stride) {
  for (int h = 0; h < halves; h++) {
    __m256i v[8];
    for (int r = 0; r < 8; r++) v[r] = load32((const uint8_t *)(by_row[r] + 8 * h));
    transpose8(v);
    for (int i = 0; i < 8; i++) _mm256_storeu_si256((void *)(out + (8 * h + i) * stride), v[i]);
  }
}

// The f16 at `offset` of each row.
static CEL_ALWAYS_INLINE __m256 column_f16(const eight_rows *e, int64_t offset) {
  __m128i v = _mm_cvtsi32_si128(cel_lin_u16(e->at[0] + offset));
  v = _mm_insert_epi16(v, cel_lin_u16(e->at[1] + offset), 1);
  v = _mm_insert_epi16(v, cel_lin_u16(e->at[2] + offset), 2);
  v = _mm_insert_epi16(v, cel_lin_u16(e->at[3] + offset), 3);
  v = _mm_insert_epi16(v, cel_lin_u16(e->at[4] + offset), 4);
  v = _mm_insert_epi16(v, cel_lin_u16(e->at[5] + offset), 5);
  v = _mm_insert_epi16(v, cel_lin_u16(e->at[6] + offset), 6);
  v = _mm_insert_epi16(v, cel_lin_u16(e->at[7] + offset), 7);
  return _mm256_cvtph_ps(v);
}

// The two words at `offset` of each row: the first ones, the second ones.
static CEL_ALWAYS_INLINE void columns_2f16(const eight_rows *e, int64_t offset, float *first, float *second) {
  __m128i pair[4];
  for (int r = 0; r < 8; r += 2) {
    pair[r / 2] = _mm_unpacklo_epi16(_mm_loadu_si32(e->at[r] + offset), _mm_loadu_si32(e->at[r + 1] + offset));
  }
  __m128i low = _mm_unpacklo_epi32(pair[0], pair[1]), high = _mm_unpacklo_epi32(pair[2], pair[3]);
  _mm256_storeu_ps(first, _mm256_cvtph_ps(_mm_unpacklo_epi64(low, high)));
  _mm256_storeu_ps(second, _mm256_cvtph_ps(_mm_unpackhi_epi64(low, high)));
}

static CEL_ALWAYS_INLINE void leading_scales(lin_kind f, const eight_rows *e, int64_t offset, int64_t n, float *s, float *b,
                                             int stride) {
  for (int64_t k = 0; k < n; k++, offset += block_bytes_of(f)) {
    if (biased(f)) columns_2f16(e, offset, s + k * stride, b + k * stride);
    else _mm256_storeu_ps(s + k * stride, column_f16(e, offset));
  }
}

// Scales and biases of n units from u0 on, whose bytes begin `offset` into each row.
static CEL_ALWAYS_INLINE void eight_scales(lin_kind f, const cel_linear *w, const eight_rows *e, int64_t offset, int64_t u0,
                                           int64_t n, float *s, float *b, int stride) {
  if (leading_scale(f)) {
    leading_scales(f, e, offset, n, s, b, stride);
    return;
  }
  float rows_s[8][16], rows_b[8][16];
  for (int r = 0; r < 8; r++) batch_scales(f, w, e->at[r] + offset, e->index[r], u0, n, rows_s[r], rows_b[r]);
  by_unit(halves_of(f), rows_s, s, stride);
  if (biased(f)) by_unit(halves_of(f), rows_b, b, stride);
}

// ---- one token --------------------------------------------------------------------------------------

// Lane by lane, the sums of the four lanes of each half of four vectors: the low half's in lanes 0..3, the
// high half's in lanes 4..7.
static CEL_ALWAYS_INLINE __m256i add_across4(const __m256i *d) {
  __m256i a = _mm256_add_epi32(_mm256_unpacklo_epi32(d[0], d[1]), _mm256_unpackhi_epi32(d[0], d[1]));
  __m256i b = _mm256_add_epi32(_mm256_unpacklo_epi32(d[2], d[3]), _mm256_unpackhi_epi32(d[2], d[3]));
  return _mm256_add_epi32(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
}

// The dot product of one unit by lanes, without what offset_of says.
static CEL_ALWAYS_INLINE __m256i unit_dot(lin_kind f, const uint8_t *p, int k, bool whole, const __m256i *x) {
  __m256i q[4], d = _mm256_setzero_si256();
  unpack_raw(f, p, k, whole, q);
  for (int v = 0; v < unit_of(f) / 16; v++) {
    __m256i m = _mm256_madd_epi16(q[v], x[v]);
    d = v ? _mm256_add_epi32(d, m) : m;
  }
  return settled(d);
}

static CEL_ALWAYS_INLINE __m256i four_dots(lin_kind f, const uint8_t *const *rows, int64_t offset, int k, bool whole,
                                           const __m256i *x) {
  __m256i d[4];
  for (int r = 0; r < 4; r++) d[r] = unit_dot(f, rows[r] + offset, k, whole, x);
  return settled(add_across4(d));
}

// One unit of eight rows: acc, by row, goes on by its product and bias.
static CEL_ALWAYS_INLINE __m256 add_unit(lin_kind f, __m256i low, __m256i high, const float *s, const float *b,
                                         const float *xs, const float *xsum, const int32_t *total, __m256 acc) {
  __m256i sum[2] = {_mm256_permute2x128_si256(low, high, 0x20), _mm256_permute2x128_si256(low, high, 0x31)};
  if (halves_of(f) == 1) sum[0] = _mm256_add_epi32(sum[0], sum[1]);
  for (int h = 0; h < halves_of(f); h++) {
    const int32_t excess = offset_of(f) * (halves_of(f) == 1 ? total[0] + total[1] : total[h]);
    if (offset_of(f)) sum[h] = _mm256_sub_epi32(sum[h], _mm256_set1_epi32(excess));
    __m256 scale = _mm256_mul_ps(_mm256_loadu_ps(s + 8 * h), _mm256_broadcast_ss(xs));
    acc = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum[h]), scale, acc);
    if (biased(f)) acc = _mm256_fmadd_ps(_mm256_loadu_ps(b + 8 * h), _mm256_broadcast_ss(xsum + h), acc);
  }
  return acc;
}

// The activations of a packed row as words: itself, or its bytes widened into `out`.
static inline const uint8_t *as_words(const cel_linear *w, const uint8_t *packed, uint8_t *out) {
  if (!cel_lin_bytes(w)) return packed;
  for (int64_t i = 0; i < cel_lin_totals_at(w); i += 32) {
    __m256i v = load32(packed + i);
    _mm256_storeu_si256((void *)(out + 2 * i), _mm256_srai_epi16(_mm256_slli_epi16(v, 8), 8));
    _mm256_storeu_si256((void *)(out + 2 * i + 32), _mm256_srai_epi16(v, 8));
  }
  return out;
}

// Eight rows are read side by side but fetched as they lie, one behind the other, which memory answers faster: each unit
// of a block of rows asks for its share of the next block.
static CEL_ALWAYS_INLINE void prefetch_share(lin_kind f, const uint8_t *block, int64_t u) {
  const int share = batch_bytes_of(f);
  for (int line = 0; line < share; line += 64) _mm_prefetch((const char *)block + u * share + line, _MM_HINT_T0);
}

// Rows [row, row + 8), but none behind `end`.
static CEL_ALWAYS_INLINE void gemv_rows(lin_kind f, const cel_linear *w, const uint8_t *packed, const uint8_t *words,
                                        float *y, int64_t row, int64_t end) {
  const int unit = unit_of(f), halves = halves_of(f);
  const int16_t *xq = (const void *)words;
  const float *xs = (const void *)(packed + cel_lin_scales_at(w)), *xsum = (const void *)(packed + cel_lin_sums_at(w));
  const int32_t *total = (const void *)(packed + cel_lin_totals_at(w));
  const int64_t units = cel_lin_units(w), ahead = 8 * w->w_row_bytes;
  const eight_rows e = rows_from(w, row, end - 1);
  __m256 acc = _mm256_setzero_ps();
  int64_t offset = 0;
  for (int64_t u0 = 0; u0 < units; u0 += CEL_LIN_BATCH, offset += batch_bytes_of(f)) {
    const int64_t n = CEL_MIN(CEL_LIN_BATCH, units - u0);
    float s[16 * 8], b[16 * 8];
    eight_scales(f, w, &e, offset, u0, n, s, b, 8);
    CEL_UNROLLED(8)
    for (int k = 0; k < CEL_LIN_BATCH; k++) {
      if (k >= n) break;
      const int64_t u = u0 + k;
      const bool whole = is_whole(f, w, u);
      __m256i x[4];
      prefetch_share(f, e.at[0] + ahead, u);
      for (int v = 0; v < unit / 16; v++) x[v] = load32((const uint8_t *)(xq + u * unit + 16 * v));
      __m256i low = four_dots(f, e.at, offset, k, whole, x), high = four_dots(f, e.at + 4, offset, k, whole, x);
      acc = add_unit(f, low, high, s + 8 * k * halves, b + 8 * k * halves, xs + u, xsum + u * halves, total + 2 * u, acc);
    }
  }
  store_first(y + row, CEL_MIN(8, end - row), acc);
}

// ---- many tokens ------------------------------------------------------------------------------------

// Entry j of vector v of n, a pair of words or four bytes of each of eight rows, to its place in a panel's half at `out`.
static CEL_ALWAYS_INLINE void store_entry(lin_kind f, __m256i entry, int v, int j, int n, uint8_t *out) {
  const int place = halves_of(f) == 1 ? 8 * v + j : 4 * (j / 4 * n + v) + j % 4;
  _mm256_storeu_si256((void *)(out + place * 4 * CEL_PANEL_ROWS), entry);
}

// Vector v of n of a unit, for each of eight rows: its lanes are entries.
static CEL_ALWAYS_INLINE void store_entries(lin_kind f, __m256i *rows, int v, int n, uint8_t *out) {
  transpose8(rows);
  for (int j = 0; j < 8; j++) store_entry(f, rows[j], v, j, n, out);
}

// One unit of eight rows, unpacked, as words.
static CEL_ALWAYS_INLINE void store_words(lin_kind f, __m256i (*q)[4], uint8_t *out) {
  for (int v = 0; v < unit_of(f) / 16; v++) {
    __m256i t[8];
    for (int r = 0; r < 8; r++) t[r] = q[r][v];
    store_entries(f, t, v, unit_of(f) / 16, out);
  }
}

// The same as bytes, in the order of cel_lin_byte_at.
static CEL_ALWAYS_INLINE void store_bytes_of(lin_kind f, __m256i (*q)[4], uint8_t *out) {
  for (int v = 0; v < unit_of(f) / 32; v++) {
    __m256i t[8];
    for (int r = 0; r < 8; r++) t[r] = _mm256_or_si256(q[r][2 * v], _mm256_slli_epi16(q[r][2 * v + 1], 8));
    store_entries(f, t, v, unit_of(f) / 32, out);
  }
}

// Where one shift and one mask make entries of the bytes as they lie, four at a time, rows become lanes before that: there are a
// quarter to a half as many vectors then. How many fours a unit has; 0: other formats.
static CEL_ALWAYS_INLINE int fours_of(lin_kind f) {
  switch (f) {
    case K_Q4_0:
    case K_Q4_1: return 4;
    case K_Q8_0:
    case K_Q4_K:
    case K_AFFINE4:
    case K_AFFINE4_G32:
    case K_AFFINE8: return 8;
    default: return 0;
  }
}

// The bytes of unit k of eight rows, by fours: a lane is a row.
static CEL_ALWAYS_INLINE void load_fours(lin_kind f, const eight_rows *e, int64_t offset, int k, bool whole, __m256i *four) {
  offset += f == K_Q4_K ? 16 + k / 2 * 32 : leading_scale(f) ? k * block_bytes_of(f) + (biased(f) ? 4 : 2) : 32 * k;
  if (fours_of(f) == 8) {
    for (int r = 0; r < 8; r++) {
      const uint8_t *p = e->at[r] + offset;
      four[r] = whole ? load32(p) : _mm256_zextsi128_si256(_mm_loadu_si128((const void *)p));
    }
    transpose8(four);
    return;
  }
  __m256i row[4], pair[4];
  for (int r = 0; r < 4; r++) {
    const __m128i low = _mm_loadu_si128((const void *)(e->at[r] + offset)), high = _mm_loadu_si128((const void *)(e->at[r + 4] + offset));
    row[r] = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
  }
  for (int i = 0; i < 2; i++) {
    pair[i] = _mm256_unpacklo_epi32(row[2 * i], row[2 * i + 1]);
    pair[i + 2] = _mm256_unpackhi_epi32(row[2 * i], row[2 * i + 1]);
  }
  for (int i = 0; i < 2; i++) {
    four[2 * i] = _mm256_unpacklo_epi64(pair[2 * i], pair[2 * i + 1]);
    four[2 * i + 1] = _mm256_unpackhi_epi64(pair[2 * i], pair[2 * i + 1]);
  }
}

// Entry j of vector v of unit k as words.
static CEL_ALWAYS_INLINE __m256i words_entry(lin_kind f, const __m256i *four, int k, int v, int j) {
  const __m256i x = four[j % fours_of(f)];
  switch (f) {
    case K_Q8_0: return _mm256_srai_epi16(v ? x : _mm256_slli_epi16(x, 8), 8);
    case K_AFFINE8: return v ? _mm256_srli_epi16(x, 8) : and8(x, set16(255));
    case K_Q4_K: return and8(_mm256_srli_epi16(x, 8 * v + k % 2 * 4), set16(15));
    case K_AFFINE4:
    case K_AFFINE4_G32: return and8(_mm256_srli_epi16(x, 4 * v), set16(15));
    default: return _mm256_sub_epi16(and8(_mm256_srli_epi16(x, 8 * v + j / 4 * 4), set16(15)), set16(offset_of(f)));
  }
}

// The same as bytes; what offset_of says stays in.
static CEL_ALWAYS_INLINE __m256i bytes_entry(lin_kind f, const __m256i *four, int k, int v, int j) {
  const __m256i x = four[j % fours_of(f)];
  if (unit_of(f) == 32) return and8(_mm256_srli_epi16(x, f == K_Q4_K ? k % 2 * 4 : j / 4 * 4), set16(0x0F0F));
  const __m256i high = v ? _mm256_srli_epi16(x, 4) : _mm256_slli_epi16(x, 4);
  return _mm256_or_si256(and8(v ? _mm256_srli_epi16(x, 8) : x, set16(15)), and8(high, set16(0x0F00)));
}

static CEL_ALWAYS_INLINE void unpack_fours(lin_kind f, const eight_rows *e, int64_t offset, int k, bool whole, bool bytes, uint8_t *out) {
  const int vectors = unit_of(f) / (bytes ? 32 : 16);
  __m256i four[8];
  load_fours(f, e, offset, k, whole, four);
  CEL_UNROLLED(4)
  for (int v = 0; v < vectors; v++) {
    CEL_UNROLLED(8)
    for (int j = 0; j < 8; j++)
      store_entry(f, bytes ? bytes_entry(f, four, k, v, j) : words_entry(f, four, k, v, j), v, j, vectors, out);
  }
}

// Eight rows' units [u0, u0 + n) into one half of a panel: see panel.h.
static CEL_ALWAYS_INLINE void unpack_rows(lin_kind f, const cel_linear *w, const eight_rows *e, int64_t u0, int64_t n,
                                          bool bytes, cel_panel *p, int half) {
  enum { ROWS = CEL_PANEL_ROWS };
  const int halves = halves_of(f);
  const uint8_t *next = e->at[0] + ROWS * w->w_row_bytes;
  int64_t offset = u0 / CEL_LIN_BATCH * batch_bytes_of(f);
  for (int64_t i = 0; i < n; i += CEL_LIN_BATCH, offset += batch_bytes_of(f)) {
    const int64_t here = CEL_MIN(CEL_LIN_BATCH, n - i);
    eight_scales(f, w, e, offset, u0 + i, here, p->s + i * halves * ROWS + 8 * half, p->b + i * halves * ROWS + 8 * half,
                 ROWS);
    CEL_UNROLLED(8)
    for (int k = 0; k < CEL_LIN_BATCH; k++) {
      if (k >= here) break;
      __m256i q[8][4];
      const bool whole = is_whole(f, w, u0 + i + k);
      const int64_t at = (i + k) * unit_of(f) * ROWS;
      if (p->ahead) prefetch_share(f, next, u0 + i + k);
      if (fours_of(f)) {
        unpack_fours(f, e, offset, k, whole, bytes, p->u.bytes + (bytes ? at : 2 * at) + 32 * half);
      } else if (bytes) {
        for (int r = 0; r < 8; r++) unpack_raw(f, e->at[r] + offset, k, whole, q[r]);
        store_bytes_of(f, q, p->u.bytes + at + 32 * half);
      } else {
        for (int r = 0; r < 8; r++) unpack_unit(f, e->at[r] + offset, k, whole, q[r]);
        store_words(f, q, p->u.bytes + 2 * at + 32 * half);
      }
    }
  }
}

static CEL_ALWAYS_INLINE cel_panel_kind panel_of(lin_kind f, bool bytes) {
  const bool two = halves_of(f) == 2;
  if (unit_of(f) == 64 && bytes) return two ? CEL_PANEL_bytes64_halves_bias : CEL_PANEL_bytes64_bias;
  if (unit_of(f) == 64) return two ? CEL_PANEL_words64_halves_bias : CEL_PANEL_words64_bias;
  if (!bytes && biased(f)) return two ? CEL_PANEL_words32_halves_bias : CEL_PANEL_words32_bias;
  if (!bytes) return two ? CEL_PANEL_words32_halves : CEL_PANEL_words32;
  if (two) return CEL_PANEL_bytes32_halves_less32;
  if (offset_of(f)) return offset_of(f) == 8 ? CEL_PANEL_bytes32_less8 : CEL_PANEL_bytes32_less16;
  return byte_bits(f) <= 4 ? CEL_PANEL_bytes32_4_bias : byte_bits(f) == 5 ? CEL_PANEL_bytes32_5_bias : CEL_PANEL_bytes32_6_bias;
}

// A body for kind K_f, named mul_f. `panels`: what several tokens are multiplied with.
typedef void mul_body(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens, float *y,
                      int64_t y_stride, int64_t begin, int64_t end, cel_panel_multiply *const *panels, void *scratch);
#define CEL_AVX2_MUL(f)                                                                                                \
  static CEL_NOINLINE void one_##f(const cel_linear *w, const uint8_t *packed, float *y, int64_t begin, int64_t end,   \
                                   uint8_t *scratch) {                                                                 \
    const uint8_t *words = as_words(w, packed, scratch);                                                               \
    for (int64_t r = begin; r < end; r += 8) gemv_rows(K_##f, w, packed, words, y, r, end);                            \
  }                                                                                                                    \
  static CEL_NOINLINE void unpack_##f(const cel_linear *w, int64_t row, int64_t end, int64_t u, int64_t n, bool bytes, \
                                      cel_panel *p) {                                                                  \
    for (int half = 0; half < 2 && row + 8 * half < end; half++) {                                                     \
      const eight_rows e = rows_from(w, row + 8 * half, end - 1);                                                      \
      if (byte_bits(K_##f) && bytes) unpack_rows(K_##f, w, &e, u, n, byte_bits(K_##f) > 0, p, half);                   \
      else unpack_rows(K_##f, w, &e, u, n, false, p, half);                                                            \
    }                                                                                                                  \
  }                                                                                                                    \
  static void mul_##f(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens, float *y,     \
                      int64_t y_stride, int64_t begin, int64_t end, cel_panel_multiply *const *panels, void *scratch) { \
    const bool bytes = cel_lin_bytes(w);                                                                               \
    if (n_tokens == 1) one_##f(w, packed, y, begin, end, scratch);                                                     \
    else cel_panel_mul(w, packed, pack_stride, n_tokens, y, y_stride, begin, end, unpack_##f,                          \
                       panels[panel_of(K_##f, bytes)], bytes ? 2 * CEL_LIN_COLS : CEL_LIN_COLS, scratch);            \
  }
#define CEL_AVX2_BODY(f) [K_##f] = mul_##f,

#endif
