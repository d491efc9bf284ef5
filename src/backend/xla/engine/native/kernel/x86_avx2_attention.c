// AVX2: attention. The rows (token, query head) of a block walk the key tiles together, up to four at a time where they see the
// same keys of a tile. A score is summed in eight lanes over d however many keys and rows go along, and p.v runs over the keys in
// order: no bit depends on the block.
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

typedef cel_attention_row row;

// Rows that go along are a constant wherever functions are inlined: with one, eight keys or vectors of columns at a time,
// with two of them four, else two. Sums fill eight registers.
enum { MOST_ROWS = 4 };
#define PER_ROW(n) ((n) == 1 ? 8 : (n) == 2 ? 4 : 2)

// v, in a register: not read again for each of n rows. With two of them compilers do well alone.
static CEL_ALWAYS_INLINE __m256 loaded(__m256 v, int n) {
  if (n > 2) __asm__("" : "+x"(v));
  return v;
}

// Rows against the keys at k, those of a row next to each other in lanes.
static CEL_ALWAYS_INLINE __m256 dots(const row *r, int n, kv k, int d) {
  const int keys = PER_ROW(n);
  __m256 acc[8], x[MOST_ROWS];
  for (int i = 0; i < 8; i++) acc[i] = _mm256_setzero_ps();
  int c = 0;
  for (; c + 8 <= d; c += 8) {
    for (int i = 0; i < n; i++) x[i] = loaded(_mm256_loadu_ps(r[i].q + c), n);
    for (int j = 0; j < keys; j++) {
      __m256 key = loaded(kv8(k, j * k.width + c), n);
      for (int i = 0; i < n; i++) acc[i * keys + j] = _mm256_fmadd_ps(x[i], key, acc[i * keys + j]);
    }
  }
  if (c < d)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < keys; j++)
        acc[i * keys + j] = _mm256_fmadd_ps(load4(r[i].q + c), key4(k, j * k.width + c), acc[i * keys + j]);
  return reduce8x8(acc);
}

static CEL_ALWAYS_INLINE void store_dots(float (*s)[TILE], int n, int j, __m256 dots) {
  __m128 low = _mm256_castps256_ps128(dots), high = _mm256_extractf128_ps(dots, 1);
  switch (n) {
    case 1: _mm256_storeu_ps(s[0] + j, dots); break;
    case 2:
      _mm_storeu_ps(s[0] + j, low);
      _mm_storeu_ps(s[1] + j, high);
      break;
    default:
      _mm_storel_pi((void *)(s[0] + j), low);
      _mm_storeh_pi((void *)(s[1] + j), low);
      _mm_storel_pi((void *)(s[2] + j), high);
      if (n > 3) _mm_storeh_pi((void *)(s[3] + j), high);
  }
}

static CEL_ALWAYS_INLINE float dot1(const float *q, kv k, int d) {
  __m256 acc = _mm256_setzero_ps();
  int c = 0;
  for (; c + 8 <= d; c += 8) acc = _mm256_fmadd_ps(_mm256_loadu_ps(q + c), kv8(k, c), acc);
  if (c < d) acc = _mm256_fmadd_ps(load4(q + c), key4(k, c), acc);
  return reduce8(acc);
}

