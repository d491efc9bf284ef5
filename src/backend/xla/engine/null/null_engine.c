// The engine that refuses: a template for new ones and a double in tests. It is in no list.
#include "backend/xla/engine/null/null_engine.h"

static cel_status refuse(cel_err *err) {
  return cel_fail(err, CEL_UNSUPPORTED, "the null engine runs nothing");
}
static cel_status null_open(const cel_engine_options *options, cel_engine **out, cel_err *err) {
  (void)options;
  *out = NULL;
  return refuse(err);
}

const cel_engine_driver cel_engine_null = {
    .name = "null",
    .summary = "builds and refuses",
    .probe = refuse,
    .open = null_open,
};
