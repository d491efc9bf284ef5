#include "backend/xla/emit/emit_internal.h"

hlo cel_emit_mla(cel_emit *e, int layer, hlo h) {
  (void)h;
  cel_hlo_refuse(&e->b, CEL_UNSUPPORTED, "layer %d needs latent attention, which has no graph form yet", layer);
  return NULL;
}
