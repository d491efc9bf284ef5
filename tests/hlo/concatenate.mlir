func.func @concatenate_inner_dimension() {
  %a = stablehlo.constant dense<[[1], [2]]> : tensor<2x1xi32>
  %b = stablehlo.constant dense<[[3, 4], [5, 6]]> : tensor<2x2xi32>
  %c = stablehlo.constant dense<> : tensor<2x0xi32>
  %0 = stablehlo.concatenate %a, %c, %b, dim = 1 : (tensor<2x1xi32>, tensor<2x0xi32>, tensor<2x2xi32>) -> tensor<2x3xi32>
  check.expect_eq_const %0, dense<[[1, 3, 4], [2, 5, 6]]> : tensor<2x3xi32>
  return
}
