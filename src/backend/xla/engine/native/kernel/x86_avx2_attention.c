// AVX2: attention. The rows (token, query head) of a block walk the key tiles together, two at a time where
// both see the whole tile. A score is summed in eight lanes over d however many keys and rows go along, and
// p.v runs over the keys in order: no bit depends on the block.
#include "backend/xla/engine/native/kernel/kernel.h"

#if defined(__x86_64__)
#include <math.h>

#include "backend/xla/engine/native/kernel/attention.h"
#include "backend/xla/engine/native/kernel/scalar.h"
#include "backend/xla/engine/native/kernel/x86_avx2.h"
#include "backend/xla/engine/native/kernel/x86_avx2_vec.h"
#include "base/half.h"
#include "base/macros.h"

enum { TILE = CEL_ATTENTION_TILE };

// Eight vectors to the eight sums of their lanes, each in the order of reduce8.
static CEL_ALWAYS_INLINE __m256 reduce8x8(const __m256 *a) {
  __m256 pair[4], two[2];
  for (int i = 0; i < 4; i++)  // keys i and i + 4: lanes 0..3 of the one, then of the other
    pair[i] = _mm256_add_ps(_mm256_permute2f128_ps(a[i], a[i + 4], 0x20), _mm256_permute2f128_ps(a[i], a[i + 4], 0x31));
  for (int i = 0; i < 2; i++)
    two[i] = _mm256_add_ps(_mm256_shuffle_ps(pair[2 * i], pair[2 * i + 1], 0x44),
                           _mm256_shuffle_ps(pair[2 * i], pair[2 * i + 1], 0xEE));
  return _mm256_add_ps(_mm256_shuffle_ps(two[0], two[1], 0x88), _mm256_shuffle_ps(two[0], two[1], 0xDD));
}

static CEL_ALWAYS_INLINE __m256 load4(const float *p) { return _mm256_zextps128_ps256(_mm_loadu_ps(p)); }

// Keys or values of a tile, `width` elements apart; how they are kept and whether they come from memory are constants
// wherever functions are inlined.
typedef struct kv {
  const void *p;
  int64_t width;
  cel_kv kind;
  bool cold;
} kv;
static CEL_ALWAYS_INLINE const void *element(kv t, int64_t i) { return (const char *)t.p + i * cel_kv_bytes(t.kind); }
static CEL_ALWAYS_INLINE kv kv_at(kv t, int64_t row, int64_t column) {
  t.p = element(t, row * t.width + column);
  return t;
}
// Asks for n elements, soon.
static CEL_ALWAYS_INLINE void fetch(kv t, int64_t row, int64_t n) {
  if (!t.cold) return;
  const char *p = element(t, row * t.width);
  for (int64_t at = 0; at < n * cel_kv_bytes(t.kind); at += 64) _mm_prefetch(p + at, _MM_HINT_T0);
}
static CEL_ALWAYS_INLINE __m256 kv8(kv t, int64_t i) {
  switch (t.kind) {
    case CEL_KV_F16: return _mm256_cvtph_ps(_mm_loadu_si128(element(t, i)));
    case CEL_KV_I16: return _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(_mm_loadu_si128(element(t, i))));
    default: return _mm256_loadu_ps(element(t, i));
  }
}
static CEL_ALWAYS_INLINE __m128 kv4(kv t, int64_t i) {
  switch (t.kind) {
    case CEL_KV_F16: return _mm_cvtph_ps(_mm_loadl_epi64(element(t, i)));
    case CEL_KV_I16: return _mm_cvtepi32_ps(_mm_cvtepi16_epi32(_mm_loadl_epi64(element(t, i))));
    default: return _mm_loadu_ps(element(t, i));
  }
}
static CEL_ALWAYS_INLINE __m256 key4(kv k, int64_t i) { return _mm256_zextps128_ps256(kv4(k, i)); }

