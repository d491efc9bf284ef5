// Building a module as straight lines. Every function infers and checks its result type by the rules of
// the specification (the same rules the verifier and parser use). The first error sticks: it names the
// operation and the builder's path, and every later call returns NULL and does nothing, so an emitter
// checks once, at the end. NULL operands are therefore never an error of their own.
#ifndef CEL_XLA_HLO_BUILD_H
#define CEL_XLA_HLO_BUILD_H

#include "backend/xla/hlo/hlo.h"

// How cel_hlo_dot takes products of f32 operands, an emitter's choice for its target. Results stay what was asked.
typedef enum cel_hlo_dots {
  CEL_HLO_DOTS_PLAIN,  // nothing said: the compiler's default, which on GPUs may be fewer bits than f32
  CEL_HLO_DOTS_F32,    // precision HIGHEST
  CEL_HLO_DOTS_F16,    // both operands rounded first
  CEL_HLO_DOTS_BF16,
} cel_hlo_dots;

typedef struct cel_hlo_builder {
  cel_hlo_module *module;
  cel_hlo_func *func;
  cel_hlo_block *block;  // operations go to its end
  const char *path;      // copied into each operation; set with cel_hlo_path
  cel_hlo_dots dots;
  cel_err err;           // status CEL_OK while all is well
} cel_hlo_builder;

typedef cel_hlo_value *hlo;  // what emitters pass around

void cel_hlo_builder_init(cel_hlo_builder *b, cel_hlo_module *m);
// The path for the operations that follow ("layers.3.mlp"); copied into the module's arena.
void cel_hlo_path(cel_hlo_builder *b, const char *fmt, ...) CEL_PRINTF(2, 3);
// Makes an error stick by hand (an emitter's own refusal).
void cel_hlo_refuse(cel_hlo_builder *b, cel_status status, const char *fmt, ...) CEL_PRINTF(3, 4);

// ---- functions ---------------------------------------------------------------------------------
// Begins a function; the builder's func and block point to it. Functions may be begun while another one
// is open: keep (func, block) aside and put them back.
cel_hlo_func *cel_hlo_func_begin(cel_hlo_builder *b, const char *name, bool is_private);
// Adds an argument; only before the first operation. `name` is its SSA name (made unique).
hlo cel_hlo_arg(cel_hlo_builder *b, const char *name, const cel_hlo_type *type);
void cel_hlo_arg_attr_string(cel_hlo_builder *b, hlo arg, const char *key, const char *value);
void cel_hlo_arg_attr_int(cel_hlo_builder *b, hlo arg, const char *key, int64_t value);  // i32
void cel_hlo_return(cel_hlo_builder *b, const hlo *values, int n);  // func.return; sets the result types
// How the devices of the module's mesh share an argument or a result of the function: in equal parts along a dimension, or
// (axis -1) each has all of it. The argument also gets "mlxcel.shard" = axis.
void cel_hlo_arg_shard(cel_hlo_builder *b, hlo arg, int axis);
void cel_hlo_result_shard(cel_hlo_builder *b, int result, int axis);
void cel_hlo_result_attr_string(cel_hlo_builder *b, int result, const char *key, const char *value);
// A name no function of the module has yet: "base", "base_1", ...; in the module's arena.
const char *cel_hlo_fresh_symbol(cel_hlo_builder *b, const char *base);

// ---- constants ---------------------------------------------------------------------------------
hlo cel_hlo_splat(cel_hlo_builder *b, cel_etype e, int rank, const int64_t *dims, double value);
// data: little-endian row-major, copied.
hlo cel_hlo_dense(cel_hlo_builder *b, cel_etype e, int rank, const int64_t *dims, const void *data);
hlo cel_hlo_scalar(cel_hlo_builder *b, cel_etype e, double value);
hlo cel_hlo_iota(cel_hlo_builder *b, cel_etype e, int rank, const int64_t *dims, int dim);

// ---- elementwise -------------------------------------------------------------------------------
hlo cel_hlo_unary(cel_hlo_builder *b, cel_hlo_opcode op, hlo x);   // NEGATE RSQRT TANH LOGISTIC COSINE ...
hlo cel_hlo_binary(cel_hlo_builder *b, cel_hlo_opcode op, hlo x, hlo y);  // equal types; no broadcasting
// As binary, with a scalar constant of x's element type broadcast to x's shape.
hlo cel_hlo_binary_scalar(cel_hlo_builder *b, cel_hlo_opcode op, hlo x, double y);
hlo cel_hlo_compare(cel_hlo_builder *b, const char *direction, hlo x, hlo y);  // "EQ" "LT" "GE" ...
hlo cel_hlo_select(cel_hlo_builder *b, hlo pred, hlo on_true, hlo on_false);
hlo cel_hlo_convert(cel_hlo_builder *b, hlo x, cel_etype e);  // x itself when it has that type already
hlo cel_hlo_bitcast(cel_hlo_builder *b, hlo x, cel_etype e);  // bitcast_convert; rank changes with width

// ---- shape -------------------------------------------------------------------------------------
hlo cel_hlo_reshape(cel_hlo_builder *b, hlo x, int rank, const int64_t *dims);
// broadcast_in_dim: x's dimension i becomes dimension map[i] of the result.
hlo cel_hlo_broadcast(cel_hlo_builder *b, hlo x, int rank, const int64_t *dims, const int64_t *map);
hlo cel_hlo_transpose(cel_hlo_builder *b, hlo x, const int64_t *permutation);
hlo cel_hlo_slice(cel_hlo_builder *b, hlo x, const int64_t *start, const int64_t *limit,
                  const int64_t *strides /* NULL: ones */);
