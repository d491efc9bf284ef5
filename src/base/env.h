// The environment variables: one table (env.def), checked as a whole when the program starts, read through here only.
// Threads: as getenv: any, as long as nobody sets variables meanwhile.
#ifndef CEL_BASE_ENV_H
#define CEL_BASE_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef enum cel_env_id {
#define CEL_ENV(id, name, check, accepted, unset, read, meaning) CEL_ENV_##id,
#include "base/env.def"
#undef CEL_ENV
  CEL_ENV_COUNT
} cel_env_id;

typedef struct cel_env_row {
  const char *name, *check, *accepted, *unset, *read, *meaning;
} cel_env_row;
extern const cel_env_row cel_env_rows[CEL_ENV_COUNT];

// The value, lent as getenv lends it; NULL when the variable is unset or empty, which is the same everywhere.
const char *cel_env(cel_env_id id);
const char *cel_env_or(cel_env_id id, const char *otherwise);
// For `mlxcel env`: as cel_env, of a secret "(set)".
const char *cel_env_shown(cel_env_id id);

// CEL_INVALID with variable, value and accepted set when one of them holds what its row does not accept; or with its name when
// one begins as the rows of a backend do (MLXCEL_XLA_, MLXCEL_MLX_; of those built in) and is none in any build.
CEL_MUST_CHECK cel_status cel_env_check(cel_err *err);
CEL_MUST_CHECK cel_status cel_env_check_one(cel_env_id id, cel_err *err);

// Of rows "int", "size" and "switch"; `otherwise` when unset. The value's check is made on the way.
CEL_MUST_CHECK cel_status cel_env_integer(cel_env_id id, int64_t otherwise, int64_t *out, cel_err *err);
CEL_MUST_CHECK cel_status cel_env_size(cel_env_id id, int64_t otherwise, int64_t *out, cel_err *err);
CEL_MUST_CHECK cel_status cel_env_switch(cel_env_id id, bool otherwise, bool *out, cel_err *err);

// Of rows "ints LOW HIGH MOST": up to MOST numbers parted by commas; out[most] gets them sorted, each once. 0 when unset; set and
// empty it is no list, and refused.
CEL_MUST_CHECK cel_status cel_env_integers(cel_env_id id, int64_t *out, int most, int *n, cel_err *err);
// The same of a value from elsewhere; false when the row does not accept it.
bool cel_env_read_integers(cel_env_id id, const char *value, int64_t *out, int most, int *n);

// A row's check against a value, for its tests: true when it is accepted.
bool cel_env_accepts(const char *check, const char *value);

#endif