static CEL_ALWAYS_INLINE __m256 dots8(const float *q, kv k, int d) {
  __m256 acc[8];
  for (int j = 0; j < 8; j++) acc[j] = _mm256_setzero_ps();
  int c = 0;
  for (; c + 8 <= d; c += 8) {
    __m256 x = _mm256_loadu_ps(q + c);
    for (int j = 0; j < 8; j++) acc[j] = _mm256_fmadd_ps(x, kv8(k, j * k.width + c), acc[j]);
  }
  if (c < d)
    for (int j = 0; j < 8; j++) acc[j] = _mm256_fmadd_ps(load4(q + c), key4(k, j * k.width + c), acc[j]);
  return reduce8x8(acc);
}

// Four keys against two queries: lanes 0..3 for the one, 4..7 for the other.
static CEL_ALWAYS_INLINE __m256 dots2x4(const float *q0, const float *q1, kv k, int d) {
  __m256 acc[8];
  for (int j = 0; j < 8; j++) acc[j] = _mm256_setzero_ps();
  int c = 0;
  for (; c + 8 <= d; c += 8) {
    __m256 x0 = _mm256_loadu_ps(q0 + c), x1 = _mm256_loadu_ps(q1 + c);
    for (int j = 0; j < 4; j++) {
      __m256 y = kv8(k, j * k.width + c);
      acc[j] = _mm256_fmadd_ps(x0, y, acc[j]);
      acc[j + 4] = _mm256_fmadd_ps(x1, y, acc[j + 4]);
    }
  }
  if (c < d)
    for (int j = 0; j < 4; j++) {
      acc[j] = _mm256_fmadd_ps(load4(q0 + c), key4(k, j * k.width + c), acc[j]);
      acc[j + 4] = _mm256_fmadd_ps(load4(q1 + c), key4(k, j * k.width + c), acc[j + 4]);
    }
  return reduce8x8(acc);
}

static CEL_ALWAYS_INLINE float dot1(const float *q, kv k, int d) {
  __m256 acc = _mm256_setzero_ps();
  int c = 0;
  for (; c + 8 <= d; c += 8) acc = _mm256_fmadd_ps(_mm256_loadu_ps(q + c), kv8(k, c), acc);
  if (c < d) acc = _mm256_fmadd_ps(load4(q + c), key4(k, c), acc);
  return reduce8(acc);
}

// s[0..64) = q.k of a tile at k; keys outside [j0, j1) get -infinity and are not read. The values come next.
static CEL_ALWAYS_INLINE void scores(const float *q, kv k, kv v, int d, int j0, int j1, float *s) {
  for (int j = 0; j < TILE; j += 8) {
    fetch(v, j, 8 * v.width);
    if (j >= j0 && j + 8 <= j1) {
      _mm256_storeu_ps(s + j, dots8(q, kv_at(k, j, 0), d));
      continue;
    }
    for (int i = j; i < j + 8; i++) s[i] = i >= j0 && i < j1 ? dot1(q, kv_at(k, i, 0), d) : -INFINITY;
  }
}

static CEL_ALWAYS_INLINE void scores2(const float *q0, const float *q1, kv k, kv v, int d, float *s0, float *s1) {
  for (int j = 0; j < TILE; j += 4) {
    fetch(v, j, 4 * v.width);
    __m256 both = dots2x4(q0, q1, kv_at(k, j, 0), d);
    _mm_storeu_ps(s0 + j, _mm256_castps256_ps128(both));
    _mm_storeu_ps(s1 + j, _mm256_extractf128_ps(both, 1));
  }
}

