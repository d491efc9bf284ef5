// Operations as text: the pretty form of those that have one, the generic form of the rest.
#include <string.h>

#include "backend/xla/hlo/print.h"

void cel_print_line(cel_print *p) {
  static const char spaces[] = "                                ";
  cel_buf_addc(p->out, '\n');
  for (int left = p->indent; left > 0; left -= 32) cel_buf_add(p->out, spaces, (size_t)CEL_MIN(left, 32));
}

void cel_print_operands(cel_print *p, const cel_hlo_op *op) {
  for (int i = 0; i < op->n_operands; i++) {
    if (i) cel_buf_addz(p->out, ", ");
    cel_print_value(p, op->operands[i]);
  }
}

static void type(cel_print *p, const cel_hlo_value *v) { cel_hlo_type_print(p->out, v->type); }

static void operand_types(cel_print *p, const cel_hlo_op *op) {
  for (int i = 0; i < op->n_operands; i++) {
    if (i) cel_buf_addz(p->out, ", ");
    type(p, op->operands[i]);
  }
}

static void result_types(cel_print *p, const cel_hlo_op *op) {
  if (op->n_results != 1) cel_buf_addc(p->out, '(');
  for (int i = 0; i < op->n_results; i++) {
    if (i) cel_buf_addz(p->out, ", ");
    type(p, &op->results[i]);
  }
  if (op->n_results != 1) cel_buf_addc(p->out, ')');
}

void cel_print_function_type(cel_print *p, const cel_hlo_op *op) {
  cel_buf_addz(p->out, " : (");
  operand_types(p, op);
  cel_buf_addz(p->out, ") -> ");
  result_types(p, op);
}

// " : T" when all operands and the result are of one type, else the function type.
static void same_or_function_type(cel_print *p, const cel_hlo_op *op) {
  bool same = op->n_results == 1;
  for (int i = 0; same && i < op->n_operands; i++) same = op->operands[i]->type == op->results[0].type;
  if (!same) {
    cel_print_function_type(p, op);
    return;
  }
  cel_buf_addz(p->out, " : ");
  type(p, &op->results[0]);
}

static void attrs_but(cel_print *p, const cel_hlo_op *op, const char *except) {
  cel_print_attrs(p, op->attrs, op->n_attrs, except);
}

static void name_and_operands(cel_print *p, const cel_hlo_op *op) {
  cel_buf_addz(p->out, op->name);
  if (op->n_operands) cel_buf_addc(p->out, ' ');
  cel_print_operands(p, op);
}

// ", key = [1, 2]" of a list attribute; false when it is not one.
static bool list_of(cel_print *p, const cel_hlo_op *op, const char *attr, const char *key) {
  const cel_hlo_attr *a = cel_hlo_find_attr(op, attr);
  if (!a || a->kind != CEL_HLO_ATTR_INTS) return false;
  cel_buf_printf(p->out, ", %s = [", key);
  cel_print_int_list(p->out, a->ints, a->n);
  cel_buf_addc(p->out, ']');
  return true;
}

static bool int_of(cel_print *p, const cel_hlo_op *op, const char *attr, const char *key) {
  const cel_hlo_attr *a = cel_hlo_find_attr(op, attr);
  if (!a || a->kind != CEL_HLO_ATTR_INT) return false;
  cel_buf_printf(p->out, ", %s = %lld", key, (long long)a->i);
  return true;
}

// op %a, %b, key = [...] {rest} : types
static bool with_list(cel_print *p, const cel_hlo_op *op, const char *attr, const char *key, bool short_type) {
  name_and_operands(p, op);
  if (!list_of(p, op, attr, key)) return false;
  attrs_but(p, op, attr);
  if (short_type) same_or_function_type(p, op);
  else cel_print_function_type(p, op);
  return true;
}

static bool with_int(cel_print *p, const cel_hlo_op *op, const char *attr, const char *key) {
  name_and_operands(p, op);
  if (!int_of(p, op, attr, key)) return false;
  attrs_but(p, op, attr);
  cel_print_function_type(p, op);
  return true;
}

