// The text of modules: every form, byte for byte what the reference tools print for the same module
// (checked against them when these texts were written), and names, literals, attributes.
#include <math.h>

#include "backend/xla/hlo/print.h"
#include "hlo_make.h"

#define HEAD "module {\n  func.func @main("
#define TAIL "  }\n}\n"

static void elementwise_forms(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  cel_hlo_builder *b = &f.b;
  hlo x = arg(&f, CEL_ET_F32, 1, 2, 0, 0, 0), n = arg(&f, CEL_ET_I32, 1, 2, 0, 0, 0);
  hlo p = arg(&f, CEL_ET_PRED, 1, 2, 0, 0, 0), s = arg(&f, CEL_ET_F32, 0, 0, 0, 0, 0);
  hlo z = cel_hlo_binary(b, CEL_HLO_COMPLEX, x, x);
  cel_hlo_unary(b, CEL_HLO_ABS, z);
  cel_hlo_unary(b, CEL_HLO_REAL, z);
  cel_hlo_unary(b, CEL_HLO_TANH, x);
  cel_hlo_unary(b, CEL_HLO_NOT, p);
  cel_hlo_unary(b, CEL_HLO_IS_FINITE, x);
  cel_hlo_binary(b, CEL_HLO_ADD, x, x);
  cel_hlo_compare(b, "LT", x, x);
  cel_hlo_compare(b, "NE", n, n);
  cel_hlo_compare(b, "EQ", p, p);
  cel_hlo_select(b, p, x, x);
  cel_hlo_convert(b, n, CEL_ET_F32);
  cel_hlo_bitcast(b, x, CEL_ET_UI8);
  finish(&f, make_op(&f, CEL_HLO_CLAMP, 3, (hlo[]){s, x, s}, 0));
  finish(&f, make_op(&f, CEL_HLO_CLAMP, 3, (hlo[]){x, x, x}, 0));
  cel_hlo_op *r = make_op(&f, CEL_HLO_REDUCE_PRECISION, 1, &x, 0);
  with(&f, r, cel_hlo_make_int(f.m, "exponent_bits", CEL_ET_I32, 8));
  with(&f, r, cel_hlo_make_int(f.m, "mantissa_bits", CEL_ET_I32, 10));
  finish(&f, r);
  hlo two = finish(&f, make_op(&f, CEL_HLO_OPTIMIZATION_BARRIER, 2, (hlo[]){x, n}, 0));
  finish(&f, make_op(&f, CEL_HLO_OPTIMIZATION_BARRIER, 0, NULL, 0));
  finish(&f, make_op(&f, CEL_HLO_CHLO_ERF, 1, &x, 0));
  cel_hlo_return(b, (hlo[]){&two->def->results[1], two}, 2);
  check_prints(&f, HEAD
               "%arg0: tensor<2xf32>, %arg1: tensor<2xi32>, %arg2: tensor<2xi1>, %arg3: tensor<f32>) -> "
               "(tensor<2xi32>, tensor<2xf32>) {\n"
               "    %0 = stablehlo.complex %arg0, %arg0 : tensor<2xcomplex<f32>>\n"
               "    %1 = stablehlo.abs %0 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>\n"
               "    %2 = stablehlo.real %0 : (tensor<2xcomplex<f32>>) -> tensor<2xf32>\n"
               "    %3 = stablehlo.tanh %arg0 : tensor<2xf32>\n"
               "    %4 = stablehlo.not %arg2 : tensor<2xi1>\n"
               "    %5 = stablehlo.is_finite %arg0 : (tensor<2xf32>) -> tensor<2xi1>\n"
               "    %6 = stablehlo.add %arg0, %arg0 : tensor<2xf32>\n"
               "    %7 = stablehlo.compare LT, %arg0, %arg0, FLOAT : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>\n"
               "    %8 = stablehlo.compare NE, %arg1, %arg1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>\n"
               "    %9 = stablehlo.compare EQ, %arg2, %arg2, UNSIGNED : (tensor<2xi1>, tensor<2xi1>) -> tensor<2xi1>\n"
               "    %10 = stablehlo.select %arg2, %arg0, %arg0 : tensor<2xi1>, tensor<2xf32>\n"
               "    %11 = stablehlo.convert %arg1 : (tensor<2xi32>) -> tensor<2xf32>\n"
               "    %12 = stablehlo.bitcast_convert %arg0 : (tensor<2xf32>) -> tensor<2x4xui8>\n"
               "    %13 = stablehlo.clamp %arg3, %arg0, %arg3 : (tensor<f32>, tensor<2xf32>, tensor<f32>) -> "
               "tensor<2xf32>\n"
               "    %14 = stablehlo.clamp %arg0, %arg0, %arg0 : tensor<2xf32>\n"
               "    %15 = stablehlo.reduce_precision %arg0, format = e8m10 : tensor<2xf32>\n"
               "    %16:2 = stablehlo.optimization_barrier %arg0, %arg1 : tensor<2xf32>, tensor<2xi32>\n"
               "    stablehlo.optimization_barrier()\n"
               "    %17 = chlo.erf %arg0 : tensor<2xf32> -> tensor<2xf32>\n"
               "    return %16#1, %16#0 : tensor<2xi32>, tensor<2xf32>\n" TAIL);
  cel_hlo_module_free(f.m);
}

