// The backend that refuses politely: the template for a new one, and a double in tests. It is in no list.
#include "backend/null/null_backend.h"

static cel_status refuse(cel_err *err) {
  return cel_fail(err, CEL_UNSUPPORTED, "the null backend runs nothing");
}

static cel_status null_load(const cel_arch *arch, const cel_checkpoint *checkpoint, const cel_load_options *options,
                            cel_model_handle **out, cel_err *err) {
  (void)arch;
  (void)checkpoint;
  (void)options;
  *out = NULL;
  return refuse(err);
}

const cel_backend cel_backend_null = {
    .name = "null",
    .summary = "builds and refuses",
    .probe = refuse,
    .load = null_load,
};
