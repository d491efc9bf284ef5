// Reading StableHLO text: both forms of every operation, literals, locations, aliases, and what is refused.
#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/xla/hlo/hlo.h"
#include "base/file.h"

// ---- helpers -----------------------------------------------------------------------------------

static cel_hlo_module *read_text(cel_str text) {
  cel_hlo_module *m;
  cel_err err = {0};
  if (cel_hlo_parse(text, "t", &m, &err) != CEL_OK) fail_msg("%s\n%.*s", err.text, (int)text.n, text.p);
  return m;
}

static cel_hlo_module *read_z(const char *text) { return read_text(cel_str_of(text)); }

static char *printed(const cel_hlo_module *m) {
  cel_buf out = {0};
  cel_err err = {0};
  if (cel_hlo_print(m, &out, &err) != CEL_OK) fail_msg("%s", err.text);
  return cel_buf_take(&out);
}

// Reads and prints; the caller frees.
static char *again(const char *text) {
  cel_hlo_module *m = read_z(text);
  char *out = printed(m);
  cel_hlo_module_free(m);
  return out;
}

static void print_is_the_identity_after(const char *text) {
  char *first = again(text), *second = again(first);
  assert_string_equal(first, second);
  free(first);
  free(second);
}

// The status, and a piece of the message.
static void refused(const char *text, cel_status status, const char *piece) {
  cel_hlo_module *m;
  cel_err err = {0};
  cel_status got = cel_hlo_parse(cel_str_of(text), "t", &m, &err);
  if (got != status || !strstr(err.text, piece)) fail_msg("status %d, \"%s\"; wanted \"%s\" of\n%s", got, err.text, piece, text);
  assert_null(m);
  assert_int_equal(err.status, status);
}

// The literal of the only constant of "%0 = stablehlo.constant <literal>" in a function.
static cel_hlo_module *constant(const char *literal, const cel_hlo_attr **out) {
  char text[2000];
  snprintf(text, sizeof text, "func.func @f() {\n  %%0 = stablehlo.constant %s\n  return\n}\n", literal);
  cel_hlo_module *m = read_z(text);
  *out = cel_hlo_find_attr(m->first_func->body->first, "value");
  assert_non_null(*out);
  return m;
}

// ---- both forms of operations --------------------------------------------------------------------

#define ARGUMENTS                                                                                              \
  "%x: tensor<2x3xf32>, %y: tensor<2x3xf32>, %i: tensor<2x3xi32>, %p: tensor<2x3xi1>, %s: tensor<f32>, "       \
  "%n: tensor<i32>, %z: tensor<2x3xcomplex<f32>>, %w: tensor<3x4xf32>, %k: tensor<2xui64>, "                   \
  "%u: tuple<tensor<f32>, tensor<i32>>, %im: tensor<1x8x8x4xf32>, %ke: tensor<3x3x4x6xf32>, %b: tensor<i1>, "  \
  "%id: tensor<2x1xi32>, %up: tensor<2x3xf32>"

typedef struct forms { const char *brief, *generic; } forms;

#define UNARY(op) {"%0 = stablehlo." op " %x : tensor<2x3xf32>", \
                   "%0 = \"stablehlo." op "\"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>"}
#define UNARY_I(op) {"%0 = stablehlo." op " %i : tensor<2x3xi32>", \
                     "%0 = \"stablehlo." op "\"(%i) : (tensor<2x3xi32>) -> tensor<2x3xi32>"}
#define BINARY(op) {"%0 = stablehlo." op " %x, %y : tensor<2x3xf32>", \
                    "%0 = \"stablehlo." op "\"(%x, %y) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>"}
#define BINARY_I(op) {"%0 = stablehlo." op " %i, %i : tensor<2x3xi32>", \
                      "%0 = \"stablehlo." op "\"(%i, %i) : (tensor<2x3xi32>, tensor<2x3xi32>) -> tensor<2x3xi32>"}

