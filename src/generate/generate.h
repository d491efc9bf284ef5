// One path from a prompt to text: prefill, steps, stop strings, streaming, times.
// Threads: the engine thread's business; cel_generation_cancel may be called by any (a signal handler too).
#ifndef CEL_GENERATE_GENERATE_H
#define CEL_GENERATE_GENERATE_H

#include "generate/lm.h"

typedef struct cel_request {
  const int32_t *ids;     // [n] prompt
  int64_t n;
  cel_sampling sampling;  // borrowed pointers inside
  int64_t max_tokens;     // -1: until an end or a full context; 0: the prompt is run, nothing is sampled
  bool ignore_end;
  const cel_str *stops;   // [n_stops]
  int n_stops;
  bool show_special;      // special tokens in the text
  // Called with every piece of text that is final; may be NULL. Returning false cancels.
  bool (*text)(void *context, cel_str piece);
  void *text_context;
} cel_request;

typedef struct cel_timings {
  double prefill_ms, first_token_ms, decode_ms;  // first_token_ms: from the call to the first token
  int64_t n_prefilled, n_decoded;                // tokens run in each phase; the first token counts as prefill's
  double prefill_tok_s, decode_tok_s;            // 0 when nothing ran
} cel_timings;

typedef struct cel_reply {
  int32_t *ids;      // [n], malloc'ed; an end token is not among them
  float *logprobs;   // [n] when asked for, else NULL
  cel_logprob *top;  // [n][n_top]
  int64_t n;
  int n_top;
  cel_buf text;
  const char *finish_reason;  // "stop" (end token or stop string), "length", "cancelled"
  int64_t n_reused;           // prompt tokens taken from the session as it was
  cel_timings timings;
} cel_reply;

void cel_reply_deinit(cel_reply *r);

// A session kept between calls, so that a growing chat runs only what is new. Zero-initialize.
typedef struct cel_generation {
  cel_session *session;
} cel_generation;
void cel_generation_close(cel_generation *g, const cel_lm *lm);

// Runs one request in g's session (opened when there is none; the common beginning of its tokens and the
// prompt is kept). With `*cancel` set from elsewhere it ends with finish_reason "cancelled" and what there is.
CEL_MUST_CHECK cel_status cel_generate(const cel_lm *lm, cel_generation *g, const cel_request *request,
                                       const volatile int *cancel, cel_reply *reply, cel_err *err);

#endif
