// Whole functions: limits, captured values, sums in their stated order, refusals, memory.
#include <math.h>

#include "unit/xla_ref/ref_kit.h"

static cel_hlo_module *parse(const char *text) {
  cel_hlo_module *m = NULL;
  cel_err err = {0};
  if (cel_hlo_parse(cel_str_of(text), "test", &m, &err) != CEL_OK) fail_msg("%s", err.text);
  return m;
}

// Evaluates @main without arguments; the first result's tensor is copied to out when that is not NULL.
static cel_status eval_main(const char *text, const cel_ref_limits *limits, void *out, cel_err *err) {
  cel_hlo_module *m = parse(text);
  cel_ref_tensor results[4];
  const cel_hlo_func *f = cel_hlo_find_func(m, "main");
  assert_non_null(f);
  assert_true(f->n_results <= 4);
  *err = (cel_err){0};
  cel_status status = cel_ref_eval_func(m, f, NULL, 0, results, limits, err);
  if (status == CEL_OK && out) memcpy(out, results[0].data, (size_t)cel_hlo_bytes(results[0].type));
  for (int i = 0; status == CEL_OK && i < f->n_results; i++) cel_ref_tensor_free(&results[i]);
  cel_hlo_module_free(m);
  return status;
}

static void an_endless_loop_ends_with_the_limit_of_steps(void **state) {
  (void)state;
  cel_err err;
  const char *text =
      "func.func @main() -> tensor<i32> {\n"
      "  %0 = stablehlo.constant dense<0> : tensor<i32>\n"
      "  %1 = \"stablehlo.while\"(%0) ({\n"
      "  ^bb0(%a: tensor<i32>):\n"
      "    %t = stablehlo.constant dense<true> : tensor<i1>\n"
      "    stablehlo.return %t : tensor<i1>\n"
      "  }, {\n"
      "  ^bb0(%a: tensor<i32>):\n"
      "    stablehlo.return %a : tensor<i32>\n"
      "  }) : (tensor<i32>) -> tensor<i32>\n"
      "  return %1 : tensor<i32>\n"
      "}\n";
  cel_ref_limits limits = {.steps = 1000};
  assert_int_equal(eval_main(text, &limits, NULL, &err), CEL_TOO_LONG);
  assert_non_null(strstr(err.text, "1000 steps"));
}

static void calls_nested_too_deep_end_with_the_limit_of_depth(void **state) {
  (void)state;
  cel_err err;
  int32_t r = 0;
  const char *text =
      "func.func @main() -> tensor<i32> {\n"
      "  %0 = call @a() : () -> tensor<i32>\n"
      "  return %0 : tensor<i32>\n"
      "}\n"
      "func.func private @a() -> tensor<i32> {\n"
      "  %0 = call @b() : () -> tensor<i32>\n"
      "  return %0 : tensor<i32>\n"
      "}\n"
      "func.func private @b() -> tensor<i32> {\n"
      "  %0 = stablehlo.constant dense<7> : tensor<i32>\n"
      "  return %0 : tensor<i32>\n"
      "}\n";
  cel_ref_limits three = {.depth = 3}, two = {.depth = 2};
  assert_int_equal(eval_main(text, &three, &r, &err), CEL_OK);
  assert_int_equal(r, 7);
  assert_int_equal(eval_main(text, &two, &r, &err), CEL_TOO_LONG);
  assert_non_null(strstr(err.text, "deeper than 2"));
}

static const char chain[] =
    "func.func @main() -> tensor<1000xf32> {\n"
    "  %0 = stablehlo.constant dense<1.0> : tensor<1000xf32>\n"
    "  %1 = stablehlo.negate %0 : tensor<1000xf32>\n"
    "  %2 = stablehlo.negate %1 : tensor<1000xf32>\n"
    "  %3 = stablehlo.negate %2 : tensor<1000xf32>\n"
    "  %4 = stablehlo.negate %3 : tensor<1000xf32>\n"
    "  return %4 : tensor<1000xf32>\n"
    "}\n";

static void values_are_dropped_after_their_last_use(void **state) {
  (void)state;
  cel_err err;
  float r[1000];
  cel_ref_limits two = {.bytes = 8000}, one = {.bytes = 7999};
  assert_int_equal(eval_main(chain, &two, r, &err), CEL_OK);  // five values, two alive at a time
  assert_true(r[999] == 1);
  assert_int_equal(eval_main(chain, &one, NULL, &err), CEL_TOO_LONG);
  assert_non_null(strstr(err.text, "7999"));
}

static void a_tensor_beyond_the_limit_of_bytes_is_an_error(void **state) {
  (void)state;
  cel_err err;
  const char *text =
      "func.func @main() -> tensor<f32> {\n"
      "  %0 = stablehlo.iota dim = 0 : tensor<1000000000000xf32>\n"
      "  %1 = stablehlo.slice %0 [0:1] : (tensor<1000000000000xf32>) -> tensor<1xf32>\n"
      "  %2 = stablehlo.reshape %1 : (tensor<1xf32>) -> tensor<f32>\n"
      "  return %2 : tensor<f32>\n"
      "}\n";
  assert_int_equal(eval_main(text, NULL, NULL, &err), CEL_TOO_LONG);
  assert_non_null(strstr(err.text, "line 2: stablehlo.iota: "));
  assert_non_null(strstr(err.text, "4000000000000"));
}

