// What the verifier catches, with the text it gives.
#include "hlo_make.h"

static void check_refused(fixture *f, const char *want) {
  cel_err err = {0};
  check_ok(f);
  assert_int_equal(cel_hlo_verify(f->m, &err), CEL_INVALID);
  if (!strstr(err.text, want)) fail_msg("\"%s\" is not in \"%s\"", want, err.text);
  assert_int_equal(cel_hlo_verify(f->m, NULL), CEL_INVALID);
  cel_hlo_module_free(f->m);
}

// Appends without asking any rule, as a careless maker of modules would.
static hlo append_as(fixture *f, cel_hlo_op *op, int n, const cel_hlo_type **types) {
  assert_true(cel_hlo_set_results(f->b.func, op, types, n));
  cel_hlo_block_append(f->b.block, op);
  return n ? &op->results[0] : NULL;
}

static void a_good_module_passes(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  hlo x = arg(&f, CEL_ET_F32, 1, 4, 0, 0, 0), y = cel_hlo_reduce(&f.b, CEL_HLO_ADD, x, (int64_t[]){0}, 1);
  cel_hlo_return(&f.b, &y, 1);
  check_ok(&f);
  cel_err err = {0};
  if (cel_hlo_verify(f.m, &err) != CEL_OK) fail_msg("%s", err.text);
  cel_hlo_module_free(f.m);
}

static void a_wrong_operand_type(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  hlo x = arg(&f, CEL_ET_F32, 1, 4, 0, 0, 0), y = arg(&f, CEL_ET_I32, 1, 4, 0, 0, 0);
  cel_hlo_op *op = make_op(&f, CEL_HLO_ADD, 2, (hlo[]){x, y}, 0);
  op->path = "layers.2";
  append_as(&f, op, 1, &x->type);
  cel_hlo_return(&f.b, NULL, 0);
  check_refused(&f, "@main: layers.2: stablehlo.add: operand 0 is tensor<4xf32> and operand 1 is tensor<4xi32>");
}

static void a_wrong_result_type_is_named_with_its_line(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  hlo x = arg(&f, CEL_ET_F32, 1, 4, 0, 0, 0);
  cel_hlo_op *op = make_op(&f, CEL_HLO_TANH, 1, &x, 0);
  op->line = 12;
  op->column = 5;
  const cel_hlo_type *t = tensor(&f, CEL_ET_F32, 1, 5, 0, 0, 0);
  append_as(&f, op, 1, &t);
  cel_hlo_return(&f.b, NULL, 0);
  check_refused(&f, "@main: 12:5: stablehlo.tanh: result 0 is tensor<5xf32>, it must be tensor<4xf32>");
}

static void a_wrong_number_of_operands_and_results(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  hlo x = arg(&f, CEL_ET_F32, 1, 4, 0, 0, 0);
  append_as(&f, make_op(&f, CEL_HLO_SELECT, 2, (hlo[]){x, x}, 0), 1, &x->type);
  cel_hlo_return(&f.b, NULL, 0);
  check_refused(&f, "stablehlo.select: 2 operands, it takes 3");
  open_module(&f);
  x = arg(&f, CEL_ET_F32, 1, 4, 0, 0, 0);
  append_as(&f, make_op(&f, CEL_HLO_TANH, 1, &x, 0), 0, NULL);
  cel_hlo_return(&f.b, NULL, 0);
  check_refused(&f, "stablehlo.tanh: 0 results, it gives 1");
}

static void a_missing_or_misshapen_attribute(void **state) {
  (void)state;
  fixture f;
  for (int k = 0; k < 3; k++) {
    open_module(&f);
    hlo x = arg(&f, CEL_ET_F32, 2, 4, 2, 0, 0);
    cel_hlo_op *op = make_op(&f, CEL_HLO_SLICE, 1, &x, 0);
    with_ints(&f, op, "start_indices", 2, 0, 0);
    if (k == 1) with_ints(&f, op, "limit_indices", 1, 4, 0);
    if (k == 2) with(&f, op, cel_hlo_make_string(f.m, "limit_indices", CEL_STR("4, 2")));
    append_as(&f, op, 1, &x->type);
    cel_hlo_return(&f.b, NULL, 0);
    static const char *const want[] = {"stablehlo.slice: attribute limit_indices is missing",
                                       "limit_indices has 1 entries, it must have 2",
                                       "attribute limit_indices is not a list of integers"};
    check_refused(&f, want[k]);
  }
  open_module(&f);
  const cel_hlo_type *t = tensor(&f, CEL_ET_F32, 1, 4, 0, 0, 0);
  append_as(&f, make_op(&f, CEL_HLO_CONSTANT, 0, NULL, 0), 1, &t);
  cel_hlo_return(&f.b, NULL, 0);
  check_refused(&f, "stablehlo.constant: attribute value is missing");
}

