// What the bodies of the recurrent kernels share. Internal to kernel/.
#ifndef CEL_XLA_NATIVE_KERNEL_RECURRENT_H
#define CEL_XLA_NATIVE_KERNEL_RECURRENT_H

#include <math.h>
#include <string.h>

#include "backend/xla/engine/native/kernel/kernel.h"

// The tokens of one work item and where their sequence's state is; state NULL: padding.
typedef struct cel_recurrent_run {
  int64_t begin, end;
  float *state;
} cel_recurrent_run;

static inline cel_recurrent_run cel_recurrent_run_of(float *state, int64_t slot_stride, int64_t rows, const int32_t *slots,
                                                     int slot_step, int64_t n, int64_t sequence) {
  int64_t slot = slots[sequence];
  cel_recurrent_run r = {slot_step ? sequence : 0, slot_step ? sequence + 1 : n, NULL};
  if (slot >= 0 && slot < rows) r.state = state + slot * slot_stride;
  return r;
}

// One block of columns of one head.
typedef struct cel_delta_item {
  cel_recurrent_run run;
  int head, columns;  // columns of this block
  int64_t first;      // column
} cel_delta_item;

static inline cel_delta_item cel_delta_item_of(const cel_gated_delta *d, int64_t item) {
  int64_t blocks = cel_delta_blocks(d), per = blocks * d->n_v;
  cel_delta_item it;
  it.run = cel_recurrent_run_of(d->state, d->slot_stride, d->rows, d->slots, d->slot_step, d->n, item / per);
  it.head = (int)(item % per / blocks);
  it.first = item % blocks * CEL_DELTA_COLUMNS;
  it.columns = d->d_v - it.first < CEL_DELTA_COLUMNS ? (int)(d->d_v - it.first) : CEL_DELTA_COLUMNS;
  if (it.run.state) it.run.state += (int64_t)it.head * d->d_k * d->d_v + it.first;
  return it;
}

static inline void cel_delta_zero(const cel_gated_delta *d, const cel_delta_item *it) {
  for (int64_t t = it->run.begin; t < it->run.end; t++)
    memset(d->o + (t * d->n_v + it->head) * d->d_v + it->first, 0, (size_t)it->columns * sizeof *d->o);
}

// What one token brings to one head.
typedef struct cel_delta_token {
  const float *q, *k, *v;
  float *o;
  float keep, beta;
} cel_delta_token;

static inline cel_delta_token cel_delta_token_of(const cel_gated_delta *d, const cel_delta_item *it, int64_t t) {
  int64_t key = (t * d->n_k + it->head / (d->n_v / d->n_k)) * d->d_k, head = t * d->n_v + it->head;
  int64_t value = head * d->d_v + it->first;
  return (cel_delta_token){d->q + key, d->k + key, d->v + value, d->o + value, (float)exp((double)d->g[head]), d->beta[head]};
}

#endif
