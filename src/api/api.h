// What the files of the public library share: options that can grow, errors, the insides of the handles. The
// contracts are the headers of include/mlxcel/.
#ifndef CEL_API_API_H
#define CEL_API_API_H

#include <mlxcel/mlxcel.h>
#include <stdatomic.h>

#include "base/str.h"
#include "generate/generate.h"

// ---- options -----------------------------------------------------------------------------------------

// Init: the defaults, as far as the caller's struct reaches; zeros behind them.
void cel_api_defaults(void *given, size_t given_bytes, const void *defaults, size_t bytes);
// Reads a caller's struct over the defaults in `own`. It may be that of a later version if it asks for nothing new
// (zeros behind what is known). `least`: size of the struct's first version. NULL leaves the defaults.
CEL_MUST_CHECK cel_status cel_api_read(void *own, size_t bytes, size_t least, const void *given, const char *what,
                                       cel_err *err);
CEL_MUST_CHECK cel_status cel_api_range(const char *field, int64_t value, int64_t low, int64_t high, cel_err *err);

// ---- results -----------------------------------------------------------------------------------------

// Hands a failure to the caller.
mlxcel_status cel_api_done(cel_status s, const cel_err *err, mlxcel_error *error);
// INVALID with "`what` is NULL".
mlxcel_status cel_api_null(const char *what, mlxcel_error *error);
// Moves the text of a buffer into the caller's pair; frees the buffer either way.
CEL_MUST_CHECK cel_status cel_api_text(cel_buf *from, char **text, size_t *bytes, cel_err *err);
CEL_MUST_CHECK cel_status cel_api_ids(const int32_t *ids, int64_t n, cel_err *err);  // a caller's array

// ---- handles -----------------------------------------------------------------------------------------

struct mlxcel_model {
  cel_lm *lm;
  mlxcel_model_info info;
  atomic_int uses;      // the caller's, and one for each thing made from it
  cel_event *events;    // [max_sessions] of a step
  cel_session **batch;  // [max_sessions]
};

mlxcel_model *cel_api_hold(mlxcel_model *m);
void cel_api_drop(mlxcel_model *m);
CEL_MUST_CHECK cel_status cel_api_need_backend(const mlxcel_model *m, cel_err *err);
CEL_MUST_CHECK cel_status cel_api_need_tokenizer(const mlxcel_model *m, cel_err *err);

// A caller's sampling with copies of what it points to. Zero-initialize.
typedef struct cel_api_sampling {
  cel_sampling s;
  int32_t *breakers;
  cel_logit_bias *bias;
} cel_api_sampling;
CEL_MUST_CHECK cel_status cel_api_sampling_read(const mlxcel_sampling *given, int64_t vocab, cel_api_sampling *out,
                                                cel_err *err);
void cel_api_sampling_deinit(cel_api_sampling *s);

#endif