static bool plain_op(cel_print *p, const cel_hlo_op *op) {
  if (op->n_operands == 0) return false;
  name_and_operands(p, op);
  attrs_but(p, op, "");
  same_or_function_type(p, op);
  return true;
}

static bool plain_with_function_type(cel_print *p, const cel_hlo_op *op) {
  name_and_operands(p, op);
  attrs_but(p, op, "");
  cel_print_function_type(p, op);
  return true;
}

static bool returns(cel_print *p, const cel_hlo_op *op) {
  if (op->n_results) return false;
  // func.func makes `func` the dialect of what stands in its body without a prefix
  cel_buf_addz(p->out, op->opcode == CEL_HLO_RETURN && !p->nested ? "return" : op->name);
  attrs_but(p, op, "");
  if (op->opcode == CEL_HLO_REGION_RETURN || op->n_operands) cel_buf_addc(p->out, ' ');
  if (op->n_operands == 0) return true;
  cel_print_operands(p, op);
  cel_buf_addz(p->out, " : ");
  operand_types(p, op);
  return true;
}

static bool call(cel_print *p, const cel_hlo_op *op) {
  const cel_hlo_attr *callee = cel_hlo_find_attr(op, "callee");
  if (!callee || callee->kind != CEL_HLO_ATTR_SYMBOL) return false;
  cel_buf_addz(p->out, p->nested ? "func.call " : "call ");
  cel_print_symbol(p->out, callee->s);
  cel_buf_addc(p->out, '(');
  cel_print_operands(p, op);
  cel_buf_addc(p->out, ')');
  attrs_but(p, op, "callee");
  cel_print_function_type(p, op);
  return true;
}

static bool constant(cel_print *p, const cel_hlo_op *op) {
  const cel_hlo_attr *value = cel_hlo_find_attr(op, "value");
  if (!value || value->kind != CEL_HLO_ATTR_DENSE || op->n_results != 1) return false;
  cel_buf_addz(p->out, op->name);
  attrs_but(p, op, "value");
  cel_buf_addc(p->out, ' ');
  cel_print_attr(p->out, value);
  return true;
}

static bool iota(cel_print *p, const cel_hlo_op *op) {
  if (!cel_hlo_find_attr(op, "iota_dimension") || op->n_results != 1) return false;
  cel_buf_printf(p->out, "%s dim = %lld", op->name, (long long)cel_hlo_attr_int(op, "iota_dimension", 0));
  attrs_but(p, op, "iota_dimension");
  cel_buf_addz(p->out, " : ");
  result_types(p, op);
  return true;
}

static bool compare(cel_print *p, const cel_hlo_op *op) {
  const cel_hlo_attr *direction = cel_hlo_find_attr(op, "comparison_direction");
  const cel_hlo_attr *kind = cel_hlo_find_attr(op, "compare_type");
  if (!direction || !direction->s || (kind && !kind->s)) return false;
  cel_buf_printf(p->out, "%s %s, ", op->name, direction->s);
  cel_print_operands(p, op);
  if (kind) cel_buf_printf(p->out, ", %s", kind->s);
  attrs_but(p, op, "comparison_direction compare_type");
  cel_print_function_type(p, op);
  return true;
}

// The result type alone: the operands' follows from it.
static bool complex_of(cel_print *p, const cel_hlo_op *op) {
  name_and_operands(p, op);
  attrs_but(p, op, "");
  cel_buf_addz(p->out, " : ");
  result_types(p, op);
  return true;
}

static bool select_of(cel_print *p, const cel_hlo_op *op) {
  if (op->n_operands != 3 || op->n_results != 1) return false;
  name_and_operands(p, op);
  attrs_but(p, op, "");
  cel_buf_addz(p->out, " : ");
  type(p, op->operands[0]);
  cel_buf_addz(p->out, ", ");
  type(p, &op->results[0]);
  return true;
}