// s[row][0..64) = q.k of a tile at k; keys outside [j0, j1) get -infinity and are not read. The values come next.
static CEL_ALWAYS_INLINE void scores(const row *r, int n, kv k, kv v, int d, int j0, int j1, float (*s)[TILE]) {
  const int keys = PER_ROW(n);
  for (int j = 0; j < TILE; j += keys) {
    fetch(v, j, keys * v.width);
    if (j >= j0 && j + keys <= j1) {
      store_dots(s, n, j, dots(r, n, kv_at(k, j, 0), d));
      continue;
    }
    for (int i = 0; i < n; i++)
      for (int at = j; at < j + keys; at++) s[i][at] = at >= j0 && at < j1 ? dot1(r[i].q, kv_at(k, at, 0), d) : -INFINITY;
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

// out[c..c + 8 columns) = out * keep + sum over j of s[row][j] * v[j][0..8 columns) for each row. The columns of `next` come next: keys
// of the tile behind.
static CEL_ALWAYS_INLINE void add_values(const row *r, int n, int c, float (*s)[TILE], kv v, kv next, int j0, int j1, const float *keep,
                                         int columns) {
  __m256 acc[8];
  for (int i = 0; i < n; i++)
    for (int x = 0; x < columns; x++) acc[i * columns + x] = _mm256_mul_ps(_mm256_loadu_ps(r[i].out + c + 8 * x), set8(keep[i]));
  for (int j = j0; j < j1; j++) {
    __m256 w[MOST_ROWS];
    fetch(next, j, 8 * columns);
    for (int i = 0; i < n; i++) w[i] = loaded(_mm256_broadcast_ss(s[i] + j), n);
    for (int x = 0; x < columns; x++) {
      __m256 value = loaded(kv8(v, j * v.width + 8 * x), n);
      for (int i = 0; i < n; i++) acc[i * columns + x] = _mm256_fmadd_ps(w[i], value, acc[i * columns + x]);
    }
  }
  for (int i = 0; i < n; i++)
    for (int x = 0; x < columns; x++) _mm256_storeu_ps(r[i].out + c + 8 * x, acc[i * columns + x]);
}

static CEL_ALWAYS_INLINE void add_values4(float *out, const float *p, kv v, int j0, int j1, float keep) {
  __m128 acc = _mm_mul_ps(_mm_loadu_ps(out), _mm_set1_ps(keep));
  for (int j = j0; j < j1; j++) acc = _mm_fmadd_ps(_mm_set1_ps(p[j]), kv4(v, j * v.width), acc);
  _mm_storeu_ps(out, acc);
}

// All dv columns; `k`: the keys of this tile.
static CEL_ALWAYS_INLINE void add_columns(const row *r, int n, float (*s)[TILE], kv k, kv v, int dv, int j0, int j1, const float *keep) {
  const int columns = PER_ROW(n);
  int c = 0;
  for (; c + 8 * columns <= dv; c += 8 * columns)
    add_values(r, n, c, s, kv_at(v, 0, c), kv_at(k, TILE, c), j0, j1, keep, columns);
  for (int i = 0; i < n; i++) {
    int rest = c;
    for (; rest + 8 <= dv; rest += 8) add_values(r + i, 1, rest, s + i, kv_at(v, 0, rest), kv_at(k, TILE, rest), j0, j1, keep + i, 1);
    if (rest < dv) add_values4(r[i].out + rest, s[i], kv_at(v, 0, rest), j0, j1, keep[i]);
  }
}

static float exp1(float x) { return _mm256_cvtss_f32(exp8(set8(x))); }

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

static int first_key(const row *r, int64_t tile) { return (int)CEL_MAX(r->begin - tile, 0); }
static int past_key(const row *r, int64_t tile) { return (int)CEL_MIN(r->end - tile, TILE); }

// n rows that see the same keys of the tile.
static CEL_ALWAYS_INLINE void attend_together(const cel_attention *a, row *r, int n, int64_t tile, kv k, kv v,
                                              const cel_attention_scratch *steps, float (*s)[TILE]) {
  const int j0 = first_key(r, tile), j1 = past_key(r, tile);
  float keep[MOST_ROWS];
  if (j0 >= j1) return;
  scores(r, n, k, v, a->d, j0, j1, s);
  for (int i = 0; i < n; i++) keep[i] = join_tile(a, &r[i], steps, s[i]);
  add_columns(r, n, s, k, v, a->dv, j0, j1, keep);
}

// How many rows from r on, of at most n, see what r sees of the tile.
static int alike(const row *r, int n, int64_t tile) {
  int i = 1;
  while (i < n && first_key(&r[i], tile) == first_key(r, tile) && past_key(&r[i], tile) == past_key(r, tile)) i++;
  return i;
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

// The largest magnitude, at least CEL_KEPT_LEAST; NaN when one is.
static float largest(const float *x, int64_t n) {
  const __m256 sign = set8(-0.0f);
  __m256 most = set8(CEL_KEPT_LEAST), odd = _mm256_setzero_ps();
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

// Eight numbers in whole steps, at most `most` either way.
static CEL_ALWAYS_INLINE __m128i steps8(const float *x, float step, int most) {
  __m256i v = _mm256_cvtps_epi32(_mm256_div_ps(_mm256_loadu_ps(x), set8(step)));
  v = _mm256_max_epi32(_mm256_min_epi32(v, _mm256_set1_epi32(most)), _mm256_set1_epi32(-most));
  return _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}

void cel_avx2_narrow_i16(int16_t *y, const float *x, int64_t n) {
  const float step = largest(x, n) * (1.0f / CEL_KEPT_I16_STEPS);
  int64_t i = 0;
  for (; isfinite(step) && i + 8 <= n; i += 8) _mm_storeu_si128((void *)(y + i), steps8(x + i, step, CEL_KEPT_I16_STEPS));
  for (; i < n; i++) y[i] = (int16_t)cel_kv_steps(x[i], step, CEL_KEPT_I16_STEPS);
  memcpy(y + n, &step, sizeof step);
}

void cel_avx2_narrow_i8(int8_t *y, const float *x, int64_t n) {
  const int group = cel_kept_group_i8((int)n);
  for (int64_t at = 0, g = 0; at < n; at += group, g++) {
    const float step = largest(x + at, group) * (1.0f / CEL_KEPT_I8_STEPS);
    int i = 0;
    for (; isfinite(step) && i + 8 <= group; i += 8) {
      const __m128i v = steps8(x + at + i, step, CEL_KEPT_I8_STEPS);
      _mm_storel_epi64((void *)(y + at + i), _mm_packs_epi16(v, v));
    }
    for (; i < group; i++) y[at + i] = (int8_t)cel_kv_steps(x[at + i], step, CEL_KEPT_I8_STEPS);
    memcpy(y + n + 4 * g, &step, sizeof step);
  }
}

// Rows of d elements, `width` apart, as floats next to each other.
static CEL_ALWAYS_INLINE void widen(kv t, int d, int64_t first, int64_t past, float *out) {
  for (int64_t j = first; j < past; j++) {
    int c = 0;
    for (; c + 8 <= d; c += 8) _mm256_storeu_ps(out + j * d + c, kv8(t, j * t.width + c));
    if (c < d) _mm_storeu_ps(out + j * d + c, kv4(t, j * t.width + c));
  }
}

// The same of bytes with their steps.
static CEL_ALWAYS_INLINE void widen_i8(kv t, int d, int64_t first, int64_t past, float *out) {
  const int group = cel_kept_group_i8(d);
  for (int64_t j = first; j < past; j++) {
    const int8_t *x = element(t, j * t.width);
    for (int c = 0; group >= 8 && c < d; c += 8) {
      const __m256 n = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)(x + c))));
      _mm256_storeu_ps(out + j * d + c, _mm256_mul_ps(n, set8(cel_attention_step_i8(x, d, c))));
    }
    for (int c = 0; group < 8 && c < d; c++) out[j * d + c] = x[c] * cel_attention_step_i8(x, d, c);
  }
}

