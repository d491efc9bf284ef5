// The definition of attention: keys in tiles at absolute multiples of CEL_ATTENTION_TILE, joined in order.
#include <math.h>

#include "backend/xla/engine/native/kernel/attention.h"
#include "backend/xla/engine/native/kernel/scalar.h"
#include "base/macros.h"

int64_t cel_attention_items(const cel_attention *a) {
  cel_attention_split s = cel_attention_split_of(a);
  return s.token_blocks * s.head_blocks;
}

int64_t cel_attention_scratch_bytes(const cel_attention *a) {
  (void)a;
  return (int64_t)sizeof(cel_attention_scratch);
}

static float score(const cel_attention *a, const float *q, const float *k) {
  float acc[8] = {0};
  for (int c = 0; c < a->d; c++) acc[c % 8] = fmaf(q[c], k[c], acc[c % 8]);
  float s = a->scale * (((acc[0] + acc[4]) + (acc[2] + acc[6])) + ((acc[1] + acc[5]) + (acc[3] + acc[7])));
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
      s[j - j0] = score(a, q, a->k + at + j * a->d);
      if (s[j - j0] > next) next = s[j - j0];
    }
    float keep = most == -INFINITY ? 0 : expf(most - next), sum = 0;
    for (int c = 0; c < a->dv; c++) out[c] *= keep;
    for (int64_t j = j0; j < j1; j++) {
      float p = expf(s[j - j0] - next);
      const float *v = a->v + at + j * a->d;
      sum += p;
      for (int c = 0; c < a->dv; c++) out[c] = fmaf(p, v[c], out[c]);
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