static bool reduce_precision(cel_print *p, const cel_hlo_op *op) {
  if (!cel_hlo_find_attr(op, "exponent_bits") || !cel_hlo_find_attr(op, "mantissa_bits")) return false;
  name_and_operands(p, op);
  cel_buf_printf(p->out, ", format = e%lldm%lld", (long long)cel_hlo_attr_int(op, "exponent_bits", 0),
                 (long long)cel_hlo_attr_int(op, "mantissa_bits", 0));
  attrs_but(p, op, "exponent_bits mantissa_bits");
  same_or_function_type(p, op);
  return true;
}

static bool barrier(cel_print *p, const cel_hlo_op *op) {
  if (op->n_operands == 0) {
    cel_buf_printf(p->out, "%s()", op->name);
    attrs_but(p, op, "");
    return true;
  }
  name_and_operands(p, op);
  attrs_but(p, op, "");
  cel_buf_addz(p->out, " : ");
  operand_types(p, op);
  return true;
}

static bool pad(cel_print *p, const cel_hlo_op *op) {
  name_and_operands(p, op);
  if (!list_of(p, op, "edge_padding_low", "low") || !list_of(p, op, "edge_padding_high", "high") ||
      !list_of(p, op, "interior_padding", "interior"))
    return false;
  attrs_but(p, op, "edge_padding_low edge_padding_high interior_padding");
  cel_print_function_type(p, op);
  return true;
}

static bool slice(cel_print *p, const cel_hlo_op *op) {
  int64_t start[CEL_HLO_MAX_RANK], limit[CEL_HLO_MAX_RANK], stride[CEL_HLO_MAX_RANK];
  int n = cel_hlo_attr_ints(op, "start_indices", start, CEL_HLO_MAX_RANK, -1);
  if (n < 0 || n > CEL_HLO_MAX_RANK || n != cel_hlo_attr_ints(op, "limit_indices", limit, CEL_HLO_MAX_RANK, -1) ||
      n != cel_hlo_attr_ints(op, "strides", stride, CEL_HLO_MAX_RANK, n))
    return false;
  bool has_strides = cel_hlo_find_attr(op, "strides") != NULL;
  name_and_operands(p, op);
  cel_buf_addz(p->out, " [");
  for (int i = 0; i < n; i++) {
    if (i) cel_buf_addz(p->out, ", ");
    cel_print_int(p->out, start[i]);
    cel_buf_addc(p->out, ':');
    cel_print_int(p->out, limit[i]);
    if (!has_strides || stride[i] == 1) continue;
    cel_buf_addc(p->out, ':');
    cel_print_int(p->out, stride[i]);
  }
  cel_buf_addc(p->out, ']');
  attrs_but(p, op, "start_indices limit_indices strides");
  cel_print_function_type(p, op);
  return true;
}

// "[0] x [0]" of two lists, after a key; absent is the empty list.
static void pair_of_lists(cel_print *p, const cel_hlo_op *op, const char *key, const char *left, const char *right) {
  int64_t l[CEL_HLO_MAX_RANK], r[CEL_HLO_MAX_RANK];
  int n_l = CEL_MIN(cel_hlo_attr_ints(op, left, l, CEL_HLO_MAX_RANK, 0), CEL_HLO_MAX_RANK);
  int n_r = CEL_MIN(cel_hlo_attr_ints(op, right, r, CEL_HLO_MAX_RANK, 0), CEL_HLO_MAX_RANK);
  cel_buf_printf(p->out, ", %s = [", key);
  cel_print_int_list(p->out, l, n_l);
  cel_buf_addz(p->out, "] x [");
  cel_print_int_list(p->out, r, n_r);
  cel_buf_addc(p->out, ']');
}