// `step`: of each key, or NULL. What is not seen stays -infinity.
static void scale_scores(const cel_attention *a, const float *step, float *s) {
  for (int j = 0; j < TILE; j += 8) {
    __m256 raw = _mm256_loadu_ps(s + j), v = raw;
    if (step) v = _mm256_blendv_ps(_mm256_mul_ps(raw, _mm256_loadu_ps(step + j)), raw, _mm256_cmp_ps(raw, set8(-INFINITY), _CMP_EQ_OQ));
    v = _mm256_mul_ps(v, set8(a->scale));
    if (a->softcap > 0) {
      __m256 t = _mm256_mul_ps(set8(a->softcap), tanh8(_mm256_div_ps(v, set8(a->softcap))));
      v = _mm256_blendv_ps(t, v, _mm256_cmp_ps(v, set8(-INFINITY), _CMP_EQ_OQ));
    }
    _mm256_storeu_ps(s + j, v);
  }
}

static float max64(const float *s) {
  __m256 m = _mm256_loadu_ps(s);
  for (int j = 8; j < TILE; j += 8) m = _mm256_max_ps(m, _mm256_loadu_ps(s + j));
  __m128 h = _mm_max_ps(_mm256_castps256_ps128(m), _mm256_extractf128_ps(m, 1));
  h = _mm_max_ps(h, _mm_movehl_ps(h, h));
  return _mm_cvtss_f32(_mm_max_ss(h, _mm_movehdup_ps(h)));
}

// s becomes exp(s - most); returns the sum.
static float weights(float *s, float most) {
  __m256 sum = _mm256_setzero_ps();
  for (int j = 0; j < TILE; j += 8) {
    __m256 p = exp8(_mm256_sub_ps(_mm256_loadu_ps(s + j), set8(most)));
    _mm256_storeu_ps(s + j, p);
    sum = _mm256_add_ps(sum, p);
  }
  return reduce8(sum);
}

// out[0..8n) = out * keep + sum over j of p[j] * v[j][0..8n). The columns of `next` come next: keys of the tile behind.
static CEL_ALWAYS_INLINE void add_values(float *out, const float *p, kv v, kv next, int j0, int j1, float keep, int n) {
  __m256 acc[8];
  for (int c = 0; c < n; c++) acc[c] = _mm256_mul_ps(_mm256_loadu_ps(out + 8 * c), set8(keep));
  for (int j = j0; j < j1; j++) {
    __m256 w = _mm256_broadcast_ss(p + j);
    fetch(next, j, 8 * n);
    for (int c = 0; c < n; c++) acc[c] = _mm256_fmadd_ps(w, kv8(v, j * v.width + 8 * c), acc[c]);
  }
  for (int c = 0; c < n; c++) _mm256_storeu_ps(out + 8 * c, acc[c]);
}

// Two rows, 32 columns, all keys of the tile.
static CEL_ALWAYS_INLINE void add_values2(float *out0, float *out1, const float *p0, const float *p1, kv v, kv next,
                                          float keep0, float keep1) {
  __m256 acc[8];
  for (int c = 0; c < 4; c++) {
    acc[c] = _mm256_mul_ps(_mm256_loadu_ps(out0 + 8 * c), set8(keep0));
    acc[c + 4] = _mm256_mul_ps(_mm256_loadu_ps(out1 + 8 * c), set8(keep1));
  }
  for (int j = 0; j < TILE; j++) {
    __m256 w0 = _mm256_broadcast_ss(p0 + j), w1 = _mm256_broadcast_ss(p1 + j);
    fetch(next, j, 32);
    for (int c = 0; c < 4; c++) {
      __m256 x = kv8(v, j * v.width + 8 * c);
      acc[c] = _mm256_fmadd_ps(w0, x, acc[c]);
      acc[c + 4] = _mm256_fmadd_ps(w1, x, acc[c + 4]);
    }
  }
  for (int c = 0; c < 4; c++) {
    _mm256_storeu_ps(out0 + 8 * c, acc[c]);
    _mm256_storeu_ps(out1 + 8 * c, acc[c + 4]);
  }
}

