// Shared by the files of the reference evaluator.
#ifndef CEL_XLA_NATIVE_REF_INTERNAL_H
#define CEL_XLA_NATIVE_REF_INTERNAL_H

#include "backend/xla/engine/native/ref/element.h"
#include "backend/xla/engine/native/ref/ref.h"
#include "backend/xla/engine/native/ref/scalar.h"

// ---- evaluation state --------------------------------------------------------------------------

// Memory of a value, shared by whoever refers to it. A tuple's memory is an array of cel_ref_value.
typedef struct cel_ref_buffer cel_ref_buffer;

typedef struct cel_ref_value {
  cel_ref_tensor t;
  cel_ref_buffer *owner;  // NULL: borrowed (arguments, literals), or no value
} cel_ref_value;

typedef struct cel_ref_run cel_ref_run;

// Evaluates an operation of another dialect, or a custom_call; CEL_UNSUPPORTED when it is not its own.
typedef cel_status cel_ref_foreign(void *context, const cel_hlo_op *op, const cel_ref_tensor *operands, cel_err *err);

// One evaluation: its limits and what is used of them.
struct cel_ref_run {
  const cel_hlo_module *module;
  int64_t bytes, max_bytes;
  int64_t steps, max_steps;
  int depth, max_depth;
  cel_ref_foreign *foreign;  // may be NULL
  void *foreign_context;
  bool placed;  // the message already names the operation
  cel_err *err;
};

// The values of one function call: a slot per value id, from `first` on. Regions write into the same frame.
typedef struct cel_ref_frame {
  cel_ref_run *run;
  int first, n;
  cel_ref_value *slots;
  const cel_hlo_op **last_use;  // per slot: the operation of the value's own block after which it is dead
  cel_ref_lookup *lookup;       // for values that are not in the frame; may be NULL
  void *lookup_context;
} cel_ref_frame;

// One operation being evaluated into given buffers.
typedef struct cel_ref_call {
  cel_ref_frame *frame;
  const cel_hlo_op *op;
  const cel_ref_tensor *in;
  const cel_ref_tensor *out;
  cel_err *err;
} cel_ref_call;

typedef cel_status cel_ref_fn(const cel_ref_call *c);

void cel_ref_run_init(cel_ref_run *run, const cel_hlo_module *m, const cel_ref_limits *limits, cel_err *err);
// Counts `n` elementary steps; CEL_TOO_LONG when the limit is passed.
CEL_MUST_CHECK cel_status cel_ref_spend(cel_ref_run *run, int64_t n);
CEL_MUST_CHECK cel_status cel_ref_value_new(cel_ref_run *run, const cel_hlo_type *t, cel_ref_value *out);
void cel_ref_value_drop(cel_ref_run *run, cel_ref_value *v);
cel_ref_value cel_ref_value_share(cel_ref_value v);  // one more reference to the same memory
// Scratch memory that counts against the byte limit; free with cel_ref_scratch_free.
CEL_MUST_CHECK cel_status cel_ref_scratch(const cel_ref_call *c, int64_t count, int64_t size, void **out);
void cel_ref_scratch_free(const cel_ref_call *c, void *p);

// Evaluates a function to values (results[f->n_results]) that the caller drops.
CEL_MUST_CHECK cel_status cel_ref_call_func(cel_ref_run *run, const cel_hlo_func *f, const cel_ref_value *args, int n,
                                            cel_ref_value *results);
// Evaluates a block with the given arguments (borrowed); results[n_results] are the caller's to drop.
CEL_MUST_CHECK cel_status cel_ref_block(cel_ref_frame *f, const cel_hlo_block *b, const cel_ref_value *args,
                                        int n_args, cel_ref_value *results, int n_results);
// Control flow, calls, tuples and the like work on values, not on buffers. CEL_OK with *done false: not one
// of those.
CEL_MUST_CHECK cel_status cel_ref_control(cel_ref_frame *f, const cel_hlo_op *op, const cel_ref_value *in,
                                          cel_ref_value *out, bool *done);
bool cel_ref_is_control(cel_hlo_opcode op);
// The function that evaluates an operation into buffers; NULL when there is none.
cel_ref_fn *cel_ref_find(cel_hlo_opcode op);

