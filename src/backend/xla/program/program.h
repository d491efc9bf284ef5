// A program: a StableHLO module and the signature of the one function of it that runs. All an engine ever
// sees: no model, no tokens, only tensors with names.
// Threads: made by one, read by many.
#ifndef CEL_XLA_PROGRAM_PROGRAM_H
#define CEL_XLA_PROGRAM_PROGRAM_H

#include "backend/xla/hlo/hlo.h"

typedef enum cel_param_kind {
  CEL_PARAM_WEIGHT,  // {mlxcel.weight = NAME}: bound once, when the program is compiled
  CEL_PARAM_INPUT,   // {mlxcel.input = NAME} or no word at all: host memory, given at each call
  CEL_PARAM_STATE,   // {mlxcel.state = NAME, tf.aliasing_output = R}: lives in the engine, updated in place
} cel_param_kind;

typedef struct cel_param {
  cel_param_kind kind;
  const char *name;  // the attribute's text; "argN" when there is none
  const cel_hlo_type *type;
  int shard;         // the dimension along which the module's devices share it; -1: each has all of it
  int alias_result;  // the result that is this state's new value; -1: none
} cel_param;

typedef struct cel_program {
  cel_hlo_module *module;  // owned
  const cel_hlo_func *entry;
  cel_param *params;  // [n_params], one per argument of entry
  int n_params, n_results;
} cel_program;

// Takes `module` on success and on failure. `entry` NULL: the module's only public function, or "main".
CEL_MUST_CHECK cel_status cel_program_new(cel_hlo_module *module, const char *entry, cel_program **out, cel_err *err);
void cel_program_free(cel_program *p);
int cel_program_param(const cel_program *p, const char *name);  // index, -1 when absent

#endif