static CEL_ALWAYS_INLINE void add_values4(float *out, const float *p, kv v, int j0, int j1, float keep) {
  __m128 acc = _mm_mul_ps(_mm_loadu_ps(out), _mm_set1_ps(keep));
  for (int j = j0; j < j1; j++) acc = _mm_fmadd_ps(_mm_set1_ps(p[j]), kv4(v, j * v.width), acc);
  _mm_storeu_ps(out, acc);
}

// n columns of rows d apart.
static CEL_ALWAYS_INLINE void add_columns(float *out, const float *p, kv v, kv next, int n, int j0, int j1, float keep) {
  int c = 0;
  for (; c + 64 <= n; c += 64) add_values(out + c, p, kv_at(v, 0, c), kv_at(next, 0, c), j0, j1, keep, 8);
  if (c + 32 <= n) {
    add_values(out + c, p, kv_at(v, 0, c), kv_at(next, 0, c), j0, j1, keep, 4);
    c += 32;
  }
  for (; c + 8 <= n; c += 8) add_values(out + c, p, kv_at(v, 0, c), kv_at(next, 0, c), j0, j1, keep, 1);
  if (c < n) add_values4(out + c, p, kv_at(v, 0, c), j0, j1, keep);
}

static float exp1(float x) { return _mm256_cvtss_f32(exp8(set8(x))); }

typedef struct row {
  const float *q;
  float *out;
  int64_t begin, end;  // its keys
  float most, total;
} row;

// Turns the products of one tile into weights; returns by how much what was summed so far shrinks.
static float join_tile(const cel_attention *a, row *r, const cel_attention_scratch *steps, float *s) {
  const bool stepped = a->kv == CEL_KV_I16;
  scale_scores(a, stepped ? steps->k_step : NULL, s);
  float next = max64(s);
  if (r->most > next) next = r->most;
  float keep = exp1(r->most - next), sum = weights(s, next);
  r->total = r->total * keep + sum;
  r->most = next;
  for (int j = 0; stepped && j < TILE; j += 8)
    _mm256_storeu_ps(s + j, _mm256_mul_ps(_mm256_loadu_ps(s + j), _mm256_loadu_ps(steps->v_step + j)));
  return keep;
}

static CEL_ALWAYS_INLINE void attend_tile(const cel_attention *a, row *r, int64_t tile, kv k, kv v,
                                          const cel_attention_scratch *steps, float *s) {
  int j0 = (int)(r->begin > tile ? r->begin - tile : 0), j1 = (int)(r->end - tile < TILE ? r->end - tile : TILE);
  if (j0 >= j1) return;
  scores(r->q, k, v, a->d, j0, j1, s);
  float keep = join_tile(a, r, steps, s);
  add_columns(r->out, s, v, kv_at(k, TILE, 0), a->dv, j0, j1, keep);
}

static bool sees_all(const row *r, int64_t tile) { return r->begin <= tile && r->end >= tile + TILE; }

// Rows r[0] and r[1].
static CEL_ALWAYS_INLINE void attend_two(const cel_attention *a, row *r, int64_t tile, kv k, kv v,
                                         const cel_attention_scratch *steps, float *s0, float *s1) {
  if (!sees_all(&r[0], tile) || !sees_all(&r[1], tile)) {
    attend_tile(a, &r[0], tile, k, v, steps, s0);
    attend_tile(a, &r[1], tile, k, v, steps, s1);
    return;
  }
  scores2(r[0].q, r[1].q, k, v, a->d, s0, s1);
  float keep0 = join_tile(a, &r[0], steps, s0), keep1 = join_tile(a, &r[1], steps, s1);
  int c = 0;
  for (; c + 32 <= a->dv; c += 32) add_values2(r[0].out + c, r[1].out + c, s0, s1, kv_at(v, 0, c), kv_at(k, TILE, c), keep0, keep1);
  if (c == a->dv) return;
  add_columns(r[0].out + c, s0, kv_at(v, 0, c), kv_at(k, TILE, c), a->dv - c, 0, TILE, keep0);
  add_columns(r[1].out + c, s1, kv_at(v, 0, c), kv_at(k, TILE, c), a->dv - c, 0, TILE, keep1);
}

