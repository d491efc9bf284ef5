// Mixtures of experts: which are chosen, and products that read those alone. Tokens are grouped by expert, so that a
// block of weights is unpacked once for all of them; every result is computed by itself, whatever its neighbours.
#include <string.h>

#include "backend/xla/engine/native/run_member.h"
#include "base/half.h"

// The k largest of each row, the largest first; of equal ones the one that comes first. NaN is never the larger one.
static void top_k(const float *x, int64_t n, int64_t k, int32_t *ids) {
  for (int64_t j = 0; j < k; j++) {
    int64_t best = -1;
    for (int64_t i = 0; i < n; i++) {
      if (best >= 0 && !(x[i] > x[best])) continue;
      bool taken = false;
      for (int64_t q = 0; q < j && !taken; q++) taken = ids[q] == i;
      if (!taken) best = i;
    }
    ids[j] = (int32_t)best;
  }
}

void cel_run_top_k(const member *m, const cel_step *s) {
  const float *x = at(m, s->in[0]);
  int32_t *ids = at(m, s->out[0]);
  int64_t n = s->u.top_k.n, k = s->u.top_k.k;
  range mine = share(m, s->solo, s->u.top_k.rows, 1);
  for (int64_t r = mine.begin; r < mine.end; r++) top_k(x + r * n, n, k, ids + r * k);
}

// ---- products --------------------------------------------------------------------------------------

typedef struct job {
  const member *m;
  const cel_experts *e;
  const uint8_t *packs;  // of all sources
  int32_t *ends, *order; // pairs (token * k + place) in the order of their experts; ends[e]: where those of e end
} job;

static int64_t expert_of(const job *j, const int32_t *ids, int64_t pair) {
  int64_t id = ids[pair];
  return id < 0 ? 0 : id >= j->e->experts ? j->e->experts - 1 : id;  // a gather clamps
}

// Counting sort: pairs of one expert stay in order.
static void group(job *j, const int32_t *ids) {
  int64_t pairs = j->e->tokens * j->e->k, sum = 0;
  memset(j->ends, 0, (size_t)(j->e->experts + 1) * sizeof *j->ends);
  for (int64_t i = 0; i < pairs; i++) j->ends[expert_of(j, ids, i)]++;
  for (int64_t x = 0; x < j->e->experts; x++) {
    int32_t count = j->ends[x];
    j->ends[x] = (int32_t)sum;
    sum += count;
  }
  for (int64_t i = 0; i < pairs; i++) j->order[j->ends[expert_of(j, ids, i)]++] = (int32_t)i;
}

static void pack(job *j, const cel_step *s) {
  const cel_experts *e = j->e;
  const cel_kernels *k = &j->m->r->plan->kernels;
  const cel_linear *w = &e->stack[0].w;
  const float *x = at(j->m, s->in[0]);
  uint8_t *packs = (e->private_pack ? j->m->scratch : (uint8_t *)at(j->m, s->scratch_slot)) + e->packs_at;
  range mine = e->private_pack ? (range){0, e->sources} : share(j->m, false, e->sources, 1);
  k->linear_pack(w, x + mine.begin * w->cols, w->cols, mine.end - mine.begin, packs + mine.begin * e->pack_bytes,
                 e->pack_bytes);
  if (!e->private_pack) cel_pool_barrier(j->m->r->pool, j->m->index);
  j->packs = packs;
}

static const uint8_t *source(const job *j, int64_t pair) {
  return j->packs + (j->e->combine ? pair : pair / j->e->k) * j->e->pack_bytes;
}

// Rows [r.begin, r.end) of expert x, as a matrix of its own.
static cel_linear rows_of(const cel_expert_stack *s, int64_t x, range r) {
  cel_linear w = s->w;
  w.rows = r.end - r.begin;
  w.w = s->weights[x] + r.begin * w.w_row_bytes;
  if (!s->scales) return w;
  int64_t at_row = r.begin * (w.cols / w.group) * cel_linear_scale_bytes(&w);
  w.scales = s->scales[x] + at_row;
  if (s->biases) w.biases = s->biases[x] + at_row;
  return w;
}