static void shape_forms(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  cel_hlo_builder *b = &f.b;
  hlo x = arg(&f, CEL_ET_F32, 2, 3, 8, 0, 0), i = arg(&f, CEL_ET_I32, 0, 0, 0, 0, 0);
  hlo s = arg(&f, CEL_ET_F32, 0, 0, 0, 0, 0), u = arg(&f, CEL_ET_F32, 2, 1, 4, 0, 0);
  cel_hlo_iota(b, CEL_ET_I64, 2, (int64_t[]){2, 5}, 1);
  cel_hlo_reshape(b, x, 3, (int64_t[]){3, 2, 4});
  cel_hlo_broadcast(b, x, 3, (int64_t[]){5, 3, 8}, (int64_t[]){1, 2});
  cel_hlo_broadcast(b, s, 1, (int64_t[]){7}, NULL);
  cel_hlo_transpose(b, x, (int64_t[]){1, 0});
  cel_hlo_slice(b, x, (int64_t[]){1, 4}, (int64_t[]){3, 8}, (int64_t[]){1, 2});
  cel_hlo_concat(b, (hlo[]){x, x}, 2, 0);
  cel_hlo_dynamic_slice(b, x, (hlo[]){i, i}, (int64_t[]){1, 4});
  cel_hlo_dynamic_update_slice(b, x, u, (hlo[]){i, i});
  cel_hlo_op *op = make_op(&f, CEL_HLO_PAD, 2, (hlo[]){x, s}, 0);
  with_ints(&f, op, "edge_padding_low", 2, 1, -1);
  with_ints(&f, op, "edge_padding_high", 2, 0, 2);
  with_ints(&f, op, "interior_padding", 2, 0, 1);
  finish(&f, op);
  op = make_op(&f, CEL_HLO_REVERSE, 1, &x, 0);
  with_ints(&f, op, "dimensions", 2, 0, 1);
  finish(&f, op);
  op = make_op(&f, CEL_HLO_GET_DIMENSION_SIZE, 1, &x, 0);
  with_int(&f, op, "dimension", 1);
  finish(&f, op);
  cel_hlo_return(b, NULL, 0);
  check_prints(&f, HEAD
               "%arg0: tensor<3x8xf32>, %arg1: tensor<i32>, %arg2: tensor<f32>, %arg3: tensor<1x4xf32>) {\n"
               "    %0 = stablehlo.iota dim = 1 : tensor<2x5xi64>\n"
               "    %1 = stablehlo.reshape %arg0 : (tensor<3x8xf32>) -> tensor<3x2x4xf32>\n"
               "    %2 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2] : (tensor<3x8xf32>) -> tensor<5x3x8xf32>\n"
               "    %3 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<7xf32>\n"
               "    %4 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<3x8xf32>) -> tensor<8x3xf32>\n"
               "    %5 = stablehlo.slice %arg0 [1:3, 4:8:2] : (tensor<3x8xf32>) -> tensor<2x2xf32>\n"
               "    %6 = stablehlo.concatenate %arg0, %arg0, dim = 0 : (tensor<3x8xf32>, tensor<3x8xf32>) -> "
               "tensor<6x8xf32>\n"
               "    %7 = stablehlo.dynamic_slice %arg0, %arg1, %arg1, sizes = [1, 4] : (tensor<3x8xf32>, tensor<i32>, "
               "tensor<i32>) -> tensor<1x4xf32>\n"
               "    %8 = stablehlo.dynamic_update_slice %arg0, %arg3, %arg1, %arg1 : (tensor<3x8xf32>, "
               "tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x8xf32>\n"
               "    %9 = stablehlo.pad %arg0, %arg2, low = [1, -1], high = [0, 2], interior = [0, 1] : "
               "(tensor<3x8xf32>, tensor<f32>) -> tensor<4x16xf32>\n"
               "    %10 = stablehlo.reverse %arg0, dims = [0, 1] : tensor<3x8xf32>\n"
               "    %11 = stablehlo.get_dimension_size %arg0, dim = 1 : (tensor<3x8xf32>) -> tensor<i32>\n"
               "    return\n" TAIL);
  cel_hlo_module_free(f.m);
}

static void contraction_and_index_forms(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  cel_hlo_builder *b = &f.b;
  hlo x = arg(&f, CEL_ET_BF16, 3, 2, 3, 4, 0), y = arg(&f, CEL_ET_BF16, 3, 2, 4, 5, 0);
  hlo table = arg(&f, CEL_ET_F32, 2, 10, 4, 0, 0), ids = arg(&f, CEL_ET_I32, 1, 3, 0, 0, 0);
  cel_hlo_dot_dims d = {.n_batch = 1, .n_contract = 1, .lhs_contract = {2}, .rhs_contract = {1}};
  cel_hlo_dot(b, x, y, &d, CEL_ET_F32);
  cel_hlo_op *op = make_op(&f, CEL_HLO_DOT_GENERAL, 2, (hlo[]){table, table}, 0);
  with_ints(&f, op, "lhs_contracting_dimensions", 2, 0, 1);
  with_ints(&f, op, "rhs_contracting_dimensions", 2, 0, 1);
  cel_hlo_attr *words[2] = {cel_hlo_make_enum(f.m, NULL, CEL_STR("DEFAULT")),
                            cel_hlo_make_enum(f.m, NULL, CEL_STR("HIGHEST"))};
  with(&f, op, cel_hlo_make_list(f.m, "precision_config", words, 2));
  finish(&f, op);
  hlo rows = cel_hlo_take_rows(b, table, ids);
  cel_hlo_scatter_dims s = {.n_window = 1, .window = {1}, .n_inserted = 1, .n_index_map = 1, .index_vector_dim = 1};
  cel_hlo_scatter(b, table, ids, rows, &s, false);
  cel_hlo_return(b, NULL, 0);
  check_prints(&f, HEAD
               "%arg0: tensor<2x3x4xbf16>, %arg1: tensor<2x4x5xbf16>, %arg2: tensor<10x4xf32>, %arg3: tensor<3xi32>) "
               "{\n"
               "    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [1] : "
               "(tensor<2x3x4xbf16>, tensor<2x4x5xbf16>) -> tensor<2x3x5xf32>\n"
               "    %1 = stablehlo.dot_general %arg2, %arg2, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, "
               "HIGHEST] : (tensor<10x4xf32>, tensor<10x4xf32>) -> tensor<f32>\n"
               "    %2 = \"stablehlo.gather\"(%arg2, %arg3) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], "
               "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, "
               "slice_sizes = array<i64: 1, 4>}> : (tensor<10x4xf32>, tensor<3xi32>) -> tensor<3x4xf32>\n"
               "    %3 = \"stablehlo.scatter\"(%arg2, %arg3, %2) <{indices_are_sorted = false, "
               "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
               "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({\n"
               "    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):\n"
               "      stablehlo.return %arg5 : tensor<f32>\n"
               "    }) : (tensor<10x4xf32>, tensor<3xi32>, tensor<3x4xf32>) -> tensor<10x4xf32>\n"
               "    return\n" TAIL);
  cel_hlo_module_free(f.m);
}

