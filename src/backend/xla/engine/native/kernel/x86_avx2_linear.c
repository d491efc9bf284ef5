// AVX2: the linear kernels on quantized weights with 16-bit activations: packing, and the formats that
// most files have. The rest are in x86_avx2_linear_small.c.
#include "backend/xla/engine/native/kernel/kernel.h"

#if defined(__x86_64__)
#include <math.h>

#include "backend/xla/engine/native/kernel/scalar.h"
#include "backend/xla/engine/native/kernel/x86_avx2.h"
#include "backend/xla/engine/native/kernel/x86_avx2_linear.h"
#include "backend/xla/engine/native/kernel/x86_avx2_rows.h"

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

// Words to bytes, as cel_lin_byte_at orders them.
static CEL_ALWAYS_INLINE void store_bytes(uint8_t *out, int unit, const __m256i *q) {
  for (int v = 0; v < unit / 16; v += 2)
    _mm256_storeu_si256((void *)(out + 16 * v), _mm256_or_si256(and8(q[v], set16(255)), _mm256_slli_epi16(q[v + 1], 8)));
}

// Unit u of a row; returns the scale. See quantize in scalar_linear.c.
static CEL_ALWAYS_INLINE float pack_unit(const float *x, int unit, int n_sums, bool bytes, uint8_t *out, int32_t *totals,
                                         float *sum) {
  const float levels = bytes ? 127.0f : 32767.0f;
  float most = largest(x, unit), scale = most / levels;
  __m256i n[4], q[4], total = _mm256_setzero_si256();
  bool zero = !(most >= 0x1p-100f) || !(most <= 0x1.fffffep127f);
  if (!(most <= 0x1.fffffep127f)) scale = NAN;
  else if (zero) scale = 0;
  __m256 to_int = set8(levels / most);
  for (int i = 0; i < unit / 16; i++) n[i] = zero ? _mm256_setzero_si256() : quantize16(x + 16 * i, to_int);
  if (unit == 32) order32(n, q);
  else order64(n, q);
  for (int i = 0; i < unit / 16; i++) {
    if (!bytes) _mm256_storeu_si256((void *)(out + 32 * i), q[i]);
    total = _mm256_add_epi32(total, _mm256_madd_epi16(q[i], set16(1)));
  }
  int32_t low = sum4(_mm256_castsi256_si128(total)), high = sum4(_mm256_extracti128_si256(total, 1));
  if (bytes) store_bytes(out, unit, q);
  totals[0] = low;
  totals[1] = high;
  sum[0] = (float)(n_sums == 2 ? low : low + high) * scale;
  if (n_sums == 2) sum[1] = (float)high * scale;
  return scale;
}

#define NAME(kernel) cel_avx2_##kernel
#include "backend/xla/engine/native/kernel/pack_rows.h"

// ---- formats ----------------------------------------------------------------------------------------

CEL_LIN_COMMON_KINDS(CEL_AVX2_MUL)

void cel_avx2_linear_mul_panels(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens, float *y,
                                int64_t y_stride, int64_t row_begin, int64_t row_end, cel_panel_multiply *const *panels,
                                void *scratch) {
  static mul_body *const bodies[LIN_KINDS] = {CEL_LIN_COMMON_KINDS(CEL_AVX2_BODY)};
  mul_body *body = bodies[kind_of(w)];
  if (!cel_lin_integers(w)) {
    cel_avx2_linear_mul_f32(w, packed, pack_stride, n_tokens, y, y_stride, row_begin, row_end, scratch);
  } else if (body) {
    body(w, packed, pack_stride, n_tokens, y, y_stride, row_begin, row_end, panels, scratch);
  } else {
    cel_avx2_linear_mul_small(w, packed, pack_stride, n_tokens, y, y_stride, row_begin, row_end, panels, scratch);
  }
}

void cel_avx2_linear_mul(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens, float *y,
                         int64_t y_stride, int64_t row_begin, int64_t row_end, void *scratch) {
  cel_avx2_linear_mul_panels(w, packed, pack_stride, n_tokens, y, y_stride, row_begin, row_end, cel_avx2_panels, scratch);
}

#endif
