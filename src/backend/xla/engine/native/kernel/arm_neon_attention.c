// NEON: attention. The rows (token, query head) of a block walk the key tiles together, two at a time where both see the whole
// tile. A score is summed in eight lanes over d however many keys and rows go along, and p.v runs over the keys in order: no bit
// depends on the block.
#include "backend/xla/engine/native/kernel/kernel.h"

#if defined(__aarch64__)
#include <math.h>

#include "backend/xla/engine/native/kernel/arm_neon.h"
#include "backend/xla/engine/native/kernel/arm_neon_vec.h"
#include "backend/xla/engine/native/kernel/attention.h"

enum { TILE = CEL_ATTENTION_TILE };

// ---- scores -----------------------------------------------------------------------------------------

// The products of one query with four keys, before their lanes are added up.
typedef struct four {
  vec8 a, b, c, d;
} four;

static CEL_ALWAYS_INLINE four no_four(void) { return (four){zero8(), zero8(), zero8(), zero8()}; }
static CEL_ALWAYS_INLINE float32x4_t sums_of(four s) { return reduce8x4(s.a, s.b, s.c, s.d); }

// Eight columns of four keys, d apart.
static CEL_ALWAYS_INLINE four load_keys(const float *k, int d) {
  return (four){load8(k), load8(k + d), load8(k + 2 * d), load8(k + 3 * d)};
}
static CEL_ALWAYS_INLINE four add_keys(four s, vec8 q, four k) {
  return (four){fma8(s.a, q, k.a), fma8(s.b, q, k.b), fma8(s.c, q, k.c), fma8(s.d, q, k.d)};
}
// The last four columns where d is no multiple of eight: the lower lanes go on.
static CEL_ALWAYS_INLINE four add_last(four s, const float *q, const float *k, int d) {
  const float32x4_t x = vld1q_f32(q);
  s.a.low = vfmaq_f32(s.a.low, x, vld1q_f32(k));
  s.b.low = vfmaq_f32(s.b.low, x, vld1q_f32(k + d));
  s.c.low = vfmaq_f32(s.c.low, x, vld1q_f32(k + 2 * d));
  s.d.low = vfmaq_f32(s.d.low, x, vld1q_f32(k + 3 * d));
  return s;
}

static CEL_ALWAYS_INLINE float32x4_t dots4(const float *q, const float *k, int d) {
  four s = no_four();
  int c = 0;
  for (; c + 8 <= d; c += 8) s = add_keys(s, load8(q + c), load_keys(k + c, d));
  if (c < d) s = add_last(s, q + c, k + c, d);
  return sums_of(s);
}

// Four keys against two queries: 16 registers of sums.
static CEL_ALWAYS_INLINE void dots2x4(const float *q0, const float *q1, const float *k, int d, float *s0, float *s1) {
  four a = no_four(), b = a;
  int c = 0;
  for (; c + 8 <= d; c += 8) {
    const four keys = load_keys(k + c, d);
    a = add_keys(a, load8(q0 + c), keys);
    b = add_keys(b, load8(q1 + c), keys);
  }
  if (c < d) {
    a = add_last(a, q0 + c, k + c, d);
    b = add_last(b, q1 + c, k + c, d);
  }
  vst1q_f32(s0, sums_of(a));
  vst1q_f32(s1, sums_of(b));
}

static float dot1(const float *q, const float *k, int d) {
  vec8 s = zero8();
  int c = 0;
  for (; c + 8 <= d; c += 8) s = fma8(s, load8(q + c), load8(k + c));
  if (c < d) s.low = vfmaq_f32(s.low, vld1q_f32(q + c), vld1q_f32(k + c));
  return reduce8(s);
}