static void convolution_form(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  hlo x = arg(&f, CEL_ET_F32, 4, 1, 8, 8, 4), k = arg(&f, CEL_ET_F32, 4, 3, 3, 2, 6);
  cel_hlo_op *op = make_op(&f, CEL_HLO_CONVOLUTION, 2, (hlo[]){x, k}, 0);
  with_int(&f, op, "input_batch_dimension", 0);
  with_int(&f, op, "input_feature_dimension", 3);
  with_ints(&f, op, "input_spatial_dimensions", 2, 1, 2);
  with_int(&f, op, "kernel_input_feature_dimension", 2);
  with_int(&f, op, "kernel_output_feature_dimension", 3);
  with_ints(&f, op, "kernel_spatial_dimensions", 2, 0, 1);
  with_int(&f, op, "output_batch_dimension", 0);
  with_int(&f, op, "output_feature_dimension", 3);
  with_ints(&f, op, "output_spatial_dimensions", 2, 1, 2);
  with_ints(&f, op, "window_strides", 2, 2, 1);
  with_ints(&f, op, "rhs_dilation", 2, 1, 2);
  with_ints(&f, op, "window_reversal", 2, 0, 1);
  int64_t padding[4] = {1, 2, 0, 3};
  with(&f, op, cel_hlo_make_dense(f.m, "padding", tensor(&f, CEL_ET_I64, 2, 2, 2, 0, 0), padding, false));
  with_int(&f, op, "feature_group_count", 2);
  with_int(&f, op, "batch_group_count", 1);
  check_type(finish(&f, op), "tensor<1x5x7x6xf32>");
  cel_hlo_return(&f.b, NULL, 0);
  check_prints(&f, HEAD
               "%arg0: tensor<1x8x8x4xf32>, %arg1: tensor<3x3x2x6xf32>) {\n"
               "    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], "
               "window = {stride = [2, 1], pad = [[1, 2], [0, 3]], rhs_dilate = [1, 2], reverse = [false, true]} "
               "{batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<1x8x8x4xf32>, "
               "tensor<3x3x2x6xf32>) -> tensor<1x5x7x6xf32>\n"
               "    return\n" TAIL);
  cel_hlo_module_free(f.m);
}

static void reduce_forms(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  cel_hlo_builder *b = &f.b;
  hlo x = arg(&f, CEL_ET_F32, 2, 2, 3, 0, 0), n = arg(&f, CEL_ET_I32, 2, 2, 3, 0, 0);
  hlo s = arg(&f, CEL_ET_F32, 0, 0, 0, 0, 0), i = arg(&f, CEL_ET_I32, 0, 0, 0, 0, 0);
  cel_hlo_reduce(b, CEL_HLO_MAXIMUM, x, (int64_t[]){1}, 1);
  cel_hlo_op *op = make_op(&f, CEL_HLO_REDUCE, 2, (hlo[]){x, s}, 1);
  with_ints(&f, op, "dimensions", 1, 0, 0);
  fold_with(&f, op, 0, CEL_HLO_SUBTRACT, CEL_ET_F32);  // does not commute: written out
  finish(&f, op);
  op = make_op(&f, CEL_HLO_REDUCE, 4, (hlo[]){x, n, s, i}, 1);
  with_ints(&f, op, "dimensions", 1, 1, 0);
  cel_hlo_block *outer = b->block;
  const cel_hlo_type *types[4] = {s->type, i->type, s->type, i->type};
  cel_hlo_block *region = open_region(&f, op, 0, 4, types);
  hlo values[2] = {cel_hlo_binary(b, CEL_HLO_ADD, region->args[0], region->args[2]),
                   cel_hlo_binary(b, CEL_HLO_MINIMUM, region->args[1], region->args[3])};
  region_return(&f, 2, values);
  b->block = outer;
  finish(&f, op);
  cel_hlo_return(b, NULL, 0);
  check_prints(&f, HEAD
               "%arg0: tensor<2x3xf32>, %arg1: tensor<2x3xi32>, %arg2: tensor<f32>, %arg3: tensor<i32>) {\n"
               "    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>\n"
               "    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [1] : "
               "(tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>\n"
               "    %1 = stablehlo.reduce(%arg0 init: %arg2) across dimensions = [0] : (tensor<2x3xf32>, tensor<f32>) "
               "-> tensor<3xf32>\n"
               "     reducer(%arg4: tensor<f32>, %arg5: tensor<f32>)  {\n"
               "      %3 = stablehlo.subtract %arg4, %arg5 : tensor<f32>\n"
               "      stablehlo.return %3 : tensor<f32>\n"
               "    }\n"
               "    %2:2 = stablehlo.reduce(%arg0 init: %arg2), (%arg1 init: %arg3) across dimensions = [1] : "
               "(tensor<2x3xf32>, tensor<2x3xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)\n"
               "     reducer(%arg4: tensor<f32>, %arg6: tensor<f32>) (%arg5: tensor<i32>, %arg7: tensor<i32>)  {\n"
               "      %3 = stablehlo.add %arg4, %arg6 : tensor<f32>\n"
               "      %4 = stablehlo.minimum %arg5, %arg7 : tensor<i32>\n"
               "      stablehlo.return %3, %4 : tensor<f32>, tensor<i32>\n"
               "    }\n"
               "    return\n" TAIL);
  cel_hlo_module_free(f.m);
}