static const forms all_forms[] = {
    UNARY("abs"), UNARY("cbrt"), UNARY("ceil"), UNARY("cosine"), UNARY_I("count_leading_zeros"),
    UNARY("exponential"), UNARY("exponential_minus_one"), UNARY("floor"), UNARY("log"), UNARY("log_plus_one"),
    UNARY("logistic"), UNARY("negate"), UNARY_I("not"), UNARY_I("popcnt"), UNARY("round_nearest_afz"),
    UNARY("round_nearest_even"), UNARY("rsqrt"), UNARY("sign"), UNARY("sine"), UNARY("sqrt"), UNARY("tan"),
    UNARY("tanh"), BINARY("add"), BINARY_I("and"), BINARY("atan2"), BINARY("divide"), BINARY("maximum"),
    BINARY("minimum"), BINARY("multiply"), BINARY_I("or"), BINARY("power"), BINARY("remainder"),
    BINARY_I("shift_left"), BINARY_I("shift_right_arithmetic"), BINARY_I("shift_right_logical"),
    BINARY("subtract"), BINARY_I("xor"),
    {"%0 = stablehlo.abs %z : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>",
     "%0 = \"stablehlo.abs\"(%z) : (tensor<2x3xcomplex<f32>>) -> (tensor<2x3xf32>)"},
    {"%0 = stablehlo.imag %z : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>",
     "%0 = \"stablehlo.imag\"(%z) : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>"},
    {"%0 = stablehlo.real %z : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>",
     "%0 = \"stablehlo.real\"(%z) {} : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>"},
    {"%0 = stablehlo.is_finite %x : (tensor<2x3xf32>) -> tensor<2x3xi1>",
     "%0 = \"stablehlo.is_finite\"(%x) : (tensor<2x3xf32>) -> tensor<2x3xi1>"},
    {"%0 = stablehlo.complex %x, %y : tensor<2x3xcomplex<f32>>",
     "%0 = \"stablehlo.complex\"(%x, %y) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xcomplex<f32>>"},
    {"%0 = stablehlo.convert %x : (tensor<2x3xf32>) -> tensor<2x3xi8>",
     "%0 = \"stablehlo.convert\"(%x) : (tensor<2x3xf32>) -> tensor<2x3xi8>"},
    {"%0 = stablehlo.bitcast_convert %x : (tensor<2x3xf32>) -> tensor<2x3x2xbf16>",
     "%0 = \"stablehlo.bitcast_convert\"(%x) : (tensor<2x3xf32>) -> tensor<2x3x2xbf16>"},
    {"%0 = stablehlo.reduce_precision %x, format = e5m10 : tensor<2x3xf32>",
     "%0 = \"stablehlo.reduce_precision\"(%x) <{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}> : "
     "(tensor<2x3xf32>) -> tensor<2x3xf32>"},
    {"%0:2 = stablehlo.optimization_barrier %x, %n : tensor<2x3xf32>, tensor<i32>",
     "%0:2 = \"stablehlo.optimization_barrier\"(%x, %n) : (tensor<2x3xf32>, tensor<i32>) -> "
     "(tensor<2x3xf32>, tensor<i32>)"},
    {"stablehlo.optimization_barrier()", "\"stablehlo.optimization_barrier\"() : () -> ()"},
    {"%0 = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>",
     "%0 = \"stablehlo.compare\"(%x, %y) {comparison_direction = #stablehlo<comparison_direction LT>, compare_type = "
     "#stablehlo<comparison_type TOTALORDER>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>"},
    {"%0 = stablehlo.clamp %s, %x, %s : (tensor<f32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>",
     "%0 = \"stablehlo.clamp\"(%s, %x, %s) : (tensor<f32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>"},
    {"%0 = stablehlo.clamp %x, %y, %x : tensor<2x3xf32>",
     "%0 = \"stablehlo.clamp\"(%x, %y, %x) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>"},
    {"%0 = stablehlo.select %p, %x, %y : tensor<2x3xi1>, tensor<2x3xf32>",
     "%0 = \"stablehlo.select\"(%p, %x, %y) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>"},
    {"%c = stablehlo.constant {note = \"n\"} dense<[1, 2]> : tensor<2xi64>",
     "%c = \"stablehlo.constant\"() <{value = dense<[1, 2]> : tensor<2xi64>}> {note = \"n\"} : () -> tensor<2xi64>"},
    {"%c = stablehlo.constant() {value = dense<3> : tensor<2xi8>} : () -> tensor<2xi8>",
     "%c = \"stablehlo.constant\"() {value = dense<3> : tensor<2xi8>} : () -> tensor<2xi8>"},
    {"%0 = stablehlo.iota dim = 1 : tensor<2x3xf32>",
     "%0 = \"stablehlo.iota\"() <{iota_dimension = 1 : i64}> : () -> tensor<2x3xf32>"},
    {"%0 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<4xf32>",
     "%0 = \"stablehlo.broadcast_in_dim\"(%s) {broadcast_dimensions = dense<> : tensor<0xi64>} : (tensor<f32>) -> "
     "tensor<4xf32>"},
    {"%0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>",
     "%0 = \"stablehlo.concatenate\"(%x, %y) <{dimension = 0 : i64}> : (tensor<2x3xf32>, tensor<2x3xf32>) -> "
     "tensor<4x3xf32>"},
    {"%0 = stablehlo.dynamic_slice %x, %n, %n, sizes = [1, 2] : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> "
     "tensor<1x2xf32>",
     "%0 = \"stablehlo.dynamic_slice\"(%x, %n, %n) <{slice_sizes = array<i64: 1, 2>}> : (tensor<2x3xf32>, "
     "tensor<i32>, tensor<i32>) -> tensor<1x2xf32>"},
    {"%0 = stablehlo.dynamic_update_slice %x, %y, %n, %n : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<i32>, "
     "tensor<i32>) -> tensor<2x3xf32>",
     "%0 = \"stablehlo.dynamic_update_slice\"(%x, %y, %n, %n) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<i32>, "
     "tensor<i32>) -> tensor<2x3xf32>"},
    {"%0 = stablehlo.get_dimension_size %x, dim = 1 : (tensor<2x3xf32>) -> tensor<i32>",
     "%0 = \"stablehlo.get_dimension_size\"(%x) <{dimension = 1 : i64}> : (tensor<2x3xf32>) -> tensor<i32>"},
    {"%0 = stablehlo.pad %x, %s, low = [0, -1], high = [1, 0], interior = [0, 2] : (tensor<2x3xf32>, tensor<f32>) -> "
     "tensor<3x6xf32>",
     "%0 = \"stablehlo.pad\"(%x, %s) <{edge_padding_low = array<i64: 0, -1>, edge_padding_high = array<i64: 1, 0>, "
     "interior_padding = array<i64: 0, 2>}> : (tensor<2x3xf32>, tensor<f32>) -> tensor<3x6xf32>"},
    {"%0 = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>",
     "%0 = \"stablehlo.reshape\"(%x) : (tensor<2x3xf32>) -> tensor<6xf32>"},
    {"%0 = stablehlo.reverse %x, dims = [0, 1] : tensor<2x3xf32>",
     "%0 = \"stablehlo.reverse\"(%x) <{dimensions = array<i64: 0, 1>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>"},
    {"%0 = stablehlo.slice %x [0:1, 0:3:2] : (tensor<2x3xf32>) -> tensor<1x2xf32>",
     "%0 = \"stablehlo.slice\"(%x) <{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 1, 3>, strides = "
     "array<i64: 1, 2>}> : (tensor<2x3xf32>) -> tensor<1x2xf32>"},
    {"%0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>",
     "%0 = \"stablehlo.transpose\"(%x) {permutation = dense<[1, 0]> : tensor<2xi64>} : (tensor<2x3xf32>) -> "
     "tensor<3x2xf32>"},
    {"%0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0], precision = [DEFAULT, HIGHEST] : "
     "(tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>",
     "%0 = \"stablehlo.dot_general\"(%x, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], "
     "rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision "
     "HIGHEST>]}> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>"},
    {"%0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [1] x [1] : "
     "(tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2xf32>",
     "%0 = \"stablehlo.dot_general\"(%x, %y) {dot_dimension_numbers = #stablehlo.dot<\n  lhs_batching_dimensions = [0],"
     "\n  rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1],\n>} : "
     "(tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2xf32>"},
    {"%0 = stablehlo.convolution(%im, %ke) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = "
     "[2, 2], pad = [[1, 1], [0, 2]], rhs_dilate = [1, 1], reverse = [true, false]} {batch_group_count = 1 : i64, "
     "feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x4x4x6xf32>",
     "%0 = \"stablehlo.convolution\"(%im, %ke) <{dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, "
     "1, f]>, window_strides = array<i64: 2, 2>, padding = dense<[[1, 1], [0, 2]]> : tensor<2x2xi64>, rhs_dilation = "
     "array<i64: 1, 1>, window_reversal = array<i1: true, false>, batch_group_count = 1 : i64, feature_group_count = 1 "
     ": i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x4x4x6xf32>"},
    {"%0 = stablehlo.convolution(%im, %ke) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} "
     "{batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> "
     "tensor<1x6x6x6xf32>",
     "%0 = \"stablehlo.convolution\"(%im, %ke) <{dimension_numbers = #stablehlo.conv<raw input_batch_dimension = 0, "
     "input_feature_dimension = 3, input_spatial_dimensions = [1, 2], kernel_input_feature_dimension = 2, "
     "kernel_output_feature_dimension = 3, kernel_spatial_dimensions = [0, 1], output_batch_dimension = 0, "
     "output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>, batch_group_count = 1 : i64, "
     "feature_group_count = 1 : i64}> : (tensor<1x8x8x4xf32>, tensor<3x3x4x6xf32>) -> tensor<1x6x6x6xf32>"},
    {"%0 = stablehlo.reduce(%x init: %s) applies stablehlo.maximum across dimensions = [1] : (tensor<2x3xf32>, "
     "tensor<f32>) -> tensor<2xf32>",
     "%0 = \"stablehlo.reduce\"(%x, %s) <{dimensions = array<i64: 1>}> ({\n^bb0(%a0: tensor<f32>, %a1: tensor<f32>):\n"
     "  %1 = stablehlo.maximum %a0, %a1 : tensor<f32>\n  stablehlo.return %1 : tensor<f32>\n}) : (tensor<2x3xf32>, "
     "tensor<f32>) -> tensor<2xf32>"},
    {"%0:2 = stablehlo.reduce(%x init: %s), (%i init: %n) across dimensions = [0] : (tensor<2x3xf32>, tensor<2x3xi32>, "
     "tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)\n reducer(%a0: tensor<f32>, %a2: tensor<f32>) (%a1: "
     "tensor<i32>, %a3: tensor<i32>) {\n  stablehlo.return %a2, %a1 : tensor<f32>, tensor<i32>\n}",
     "%0:2 = \"stablehlo.reduce\"(%x, %i, %s, %n) ({\n^bb0(%a0: tensor<f32>, %a1: tensor<i32>, %a2: tensor<f32>, "
     "%a3: tensor<i32>):\n  \"stablehlo.return\"(%a2, %a1) : (tensor<f32>, tensor<i32>) -> ()\n}) {dimensions = "
     "array<i64: 0>} : (tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)"},
    {"%0:2 = stablehlo.while(%a = %n, %c = %x) : tensor<i32>, tensor<2x3xf32>\n cond {\n  stablehlo.return %b : "
     "tensor<i1>\n} do {\n  stablehlo.return %a, %c : tensor<i32>, tensor<2x3xf32>\n}",
     "%0:2 = \"stablehlo.while\"(%n, %x) ({\n^bb0(%a: tensor<i32>, %c: tensor<2x3xf32>):\n  \"stablehlo.return\"(%b) : "
     "(tensor<i1>) -> ()\n}, {\n^bb0(%a: tensor<i32>, %c: tensor<2x3xf32>):\n  \"stablehlo.return\"(%a, %c) : "
     "(tensor<i32>, tensor<2x3xf32>) -> ()\n}) : (tensor<i32>, tensor<2x3xf32>) -> (tensor<i32>, tensor<2x3xf32>)"},
    {"%st, %out = stablehlo.rng_bit_generator %k, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, "
     "tensor<2x2xui32>)",
     "%st, %out = \"stablehlo.rng_bit_generator\"(%k) <{rng_algorithm = #stablehlo<rng_algorithm PHILOX>}> : "
     "(tensor<2xui64>) -> (tensor<2xui64>, tensor<2x2xui32>)"},
    {"%0 = stablehlo.tuple %s, %n : tuple<tensor<f32>, tensor<i32>>",
     "%0 = \"stablehlo.tuple\"(%s, %n) : (tensor<f32>, tensor<i32>) -> tuple<tensor<f32>, tensor<i32>>"},
    {"%0 = stablehlo.get_tuple_element %u[1] : (tuple<tensor<f32>, tensor<i32>>) -> tensor<i32>",
     "%0 = \"stablehlo.get_tuple_element\"(%u) <{index = 1 : i32}> : (tuple<tensor<f32>, tensor<i32>>) -> tensor<i32>"},
    {"%0 = stablehlo.custom_call @\"a b\"(%x) {api_version = 2 : i32, operand_layouts = [dense<[1, 0]> : "
     "tensor<2xindex>], result_layouts = [dense<> : tensor<0xindex>], has_side_effect = true} : (tensor<2x3xf32>) -> "
     "tensor<f32>",
     "%0 = \"stablehlo.custom_call\"(%x) <{call_target_name = \"a b\", api_version = 2 : i32, operand_layouts = [dense<[1, "
     "0]> : tensor<2xindex>], result_layouts = [dense<> : tensor<0xindex>], has_side_effect = true}> : "
     "(tensor<2x3xf32>) -> tensor<f32>"},
    {"%0 = stablehlo.composite \"mlxcel.same\" %x {composite_attributes = {n = 2 : i64, f = 1.5 : f32}, decomposition = "
     "@same, version = 3 : i32} : (tensor<2x3xf32>) -> tensor<2x3xf32>",
     "%0 = \"stablehlo.composite\"(%x) <{name = \"mlxcel.same\", composite_attributes = {n = 2 : i64, f = 1.5 : f32}, "
     "decomposition = @same, version = 3 : i32}> : (tensor<2x3xf32>) -> tensor<2x3xf32>"},
    {"%0 = call @same(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>",
     "%0 = \"func.call\"(%x) <{callee = @same}> : (tensor<2x3xf32>) -> tensor<2x3xf32>"},
    {"%0 = func.call @same(%x) {note} : (tensor<2x3xf32>) -> tensor<2x3xf32>",
     "%0 = \"func.call\"(%x) {note, callee = @same} : (tensor<2x3xf32>) -> tensor<2x3xf32>"},
    {"%0 = chlo.erf %x : tensor<2x3xf32> -> tensor<2x3xf32>",
     "%0 = \"chlo.erf\"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>"},
    {"%v, %ix = chlo.top_k(%x, k = 2) : tensor<2x3xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)",
     "%v, %ix = \"chlo.top_k\"(%x) <{k = 2 : i64}> : (tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)"},
    // Only one form; the second is the older place of attributes, behind the regions.
    {"%0 = \"stablehlo.map\"(%x, %y) <{dimensions = array<i64: 0, 1>}> ({\n^bb0(%a: tensor<f32>, %c: tensor<f32>):\n"
     "  stablehlo.return %a : tensor<f32>\n}) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>",
     "%0 = \"stablehlo.map\"(%x, %y) ({\n^bb0(%a: tensor<f32>, %c: tensor<f32>):\n  stablehlo.return %a : tensor<f32>\n}) "
     "{dimensions = dense<[0, 1]> : tensor<2xi64>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>"},
    {"%0 = \"stablehlo.sort\"(%x) <{dimension = 1 : i64, is_stable = true}> ({\n^bb0(%a: tensor<f32>, %c: tensor<f32>):\n"
     "  stablehlo.return %b : tensor<i1>\n}) : (tensor<2x3xf32>) -> tensor<2x3xf32>",
     "%0 = \"stablehlo.sort\"(%x) ({\n^bb0(%a: tensor<f32>, %c: tensor<f32>):\n  stablehlo.return %b : tensor<i1>\n}) "
     "{dimension = 1 : i64, is_stable = true} : (tensor<2x3xf32>) -> tensor<2x3xf32>"},
    {"%0 = \"stablehlo.if\"(%b) ({\n  stablehlo.return %x : tensor<2x3xf32>\n}, {\n  stablehlo.return %y : "
     "tensor<2x3xf32>\n}) : (tensor<i1>) -> tensor<2x3xf32>",
     "%0 = \"stablehlo.if\"(%b) ({\n^bb0:\n  stablehlo.return %x : tensor<2x3xf32>\n}, {\n^bb0():\n  stablehlo.return %y : "
     "tensor<2x3xf32>\n}) {} : (tensor<i1>) -> tensor<2x3xf32>"},
    {"%0 = \"stablehlo.case\"(%n) ({\n  stablehlo.return %x : tensor<2x3xf32>\n}, {\n  stablehlo.return %y : "
     "tensor<2x3xf32>\n}, {\n  stablehlo.return %x : tensor<2x3xf32>\n}) : (tensor<i32>) -> tensor<2x3xf32>",
     "%0 = \"stablehlo.case\"(%n) ({\n  stablehlo.return %x : tensor<2x3xf32>\n}, {\n  stablehlo.return %y : "
     "tensor<2x3xf32>\n}, {\n  stablehlo.return %x : tensor<2x3xf32>\n}) : (tensor<i32>) -> (tensor<2x3xf32>)"},
    {"%0 = \"stablehlo.gather\"(%x, %id) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], "
     "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = "
     "array<i64: 1, 3>}> : (tensor<2x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>",
     "%0 = \"stablehlo.gather\"(%x, %id) {dimension_numbers = #stablehlo.gather<offset_dims = [1], "
     "collapsed_slice_dims = [0], start_index_map = [0],\n index_vector_dim = 1,\n>, indices_are_sorted = false, "
     "slice_sizes = dense<[1, 3]> : tensor<2xi64>} : (tensor<2x3xf32>, tensor<2x1xi32>) -> tensor<2x3xf32>"},
    {"%0 = \"stablehlo.scatter\"(%x, %id, %up) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], "
     "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({\n^bb0(%a: tensor<f32>, "
     "%c: tensor<f32>):\n  stablehlo.return %c : tensor<f32>\n}) : (tensor<2x3xf32>, tensor<2x1xi32>, tensor<2x3xf32>) -> "
     "tensor<2x3xf32>",
     "%0 = \"stablehlo.scatter\"(%x, %id, %up) ({\n^bb0(%a: tensor<f32>, %c: tensor<f32>):\n  stablehlo.return %c : "
     "tensor<f32>\n}) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = "
     "[0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>} : (tensor<2x3xf32>, tensor<2x1xi32>, "
     "tensor<2x3xf32>) -> tensor<2x3xf32>"},
    {"%0 = \"stablehlo.reduce_window\"(%x, %s) <{window_dimensions = array<i64: 1, 2>, padding = dense<[[0, 0], [1, 0]]> "
     ": tensor<2x2xi64>}> ({\n^bb0(%a: tensor<f32>, %c: tensor<f32>):\n  stablehlo.return %a : tensor<f32>\n}) : "
     "(tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>",
     "%0 = \"stablehlo.reduce_window\"(%x, %s) ({\n^bb0(%a: tensor<f32>, %c: tensor<f32>):\n  stablehlo.return %a : "
     "tensor<f32>\n}) {window_dimensions = array<i64: 1, 2>, padding = dense<[[0, 0], [1, 0]]> : tensor<2x2xi64>} : "
     "(tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>"},
    {"%0 = \"stablehlo.select_and_scatter\"(%x, %y, %s) <{window_dimensions = array<i64: 1, 1>, window_strides = "
     "array<i64: 1, 1>}> ({\n^bb0(%a: tensor<f32>, %c: tensor<f32>):\n  stablehlo.return %b : tensor<i1>\n}, {\n^bb0(%a: "
     "tensor<f32>, %c: tensor<f32>):\n  stablehlo.return %a : tensor<f32>\n}) : (tensor<2x3xf32>, tensor<2x3xf32>, "
     "tensor<f32>) -> tensor<2x3xf32>",
     "%0 = \"stablehlo.select_and_scatter\"(%x, %y, %s) ({\n^bb0(%a: tensor<f32>, %c: tensor<f32>):\n  stablehlo.return %b "
     ": tensor<i1>\n}, {\n^bb0(%a: tensor<f32>, %c: tensor<f32>):\n  stablehlo.return %a : tensor<f32>\n}) "
     "{window_dimensions = array<i64: 1, 1>, window_strides = array<i64: 1, 1>} : (tensor<2x3xf32>, tensor<2x3xf32>, "
     "tensor<f32>) -> tensor<2x3xf32>"},
};

