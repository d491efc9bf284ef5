// Operations with regions, convolution, and the generic form.
#include <stdio.h>
#include <string.h>

#include "backend/xla/hlo/print.h"

void cel_print_block_ops(cel_print *p, const cel_hlo_block *b) {
  bool nested = p->nested;
  p->nested = b->parent_op != NULL;
  p->indent += 2;
  for (const cel_hlo_op *op = b->first; op; op = op->next) cel_print_op(p, op);
  p->indent -= 2;
  p->nested = nested;
}

static void braced(cel_print *p, const cel_hlo_block *b) {
  cel_buf_addc(p->out, '{');
  cel_print_block_ops(p, b);
  cel_print_line(p);
  cel_buf_addc(p->out, '}');
}

static void argument(cel_print *p, const cel_hlo_value *v) {
  cel_print_value_name(p, v);
  cel_buf_addz(p->out, ": ");
  cel_hlo_type_print(p->out, v->type);
}

// ---- reduce and while --------------------------------------------------------------------------

static bool commutes(cel_hlo_opcode op) {
  return op == CEL_HLO_ADD || op == CEL_HLO_AND || op == CEL_HLO_MAXIMUM || op == CEL_HLO_MINIMUM ||
         op == CEL_HLO_MULTIPLY || op == CEL_HLO_OR || op == CEL_HLO_XOR;
}

// The one operation of a region that says no more than its name: (a, b) -> op a, b of the input's element
// type. NULL where the region must be written out.
static const cel_hlo_op *folded_body(const cel_hlo_op *op) {
  const cel_hlo_block *b = op->regions[0];
  const cel_hlo_op *inner = b->first, *end = b->last;
  if (op->n_operands != 2 || b->n_args != 2 || !inner || inner->next != end || !end || end == inner) return NULL;
  if (!commutes(inner->opcode) || inner->n_attrs || inner->n_operands != 2 || inner->n_results != 1) return NULL;
  if (end->opcode != CEL_HLO_REGION_RETURN || end->n_operands != 1 || end->n_attrs) return NULL;
  if (inner->operands[0] != b->args[0] || inner->operands[1] != b->args[1] || end->operands[0] != &inner->results[0])
    return NULL;
  const cel_hlo_type *t = inner->results[0].type, *x = op->operands[0]->type;
  return t == b->args[0]->type && t == b->args[1]->type && cel_hlo_is_scalar(t) && t->etype == x->etype ? inner : NULL;
}

static void reducer(cel_print *p, const cel_hlo_block *b) {
  int n = b->n_args / 2;
  cel_print_line(p);
  cel_buf_addz(p->out, " reducer");
  for (int i = 0; i < n; i++) {
    cel_buf_addc(p->out, '(');
    argument(p, b->args[i]);
    cel_buf_addz(p->out, ", ");
    argument(p, b->args[n + i]);
    cel_buf_addz(p->out, ") ");
  }
  cel_buf_addc(p->out, ' ');
  braced(p, b);
}

bool cel_print_reduce(cel_print *p, const cel_hlo_op *op) {
  const cel_hlo_attr *over = cel_hlo_find_attr(op, "dimensions");
  int n = op->n_operands / 2;
  if (!over || over->kind != CEL_HLO_ATTR_INTS || op->n_regions != 1 || !op->regions[0] || n == 0 ||
      op->n_operands != 2 * n || op->regions[0]->n_args % 2)
    return false;
  cel_buf_addz(p->out, op->name);
  for (int i = 0; i < n; i++) {
    cel_buf_addz(p->out, i ? ", (" : "(");
    cel_print_value(p, op->operands[i]);
    cel_buf_addz(p->out, " init: ");
    cel_print_value(p, op->operands[n + i]);
    cel_buf_addc(p->out, ')');
  }
  const cel_hlo_op *inner = folded_body(op);
  if (inner) cel_buf_printf(p->out, " applies %s", inner->name);
  cel_buf_addz(p->out, " across dimensions = [");
  cel_print_int_list(p->out, over->ints, over->n);
  cel_buf_addc(p->out, ']');
  cel_print_attrs(p, op->attrs, op->n_attrs, "dimensions");
  cel_print_function_type(p, op);
  if (!inner) reducer(p, op->regions[0]);
  return true;
}