static void window_forms(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  hlo x = arg(&f, CEL_ET_F32, 2, 4, 6, 0, 0), s = arg(&f, CEL_ET_F32, 0, 0, 0, 0, 0);
  hlo source = arg(&f, CEL_ET_F32, 2, 2, 3, 0, 0);
  cel_hlo_op *op = make_op(&f, CEL_HLO_REDUCE_WINDOW, 2, (hlo[]){x, s}, 1);
  with_ints(&f, op, "window_dimensions", 2, 2, 2);
  with_ints(&f, op, "window_strides", 2, 2, 2);
  fold_with(&f, op, 0, CEL_HLO_MAXIMUM, CEL_ET_F32);
  check_type(finish(&f, op), "tensor<2x3xf32>");
  op = make_op(&f, CEL_HLO_SELECT_AND_SCATTER, 3, (hlo[]){x, source, s}, 2);
  with_ints(&f, op, "window_dimensions", 2, 2, 2);
  with_ints(&f, op, "window_strides", 2, 2, 2);
  fold_with(&f, op, 0, CEL_HLO_COMPARE, CEL_ET_F32);
  fold_with(&f, op, 1, CEL_HLO_ADD, CEL_ET_F32);
  finish(&f, op);
  op = make_op(&f, CEL_HLO_MAP, 2, (hlo[]){x, x}, 1);
  with_ints(&f, op, "dimensions", 2, 0, 1);
  fold_with(&f, op, 0, CEL_HLO_MULTIPLY, CEL_ET_F32);
  finish(&f, op);
  op = make_op(&f, CEL_HLO_SORT, 1, &x, 1);
  with_int(&f, op, "dimension", 1);
  with(&f, op, cel_hlo_make_bool(f.m, "is_stable", true));
  fold_with(&f, op, 0, CEL_HLO_COMPARE, CEL_ET_F32);
  finish(&f, op);
  cel_hlo_return(&f.b, NULL, 0);
  check_prints(&f, HEAD
               "%arg0: tensor<4x6xf32>, %arg1: tensor<f32>, %arg2: tensor<2x3xf32>) {\n"
               "    %0 = \"stablehlo.reduce_window\"(%arg0, %arg1) <{window_dimensions = array<i64: 2, 2>, "
               "window_strides = array<i64: 2, 2>}> ({\n"
               "    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):\n"
               "      %4 = stablehlo.maximum %arg3, %arg4 : tensor<f32>\n"
               "      stablehlo.return %4 : tensor<f32>\n"
               "    }) : (tensor<4x6xf32>, tensor<f32>) -> tensor<2x3xf32>\n"
               "    %1 = \"stablehlo.select_and_scatter\"(%arg0, %arg2, %arg1) <{window_dimensions = array<i64: 2, 2>, "
               "window_strides = array<i64: 2, 2>}> ({\n"
               "    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):\n"
               "      %4 = stablehlo.compare GT, %arg3, %arg4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
               "      stablehlo.return %4 : tensor<i1>\n"
               "    }, {\n"
               "    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):\n"
               "      %4 = stablehlo.add %arg3, %arg4 : tensor<f32>\n"
               "      stablehlo.return %4 : tensor<f32>\n"
               "    }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>\n"
               "    %2 = \"stablehlo.map\"(%arg0, %arg0) <{dimensions = array<i64: 0, 1>}> ({\n"
               "    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):\n"
               "      %4 = stablehlo.multiply %arg3, %arg4 : tensor<f32>\n"
               "      stablehlo.return %4 : tensor<f32>\n"
               "    }) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>\n"
               "    %3 = \"stablehlo.sort\"(%arg0) <{dimension = 1 : i64, is_stable = true}> ({\n"
               "    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):\n"
               "      %4 = stablehlo.compare GT, %arg3, %arg4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
               "      stablehlo.return %4 : tensor<i1>\n"
               "    }) : (tensor<4x6xf32>) -> tensor<4x6xf32>\n"
               "    return\n" TAIL);
  cel_hlo_module_free(f.m);
}

