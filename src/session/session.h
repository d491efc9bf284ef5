// The seam. Token ids in, token ids out: a backend session owns its KV memory, its compiled programs and
// its sampler state; no tensor type crosses this header (ADR 0004).
//
//   model description + checkpoint ─► cel_backend.load ─► cel_model_handle
//   prepared prompt                ─► cel_session_open / prefill ─► cel_session_step ─► events
//
// Threads: one engine thread at a time per loaded model, except cel_session_cancel, which any may call.
#ifndef CEL_SESSION_SESSION_H
#define CEL_SESSION_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/status.h"
#include "model/checkpoint.h"
#include "sample/sample.h"

typedef struct cel_model_handle cel_model_handle;  // a model loaded by a backend
typedef struct cel_session cel_session;            // one sequence

// What a folder of programs compiled ahead is for.
typedef enum cel_artifact_use {
  CEL_ARTIFACT_USE,      // all programs come from it; one compiled for something else is refused
  CEL_ARTIFACT_REBUILD,  // the same, but then it is compiled anew
  CEL_ARTIFACT_MAKE,     // it is compiled anew
} cel_artifact_use;

typedef struct cel_load_options {
  int n_threads;         // 0: all cores
  int64_t context;       // most tokens of one session; 0: the model's own limit
  int max_sessions;      // open at once; 0: 1
  int prefill_chunk;     // tokens per prefill call; 0: the backend's choice
  const char *device;    // the backend's word for what it runs on; NULL: what its variable says
  int n_devices;         // that share the model; 0: 1
  const char *artifact;  // a folder of programs compiled ahead; NULL: none
  cel_artifact_use artifact_use;
  bool artifact_logits;  // CEL_ARTIFACT_MAKE: also the programs of `logits`
  // Called now and then while loading; may be NULL. Returning false cancels (CEL_CANCELLED).
  bool (*progress)(void *context_pointer, double fraction);
  void *progress_context;
} cel_load_options;

// What a prompt is, when it reaches a backend. Every pointer is borrowed for the length of the call.
// Text only so far: embedding spans, masks and features of images and sound will join the ids here.
typedef struct cel_prompt {
  const int32_t *ids;  // [n]
  int64_t n;
} cel_prompt;

typedef struct cel_session_options {
  cel_sampling sampling;      // borrowed pointers inside must outlive the session
  int64_t max_tokens;         // most tokens to generate; -1: until an end id or the context is full
  const int32_t *end_ids;     // [n_end_ids], copied: generation finishes when one is sampled
  int32_t n_end_ids;
  bool ignore_end;
} cel_session_options;

typedef enum cel_finish {
  CEL_FINISH_NONE,    // goes on
  CEL_FINISH_END,     // an end id was sampled (it is in the event)
  CEL_FINISH_LENGTH,  // max_tokens reached, or the context is full
  CEL_FINISH_CANCELLED,
  CEL_FINISH_ERROR,   // event.status and text say why; the other sessions of the step are unharmed
} cel_finish;

enum { CEL_EVENT_MAX_LOGPROBS = 20 };

typedef struct cel_event {
  int32_t token;        // -1 when there is none (error, cancelled)
  cel_finish finish;
  float logprob;        // when the session asked for log-probabilities
  int32_t n_top;
  cel_logprob top[CEL_EVENT_MAX_LOGPROBS];
  cel_err err;          // of CEL_FINISH_ERROR
} cel_event;

typedef struct cel_memory_report {
  int64_t weights_bytes;  // read from the mapping or held
  int64_t weights_device_bytes;  // of these on each device; 0: there is one
  int64_t kv_bytes;       // touched so far, all sessions
  int64_t arena_bytes;    // intermediates and scratch
} cel_memory_report;

typedef struct cel_description {
  const char *backend;    // "xla"
  const char *engine;     // "native"
  const char *device;     // "cpu"
  const char *precision;  // "f32", "i16"
  const char *isa;        // kernel level, "avx2"
  int n_threads;
} cel_description;

// One backend: a row of backend.def, found by name. All functions but probe may be NULL in a backend that
// only refuses (null).
typedef struct cel_backend {
  const char *name;
  const char *summary;
  const char *(*engine)(int i);    // names of the engines built in, NULL behind the last; NULL: it runs by itself
  // NULL, or why others go first where nobody names this one (one sentence, said at start). NULL function: no reason.
  const char *(*reservation)(void);
  // Can it run here? CEL_OK, or the sentence that says what is missing.
  cel_status (*probe)(cel_err *err);
  cel_status (*load)(const cel_arch *arch, const cel_checkpoint *checkpoint, const cel_load_options *options,
                     cel_model_handle **out, cel_err *err);
  void (*unload)(cel_model_handle *model);
  void (*describe)(const cel_model_handle *model, cel_description *out);
  void (*memory)(const cel_model_handle *model, cel_memory_report *out);
  int64_t (*context)(const cel_model_handle *model);
  // Fails: CEL_BUSY when max_sessions are open; CEL_UNSUPPORTED names what cannot be done.
  cel_status (*open)(cel_model_handle *model, const cel_session_options *options, cel_session **out, cel_err *err);
  void (*close)(cel_session *session);
  // Appends a prompt behind what the session holds. No token is sampled yet: the next step does that from
  // the last position. Fails: CEL_TOO_LONG where prompt and max_tokens together do not fit, naming the numbers; the session is
  // then unchanged. CEL_CANCELLED when cancel was called meanwhile.
  cel_status (*prefill)(cel_session *session, const cel_prompt *prompt, cel_err *err);
  // One token for each of n distinct sessions, all prefilled, none finished: events[i] belongs to
  // sessions[i]. A session's tokens do not depend on which others share the step (bit for bit).
  cel_status (*step)(cel_model_handle *model, cel_session *const *sessions, int n, cel_event *events, cel_err *err);
  void (*cancel)(cel_session *session);
  // Keeps the first n tokens (0 <= n <= length); generation may go on after a prefill of at least one
  // token. Clears finish.
  cel_status (*truncate)(cel_session *session, int64_t n, cel_err *err);
  // A new session holding the same tokens and KV, with its own options.
  cel_status (*fork)(cel_session *session, const cel_session_options *options, cel_session **out, cel_err *err);
  int64_t (*length)(const cel_session *session);        // tokens held
  const int32_t *(*tokens)(const cel_session *session); // [length]; lent until the next call
  // Logits of every prompt position, for `mlxcel logits` and evaluation: out [n][vocab], caller's memory.
  // Runs in a session of its own.
  cel_status (*logits)(cel_model_handle *model, const cel_prompt *prompt, float *out, cel_err *err);
} cel_backend;

extern const cel_backend *const cel_backends[];  // from backend.def, best first, ended by NULL
// Finds by name; "" or NULL: the first one whose probe says yes. Refuses with the list of built backends.
CEL_MUST_CHECK cel_status cel_backend_find(const char *name, const cel_backend **out, cel_err *err);
#endif
