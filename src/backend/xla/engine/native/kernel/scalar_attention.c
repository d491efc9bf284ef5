// The definition of attention: keys in tiles at absolute multiples of CEL_ATTENTION_TILE, joined in order.
#include <math.h>
#include <string.h>

#include "backend/xla/engine/native/kernel/attention.h"
#include "backend/xla/engine/native/kernel/scalar.h"
#include "base/half.h"
#include "base/macros.h"

int64_t cel_attention_items(const cel_attention *a) {
  cel_attention_split s = cel_attention_split_of(a);
  return s.token_blocks * s.head_blocks;
}

int64_t cel_attention_scratch_bytes(const cel_attention *a) {
  int64_t tiles = a->kv == CEL_KV_F32 ? 0 : 2 * CEL_ATTENTION_TILE * (int64_t)a->d * (int64_t)sizeof(float);
  return ((int64_t)sizeof(cel_attention_scratch) + tiles + 63) / 64 * 64;
}

void cel_scalar_narrow_f16(uint16_t *y, const float *x, int64_t n) {
  const float most = 65504;
  for (int64_t i = 0; i < n; i++) y[i] = cel_f32_to_f16(x[i] > most ? most : x[i] < -most ? -most : x[i]);
}

static float largest(const float *x, int64_t n) {
  float most = CEL_KEPT_LEAST;
  for (int64_t i = 0; i < n; i++) most = isnan(most) || most >= fabsf(x[i]) ? most : fabsf(x[i]);  // NaN wins
  return most;
}

void cel_scalar_narrow_i16(int16_t *y, const float *x, int64_t n) {
  const float step = largest(x, n) * (1.0f / CEL_KEPT_I16_STEPS);
  for (int64_t i = 0; i < n; i++) y[i] = (int16_t)cel_kv_steps(x[i], step, CEL_KEPT_I16_STEPS);
  memcpy(y + n, &step, sizeof step);
}

void cel_scalar_narrow_i8(int8_t *y, const float *x, int64_t n) {
  const int group = cel_kept_group_i8((int)n);
  for (int64_t g = 0; g < n / group; g++) {
    const float step = largest(x + g * group, group) * (1.0f / CEL_KEPT_I8_STEPS);
    for (int64_t i = g * group; i < (g + 1) * group; i++) y[i] = (int8_t)cel_kv_steps(x[i], step, CEL_KEPT_I8_STEPS);
    memcpy(y + n + 4 * g, &step, sizeof step);
  }
}

// Column c of the key or value at element `at`, without a step that the whole vector has.
static float kept(const cel_attention *a, const void *kv, int64_t at, int c) {
  switch (a->kv) {
    case CEL_KV_F16: return cel_f16_to_f32(((const uint16_t *)kv)[at + c]);
    case CEL_KV_I16: return ((const int16_t *)kv)[at + c];
    case CEL_KV_I8: return ((const int8_t *)kv)[at + c] * cel_attention_step_i8((const int8_t *)kv + at, a->d, c);
    default: return ((const float *)kv)[at + c];
  }
}

// The step of the vector at element i; 1 where it has none of its own.
static float step_at(const cel_attention *a, const void *kv, int64_t i) {
  return a->kv == CEL_KV_I16 ? cel_attention_step((const int16_t *)kv + i, a->d) : 1;
}

static float score(const cel_attention *a, const float *q, int64_t at) {
  float acc[8] = {0};
  for (int c = 0; c < a->d; c++) acc[c % 8] = fmaf(q[c], kept(a, a->k, at, c), acc[c % 8]);
  float s = ((acc[0] + acc[4]) + (acc[2] + acc[6])) + ((acc[1] + acc[5]) + (acc[3] + acc[7]));
  s = a->scale * (s * step_at(a, a->k, at));
  return a->softcap > 0 ? a->softcap * tanhf(s / a->softcap) : s;
}

// One query head of one token.
static void attend(const cel_attention *a, int64_t i, int h, float *s) {
  const float *q = a->q + (i * a->n_q + h) * a->d;
  float *out = a->out + (i * a->n_q + h) * a->dv;
  int64_t at = a->slots[i * a->slot_step] * a->slot_stride + h / (a->n_q / a->n_kv) * a->head_stride;
  int64_t end = (int64_t)a->positions[i] + 1, begin = cel_attention_first(a, i);
  float most = a->sinks ? a->sinks[h] : -INFINITY, total = a->sinks ? 1 : 0;  // a sink is a key whose value is zero
  for (int c = 0; c < a->dv; c++) out[c] = 0;
  for (int64_t tile = begin / CEL_ATTENTION_TILE * CEL_ATTENTION_TILE; tile < end; tile += CEL_ATTENTION_TILE) {
    int64_t j0 = CEL_MAX(tile, begin), j1 = CEL_MIN(tile + CEL_ATTENTION_TILE, end);
    float next = most;
    for (int64_t j = j0; j < j1; j++) {
      s[j - j0] = score(a, q, at + j * a->width);
      if (s[j - j0] > next) next = s[j - j0];
    }
    float keep = most == -INFINITY ? 0 : expf(most - next), sum = 0;
    for (int c = 0; c < a->dv; c++) out[c] *= keep;
    for (int64_t j = j0; j < j1; j++) {
      float p = expf(s[j - j0] - next);
      const int64_t v = at + j * a->width;
      sum += p;
      p *= step_at(a, a->v, v);
      for (int c = 0; c < a->dv; c++) out[c] = fmaf(p, kept(a, a->v, v, c), out[c]);
    }
    total = total * keep + sum;
    most = next;
  }
  for (int c = 0; c < a->dv; c++) out[c] = total == 0 ? 0 : out[c] / total;  // 0: no key at all
}

void cel_scalar_attention(const cel_attention *a, int64_t item_begin, int64_t item_end, void *scratch) {
  cel_attention_split s = cel_attention_split_of(a);
  for (int64_t item = item_begin; item < item_end; item++) {
    cel_attention_range r = cel_attention_range_of(a, &s, item);
    for (int64_t i = r.token_begin; i < r.token_end; i++)
      for (int h = r.head_begin; h < r.head_end; h++) attend(a, i, h, scratch);
  }
}
