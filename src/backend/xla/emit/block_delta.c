#include "backend/xla/emit/emit_internal.h"

hlo cel_emit_delta(cel_emit *e, int layer, hlo h) {
  (void)h;
  cel_hlo_refuse(&e->b, CEL_UNSUPPORTED, "layer %d needs the gated delta rule, which has no graph form yet", layer);
  return NULL;
}
