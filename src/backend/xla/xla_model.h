// A model on the OpenXLA path: engine, weights where the engine reads them, the states of all sessions,
// and the programs compiled so far. Shared by the files of this folder.
#ifndef CEL_XLA_MODEL_H
#define CEL_XLA_MODEL_H

#include "backend/xla/emit/emit.h"
#include "backend/xla/engine/engine.h"
#include "backend/xla/xla_options.h"
#include "session/sequence/sequence.h"

enum { CEL_XLA_PREFILL_CHUNK = 512, CEL_XLA_PROGRAMS_MOST = 32, CEL_XLA_CAPACITY_MOST = INT32_MAX };

typedef struct cel_xla_program {  // one entry point, compiled for one number of tokens
  cel_emit_options options;
  cel_program *program;
  cel_executable *executable;
  int64_t last_used;
  // Where the run-time parameters are among the program's; -1: it has no such one.
  int tokens, positions, slots, last;
  int rope_freqs[CEL_ARCH_MAX_ROPES];
  int state[CEL_STATE_COUNT];
  int bucket;
  const void **inputs;   // [n_params]
  cel_buffer **states;   // [n_params]
  const void **results;  // [n_results]
} cel_xla_program;

typedef struct cel_xla_bucket {  // xla_buckets.h
  int64_t capacity;
  bool open;
  cel_buffer *states[CEL_STATE_COUNT];  // of all rows, while it is open; NULL: the architecture has no such one
} cel_xla_bucket;

typedef struct cel_xla_model {
  cel_model_handle base;
  const cel_checkpoint *checkpoint;
  cel_storage_source storage;
  float *rope_divisors;  // [head_dim / 2]
  const cel_engine_driver *driver;
  cel_artifact_store *artifacts;  // NULL: none
  int n_devices;
  cel_engine *engine;
  cel_buffer **weights;  // [checkpoint->n_tensors], made when first asked for
  int64_t weights_bytes, weights_device_bytes;  // of the checkpoint; of these on each device
  cel_xla_bucket buckets[CEL_XLA_BUCKETS_MOST];  // [n_buckets], ascending
  int n_buckets;
  int8_t *bucket_of;     // [rows]; -1: in none yet
  bool widened;          // quantized matrices are f32 on the device
  cel_emit_kv kv;        // how keys and values are kept
  bool capacity_given;   // by a variable or the caller
  cel_hlo_dots dots;     // how the engine is asked to take products
  cel_xla_program *programs[CEL_XLA_PROGRAMS_MOST];
  int64_t clock;
  // Per run, sized at load: [2 * rows] or [prefill_chunk], whichever is more.
  int32_t *positions, *slots, *tokens;
  float *logits;         // [rows][vocab], of a step whose rows are in several buckets; NULL where there is one
  float *rope_freqs[CEL_ARCH_MAX_ROPES];  // [that many][dims / 2], for length-dependent tables
} cel_xla_model;

static inline cel_xla_model *cel_xla_model_of(cel_model_handle *m) { return (cel_xla_model *)(void *)m; }
extern const cel_sequence_runner cel_xla_runner;  // xla_session.c

// The program for these options, compiled when it is not there yet (the least recently used one goes).
CEL_MUST_CHECK cel_status cel_xla_program_for(cel_xla_model *m, int bucket, cel_entry entry, int64_t tokens, cel_emit_logits logits,
                                              cel_xla_program **out, cel_err *err);
// Runs it: n rows of tokens, positions and (decode) slots. `length` is the sequence length all rows' rope
// frequencies are for, 0: each row's own position + 1; only length-dependent tables read it. *logits is lent
// until the next run.
CEL_MUST_CHECK cel_status cel_xla_run(cel_xla_model *m, cel_xla_program *p, const int32_t *tokens,
                                      const int32_t *positions, const int32_t *slots, int32_t last, int64_t length,
                                      const float **logits, cel_err *err);

// A program for options that no session asks for; m's buffers and weights serve it. `module`, taken in any case: what to
// compile instead of what the options emit; NULL: that.
CEL_MUST_CHECK cel_status cel_xla_program_make(cel_xla_model *m, const cel_emit_options *options, cel_hlo_module *module,
                                               cel_xla_program **out, cel_err *err);
void cel_xla_program_drop(cel_xla_model *m, cel_xla_program *p);  // NULL is fine

cel_status cel_xla_load(const cel_arch *arch, const cel_checkpoint *checkpoint, const cel_load_options *options,
                        cel_model_handle **out, cel_err *err);
// The same with the variables' values given, and without trying a first program where `check` is false.
CEL_MUST_CHECK cel_status cel_xla_load_with(const cel_arch *arch, const cel_checkpoint *checkpoint, const cel_load_options *options,
                                            const cel_xla_options *x, bool check, cel_model_handle **out, cel_err *err);
void cel_xla_unload(cel_model_handle *m);

#endif
