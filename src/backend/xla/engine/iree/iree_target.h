// The devices that IREE compiles for, and how the compiler is told of one.
#ifndef CEL_XLA_ENGINE_IREE_IREE_TARGET_H
#define CEL_XLA_ENGINE_IREE_IREE_TARGET_H

#include <stdbool.h>

#include "base/status.h"

enum { CEL_IREE_FLAGS_MOST = 8, CEL_IREE_FLAG_BYTES = 96 };

typedef struct cel_iree_target {
  const char *name, *driver;
  char precision[8];  // of products: f32, f16, bf16
  char flags[CEL_IREE_FLAGS_MOST][CEL_IREE_FLAG_BYTES];
  const char *argv[CEL_IREE_FLAGS_MOST];  // the same, as a list
  int n_flags;
  char artifact[96];  // what compiled code runs on, for the keys of artifacts
} cel_iree_target;

extern const char *const cel_iree_targets[];  // their names, ended by NULL

// `device`: the part of MLXCEL_XLA_DEVICE behind the engine's name, "" for the default: metal on macOS, local-task elsewhere.
// `precision` and `rocm_target`: MLXCEL_XLA_PRECISION and MLXCEL_XLA_ROCM_TARGET, "" where not set.
// Fails: CEL_INVALID for a value that is not accepted, with those that are.
CEL_MUST_CHECK cel_status cel_iree_target_find(const char *device, const char *precision, const char *rocm_target,
                                               cel_iree_target *out, cel_err *err);

#endif