static void an_attribute_given_twice(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  hlo x = arg(&f, CEL_ET_F32, 1, 4, 0, 0, 0);
  cel_hlo_op *op = make_op(&f, CEL_HLO_REVERSE, 1, &x, 0);
  with_ints(&f, op, "dimensions", 1, 0, 0);
  with_ints(&f, op, "dimensions", 1, 0, 0);
  append_as(&f, op, 1, &x->type);
  cel_hlo_return(&f.b, NULL, 0);
  check_refused(&f, "stablehlo.reverse: attribute dimensions is given twice");
}

static void a_value_used_before_its_definition(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  hlo x = arg(&f, CEL_ET_F32, 1, 4, 0, 0, 0);
  hlo y = cel_hlo_unary(&f.b, CEL_HLO_TANH, x);
  hlo z = cel_hlo_unary(&f.b, CEL_HLO_EXPONENTIAL, x);
  y->def->operands[0] = z;
  z->name = "later";
  cel_hlo_return(&f.b, NULL, 0);
  check_refused(&f, "stablehlo.tanh: operand 0 (%later) is used before it is defined");
}

static void a_value_of_a_region_used_outside(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  hlo x = arg(&f, CEL_ET_F32, 1, 4, 0, 0, 0), y = cel_hlo_reduce(&f.b, CEL_HLO_ADD, x, (int64_t[]){0}, 1);
  hlo inner = &y->def->regions[0]->first->results[0];
  cel_hlo_unary(&f.b, CEL_HLO_TANH, y)->def->operands[0] = inner;
  cel_hlo_return(&f.b, NULL, 0);
  check_refused(&f, "stablehlo.tanh: operand 0 (%unnamed) is used before it is defined, or outside its region");
}

static void an_operation_does_not_see_its_own_results_inside(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  hlo x = arg(&f, CEL_ET_F32, 1, 4, 0, 0, 0), y = cel_hlo_reduce(&f.b, CEL_HLO_ADD, x, (int64_t[]){0}, 1);
  y->def->regions[0]->first->operands[1] = y;
  cel_hlo_return(&f.b, NULL, 0);
  check_refused(&f, "stablehlo.add: operand 1 (%unnamed) is used before it is defined");
}

static void regions_see_values_from_outside(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  hlo p = arg(&f, CEL_ET_PRED, 0, 0, 0, 0, 0), x = arg(&f, CEL_ET_F32, 1, 4, 0, 0, 0);
  cel_hlo_block *outer = f.b.block;
  cel_hlo_op *op = make_op(&f, CEL_HLO_IF, 1, &p, 2);
  for (int k = 0; k < 2; k++) {
    open_region(&f, op, k, 0, NULL);
    region_return(&f, 1, &x);
    f.b.block = outer;
  }
  hlo y = finish(&f, op);
  cel_hlo_return(&f.b, &y, 1);
  cel_err err = {0};
  if (cel_hlo_verify(f.m, &err) != CEL_OK) fail_msg("%s", err.text);
  cel_hlo_module_free(f.m);
}

static void a_value_of_another_function(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  hlo x = arg(&f, CEL_ET_F32, 1, 4, 0, 0, 0), y = cel_hlo_unary(&f.b, CEL_HLO_TANH, x);
  cel_hlo_return(&f.b, NULL, 0);
  cel_hlo_func_begin(&f.b, "g", true);
  y->def->operands[0] = arg(&f, CEL_ET_F32, 1, 4, 0, 0, 0);
  cel_hlo_return(&f.b, NULL, 0);
  check_refused(&f, "@main: stablehlo.tanh: operand 0 belongs to function @g");
}

static void a_missing_or_wrong_terminator(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  hlo x = arg(&f, CEL_ET_F32, 1, 4, 0, 0, 0);
  cel_hlo_unary(&f.b, CEL_HLO_TANH, x);
  check_refused(&f, "@main: stablehlo.tanh: the block does not end in func.return");
  open_module(&f);
  check_refused(&f, "@main: the block does not end in func.return");
  open_module(&f);
  region_return(&f, 0, NULL);
  check_refused(&f, "stablehlo.return: the block must end in func.return");
  open_module(&f);
  cel_hlo_return(&f.b, NULL, 0);
  append_as(&f, make_op(&f, CEL_HLO_RETURN, 0, NULL, 0), 0, NULL);
  check_refused(&f, "func.return: operations follow it in its block");
}

