#include "backend/xla/xla_options.h"

#include <stddef.h>

#include "base/env.h"

cel_status cel_xla_options_read(cel_xla_options *out, cel_err *err) {
  *out = (cel_xla_options){.device = cel_env_or(CEL_ENV_XLA_DEVICE, ""), .precision = cel_env_or(CEL_ENV_XLA_PRECISION, ""),
                           .plugin_folders = cel_env_or(CEL_ENV_XLA_PJRT_PATH, ""), .plugin_options = cel_env_or(CEL_ENV_XLA_PJRT_OPTIONS, ""),
                           .compiler = cel_env_or(CEL_ENV_XLA_IREE_COMPILE, ""), .rocm_target = cel_env_or(CEL_ENV_XLA_ROCM_TARGET, ""),
                           .kv_cache = cel_env_or(CEL_ENV_XLA_KV_CACHE, "")};
  CEL_TRY(cel_env_check(err));
  out->packed = cel_env(CEL_ENV_XLA_QUANT) != NULL;  // checked: its one word
  CEL_TRY(cel_env_size(CEL_ENV_XLA_ARTIFACT_LIMIT, (int64_t)4 << 30, &out->artifact_limit, err));
  CEL_TRY(cel_env_integers(CEL_ENV_XLA_CONTEXT_BUCKETS, out->buckets, CEL_XLA_BUCKETS_MOST, &out->n_buckets, err));
  return cel_env_integer(CEL_ENV_XLA_CONTEXT_CAPACITY, 0, &out->capacity, err);
}
