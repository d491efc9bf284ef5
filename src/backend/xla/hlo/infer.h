// Inside the IR: how modules are put together (used by builder and parser) and the shape rules (used by
// builder, parser and verifier). Users of the IR include hlo.h and build.h only.
//
// Conventions every maker of modules keeps:
//  - Functions that return pointers or bool fail only for lack of memory (NULL, false).
//  - value->name: the SSA name without %. Names that are only digits are not kept (NULL): the printer
//    numbers such values anew. A group "%r:2 = ..." puts "r" on results[0] and NULL on the others.
//  - op->path is the text of a trailing loc("..."); the printer writes loc("path") exactly where path is
//    set, the parser reads it back (and ignores any other form of location).
//  - INT and FLOAT attributes carry their element type as the rank-0 tensor type; `index` and other types
//    this IR does not have make a RAW attribute.
//  - Data of DENSE: i2 and i4 are sign-extended, ui2 and ui4 zero-extended to their byte; i1 is 0 or 1.
//    cel_hlo_make_dense folds data of equal elements into a splat, as MLIR does.
//  - func.call: callee (SYMBOL). composite: name (STRING), decomposition (SYMBOL), composite_attributes
//    (DICT), version (INT i32). custom_call: call_target_name (STRING) and the rest as written.
//    chlo.top_k: k (INT i64). dot_general's algorithm, output_operand_aliases and the like: RAW, with the
//    leading #.
//  - Attribute names and enumerations the specification spells one way and MLIR another carry MLIR's:
//    comparison_direction, compare_type, dot and gather fields as listed in hlo.h.
//  - A declaration keeps its arguments in a body without operations, with is_declaration set to true again.
//  - An op is appended to its block when it is complete: attributes, regions, results.
#ifndef CEL_XLA_HLO_INFER_H
#define CEL_XLA_HLO_INFER_H

#include "backend/xla/hlo/hlo.h"

// ---- op_table.c --------------------------------------------------------------------------------

// As cel_hlo_opcode_by_name for text that is not NUL-terminated.
cel_hlo_opcode cel_hlo_opcode_of(cel_str name);
int cel_hlo_opcode_regions(cel_hlo_opcode code);  // -1: any number

// ---- module.c ----------------------------------------------------------------------------------

// Appends a function without arguments or results. The name is copied; that it is new is for the caller to
// ask (cel_hlo_find_func) and for the verifier to check.
cel_hlo_func *cel_hlo_func_new(cel_hlo_module *m, cel_str name, bool is_private);
// Gives the function an empty body; cel_hlo_block_add_arg then adds its arguments.
cel_hlo_block *cel_hlo_func_body(cel_hlo_func *f);
// Copies the types and makes room for result_attrs. Once per function.
bool cel_hlo_func_set_results(cel_hlo_func *f, const cel_hlo_type *const *types, int n);
// Appends to the attributes of argument or result i (arg_attrs, result_attrs).
bool cel_hlo_func_add_arg_attr(cel_hlo_func *f, int i, cel_hlo_attr *attr);
bool cel_hlo_func_add_result_attr(cel_hlo_func *f, int i, cel_hlo_attr *attr);
bool cel_hlo_func_add_attr(cel_hlo_func *f, cel_hlo_attr *attr);
bool cel_hlo_module_add_attr(cel_hlo_module *m, cel_hlo_attr *attr);

// An operation that is in no block yet. `name` matters for CEL_HLO_FOREIGN only (copied); NULL otherwise.
// Operands are copied. The regions are NULL until cel_hlo_region_new fills them.
cel_hlo_op *cel_hlo_op_new(cel_hlo_module *m, cel_hlo_opcode opcode, const char *name,
                           cel_hlo_value *const *operands, int n_operands, int n_regions);
bool cel_hlo_op_add_attr(cel_hlo_module *m, cel_hlo_op *op, cel_hlo_attr *attr);
// The block of region i, with one argument per type. `f` numbers the values.
cel_hlo_block *cel_hlo_region_new(cel_hlo_func *f, cel_hlo_op *op, int i, const cel_hlo_type *const *types,
                                  int n);
cel_hlo_value *cel_hlo_block_add_arg(cel_hlo_block *b, const cel_hlo_type *type, const char *name);
// Makes the results; `f` numbers them.
bool cel_hlo_set_results(cel_hlo_func *f, cel_hlo_op *op, const cel_hlo_type *const *types, int n);
void cel_hlo_block_append(cel_hlo_block *b, cel_hlo_op *op);

