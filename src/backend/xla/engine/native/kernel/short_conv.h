// Template: the short convolution, compiled once per instruction set (the compiler vectorizes over channels). The
// including file defines NAME(kernel).
#include "backend/xla/engine/native/kernel/recurrent.h"

// What tap j of token t sees: an input, or one from before the first.
static inline const float *seen(const cel_short_conv *c, const cel_recurrent_run *r, int64_t t, int j) {
  int64_t at = t - (c->taps - 1) + j;
  return at >= r->begin ? c->u + at * c->channels : r->state + (at - r->begin + c->taps - 1) * c->channels;
}

static void convolve(const cel_short_conv *c, const cel_recurrent_run *r, int64_t t, int64_t begin, int64_t end) {
  float *y = c->y + t * c->channels;
  const float *x = seen(c, r, t, 0), *w = c->weight;
  for (int64_t i = begin; i < end; i++) y[i] = w[i] * x[i];
  for (int j = 1; j < c->taps; j++) {
    x = seen(c, r, t, j);
    w = c->weight + j * c->channels;
    for (int64_t i = begin; i < end; i++) y[i] = fmaf(w[i], x[i], y[i]);
  }
}

// The last taps - 1 inputs become the state; with fewer tokens than that, old ones move up.
static void keep_last(const cel_short_conv *c, const cel_recurrent_run *r, int64_t begin, int64_t end) {
  for (int j = 0; j < c->taps - 1; j++) {
    const float *from = seen(c, r, r->end, j);  // later rows than j: they are read before they are written
    memmove(r->state + j * c->channels + begin, from + begin, (size_t)(end - begin) * sizeof *from);
  }
}

void NAME(short_conv)(const cel_short_conv *c, int64_t channel_begin, int64_t channel_end) {
  for (int64_t s = 0; s < (c->slot_step ? c->n : 1); s++) {
    cel_recurrent_run r = cel_recurrent_run_of(c->state, c->slot_stride, c->rows, c->slots, c->slot_step, c->n, s);
    for (int64_t t = r.begin; t < r.end; t++) {
      if (r.state) convolve(c, &r, t, channel_begin, channel_end);
      else memset(c->y + t * c->channels + channel_begin, 0, (size_t)(channel_end - channel_begin) * sizeof *c->y);
    }
    if (r.state) keep_last(c, &r, channel_begin, channel_end);
  }
}
