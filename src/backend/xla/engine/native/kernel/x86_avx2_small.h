// AVX2: units of two, three, five and six bits, of tables and of base-3 digits as 16-bit integers, and their
// scales. Included by x86_avx2_linear.h, in the middle. Internal to kernel/.
#ifndef CEL_XLA_NATIVE_KERNEL_X86_AVX2_SMALL_H
#define CEL_XLA_NATIVE_KERNEL_X86_AVX2_SMALL_H

// ---- a stream of bits -------------------------------------------------------------------------------

// The 4 * bits bytes of 32 elements: elements 0..15 from byte 0 of the low half on, 16..31 from `from` of the high
// half on. Reads nothing behind them.
static CEL_ALWAYS_INLINE __m256i stream32(int bits, const uint8_t *p) {
  uint32_t tail;
  if (bits >= 5) return _mm256_loadu2_m128i((const void *)(p + 4 * bits - 16), (const void *)p);
  __m128i v = _mm_loadl_epi64((const void *)p);
  if (bits == 3) {
    memcpy(&tail, p + 8, 4);
    v = _mm_insert_epi32(v, (int)tail, 2);
  }
  return _mm256_broadcastsi128_si256(v);
}

// Element e lies within two bytes: bring them to a word, multiply the bits above it away, shift it down.
static CEL_ALWAYS_INLINE __m256i fields_of(int bits, int odd, __m256i v) {
  const int from = 2 * bits - (bits >= 5 ? 4 * bits - 16 : 0);
#define BYTE(i, base, by) (char)((((2 * (i) + odd) * bits / 8) + (base) + (by)) & 15)
#define WORD(i, base) BYTE(i, base, 0), BYTE(i, base, 1)
#define EIGHT(base) \
  WORD(0, base), WORD(1, base), WORD(2, base), WORD(3, base), WORD(4, base), WORD(5, base), WORD(6, base), WORD(7, base)
#define UP(i) (short)(1 << (16 - bits - (2 * (i) + odd) * bits % 8))
  v = _mm256_shuffle_epi8(v, _mm256_setr_epi8(EIGHT(0), EIGHT(from)));
  v = _mm256_mullo_epi16(v, _mm256_setr_epi16(UP(0), UP(1), UP(2), UP(3), UP(4), UP(5), UP(6), UP(7), UP(0), UP(1), UP(2),
                                              UP(3), UP(4), UP(5), UP(6), UP(7)));
#undef BYTE
#undef WORD
#undef EIGHT
#undef UP
  return _mm256_srli_epi16(v, 16 - bits);
}

static CEL_ALWAYS_INLINE void fields(int bits, const uint8_t *p, __m256i *q) {
  __m256i v = stream32(bits, p);
  q[0] = fields_of(bits, 0, v);
  q[1] = fields_of(bits, 1, v);
}

// ---- tables -----------------------------------------------------------------------------------------

static CEL_ALWAYS_INLINE __m128i nl_table(void) { return _mm_loadu_si128((const void *)cel_lin_nl_values); }
static CEL_ALWAYS_INLINE __m128i e2m1_table(void) { return _mm_loadu_si128((const void *)cel_lin_e2m1_values); }

// 16 bytes: low nibbles are elements 0..15, high ones 16..31.
static CEL_ALWAYS_INLINE void table_halves(const uint8_t *p, __m128i table, __m256i *q) {
  __m128i v = _mm_loadu_si128((const void *)p);
  __m256i n = _mm256_inserti128_si256(_mm256_castsi128_si256(v), _mm_srli_epi16(v, 4), 1);
  n = and8(n, _mm256_set1_epi8(15));
  signed_bytes(_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), n), q);
}

// 16 bytes: low nibbles are even elements, high ones odd.
static CEL_ALWAYS_INLINE void table_in_order(const uint8_t *p, __m128i table, __m256i *q) {
  __m128i v = _mm_loadu_si128((const void *)p), mask = _mm_set1_epi8(15);
  q[0] = _mm256_cvtepi8_epi16(_mm_shuffle_epi8(table, _mm_and_si128(v, mask)));
  q[1] = _mm256_cvtepi8_epi16(_mm_shuffle_epi8(table, _mm_and_si128(_mm_srli_epi16(v, 4), mask)));
}

// ---- pairs and digits ---------------------------------------------------------------------------------

static CEL_ALWAYS_INLINE void pairs(const uint8_t *qs, int unit, __m256i *q) {
  __m256i v = _mm256_srli_epi16(load32(qs + unit / 4 * 32), unit % 4 * 2);
  q[0] = and8(v, set16(3));
  q[1] = and8(_mm256_srli_epi16(v, 8), set16(3));
}

static CEL_ALWAYS_INLINE void unit_q3k(const uint8_t *b, int unit, __m256i *q) {
  __m256i third = _mm256_srli_epi16(load32(b), unit);
  pairs(b + 32, unit, q);
  q[0] = _mm256_or_si256(q[0], _mm256_slli_epi16(and8(third, set16(1)), 2));
  q[1] = _mm256_or_si256(q[1], _mm256_slli_epi16(and8(_mm256_srli_epi16(third, 8), set16(1)), 2));
  for (int i = 0; i < 2; i++) q[i] = _mm256_sub_epi16(q[i], set16(4));
}

// Digits of the even and odd bytes of v, chosen by powers of three (see digit in linear_small.c), less one.
static CEL_ALWAYS_INLINE void digits(__m256i v, __m256i power, __m256i *q) {
  q[0] = and8(v, set16(255));
  q[1] = _mm256_srli_epi16(v, 8);
  for (int i = 0; i < 2; i++) {
    __m256i t = and8(_mm256_mullo_epi16(q[i], power), set16(255));
    t = _mm256_srli_epi16(_mm256_add_epi16(t, _mm256_add_epi16(t, t)), 8);
    q[i] = _mm256_sub_epi16(t, set16(1));
  }
}