static float float_at(const uint8_t *p, cel_etype type, int64_t i) {
  uint16_t half;
  float whole;
  if (type == CEL_ET_F32) {
    memcpy(&whole, p + 4 * i, sizeof whole);
    return whole;
  }
  memcpy(&half, p + 2 * i, sizeof half);
  return type == CEL_ET_F16 ? cel_f16_to_f32(half) : cel_bf16_to_f32(half);
}

// n pairs of expert x, their packed rows at `packed`, to dst[pair].
static void multiply(const job *j, const cel_expert_stack *s, int64_t x, const int32_t *pairs, int64_t n,
                     const uint8_t *packed, float *dst) {
  const cel_kernels *k = &j->m->r->plan->kernels;
  range r = share(j->m, false, s->w.rows, 8);
  int64_t width = r.end - r.begin;
  if (width <= 0) return;
  cel_linear w = rows_of(s, x, r);
  float *y = n == 1 ? dst + pairs[0] * s->w.rows + r.begin : (float *)(void *)(j->m->scratch + j->e->temp_at);
  k->linear_mul(&w, packed, j->e->pack_bytes, n, y, width, 0, width, j->m->scratch + j->e->scratch_at);
  for (int64_t i = 0; i < n; i++) {
    float *to = dst + pairs[i] * s->w.rows + r.begin;
    if (n > 1) memcpy(to, y + i * width, (size_t)width * sizeof *to);
    for (int64_t c = 0; s->bias && c < width; c++) to[c] += float_at(s->bias[x], s->bias_type, r.begin + c);
  }
}

// All pairs of expert x, block after block.
static void expert(const job *j, int64_t x, float *const *dst) {
  int64_t begin = x ? j->ends[x - 1] : 0, bytes = j->e->pack_bytes;
  for (int64_t i = begin, n; i < j->ends[x]; i += n) {
    n = CEL_MIN(j->ends[x] - i, CEL_EXPERT_BLOCK);
    const uint8_t *packed = source(j, j->order[i]);
    if (n > 1) {
      uint8_t *block = j->m->scratch + j->e->block_at;
      for (int64_t t = 0; t < n; t++) memcpy(block + t * bytes, source(j, j->order[i + t]), (size_t)bytes);
      packed = block;
    }
    for (int k = 0; k < j->e->n; k++) multiply(j, &j->e->stack[k], x, j->order + i, n, packed, dst[k]);
  }
}

// y[t] = sum over k, in order, of weights[t][k] * products[t][k]; the columns this member has made itself.
static void combine(const job *j, const cel_step *s, const float *products) {
  int64_t rows = j->e->stack[0].w.rows, n_k = j->e->k;
  const float *weights = at(j->m, s->in[2]);
  float *y = at(j->m, j->e->stack[0].y);
  range r = share(j->m, false, rows, 8);
  for (int64_t t = 0; t < j->e->tokens; t++) {
    for (int64_t i = r.begin; i < r.end; i++) y[t * rows + i] = 0;
    for (int64_t k = 0; k < n_k; k++) {
      const float *x = products + (t * n_k + k) * rows, weight = weights[t * n_k + k];
      for (int64_t i = r.begin; i < r.end; i++) y[t * rows + i] += weight * x[i];
    }
  }
}

void cel_run_experts(const member *m, const cel_step *s) {
  const cel_experts *e = s->u.experts;
  job j = {.m = m, .e = e, .ends = (int32_t *)(void *)(m->scratch + e->order_at)};
  j.order = j.ends + e->experts + 1;
  group(&j, at(m, s->in[1]));
  pack(&j, s);
  float *dst[CEL_EXPERT_STACKS];
  for (int i = 0; i < e->n; i++) dst[i] = at(m, e->stack[i].y);
  if (e->combine) dst[0] = (float *)(void *)((uint8_t *)at(m, s->scratch_slot) + e->products_at);
  for (int64_t x = 0; x < e->experts; x++) expert(&j, x, dst);
  if (e->combine) combine(&j, s, dst[0]);
}
