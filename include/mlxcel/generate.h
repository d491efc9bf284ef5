// From a prompt to its answer in one call: session, stop strings, text as it comes, times.
// Threads: as the sessions of the model (session.h).
#ifndef MLXCEL_GENERATE_H
#define MLXCEL_GENERATE_H

#include <mlxcel/session.h>
#include <mlxcel/text.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mlxcel_generate_options {
  size_t struct_size;               // set by init
  const mlxcel_sampling *sampling;  // NULL: greedy
  int64_t max_tokens;               // refused if they do not fit the context behind the prompt; -1: until an end token or a
                                    // full context; 0: the prompt is run, nothing more
  const char *const *stops;         // [n_stops] texts that end the answer; they are not in it
  int32_t n_stops;
  bool ignore_end;                  // end tokens do not end the answer
  bool show_special;                // special tokens appear in the text
  // Called with every piece of text that is final; may be NULL. Returning false cancels. `piece` is bytes long, not
  // NUL-terminated, and never ends in the middle of a character.
  bool (*text)(void *text_context, const char *piece, size_t bytes);
  void *text_context;
  const volatile int *cancel;       // looked at between tokens; not 0 cancels. May be set by a signal handler; or NULL
} mlxcel_generate_options;

MLXCEL_API void mlxcel_generate_options_init(mlxcel_generate_options *options, size_t struct_size);

// Made and freed by the library: later versions may add fields at the end.
typedef struct mlxcel_result {
  const char *text;              // UTF-8, NUL-terminated; "" for a model without tokenizer
  size_t text_bytes;
  const int32_t *ids;            // [n_ids]; an end token is not among them
  int64_t n_ids;
  const float *logprobs;         // [n_ids] when sampling.n_logprobs >= 0, else NULL
  const mlxcel_logprob *top;     // [n_ids][n_top], else NULL
  int32_t n_top;
  mlxcel_finish finish;          // END, LENGTH or CANCELLED
  int64_t n_prompt;              // tokens of the prompt,
  int64_t n_reused;              // and how many of them were in the session already
  double prompt_ms;              // running the prompt
  double first_token_ms;         // from the call to the first token
  double decode_ms;              // all tokens behind the first
} mlxcel_result;

MLXCEL_API void mlxcel_result_free(mlxcel_result *result);  // NULL is fine

// Answers the prompt ids[n] in a session of its own. `options` may be NULL. *out belongs to the caller:
// mlxcel_result_free.
//   Fails: INVALID for an empty prompt or stop string, TOO_LONG, BUSY when no session is free, UNSUPPORTED, OOM, ENGINE.
//          Being cancelled is no failure: what there is comes back with FINISH_CANCELLED.
MLXCEL_API MLXCEL_MUST_CHECK mlxcel_status mlxcel_generate(mlxcel_model *model, const int32_t *ids, int64_t n,
                                                           const mlxcel_generate_options *options,
                                                           mlxcel_result **out, mlxcel_error *error);

// For chats: keeps its session, so that a prompt which begins as the last one went on runs only what is new.
typedef struct mlxcel_generator mlxcel_generator;

// `options` are copied with all they point to, but for text_context and cancel. NULL: the defaults.
MLXCEL_API MLXCEL_MUST_CHECK mlxcel_status mlxcel_generator_open(mlxcel_model *model,
                                                                 const mlxcel_generate_options *options,
                                                                 mlxcel_generator **out, mlxcel_error *error);
MLXCEL_API void mlxcel_generator_close(mlxcel_generator *generator);  // NULL is fine
// ids[n] is the whole prompt, from the first token of the chat on.
MLXCEL_API MLXCEL_MUST_CHECK mlxcel_status mlxcel_generator_run(mlxcel_generator *generator, const int32_t *ids,
                                                                int64_t n, mlxcel_result **out, mlxcel_error *error);

#ifdef __cplusplus
}
#endif
#endif