static CEL_ALWAYS_INLINE int power_of_3(int k) { return k == 0 ? 1 : k == 1 ? 3 : k == 2 ? 9 : k == 3 ? 27 : 81; }

static CEL_ALWAYS_INLINE void unit_tq1(const uint8_t *b, int unit, __m256i *q) {
  if (unit < 5) {
    digits(load32(b), set16(power_of_3(unit)), q);
    return;
  }
  __m128i v = _mm_loadu_si128((const void *)(b + 32));
  if (unit < 7) {
    __m256i power = _mm256_blend_epi32(set16(power_of_3(2 * unit - 10)), set16(power_of_3(2 * unit - 9)), 0xF0);
    digits(_mm256_broadcastsi128_si256(v), power, q);
    return;
  }
  int32_t four;
  memcpy(&four, b + 48, 4);
  digits(_mm256_inserti128_si256(_mm256_castsi128_si256(v), _mm_set1_epi32(four), 1),
         _mm256_setr_epi16(81, 81, 81, 81, 81, 81, 81, 81, 1, 1, 3, 3, 9, 9, 27, 27), q);
}

// ---- scales -------------------------------------------------------------------------------------------

// 16 integers of 8 bits, times d.
static CEL_ALWAYS_INLINE void scale16(__m128i k, float d, float *s) {
  _mm256_storeu_ps(s, _mm256_mul_ps(set8(d), _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(k))));
  _mm256_storeu_ps(s + 8, _mm256_mul_ps(set8(d), _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(k, 8)))));
}

static CEL_ALWAYS_INLINE void q2_scales(const uint8_t *p, float *s, float *b) {
  __m128i v = _mm_loadu_si128((const void *)p), mask = _mm_set1_epi8(15);
  scale16(_mm_and_si128(v, mask), cel_lin_f16(p + 80), s);
  scale16(_mm_and_si128(_mm_srli_epi16(v, 4), mask), -cel_lin_f16(p + 82), b);
}

// See cel_lin_q3_scale.
static CEL_ALWAYS_INLINE void q3_scales(const uint8_t *p, float *s) {
  uint32_t w[3];
  memcpy(w, p + 96, 12);
  const uint32_t low = 0x0F0F0F0Fu, high = 0x30303030u;
  __m128i k = _mm_setr_epi32((int)((w[0] & low) | (w[2] << 4 & high)), (int)((w[1] & low) | (w[2] << 2 & high)),
                             (int)((w[0] >> 4 & low) | (w[2] & high)), (int)((w[1] >> 4 & low) | (w[2] >> 2 & high)));
  scale16(_mm_sub_epi8(k, _mm_set1_epi8(32)), cel_lin_f16(p + 108), s);
}

static CEL_ALWAYS_INLINE void xs_scales(const uint8_t *p, float *s) {
  float d = cel_lin_f16(p);
  for (int k = 0; k < 8; k++) s[k] = d * (float)cel_lin_xs_scale(p, k);
}

// E4M3 numbers: exponent and mantissa to the place f32 has them, times 2^120; see cel_lin_e4m3.
static CEL_ALWAYS_INLINE __m256 e4m3(__m256i v) {
  __m256i low = and8(v, _mm256_set1_epi32(127));
  __m256 x = _mm256_mul_ps(_mm256_castsi256_ps(_mm256_slli_epi32(low, 20)), set8(0x1p120f));
  __m256i nan = _mm256_srli_epi32(_mm256_cmpeq_epi32(low, _mm256_set1_epi32(127)), 1);  // 0x7FFFFFFF
  __m256i sign = _mm256_slli_epi32(_mm256_srli_epi32(v, 7), 31);
  return _mm256_or_ps(x, _mm256_castsi256_ps(_mm256_or_si256(nan, sign)));
}

// Halved powers of two; see cel_lin_half_power.
static CEL_ALWAYS_INLINE __m256 half_powers(__m256i e, bool mlx) {
  __m256i v = _mm256_slli_epi32(_mm256_sub_epi32(e, _mm256_set1_epi32(1)), 23);
  v = _mm256_blendv_epi8(v, _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), e), _mm256_cmpgt_epi32(_mm256_set1_epi32(2), e));
  __m256i top = _mm256_cmpeq_epi32(e, _mm256_set1_epi32(255));
  if (mlx) v = _mm256_blendv_epi8(v, _mm256_set1_epi32(0x7F800000), top);
  return _mm256_castsi256_ps(v);
}

// Eight bytes as integers.
static CEL_ALWAYS_INLINE __m256i widen_bytes(const uint8_t *p) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)p));
}

// One byte a scale, of the n units that exist.
static CEL_ALWAYS_INLINE void byte_scales(lin_kind f, const cel_linear *w, const uint8_t *p, int64_t row, int64_t u0,
                                          int64_t n, float *s) {
  uint8_t some[16] = {0};
  if (f == K_MXFP4) {
    for (int k = 0; k < n; k++) some[k] = p[17 * k];
    _mm256_storeu_ps(s, half_powers(widen_bytes(some), false));
    return;
  }
  const int halves = halves_of(f);
  p = w->scales + row * (w->cols / w->group) + u0 * halves;
  if (n < 8) p = memcpy(some, p, (size_t)(n * halves));
  if (f == K_MLX_MXFP4) {
    _mm256_storeu_ps(s, half_powers(widen_bytes(p), true));
    return;
  }
  for (int h = 0; h < 2; h++) _mm256_storeu_ps(s + 8 * h, _mm256_mul_ps(e4m3(widen_bytes(p + 8 * h)), set8(0.5f)));
}

#endif