bool cel_print_while(cel_print *p, const cel_hlo_op *op) {
  if (op->n_regions != 2 || !op->regions[0] || !op->regions[1] || op->regions[0]->n_args != op->n_operands ||
      op->regions[1]->n_args != op->n_operands)
    return false;
  cel_buf_printf(p->out, "%s(", op->name);
  for (int i = 0; i < op->n_operands; i++) {
    if (i) cel_buf_addz(p->out, ", ");
    cel_print_value_name(p, op->regions[0]->args[i]);
    cel_buf_addz(p->out, " = ");
    cel_print_value(p, op->operands[i]);
  }
  cel_buf_addc(p->out, ')');
  for (int i = 0; i < op->n_operands; i++) {
    cel_buf_addz(p->out, i ? ", " : " : ");
    cel_hlo_type_print(p->out, op->operands[i]->type);
  }
  size_t before = p->out->n;
  cel_buf_addz(p->out, " attributes");
  if (!cel_print_attrs(p, op->attrs, op->n_attrs, "") && !p->out->failed) p->out->n = before;
  cel_print_line(p);
  cel_buf_addz(p->out, "cond ");
  braced(p, op->regions[0]);
  cel_buf_addz(p->out, " do ");
  braced(p, op->regions[1]);
  return true;
}

// ---- convolution -------------------------------------------------------------------------------

static const char conv_names[] =
    "input_batch_dimension input_feature_dimension input_spatial_dimensions kernel_input_feature_dimension "
    "kernel_output_feature_dimension kernel_spatial_dimensions output_batch_dimension output_feature_dimension "
    "output_spatial_dimensions";

typedef struct conv_letters {
  const char *first, *second, *spatial;  // attribute names
  char one, two;                         // what stands for them
} conv_letters;

// "[b, 0, 1, f]": what each dimension is. False unless every dimension is named once.
static bool conv_side(cel_print *p, const cel_hlo_op *op, int rank, const conv_letters *l) {
  int64_t spatial[CEL_HLO_MAX_RANK];
  int at[CEL_HLO_MAX_RANK], n = cel_hlo_attr_ints(op, l->spatial, spatial, CEL_HLO_MAX_RANK, -1);
  int64_t one = cel_hlo_attr_int(op, l->first, -1), two = cel_hlo_attr_int(op, l->second, -1);
  if (rank < 2 || n != rank - 2 || one < 0 || one >= rank || two < 0 || two >= rank || one == two) return false;
  for (int i = 0; i < rank; i++) at[i] = -1;
  at[one] = l->one;
  at[two] = l->two;
  for (int i = 0; i < n; i++) {
    if (spatial[i] < 0 || spatial[i] >= rank || at[spatial[i]] != -1) return false;
    at[spatial[i]] = '0' + i;
  }
  cel_buf_addc(p->out, '[');
  for (int i = 0; i < rank; i++) {
    if (i) cel_buf_addz(p->out, ", ");
    cel_buf_addc(p->out, (char)at[i]);
  }
  cel_buf_addc(p->out, ']');
  return true;
}

static bool conv_dims(cel_print *p, const cel_hlo_op *op) {
  static const conv_letters in = {"input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions", 'b',
                                  'f'},
                            kernel = {"kernel_input_feature_dimension", "kernel_output_feature_dimension",
                                      "kernel_spatial_dimensions", 'i', 'o'},
                            out = {"output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions",
                                   'b', 'f'};
  if (op->n_operands != 2 || op->n_results != 1) return false;
  int rank = op->operands[0]->type->rank;
  if (!conv_side(p, op, rank, &in)) return false;
  cel_buf_addc(p->out, 'x');
  if (!conv_side(p, op, rank, &kernel)) return false;
  cel_buf_addz(p->out, "->");
  return conv_side(p, op, rank, &out);
}