static char *in_function(const char *op) {
  cel_buf text = {0};
  cel_buf_addz(&text, "func.func @main(" ARGUMENTS ") {\n  ");
  cel_buf_addz(&text, op);
  cel_buf_addz(&text, "\n  return\n}\nfunc.func private @same(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {\n  return %x : "
                      "tensor<2x3xf32>\n}\n");
  return cel_buf_take(&text);
}

static void both_forms_of_every_operation_make_the_same_module(void **state) {
  (void)state;
  bool seen[CEL_HLO_OPCODE_COUNT] = {[CEL_HLO_RETURN] = true, [CEL_HLO_REGION_RETURN] = true};
  for (int i = 0; i < CEL_COUNT(all_forms); i++) {
    char *brief = in_function(all_forms[i].brief), *generic = in_function(all_forms[i].generic);
    char *a = again(brief), *b = again(generic);
    assert_string_equal(a, b);
    cel_hlo_module *m = read_z(brief);
    seen[m->first_func->body->first->opcode] = true;
    assert_int_equal(m->first_func->body->first->line, 2);
    cel_hlo_module_free(m);
    print_is_the_identity_after(brief);
    free(brief);
    free(generic);
    free(a);
    free(b);
  }
  for (int i = 0; i < CEL_HLO_FOREIGN; i++)
    if (!seen[i]) fail_msg("no form of %s is tried", cel_hlo_opcode_name((cel_hlo_opcode)i));
}