static void control_flow_forms(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  cel_hlo_builder *b = &f.b;
  hlo p = arg(&f, CEL_ET_PRED, 0, 0, 0, 0, 0), i = arg(&f, CEL_ET_I32, 0, 0, 0, 0, 0);
  hlo x = arg(&f, CEL_ET_F32, 1, 4, 0, 0, 0);
  cel_hlo_block *outer = b->block;
  hlo zero = cel_hlo_scalar(b, CEL_ET_I32, 0), ten = cel_hlo_scalar(b, CEL_ET_I32, 10);
  cel_hlo_op *op = make_op(&f, CEL_HLO_WHILE, 2, (hlo[]){zero, x}, 2);
  const cel_hlo_type *carried[2] = {zero->type, x->type};
  cel_hlo_block *cond = open_region(&f, op, 0, 2, carried);
  hlo less = cel_hlo_compare(b, "LT", cond->args[0], ten);
  region_return(&f, 1, &less);
  cel_hlo_block *body = open_region(&f, op, 1, 2, carried);
  hlo one = cel_hlo_scalar(b, CEL_ET_I32, 1);
  hlo next[2] = {cel_hlo_binary(b, CEL_HLO_ADD, body->args[0], one), cel_hlo_unary(b, CEL_HLO_NEGATE, body->args[1])};
  region_return(&f, 2, next);
  b->block = outer;
  hlo loop = finish(&f, op);
  op = make_op(&f, CEL_HLO_IF, 1, &p, 2);
  for (int k = 0; k < 2; k++) {
    open_region(&f, op, k, 0, NULL);
    hlo v = k ? x : cel_hlo_unary(b, CEL_HLO_TANH, x);
    region_return(&f, 1, &v);
    b->block = outer;
  }
  finish(&f, op);
  op = make_op(&f, CEL_HLO_CASE, 1, &i, 1);
  open_region(&f, op, 0, 0, NULL);
  region_return(&f, 0, NULL);
  b->block = outer;
  finish(&f, op);
  cel_hlo_return(b, (hlo[]){&loop->def->results[1]}, 1);
  check_prints(&f, HEAD
               "%arg0: tensor<i1>, %arg1: tensor<i32>, %arg2: tensor<4xf32>) -> tensor<4xf32> {\n"
               "    %c = stablehlo.constant dense<0> : tensor<i32>\n"
               "    %c_0 = stablehlo.constant dense<10> : tensor<i32>\n"
               "    %0:2 = stablehlo.while(%iterArg = %c, %iterArg_1 = %arg2) : tensor<i32>, tensor<4xf32>\n"
               "    cond {\n"
               "      %2 = stablehlo.compare LT, %iterArg, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
               "      stablehlo.return %2 : tensor<i1>\n"
               "    } do {\n"
               "      %c_2 = stablehlo.constant dense<1> : tensor<i32>\n"
               "      %2 = stablehlo.add %iterArg, %c_2 : tensor<i32>\n"
               "      %3 = stablehlo.negate %iterArg_1 : tensor<4xf32>\n"
               "      stablehlo.return %2, %3 : tensor<i32>, tensor<4xf32>\n"
               "    }\n"
               "    %1 = \"stablehlo.if\"(%arg0) ({\n"
               "      %2 = stablehlo.tanh %arg2 : tensor<4xf32>\n"
               "      stablehlo.return %2 : tensor<4xf32>\n"
               "    }, {\n"
               "      stablehlo.return %arg2 : tensor<4xf32>\n"
               "    }) : (tensor<i1>) -> tensor<4xf32>\n"
               "    \"stablehlo.case\"(%arg1) ({\n"
               "      stablehlo.return \n"
               "    }) : (tensor<i32>) -> ()\n"
               "    return %0#1 : tensor<4xf32>\n" TAIL);
  cel_hlo_module_free(f.m);
}

static void forms_of_the_rest(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  cel_hlo_builder *b = &f.b;
  hlo u = arg(&f, CEL_ET_UI64, 1, 2, 0, 0, 0), x = arg(&f, CEL_ET_F32, 2, 2, 8, 0, 0);
  cel_hlo_op *op = make_op(&f, CEL_HLO_RNG_BIT_GENERATOR, 1, &u, 0);
  with_word(&f, op, "rng_algorithm", "PHILOX");
  const cel_hlo_type *bits[2] = {u->type, tensor(&f, CEL_ET_UI32, 1, 9, 0, 0, 0)};
  finish_as(&f, op, 2, bits);
  hlo pair = finish(&f, make_op(&f, CEL_HLO_TUPLE, 2, (hlo[]){u, x}, 0));
  op = make_op(&f, CEL_HLO_GET_TUPLE_ELEMENT, 1, &pair, 0);
  with(&f, op, cel_hlo_make_int(f.m, "index", CEL_ET_I32, 1));
  finish(&f, op);
  op = make_op(&f, CEL_HLO_CUSTOM_CALL, 2, (hlo[]){u, x}, 0);
  with(&f, op, cel_hlo_make_string(f.m, "call_target_name", CEL_STR("foo-bar")));
  with(&f, op, cel_hlo_make_string(f.m, "backend_config", CEL_STR("a\"b\\\n\xC3\xA9")));
  with(&f, op, cel_hlo_make_bool(f.m, "has_side_effect", true));
  finish_as(&f, op, 1, &x->type);
  op = make_op(&f, CEL_HLO_CHLO_TOP_K, 1, &x, 0);
  with_int(&f, op, "k", 3);
  finish(&f, op);
  op = cel_hlo_op_new(f.m, CEL_HLO_FOREIGN, "check.expect_eq", (hlo[]){x, x}, 2, 0);
  with(&f, op, cel_hlo_make_unit(f.m, "flag"));
  finish_as(&f, op, 0, NULL);
  cel_hlo_return(b, NULL, 0);
  check_prints(&f, HEAD
               "%arg0: tensor<2xui64>, %arg1: tensor<2x8xf32>) {\n"
               "    %output_state, %output = stablehlo.rng_bit_generator %arg0, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, "
               "tensor<9xui32>)\n"
               "    %0 = stablehlo.tuple %arg0, %arg1 : tuple<tensor<2xui64>, tensor<2x8xf32>>\n"
               "    %1 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<2xui64>, tensor<2x8xf32>>) -> "
               "tensor<2x8xf32>\n"
               "    %2 = stablehlo.custom_call @\"foo-bar\"(%arg0, %arg1) {backend_config = "
               "\"a\\22b\\\\\\0A\\C3\\A9\", has_side_effect = true} : (tensor<2xui64>, tensor<2x8xf32>) -> "
               "tensor<2x8xf32>\n"
               "    %values, %indices = chlo.top_k(%arg1, k = 3) : tensor<2x8xf32> -> (tensor<2x3xf32>, tensor<2x3xi32>)\n"
               "    \"check.expect_eq\"(%arg1, %arg1) {flag} : (tensor<2x8xf32>, tensor<2x8xf32>) -> ()\n"
               "    return\n" TAIL);
  cel_hlo_module_free(f.m);
}

