// Runs a plan: bands of rows are read, changed and written, on all members of a pool; memory stays at a few bands.
#ifndef CEL_MODEL_WRITE_ENCODE_H
#define CEL_MODEL_WRITE_ENCODE_H

#include "base/pool.h"
#include "model/write/out.h"
#include "model/write/write_plan.h"

// Called between bands with the values done so far and in all; false ends the work (CEL_CANCELLED).
typedef bool cel_write_progress(void *context, int64_t done, int64_t total);

typedef struct cel_write_watch {
  cel_write_progress *progress;  // may be NULL
  void *context;
} cel_write_watch;

// `files`[p->n_files]: the outputs the pieces' file numbers stand for; pieces' offsets are in the file by now. Fills the
// pieces' digests.
//   Fails: CEL_INVALID  a value that the new format cannot hold; the text names tensor and row
CEL_MUST_CHECK cel_status cel_write_plan_run(cel_write_plan *p, cel_out *out, const int *files, cel_pool *pool,
                                       const cel_write_watch *watch, cel_err *err);

// A running 64-bit digest of bytes, for the read-back check (no cryptography): start with 0 bytes done.
typedef struct cel_digest { uint64_t state, n; } cel_digest;
void cel_digest_add(cel_digest *d, const void *data, int64_t bytes);
uint64_t cel_digest_end(const cel_digest *d);

#endif