// ---- modules and functions -----------------------------------------------------------------------

static void modules_and_functions_read_in_both_forms(void **state) {
  (void)state;
  const char *brief =
      "module @m attributes {mhlo.num_partitions = 1 : i32, flag} {\n"
      "  func.func public @main(%arg0: tensor<2xf32> {jax.buffer_donor = true, mhlo.sharding = \"{replicated}\"}, %k: "
      "tensor<i32>) -> (tensor<2xf32> {jax.result_info = \"\"}, tensor<i32>) attributes {note = \"x\"} {\n"
      "    return %arg0, %k : tensor<2xf32>, tensor<i32>\n  }\n"
      "  func.func private @far(tensor<2xf32> {a.b}, tensor<f32>) -> tensor<2xf32>\n}\n";
  const char *generic =
      "\"builtin.module\"() <{sym_name = \"m\"}> ({\n"
      "  \"func.func\"() <{function_type = (tensor<2xf32>, tensor<i32>) -> (tensor<2xf32>, tensor<i32>), sym_name = "
      "\"main\", arg_attrs = [{jax.buffer_donor = true, mhlo.sharding = \"{replicated}\"}, {}], res_attrs = "
      "[{jax.result_info = \"\"}, {}]}> ({\n"
      "  ^bb0(%arg0: tensor<2xf32>, %k: tensor<i32>):\n"
      "    \"func.return\"(%arg0, %k) : (tensor<2xf32>, tensor<i32>) -> ()\n  }) {note = \"x\"} : () -> ()\n"
      "  \"func.func\"() ({\n  }) {function_type = (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>, sym_name = \"far\", "
      "sym_visibility = \"private\", arg_attrs = [{a.b}, {}]} : () -> ()\n"
      "}) {mhlo.num_partitions = 1 : i32, flag} : () -> ()\n";
  char *a = again(brief), *b = again(generic);
  assert_string_equal(a, b);
  cel_hlo_module *m = read_z(brief);
  assert_string_equal(m->name, "m");
  assert_int_equal(m->n_attrs, 2);
  const cel_hlo_func *f = cel_hlo_find_func(m, "main");
  assert_int_equal(f->body->n_args, 2);
  assert_string_equal(f->arg_attrs[0][0]->name, "jax.buffer_donor");
  assert_null(f->arg_attrs[1]);
  assert_string_equal(f->result_attrs[0][0]->s, "");
  assert_true(cel_hlo_find_func(m, "far")->is_declaration);
  cel_hlo_module_free(m);
  print_is_the_identity_after(brief);
  free(a);
  free(b);
}