static void functions_and_composites(void **state) {
  (void)state;
  fixture f;
  cel_err err;
  assert_int_equal(cel_hlo_module_new("my model", &f.m, &err), CEL_OK);
  assert_true(cel_hlo_module_add_attr(f.m, cel_hlo_make_int(f.m, "mhlo.num_partitions", CEL_ET_I32, 1)));
  cel_hlo_builder *b = &f.b;
  cel_hlo_builder_init(b, f.m);
  assert_string_equal(cel_hlo_fresh_symbol(b, "norm"), "norm");
  cel_hlo_func *norm = cel_hlo_func_begin(b, "norm", true);
  hlo x = arg(&f, CEL_ET_F32, 1, 4, 0, 0, 0), y = cel_hlo_unary(b, CEL_HLO_TANH, x);
  cel_hlo_return(b, (hlo[]){y, x}, 2);
  assert_string_equal(cel_hlo_fresh_symbol(b, "norm"), "norm_1");
  cel_hlo_func_begin(b, "main", false);
  hlo w = cel_hlo_arg(b, "w", tensor(&f, CEL_ET_F32, 1, 4, 0, 0, 0));
  cel_hlo_arg_attr_string(b, w, "mlxcel.weight", "norm.weight");
  cel_hlo_arg_attr_int(b, w, "tf.aliasing_output", 0);
  cel_hlo_attr *attrs[4] = {cel_hlo_new_float(b, "epsilon", CEL_ET_F32, 1e-5), cel_hlo_new_int(b, "axis", CEL_ET_I64, -1),
                            cel_hlo_new_string(b, "kind", "rms"), cel_hlo_new_bool(b, "plus_one", false)};
  cel_hlo_path(b, "layers.%d.norm", 0);
  y = cel_hlo_composite(b, "mlxcel.rms_norm", &w, 1, attrs, 4, norm);
  cel_hlo_path(b, "%s", "");
  hlo z = cel_hlo_call(b, norm, &y, 1);
  cel_hlo_return(b, &z, 1);
  cel_hlo_result_attr_string(b, 0, "mlxcel.role", "logits");
  check_prints(&f,
               "module @\"my model\" attributes {mhlo.num_partitions = 1 : i32} {\n"
               "  func.func private @norm(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {\n"
               "    %0 = stablehlo.tanh %arg0 : tensor<4xf32>\n"
               "    return %0, %arg0 : tensor<4xf32>, tensor<4xf32>\n"
               "  }\n"
               "  func.func @main(%w: tensor<4xf32> {mlxcel.weight = \"norm.weight\", tf.aliasing_output = 0 : i32}) -> "
               "(tensor<4xf32> {mlxcel.role = \"logits\"}) {\n"
               "    %0:2 = stablehlo.composite \"mlxcel.rms_norm\" %w {composite_attributes = {axis = -1 : i64, "
               "epsilon = 9.99999974E-6 : f32, kind = \"rms\", plus_one = false}, decomposition = @norm} : "
               "(tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) loc(\"layers.0.norm\")\n"
               "    %1:2 = call @norm(%0#0) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)\n"
               "    return %1#0 : tensor<4xf32>\n" TAIL);
  cel_hlo_module_free(f.m);
}

static void names_stay_unique(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  cel_hlo_builder *b = &f.b;
  const cel_hlo_type *t = tensor(&f, CEL_ET_F32, 0, 0, 0, 0, 0);
  hlo a = cel_hlo_arg(b, "arg1", t);
  cel_hlo_arg(b, NULL, t);
  cel_hlo_arg(b, NULL, t);
  cel_hlo_arg(b, "arg1", t);
  cel_hlo_arg(b, "3 x/y", t);
  hlo c = cel_hlo_scalar(b, CEL_ET_F32, 1);
  hlo d = cel_hlo_scalar(b, CEL_ET_F32, 2);
  d->name = "cst";
  hlo e = cel_hlo_binary(b, CEL_HLO_ADD, c, d);
  e->name = "layers.0-sum";
  cel_hlo_return(b, &a, 1);
  check_prints(&f, HEAD
               "%arg1: tensor<f32>, %arg0: tensor<f32>, %arg2: tensor<f32>, %arg1_0: tensor<f32>, %_3_x_y: "
               "tensor<f32>) -> tensor<f32> {\n"
               "    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>\n"
               "    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>\n"
               "    %layers.0-sum = stablehlo.add %cst, %cst_1 : tensor<f32>\n"
               "    return %arg1 : tensor<f32>\n" TAIL);
  cel_hlo_module_free(f.m);
}

