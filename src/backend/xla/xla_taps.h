// One prompt through a tapped prefill: what mlxcel xla taps and mlxcel diff look at.
#ifndef CEL_XLA_TAPS_H
#define CEL_XLA_TAPS_H

#include "arch/arch.h"
#include "backend/xla/diag/compare.h"
#include "base/arena.h"
#include "model/checkpoint.h"

typedef struct cel_xla_taps_options {
  const char *device, *precision;  // NULL: as MLXCEL_XLA_DEVICE and MLXCEL_XLA_PRECISION say
  int n_threads;                   // 0: all cores
  const char *const *taps;         // [n_taps] shell patterns of names
  int n_taps;
  cel_str module;                  // StableHLO text to run in place of what is emitted; n == 0: none
  const char *module_name;         // for messages
} cel_xla_taps_options;

// Arrays in the order of the graph. Zero-initialize; free with cel_xla_taps_deinit.
typedef struct cel_xla_taps {
  cel_diag_array *arrays;  // [n]
  int n;
  const char *engine, *device, *precision, *isa;
  cel_arena memory;        // of all of it
} cel_xla_taps;

// All n ids in one prefill at positions 0 .. n - 1.
CEL_MUST_CHECK cel_status cel_xla_taps_run(const cel_arch *arch, const cel_checkpoint *checkpoint, const int32_t *ids, int64_t n,
                                           const cel_xla_taps_options *options, cel_xla_taps *out, cel_err *err);
void cel_xla_taps_deinit(cel_xla_taps *t);
// Names and types of the values that the patterns fit, one a line: "layers.0.q <f4 [1, 4, 16]", for one token.
CEL_MUST_CHECK cel_status cel_xla_taps_list(const cel_arch *arch, const cel_checkpoint *checkpoint, const char *const *taps, int n_taps,
                                            cel_buf *out, cel_err *err);

#endif
