// The micro oracle: probes of single operations (diag/probe.h) on an engine, against f32 arithmetic of a stated order.
#ifndef CEL_XLA_MICRO_H
#define CEL_XLA_MICRO_H

#include "base/status.h"
#include "base/str.h"

typedef struct cel_xla_micro_options {
  const char *device;  // NULL: as MLXCEL_XLA_DEVICE says. The precision is f32, whatever MLXCEL_XLA_PRECISION says
  int n_threads;
} cel_xla_micro_options;

typedef struct cel_xla_micro_counts {
  int passed, failed;
  int qualified;  // probes that claim to qualify a production algorithm: there must be none
} cel_xla_micro_counts;

// Appends the report, a JSON array with an object per probe (schema mlxcel-micro-oracle in docs/diagnostics.md), or with
// `text` lines for people. An engine that refuses or breaks at one probe fails that probe.
CEL_MUST_CHECK cel_status cel_xla_micro_oracle(const cel_xla_micro_options *options, bool text, cel_buf *out,
                                               cel_xla_micro_counts *counts, cel_err *err);

#endif
