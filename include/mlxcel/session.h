// Sessions: token ids in, token ids out. A session is one sequence with its keys and values; a step gives one token
// for each of several sessions of a model at once.
//
//   open -> prompt -> step, step, step ... -> (truncate or not) prompt -> step ... -> close
//
// A session's tokens depend on its own prompt, sampling and seed alone, not on which sessions share its steps.
// Threads: one at a time per model for everything here, except mlxcel_session_cancel, which any thread may call while
// the session is open.
#ifndef MLXCEL_SESSION_H
#define MLXCEL_SESSION_H

#include <mlxcel/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mlxcel_session mlxcel_session;

typedef struct mlxcel_logit_bias {
  int32_t id;
  float bias;  // added to the score; -INFINITY bans
} mlxcel_logit_bias;

typedef struct mlxcel_logprob {
  int32_t id;
  float logprob;  // natural logarithm of the softmax over the model's own scores
} mlxcel_logprob;

// How to sample. Init gives greedy decoding with everything off.
typedef struct mlxcel_sampling {
  size_t struct_size;       // set by init
  float temperature;        // 0: greedy
  int32_t top_k;            // the best so many; 0: off
  float top_p;              // the best that sum to this; 1: off
  float min_p;              // those at least this fraction of the best; 0: off
  float typical_p;          // 1: off
  float top_n_sigma;        // 0: off
  float xtc_probability;    // 0: off
  float xtc_threshold;      // 0.1
  float repetition_penalty;                   // prompt and generated tokens; 1: off
  float frequency_penalty, presence_penalty;  // generated tokens; 0: off
  int32_t penalty_last_n;   // tokens the penalties look back on; -1: all
  float dry_multiplier;     // 0: off
  float dry_base;           // 1.75
  int32_t dry_allowed_length;  // 2
  int32_t dry_last_n;       // -1: all
  const int32_t *dry_breakers;  // [n_dry_breakers] token ids that end a match
  int32_t n_dry_breakers;
  int32_t n_bias;
  const mlxcel_logit_bias *bias;  // [n_bias]
  uint64_t seed;            // the same seed gives the same draws
  int32_t n_logprobs;       // how many of the best to report with each token, up to MLXCEL_MAX_LOGPROBS; -1: nothing
} mlxcel_sampling;

enum { MLXCEL_MAX_LOGPROBS = 20 };

MLXCEL_API void mlxcel_sampling_init(mlxcel_sampling *sampling, size_t struct_size);

typedef struct mlxcel_session_options {
  size_t struct_size;                // set by init
  const mlxcel_sampling *sampling;   // copied with all it points to; NULL: greedy
  int64_t max_tokens;                // most tokens behind a prompt, refused if they do not fit the context; -1: until an end
                                     // token or a full context
  const int32_t *end_ids;            // [n_end_ids], copied; NULL: the model's own (mlxcel_token_ends)
  int32_t n_end_ids;
  bool ignore_end;                   // end tokens are tokens like any other
} mlxcel_session_options;

MLXCEL_API void mlxcel_session_options_init(mlxcel_session_options *options, size_t struct_size);

// `options` may be NULL. *out belongs to the caller: mlxcel_session_close.
//   Fails: BUSY when max_sessions are open; INVALID names the field, its value and its range; UNSUPPORTED, OOM.
MLXCEL_API MLXCEL_MUST_CHECK mlxcel_status mlxcel_session_open(mlxcel_model *model,
                                                               const mlxcel_session_options *options,
                                                               mlxcel_session **out, mlxcel_error *error);
MLXCEL_API void mlxcel_session_close(mlxcel_session *session);  // NULL is fine

// Appends ids[n] to what the session holds and runs them. No token is sampled yet: the next step does that.
//   Fails: TOO_LONG names prompt, session and context; INVALID names an id out of the vocabulary; CANCELLED.
MLXCEL_API MLXCEL_MUST_CHECK mlxcel_status mlxcel_session_prompt(mlxcel_session *session, const int32_t *ids, int64_t n,
                                                                 mlxcel_error *error);

typedef enum mlxcel_finish {
  MLXCEL_FINISH_NONE = 0,       // goes on
  MLXCEL_FINISH_END = 1,        // an end token was sampled (it is in the event), or a stop string came (generate.h)
  MLXCEL_FINISH_LENGTH = 2,     // max_tokens reached, or the context is full
  MLXCEL_FINISH_CANCELLED = 3,
  MLXCEL_FINISH_ERROR = 4,      // this session alone failed: status and text say why
} mlxcel_finish;

// What a step did to one session. Its size never changes.
typedef struct mlxcel_event {
  int32_t token;              // -1 when there is none (error, cancelled)
  mlxcel_finish finish;
  float logprob;              // of the token, when sampling.n_logprobs >= 0
  int32_t n_top;
  const mlxcel_logprob *top;  // [n_top], best first; lent until the session's next call
  mlxcel_status status;       // MLXCEL_OK unless cancelled or failed
  const char *text;           // the sentence for it, else ""; lent until the session's next call
  void *reserved[2];          // NULL
} mlxcel_event;

// One token for each of n distinct sessions of `model`, all prompted, none finished. events[i] is about sessions[i].
// When the call itself fails, no session has moved.
MLXCEL_API MLXCEL_MUST_CHECK mlxcel_status mlxcel_step(mlxcel_model *model, mlxcel_session *const *sessions, int32_t n,
                                                       mlxcel_event *events, mlxcel_error *error);

// Ends the session at its next step or in the middle of its prompt; its tokens stay. Truncating it makes it usable
// again.
MLXCEL_API void mlxcel_session_cancel(mlxcel_session *session);

// Keeps the first n tokens (0 to length) and clears a finish. After truncating to 0 a prompt is needed.
MLXCEL_API MLXCEL_MUST_CHECK mlxcel_status mlxcel_session_truncate(mlxcel_session *session, int64_t n,
                                                                   mlxcel_error *error);
// A new session with the same tokens, and options of its own (NULL: the defaults, not those of `session`).
MLXCEL_API MLXCEL_MUST_CHECK mlxcel_status mlxcel_session_fork(mlxcel_session *session,
                                                               const mlxcel_session_options *options,
                                                               mlxcel_session **out, mlxcel_error *error);

MLXCEL_API int64_t mlxcel_session_length(const mlxcel_session *session);         // tokens held; 0 for NULL
MLXCEL_API const int32_t *mlxcel_session_tokens(const mlxcel_session *session);  // [length]; lent until the next call

// The model's scores at every position of a prompt, out[n][vocab], `floats` = n * vocab. Runs in a session of its
// own, so one must be free.
MLXCEL_API MLXCEL_MUST_CHECK mlxcel_status mlxcel_logits(mlxcel_model *model, const int32_t *ids, int64_t n, float *out,
                                                         size_t floats, mlxcel_error *error);

#ifdef __cplusplus
}
#endif
#endif