static void a_return_that_does_not_fit_the_function(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  hlo x = arg(&f, CEL_ET_F32, 1, 4, 0, 0, 0);
  cel_hlo_return(&f.b, &x, 1);
  const cel_hlo_type *other = tensor(&f, CEL_ET_F32, 1, 5, 0, 0, 0);
  f.b.func->result_types[0] = other;
  check_refused(&f, "func.return: value 0 is tensor<4xf32>, the function says tensor<5xf32>");
}

static void an_unknown_callee_and_one_that_does_not_fit(void **state) {
  (void)state;
  fixture f;
  for (int k = 0; k < 3; k++) {
    open_module(&f);
    cel_hlo_func *main_func = f.b.func;
    hlo x = arg(&f, CEL_ET_F32, 1, 4, 0, 0, 0);
    cel_hlo_func_begin(&f.b, "g", true);
    hlo y = arg(&f, CEL_ET_F32, 1, 5, 0, 0, 0);
    cel_hlo_return(&f.b, &y, 1);
    f.b.func = main_func;
    f.b.block = main_func->body;
    cel_hlo_op *op = make_op(&f, k == 2 ? CEL_HLO_COMPOSITE : CEL_HLO_CALL, 1, &x, 0);
    with(&f, op, cel_hlo_make_symbol(f.m, k == 2 ? "decomposition" : "callee", k ? CEL_STR("g") : CEL_STR("nobody")));
    if (k == 2) with(&f, op, cel_hlo_make_string(f.m, "name", CEL_STR("m.g")));
    append_as(&f, op, 1, &x->type);
    cel_hlo_return(&f.b, NULL, 0);
    static const char *const want[] = {"func.call: there is no function @nobody",
                                       "func.call: argument 0 is tensor<4xf32>, @g says tensor<5xf32>",
                                       "stablehlo.composite: argument 0 is tensor<4xf32>, @g says tensor<5xf32>"};
    check_refused(&f, want[k]);
  }
}

// f0 -> f1 -> ... -> f(n-1), and back to f(`back`) when back >= 0.
static void chain_of_calls(fixture *f, int n, int back) {
  open_module(f);
  cel_hlo_return(&f->b, NULL, 0);
  for (int i = 0; i < n; i++) {
    char name[16];
    snprintf(name, sizeof name, "f%d", i);
    cel_hlo_func_begin(&f->b, name, true);
    int to = i + 1 < n ? i + 1 : back;
    if (to >= 0) {
      snprintf(name, sizeof name, "f%d", to);
      cel_hlo_op *op = make_op(f, CEL_HLO_CALL, 0, NULL, 0);
      with(f, op, cel_hlo_make_symbol(f->m, "callee", cel_str_of(name)));
      append_as(f, op, 0, NULL);
    }
    cel_hlo_return(&f->b, NULL, 0);
  }
}

static void recursion_at_any_depth(void **state) {
  (void)state;
  fixture f;
  chain_of_calls(&f, 1, 0);
  check_refused(&f, "recursion: @f0 calls @f0");
  chain_of_calls(&f, 5000, 4998);
  check_refused(&f, "recursion: @f499");
  chain_of_calls(&f, 5000, -1);
  cel_err err = {0};
  if (cel_hlo_verify(f.m, &err) != CEL_OK) fail_msg("%s", err.text);
  cel_hlo_module_free(f.m);
}

static void two_functions_of_one_name(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  cel_hlo_return(&f.b, NULL, 0);
  assert_non_null(cel_hlo_func_new(f.m, CEL_STR("main"), true));
  check_refused(&f, "@main: there are two functions of this name");
}

static void a_region_with_the_wrong_signature(void **state) {
  (void)state;
  for (int k = 0; k < 4; k++) {
    fixture f;
    open_module(&f);
    hlo x = arg(&f, CEL_ET_F32, 1, 4, 0, 0, 0), s = arg(&f, CEL_ET_F32, 0, 0, 0, 0, 0);
    cel_hlo_block *outer = f.b.block;
    cel_hlo_op *op = make_op(&f, CEL_HLO_REDUCE, 2, (hlo[]){x, s}, 1);
    with_ints(&f, op, "dimensions", 1, 0, 0);
    const cel_hlo_type *types[2] = {k == 1 ? cel_hlo_scalar_type(f.m, CEL_ET_I32) : s->type, s->type};
    if (k < 3) {
      cel_hlo_block *b = open_region(&f, op, 0, k == 0 ? 1 : 2, types);
      region_return(&f, 1, k == 2 ? &x : &b->args[k == 1]);
    }
    f.b.block = outer;
    append_as(&f, op, 1, &s->type);
    cel_hlo_return(&f.b, NULL, 0);
    static const char *const want[] = {"the region has 1 arguments and returns 1 values, it takes 2 and returns 1",
                                       "argument 0 of the region is tensor<i32>, it must be tensor<f32>",
                                       "the region returns tensor<4xf32>", "region 0 is empty"};
    check_refused(&f, want[k]);
  }
}

