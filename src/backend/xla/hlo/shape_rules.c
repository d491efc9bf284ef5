// The table of rules, and judging an operation by it.
#include "backend/xla/hlo/shape.h"

enum { P = CEL_SH_P, S = CEL_SH_S, U = CEL_SH_U, F = CEL_SH_F, C = CEL_SH_C, ANY = CEL_SH_ANY };
enum { MANY = 1 << 20 };

typedef struct rule {
  int least, most;    // operands
  unsigned classes;   // element types the operands may have (0: operands need not be tensors)
  cel_shape_rule *infer;
  cel_shape_rule *check;  // for declared results, where infer leaves them open; NULL: nothing to say
  bool free_etype;        // the result's element type is not determined, only its shape
} rule;

#define UNARY(classes) {1, 1, classes, cel_rule_same, NULL, false}
#define BINARY(classes) {2, 2, classes, cel_rule_binary, NULL, false}

static const rule rules[CEL_HLO_OPCODE_COUNT] = {
    [CEL_HLO_RETURN] = {0, MANY, 0, cel_rule_return, NULL, false},
    [CEL_HLO_CALL] = {0, MANY, 0, cel_rule_call, NULL, false},
    [CEL_HLO_REGION_RETURN] = {0, MANY, 0, cel_rule_return, NULL, false},
    [CEL_HLO_CONSTANT] = {0, 0, ANY, cel_rule_constant, NULL, false},
    [CEL_HLO_IOTA] = {0, 0, ANY, cel_rule_iota, cel_check_iota, false},
    [CEL_HLO_ABS] = {1, 1, S | F | C, cel_rule_abs, NULL, false},
    [CEL_HLO_CBRT] = UNARY(F | C),
    [CEL_HLO_CEIL] = UNARY(F),
    [CEL_HLO_COSINE] = UNARY(F | C),
    [CEL_HLO_COUNT_LEADING_ZEROS] = UNARY(S | U),
    [CEL_HLO_EXPONENTIAL] = UNARY(F | C),
    [CEL_HLO_EXPONENTIAL_MINUS_ONE] = UNARY(F | C),
    [CEL_HLO_FLOOR] = UNARY(F),
    [CEL_HLO_IMAG] = {1, 1, F | C, cel_rule_real_imag, NULL, false},
    [CEL_HLO_IS_FINITE] = {1, 1, F, cel_rule_is_finite, NULL, false},
    [CEL_HLO_LOG] = UNARY(F | C),
    [CEL_HLO_LOG_PLUS_ONE] = UNARY(F | C),
    [CEL_HLO_LOGISTIC] = UNARY(F | C),
    [CEL_HLO_NEGATE] = UNARY(S | U | F | C),
    [CEL_HLO_NOT] = UNARY(P | S | U),
    [CEL_HLO_POPCNT] = UNARY(S | U),
    [CEL_HLO_REAL] = {1, 1, F | C, cel_rule_real_imag, NULL, false},
    [CEL_HLO_ROUND_NEAREST_AFZ] = UNARY(F),
    [CEL_HLO_ROUND_NEAREST_EVEN] = UNARY(F),
    [CEL_HLO_RSQRT] = UNARY(F | C),
    [CEL_HLO_SIGN] = UNARY(S | F | C),
    [CEL_HLO_SINE] = UNARY(F | C),
    [CEL_HLO_SQRT] = UNARY(F | C),
    [CEL_HLO_TAN] = UNARY(F | C),
    [CEL_HLO_TANH] = UNARY(F | C),
    [CEL_HLO_CONVERT] = {1, 1, ANY, cel_rule_convert, cel_check_convert, false},
    [CEL_HLO_BITCAST_CONVERT] = {1, 1, ANY, cel_rule_bitcast, cel_check_bitcast, false},
    [CEL_HLO_REDUCE_PRECISION] = {1, 1, F, cel_rule_reduce_precision, NULL, false},
    [CEL_HLO_OPTIMIZATION_BARRIER] = {0, MANY, 0, cel_rule_barrier, NULL, false},
    [CEL_HLO_ADD] = BINARY(ANY),
    [CEL_HLO_AND] = BINARY(P | S | U),
    [CEL_HLO_ATAN2] = BINARY(F | C),
    [CEL_HLO_COMPARE] = {2, 2, ANY, cel_rule_compare, NULL, false},
    [CEL_HLO_COMPLEX] = {2, 2, F, cel_rule_complex, NULL, false},
    [CEL_HLO_DIVIDE] = BINARY(S | U | F | C),
    [CEL_HLO_MAXIMUM] = BINARY(ANY),
    [CEL_HLO_MINIMUM] = BINARY(ANY),
    [CEL_HLO_MULTIPLY] = BINARY(ANY),
    [CEL_HLO_OR] = BINARY(P | S | U),
    [CEL_HLO_POWER] = BINARY(S | U | F | C),
    [CEL_HLO_REMAINDER] = BINARY(S | U | F | C),
    [CEL_HLO_SHIFT_LEFT] = BINARY(S | U),
    [CEL_HLO_SHIFT_RIGHT_ARITHMETIC] = BINARY(S | U),
    [CEL_HLO_SHIFT_RIGHT_LOGICAL] = BINARY(S | U),
    [CEL_HLO_SUBTRACT] = BINARY(S | U | F | C),
    [CEL_HLO_XOR] = BINARY(P | S | U),
    [CEL_HLO_CLAMP] = {3, 3, ANY, cel_rule_clamp, NULL, false},
    [CEL_HLO_SELECT] = {3, 3, ANY, cel_rule_select, NULL, false},
    [CEL_HLO_BROADCAST_IN_DIM] = {1, 1, ANY, cel_rule_broadcast_in_dim, cel_check_broadcast_in_dim, false},
    [CEL_HLO_CONCATENATE] = {1, MANY, ANY, cel_rule_concatenate, NULL, false},
    [CEL_HLO_DYNAMIC_SLICE] = {1, 1 + CEL_HLO_MAX_RANK, ANY, cel_rule_dynamic_slice, NULL, false},
    [CEL_HLO_DYNAMIC_UPDATE_SLICE] = {2, 2 + CEL_HLO_MAX_RANK, ANY, cel_rule_dynamic_update_slice, NULL, false},
    [CEL_HLO_GATHER] = {2, 2, ANY, cel_rule_gather, NULL, false},
    [CEL_HLO_GET_DIMENSION_SIZE] = {1, 1, ANY, cel_rule_get_dimension_size, NULL, false},
    [CEL_HLO_PAD] = {2, 2, ANY, cel_rule_pad, NULL, false},
    [CEL_HLO_RESHAPE] = {1, 1, ANY, cel_rule_reshape, cel_check_reshape, false},
    [CEL_HLO_REVERSE] = {1, 1, ANY, cel_rule_reverse, NULL, false},
    [CEL_HLO_SLICE] = {1, 1, ANY, cel_rule_slice, NULL, false},
    [CEL_HLO_TRANSPOSE] = {1, 1, ANY, cel_rule_transpose, NULL, false},
    [CEL_HLO_DOT_GENERAL] = {2, 2, ANY, cel_rule_dot_general, NULL, true},
    [CEL_HLO_CONVOLUTION] = {2, 2, ANY, cel_rule_convolution, NULL, true},
    [CEL_HLO_REDUCE] = {2, MANY, ANY, cel_rule_reduce, NULL, false},
    [CEL_HLO_REDUCE_WINDOW] = {2, MANY, ANY, cel_rule_reduce_window, NULL, false},
    [CEL_HLO_MAP] = {1, MANY, ANY, cel_rule_map, NULL, false},
    [CEL_HLO_SCATTER] = {3, MANY, ANY, cel_rule_scatter, NULL, false},
    [CEL_HLO_SELECT_AND_SCATTER] = {3, 3, ANY, cel_rule_select_and_scatter, NULL, false},
    [CEL_HLO_SORT] = {1, MANY, ANY, cel_rule_sort, NULL, false},
    [CEL_HLO_IF] = {1, 1, P, cel_rule_if, NULL, false},
    [CEL_HLO_CASE] = {1, 1, S, cel_rule_case, NULL, false},
    [CEL_HLO_WHILE] = {0, MANY, 0, cel_rule_while, NULL, false},
    [CEL_HLO_RNG_BIT_GENERATOR] = {1, 1, U, cel_rule_rng_bit_generator, cel_check_rng_bit_generator, false},
    [CEL_HLO_TUPLE] = {0, MANY, 0, cel_rule_tuple, NULL, false},
    [CEL_HLO_GET_TUPLE_ELEMENT] = {1, 1, 0, cel_rule_get_tuple_element, NULL, false},
    [CEL_HLO_CUSTOM_CALL] = {0, MANY, 0, cel_rule_custom_call, NULL, false},
    [CEL_HLO_COMPOSITE] = {0, MANY, 0, cel_rule_composite, NULL, false},
    [CEL_HLO_CHLO_ERF] = UNARY(F),
    [CEL_HLO_CHLO_TOP_K] = {1, 1, P | S | U | F, cel_rule_top_k, NULL, false},
};