// s[0..64) = q.k of a tile at k; keys outside [j0, j1) get -infinity and are not read.
static void scores(const float *q, const float *k, int d, int j0, int j1, float *s) {
  for (int j = 0; j < TILE; j += 4) {
    if (j >= j0 && j + 4 <= j1) {
      vst1q_f32(s + j, dots4(q, k + j * d, d));
      continue;
    }
    for (int i = j; i < j + 4; i++) s[i] = i >= j0 && i < j1 ? dot1(q, k + i * d, d) : -INFINITY;
  }
}

static void scores2(const float *q0, const float *q1, const float *k, int d, float *s0, float *s1) {
  for (int j = 0; j < TILE; j += 4) dots2x4(q0, q1, k + j * d, d, s0 + j, s1 + j);
}

// ---- softmax ----------------------------------------------------------------------------------------

// step: of each key; NULL: 1. Keys that are not seen stay where they are.
static void scale_scores(const cel_attention *a, const float *step, float *s) {
  for (int j = 0; j < TILE; j += 4) {
    const float32x4_t raw = vld1q_f32(s + j);
    float32x4_t v = raw;
    if (step) v = vbslq_f32(vceqq_f32(raw, set4(-INFINITY)), raw, vmulq_f32(raw, vld1q_f32(step + j)));
    v = vmulq_n_f32(v, a->scale);
    if (a->softcap > 0) {
      const float32x4_t t = vmulq_n_f32(tanh4(vdivq_f32(v, set4(a->softcap))), a->softcap);
      v = vbslq_f32(vceqq_f32(v, set4(-INFINITY)), v, t);
    }
    vst1q_f32(s + j, v);
  }
}

static float max64(const float *s) {
  float32x4_t m = vld1q_f32(s);
  for (int j = 4; j < TILE; j += 4) m = vmaxnmq_f32(m, vld1q_f32(s + j));
  return vmaxnmvq_f32(m);
}

// s becomes exp(s - most); returns the sum.
static float weights(float *s, float most) {
  vec8 sum = zero8();
  for (int j = 0; j < TILE; j += 8) {
    const vec8 v = load8(s + j);
    const vec8 p = {exp4(vsubq_f32(v.low, set4(most))), exp4(vsubq_f32(v.high, set4(most)))};
    store8(s + j, p);
    sum = (vec8){vaddq_f32(sum.low, p.low), vaddq_f32(sum.high, p.high)};
  }
  return reduce8(sum);
}

// ---- values -----------------------------------------------------------------------------------------

// 32 columns.
typedef struct wide {
  vec8 a, b, c, d;
} wide;

static CEL_ALWAYS_INLINE wide load_wide(const float *p) { return (wide){load8(p), load8(p + 8), load8(p + 16), load8(p + 24)}; }
static CEL_ALWAYS_INLINE void store_wide(float *p, wide v) {
  store8(p, v.a);
  store8(p + 8, v.b);
  store8(p + 16, v.c);
  store8(p + 24, v.d);
}
static CEL_ALWAYS_INLINE wide mul_wide(wide v, float by) {
  return (wide){mul8(v.a, by), mul8(v.b, by), mul8(v.c, by), mul8(v.d, by)};
}
static CEL_ALWAYS_INLINE wide add_wide(wide y, wide v, float by) {
  return (wide){fma8_by(y.a, v.a, by), fma8_by(y.b, v.b, by), fma8_by(y.c, v.c, by), fma8_by(y.d, v.d, by)};
}

// out[0..32) = out * keep + sum over j of p[j] * v[j][0..32).
static void add_values32(float *out, const float *p, const float *v, int d, int j0, int j1, float keep) {
  wide acc = mul_wide(load_wide(out), keep);
  for (int j = j0; j < j1; j++) acc = add_wide(acc, load_wide(v + j * d), p[j]);
  store_wide(out, acc);
}