static void a_file_without_module_is_one(void **state) {
  (void)state;
  cel_hlo_module *m = read_z("// nothing but a comment");
  assert_null(m->first_func);
  cel_hlo_module_free(m);
  m = read_z("func.func @a() {\n return\n}\n// between\nfunc.func @\"b c\"() {\n func.return\n}");
  assert_null(m->name);
  assert_non_null(cel_hlo_find_func(m, "b c"));
  cel_hlo_module_free(m);
  print_is_the_identity_after("func.func @\"b c\"() {\n return\n}");
}

static void operations_of_other_dialects_are_kept(void **state) {
  (void)state;
  const char *text =
      "func.func @f(%a: tensor<2xf32>, %t: !stablehlo.token) {\n"
      "  check.expect_eq_const %a, dense<[1.0, 2.0]> : tensor<2xf32>\n"
      "  check.expect_eq %a, %a : tensor<2xf32>\n"
      "  check.expect_close %a, %a, max_ulp_difference = 3 : tensor<2xf32>, tensor<2xf32>\n"
      "  %0 = interpreter.probe %a, probe_id = \"p\" : tensor<2xf32>\n"
      "  %1 = stablehlo.after_all %t, %t : !stablehlo.token\n"
      "  %2:2 = \"some.thing\"(%0) ({\n  ^bb0(%z: tensor<f32>):\n    \"some.end\"(%z) : (tensor<f32>) -> ()\n  }, {\n  }) {x = "
      "#some<enum A>, y = [1, 2], m = affine_map<(d0) -> (d0)>, t = tensor<?xf32>, u = tuple<tensor<f32>>} : "
      "(tensor<2xf32>) -> (tensor<2xf32>, tensor<i1>)\n"
      "  %3 = arith.constant dense<7> : tensor<3xi32>\n  return\n}";
  cel_hlo_module *m = read_z(text);
  const cel_hlo_op *op = m->first_func->body->first;
  assert_int_equal(op->opcode, CEL_HLO_FOREIGN);
  assert_string_equal(op->name, "check.expect_eq_const");
  assert_int_equal(cel_hlo_find_attr(op, "value")->kind, CEL_HLO_ATTR_DENSE);
  op = op->next->next;
  assert_int_equal(cel_hlo_attr_int(op, "max_ulp_difference", 0), 3);
  op = op->next;
  assert_int_equal(op->n_results, 1);
  assert_string_equal(cel_hlo_find_attr(op, "probe_id")->s, "p");
  op = op->next->next;
  assert_int_equal(op->n_regions, 2);
  assert_null(op->regions[1]);
  assert_string_equal(cel_hlo_find_attr(op, "x")->s, "#some<enum A>");
  assert_int_equal(cel_hlo_find_attr(op, "t")->kind, CEL_HLO_ATTR_RAW);
  assert_int_equal(cel_hlo_find_attr(op, "u")->kind, CEL_HLO_ATTR_TYPE);
  assert_int_equal(op->next->results[0].type->dims[0], 3);
  cel_hlo_module_free(m);
  print_is_the_identity_after(text);
}

// ---- literals ----------------------------------------------------------------------------------

static void literals_read_in_every_form(void **state) {
  (void)state;
  const cel_hlo_attr *a;
  cel_hlo_module *m = constant("dense<[[1.0, -2.5e1], [0x7FC00001, 0xFF800000], [0.1, 16777217.0]]> : tensor<3x2xf32>", &a);
  const uint32_t f32[] = {0x3F800000, 0xC1C80000, 0x7FC00001, 0xFF800000, 0x3DCCCCCD, 0x4B800000};
  assert_false(a->splat);
  assert_memory_equal(a->data, f32, sizeof f32);
  cel_hlo_module_free(m);

  m = constant("dense<[0x7E00, 65504.0, 1.0e9, 5.9604e-8]> : tensor<4xf16>", &a);
  const uint16_t f16[] = {0x7E00, 0x7BFF, 0x7C00, 0x0001};
  assert_memory_equal(a->data, f16, sizeof f16);
  cel_hlo_module_free(m);

  m = constant("dense<[3.1415926535897931, 2.2250738585072011e-308, 1.7976931348623157e308, 123456789012345678.0]> : "
               "tensor<4xf64>", &a);
  const double f64[] = {3.1415926535897931, 2.2250738585072011e-308, 1.7976931348623157e308, 123456789012345678.0};
  assert_memory_equal(a->data, f64, sizeof f64);
  cel_hlo_module_free(m);

  m = constant("dense<[(1.0, -2.0), (0.5,0x7F800000)]> : tensor<2xcomplex<f32>>", &a);
  const uint32_t c64[] = {0x3F800000, 0xC0000000, 0x3F000000, 0x7F800000};
  assert_memory_equal(a->data, c64, sizeof c64);
  cel_hlo_module_free(m);

  m = constant("dense<[true, false, 1, 0, -1]> : tensor<5xi1>", &a);
  assert_memory_equal(a->data, "\1\0\1\0\1", 5);
  cel_hlo_module_free(m);

  m = constant("dense<[-8, 7, 15]> : tensor<3xi4>", &a);  // 15 : i4 is -1
  assert_memory_equal(a->data, "\xF8\x07\xFF", 3);
  cel_hlo_module_free(m);

  m = constant("dense<[18446744073709551615, 0x10]> : tensor<2xui64>", &a);
  const uint64_t u64[] = {UINT64_MAX, 16};
  assert_memory_equal(a->data, u64, sizeof u64);
  cel_hlo_module_free(m);
}

static void splats_and_empty_literals_stay_small(void **state) {
  (void)state;
  const cel_hlo_attr *a;
  cel_hlo_module *m = constant("dense<2.0> : tensor<1000000x1000000xf32>", &a);
  assert_true(a->splat);
  assert_true(m->arena.total_bytes < 1 << 20);
  cel_hlo_module_free(m);
  m = constant("dense<\"0x0000C03F\"> : tensor<1000000x1000xf32>", &a);
  assert_true(a->splat);
  assert_memory_equal(a->data, "\0\0\xC0\x3F", 4);
  cel_hlo_module_free(m);
  m = constant("dense<> : tensor<0x7xf32>", &a);
  assert_int_equal(cel_hlo_elements(a->type), 0);
  cel_hlo_module_free(m);
  m = constant("dense<[[], []]> : tensor<2x0xf32>", &a);
  cel_hlo_module_free(m);
}