// Families, each a file.
cel_ref_fn *cel_ref_find_elementwise(cel_hlo_opcode op);
cel_ref_fn *cel_ref_find_convert(cel_hlo_opcode op);
cel_ref_fn *cel_ref_find_shape(cel_hlo_opcode op);
cel_ref_fn *cel_ref_find_index(cel_hlo_opcode op);
cel_ref_fn *cel_ref_find_reduce(cel_hlo_opcode op);
cel_ref_fn *cel_ref_find_sort(cel_hlo_opcode op);
cel_status cel_ref_dot_general(const cel_ref_call *c);
cel_status cel_ref_convolution(const cel_ref_call *c);
cel_status cel_ref_rng_bit_generator(const cel_ref_call *c);

// ---- scalar bodies -----------------------------------------------------------------------------

// A region on scalars (of reduce, scatter, sort, map ...), prepared once and applied per element. A body of
// one elementwise operation on its two arguments, or that returns an argument, skips the interpreter.
enum { CEL_REF_MAX_SCALARS = 64, CEL_REF_SCALAR_BYTES = 16 };
typedef struct cel_ref_body {
  const cel_ref_call *call;
  const cel_hlo_block *block;
  int n_args, n_results;
  int returned;    // the argument a body returns at once, or -1
  bool is_binary;  // one operation on both arguments: `binary`,
  bool swapped;    // which takes them in the other order
  cel_ref_binary binary;
  cel_etype etype;
} cel_ref_body;
CEL_MUST_CHECK cel_status cel_ref_body_init(cel_ref_body *b, const cel_ref_call *c, int region, int n_args,
                                            int n_results);
// Whether result k of the region is a scalar of element type t.
bool cel_ref_body_returns(const cel_ref_body *b, int k, cel_etype t);
// args: pointers to n_args scalars of the block's argument types. results: pointers to where each of the
// n_results scalars goes; they may be the same places as arguments.
CEL_MUST_CHECK cel_status cel_ref_body_apply(const cel_ref_body *b, const void *const *args, void *const *results);
// ---- attributes, indices -----------------------------------------------------------------------

// Reads a list attribute of exactly `want` integers, each in lo <= x < hi; absent: all `otherwise`.
// Fails with the attribute's name and what was found.
CEL_MUST_CHECK cel_status cel_ref_ints(const cel_ref_call *c, const char *name, int want, int64_t otherwise,
                                       int64_t lo, int64_t hi, int64_t *out);
// The same for a list whose length is free (at most CEL_HLO_MAX_RANK); absent: empty.
CEL_MUST_CHECK cel_status cel_ref_list(const cel_ref_call *c, const char *name, int64_t lo, int64_t hi, int64_t *out,
                                       int *n);
// [n][2] pairs as a dense i64 constant; absent: zeros.
CEL_MUST_CHECK cel_status cel_ref_pairs(const cel_ref_call *c, const char *name, int n, int64_t *low, int64_t *high);
CEL_MUST_CHECK cel_status cel_ref_int_attr(const cel_ref_call *c, const char *name, int64_t otherwise, int64_t lo,
                                           int64_t hi, int64_t *out);
const char *cel_ref_word(const cel_hlo_op *op, const char *name, const char *otherwise);  // ENUM or STRING
// Fails with CEL_INVALID when types or counts do not fit together; `what` is a whole clause.
cel_status cel_ref_misfit(const cel_ref_call *c, const char *what);
// "stablehlo.sine on tensor<2xi32> is not evaluated".
cel_status cel_ref_refuse(const cel_ref_call *c, const cel_hlo_type *t);

// Row-major walking: moves `index` to the next one; false after the last. Rank 0 has one index.
bool cel_ref_next(int rank, const int64_t *dims, int64_t *index);
void cel_ref_strides(int rank, const int64_t *dims, int64_t *strides);  // of a row-major tensor, in elements
int64_t cel_ref_at(int rank, const int64_t *strides, const int64_t *index);
// Writes dims = the dimensions [0, rank) that are not in list[n], ascending; returns how many.
int cel_ref_others(int rank, const int64_t *list, int n, int64_t *dims);

// dst[base + sum i*stride] = src[base + sum i*stride] for every index of `dims`; strides and bases count
// elements of `bytes` bytes, and may be 0 or negative. Fails when a place lies outside either tensor.
typedef struct cel_ref_side {
  const cel_ref_tensor *t;
  int64_t base, strides[CEL_HLO_MAX_RANK];
} cel_ref_side;
CEL_MUST_CHECK cel_status cel_ref_copy(const cel_ref_call *c, int rank, const int64_t *dims, const cel_ref_side *dst,
                                       const cel_ref_side *src);

#endif