// Slice of one dimension only.
hlo cel_hlo_slice_dim(cel_hlo_builder *b, hlo x, int dim, int64_t start, int64_t limit, int64_t stride);
hlo cel_hlo_concat(cel_hlo_builder *b, const hlo *parts, int n, int dim);
hlo cel_hlo_dynamic_slice(cel_hlo_builder *b, hlo x, const hlo *starts, const int64_t *sizes);
hlo cel_hlo_dynamic_update_slice(cel_hlo_builder *b, hlo x, hlo update, const hlo *starts);

// ---- contraction, reduction, indexing ----------------------------------------------------------
typedef struct cel_hlo_dot_dims {
  int n_batch, n_contract;
  int64_t lhs_batch[CEL_HLO_MAX_RANK], rhs_batch[CEL_HLO_MAX_RANK];
  int64_t lhs_contract[CEL_HLO_MAX_RANK], rhs_contract[CEL_HLO_MAX_RANK];
} cel_hlo_dot_dims;
hlo cel_hlo_dot(cel_hlo_builder *b, hlo x, hlo y, const cel_hlo_dot_dims *dims, cel_etype result);
// Reduces over dims[n] with ADD, MULTIPLY, MAXIMUM, MINIMUM, AND or OR, from the operation's identity.
hlo cel_hlo_reduce(cel_hlo_builder *b, cel_hlo_opcode op, hlo x, const int64_t *dims, int n);
// Rows of x [n, ...] by ids [m]: result [m, ...]. A gather; out-of-range ids clamp, as the spec says.
hlo cel_hlo_take_rows(cel_hlo_builder *b, hlo x, hlo ids);
// The general forms; attribute lists are flat, see hlo.h. `update` of scatter: the region returns the
// update (replace) when add is false, else the sum.
typedef struct cel_hlo_gather_dims {
  int n_offset, n_collapsed, n_operand_batch, n_index_map;
  int64_t offset[CEL_HLO_MAX_RANK], collapsed[CEL_HLO_MAX_RANK];
  int64_t operand_batch[CEL_HLO_MAX_RANK], indices_batch[CEL_HLO_MAX_RANK], index_map[CEL_HLO_MAX_RANK];
  int64_t index_vector_dim;
  int64_t slice_sizes[CEL_HLO_MAX_RANK];
} cel_hlo_gather_dims;
hlo cel_hlo_gather(cel_hlo_builder *b, hlo x, hlo indices, const cel_hlo_gather_dims *dims);
typedef struct cel_hlo_scatter_dims {
  int n_window, n_inserted, n_input_batch, n_index_map;
  int64_t window[CEL_HLO_MAX_RANK], inserted[CEL_HLO_MAX_RANK];
  int64_t input_batch[CEL_HLO_MAX_RANK], indices_batch[CEL_HLO_MAX_RANK], index_map[CEL_HLO_MAX_RANK];
  int64_t index_vector_dim;
} cel_hlo_scatter_dims;
hlo cel_hlo_scatter(cel_hlo_builder *b, hlo x, hlo indices, hlo updates, const cel_hlo_scatter_dims *dims,
                    bool add);

// ---- loops -------------------------------------------------------------------------------------
// `turns` turns over carried values (a stablehlo.while with a counter of its own):
//   counter = cel_hlo_loop_begin(b, &l, turns, init, n); ... the body, from counter and l.carried[0 .. n) alone ...
//   cel_hlo_loop_end(b, &l, next);  ->  l.carried: what the last turn left
enum { CEL_HLO_LOOP_MOST = 15 };
typedef struct cel_hlo_loop {
  cel_hlo_op *op;
  cel_hlo_block *outer;
  int n;
  hlo counter;                      // i32[], 0 in the first turn
  hlo carried[CEL_HLO_LOOP_MOST];
} cel_hlo_loop;
hlo cel_hlo_loop_begin(cel_hlo_builder *b, cel_hlo_loop *l, int64_t turns, const hlo *carried, int n);
void cel_hlo_loop_end(cel_hlo_builder *b, cel_hlo_loop *l, const hlo *next);

// ---- calls and composites ----------------------------------------------------------------------
// Results of multi-result operations are value->def->results[i].
hlo cel_hlo_call(cel_hlo_builder *b, const cel_hlo_func *callee, const hlo *args, int n);
cel_hlo_attr *cel_hlo_new_int(cel_hlo_builder *b, const char *name, cel_etype e, int64_t value);
cel_hlo_attr *cel_hlo_new_float(cel_hlo_builder *b, const char *name, cel_etype e, double value);
cel_hlo_attr *cel_hlo_new_string(cel_hlo_builder *b, const char *name, const char *value);
cel_hlo_attr *cel_hlo_new_bool(cel_hlo_builder *b, const char *name, bool value);
// stablehlo.composite NAME: the result types are the decomposition's. attrs may be NULL.
hlo cel_hlo_composite(cel_hlo_builder *b, const char *name, const hlo *args, int n, cel_hlo_attr **attrs,
                      int n_attrs, const cel_hlo_func *decomposition);

#endif
