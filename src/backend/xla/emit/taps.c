// Taps: named values of the walk that a pattern asks for become results of @main, behind all others, so that any engine
// shows them (ADR 0014). Without patterns nothing is recorded and the module is the same to the byte.
#include <fnmatch.h>
#include <string.h>

#include "backend/xla/emit/emit_internal.h"

// Which patterns the name fits, as bits.
static uint64_t fits(const cel_emit_options *o, const char *name) {
  uint64_t bits = 0;
  for (int i = 0; i < o->n_taps; i++) {
    if (fnmatch(o->taps[i], name, 0) == 0) bits |= (uint64_t)1 << i;
  }
  return bits;
}

static hlo record(cel_emit *e, const char *name, hlo x) {
  uint64_t bits = name ? fits(&e->options, name) : 0;
  if (bits == 0) return x;
  cel_emit_tapped *t = CEL_NEW(&e->b.module->arena, cel_emit_tapped);
  if (!t) {
    cel_hlo_refuse(&e->b, CEL_OOM, "out of memory in the emitter");
    return NULL;
  }
  *t = (cel_emit_tapped){.name = name, .value = x};
  if (e->last_tap) e->last_tap->next = t;
  else e->taps = t;
  e->last_tap = t;
  e->n_taps++;
  e->taps_seen |= bits;
  return x;
}

hlo cel_emit_tap(cel_emit *e, int layer, const char *name, hlo x) {
  if (e->options.n_taps == 0 || !x) return x;
  return record(e, layer < 0 ? name : cel_arena_printf(&e->b.module->arena, "layers.%d.%s", layer, name), x);
}

hlo cel_emit_tap_part(cel_emit *e, int layer, const char *name, int part, hlo x) {
  if (e->options.n_taps == 0 || !x) return x;
  cel_arena *arena = &e->b.module->arena;
  return record(e, layer < 0 ? cel_arena_printf(arena, "%s.%d", name, part) : cel_arena_printf(arena, "layers.%d.%s.%d", layer, name, part), x);
}

cel_status cel_emit_check_taps(const cel_emit_options *o, cel_err *err) {
  if (o->n_taps >= 0 && o->n_taps <= CEL_EMIT_MAX_TAPS) return CEL_OK;
  return cel_fail(err, CEL_INVALID, "%d patterns of taps; at most %d", o->n_taps, CEL_EMIT_MAX_TAPS);
}

int cel_emit_tap_results(cel_emit *e, hlo *results) {
  for (int i = 0; i < e->options.n_taps; i++) {
    if (e->taps_seen >> i & 1) continue;
    cel_hlo_refuse(&e->b, CEL_NOT_FOUND, "no value of this model has a name like the tap \"%.100s\"", e->options.taps[i]);
    return 0;
  }
  int n = 0;
  for (const cel_emit_tapped *t = e->taps; t; t = t->next) results[n++] = t->value;
  return n;
}

void cel_emit_name_taps(cel_emit *e, int first) {
  for (const cel_emit_tapped *t = e->taps; t; t = t->next) cel_hlo_result_attr_string(&e->b, first++, CEL_EMIT_TAP_ATTR, t->name);
}
