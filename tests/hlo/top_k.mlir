// Equal ones in the order they came; NaN before all numbers.
func.func @top_k_of_rows() {
  %x = stablehlo.constant dense<[[3.0, 9.0, 3.0, 1.0], [0.0, 0x7FC00000, -0.0, 2.0]]> : tensor<2x4xf32>
  %v, %i = chlo.top_k(%x, k = 3) : tensor<2x4xf32> -> (tensor<2x3xf32>, tensor<2x3xi32>)
  %want = stablehlo.constant dense<[[9.0, 3.0, 3.0], [0x7FC00000, 2.0, 0.0]]> : tensor<2x3xf32>
  check.expect_close %v, %want, max_ulp_difference = 0 : tensor<2x3xf32>, tensor<2x3xf32>
  check.expect_eq_const %i, dense<[[1, 0, 2], [1, 3, 0]]> : tensor<2x3xi32>
  return
}

// -----

// True before false, unsigned numbers by their own order.
func.func @top_k_of_booleans_and_unsigned() {
  %x = stablehlo.constant dense<[false, true, false, true]> : tensor<4xi1>
  %v, %i = chlo.top_k(%x, k = 3) : tensor<4xi1> -> (tensor<3xi1>, tensor<3xi32>)
  check.expect_eq_const %v, dense<[true, true, false]> : tensor<3xi1>
  check.expect_eq_const %i, dense<[1, 3, 0]> : tensor<3xi32>
  %y = stablehlo.constant dense<[1, 255, 128]> : tensor<3xui8>
  %w, %j = chlo.top_k(%y, k = 2) : tensor<3xui8> -> (tensor<2xui8>, tensor<2xi32>)
  check.expect_eq_const %w, dense<[255, 128]> : tensor<2xui8>
  check.expect_eq_const %j, dense<[1, 2]> : tensor<2xi32>
  return
}
