// Host memory for the results of runs on a device: one block per result, kept and grown from run to run.
#ifndef CEL_XLA_ENGINE_COMMON_RESULTS_H
#define CEL_XLA_ENGINE_COMMON_RESULTS_H

#include <stdint.h>

#include "base/status.h"

typedef struct cel_results {  // zeroed to begin with
  void **at;      // [n]
  int64_t *room;  // [n] bytes of each
  int n;
} cel_results;

// *out: the block of result i, of at least `bytes` bytes. Valid until it is asked for again or freed.
CEL_MUST_CHECK cel_status cel_results_room(cel_results *r, int i, int64_t bytes, void **out, cel_err *err);
int64_t cel_results_bytes(const cel_results *r);  // held in all
void cel_results_free(cel_results *r);

#endif
