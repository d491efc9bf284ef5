// NaN is unequal to everything, itself included.
func.func @compare_float() {
  %a = stablehlo.constant dense<[1.0, 0x7FC00000, -0.0, 2.0]> : tensor<4xf32>
  %b = stablehlo.constant dense<[2.0, 0x7FC00000, 0.0, 1.0]> : tensor<4xf32>
  %eq = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %eq, dense<[false, false, true, false]> : tensor<4xi1>
  %ne = stablehlo.compare NE, %a, %b, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %ne, dense<[true, true, false, true]> : tensor<4xi1>
  %lt = stablehlo.compare LT, %a, %b, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %lt, dense<[true, false, false, false]> : tensor<4xi1>
  %ge = stablehlo.compare GE, %a, %b, FLOAT : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %ge, dense<[false, false, true, true]> : tensor<4xi1>
  return
}

// -----

// The total order of IEEE-754: -NaN, -inf, numbers, -0, +0, numbers, inf, NaN.
func.func @compare_total_order() {
  %a = stablehlo.constant dense<[0xFFC00000, 0xFF800000, -0.0, 0x7F800000, 0x7FC00000]> : tensor<5xf32>
  %b = stablehlo.constant dense<[0xFF800000, -1.0, 0.0, 0x7FC00000, 0x7FC00000]> : tensor<5xf32>
  %lt = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>
  check.expect_eq_const %lt, dense<[true, true, true, true, false]> : tensor<5xi1>
  return
}

// -----

// The sign bit of unsigned numbers is a number bit.
func.func @compare_integers() {
  %a = stablehlo.constant dense<[255, 1]> : tensor<2xui8>
  %b = stablehlo.constant dense<[1, 255]> : tensor<2xui8>
  %u = stablehlo.compare GT, %a, %b, UNSIGNED : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xi1>
  check.expect_eq_const %u, dense<[true, false]> : tensor<2xi1>
  %c = stablehlo.constant dense<[-1, 1]> : tensor<2xi8>
  %d = stablehlo.constant dense<[1, -1]> : tensor<2xi8>
  %s = stablehlo.compare LE, %c, %d, SIGNED : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi1>
  check.expect_eq_const %s, dense<[true, false]> : tensor<2xi1>
  return
}
