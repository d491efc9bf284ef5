// Sessions as every backend has them: tokens held, tokens fed, sampling, finish. A backend brings a table of five
// functions that run the model over rows of its states and gets all of the seam's session functions for that.
//
//   struct my_model { cel_model_handle base; ... };          base first
//   cel_sequences_init(&my->base, ...)                       at load; cel_sequences_deinit at unload
//   const cel_backend cel_backend_my = {..., .open = cel_sequence_open, .step = cel_sequence_step, ...};
//
// Threads: as session.h says; cel_sequence_cancel any.
#ifndef CEL_SESSION_SEQUENCE_SEQUENCE_H
#define CEL_SESSION_SEQUENCE_SEQUENCE_H

#include <stdatomic.h>

#include "session/session.h"

enum { CEL_SEQUENCE_LOGITS_CHUNK = 64 };  // most tokens of a chunk that all have logits

typedef enum cel_sequence_logits {
  CEL_SEQUENCE_LAST,  // of the last position: [vocab]
  CEL_SEQUENCE_ALL,   // of all: [count][vocab]
  CEL_SEQUENCE_NONE,  // of a chunk that is not a prompt's last one
} cel_sequence_logits;

// How a backend runs tokens. A row is the states of one sequence; logits are lent until the next run.
typedef struct cel_sequence_runner {
  bool failure_loses_rows;  // a run that fails leaves nothing usable in its rows
  // How many of n tokens (n >= 1, at most `most`) the next chunk takes.
  int64_t (*chunk_size)(const cel_model_handle *m, int64_t n, int64_t most);
  // Tokens [from, from + count) of a row, behind those before; `end` is the length of the whole prompt, which
  // length-dependent rotations are for.
  cel_status (*prefill)(cel_model_handle *m, int row, const int32_t *tokens, int64_t from, int64_t count, int64_t end,
                        cel_sequence_logits want, const float **logits, cel_err *err);
  // One token for each of n rows, tokens[i] at positions[i] of row rows[i]; logits [n][vocab].
  cel_status (*decode)(cel_model_handle *m, int n, const int32_t *tokens, const int32_t *positions, const int32_t *rows,
                       const float **logits, cel_err *err);
  // Recurrent states of a row become those ahead of a first token; with `all`, the row is given up, whatever it holds.
  void (*forget)(cel_model_handle *m, int row, bool all);
  // The states of the first n tokens of one row in another.
  cel_status (*copy)(cel_model_handle *m, int from, int to, int64_t n, cel_err *err);
} cel_sequence_runner;

struct cel_model_handle {
  const cel_sequence_runner *run;
  cel_arch arch;
  int64_t capacity, vocab;
  int n_rows, prefill_chunk;
  cel_session **by_row;  // [n_rows], NULL: free
  int32_t *tokens, *positions, *rows;  // [n_rows], of a step
  void *sample_scratch;
};

struct cel_session {
  cel_model_handle *model;
  cel_session_options options;
  int32_t *end_ids;
  int row;
  int32_t *tokens;   // [capacity]
  int64_t n;         // tokens held
  int64_t n_kv;      // of these, how many are in the states
  int64_t n_prompt;  // the leading ones that were not sampled
  bool past_original;  // the keys in the cache are those of a length past longrope's original one
  uint64_t draws;
  int64_t generated;
  float *logits;     // [vocab], of the position before the next token
  bool pending;      // logits are fresh: the next step samples from them without running the model
  cel_finish finish;
  atomic_bool cancelled;
};

// The model's own limit of tokens: the positions it was trained for, or what dynamic rope scaling stretches them to.
int64_t cel_sequence_limit(const cel_arch *a);
// arch, capacity, vocab, n_rows, prefill_chunk and run are set; takes what sessions need beside the states.
CEL_MUST_CHECK cel_status cel_sequences_init(cel_model_handle *m, cel_err *err);
void cel_sequences_deinit(cel_model_handle *m);

// The seam's functions of sessions (session.h).
int64_t cel_sequence_context(const cel_model_handle *m);
cel_status cel_sequence_open(cel_model_handle *m, const cel_session_options *options, cel_session **out, cel_err *err);
void cel_sequence_close(cel_session *s);
cel_status cel_sequence_prefill(cel_session *s, const cel_prompt *prompt, cel_err *err);
cel_status cel_sequence_step(cel_model_handle *m, cel_session *const *sessions, int n, cel_event *events, cel_err *err);
void cel_sequence_cancel(cel_session *s);
cel_status cel_sequence_truncate(cel_session *s, int64_t n, cel_err *err);
cel_status cel_sequence_fork(cel_session *s, const cel_session_options *options, cel_session **out, cel_err *err);
int64_t cel_sequence_length(const cel_session *s);
const int32_t *cel_sequence_tokens(const cel_session *s);
cel_status cel_sequence_logits_of(cel_model_handle *m, const cel_prompt *prompt, float *out, cel_err *err);

#endif
