// Runs a plan with a team of threads.
#ifndef CEL_XLA_NATIVE_RUN_H
#define CEL_XLA_NATIVE_RUN_H

#include "backend/xla/engine/native/plan/plan.h"
#include "base/pool.h"

typedef struct cel_run {
  const cel_plan *plan;
  void **at;            // [n_slots] where each slot's bytes are now
  uint8_t *scratch;     // n_threads * plan->scratch_bytes, aligned to 64
  int64_t scratch_stride;
  cel_pool *pool;
  cel_status status;    // of steps that can fail (reference)
  cel_err err;
} cel_run;

// Allocates nothing unless a step is a reference step.
cel_status cel_run_plan(cel_run *r, cel_err *err);

#endif