static void a_loop_whose_body_changes_a_type(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  hlo x = arg(&f, CEL_ET_F32, 1, 4, 0, 0, 0), p = arg(&f, CEL_ET_PRED, 0, 0, 0, 0, 0);
  cel_hlo_block *outer = f.b.block;
  cel_hlo_op *op = make_op(&f, CEL_HLO_WHILE, 1, &x, 2);
  open_region(&f, op, 0, 1, &x->type);
  region_return(&f, 1, &p);
  open_region(&f, op, 1, 1, &x->type);
  hlo wide = cel_hlo_convert(&f.b, x, CEL_ET_F64);
  region_return(&f, 1, &wide);
  f.b.block = outer;
  append_as(&f, op, 1, &x->type);
  cel_hlo_return(&f.b, NULL, 0);
  check_refused(&f, "stablehlo.while: the body returns tensor<4xf64> as value 0, it must be tensor<4xf32>");
}

static void result_types_wider_than_the_inputs_are_taken_from_the_region(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  hlo x = arg(&f, CEL_ET_BF16, 2, 4, 3, 0, 0), s = arg(&f, CEL_ET_BF16, 0, 0, 0, 0, 0);
  cel_hlo_op *op = make_op(&f, CEL_HLO_REDUCE, 2, (hlo[]){x, s}, 1);
  with_ints(&f, op, "dimensions", 1, 0, 0);
  fold_with(&f, op, 0, CEL_HLO_ADD, CEL_ET_F32);
  check_type(finish(&f, op), "tensor<3xf32>");
  cel_hlo_module_free(f.m);
}

static void links_that_are_broken(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  hlo x = arg(&f, CEL_ET_F32, 1, 4, 0, 0, 0), y = cel_hlo_unary(&f.b, CEL_HLO_TANH, x);
  y->block = NULL;
  cel_hlo_return(&f.b, NULL, 0);
  check_refused(&f, "stablehlo.tanh: result 0 is not linked to it");
  open_module(&f);
  x = arg(&f, CEL_ET_F32, 1, 4, 0, 0, 0);
  cel_hlo_unary(&f.b, CEL_HLO_TANH, x)->id = 0;
  cel_hlo_return(&f.b, NULL, 0);
  check_refused(&f, "value number 0 is given twice");
}

static void foreign_operations_pass(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  hlo x = arg(&f, CEL_ET_F32, 1, 4, 0, 0, 0);
  cel_hlo_op *op = cel_hlo_op_new(f.m, CEL_HLO_FOREIGN, "check.expect_eq", &x, 1, 0);
  append_as(&f, op, 1, &x->type);
  cel_hlo_return(&f.b, NULL, 0);
  cel_err err = {0};
  if (cel_hlo_verify(f.m, &err) != CEL_OK) fail_msg("%s", err.text);
  cel_hlo_module_free(f.m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_good_module_passes),
      cmocka_unit_test(a_wrong_operand_type),
      cmocka_unit_test(a_wrong_result_type_is_named_with_its_line),
      cmocka_unit_test(a_wrong_number_of_operands_and_results),
      cmocka_unit_test(a_missing_or_misshapen_attribute),
      cmocka_unit_test(an_attribute_given_twice),
      cmocka_unit_test(a_value_used_before_its_definition),
      cmocka_unit_test(a_value_of_a_region_used_outside),
      cmocka_unit_test(an_operation_does_not_see_its_own_results_inside),
      cmocka_unit_test(regions_see_values_from_outside),
      cmocka_unit_test(a_value_of_another_function),
      cmocka_unit_test(a_missing_or_wrong_terminator),
      cmocka_unit_test(a_return_that_does_not_fit_the_function),
      cmocka_unit_test(an_unknown_callee_and_one_that_does_not_fit),
      cmocka_unit_test(recursion_at_any_depth),
      cmocka_unit_test(two_functions_of_one_name),
      cmocka_unit_test(a_region_with_the_wrong_signature),
      cmocka_unit_test(a_loop_whose_body_changes_a_type),
      cmocka_unit_test(result_types_wider_than_the_inputs_are_taken_from_the_region),
      cmocka_unit_test(links_that_are_broken),
      cmocka_unit_test(foreign_operations_pass),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
