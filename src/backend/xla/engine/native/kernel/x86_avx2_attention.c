// AVX2: attention. The rows (token, query head) of a block walk the key tiles together, two at a time where
// both see the whole tile. A score is summed in eight lanes over d however many keys and rows go along, and
// p.v runs over the keys in order: no bit depends on the block.
#include "backend/xla/engine/native/kernel/kernel.h"

#if defined(__x86_64__)
#include <math.h>

#include "backend/xla/engine/native/kernel/attention.h"
#include "backend/xla/engine/native/kernel/x86_avx2.h"
#include "backend/xla/engine/native/kernel/x86_avx2_vec.h"

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

static CEL_ALWAYS_INLINE __m256 dots8(const float *q, const float *k, int d) {
  __m256 acc[8];
  for (int j = 0; j < 8; j++) acc[j] = _mm256_setzero_ps();
  int c = 0;
  for (; c + 8 <= d; c += 8) {
    __m256 x = _mm256_loadu_ps(q + c);
    for (int j = 0; j < 8; j++) acc[j] = _mm256_fmadd_ps(x, _mm256_loadu_ps(k + j * d + c), acc[j]);
  }
  if (c < d)
    for (int j = 0; j < 8; j++) acc[j] = _mm256_fmadd_ps(load4(q + c), load4(k + j * d + c), acc[j]);
  return reduce8x8(acc);
}

// Four keys against two queries: lanes 0..3 for the one, 4..7 for the other.
static CEL_ALWAYS_INLINE __m256 dots2x4(const float *q0, const float *q1, const float *k, int d) {
  __m256 acc[8];
  for (int j = 0; j < 8; j++) acc[j] = _mm256_setzero_ps();
  int c = 0;
  for (; c + 8 <= d; c += 8) {
    __m256 x0 = _mm256_loadu_ps(q0 + c), x1 = _mm256_loadu_ps(q1 + c);
    for (int j = 0; j < 4; j++) {
      __m256 y = _mm256_loadu_ps(k + j * d + c);
      acc[j] = _mm256_fmadd_ps(x0, y, acc[j]);
      acc[j + 4] = _mm256_fmadd_ps(x1, y, acc[j + 4]);
    }
  }
  if (c < d)
    for (int j = 0; j < 4; j++) {
      acc[j] = _mm256_fmadd_ps(load4(q0 + c), load4(k + j * d + c), acc[j]);
      acc[j + 4] = _mm256_fmadd_ps(load4(q1 + c), load4(k + j * d + c), acc[j + 4]);
    }
  return reduce8x8(acc);
}

static float dot1(const float *q, const float *k, int d) {
  __m256 acc = _mm256_setzero_ps();
  int c = 0;
  for (; c + 8 <= d; c += 8) acc = _mm256_fmadd_ps(_mm256_loadu_ps(q + c), _mm256_loadu_ps(k + c), acc);
  if (c < d) acc = _mm256_fmadd_ps(load4(q + c), load4(k + c), acc);
  return reduce8(acc);
}

// s[0..64) = q.k of a tile at k; keys outside [j0, j1) get -infinity and are not read.
static void scores(const float *q, const float *k, int d, int j0, int j1, float *s) {
  for (int j = 0; j < TILE; j += 8) {
    if (j >= j0 && j + 8 <= j1) {
      _mm256_storeu_ps(s + j, dots8(q, k + j * d, d));
      continue;
    }
    for (int i = j; i < j + 8; i++) s[i] = i >= j0 && i < j1 ? dot1(q, k + i * d, d) : -INFINITY;
  }
}

static void scores2(const float *q0, const float *q1, const float *k, int d, float *s0, float *s1) {
  for (int j = 0; j < TILE; j += 4) {
    __m256 v = dots2x4(q0, q1, k + j * d, d);
    _mm_storeu_ps(s0 + j, _mm256_castps256_ps128(v));
    _mm_storeu_ps(s1 + j, _mm256_extractf128_ps(v, 1));
  }
}

