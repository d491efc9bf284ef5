// StableHLO in memory: a typed SSA module. Printer, parser, verifier, builder, evaluator and engines
// all work on these structs; nothing here knows what a language model is.
//
// Everything of a module lives in its arena and is freed with it. Types are interned: within one module
// equal types are the same pointer. Names and attribute texts are NUL-terminated copies.
// Threads: building is one thread's business; a finished module may be read by many.
//
// Meaning of every operation: the StableHLO specification (openxla/stablehlo, docs/spec.md).
#ifndef CEL_XLA_HLO_HLO_H
#define CEL_XLA_HLO_HLO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"

// ---- element types and types -------------------------------------------------------------------

typedef enum cel_etype {
#define CEL_ETYPE(code, spelling, bits, bytes, class) code,
#include "backend/xla/hlo/etype.def"
#undef CEL_ETYPE
  CEL_ET_COUNT
} cel_etype;

const char *cel_etype_spelling(cel_etype t);
int cel_etype_bits(cel_etype t);
int cel_etype_bytes(cel_etype t);   // of one element in a host buffer
char cel_etype_class(cel_etype t);  // 'P' 'S' 'U' 'F' 'C'
bool cel_etype_is_float(cel_etype t);
bool cel_etype_is_int(cel_etype t);  // S or U, not PRED

enum { CEL_HLO_MAX_RANK = 8 };

typedef enum cel_hlo_kind { CEL_HLO_KIND_TENSOR, CEL_HLO_KIND_TOKEN, CEL_HLO_KIND_TUPLE } cel_hlo_kind;

typedef struct cel_hlo_type cel_hlo_type;
struct cel_hlo_type {
  cel_hlo_kind kind;
  cel_etype etype;                   // TENSOR
  int rank;                          // TENSOR, 0 .. CEL_HLO_MAX_RANK
  int64_t dims[CEL_HLO_MAX_RANK];    // TENSOR; all >= 0 (dynamic dimensions are refused by the parser)
  int n_parts;                       // TUPLE
  const cel_hlo_type *const *parts;  // TUPLE
};

int64_t cel_hlo_elements(const cel_hlo_type *t);  // product of dims; checked when the type was made
int64_t cel_hlo_bytes(const cel_hlo_type *t);     // elements * cel_etype_bytes

// ---- attributes --------------------------------------------------------------------------------

typedef struct cel_hlo_attr cel_hlo_attr;

typedef enum cel_hlo_attr_kind {
  CEL_HLO_ATTR_UNIT,
  CEL_HLO_ATTR_BOOL,     // i: 0 or 1
  CEL_HLO_ATTR_INT,      // i, type says i32, i64, ...
  CEL_HLO_ATTR_FLOAT,    // f, type says f32, f64, ...
  CEL_HLO_ATTR_STRING,   // s, n
  CEL_HLO_ATTR_SYMBOL,   // s: without the @
  CEL_HLO_ATTR_ENUM,     // s: the word alone, as in EQ, DEFAULT, HIGHEST, RNG_BIT_GENERATOR
  CEL_HLO_ATTR_INTS,     // ints[n]: array<i64: ...>, and the fields of dimension-number attributes
  CEL_HLO_ATTR_LIST,     // list[n]
  CEL_HLO_ATTR_DICT,     // list[n] in the order of the names; each entry's name is set
  CEL_HLO_ATTR_DENSE,    // type, data: the literal of a constant; see below
  CEL_HLO_ATTR_TYPE,     // type
  CEL_HLO_ATTR_RAW,      // s: kept and printed, not understood (foreign dialects)
} cel_hlo_attr_kind;

struct cel_hlo_attr {
  const char *name;  // key within its owner; NULL inside a list
  cel_hlo_attr_kind kind;
  int64_t i;
  double f;
  const char *s;
  int64_t n;  // length of s, ints, list or dict
  const int64_t *ints;
  cel_hlo_attr *const *list;  // LIST, DICT
  const cel_hlo_type *type;
  // DENSE: little-endian host layout, row-major. When `splat`, data holds one element.
  const void *data;
  bool splat;
};

// Dimension-number attributes are stored flat, as several attributes of the op, under these names; the
// printer folds them back into #stablehlo.dot / gather / scatter / conv forms:
//   dot_general:  lhs_batching_dimensions rhs_batching_dimensions lhs_contracting_dimensions
//                 rhs_contracting_dimensions (INTS); precision_config (LIST of ENUM)
//   gather:       offset_dims collapsed_slice_dims operand_batching_dims start_indices_batching_dims
//                 start_index_map (INTS), index_vector_dim (INT), slice_sizes (INTS),
//                 indices_are_sorted (BOOL)
//   scatter:      update_window_dims inserted_window_dims input_batching_dims
//                 scatter_indices_batching_dims scatter_dims_to_operand_dims (INTS),
//                 index_vector_dim (INT), indices_are_sorted, unique_indices (BOOL)
//   convolution:  input_batch_dimension input_feature_dimension (INT) input_spatial_dimensions (INTS),
//                 kernel_input_feature_dimension kernel_output_feature_dimension
//                 kernel_spatial_dimensions, output_batch_dimension output_feature_dimension
//                 output_spatial_dimensions, window_strides lhs_dilation rhs_dilation (INTS),
//                 padding (DENSE i64 [n,2]), window_reversal (INTS of 0/1),
//                 feature_group_count batch_group_count (INT), precision_config
// All other attributes carry the names of the specification. Absent means the specification's default.

// ---- values, operations, regions ---------------------------------------------------------------

