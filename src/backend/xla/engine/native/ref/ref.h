// The reference evaluator: what every operation of a StableHLO module means, in plain C, slow on purpose.
// It is read beside the specification (openxla/stablehlo, docs/spec.md), one function per operation or per
// family. Kernels are right when they agree with it; the native engine falls back to it.
//
// Numbers, where the specification leaves a choice:
//  - Floating-point operations on one element are computed in double and rounded once to the element type.
//    For add, subtract, multiply, divide and sqrt of f32 and narrower this equals arithmetic in that type.
//  - Complex numbers: the same with pairs of double; only multiply works by parts in the parts' type.
//  - dot_general and convolution: f64 results accumulate in f64; f32 and narrower float results take
//    products and sums in f32, the contracted index ascending, and round once at the end. Complex results
//    likewise in their parts' type. Integers wrap. precision_config changes nothing.
//  - reduce and reduce_window: acc = init, then acc = body(acc, x) in ascending lexicographic order.
//    scatter applies updates in that order too. sort is always stable.
//  - Integers wrap. Division by zero gives all ones (quotient) and the dividend (remainder); the most
//    negative value divided by -1 gives itself, remainder 0. Shifts by the width or more give 0, or the
//    sign for arithmetic shifts. float -> integer truncates and saturates, NaN gives 0.
//  - f8E4M3FN has no infinity: overflow gives NaN.
// Operations it does not do are refused by name with CEL_UNSUPPORTED.
//
// Threads: no state of its own; any number of evaluations may run at the same time on finished modules.
#ifndef CEL_XLA_NATIVE_REF_H
#define CEL_XLA_NATIVE_REF_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/xla/hlo/hlo.h"

// A tensor on the host: row-major, little-endian, sub-byte types one byte each. For a tuple, data is an
// array of n_parts cel_ref_tensor; a token has no data.
typedef struct cel_ref_tensor {
  const cel_hlo_type *type;
  void *data;
} cel_ref_tensor;

// What a program may use before it ends with CEL_TOO_LONG and the limit's name. 0 means the default.
typedef struct cel_ref_limits {
  int64_t bytes;  // of values alive at one time (default 8 GiB)
  int64_t steps;  // elementary steps: operations, elements, products (default 10^12)
  int depth;      // nested calls and regions (default 64)
} cel_ref_limits;

// Evaluates a function. args[n] are borrowed and must have the types of the function's arguments.
// results has f->n_results entries; on success the caller frees each with cel_ref_tensor_free. On an error
// nothing is to be freed. Composites are evaluated through their decomposition: that defines them.
// `limits` may be NULL.
CEL_MUST_CHECK cel_status cel_ref_eval_func(const cel_hlo_module *m, const cel_hlo_func *f,
                                            const cel_ref_tensor *args, int n, cel_ref_tensor *results,
                                            const cel_ref_limits *limits, cel_err *err);
void cel_ref_tensor_free(cel_ref_tensor *t);

// Whether there is a function for the operation; it may still refuse an element type or an attribute.
bool cel_ref_knows(cel_hlo_opcode op);

// Finds the value of something a region captures from around its operation. False: unknown.
typedef bool cel_ref_lookup(void *context, const cel_hlo_value *value, cel_ref_tensor *out);

// Evaluates one operation on given operands into buffers the caller provides: operands[op->n_operands],
// results[op->n_results] with type and data set; results must not overlap operands. Also for operations
// with regions (reduce, scatter, sort, while, if ...), whose captured values come from `lookup`; it may be
// NULL when nothing is captured. Tuple results are refused. `limits` may be NULL.
CEL_MUST_CHECK cel_status cel_ref_op(const cel_hlo_module *m, const cel_hlo_op *op, const cel_ref_tensor *operands,
                                     const cel_ref_tensor *results, cel_ref_lookup *lookup, void *context,
                                     const cel_ref_limits *limits, cel_err *err);

#endif