static const char *conv_window(cel_print *p, const cel_hlo_op *op, const char *attr, const char *key,
                               const char *separator) {
  const cel_hlo_attr *a = cel_hlo_find_attr(op, attr);
  if (!a) return separator;
  cel_buf_printf(p->out, "%s%s = [", separator, key);
  if (a->kind == CEL_HLO_ATTR_DENSE) {  // padding: rows of two
    for (int64_t i = 0; i < cel_hlo_elements(a->type) / 2; i++)
      cel_buf_printf(p->out, "%s[%lld, %lld]", i ? ", " : "", (long long)cel_hlo_dense_int(a, 2 * i),
                     (long long)cel_hlo_dense_int(a, 2 * i + 1));
  } else if (strcmp(key, "reverse") == 0) {
    for (int64_t i = 0; i < a->n; i++) cel_buf_printf(p->out, "%s%s", i ? ", " : "", a->ints[i] ? "true" : "false");
  } else {
    cel_print_int_list(p->out, a->ints, a->n);
  }
  cel_buf_addc(p->out, ']');
  return ", ";
}

bool cel_print_convolution(cel_print *p, const cel_hlo_op *op) {
  static const char windows[] = "window_strides lhs_dilation rhs_dilation window_reversal padding ";
  for (int i = 0; i < op->n_attrs; i++)
    if (op->attrs[i]->name && cel_print_name_in(op->attrs[i]->name, windows) &&
        op->attrs[i]->kind != (strcmp(op->attrs[i]->name, "padding") ? CEL_HLO_ATTR_INTS : CEL_HLO_ATTR_DENSE))
      return false;
  cel_buf_printf(p->out, "%s(", op->name);
  cel_print_operands(p, op);
  cel_buf_addz(p->out, ") dim_numbers = ");
  if (!conv_dims(p, op)) return false;
  cel_buf_addz(p->out, ", window = {");
  const char *separator = conv_window(p, op, "window_strides", "stride", "");
  separator = conv_window(p, op, "padding", "pad", separator);
  separator = conv_window(p, op, "lhs_dilation", "lhs_dilate", separator);
  separator = conv_window(p, op, "rhs_dilation", "rhs_dilate", separator);
  conv_window(p, op, "window_reversal", "reverse", separator);
  cel_buf_addc(p->out, '}');
  char except[sizeof windows + sizeof conv_names];
  snprintf(except, sizeof except, "%s%s", windows, conv_names);
  cel_print_attrs(p, op->attrs, op->n_attrs, except);
  cel_print_function_type(p, op);
  return true;
}

// ---- generic form ------------------------------------------------------------------------------

// The fields MLIR folds into one attribute, in its order.
typedef struct folded {
  const char *attr, *kind, *fields[6];
} folded;

static const folded gather_fold = {
    "dimension_numbers", "gather",
    {"offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims", "start_index_map",
     "index_vector_dim"}};
static const folded scatter_fold = {
    "scatter_dimension_numbers", "scatter",
    {"update_window_dims", "inserted_window_dims", "input_batching_dims", "scatter_indices_batching_dims",
     "scatter_dims_to_operand_dims", "index_vector_dim"}};
static const folded dot_fold = {
    "dot_dimension_numbers", "dot",
    {"lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions", "rhs_contracting_dimensions",
     NULL, NULL}};

static const folded *fold_of(cel_hlo_opcode op) {
  switch (op) {
    case CEL_HLO_GATHER: return &gather_fold;
    case CEL_HLO_SCATTER: return &scatter_fold;
    case CEL_HLO_DOT_GENERAL: return &dot_fold;
    default: return NULL;
  }
}

// The attributes that go into <{...}>, in the order of their names; the folded one comes first in it.
static const char *own_attrs(cel_hlo_opcode op) {
  switch (op) {
    case CEL_HLO_GATHER: return "indices_are_sorted slice_sizes";
    case CEL_HLO_SCATTER: return "indices_are_sorted unique_indices";
    case CEL_HLO_SORT: return "dimension is_stable";
    case CEL_HLO_MAP: return "dimensions";
    case CEL_HLO_REDUCE_WINDOW: return "base_dilations padding window_dilations window_dimensions window_strides";
    case CEL_HLO_SELECT_AND_SCATTER: return "padding window_dimensions window_strides";
    default: return "";
  }
}