typedef struct cel_hlo_op cel_hlo_op;
typedef struct cel_hlo_block cel_hlo_block;
typedef struct cel_hlo_func cel_hlo_func;
typedef struct cel_hlo_module cel_hlo_module;

typedef struct cel_hlo_value {
  const cel_hlo_type *type;
  cel_hlo_op *def;       // NULL for an argument of a block
  cel_hlo_block *block;  // the block it is an argument of, or that holds def
  int index;             // which result, or which argument
  int id;                // numbered from 0 within the function, arguments first, in order of creation
  const char *name;      // SSA name without %, as parsed or as the builder made it; NULL: print the id
} cel_hlo_value;

typedef enum cel_hlo_opcode {
#define CEL_HLO_OP(code, name, ...) CEL_HLO_##code,
#include "backend/xla/hlo/op.def"
#undef CEL_HLO_OP
  CEL_HLO_FOREIGN,  // an operation of another dialect (check.expect_eq ...): name says which
  CEL_HLO_OPCODE_COUNT
} cel_hlo_opcode;

struct cel_hlo_op {
  cel_hlo_opcode opcode;
  const char *name;  // "stablehlo.add", "func.return", "check.expect_eq"
  cel_hlo_value **operands;
  int n_operands;
  cel_hlo_value *results;  // array of n_results
  int n_results;
  cel_hlo_attr **attrs;
  int n_attrs;
  cel_hlo_block **regions;  // each region has one block (all StableHLO regions do); NULL entry: empty region
  int n_regions;
  cel_hlo_block *parent;
  cel_hlo_op *prev, *next;
  const char *path;  // where it comes from ("layers.3.attn.q_proj"), NULL if nobody said
  int line, column;  // in the parsed text; 0 when built
};

struct cel_hlo_block {
  cel_hlo_value **args;      // [n_args]; values, like all others, never move
  int n_args;
  cel_hlo_op *first, *last;  // the last one is the terminator
  cel_hlo_op *parent_op;     // NULL for a function's body
  cel_hlo_func *func;
};

struct cel_hlo_func {
  const char *name;  // without @
  bool is_private;
  bool is_declaration;       // no body
  cel_hlo_block *body;       // its args are the function's arguments
  cel_hlo_attr ***arg_attrs; // [n_args] lists ended by NULL; an entry may be NULL
  int n_results;
  const cel_hlo_type **result_types;
  cel_hlo_attr ***result_attrs;  // [n_results] as arg_attrs
  cel_hlo_attr **attrs;
  int n_attrs;
  int n_values;  // ids given so far
  cel_hlo_module *module;
  cel_hlo_func *next;
};

struct cel_hlo_module {
  cel_arena arena;
  const char *name;  // without @, NULL when anonymous
  cel_hlo_attr **attrs;
  int n_attrs;
  int mesh;  // devices that share the values: prints `sdy.mesh @mesh = <["model"=mesh]>`; 0: none
  cel_hlo_func *first_func, *last_func;
  struct cel_hlo_interned *types;  // private to type.c
};

// ---- making and looking ------------------------------------------------------------------------

CEL_MUST_CHECK cel_status cel_hlo_module_new(const char *name, cel_hlo_module **out, cel_err *err);
void cel_hlo_module_free(cel_hlo_module *m);

// Interned types; NULL when out of memory, rank too large, a negative dim, or the byte size overflows.
const cel_hlo_type *cel_hlo_tensor(cel_hlo_module *m, cel_etype e, int rank, const int64_t *dims);
const cel_hlo_type *cel_hlo_token(cel_hlo_module *m);
const cel_hlo_type *cel_hlo_tuple(cel_hlo_module *m, int n, const cel_hlo_type *const *parts);
// "tensor<2x3xf32>" into out (cut), for messages.
void cel_hlo_type_text(const cel_hlo_type *t, char *out, int out_bytes);

cel_hlo_func *cel_hlo_find_func(const cel_hlo_module *m, const char *name);
const cel_hlo_attr *cel_hlo_find_attr(const cel_hlo_op *op, const char *name);  // NULL when absent
const cel_hlo_attr *cel_hlo_dict_get(const cel_hlo_attr *dict, const char *name);
int64_t cel_hlo_attr_int(const cel_hlo_op *op, const char *name, int64_t otherwise);
// Copies an INTS attribute (or a 1-D DENSE of integers, or splat) into out; returns its length, or
// `otherwise` when absent; never writes more than `most`.
int cel_hlo_attr_ints(const cel_hlo_op *op, const char *name, int64_t *out, int most, int otherwise);
cel_hlo_opcode cel_hlo_opcode_by_name(const char *name);  // "stablehlo.add"; CEL_HLO_FOREIGN when unknown
const char *cel_hlo_opcode_name(cel_hlo_opcode code);

// ---- text --------------------------------------------------------------------------------------

// Pretty StableHLO text, the same bytes for the same module. Print -> parse -> print is the identity.
// Large constants are printed in full (hex form for more than 64 elements, a splat as one value).
CEL_MUST_CHECK cel_status cel_hlo_print(const cel_hlo_module *m, cel_buf *out, cel_err *err);

// Reads pretty and generic forms. `name` is for messages, which carry name:line:column.
// `max_depth` of nesting and all sizes are bounded. The module is verified.
CEL_MUST_CHECK cel_status cel_hlo_parse(cel_str text, const char *name, cel_hlo_module **out, cel_err *err);

// Checks types, attribute presence and kinds, dominance and terminators of the whole module. The message
// names function, operation, and model path or line. Foreign operations pass.
CEL_MUST_CHECK cel_status cel_hlo_verify(const cel_hlo_module *m, cel_err *err);

#endif
