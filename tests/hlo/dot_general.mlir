func.func @dot_general_matrices() {
  %a = stablehlo.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %b = stablehlo.constant dense<[[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]]> : tensor<2x3xf32>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %0, dense<[[14.0, 2.0], [32.0, 5.0]]> : tensor<2x2xf32>
  return
}

// -----

// A batch, and a contracted dimension in front.
func.func @dot_general_batch() {
  %a = stablehlo.constant dense<[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]> : tensor<2x2x2xi32>
  %b = stablehlo.constant dense<[[1, 10], [100, 1000]]> : tensor<2x2xi32>
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %0, dense<[[31, 42], [7500, 8600]]> : tensor<2x2xi32>
  return
}

// -----

// Wider results: products of i8 do not wrap in i32, bf16 is summed in f32.
func.func @dot_general_wider() {
  %a = stablehlo.constant dense<127> : tensor<4xi8>
  %0 = stablehlo.dot_general %a, %a, contracting_dims = [0] x [0] : (tensor<4xi8>, tensor<4xi8>) -> tensor<i32>
  check.expect_eq_const %0, dense<64516> : tensor<i32>
  %b = stablehlo.constant dense<[256.0, 1.0, 1.0]> : tensor<3xbf16>
  %c = stablehlo.constant dense<1.0> : tensor<3xbf16>
  %1 = stablehlo.dot_general %b, %c, contracting_dims = [0] x [0] : (tensor<3xbf16>, tensor<3xbf16>) -> tensor<f32>
  check.expect_eq_const %1, dense<258.0> : tensor<f32>
  %2 = stablehlo.dot_general %b, %c, contracting_dims = [0] x [0] : (tensor<3xbf16>, tensor<3xbf16>) -> tensor<bf16>
  check.expect_eq_const %2, dense<258.0> : tensor<bf16>
  return
}

// -----

// Nothing to contract gives zeros; no contracted dimension gives an outer product.
func.func @dot_general_edges() {
  %a = stablehlo.constant dense<> : tensor<2x0xf32>
  %b = stablehlo.constant dense<> : tensor<0x2xf32>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2x0xf32>, tensor<0x2xf32>) -> tensor<2x2xf32>
  check.expect_eq_const %0, dense<0.0> : tensor<2x2xf32>
  %c = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %d = stablehlo.constant dense<[3, 4, 5]> : tensor<3xi32>
  %1 = stablehlo.dot_general %c, %d, contracting_dims = [] x [] : (tensor<2xi32>, tensor<3xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %1, dense<[[3, 4, 5], [6, 8, 10]]> : tensor<2x3xi32>
  return
}