// ---- type.c ------------------------------------------------------------------------------------

// By structure: for types of two modules.
bool cel_hlo_type_equal(const cel_hlo_type *a, const cel_hlo_type *b);
// Whether cel_hlo_tensor can only fail for lack of memory.
bool cel_hlo_tensor_fits(cel_etype e, int rank, const int64_t *dims);
const cel_hlo_type *cel_hlo_scalar_type(cel_hlo_module *m, cel_etype e);
bool cel_etype_by_spelling(cel_str s, cel_etype *out);  // "f32", "complex<f32>"
void cel_hlo_type_print(cel_buf *out, const cel_hlo_type *t);  // in full; cel_hlo_type_text cuts
// Rank 0 and of this class/type.
bool cel_hlo_is_scalar(const cel_hlo_type *t);
// The rows of interned types and of functions by name.
bool cel_hlo_tables_init(cel_hlo_module *m);
bool cel_hlo_tables_add_func(cel_hlo_module *m, cel_hlo_func *f);

// ---- attr.c: makers; texts and data are copied, `name` too (NULL inside a list) ------------------

cel_hlo_attr *cel_hlo_make_unit(cel_hlo_module *m, const char *name);
cel_hlo_attr *cel_hlo_make_bool(cel_hlo_module *m, const char *name, bool value);
cel_hlo_attr *cel_hlo_make_int(cel_hlo_module *m, const char *name, cel_etype e, int64_t value);
cel_hlo_attr *cel_hlo_make_float(cel_hlo_module *m, const char *name, cel_etype e, double value);
cel_hlo_attr *cel_hlo_make_string(cel_hlo_module *m, const char *name, cel_str value);
cel_hlo_attr *cel_hlo_make_symbol(cel_hlo_module *m, const char *name, cel_str value);  // without @
cel_hlo_attr *cel_hlo_make_enum(cel_hlo_module *m, const char *name, cel_str word);
cel_hlo_attr *cel_hlo_make_raw(cel_hlo_module *m, const char *name, cel_str text);
cel_hlo_attr *cel_hlo_make_ints(cel_hlo_module *m, const char *name, const int64_t *values, int64_t n);
cel_hlo_attr *cel_hlo_make_list(cel_hlo_module *m, const char *name, cel_hlo_attr *const *items, int64_t n);
cel_hlo_attr *cel_hlo_make_dict(cel_hlo_module *m, const char *name, cel_hlo_attr *const *items, int64_t n);
cel_hlo_attr *cel_hlo_make_type(cel_hlo_module *m, const char *name, const cel_hlo_type *type);
// `data`: one element when `splat`, else all of them.
cel_hlo_attr *cel_hlo_make_dense(cel_hlo_module *m, const char *name, const cel_hlo_type *type, const void *data,
                                 bool splat);
// attr_element.c: one element of type e (as DENSE holds it, cel_etype_bytes long) from a number. Integers:
// false when the type cannot hold the value exactly. Floats round to nearest, ties to even; complex
// numbers get the value as their real part.
bool cel_hlo_element_from_double(cel_etype e, double value, void *out);
bool cel_hlo_element_from_int(cel_etype e, int64_t value, void *out);  // ui64: pass the bits
double cel_hlo_element_to_double(cel_etype e, const void *data);       // a float type
uint64_t cel_hlo_element_bits(cel_etype e, const void *data);          // at most the first 8 bytes
// Element i of a DENSE of integers or i1, sign- or zero-extended.
int64_t cel_hlo_dense_int(const cel_hlo_attr *dense, int64_t i);

// ---- shape_rules.c -------------------------------------------------------------------------------

// The result types that operands, attributes and regions determine; made in m, the array too. *n is -1
// where they don't determine them (constant, iota, reshape, convert, call, ...): cel_hlo_check then judges
// what was declared. Constraints of the specification on operands, attributes and regions are checked in
// both cases; a message names operation, operand or attribute, what was found and what would be right.
// Foreign operations always give -1.
CEL_MUST_CHECK cel_status cel_hlo_infer(cel_hlo_module *m, const cel_hlo_op *op, const cel_hlo_type ***types,
                                        int *n, cel_err *err);
// The operation as it stands, results included, against the rules; `scratch` is where types are made (any
// module; the op's own is fine while it is being built). Callees are looked up by the verifier, not here.
CEL_MUST_CHECK cel_status cel_hlo_check(cel_hlo_module *scratch, const cel_hlo_op *op, cel_err *err);

#endif
