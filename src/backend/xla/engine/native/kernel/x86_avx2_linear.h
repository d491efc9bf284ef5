// AVX2: one unit of each quantized format as 16-bit integers, and the scales of eight units. `f` is a
// constant wherever these are called, so each call keeps one branch. Internal to kernel/.
#ifndef CEL_XLA_NATIVE_KERNEL_X86_AVX2_LINEAR_H
#define CEL_XLA_NATIVE_KERNEL_X86_AVX2_LINEAR_H

#include "backend/xla/engine/native/kernel/linear_kind.h"
#include "backend/xla/engine/native/kernel/x86_avx2_vec.h"
#include "backend/xla/engine/native/kernel/x86_intrinsics.h"
#include "base/macros.h"

static CEL_ALWAYS_INLINE __m256i load32(const uint8_t *p) { return _mm256_loadu_si256((const void *)p); }
static CEL_ALWAYS_INLINE __m256i set16(int v) { return _mm256_set1_epi16((short)v); }
static CEL_ALWAYS_INLINE __m256i and8(__m256i a, __m256i b) { return _mm256_and_si256(a, b); }

// 16 bytes of nibbles: words 0..7 get the low nibbles of even bytes, words 8..15 the high ones; q[1] odd bytes.
static CEL_ALWAYS_INLINE void nibbles16(const uint8_t *p, __m256i *q) {
  __m256i v = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)p));
  v = _mm256_srlv_epi32(v, _mm256_setr_epi32(0, 0, 0, 0, 4, 4, 4, 4));
  q[0] = and8(v, set16(15));
  q[1] = and8(_mm256_srli_epi16(v, 8), set16(15));
}

// The fifth bits: element e has bit e of the 32. Words 0..7 of q[0] are elements 0, 2, .. 14, words 8..15
// elements 16, 18, ..: bit 2i of the lower or upper 16 bits.
static CEL_ALWAYS_INLINE void fifth_bits(const uint8_t *p, __m256i *q) {
  __m256i low = set16(cel_lin_u16(p)), high = set16(cel_lin_u16(p + 2));
  __m256i v = _mm256_blend_epi32(low, high, 0xF0);
  __m256i even = _mm256_setr_epi16(1, 4, 16, 64, 256, 1024, 4096, 16384, 1, 4, 16, 64, 256, 1024, 4096, 16384);
  __m256i odd = _mm256_slli_epi16(even, 1);
  q[0] = _mm256_or_si256(q[0], and8(_mm256_cmpeq_epi16(and8(v, even), even), set16(16)));
  q[1] = _mm256_or_si256(q[1], and8(_mm256_cmpeq_epi16(and8(v, odd), odd), set16(16)));
}

// Bytes in their order: even ones, odd ones.
static CEL_ALWAYS_INLINE void signed_bytes(__m256i v, __m256i *q) {
  q[0] = _mm256_srai_epi16(_mm256_slli_epi16(v, 8), 8);
  q[1] = _mm256_srai_epi16(v, 8);
}

static CEL_ALWAYS_INLINE void unit_k45(const uint8_t *b, int k, bool five, __m256i *q) {
  __m256i v = load32(b + (five ? 48 : 16) + k / 2 * 32);
  if (k % 2) v = _mm256_srli_epi16(v, 4);
  q[0] = and8(v, set16(15));
  q[1] = and8(_mm256_srli_epi16(v, 8), set16(15));
  if (!five) return;
  __m256i h = load32(b + 16);
  h = and8(k < 4 ? _mm256_slli_epi16(h, 4 - k) : _mm256_srli_epi16(h, k - 4), set16(0x1010));  // bit k to bit 4
  q[0] = _mm256_or_si256(q[0], and8(h, set16(16)));
  q[1] = _mm256_or_si256(q[1], _mm256_srli_epi16(h, 8));
}