// Two rows, 32 columns, all keys of the tile: 16 registers of sums.
static void add_values2(float *out0, float *out1, const float *p0, const float *p1, const float *v, int d, float keep0,
                        float keep1) {
  wide a = mul_wide(load_wide(out0), keep0), b = mul_wide(load_wide(out1), keep1);
  for (int j = 0; j < TILE; j++) {
    const wide x = load_wide(v + j * d);
    a = add_wide(a, x, p0[j]);
    b = add_wide(b, x, p1[j]);
  }
  store_wide(out0, a);
  store_wide(out1, b);
}

// n columns of rows d apart.
static void add_columns(float *out, const float *p, const float *v, int d, int n, int j0, int j1, float keep) {
  int c = 0;
  for (; c + 32 <= n; c += 32) add_values32(out + c, p, v + c, d, j0, j1, keep);
  for (; c < n; c += 4) {
    float32x4_t acc = vmulq_n_f32(vld1q_f32(out + c), keep);
    for (int j = j0; j < j1; j++) acc = vfmaq_n_f32(acc, vld1q_f32(v + j * d + c), p[j]);
    vst1q_f32(out + c, acc);
  }
}

// ---- rows and tiles ---------------------------------------------------------------------------------

typedef cel_attention_row row;

// A tile of keys and values in f32, d apart, and their steps, NULL where there are none.
typedef struct kv_tile {
  const float *k, *v, *k_step, *v_step;
} kv_tile;

// Turns the products of one tile into weights; returns by how much what was summed so far shrinks.
static float join_tile(const cel_attention *a, row *r, const kv_tile *t, float *s) {
  scale_scores(a, t->k_step, s);
  float next = max64(s);
  if (r->most > next) next = r->most;
  const float keep = vgetq_lane_f32(exp4(set4(r->most - next)), 0), sum = weights(s, next);
  r->total = r->total * keep + sum;
  r->most = next;
  for (int j = 0; t->v_step && j < TILE; j += 4) vst1q_f32(s + j, vmulq_f32(vld1q_f32(s + j), vld1q_f32(t->v_step + j)));
  return keep;
}

static void attend_tile(const cel_attention *a, row *r, int64_t tile, const kv_tile *t, float *s) {
  const int j0 = (int)(r->begin > tile ? r->begin - tile : 0), j1 = (int)(r->end - tile < TILE ? r->end - tile : TILE);
  if (j0 >= j1) return;
  scores(r->q, t->k, a->d, j0, j1, s);
  const float keep = join_tile(a, r, t, s);
  add_columns(r->out, s, t->v, a->d, a->dv, j0, j1, keep);
}

static bool sees_all(const row *r, int64_t tile) { return r->begin <= tile && r->end >= tile + TILE; }

// Rows r[0] and r[1].
static void attend_two(const cel_attention *a, row *r, int64_t tile, const kv_tile *t, float *s0, float *s1) {
  if (!sees_all(&r[0], tile) || !sees_all(&r[1], tile)) {
    attend_tile(a, &r[0], tile, t, s0);
    attend_tile(a, &r[1], tile, t, s1);
    return;
  }
  scores2(r[0].q, r[1].q, t->k, a->d, s0, s1);
  const float keep0 = join_tile(a, &r[0], t, s0), keep1 = join_tile(a, &r[1], t, s1);
  const float *v = t->v;
  int c = 0;
  for (; c + 32 <= a->dv; c += 32) add_values2(r[0].out + c, r[1].out + c, s0, s1, v + c, a->d, keep0, keep1);
  add_columns(r[0].out + c, s0, v + c, a->d, a->dv - c, 0, TILE, keep0);
  add_columns(r[1].out + c, s1, v + c, a->d, a->dv - c, 0, TILE, keep1);
}

static void finish(const row *r, int d) {
  for (int c = 0; c < d; c += 4) {
    const float32x4_t v = r->total == 0 ? set4(0) : vdivq_f32(vld1q_f32(r->out + c), set4(r->total));
    vst1q_f32(r->out + c, v);
  }
}