static void declarations_print_types_only(void **state) {
  (void)state;
  fixture f;
  cel_err err;
  assert_int_equal(cel_hlo_module_new(NULL, &f.m, &err), CEL_OK);
  cel_hlo_builder_init(&f.b, f.m);
  cel_hlo_func *g = cel_hlo_func_begin(&f.b, "outside", true);
  cel_hlo_arg(&f.b, "x", tensor(&f, CEL_ET_F32, 1, 4, 0, 0, 0));
  cel_hlo_arg(&f.b, "y", cel_hlo_token(f.m));
  g->is_declaration = true;
  const cel_hlo_type *t = tensor(&f, CEL_ET_I4, 0, 0, 0, 0, 0);
  assert_true(cel_hlo_func_set_results(g, &t, 1));
  check_prints(&f, "module {\n  func.func private @outside(tensor<4xf32>, !stablehlo.token) -> tensor<i4>\n}\n");
  cel_hlo_module_free(f.m);
}

static void a_module_that_means_nothing_still_prints(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  for (int i = 0; i < 200; i++) arg(&f, CEL_ET_F32, 0, 0, 0, 0, 0);
  hlo stray = f.b.block->args[199];
  cel_hlo_func_begin(&f.b, "g", true);
  for (int code = 0; code < CEL_HLO_FOREIGN; code++) {  // every operation, without its attributes and regions
    cel_hlo_op *op = make_op(&f, (cel_hlo_opcode)code, 1, &stray, 2);
    assert_true(cel_hlo_set_results(f.b.func, op, &stray->type, code % 2));
    cel_hlo_block_append(f.b.block, op);
  }
  cel_buf out = {0};
  cel_err err = {0};
  assert_int_equal(cel_hlo_print(f.m, &out, &err), CEL_OK);
  assert_non_null(strstr(out.p, "%not_of_this_function"));
  assert_int_equal(cel_hlo_verify(f.m, &err), CEL_INVALID);
  cel_buf_deinit(&out);
  cel_hlo_module_free(f.m);
}

static void rules_survive_operations_without_their_parts(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  hlo x = arg(&f, CEL_ET_F32, 2, 2, 3, 0, 0), operands[3] = {x, x, x};
  for (int code = 0; code < CEL_HLO_OPCODE_COUNT; code++)
    for (int n = 0; n <= 3; n++)
      for (int regions = 0; regions <= 2; regions++) {
        cel_hlo_op *op = cel_hlo_op_new(f.m, (cel_hlo_opcode)code, "x.y", operands, n, regions);
        cel_err err = {0};
        assert_true(cel_hlo_set_results(f.b.func, op, &x->type, 1));
        if (cel_hlo_check(f.m, op, &err) != CEL_OK) assert_true(strlen(err.text) > 10);
      }
  cel_hlo_module_free(f.m);
}

// ---- literals ----------------------------------------------------------------------------------

static void check_literal(cel_etype e, int rank, const int64_t *dims, const void *data, const char *want) {
  fixture f;
  open_module(&f);
  cel_buf out = {0};
  cel_err err = {0};
  cel_hlo_dense(&f.b, e, rank, dims, data);
  cel_hlo_return(&f.b, NULL, 0);
  check_ok(&f);
  assert_int_equal(cel_hlo_print(f.m, &out, &err), CEL_OK);
  const char *from = strstr(out.p, "dense<");
  assert_non_null(from);
  const char *to = strstr(from, " : ");
  assert_non_null(to);
  assert_int_equal(to - from, (long)strlen(want));
  assert_memory_equal(from, want, strlen(want));
  cel_buf_deinit(&out);
  cel_hlo_module_free(f.m);
}

static void check_f32(float v, const char *want) {
  char text[80];
  snprintf(text, sizeof text, "dense<%s>", want);
  check_literal(CEL_ET_F32, 0, NULL, &v, text);
}

static void floats_read_back_to_their_bits(void **state) {
  (void)state;
  check_f32(0.0f, "0.000000e+00");
  check_f32(-0.0f, "-0.000000e+00");
  check_f32(1.0f, "1.000000e+00");
  check_f32(0.1f, "1.000000e-01");
  check_f32(1.0f / 3, "0.333333343");
  check_f32(-2.0f / 3, "-0.666666686");
  check_f32(1e-5f, "9.99999974E-6");
  check_f32(3.14159274f, "3.14159274");
  check_f32(16777216.0f, "0x4B800000");
  check_f32(1.5e10f, "1.500000e+10");
  check_f32(123456.789f, "123456.789");
  check_f32(INFINITY, "0x7F800000");
  check_f32(-INFINITY, "0xFF800000");
  check_f32(1.17549435e-38f, "1.17549435E-38");
  check_f32(1.40129846e-45f, "1.401300e-45");
  double third = 1.0 / 3;
  check_literal(CEL_ET_F64, 0, NULL, &third, "dense<0.33333333333333331>");
  uint16_t b = 0x3E80, h = 0x7BFF;
  check_literal(CEL_ET_BF16, 0, NULL, &b, "dense<2.500000e-01>");
  check_literal(CEL_ET_F16, 0, NULL, &h, "dense<6.550400e+04>");
  uint8_t q = 0x7F, r = 0x7C;
  check_literal(CEL_ET_F8E4M3FN, 0, NULL, &q, "dense<0x7F>");
  check_literal(CEL_ET_F8E5M2, 0, NULL, &r, "dense<0x7C>");
}

