// The MLXCEL_XLA_* variables (base/env.def), read in xla_options.c alone, once per load.
#ifndef CEL_XLA_OPTIONS_H
#define CEL_XLA_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum { CEL_XLA_BUCKETS_MOST = 16 };

typedef struct cel_xla_options {
  const char *device;     // "" for the default engine
  const char *precision;  // "" for the engine's default
  const char *plugin_folders, *plugin_options;
  const char *compiler, *rocm_target;
  int64_t capacity;       // 0: not set
  int64_t buckets[CEL_XLA_BUCKETS_MOST];  // [n_buckets], ascending
  int n_buckets;          // 0: not set
  const char *kv_cache;   // "f32", "f16", "i16", "" for what the precision makes of it
  bool packed;            // quantized weights stay packed on every engine
  int64_t artifact_limit;  // bytes of the store of compiled programs; 0: none is kept
} cel_xla_options;

// A value outside the accepted set is an error that names variable, value and set.
CEL_MUST_CHECK cel_status cel_xla_options_read(cel_xla_options *out, cel_err *err);

#endif
