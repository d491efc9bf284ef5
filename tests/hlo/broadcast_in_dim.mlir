// A dimension of one is repeated; dimensions may change their order.
func.func @broadcast_in_dim_forms() {
  %a = stablehlo.constant dense<[[1], [2]]> : tensor<2x1xi32>
  %x = stablehlo.broadcast_in_dim %a, dims = [1, 2] : (tensor<2x1xi32>) -> tensor<2x2x2xi32>
  check.expect_eq_const %x, dense<[[[1, 1], [2, 2]], [[1, 1], [2, 2]]]> : tensor<2x2x2xi32>
  %b = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %y = stablehlo.broadcast_in_dim %b, dims = [1, 0] : (tensor<2x2xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %y, dense<[[1, 3], [2, 4]]> : tensor<2x2xi32>
  %s = stablehlo.constant dense<5> : tensor<i32>
  %z = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<i32>) -> tensor<3xi32>
  check.expect_eq_const %z, dense<5> : tensor<3xi32>
  return
}