static bool dot_general(cel_print *p, const cel_hlo_op *op) {
  const cel_hlo_attr *precision = cel_hlo_find_attr(op, "precision_config");
  const cel_hlo_attr *algorithm = cel_hlo_find_attr(op, "algorithm");
  if (precision && precision->kind != CEL_HLO_ATTR_LIST) return false;
  if (algorithm && (algorithm->kind != CEL_HLO_ATTR_RAW || strncmp(algorithm->s, "#stablehlo.dot_algorithm<", 25) != 0))
    return false;
  name_and_operands(p, op);
  if (cel_hlo_attr_ints(op, "lhs_batching_dimensions", NULL, 0, 0) > 0 ||
      cel_hlo_attr_ints(op, "rhs_batching_dimensions", NULL, 0, 0) > 0)
    pair_of_lists(p, op, "batching_dims", "lhs_batching_dimensions", "rhs_batching_dimensions");
  pair_of_lists(p, op, "contracting_dims", "lhs_contracting_dimensions", "rhs_contracting_dimensions");
  if (precision && precision->n) {
    cel_buf_addz(p->out, ", precision = [");
    for (int64_t i = 0; i < precision->n; i++)
      cel_buf_printf(p->out, "%s%s", i ? ", " : "", precision->list[i]->s ? precision->list[i]->s : "DEFAULT");
    cel_buf_addc(p->out, ']');
  }
  if (algorithm) cel_buf_printf(p->out, ", algorithm = %s", algorithm->s + 24);
  attrs_but(p, op,
            "lhs_batching_dimensions rhs_batching_dimensions lhs_contracting_dimensions rhs_contracting_dimensions "
            "precision_config algorithm");
  cel_print_function_type(p, op);
  return true;
}

static bool rng_bit_generator(cel_print *p, const cel_hlo_op *op) {
  const cel_hlo_attr *algorithm = cel_hlo_find_attr(op, "rng_algorithm");
  if (!algorithm || !algorithm->s) return false;
  name_and_operands(p, op);
  cel_buf_printf(p->out, ", algorithm = %s", algorithm->s);
  attrs_but(p, op, "rng_algorithm");
  cel_print_function_type(p, op);
  return true;
}

static bool tuple(cel_print *p, const cel_hlo_op *op) {
  name_and_operands(p, op);
  attrs_but(p, op, "");
  cel_buf_addz(p->out, " : ");
  result_types(p, op);
  return true;
}

static bool get_tuple_element(cel_print *p, const cel_hlo_op *op) {
  if (!cel_hlo_find_attr(op, "index")) return false;
  name_and_operands(p, op);
  cel_buf_printf(p->out, "[%lld]", (long long)cel_hlo_attr_int(op, "index", 0));
  attrs_but(p, op, "index");
  cel_print_function_type(p, op);
  return true;
}

static bool custom_call(cel_print *p, const cel_hlo_op *op) {
  const cel_hlo_attr *target = cel_hlo_find_attr(op, "call_target_name");
  if (!target || target->kind != CEL_HLO_ATTR_STRING) return false;
  cel_buf_printf(p->out, "%s ", op->name);
  cel_print_symbol(p->out, target->s);
  cel_buf_addc(p->out, '(');
  cel_print_operands(p, op);
  cel_buf_addc(p->out, ')');
  attrs_but(p, op, "call_target_name");
  cel_print_function_type(p, op);
  return true;
}

static bool composite(cel_print *p, const cel_hlo_op *op) {
  const cel_hlo_attr *name = cel_hlo_find_attr(op, "name");
  if (!name || name->kind != CEL_HLO_ATTR_STRING || op->n_regions) return false;
  cel_buf_printf(p->out, "%s ", op->name);
  cel_print_attr(p->out, name);
  if (op->n_operands) cel_buf_addc(p->out, ' ');
  cel_print_operands(p, op);
  attrs_but(p, op, "name");
  cel_print_function_type(p, op);
  return true;
}

static bool chlo_erf(cel_print *p, const cel_hlo_op *op) {
  name_and_operands(p, op);
  attrs_but(p, op, "");
  cel_buf_addz(p->out, " : ");
  operand_types(p, op);
  cel_buf_addz(p->out, " -> ");
  result_types(p, op);
  return true;
}