static CEL_ALWAYS_INLINE void unit_q6k(const uint8_t *b, int unit, __m256i *q) {
  int half = unit / 4, k = unit % 4;
  __m256i v = load32(b + half * 64 + k % 2 * 32), h = load32(b + 128 + half * 32);
  if (k >= 2) v = _mm256_srli_epi16(v, 4);
  h = k < 2 ? _mm256_slli_epi16(h, 4 - 2 * k) : _mm256_srli_epi16(h, 2 * k - 4);  // pair k to bits 4, 5
  v = _mm256_or_si256(and8(v, set16(0x0F0F)), and8(h, set16(0x3030)));
  q[0] = and8(v, set16(0xFF));
  q[1] = _mm256_srli_epi16(v, 8);
}

#include "backend/xla/engine/native/kernel/x86_avx2_small.h"

// What unpack_raw leaves to be taken off every integer.
static CEL_ALWAYS_INLINE int offset_of(lin_kind f) { return f == K_Q4_0 ? 8 : f == K_Q5_0 ? 16 : f == K_Q6_K ? 32 : 0; }

// Unit k (0..7) of the batch at b; `whole` is false for the half unit that may end a row of 4-bit affine.
static CEL_ALWAYS_INLINE void unpack_raw(lin_kind f, const uint8_t *b, int k, bool whole, __m256i *q) {
  const uint8_t *block = b + k * block_bytes_of(f);
  switch (f) {
    case K_Q4_0: nibbles16(block + 2, q); break;
    case K_Q4_1: nibbles16(block + 4, q); break;
    case K_Q5_0:
      nibbles16(block + 6, q);
      fifth_bits(block + 2, q);
      break;
    case K_Q5_1:
      nibbles16(block + 8, q);
      fifth_bits(block + 4, q);
      break;
    case K_Q8_0: signed_bytes(load32(block + 2), q); break;
    case K_Q4_K: unit_k45(b, k, false, q); break;
    case K_Q5_K: unit_k45(b, k, true, q); break;
    case K_Q6_K: unit_q6k(b, k, q); break;
    case K_AFFINE8: {
      __m256i v = load32(b + 32 * k);
      q[0] = and8(v, set16(255));
      q[1] = _mm256_srli_epi16(v, 8);
      break;
    }
    case K_AFFINE2: fields(2, b + 8 * k, q); break;
    case K_AFFINE3: fields(3, b + 12 * k, q); break;
    case K_AFFINE5: fields(5, b + 20 * k, q); break;
    case K_AFFINE6: fields(6, b + 24 * k, q); break;
    case K_MLX_MXFP4:
    case K_MLX_NVFP4: table_in_order(b + 16 * k, e2m1_table(), q); break;
    case K_MXFP4: table_halves(block + 1, e2m1_table(), q); break;
    case K_IQ4_NL: table_halves(block + 2, nl_table(), q); break;
    case K_IQ4_XS: table_halves(b + 8 + 16 * k, nl_table(), q); break;
    case K_Q2_K: pairs(b + 16, k, q); break;
    case K_Q3_K: unit_q3k(b, k, q); break;
    case K_TQ1_0: unit_tq1(b, k, q); break;
    case K_TQ2_0:
      pairs(b, k, q);
      for (int i = 0; i < 2; i++) q[i] = _mm256_sub_epi16(q[i], set16(1));
      break;
    case K_Q8_1: signed_bytes(load32(block + 4), q); break;
    case K_Q8_K: signed_bytes(load32(b + 4 + 32 * k), q); break;
    default: {
      const uint8_t *p = b + 32 * k;
      __m256i v = whole ? load32(p) : _mm256_zextsi128_si256(_mm_loadu_si128((const void *)p));
      q[0] = and8(v, set16(15));
      q[1] = and8(_mm256_srli_epi16(v, 4), set16(15));
      q[2] = and8(_mm256_srli_epi16(v, 8), set16(15));
      q[3] = _mm256_srli_epi16(v, 12);
    }
  }
}