static void blobs_are_little_endian_and_may_pack_bits(void **state) {
  (void)state;
  const cel_hlo_attr *a;
  cel_hlo_module *m = constant("dense<\"0x0100FF7f\"> : tensor<2xi16>", &a);
  const int16_t i16[] = {1, 0x7FFF};
  assert_memory_equal(a->data, i16, sizeof i16);
  cel_hlo_module_free(m);
  m = constant("dense<\"0x0001FF00\"> : tensor<4xi1>", &a);  // a byte each
  assert_memory_equal(a->data, "\0\1\1\0", 4);
  cel_hlo_module_free(m);
  m = constant("dense<\"0x0902\"> : tensor<10xi1>", &a);  // packed
  assert_memory_equal(a->data, "\1\0\0\1\0\0\0\0\0\1", 10);
  cel_hlo_module_free(m);
  m = constant("dense<\"0xFF\"> : tensor<5xi1>", &a);
  assert_true(a->splat);
  cel_hlo_module_free(m);
  m = constant("dense<\"0x0F08\"> : tensor<2xi4>", &a);
  assert_memory_equal(a->data, "\xFF\xF8", 2);
  cel_hlo_module_free(m);
}

static void literals_that_do_not_fit_are_refused(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"dense<[1, 2, 3]> : tensor<2xi32>", "has too many elements"},
      {"dense<[[1, 2, 3], [4]]> : tensor<2x2xi32>", "a list of 3 elements, the type has 2 in dimension 1"},
      {"dense<[1]> : tensor<2xi32>", "a list of 1 elements, the type has 2"},
      {"dense<[1, 2]> : tensor<99999999xi32>", "has too few elements"},
      {"dense<[[1, 2]]> : tensor<2xi32>", "more brackets than dimensions"},
      {"dense<[1, 2]> : tensor<1x2xi32>", "fewer brackets than dimensions"},
      {"dense<[1 2]> : tensor<2xi32>", "needs ',' or ']'"},
      {"dense<[1, 2,]> : tensor<2xi32>", "',' before ']'"},
      {"dense<256> : tensor<i8>", "cannot hold this number"},
      {"dense<-1> : tensor<ui8>", "cannot hold this number"},
      {"dense<1> : tensor<f32>", "needs a decimal point"},
      {"dense<1.0> : tensor<i32>", "a decimal point in a number"},
      {"dense<0x1FFFFFFFF> : tensor<f32>", "bit pattern"},
      {"dense<1.0> : tensor<complex<f32>>", "needs (real, imaginary)"},
      {"dense<\"0x01\"> : tensor<2xi16>", "a string of 1 bytes, the type needs 4 or 2"},
      {"dense<\"0x0G\"> : tensor<i8>", "hexadecimal digits"},
      {"dense<\"text\"> : tensor<i8>", "\"0x...\""},
      {"dense<> : tensor<1xi8>", "has no elements"},
      {"dense<1 2> : tensor<1xi8>", "ends before this"},
  };
  for (int i = 0; i < CEL_COUNT(rows); i++) {
    char text[300];
    snprintf(text, sizeof text, "func.func @f() {\n  %%0 = stablehlo.constant %s\n  return\n}\n", rows[i][0]);
    refused(text, CEL_MALFORMED, rows[i][1]);
    refused(text, CEL_MALFORMED, "t:2:");
  }
}

// ---- locations and aliases -----------------------------------------------------------------------

static void string_locations_become_paths(void **state) {
  (void)state;
  const char *text =
      "#loc = loc(unknown)\n"
      "module {\n  func.func @f(%a: tensor<f32> loc(\"a\"), %b: tensor<f32> loc(#loc2)) {\n"
      "    %0 = stablehlo.tanh %a : tensor<f32> loc(\"layers.3.\\22mlp\\22\")\n"
      "    %1 = stablehlo.tanh %0 : tensor<f32> loc(#loc3)\n"
      "    %2 = stablehlo.tanh %1 : tensor<f32> loc(\"file.py\":12:3)\n"
      "    %3 = stablehlo.tanh %2 : tensor<f32> loc(callsite(\"a\" at fused<#x<1>>[\"b\", unknown]))\n"
      "    %4 = stablehlo.tanh %3 : tensor<f32> loc(\"file.py\":12:3 to 14:1)\n"
      "    %5 = stablehlo.tanh %4 : tensor<f32> loc(#loc4)\n"
      "    return loc(#loc)\n  } loc(#loc)\n} loc(#loc2)\n"
      "#loc2 = loc(\"file.py\":1:1)\n#loc3 = loc(\"attn/dot\"(#loc2))\n#loc4 = loc(#loc3)\n";
  static const char *const paths[] = {"layers.3.\"mlp\"", "attn/dot", NULL, NULL, NULL, "attn/dot", NULL};
  cel_hlo_module *m = read_z(text);
  const cel_hlo_op *op = m->first_func->body->first;
  for (int i = 0; i < CEL_COUNT(paths); i++, op = op->next) {
    if (paths[i]) assert_string_equal(op->path, paths[i]);
    else assert_null(op->path);
  }
  assert_null(op);
  cel_hlo_module_free(m);
  print_is_the_identity_after(text);
  refused("func.func @f() {\n  return loc(#loc9)\n}", CEL_MALFORMED, "t:2:14: the location #loc9 is defined nowhere");
  refused("func.func @f() {\n  return loc(\"a\\00b\")\n}", CEL_UNSUPPORTED, "t:2:14: a zero byte in the name of a location");
}

static void aliases_stand_for_attributes_and_types(void **state) {
  (void)state;
  const char *text =
      "#map = affine_map<(d0, d1) -> (d1)>\n#n = 5 : i32\n#both = [#map, #n]\n!t = tensor<2xf32>\n!u = tuple<!t, !t>\n"
      "func.func @f(%a: !u) -> !t attributes {m = #map, b = #both} {\n"
      "  %0 = stablehlo.get_tuple_element %a[0] : (!u) -> !t\n  return %0 : !t\n}";
  cel_hlo_module *m = read_z(text);
  const cel_hlo_func *f = m->first_func;
  assert_int_equal(f->result_types[0]->dims[0], 2);
  assert_string_equal(f->attrs[0]->name, "m");
  assert_string_equal(f->attrs[0]->s, "affine_map<(d0, d1) -> (d1)>");
  assert_int_equal(f->attrs[1]->list[1]->i, 5);
  cel_hlo_module_free(m);
  print_is_the_identity_after(text);
  refused("#a = 1\n#a = 2", CEL_MALFORMED, "t:2:1: the alias #a is defined a second time");
  refused("#a = #b", CEL_MALFORMED, "no alias of this name");
}

// ---- values ------------------------------------------------------------------------------------