static bool top_k(cel_print *p, const cel_hlo_op *op) {
  if (!cel_hlo_find_attr(op, "k")) return false;
  cel_buf_printf(p->out, "%s(", op->name);
  cel_print_operands(p, op);
  cel_buf_printf(p->out, ", k = %lld)", (long long)cel_hlo_attr_int(op, "k", 0));
  attrs_but(p, op, "k");
  cel_buf_addz(p->out, " : ");
  operand_types(p, op);
  cel_buf_addz(p->out, " -> ");
  result_types(p, op);
  return true;
}

// False, with anything at all written, where the operation lacks what its pretty form shows.
static bool pretty(cel_print *p, const cel_hlo_op *op) {
  switch (op->opcode) {
    case CEL_HLO_FOREIGN:
    case CEL_HLO_GATHER:
    case CEL_HLO_SCATTER:
    case CEL_HLO_SORT:
    case CEL_HLO_MAP:
    case CEL_HLO_REDUCE_WINDOW:
    case CEL_HLO_SELECT_AND_SCATTER:
    case CEL_HLO_IF:
    case CEL_HLO_CASE: return false;
    case CEL_HLO_RETURN:
    case CEL_HLO_REGION_RETURN: return returns(p, op);
    case CEL_HLO_CALL: return call(p, op);
    case CEL_HLO_CONSTANT: return constant(p, op);
    case CEL_HLO_IOTA: return iota(p, op);
    case CEL_HLO_COMPARE: return compare(p, op);
    case CEL_HLO_COMPLEX: return complex_of(p, op);
    case CEL_HLO_SELECT: return select_of(p, op);
    case CEL_HLO_REDUCE_PRECISION: return reduce_precision(p, op);
    case CEL_HLO_OPTIMIZATION_BARRIER: return barrier(p, op);
    case CEL_HLO_BROADCAST_IN_DIM: return with_list(p, op, "broadcast_dimensions", "dims", false);
    case CEL_HLO_TRANSPOSE: return with_list(p, op, "permutation", "dims", false);
    case CEL_HLO_REVERSE: return with_list(p, op, "dimensions", "dims", true);
    case CEL_HLO_DYNAMIC_SLICE: return with_list(p, op, "slice_sizes", "sizes", false);
    case CEL_HLO_CONCATENATE: return with_int(p, op, "dimension", "dim");
    case CEL_HLO_GET_DIMENSION_SIZE: return with_int(p, op, "dimension", "dim");
    case CEL_HLO_DYNAMIC_UPDATE_SLICE:
    case CEL_HLO_RESHAPE:
    case CEL_HLO_BITCAST_CONVERT:
    case CEL_HLO_IS_FINITE: return plain_with_function_type(p, op);
    case CEL_HLO_PAD: return pad(p, op);
    case CEL_HLO_SLICE: return slice(p, op);
    case CEL_HLO_DOT_GENERAL: return dot_general(p, op);
    case CEL_HLO_CONVOLUTION: return cel_print_convolution(p, op);
    case CEL_HLO_REDUCE: return cel_print_reduce(p, op);
    case CEL_HLO_WHILE: return cel_print_while(p, op);
    case CEL_HLO_RNG_BIT_GENERATOR: return rng_bit_generator(p, op);
    case CEL_HLO_TUPLE: return tuple(p, op);
    case CEL_HLO_GET_TUPLE_ELEMENT: return get_tuple_element(p, op);
    case CEL_HLO_CUSTOM_CALL: return custom_call(p, op);
    case CEL_HLO_COMPOSITE: return composite(p, op);
    case CEL_HLO_CHLO_ERF: return chlo_erf(p, op);
    case CEL_HLO_CHLO_TOP_K: return top_k(p, op);
    default: return plain_op(p, op);
  }
}

void cel_print_op(cel_print *p, const cel_hlo_op *op) {
  cel_print_line(p);
  cel_print_results(p, op);
  size_t before = p->out->n;
  if (!pretty(p, op)) {
    if (!p->out->failed) p->out->n = before;
    cel_print_generic(p, op);
  }
  if (!op->path) return;
  cel_buf_addz(p->out, " loc(");
  cel_print_string(p->out, cel_str_of(op->path));
  cel_buf_addc(p->out, ')');
}
