// Starts are moved so that the update lies inside.
func.func @dynamic_update_slice_clamps() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %u = stablehlo.constant dense<[[10, 20]]> : tensor<1x2xi32>
  %i = stablehlo.constant dense<9> : tensor<i64>
  %j = stablehlo.constant dense<0> : tensor<i64>
  %0 = stablehlo.dynamic_update_slice %x, %u, %i, %j : (tensor<2x3xi32>, tensor<1x2xi32>, tensor<i64>, tensor<i64>) -> tensor<2x3xi32>
  check.expect_eq_const %0, dense<[[1, 2, 3], [10, 20, 6]]> : tensor<2x3xi32>
  return
}