static void finish(const row *r, int d) {
  __m256 total = set8(r->total);
  for (int c = 0; c < d; c += 8) {
    int n = d - c < 8 ? d - c : 8;
    __m256 v = r->total == 0 ? _mm256_setzero_ps() : _mm256_div_ps(load_first(r->out + c, n), total);
    store_first(r->out + c, n, v);
  }
}

void cel_avx2_narrow_f16(uint16_t *y, const float *x, int64_t n) {
  const __m256 most = set8(65504), least = set8(-65504);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {  // min and max give their second operand when either is NaN
    __m256 v = _mm256_max_ps(least, _mm256_min_ps(most, _mm256_loadu_ps(x + i)));
    _mm_storeu_si128((void *)(y + i), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  if (i < n) cel_scalar_narrow_f16(y + i, x + i, n - i);
}

// The largest magnitude, at least CEL_KV_LEAST; NaN when one is.
static float largest(const float *x, int64_t n) {
  const __m256 sign = set8(-0.0f);
  __m256 most = set8(CEL_KV_LEAST), odd = _mm256_setzero_ps();
  for (int64_t i = 0; i < n; i += 8) {
    __m256 v = _mm256_andnot_ps(sign, load_first(x + i, n - i < 8 ? (int)(n - i) : 8));
    most = _mm256_max_ps(most, v);
    odd = _mm256_or_ps(odd, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
  }
  if (_mm256_movemask_ps(odd)) return NAN;
  __m128 h = _mm_max_ps(_mm256_castps256_ps128(most), _mm256_extractf128_ps(most, 1));
  h = _mm_max_ps(h, _mm_movehl_ps(h, h));
  return _mm_cvtss_f32(_mm_max_ss(h, _mm_movehdup_ps(h)));
}

void cel_avx2_narrow_i16(int16_t *y, const float *x, int64_t n) {
  const float step = largest(x, n) * (1.0f / 32767);
  int64_t i = 0;
  for (; isfinite(step) && i + 8 <= n; i += 8) {
    __m256i v = _mm256_cvtps_epi32(_mm256_div_ps(_mm256_loadu_ps(x + i), set8(step)));
    v = _mm256_max_epi32(_mm256_min_epi32(v, _mm256_set1_epi32(32767)), _mm256_set1_epi32(-32767));
    _mm_storeu_si128((void *)(y + i), _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)));
  }
  for (; i < n; i++) y[i] = cel_kv_steps(x[i], step);
  memcpy(y + n, &step, sizeof step);
}

// Rows of d elements, `width` apart, as floats next to each other.
static CEL_ALWAYS_INLINE void widen(kv t, int d, int64_t first, int64_t past, float *out) {
  for (int64_t j = first; j < past; j++) {
    int c = 0;
    for (; c + 8 <= d; c += 8) _mm256_storeu_ps(out + j * d + c, kv8(t, j * t.width + c));
    if (c < d) _mm_storeu_ps(out + j * d + c, kv4(t, j * t.width + c));
  }
}

static void load_steps(kv t, int d, int64_t first, int64_t past, float *step) {
  for (int j = 0; j < TILE; j++) step[j] = 1;  // those not to be read
  for (int64_t j = first; j < past; j++) step[j] = cel_attention_step(element(t, j * t.width), d);
}

static CEL_ALWAYS_INLINE void attend_rows(const cel_attention *a, row *rows, int n, int64_t tile, kv k, kv v,
                                          cel_attention_scratch *scratch) {
  int i = 0;
  for (; i + 2 <= n; i += 2) attend_two(a, &rows[i], tile, k, v, scratch, scratch->s[i], scratch->s[i + 1]);
  if (i < n) attend_tile(a, &rows[i], tile, k, v, scratch, scratch->s[i]);
}

// A tile for few rows comes from memory and is widened as it is read. For more of them what they see of it is widened once.
enum { FEW_ROWS = 2 };

static CEL_ALWAYS_INLINE void attend_kept(const cel_attention *a, row *rows, int n, int64_t tile, int64_t first, int64_t past, kv k,
                                          kv v, cel_attention_scratch *scratch) {
  if (k.kind == CEL_KV_I16) {
    load_steps(k, a->d, first, past, scratch->k_step);
    load_steps(v, a->d, first, past, scratch->v_step);
  }
  if (n <= FEW_ROWS || k.kind == CEL_KV_F32) {
    k.cold = v.cold = n <= FEW_ROWS;
    attend_rows(a, rows, n, tile, k, v, scratch);
    return;
  }
  float *wide_k = (float *)(void *)(scratch + 1), *wide_v = v.p == k.p ? wide_k : wide_k + (int64_t)TILE * a->d;
  widen(k, a->d, first, past, wide_k);
  if (wide_v != wide_k) widen(v, a->d, first, past, wide_v);
  attend_rows(a, rows, n, tile, (kv){wide_k, a->d, CEL_KV_F32, false}, (kv){wide_v, a->d, CEL_KV_F32, false}, scratch);
}

// Keys and values from element `at` on, those of the tile at `tile`, of which some row sees [begin, end).
static void attend_tile_of(const cel_attention *a, row *rows, int n, int64_t tile, int64_t begin, int64_t end, int64_t at,
                           cel_attention_scratch *scratch) {
  const int64_t first = CEL_MAX(tile, begin) - tile, past = CEL_MIN(tile + TILE, end) - tile;
  const int64_t bytes = at * cel_kv_bytes(a->kv);
  const void *k = (const char *)a->k + bytes, *v = (const char *)a->v + bytes;
  switch (a->kv) {
#define KIND(kind) \
  case kind: attend_kept(a, rows, n, tile, first, past, (kv){k, a->width, kind, false}, (kv){v, a->width, kind, false}, scratch); break;
    KIND(CEL_KV_F32)
    KIND(CEL_KV_F16)
    KIND(CEL_KV_I16)
#undef KIND
  }
}

static void attend_block(const cel_attention *a, cel_attention_range g, cel_attention_scratch *scratch) {
  row rows[CEL_ATTENTION_ROWS];
  int n = 0;
  int64_t begin = INT64_MAX, end = 0;
  for (int64_t i = g.token_begin; i < g.token_end; i++)
    for (int h = g.head_begin; h < g.head_end; h++) {
      int64_t at = i * a->n_q + h;
      row *r = &rows[n++];
      *r = (row){a->q + at * a->d, a->out + at * a->dv, cel_attention_first(a, i), (int64_t)a->positions[i] + 1,
                 a->sinks ? a->sinks[h] : -INFINITY, a->sinks ? 1 : 0};
      memset(r->out, 0, (size_t)a->dv * sizeof(float));
      if (r->begin < begin) begin = r->begin;
      if (r->end > end) end = r->end;
    }
  int64_t slot = a->slots[g.token_begin * a->slot_step], head = g.head_begin / (a->n_q / a->n_kv);
  int64_t base = slot * a->slot_stride + head * a->head_stride;
  for (int64_t tile = begin / TILE * TILE; tile < end; tile += TILE) {
    attend_tile_of(a, rows, n, tile, begin, end, base + tile * a->width, scratch);
  }
  for (int i = 0; i < n; i++) finish(&rows[i], a->dv);
}

void cel_avx2_attention(const cel_attention *a, int64_t item_begin, int64_t item_end, void *scratch) {
  cel_attention_split s = cel_attention_split_of(a);
  for (int64_t item = item_begin; item < item_end; item++)
    attend_block(a, cel_attention_range_of(a, &s, item), scratch);
}

#endif