static void dense_literals_nest_splat_and_turn_to_hex(void **state) {
  (void)state;
  check_literal(CEL_ET_I32, 2, (int64_t[]){2, 3}, (int32_t[]){1, -2, 3, 4, 5, 6}, "dense<[[1, -2, 3], [4, 5, 6]]>");
  check_literal(CEL_ET_I8, 2, (int64_t[]){2, 2}, (int8_t[]){-7, -7, -7, -7}, "dense<-7>");
  check_literal(CEL_ET_UI8, 1, (int64_t[]){2}, (uint8_t[]){255, 0}, "dense<[255, 0]>");
  check_literal(CEL_ET_UI64, 0, NULL, (uint64_t[]){UINT64_MAX}, "dense<18446744073709551615>");
  check_literal(CEL_ET_PRED, 1, (int64_t[]){3}, (uint8_t[]){1, 0, 1}, "dense<[true, false, true]>");
  check_literal(CEL_ET_C64, 1, (int64_t[]){2}, (float[]){1, 2, 3, -4},
                "dense<[(1.000000e+00,2.000000e+00), (3.000000e+00,-4.000000e+00)]>");
  check_literal(CEL_ET_F32, 2, (int64_t[]){0, 4}, "", "dense<>");
  uint8_t many[65], flags[65];
  char want[8 + 2 * 65 + 8] = "dense<\"0x", list[65 * 7 + 20] = "dense<[";
  for (int i = 0; i < 65; i++) {
    many[i] = (uint8_t)(i * 3);
    flags[i] = i % 2;
    snprintf(want + strlen(want), 3, "%02X", many[i]);
    snprintf(list + strlen(list), 8, "%s%s", i ? ", " : "", i % 2 ? "true" : "false");
  }
  strcat(want, "\">");
  strcat(list, "]>");
  check_literal(CEL_ET_UI8, 1, (int64_t[]){65}, many, want);
  check_literal(CEL_ET_PRED, 1, (int64_t[]){65}, flags, list);
}

static void every_finite_value_of_the_narrow_types_survives(void **state) {
  (void)state;
  for (uint32_t bits = 0; bits < 65536; bits++) {
    static const cel_etype types[] = {CEL_ET_BF16, CEL_ET_F16, CEL_ET_F8E4M3FN, CEL_ET_F8E5M2};
    for (int k = 0; k < 4; k++) {
      if (k >= 2 && bits > 255) continue;
      unsigned char element[2] = {(unsigned char)bits, (unsigned char)(bits >> 8)}, again[2] = {0};
      double v = cel_hlo_element_to_double(types[k], element);
      if (isnan(v)) continue;
      assert_true(cel_hlo_element_from_double(types[k], v, again));
      assert_memory_equal(element, again, (size_t)cel_etype_bytes(types[k]));
      if (bits % 37 && k < 2) continue;  // the text of some
      cel_buf out = {0};
      cel_print_float(&out, types[k], element);
      double back = strtod(out.p, NULL);
      if (out.p[0] == '0' && out.p[1] == 'x') {
        assert_int_equal((uint32_t)strtoul(out.p, NULL, 16), bits);
      } else {
        assert_true(cel_hlo_element_from_double(types[k], back, again));
        assert_memory_equal(element, again, (size_t)cel_etype_bytes(types[k]));
      }
      cel_buf_deinit(&out);
    }
  }
}

static void a_large_module_prints_the_same_twice(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  hlo x = arg(&f, CEL_ET_F32, 2, 64, 64, 0, 0);
  for (int i = 0; i < 3000; i++) {
    cel_hlo_path(&f.b, "layers.%d", i);
    x = i % 3 ? cel_hlo_unary(&f.b, CEL_HLO_TANH, x) : cel_hlo_binary_scalar(&f.b, CEL_HLO_ADD, x, i);
  }
  cel_hlo_return(&f.b, &x, 1);
  check_ok(&f);
  cel_buf a = {0}, b = {0};
  cel_err err = {0};
  assert_int_equal(cel_hlo_verify(f.m, &err), CEL_OK);
  assert_int_equal(cel_hlo_print(f.m, &a, &err), CEL_OK);
  assert_int_equal(cel_hlo_print(f.m, &b, &err), CEL_OK);
  assert_int_equal(a.n, b.n);
  assert_memory_equal(a.p, b.p, a.n);
  cel_buf_deinit(&a);
  cel_buf_deinit(&b);
  cel_hlo_module_free(f.m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elementwise_forms),
      cmocka_unit_test(shape_forms),
      cmocka_unit_test(contraction_and_index_forms),
      cmocka_unit_test(convolution_form),
      cmocka_unit_test(reduce_forms),
      cmocka_unit_test(window_forms),
      cmocka_unit_test(control_flow_forms),
      cmocka_unit_test(forms_of_the_rest),
      cmocka_unit_test(functions_and_composites),
      cmocka_unit_test(names_stay_unique),
      cmocka_unit_test(declarations_print_types_only),
      cmocka_unit_test(a_module_that_means_nothing_still_prints),
      cmocka_unit_test(rules_survive_operations_without_their_parts),
      cmocka_unit_test(floats_read_back_to_their_bits),
      cmocka_unit_test(dense_literals_nest_splat_and_turn_to_hex),
      cmocka_unit_test(every_finite_value_of_the_narrow_types_survives),
      cmocka_unit_test(a_large_module_prints_the_same_twice),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