static const char *class_words(unsigned classes) {
  switch (classes) {
    case F: return "a float type";
    case F | C: return "a float or complex type";
    case S | U: return "an integer type";
    case P | S | U: return "an integer type or i1";
    case P: return "i1";
    case S: return "a signed integer type";
    case U: return "an unsigned integer type";
    case S | F | C: return "a signed integer, float or complex type";
    case S | U | F: return "an integer or float type";
    default: return "an integer, float or complex type";
  }
}

static cel_status check_operands(cel_shape *s, const rule *r) {
  const cel_hlo_op *op = s->op;
  if (op->n_operands < r->least || op->n_operands > r->most) {
    if (r->least == r->most) return cel_shape_fail(s, "%d operands, it takes %d", op->n_operands, r->least);
    return cel_shape_fail(s, "%d operands, it takes at least %d%s", op->n_operands, r->least,
                          r->most == MANY ? "" : " and at most 8 indices");
  }
  if (!r->classes) return CEL_OK;
  CEL_TRY(cel_shape_tensors(s, 0));
  if (r->classes == ANY) return CEL_OK;
  for (int i = 0; i < op->n_operands; i++) {
    const cel_hlo_type *t = cel_shape_in(s, i);
    cel_shape_text text;
    if (!(cel_shape_class(t->etype) & r->classes))
      return cel_shape_fail(s, "operand %d is %s, it must be of %s", i, cel_shape_show(&text, t),
                            class_words(r->classes));
  }
  return CEL_OK;
}