// Keys or values [first, past) of a tile that begins at element `at`, widened.
static void widen(const cel_attention *a, const void *kv, int64_t at, int first, int past, float *out) {
  for (int j = first; j < past; j++)
    for (int c = 0; c < a->d; c += 4) {
      const int64_t i = at + (int64_t)j * a->width + c;
      const float32x4_t v = a->kv == CEL_KV_F16 ? vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16((const uint16_t *)kv + i)))
                                                : vcvtq_f32_s32(vmovl_s16(vld1_s16((const int16_t *)kv + i)));
      vst1q_f32(out + j * a->d + c, v);
    }
}

// The same of bytes with their steps.
static void widen_i8(const cel_attention *a, const int8_t *kv, int first, int past, float *out) {
  for (int j = first; j < past; j++) {
    const int8_t *x = kv + (int64_t)j * a->width;
    for (int c = 0; c < a->d; c += 4) {
      int32_t bytes;
      memcpy(&bytes, x + c, sizeof bytes);
      const int16x4_t n = vget_low_s16(vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(bytes))));
      vst1q_f32(out + j * a->d + c, vmulq_f32(vcvtq_f32_s32(vmovl_s16(n)), set4(cel_attention_step_i8(x, a->d, c))));
    }
  }
}

static void widen_any(const cel_attention *a, const void *kv, int64_t at, int first, int past, float *out) {
  if (a->kv == CEL_KV_I8) widen_i8(a, (const int8_t *)kv + at, first, past, out);
  else widen(a, kv, at, first, past, out);
}

static void load_steps(const cel_attention *a, const void *kv, int64_t at, int first, int past, float *step) {
  for (int j = 0; j < TILE; j++)
    step[j] = j < first || j >= past ? 0 : cel_attention_step((const int16_t *)kv + at + (int64_t)j * a->width, a->d);
}

// What [first, past) of a tile is in f32: itself, or widened into the scratch.
static kv_tile tile_of(const cel_attention *a, int64_t at, int first, int past, cel_attention_scratch *scratch) {
  if (a->kv == CEL_KV_F32) return (kv_tile){(const float *)a->k + at, (const float *)a->v + at, NULL, NULL};
  float *k = (float *)(void *)(scratch + 1), *v = a->v == a->k ? k : k + (int64_t)TILE * a->d;
  widen_any(a, a->k, at, first, past, k);
  if (v != k) widen_any(a, a->v, at, first, past, v);
  if (a->kv != CEL_KV_I16) return (kv_tile){k, v, NULL, NULL};
  load_steps(a, a->k, at, first, past, scratch->k_step);
  load_steps(a, a->v, at, first, past, scratch->v_step);
  return (kv_tile){k, v, scratch->k_step, scratch->v_step};
}

static void attend_block(const cel_attention *a, cel_attention_range g, cel_attention_scratch *scratch) {
  row rows[CEL_ATTENTION_ROWS];
  int64_t begin, end;
  const int n = cel_attention_rows_of(a, g, rows, &begin, &end);
  const int64_t base = cel_attention_base(a, g);
  for (int64_t tile = begin / TILE * TILE; tile < end; tile += TILE) {
    const int first = (int)CEL_MAX(begin - tile, 0), past = (int)CEL_MIN(end - tile, TILE);
    const kv_tile t = tile_of(a, base + tile * a->width, first, past, scratch);
    int i = 0;
    for (; i + 2 <= n; i += 2) attend_two(a, &rows[i], tile, &t, scratch->s[i], scratch->s[i + 1]);
    if (i < n) attend_tile(a, &rows[i], tile, &t, scratch->s[i]);
  }
  for (int i = 0; i < n; i++) finish(&rows[i], a->dv);
}

void cel_neon_attention(const cel_attention *a, int64_t item_begin, int64_t item_end, void *scratch) {
  const cel_attention_split s = cel_attention_split_of(a);
  for (int64_t item = item_begin; item < item_end; item++) attend_block(a, cel_attention_range_of(a, &s, item), scratch);
}

#endif
