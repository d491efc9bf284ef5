// What engines ask of a program's signature before they run it: is everything there, and which result is a state's new value.
#ifndef CEL_XLA_ENGINE_COMMON_BINDING_H
#define CEL_XLA_ENGINE_COMMON_BINDING_H

#include "backend/xla/engine/engine.h"

// state_of[n_results + 1]: the parameter whose new value the result is; -1: none. Fails where a weight has no buffer.
CEL_MUST_CHECK cel_status cel_binding_compile(const cel_program *p, cel_buffer *const *weights, int *state_of, cel_err *err);
// Fails where a state or an input is missing.
CEL_MUST_CHECK cel_status cel_binding_execute(const cel_program *p, cel_buffer *const *states, const void *const *inputs,
                                              cel_err *err);
// "llama_decode tensor<4xi32> tensor<4xi32>", the module and its inputs: what a list of kept programs shows. Cut at `bytes`.
void cel_binding_note(const cel_program *p, char *out, size_t bytes);
// The refusal of an engine one of whose runs failed after it had taken the states: nothing has them any more.
CEL_MUST_CHECK cel_status cel_binding_lost(cel_err *err);
// Does it take states, which a run consumes even if it fails?
bool cel_binding_has_states(const cel_program *p);

#endif