static void print_fold(cel_print *p, const cel_hlo_op *op, const folded *f) {
  cel_buf_printf(p->out, "%s = #stablehlo.%s<", f->attr, f->kind);
  const char *separator = "";
  for (int i = 0; i < CEL_COUNT(f->fields) && f->fields[i]; i++) {
    const cel_hlo_attr *a = cel_hlo_find_attr(op, f->fields[i]);
    if (!a || (a->kind == CEL_HLO_ATTR_INT ? a->i == 0 : a->n == 0)) continue;
    cel_buf_printf(p->out, "%s%s = ", separator, f->fields[i]);
    separator = ", ";
    if (a->kind == CEL_HLO_ATTR_INT) {
      cel_print_int(p->out, a->i);
    } else if (a->kind == CEL_HLO_ATTR_INTS) {
      cel_buf_addc(p->out, '[');
      cel_print_int_list(p->out, a->ints, a->n);
      cel_buf_addc(p->out, ']');
    }
  }
  cel_buf_addc(p->out, '>');
}

static const char *print_own(cel_print *p, const cel_hlo_op *op, const char *names, const char *separator) {
  for (const char *c = names; *c;) {
    char name[40];
    size_t n = strcspn(c, " ");
    snprintf(name, sizeof name, "%.*s", (int)n, c);
    c += n;
    c += *c == ' ';
    const cel_hlo_attr *a = cel_hlo_find_attr(op, name);
    if (!a) continue;
    cel_buf_addz(p->out, separator);
    cel_print_named(p->out, a);
    separator = ", ";
  }
  return separator;
}

static bool fold_present(const cel_hlo_op *op, const folded *f) {
  for (int i = 0; f && i < CEL_COUNT(f->fields) && f->fields[i]; i++)
    if (cel_hlo_find_attr(op, f->fields[i])) return true;
  return false;
}

static void properties(cel_print *p, const cel_hlo_op *op, const folded *f, const char *own) {
  const char *separator = " <{";
  if (f && op->opcode != CEL_HLO_SCATTER) {
    cel_buf_addz(p->out, separator);
    separator = ", ";
    print_fold(p, op, f);
  }
  if (op->opcode == CEL_HLO_SCATTER) {  // its folded attribute stands between the two others by name
    separator = print_own(p, op, "indices_are_sorted", separator);
    cel_buf_addz(p->out, separator);
    separator = ", ";
    print_fold(p, op, f);
    own = "unique_indices";
  }
  separator = print_own(p, op, own, separator);
  if (separator[0] == ',') cel_buf_addz(p->out, "}>");
}

static void regions(cel_print *p, const cel_hlo_op *op) {
  if (op->n_regions == 0) return;
  cel_buf_addz(p->out, " (");
  for (int i = 0; i < op->n_regions; i++) {
    const cel_hlo_block *b = op->regions[i];
    cel_buf_addz(p->out, i ? ", {" : "{");
    if (b && b->n_args) {
      cel_print_line(p);
      cel_buf_addz(p->out, "^bb0(");
      for (int k = 0; k < b->n_args; k++) {
        if (k) cel_buf_addz(p->out, ", ");
        argument(p, b->args[k]);
      }
      cel_buf_addz(p->out, "):");
    }
    if (b) {
      cel_print_block_ops(p, b);
      cel_print_line(p);
    }
    cel_buf_addc(p->out, '}');
  }
  cel_buf_addc(p->out, ')');
}

void cel_print_generic(cel_print *p, const cel_hlo_op *op) {
  const folded *f = fold_of(op->opcode);
  const char *own = own_attrs(op->opcode);
  if (!fold_present(op, f)) f = op->opcode == CEL_HLO_GATHER || op->opcode == CEL_HLO_SCATTER ? f : NULL;
  cel_print_string(p->out, cel_str_of(op->name));
  cel_buf_addc(p->out, '(');
  cel_print_operands(p, op);
  cel_buf_addc(p->out, ')');
  properties(p, op, f, own);
  regions(p, op);
  char except[400];
  int n = snprintf(except, sizeof except, "%s", own);
  for (int i = 0; f && i < CEL_COUNT(f->fields) && f->fields[i]; i++)
    n += snprintf(except + n, sizeof except - (size_t)n, " %s", f->fields[i]);
  cel_print_attrs(p, op->attrs, op->n_attrs, except);
  cel_print_function_type(p, op);
}