static void operations_without_a_function_are_known_beforehand(void **state) {
  (void)state;
  for (int code = CEL_HLO_CONSTANT; code < CEL_HLO_FOREIGN; code++)
    assert_int_equal(cel_ref_knows((cel_hlo_opcode)code), code != CEL_HLO_CUSTOM_CALL);
  assert_false(cel_ref_knows(CEL_HLO_FOREIGN));
}

static void a_composite_is_its_decomposition(void **state) {
  (void)state;
  cel_err err;
  int32_t r = 0;
  const char *text =
      "func.func @main() -> tensor<i32> {\n"
      "  %0 = stablehlo.constant dense<20> : tensor<i32>\n"
      "  %1 = stablehlo.composite \"test.twice\" %0 {decomposition = @twice} : (tensor<i32>) -> tensor<i32>\n"
      "  return %1 : tensor<i32>\n"
      "}\n"
      "func.func private @twice(%a: tensor<i32>) -> tensor<i32> {\n"
      "  %0 = stablehlo.add %a, %a : tensor<i32>\n"
      "  return %0 : tensor<i32>\n"
      "}\n";
  assert_int_equal(eval_main(text, NULL, &r, &err), CEL_OK);
  assert_int_equal(r, 40);
}

static void results_may_be_arguments_and_tuples(void **state) {
  (void)state;
  cel_hlo_module *m = parse(
      "func.func @main(%a: tensor<2xi32>) -> (tensor<2xi32>, tuple<tensor<2xi32>, tensor<i1>>) {\n"
      "  %0 = stablehlo.constant dense<true> : tensor<i1>\n"
      "  %1 = stablehlo.tuple %a, %0 : tuple<tensor<2xi32>, tensor<i1>>\n"
      "  return %a, %1 : tensor<2xi32>, tuple<tensor<2xi32>, tensor<i1>>\n"
      "}\n");
  cel_err err = {0};
  int32_t data[2] = {3, 4};
  const cel_hlo_func *f = m->first_func;
  cel_ref_tensor arg = {f->body->args[0]->type, data}, results[2];
  assert_int_equal(cel_ref_eval_func(m, f, &arg, 1, results, NULL, &err), CEL_OK);
  assert_ptr_not_equal(results[0].data, data);
  assert_memory_equal(results[0].data, data, sizeof data);
  const cel_ref_tensor *parts = results[1].data;
  assert_memory_equal(parts[0].data, data, sizeof data);
  assert_int_equal(*(const uint8_t *)parts[1].data, 1);
  cel_ref_tensor_free(&results[0]);
  cel_ref_tensor_free(&results[1]);
  cel_hlo_module_free(m);
}

static void wrong_arguments_are_named(void **state) {
  (void)state;
  cel_hlo_module *m = parse("func.func @main(%a: tensor<2xi32>) { return }\n");
  cel_err err = {0};
  int32_t data[2] = {0};
  cel_ref_tensor arg = {cel_hlo_tensor(m, CEL_ET_F32, 0, NULL), data};
  assert_int_equal(cel_ref_eval_func(m, m->first_func, &arg, 1, NULL, NULL, &err), CEL_INVALID);
  assert_non_null(strstr(err.text, "tensor<2xi32>"));
  assert_int_equal(cel_ref_eval_func(m, m->first_func, NULL, 0, NULL, NULL, &err), CEL_INVALID);
  cel_hlo_module_free(m);
}

static void what_is_not_there_is_refused_by_name(void **state) {
  (void)state;
  cel_err err;
  const char *text =
      "func.func @main() {\n"
      "  %0 = stablehlo.constant dense<1.0> : tensor<2xf32>\n"
      "  stablehlo.custom_call @somebody.else(%0) {has_side_effect = true} : (tensor<2xf32>) -> ()\n"
      "  return\n"
      "}\n";
  assert_int_equal(eval_main(text, NULL, NULL, &err), CEL_UNSUPPORTED);
  assert_non_null(strstr(err.text, "@somebody.else"));
}

// 2^24 + 1 + 1 + ... stays 2^24 in f32 when ones are added one by one from the left.
static void sums_of_f32_go_in_ascending_order_in_f32(void **state) {
  (void)state;
  cel_err err;
  float r = 0;
  const char *dot =
      "func.func @main() -> tensor<f32> {\n"
      "  %0 = stablehlo.constant dense<[16777216.0, 1.0, 1.0, -16777216.0]> : tensor<4xf32>\n"
      "  %1 = stablehlo.constant dense<1.0> : tensor<4xf32>\n"
      "  %2 = stablehlo.dot_general %0, %1, contracting_dims = [0] x [0] : (tensor<4xf32>, tensor<4xf32>) -> "
      "tensor<f32>\n"
      "  return %2 : tensor<f32>\n"
      "}\n";
  assert_int_equal(eval_main(dot, NULL, &r, &err), CEL_OK);
  assert_true(r == 0);
  const char *sum =
      "func.func @main() -> tensor<f32> {\n"
      "  %0 = stablehlo.constant dense<[16777216.0, 1.0, 1.0, -16777216.0]> : tensor<4xf32>\n"
      "  %1 = stablehlo.constant dense<1.0> : tensor<f32>\n"
      "  %2 = stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, "
      "tensor<f32>) -> tensor<f32>\n"
      "  return %2 : tensor<f32>\n"
      "}\n";
  assert_int_equal(eval_main(sum, NULL, &r, &err), CEL_OK);
  assert_true(r == 0);
}

