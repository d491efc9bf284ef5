// Runs programs that check themselves: StableHLO text with check.expect_... operations (or custom calls of
// the same names), as in StableHLO's own tests. "// -----" on a line of its own separates programs. Every
// public function without arguments is run.
//
//   check.expect_eq a, b                exactly equal: equal bits, or equal as numbers (-0 = +0), or both NaN
//   check.expect_eq_const a, literal    the same
//   check.expect_almost_eq a, b         |a - b| <= tolerance (1e-4; 1e-3 as a custom call), or both NaN
//   check.expect_almost_eq_const a, literal
//   check.expect_close a, b             min_ulp_difference (0) <= units in the last place between a and b
//                                       <= max_ulp_difference (1; 3 as a custom call). Values that are not
//                                       finite must be the same, all NaN count as the same.
// Complex numbers: each part by itself.
#ifndef CEL_XLA_NATIVE_REF_CHECK_H
#define CEL_XLA_NATIVE_REF_CHECK_H

#include "backend/xla/engine/native/ref/ref.h"

typedef enum cel_check_outcome {
  CEL_CHECK_PASSED,
  CEL_CHECK_FAILED,   // a check did not hold, or the program is wrong
  CEL_CHECK_REFUSED,  // it uses an operation or a type that is not there; the text names it
} cel_check_outcome;

typedef struct cel_check_counts {
  int64_t passed, failed, refused;  // functions; a program that cannot be read counts as one
} cel_check_counts;

// Called once per function. `where` is "NAME:LINE @FUNC" with the line its program begins at; `text` is ""
// when it passed. Both end with the call.
typedef void cel_check_report(void *context, cel_check_outcome outcome, const char *where, const char *text);

// Adds to *counts. `report` and `limits` may be NULL. Fails only for lack of memory; a program that fails is
// counted and reported.
CEL_MUST_CHECK cel_status cel_check_file(cel_str text, const char *name, const cel_ref_limits *limits,
                                         cel_check_report *report, void *context, cel_check_counts *counts,
                                         cel_err *err);

// The same rules for other engines' results. Is this one of the operations above?
bool cel_check_is(const cel_hlo_op *op);
// in[n_operands]: the values of its operands, wherever they were computed. CEL_INVALID, and what differs, when it does not hold.
CEL_MUST_CHECK cel_status cel_check_holds(const cel_hlo_op *op, const cel_ref_tensor *in, cel_err *err);

#endif
