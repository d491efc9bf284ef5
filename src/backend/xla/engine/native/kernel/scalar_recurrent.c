// The definition of the recurrent kernels.
#include "backend/xla/engine/native/kernel/scalar.h"

#define NAME(kernel) cel_scalar_##kernel
#include "backend/xla/engine/native/kernel/short_conv.h"

static void turn(const cel_gated_delta *d, const cel_delta_item *it, const cel_delta_token *x) {
  float learned[CEL_DELTA_COLUMNS] = {0}, out[CEL_DELTA_COLUMNS] = {0};
  for (int i = 0; i < d->d_k; i++) {
    float *s = it->run.state + (int64_t)i * d->d_v;
    for (int c = 0; c < it->columns; c++) {
      s[c] *= x->keep;
      learned[c] = fmaf(x->k[i], s[c], learned[c]);
    }
  }
  for (int c = 0; c < it->columns; c++) learned[c] = (x->v[c] - learned[c]) * x->beta;
  for (int i = 0; i < d->d_k; i++) {
    float *s = it->run.state + (int64_t)i * d->d_v;
    for (int c = 0; c < it->columns; c++) {
      s[c] = fmaf(x->k[i], learned[c], s[c]);
      out[c] = fmaf(x->q[i], s[c], out[c]);
    }
  }
  for (int c = 0; c < it->columns; c++) x->o[c] = out[c];
}

void cel_scalar_gated_delta(const cel_gated_delta *d, int64_t item_begin, int64_t item_end) {
  for (int64_t item = item_begin; item < item_end; item++) {
    cel_delta_item it = cel_delta_item_of(d, item);
    if (!it.run.state) cel_delta_zero(d, &it);
    for (int64_t t = it.run.begin; it.run.state && t < it.run.end; t++) {
      cel_delta_token x = cel_delta_token_of(d, &it, t);
      turn(d, &it, &x);
    }
  }
}