static void scale_scores(const cel_attention *a, float *s) {
  for (int j = 0; j < TILE; j += 8) {
    __m256 v = _mm256_mul_ps(_mm256_loadu_ps(s + j), set8(a->scale));
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

// out[0..8n) = out * keep + sum over j of p[j] * v[j][0..8n).
static CEL_ALWAYS_INLINE void add_values(float *out, const float *p, const float *v, int d, int j0, int j1, float keep,
                                         int n) {
  __m256 acc[8];
  for (int c = 0; c < n; c++) acc[c] = _mm256_mul_ps(_mm256_loadu_ps(out + 8 * c), set8(keep));
  for (int j = j0; j < j1; j++) {
    __m256 w = _mm256_broadcast_ss(p + j);
    for (int c = 0; c < n; c++) acc[c] = _mm256_fmadd_ps(w, _mm256_loadu_ps(v + j * d + 8 * c), acc[c]);
  }
  for (int c = 0; c < n; c++) _mm256_storeu_ps(out + 8 * c, acc[c]);
}

// Two rows, 32 columns, all keys of the tile.
static CEL_ALWAYS_INLINE void add_values2(float *out0, float *out1, const float *p0, const float *p1, const float *v,
                                          int d, float keep0, float keep1) {
  __m256 acc[8];
  for (int c = 0; c < 4; c++) {
    acc[c] = _mm256_mul_ps(_mm256_loadu_ps(out0 + 8 * c), set8(keep0));
    acc[c + 4] = _mm256_mul_ps(_mm256_loadu_ps(out1 + 8 * c), set8(keep1));
  }
  for (int j = 0; j < TILE; j++) {
    __m256 w0 = _mm256_broadcast_ss(p0 + j), w1 = _mm256_broadcast_ss(p1 + j);
    for (int c = 0; c < 4; c++) {
      __m256 x = _mm256_loadu_ps(v + j * d + 8 * c);
      acc[c] = _mm256_fmadd_ps(w0, x, acc[c]);
      acc[c + 4] = _mm256_fmadd_ps(w1, x, acc[c + 4]);
    }
  }
  for (int c = 0; c < 4; c++) {
    _mm256_storeu_ps(out0 + 8 * c, acc[c]);
    _mm256_storeu_ps(out1 + 8 * c, acc[c + 4]);
  }
}

static void add_values4(float *out, const float *p, const float *v, int d, int j0, int j1, float keep) {
  __m128 acc = _mm_mul_ps(_mm_loadu_ps(out), _mm_set1_ps(keep));
  for (int j = j0; j < j1; j++) acc = _mm_fmadd_ps(_mm_set1_ps(p[j]), _mm_loadu_ps(v + j * d), acc);
  _mm_storeu_ps(out, acc);
}

// n columns of rows d apart.
static void add_columns(float *out, const float *p, const float *v, int d, int n, int j0, int j1, float keep) {
  int c = 0;
  for (; c + 64 <= n; c += 64) add_values(out + c, p, v + c, d, j0, j1, keep, 8);
  if (c + 32 <= n) {
    add_values(out + c, p, v + c, d, j0, j1, keep, 4);
    c += 32;
  }
  for (; c + 8 <= n; c += 8) add_values(out + c, p, v + c, d, j0, j1, keep, 1);
  if (c < n) add_values4(out + c, p, v + c, d, j0, j1, keep);
}

static float exp1(float x) { return _mm256_cvtss_f32(exp8(set8(x))); }

typedef struct row {
  const float *q;
  float *out;
  int64_t begin, end;  // its keys
  float most, total;
} row;

// Turns the products of one tile into weights; returns by how much what was summed so far shrinks.
static float join_tile(const cel_attention *a, row *r, float *s) {
  scale_scores(a, s);
  float next = max64(s);
  if (r->most > next) next = r->most;
  float keep = exp1(r->most - next), sum = weights(s, next);
  r->total = r->total * keep + sum;
  r->most = next;
  return keep;
}

static void attend_tile(const cel_attention *a, row *r, int64_t tile, const float *k, const float *v, float *s) {
  int j0 = (int)(r->begin > tile ? r->begin - tile : 0), j1 = (int)(r->end - tile < TILE ? r->end - tile : TILE);
  if (j0 >= j1) return;
  scores(r->q, k, a->d, j0, j1, s);
  float keep = join_tile(a, r, s);
  add_columns(r->out, s, v, a->d, a->dv, j0, j1, keep);
}

static bool sees_all(const row *r, int64_t tile) { return r->begin <= tile && r->end >= tile + TILE; }

// Rows r[0] and r[1].
static void attend_two(const cel_attention *a, row *r, int64_t tile, const float *k, const float *v, float *s0,
                       float *s1) {
  if (!sees_all(&r[0], tile) || !sees_all(&r[1], tile)) {
    attend_tile(a, &r[0], tile, k, v, s0);
    attend_tile(a, &r[1], tile, k, v, s1);
    return;
  }
  scores2(r[0].q, r[1].q, k, a->d, s0, s1);
  float keep0 = join_tile(a, &r[0], s0), keep1 = join_tile(a, &r[1], s1);
  int c = 0;
  for (; c + 32 <= a->dv; c += 32) add_values2(r[0].out + c, r[1].out + c, s0, s1, v + c, a->d, keep0, keep1);
  if (c == a->dv) return;
  add_columns(r[0].out + c, s0, v + c, a->d, a->dv - c, 0, TILE, keep0);
  add_columns(r[1].out + c, s1, v + c, a->d, a->dv - c, 0, TILE, keep1);
}

static void finish(const row *r, int d) {
  __m256 total = set8(r->total);
  for (int c = 0; c < d; c += 8) {
    int n = d - c < 8 ? d - c : 8;
    __m256 v = r->total == 0 ? _mm256_setzero_ps() : _mm256_div_ps(load_first(r->out + c, n), total);
    store_first(r->out + c, n, v);
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
    const float *k = a->k + base + tile * a->d, *v = a->v + base + tile * a->d;
    int i = 0;
    for (; i + 2 <= n; i += 2) attend_two(a, &rows[i], tile, k, v, scratch->s[i], scratch->s[i + 1]);
    if (i < n) attend_tile(a, &rows[i], tile, k, v, scratch->s[i]);
  }
  for (int i = 0; i < n; i++) finish(&rows[i], a->dv);
}

void cel_avx2_attention(const cel_attention *a, int64_t item_begin, int64_t item_end, void *scratch) {
  cel_attention_split s = cel_attention_split_of(a);
  for (int64_t item = item_begin; item < item_end; item++)
    attend_block(a, cel_attention_range_of(a, &s, item), scratch);
}

#endif
