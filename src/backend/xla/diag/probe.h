// Probes of single operations: a StableHLO program, operands, and what the program means in f32 arithmetic of a stated
// order, in plain C. Made for mlxcel xla micro-oracle.
#ifndef CEL_XLA_DIAG_PROBE_H
#define CEL_XLA_DIAG_PROBE_H

#include "backend/xla/diag/compare.h"

enum { CEL_PROBE_OPERANDS_MOST = 4, CEL_PROBE_BYTES_MOST = 1 << 16 };

typedef struct cel_probe_tensor {
  const char *name;
  const char *dtype;  // "<f4", "<u4", "<i4"
  int rank;
  int64_t dims[4];
} cel_probe_tensor;

typedef struct cel_probe {
  const char *name;
  const char *operation;
  const char *claim;     // "canonical-decomposition": the same roundings in the same order; "mathematical-closeness"
  const char *contract;  // types, places of rounding and order of sums, "key=value" parted by blanks
  const char *text;      // StableHLO, its function @main takes the operands
  cel_criterion criterion;
  cel_probe_tensor operands[CEL_PROBE_OPERANDS_MOST];  // ended by a NULL name
  cel_probe_tensor result;                             // f32
  void (*fill)(void *const *operands);
  void (*reference)(const void *const *operands, float *result);
} cel_probe;

extern const cel_probe cel_probes[];
extern const int cel_n_probes;

int64_t cel_probe_elements(const cel_probe_tensor *t);  // all types have 4 bytes

#endif