static void names_end_with_their_region(void **state) {
  (void)state;
  const char *two =
      "func.func @f(%p: tensor<i1>, %x: tensor<f32>) -> tensor<f32> {\n"
      "  %r = \"stablehlo.if\"(%p) ({\n    %y = stablehlo.tanh %x : tensor<f32>\n    stablehlo.return %y : tensor<f32>\n  }, {\n"
      "    %y = stablehlo.abs %x : tensor<f32>\n    stablehlo.return %y : tensor<f32>\n  }) : (tensor<i1>) -> tensor<f32>\n"
      "  return %REF : tensor<f32>\n}";
  char text[600];
  snprintf(text, sizeof text, "%s", two);
  char *ref = strstr(text, "%REF");
  memcpy(ref, "%r  ", 4);
  print_is_the_identity_after(text);
  memcpy(ref, "%y  ", 4);
  refused(text, CEL_MALFORMED, "t:9:10: the value %y is used before its definition");
  refused("func.func @f(%a: tensor<f32>) {\n  %a = stablehlo.tanh %a : tensor<f32>\n  return\n}", CEL_MALFORMED,
          "t:2:3: the value %a is defined a second time");
}

static void groups_of_results_are_counted(void **state) {
  (void)state;
  static const char *const rows[][3] = {{"%0:2", "%0#1", NULL},
                                        {"%u, %v", "%v", NULL},
                                        {"%0:3", "%0#1", "2 results, but 3 names"},
                                        {"%0:2", "%0#2", "result 2 of a group of 2"},
                                        {"%0:2", "%0", "tensor<f32>"},
                                        {"%0:0", "%0", "expected the number of results"}};
  for (int i = 0; i < CEL_COUNT(rows); i++) {
    cel_buf text = {0};
    cel_buf_addz(&text, "func.func @f(%a: tensor<f32>, %b: tensor<i32>) -> tensor<i32> {\n  ");
    cel_buf_printf(&text, "%s = stablehlo.optimization_barrier %%a, %%b : tensor<f32>, tensor<i32>\n  return %s : ",
                   rows[i][0], rows[i][1]);
    cel_buf_addz(&text, "tensor<i32>\n}");
    if (rows[i][2]) refused(text.p, CEL_MALFORMED, rows[i][2]);
    else print_is_the_identity_after(text.p);
    cel_buf_deinit(&text);
  }
}

// ---- refusals ----------------------------------------------------------------------------------

static void what_the_ir_does_not_have_is_refused_by_name(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"%0 = stablehlo.tanh %x : tensor<?xf32>", "a dynamic dimension (?)"},
      {"%0 = stablehlo.tanh %x : tensor<*xf32>", "an unranked tensor"},
      {"%0 = stablehlo.tanh %x : tensor<2x!quant.uniform<i8:f32, 1.0>>", "element type !quant.uniform"},
      {"%0 = stablehlo.tanh %x : tensor<2xf32, #stablehlo.bounds<3>>", "the tensor encoding #stablehlo.bounds"},
      {"%0 = stablehlo.constant dense<1.0> : tensor<f8E3M4>", "element type f8E3M4"},
      {"%0 = stablehlo.constant dense<1.0> : tensor<f4E2M1FN>", "element type f4E2M1FN"},
      {"%0 = stablehlo.constant dense<1> : tensor<index>", "element type index"},
      {"%0 = stablehlo.constant dense_resource<big> : tensor<2xf32>", "dense_resource"},
      {"%0 = stablehlo.tanh %x : tensor<1x1x1x1x1x1x1x1x1xf32>", "rank 9"},
      {"%0 = stablehlo.tanh %x : memref<2xf32>", "memref"},
      {"%0 = stablehlo.fft %x, type = FFT, length = [2] : (tensor<f32>) -> tensor<f32>",
       "t:2:8: the short form of stablehlo.fft"},
      {"%0 = scf.if %x {", "t:2:8: the short form of scf.if"},
      {"\"cf.br\"()[^bb1] : () -> ()", "jumps to other blocks"},
      {"\"a.b\"() ({\n^bb0:\n \"a.c\"() : () -> ()\n^bb1:\n}) : () -> ()", "a second block"},
      {"\"func.func\"() : () -> ()", "func.func inside a function"},
  };
  for (int i = 0; i < CEL_COUNT(rows); i++) {
    char text[400];
    snprintf(text, sizeof text, "func.func @f(%%x: tensor<f32>) {\n  %s\n  return\n}\n", rows[i][0]);
    refused(text, CEL_UNSUPPORTED, rows[i][1]);
  }
  refused("module {\n  module {\n  }\n}", CEL_UNSUPPORTED, "t:2:3: a module within a module");
  refused("sdy.mesh @m = <[\"x\"=2]>", CEL_UNSUPPORTED, "sdy.mesh outside of functions");
}

static void errors_name_place_found_and_expected(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"func.func @f() {", "t:1:17: found the end of the text, expected an operation or '}'"},
      {"func.func f() {}", "t:1:11: found 'f', expected @ and the name of a function"},
      {"func.func @f(%a: tensor<2xf32) {}", "t:1:30: found ')', expected '>'"},
      {"func.func @f(%a: tensor<2 f32>) {}", "t:1:27: expected 'x' behind the dimension 2"},
      {"func.func @f(%a: tensor<2xfoo>) {}", "t:1:27: found 'foo', expected an element type"},
      {"func.func @f(%a: tensor<99999999999x99999999999xf32>) {}", "larger than 2^63 bytes"},
      {"func.func @f(%a: tensor<99999999999999999999xf32>) {}", "a dimension is over 2^63"},
      {"func.func @f(tensor<f32>) {\n return\n}", "not every argument a name"},
      {"func.func @f(%a: tensor<f32>, %a: tensor<f32>) {\n return\n}", "t:1:31: the value %a is defined a second time"},
      {"func.func @f() {\n  return\n}\nfunc.func @f() {\n  return\n}", "t:4:11: the function @f is defined a second"},
      {"func.func @f() {\n  %0 = foo\n}", "t:2:8: found 'foo', expected an operation"},
      {"func.func @f(%a: tensor<f32>) {\n  %0 = stablehlo.add %a, %a\n  return\n}", "t:3:3: found 'return', expected ':'"},
      {"func.func @f(%a: tensor<f32>) {\n  %0 = stablehlo.add %a : tensor<f32>\n  return\n}", "t:2:8: stablehlo.add"},
      {"func.func @f(%a: tensor<f32>) {\n  %0 = stablehlo.tanh %a : tensor<2xf32>\n  return\n}",
       "t:2:8: stablehlo.tanh: operand 0 has type tensor<f32>, the text says tensor<2xf32>"},
      {"func.func @f(%a: tensor<f32>) {\n  %0 = \"stablehlo.tanh\"(%a) : (tensor<f32>) -> tensor<2xf32>\n  return\n}",
       "t:2:8: stablehlo.tanh: result 0"},
      {"func.func @f() attributes {a = 1, b, a = 2} {\n  return\n}", "a function has the attribute 'a' twice"},
      {"func.func @f() attributes {a = 300 : i8} {\n  return\n}", "the number 300 is not a value of type i8"},
      {"func.func @f() attributes {a = \"\\q\"} {\n  return\n}", "a string has \\ before"},
      {"func.func @f() attributes {a = \"\n\"} {\n  return\n}", "t:1:32: found"},
      {"func.func @f() attributes {a = #x<[}>} {\n  return\n}", "t:1:36: found '}', expected ']'"},
      {"func.func @f() attributes {a = #x<} {\n  return\n}", "found '}', expected '>'"},
      {"module {\n}\nmodule {\n}", "t:3:1: found 'module', expected the end of the text"},
      {"\x01", "found '?', expected"},
  };
  for (int i = 0; i < CEL_COUNT(rows); i++) refused(rows[i][0], CEL_MALFORMED, rows[i][1]);
}

