// Logits to a token: pure functions on caller-owned memory. Greedy when temperature is 0.
// Order of the chain: logit bias, repetition / frequency / presence penalties, DRY, (temperature 0: argmax),
// top-n-sigma, top-k, typical-p, top-p, min-p, XTC, temperature, draw.
// Threads: pure; a cel_sampler_state belongs to one session.
#ifndef CEL_SAMPLE_SAMPLE_H
#define CEL_SAMPLE_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct cel_logit_bias {
  int32_t id;
  float bias;  // added; -INFINITY bans
} cel_logit_bias;

// How to sample. Zero-initialization is not the default: call cel_sampling_init.
typedef struct cel_sampling {
  float temperature;      // 0: greedy
  int32_t top_k;          // <= 0: off
  float top_p, min_p;     // 1, 0: off
  float typical_p;        // 1: off
  float top_n_sigma;      // <= 0: off
  float xtc_probability, xtc_threshold;  // 0, 0.1: off
  float repetition_penalty;              // 1: off; prompt and generated tokens
  float frequency_penalty, presence_penalty;  // 0: off; generated tokens only
  int32_t penalty_last_n;                // window of the penalties in tokens; -1: everything
  float dry_multiplier, dry_base;        // 0: off, 1.75
  int32_t dry_allowed_length, dry_last_n;  // 2, -1 (everything)
  const int32_t *dry_breakers;           // token ids that end a match; borrowed
  int32_t n_dry_breakers;
  const cel_logit_bias *bias;            // borrowed
  int32_t n_bias;
  uint64_t seed;
  int32_t n_logprobs;     // how many top log-probabilities to report; -1: none at all
} cel_sampling;

void cel_sampling_init(cel_sampling *s);
// Refuses NaN, negative temperature, top_p outside (0, 1], ... naming field, value and range.
CEL_MUST_CHECK cel_status cel_sampling_check(const cel_sampling *s, cel_err *err);

typedef struct cel_logprob {
  int32_t id;
  float logprob;  // natural log of softmax over the raw logits (before any of the chain)
} cel_logprob;

// Counter-based uniform in [0, 1): depends on (seed, draw) alone (Philox 4x32-10).
double cel_uniform(uint64_t seed, uint64_t draw);

// Picks a token from logits[vocab] (overwritten: it is the working space).
//   history[n_history]: prompt ids then generated ids; the first n_prompt are the prompt.
//   draw: number of this draw in the session, counted from 0.
//   scratch: cel_sample_scratch_bytes(vocab) bytes, aligned to 16.
//   logprob: of the chosen token, and top[n_logprobs] sorted downwards; used when n_logprobs >= 0, may be NULL.
//   Fails: CEL_ENGINE "non-finite logits" when a logit is NaN or +inf, or none is finite.
CEL_MUST_CHECK cel_status cel_sample(const cel_sampling *s, float *logits, int64_t vocab, const int32_t *history,
                                     int64_t n_history, int64_t n_prompt, uint64_t draw, void *scratch,
                                     int32_t *token, float *logprob, cel_logprob *top, cel_err *err);
int64_t cel_sample_scratch_bytes(int64_t vocab);

// The steps one by one, for tests and for the curious; each works on logits[vocab] in place.
void cel_apply_penalties(const cel_sampling *s, float *logits, int64_t vocab, const int32_t *history,
                         int64_t n_history, int64_t n_prompt);
void cel_apply_dry(const cel_sampling *s, float *logits, int64_t vocab, const int32_t *history, int64_t n_history);
int32_t cel_argmax(const float *logits, int64_t vocab);  // first maximum; -1 when there is a NaN or vocab is 0

#endif