// ---- single operations with captured values ----------------------------------------------------

static bool find_captured(void *context, const cel_hlo_value *value, cel_ref_tensor *out) {
  if (!value->name || strcmp(value->name, "offset") != 0) return false;
  *out = (cel_ref_tensor){value->type, context};
  return true;
}

static void an_operation_with_regions_asks_for_what_it_captures(void **state) {
  (void)state;
  cel_hlo_module *m = parse(
      "func.func @main(%offset: tensor<i32>, %x: tensor<3xi32>) -> tensor<3xi32> {\n"
      "  %0 = \"stablehlo.map\"(%x) ({\n"
      "  ^bb0(%a: tensor<i32>):\n"
      "    %1 = stablehlo.add %a, %offset : tensor<i32>\n"
      "    stablehlo.return %1 : tensor<i32>\n"
      "  }) {dimensions = array<i64: 0>} : (tensor<3xi32>) -> tensor<3xi32>\n"
      "  return %0 : tensor<3xi32>\n"
      "}\n");
  cel_err err = {0};
  const cel_hlo_op *op = m->first_func->body->first;
  int32_t x[3] = {1, 2, 3}, r[3] = {0}, offset = 10;
  cel_ref_tensor in = {op->operands[0]->type, x}, out = {op->results[0].type, r};
  assert_int_equal(cel_ref_op(m, op, &in, &out, find_captured, &offset, NULL, &err), CEL_OK);
  assert_memory_equal(r, ((int32_t[]){11, 12, 13}), sizeof r);
  assert_int_equal(cel_ref_op(m, op, &in, &out, NULL, NULL, NULL, &err), CEL_INVALID);
  assert_non_null(strstr(err.text, "%offset"));
  cel_hlo_module_free(m);
}

static void a_loop_as_one_operation_fills_the_callers_buffers(void **state) {
  (void)state;
  cel_hlo_module *m = parse(
      "func.func @main(%i: tensor<i32>, %s: tensor<i32>) -> (tensor<i32>, tensor<i32>) {\n"
      "  %0:2 = \"stablehlo.while\"(%i, %s) ({\n"
      "  ^bb0(%a: tensor<i32>, %b: tensor<i32>):\n"
      "    %n = stablehlo.constant dense<5> : tensor<i32>\n"
      "    %t = stablehlo.compare LT, %a, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
      "    stablehlo.return %t : tensor<i1>\n"
      "  }, {\n"
      "  ^bb0(%a: tensor<i32>, %b: tensor<i32>):\n"
      "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
      "    %next = stablehlo.add %a, %one : tensor<i32>\n"
      "    %sum = stablehlo.add %b, %a : tensor<i32>\n"
      "    stablehlo.return %next, %sum : tensor<i32>, tensor<i32>\n"
      "  }) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)\n"
      "  return %0#0, %0#1 : tensor<i32>, tensor<i32>\n"
      "}\n");
  cel_err err = {0};
  const cel_hlo_op *op = m->first_func->body->first;
  int32_t i = 0, s = 0, i_out = -1, s_out = -1;
  cel_ref_tensor in[2] = {{op->operands[0]->type, &i}, {op->operands[1]->type, &s}};
  cel_ref_tensor out[2] = {{op->results[0].type, &i_out}, {op->results[1].type, &s_out}};
  if (cel_ref_op(m, op, in, out, NULL, NULL, NULL, &err) != CEL_OK) fail_msg("%s", err.text);
  assert_int_equal(i_out, 5);
  assert_int_equal(s_out, 10);
  cel_hlo_module_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_endless_loop_ends_with_the_limit_of_steps),
      cmocka_unit_test(calls_nested_too_deep_end_with_the_limit_of_depth),
      cmocka_unit_test(values_are_dropped_after_their_last_use),
      cmocka_unit_test(a_tensor_beyond_the_limit_of_bytes_is_an_error),
      cmocka_unit_test(operations_without_a_function_are_known_beforehand),
      cmocka_unit_test(a_composite_is_its_decomposition),
      cmocka_unit_test(results_may_be_arguments_and_tuples),
      cmocka_unit_test(wrong_arguments_are_named),
      cmocka_unit_test(what_is_not_there_is_refused_by_name),
      cmocka_unit_test(sums_of_f32_go_in_ascending_order_in_f32),
      cmocka_unit_test(an_operation_with_regions_asks_for_what_it_captures),
      cmocka_unit_test(a_loop_as_one_operation_fills_the_callers_buffers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