// ---- hostile text --------------------------------------------------------------------------------

// before, `n` times open, middle, `n` times close, after
static char *nested(const char *before, const char *open, const char *middle, const char *close, const char *after,
                    int n) {
  cel_buf text = {0};
  cel_buf_addz(&text, before);
  for (int i = 0; i < n; i++) cel_buf_addz(&text, open);
  cel_buf_addz(&text, middle);
  for (int i = 0; i < n; i++) cel_buf_addz(&text, close);
  cel_buf_addz(&text, after);
  return cel_buf_take(&text);
}

static void nesting_is_bounded(void **state) {
  (void)state;
  static const char *const rows[][5] = {
      {"func.func @f() attributes {a = ", "[", "1", "]", "} {\n return\n}"},
      {"func.func @f() attributes {a = ", "{b = ", "1", "}", "} {\n return\n}"},
      {"func.func @f() attributes {a = #x<", "(", "", ")", ">} {\n return\n}"},
      {"func.func @f(%a: ", "tuple<", "tensor<f32>", ">", ") {\n return\n}"},
      {"func.func @f() {\n return loc(", "callsite(\"a\" at ", "\"b\"", ")", ")\n}"},
      {"func.func @f() {\n ", "\"a.b\"() ({\n", "\"a.c\"() : () -> ()", "}) : () -> ()\n", "\n return\n}"},
  };
  for (int i = 0; i < CEL_COUNT(rows); i++) {
    const char *const *r = rows[i];
    char *deep = nested(r[0], r[1], r[2], r[3], r[4], 100000), *fine = nested(r[0], r[1], r[2], r[3], r[4], 100);
    refused(deep, CEL_UNSUPPORTED, "deeper than 200");
    print_is_the_identity_after(fine);
    free(deep);
    free(fine);
  }
}

static void aliases_cannot_blow_up(void **state) {
  (void)state;
  cel_buf text = {0};
  cel_buf_addz(&text, "#a0 = \"0123456789\"\n");
  for (int i = 1; i < 60; i++) cel_buf_printf(&text, "#a%d = [#a%d, #a%d]\n", i, i - 1, i - 1);
  refused(text.p, CEL_UNSUPPORTED, "the aliases up to here stand for over");
  cel_buf_clear(&text);
  cel_buf_addz(&text, "!a0 = tensor<f32>\n");
  for (int i = 1; i < 300; i++) cel_buf_printf(&text, "!a%d = tuple<!a%d>\n", i, i - 1);
  refused(text.p, CEL_UNSUPPORTED, "nests deeper than 200");
  cel_buf_deinit(&text);
}

// Every prefix of a program ends in an error, and no byte of it may crash the parser when it changes.
static void broken_text_is_an_error_everywhere(void **state) {
  (void)state;
  char *text = in_function(all_forms[CEL_COUNT(all_forms) - 3].brief);
  size_t n = strlen(text);
  for (size_t i = 1; i < n; i++) {
    cel_hlo_module *m;
    cel_err err = {0};
    cel_status status = cel_hlo_parse((cel_str){text, i}, "t", &m, &err);
    if (status == CEL_OK) cel_hlo_module_free(m);
    else assert_memory_equal(err.text, "t:", 2);
    char kept = text[i];
    text[i] = (char)(kept ^ (1 << i % 7));
    if (cel_hlo_parse((cel_str){text, n}, "t", &m, &err) == CEL_OK) cel_hlo_module_free(m);
    text[i] = kept;
  }
  free(text);
}

// ---- other people's programs -------------------------------------------------------------------

// Reads the programs between lines "// -----" of a file. Returns how many were refused by name.
static int read_programs(const char *path, int *parsed) {
  char *text;
  int refusals = 0;
  cel_err err = {0};
  assert_int_equal(cel_read_file(path, 1 << 30, &text, NULL, &err), CEL_OK);
  for (char *p = text, *end; p; p = end ? end + 8 : NULL) {
    end = strstr(p, "// -----");
    cel_str program = {p, end ? (size_t)(end - p) : strlen(p)};
    cel_hlo_module *m;
    cel_status status = cel_hlo_parse(program, path, &m, &err);
    if (status == CEL_UNSUPPORTED) {
      refusals++;
      continue;
    }
    if (status != CEL_OK) fail_msg("%s", err.text);
    char *first = printed(m), *second = again(first);
    assert_string_equal(first, second);
    free(first);
    free(second);
    cel_hlo_module_free(m);
    ++*parsed;
  }
  free(text);
  return refusals;
}

static void programs_of_a_folder_read_and_print(void **state) {
  (void)state;
  const char *folder = getenv("CEL_MLIR_FOLDER");
  if (!folder) {
    print_message("CEL_MLIR_FOLDER names no folder of .mlir files: nothing to read\n");
    skip();
  }
  DIR *dir = opendir(folder);
  assert_non_null(dir);
  int parsed = 0, refusals = 0;
  for (struct dirent *e; (e = readdir(dir));) {
    size_t n = strlen(e->d_name);
    if (n < 5 || strcmp(e->d_name + n - 5, ".mlir") != 0) continue;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    refusals += read_programs(path, &parsed);
  }
  closedir(dir);
  print_message("%d programs read, %d refused by name\n", parsed, refusals);
  assert_true(parsed > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(both_forms_of_every_operation_make_the_same_module),
      cmocka_unit_test(modules_and_functions_read_in_both_forms),
      cmocka_unit_test(a_file_without_module_is_one),
      cmocka_unit_test(operations_of_other_dialects_are_kept),
      cmocka_unit_test(literals_read_in_every_form),
      cmocka_unit_test(splats_and_empty_literals_stay_small),
      cmocka_unit_test(blobs_are_little_endian_and_may_pack_bits),
      cmocka_unit_test(literals_that_do_not_fit_are_refused),
      cmocka_unit_test(string_locations_become_paths),
      cmocka_unit_test(aliases_stand_for_attributes_and_types),
      cmocka_unit_test(names_end_with_their_region),
      cmocka_unit_test(groups_of_results_are_counted),
      cmocka_unit_test(what_the_ir_does_not_have_is_refused_by_name),
      cmocka_unit_test(errors_name_place_found_and_expected),
      cmocka_unit_test(nesting_is_bounded),
      cmocka_unit_test(aliases_cannot_blow_up),
      cmocka_unit_test(broken_text_is_an_error_everywhere),
      cmocka_unit_test(programs_of_a_folder_read_and_print),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
