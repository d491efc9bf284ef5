// Inside the printer.
#ifndef CEL_XLA_HLO_PRINT_H
#define CEL_XLA_HLO_PRINT_H

#include "backend/xla/hlo/infer.h"

// What stands behind % for one value.
typedef struct cel_print_name {
  const char *text;  // NULL: the number
  int number;
  bool grouped;      // of a first result: it stands for all of them, "%3:2"
} cel_print_name;

typedef struct cel_print {
  cel_buf *out;
  cel_arena scratch;      // of one function
  cel_print_name *names;  // [n_names = func->n_values] by value->id
  int n_names;
  int indent;             // spaces before a line
  bool nested;            // inside a region of another operation than func.func
  bool failed;            // out of memory outside of `out`
} cel_print;

// print_names.c: fills p->names for the function. Unnamed values are numbered the way MLIR does it: a
// region is named whole before the regions inside it, which start from its counters; siblings reuse.
bool cel_print_name_values(cel_print *p, const cel_hlo_func *f);
void cel_print_value(cel_print *p, const cel_hlo_value *v);        // a use: "%3#1"
void cel_print_value_name(cel_print *p, const cel_hlo_value *v);   // the bare name: "%3"
void cel_print_results(cel_print *p, const cel_hlo_op *op);        // "%3:2 = ", nothing without results

// print_literal.c
void cel_print_int(cel_buf *out, int64_t v);
void cel_print_float(cel_buf *out, cel_etype e, const void *data);  // one element
void cel_print_dense(cel_buf *out, const cel_hlo_attr *dense);      // "dense<...>" without the type

// print_attr.c
void cel_print_string(cel_buf *out, cel_str s);                 // quoted and escaped
void cel_print_symbol(cel_buf *out, const char *name);          // "@main", "@\"a b\""
void cel_print_attr(cel_buf *out, const cel_hlo_attr *a);       // the value; `name` gives an ENUM its kind
void cel_print_named(cel_buf *out, const cel_hlo_attr *a);      // "key = value"
void cel_print_int_list(cel_buf *out, const int64_t *v, int64_t n);  // "1, 2"
// The attributes but those whose names are in `except` (separated by spaces), in the order of their names,
// as " {a = 1 : i64}"; nothing when there are none. `only` turns the choice round.
bool cel_print_attrs(cel_print *p, cel_hlo_attr *const *attrs, int n, const char *except);
bool cel_print_name_in(const char *name, const char *names);

// print_op.c, print_region.c
void cel_print_op(cel_print *p, const cel_hlo_op *op);
void cel_print_generic(cel_print *p, const cel_hlo_op *op);
void cel_print_block_ops(cel_print *p, const cel_hlo_block *b);  // one line each, two spaces deeper
void cel_print_line(cel_print *p);                               // newline and indent
void cel_print_function_type(cel_print *p, const cel_hlo_op *op);
void cel_print_operands(cel_print *p, const cel_hlo_op *op);
bool cel_print_reduce(cel_print *p, const cel_hlo_op *op);
bool cel_print_while(cel_print *p, const cel_hlo_op *op);
bool cel_print_convolution(cel_print *p, const cel_hlo_op *op);

#endif
