// The chain, in the order sample.h gives.
#include "sample/sample.h"

#include <math.h>
#include <string.h>

#include "base/checked.h"
#include "sample/candidates.h"
#include "sample/penalty.h"
#include "sample/philox.h"
#include "sample/softmax.h"

// Scratch: candidates[vocab], cells[vocab], raw[vocab] (the logits as they came, for the log-probability).
int64_t cel_sample_scratch_bytes(int64_t vocab) {
  const int64_t each = (int64_t)(sizeof(cel_candidate) + sizeof(uint32_t) + sizeof(float));
  int64_t bytes;
  return cel_mul_i64(vocab, each, &bytes) ? bytes : 0;
}

typedef struct workspace {
  cel_candidate *candidates;
  uint32_t *cells;
  float *raw;
} workspace;

static workspace carve(void *scratch, int64_t vocab) {
  workspace w = {.candidates = scratch};
  w.cells = (uint32_t *)(w.candidates + vocab);
  w.raw = (float *)(w.cells + vocab);
  return w;
}

// Natural log of the sum of exp(logits), `max` being the largest.
static float log_sum_exp(const float *logits, int64_t vocab, float max) {
  return max + (float)log(cel_softmax_mass(logits, vocab, max, 1));
}

static void report_top(workspace w, const float *logits, int64_t vocab, float lse, int32_t n, cel_logprob *top) {
  if (n <= 0) return;
  cel_candidates list = {.c = w.candidates};
  cel_candidates_collect(&list, logits, vocab, -INFINITY, n);
  cel_candidates_sort(&list, n);
  for (int32_t i = 0; i < n; i++) {  // fewer finite logits than asked for: the rest is impossible
    top[i] = i < list.n ? (cel_logprob){list.c[i].id, list.c[i].x - lse} : (cel_logprob){-1, -INFINITY};
  }
}

static bool add_bias(const cel_sampling *s, float *logits, int64_t vocab) {
  for (int32_t i = 0; i < s->n_bias; i++) {
    if (s->bias[i].id >= 0 && s->bias[i].id < vocab) logits[s->bias[i].id] += s->bias[i].bias;
  }
  return s->n_bias > 0;
}

// Returns whether anything may have changed.
static bool change_logits(const cel_sampling *s, float *logits, int64_t vocab, cel_history h, uint32_t *cells) {
  bool changed = add_bias(s, logits, vocab);
  if (cel_penalties_on(s)) {
    cel_penalties_range(s, logits, 0, vocab, h, cells);
    changed = true;
  }
  if (cel_dry_on(s)) {
    cel_dry_range(s, logits, 0, vocab, h, cells);
    changed = true;
  }
  return changed;
}

// Top-n-sigma (Tang et al. 2024): the lowest logit that stays, n standard deviations under the largest.
static float sigma_floor(const float *logits, int64_t vocab, float max, float n) {
  double sum = 0, squares = 0, count = 0;
  for (int64_t i = 0; i < vocab; i++) {
    double x = logits[i] == -INFINITY ? 0 : (double)(logits[i] - max);
    sum += x;
    squares += x * x;
    count += logits[i] != -INFINITY;
  }
  double mean = sum / count, variance = squares / count - mean * mean;
  return max - n * (float)sqrt(CEL_MAX(variance, 0.0));
}

// Whether fewer tokens than all can be drawn.
static bool narrows(const cel_sampling *s, int64_t vocab) {
  return s->top_n_sigma > 0 || (s->top_k > 0 && s->top_k < vocab) || s->typical_p < 1 || s->top_p < 1 || s->min_p > 0 ||
         s->xtc_probability > 0;
}

static int32_t draw_token(const cel_sampling *s, const float *logits, int64_t vocab, float max, uint64_t draw,
                          cel_candidate *memory) {
  if (!narrows(s, vocab)) return (int32_t)cel_softmax_draw(logits, vocab, max, s->temperature, cel_uniform(s->seed, draw));
  cel_candidates list = {.c = memory};
  float floor = s->top_n_sigma > 0 ? sigma_floor(logits, vocab, max, s->top_n_sigma) : -INFINITY;
  cel_candidates_collect(&list, logits, vocab, floor, s->top_k);
  if (s->typical_p < 1) cel_keep_typical(&list, s->typical_p);
  if (s->top_p < 1) cel_keep_top_p(&list, s->top_p);
  if (s->min_p > 0) cel_keep_min_p(&list, s->min_p);
  if (s->xtc_probability > 0 && cel_uniform_of(s->seed, draw, CEL_STREAM_XTC) < (double)s->xtc_probability) {
    cel_drop_xtc(&list, s->xtc_threshold);
  }
  return cel_candidates_draw(&list, s->temperature, cel_uniform(s->seed, draw));
}

static cel_status non_finite(const float *logits, int64_t vocab, cel_err *err) {
  for (int64_t i = 0; i < vocab; i++) {
    if (isnan(logits[i]) || logits[i] == INFINITY) {
      return cel_fail(err, CEL_ENGINE, "non-finite logits: token %lld of %lld has %g", (long long)i, (long long)vocab,
                      (double)logits[i]);
    }
  }
  return cel_fail(err, CEL_ENGINE, "non-finite logits: all %lld are -infinity", (long long)vocab);
}

cel_status cel_sample(const cel_sampling *s, float *logits, int64_t vocab, const int32_t *history, int64_t n_history,
                      int64_t n_prompt, uint64_t draw, void *scratch, int32_t *token, float *logprob,
                      cel_logprob *top, cel_err *err) {
  int32_t best = cel_argmax(logits, vocab);
  if (best < 0 || !isfinite(logits[best])) return non_finite(logits, vocab, err);
  workspace w = carve(scratch, vocab);
  bool report = s->n_logprobs >= 0 && (logprob || (top && s->n_logprobs > 0));
  float lse = 0;
  if (report) {
    if (s->n_logprobs > vocab) {
      return cel_fail(err, CEL_INVALID, "n_logprobs is %d, the vocabulary has %lld tokens", s->n_logprobs,
                      (long long)vocab);
    }
    lse = log_sum_exp(logits, vocab, logits[best]);
    if (top) report_top(w, logits, vocab, lse, s->n_logprobs, top);
    memcpy(w.raw, logits, (size_t)vocab * sizeof *logits);
  }
  if (change_logits(s, logits, vocab, (cel_history){history, n_history, n_prompt}, w.cells)) {
    best = cel_argmax(logits, vocab);
    if (best < 0 || logits[best] == INFINITY) return non_finite(logits, vocab, err);
    if (logits[best] == -INFINITY) return cel_fail(err, CEL_INVALID, "logit_bias bans every token");
  }
  *token = s->temperature > 0 ? draw_token(s, logits, vocab, logits[best], draw, w.candidates) : best;
  if (report && logprob) *logprob = w.raw[*token] - lse;
  return CEL_OK;
}
