// Inside the verifier.
#ifndef CEL_XLA_HLO_VERIFY_H
#define CEL_XLA_HLO_VERIFY_H

#include "backend/xla/hlo/infer.h"

typedef struct cel_verify {
  const cel_hlo_module *m;
  cel_hlo_module *scratch;  // where the rules make types: the verified module is not touched
  const cel_hlo_func *func;
  const cel_hlo_value **seen;  // [func->n_values] what an operation may use now, by id
  cel_err *err;
} cel_verify;

// "@main: layers.3.mlp: stablehlo.add: ..."; CEL_INVALID. `op` may be NULL.
cel_status cel_verify_fail(cel_verify *v, const cel_hlo_op *op, const char *fmt, ...) CEL_PRINTF(3, 4);
// Puts function and place in front of the message that is there.
cel_status cel_verify_locate(cel_verify *v, const cel_hlo_op *op);

// verify_calls.c
// The function a call or composite names: it exists, and takes and gives these types.
CEL_MUST_CHECK cel_status cel_verify_call(cel_verify *v, const cel_hlo_op *op);
// No function comes back to itself through calls and composites.
CEL_MUST_CHECK cel_status cel_verify_recursion(cel_verify *v);

#endif