static CEL_ALWAYS_INLINE void unpack_unit(lin_kind f, const uint8_t *b, int k, bool whole, __m256i *q) {
  unpack_raw(f, b, k, whole, q);
  if (!offset_of(f)) return;
  for (int v = 0; v < unit_of(f) / 16; v++) q[v] = _mm256_sub_epi16(q[v], set16(offset_of(f)));
}

// ---- scales: s[8 * halves], b[8 * halves] of the batch whose first unit is u0 ---------------------------

static CEL_ALWAYS_INLINE __m256 f16_strided(const uint8_t *p, int stride) {
  __m128i v = _mm_cvtsi32_si128(cel_lin_u16(p));
  v = _mm_insert_epi16(v, cel_lin_u16(p + stride), 1);
  v = _mm_insert_epi16(v, cel_lin_u16(p + 2 * stride), 2);
  v = _mm_insert_epi16(v, cel_lin_u16(p + 3 * stride), 3);
  v = _mm_insert_epi16(v, cel_lin_u16(p + 4 * stride), 4);
  v = _mm_insert_epi16(v, cel_lin_u16(p + 5 * stride), 5);
  v = _mm_insert_epi16(v, cel_lin_u16(p + 6 * stride), 6);
  v = _mm_insert_epi16(v, cel_lin_u16(p + 7 * stride), 7);
  return _mm256_cvtph_ps(v);
}

// The twelve bytes as 8 scales (low half of the result) and 8 minimums (high half), see cel_lin_k_scale.
static CEL_ALWAYS_INLINE __m128i k_scales(const uint8_t *p) {
  uint32_t a, b, c;
  memcpy(&a, p, 4);
  memcpy(&b, p + 4, 4);
  memcpy(&c, p + 8, 4);
  uint32_t s1 = (c & 0x0F0F0F0Fu) | (a >> 2 & 0x30303030u), m1 = (c >> 4 & 0x0F0F0F0Fu) | (b >> 2 & 0x30303030u);
  return _mm_setr_epi32((int)(a & 0x3F3F3F3Fu), (int)s1, (int)(b & 0x3F3F3F3Fu), (int)m1);
}

static CEL_ALWAYS_INLINE __m256 load_floats8(const uint8_t *p, int type) {
  if (type == CEL_LIN_F16) return _mm256_cvtph_ps(_mm_loadu_si128((const void *)p));
  if (type == CEL_LIN_F32) return _mm256_loadu_ps((const void *)p);
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)p)), 16));
}

// The first n of 8 numbers of 16 or 32 bits, `stride` bytes apart, in a vector of their own; zeros behind.
static CEL_ALWAYS_INLINE __m256 load_some(const uint8_t *p, int stride, int type, int n) {
  uint32_t wide[8] = {0};
  uint16_t narrow[8] = {0};
  if (type == CEL_LIN_F32) {
    for (int i = 0; i < n; i++) memcpy(&wide[i], p + i * stride, 4);
    return load_floats8((const uint8_t *)wide, type);
  }
  for (int i = 0; i < n; i++) narrow[i] = cel_lin_u16(p + i * stride);
  return load_floats8((const uint8_t *)narrow, type);
}

// Each of the first 8 / repeat lanes `repeat` times.
static CEL_ALWAYS_INLINE __m256 repeat_lanes(__m256 v, int repeat) {
  if (repeat == 2) return _mm256_permutevar8x32_ps(v, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
  if (repeat == 4) return _mm256_permutevar8x32_ps(v, _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1));
  return v;
}

// Scales of n of 8 spans, `repeat` spans to a group, from group `first` on.
static CEL_ALWAYS_INLINE __m256 affine_values(const uint8_t *p, int type, int64_t first, int repeat, int n) {
  int bytes = type == CEL_LIN_F32 ? 4 : 2, groups = (n + repeat - 1) / repeat;
  p += first * bytes;
  __m256 v = n == 8 && repeat == 1 ? load_floats8(p, type) : load_some(p, bytes, type, groups);
  v = repeat_lanes(v, repeat);
  return n == 8 ? v : _mm256_and_ps(v, _mm256_castsi256_ps(first_lanes(n)));
}

