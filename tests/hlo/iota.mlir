func.func @iota_each_dimension() {
  %a = stablehlo.iota dim = 0 : tensor<2x3xi32>
  check.expect_eq_const %a, dense<[[0, 0, 0], [1, 1, 1]]> : tensor<2x3xi32>
  %b = stablehlo.iota dim = 1 : tensor<2x3xf32>
  check.expect_eq_const %b, dense<[[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]]> : tensor<2x3xf32>
  return
}