static cel_status check_regions(cel_shape *s) {
  int want = cel_hlo_opcode_regions(s->op->opcode);
  if (want >= 0 && s->op->n_regions != want)
    return cel_shape_fail(s, "%d regions, it has %d", s->op->n_regions, want);
  return CEL_OK;
}

static cel_status infer(cel_shape *s) {
  const rule *r = &rules[s->op->opcode];
  s->n = -1;
  if (!r->infer) return CEL_OK;
  CEL_TRY(check_operands(s, r));
  CEL_TRY(check_regions(s));
  return r->infer(s);
}

cel_status cel_hlo_infer(cel_hlo_module *m, const cel_hlo_op *op, const cel_hlo_type ***types, int *n,
                         cel_err *err) {
  cel_shape s = {.m = m, .op = op, .err = err};
  CEL_TRY(infer(&s));
  *types = s.types;
  *n = s.n;
  return CEL_OK;
}

static cel_status compare_results(cel_shape *s, bool free_etype) {
  const cel_hlo_op *op = s->op;
  if (op->n_results != s->n) return cel_shape_fail(s, "%d results, it gives %d", op->n_results, s->n);
  for (int i = 0; i < s->n; i++) {
    const cel_hlo_type *got = op->results[i].type, *want = s->types[i];
    bool same = free_etype ? got->kind == CEL_HLO_KIND_TENSOR && cel_shape_same_dims(got, want)
                           : cel_hlo_type_equal(got, want);
    cel_shape_text a, b;
    if (!same)
      return cel_shape_fail(s, "result %d is %s, it must be %s%s", i, cel_shape_show(&a, got),
                            cel_shape_show(&b, want), free_etype ? " (or another element type)" : "");
  }
  return CEL_OK;
}

cel_status cel_hlo_check(cel_hlo_module *scratch, const cel_hlo_op *op, cel_err *err) {
  cel_shape s = {.m = scratch, .op = op, .err = err};
  CEL_TRY(infer(&s));
  const rule *r = &rules[op->opcode];
  if (s.n >= 0) return compare_results(&s, r->free_etype);
  return r->check ? r->check(&s) : CEL_OK;
}