// n: units of the batch that exist.
static CEL_ALWAYS_INLINE void affine_scales(lin_kind f, const cel_linear *w, int64_t row, int64_t u0, int64_t n,
                                            float *s, float *b) {
  int halves = halves_of(f), span = unit_of(f) / halves, repeat = w->group / span;
  int bytes = w->scale_type == CEL_LIN_F32 ? 4 : 2;
  int64_t groups = w->cols / w->group, at = row * groups * bytes, left = (w->cols - u0 * unit_of(f) + span - 1) / span;
  if (left > n * halves) left = n * halves;
  for (int h = 0; h < halves; h++) {
    int64_t first = (u0 * halves + 8 * h) / repeat;
    int here = (int)CEL_MAX(0, CEL_MIN(8, left - 8 * h));
    _mm256_storeu_ps(s + 8 * h, affine_values(w->scales + at, w->scale_type, first, repeat, here));
    _mm256_storeu_ps(b + 8 * h, affine_values(w->biases + at, w->scale_type, first, repeat, here));
  }
}

// Formats whose scales are no f16 of each block; false for the others.
static CEL_ALWAYS_INLINE bool small_scales(lin_kind f, const cel_linear *w, const uint8_t *p, int64_t row, int64_t u0,
                                           int64_t n, float *s, float *b) {
  float d;
  switch (f) {
    case K_Q2_K: q2_scales(p, s, b); return true;
    case K_Q3_K: q3_scales(p, s); return true;
    case K_IQ4_XS: xs_scales(p, s); return true;
    case K_TQ1_0: _mm256_storeu_ps(s, set8(cel_lin_f16(p + 52))); return true;
    case K_TQ2_0: _mm256_storeu_ps(s, set8(cel_lin_f16(p + 64))); return true;
    case K_Q8_K:
      memcpy(&d, p, 4);
      _mm256_storeu_ps(s, set8(d));
      return true;
    case K_MXFP4:
    case K_MLX_MXFP4:
    case K_MLX_NVFP4: byte_scales(f, w, p, row, u0, n, s); return true;
    default: return false;
  }
}

static CEL_ALWAYS_INLINE void batch_scales(lin_kind f, const cel_linear *w, const uint8_t *p, int64_t row, int64_t u0,
                                           int64_t n, float *s, float *b) {
  int stride = block_bytes_of(f);
  if (f == K_Q4_K || f == K_Q5_K) {
    __m128i k = k_scales(p + 4);
    __m256 d = set8(cel_lin_f16(p)), m = set8(-cel_lin_f16(p + 2));
    _mm256_storeu_ps(s, _mm256_mul_ps(d, _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(k))));
    _mm256_storeu_ps(b, _mm256_mul_ps(m, _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_srli_si128(k, 8)))));
  } else if (f == K_Q6_K) {
    __m256 d = set8(cel_lin_f16(p + 208));
    __m128i k = _mm_loadu_si128((const void *)(p + 192));
    _mm256_storeu_ps(s, _mm256_mul_ps(d, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(k))));
    _mm256_storeu_ps(s + 8, _mm256_mul_ps(d, _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(k, 8)))));
  } else if (affine(f)) {
    affine_scales(f, w, row, u0, n, s, b);
  } else if (small_scales(f, w, p, row, u0, n, s, b)) {
    return;
  } else if (n == 8) {
    _mm256_storeu_ps(s, f16_strided(p, stride));
    if (biased(f)) _mm256_storeu_ps(b, f16_strided(p + 2, stride));
  } else {
    _mm256_storeu_ps(s, load_some(p, stride, CEL_LIN_F16, (int)n));
    if (biased(f)) _mm256_storeu_ps(b, load_some(p + 2, stride, CEL_LIN_F16, (int)n));
  }
}

#endif