static CEL_ALWAYS_INLINE void widen_any(kv t, int d, int64_t first, int64_t past, float *out) {
  if (t.kind == CEL_KV_I8) widen_i8(t, d, first, past, out);
  else widen(t, d, first, past, out);
}

static void load_steps(kv t, int d, int64_t first, int64_t past, float *step) {
  for (int j = 0; j < TILE; j++) step[j] = 1;  // those not to be read
  for (int64_t j = first; j < past; j++) step[j] = cel_attention_step(element(t, j * t.width), d);
}

// `most` rows at a time: as many as share what is widened on the way.
static CEL_ALWAYS_INLINE void attend_rows(const cel_attention *a, row *rows, int n, int most, int64_t tile, kv k, kv v,
                                          cel_attention_scratch *scratch) {
  for (int i = 0, taken; i < n; i += taken) {
    taken = alike(rows + i, CEL_MIN(most, n - i), tile);
    switch (taken) {
      case 1: attend_together(a, rows + i, 1, tile, k, v, scratch, scratch->s + i); break;
      case 2: attend_together(a, rows + i, 2, tile, k, v, scratch, scratch->s + i); break;
      case 3: if (most >= 3) attend_together(a, rows + i, 3, tile, k, v, scratch, scratch->s + i); break;
      case 4: if (most >= 4) attend_together(a, rows + i, 4, tile, k, v, scratch, scratch->s + i); break;
    }
  }
}

// A tile for few rows comes from memory and is widened as it is read, unless its steps change within a vector. For more of them what they
// see of it is widened once.
static CEL_ALWAYS_INLINE void attend_kept(const cel_attention *a, row *rows, int n, int64_t tile, int64_t first, int64_t past, kv k,
                                          kv v, cel_attention_scratch *scratch) {
  if (k.kind == CEL_KV_I16) {
    load_steps(k, a->d, first, past, scratch->k_step);
    load_steps(v, a->d, first, past, scratch->v_step);
  }
  if (k.kind != CEL_KV_I8 && (n <= MOST_ROWS || k.kind == CEL_KV_F32)) {
    k.cold = v.cold = n <= MOST_ROWS;
    attend_rows(a, rows, n, MOST_ROWS, tile, k, v, scratch);
    return;
  }
  float *wide_k = (float *)(void *)(scratch + 1), *wide_v = v.p == k.p ? wide_k : wide_k + (int64_t)TILE * a->d;
  widen_any(k, a->d, first, past, wide_k);
  if (wide_v != wide_k) widen_any(v, a->d, first, past, wide_v);
  attend_rows(a, rows, n, 2, tile, (kv){wide_k, a->d, CEL_KV_F32, false}, (kv){wide_v, a->d, CEL_KV_F32, false}, scratch);
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
    KIND(CEL_KV_I8)
    case CEL_KV_KINDS: break;
#undef KIND
  }
}

static void attend_block(const cel_attention *a, cel_attention_range g, cel_attention_scratch *scratch) {
  row rows[CEL_ATTENTION_ROWS];
  int64_t begin, end;
  const int n = cel_attention_rows_of(a, g, rows, &begin, &end);
  const int64_t base = cel_attention_base(a, g);
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
