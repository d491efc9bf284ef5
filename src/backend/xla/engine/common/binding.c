#include "backend/xla/engine/common/binding.h"

#include <stdio.h>

cel_status cel_binding_compile(const cel_program *p, cel_buffer *const *weights, int *state_of, cel_err *err) {
  for (int i = 0; i < p->n_results; i++) state_of[i] = -1;
  for (int i = 0; i < p->n_params; i++) {
    const cel_param *q = &p->params[i];
    if (q->kind == CEL_PARAM_STATE && q->alias_result >= 0) state_of[q->alias_result] = i;
    if (q->kind != CEL_PARAM_WEIGHT || (weights && weights[i])) continue;
    return cel_fail(err, CEL_INVALID, "weight %s is not bound", q->name);
  }
  return CEL_OK;
}

cel_status cel_binding_execute(const cel_program *p, cel_buffer *const *states, const void *const *inputs, cel_err *err) {
  for (int i = 0; i < p->n_params; i++) {
    const cel_param *q = &p->params[i];
    if (q->kind == CEL_PARAM_STATE && (!states || !states[i])) {
      return cel_fail(err, CEL_INVALID, "state %s of @%s was not given", q->name, p->entry->name);
    }
    if (q->kind == CEL_PARAM_INPUT && (!inputs || !inputs[i])) {
      return cel_fail(err, CEL_INVALID, "input %s of @%s was not given", q->name, p->entry->name);
    }
  }
  return CEL_OK;
}

bool cel_binding_has_states(const cel_program *p) {
  for (int i = 0; i < p->n_params; i++) {
    if (p->params[i].kind == CEL_PARAM_STATE) return true;
  }
  return false;
}

cel_status cel_binding_lost(cel_err *err) {
  return cel_fail(err, CEL_IO, "a run failed on this device before, and the sessions' caches were lost with it: load the model anew");
}

void cel_binding_note(const cel_program *p, char *out, size_t bytes) {
  int n = snprintf(out, bytes, "%s", p->module->name ? p->module->name : p->entry->name);
  for (int i = 0; i < p->n_params && n > 0 && (size_t)n < bytes; i++) {
    char type[128];
    if (p->params[i].kind != CEL_PARAM_INPUT) continue;
    cel_hlo_type_text(p->params[i].type, type, sizeof type);
    n += snprintf(out + n, bytes - (size_t)n, " %s", type);
  }
}
