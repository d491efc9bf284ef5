// Starts are moved so that the slice lies inside.
func.func @dynamic_slice_clamps() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %i = stablehlo.constant dense<-7> : tensor<i32>
  %j = stablehlo.constant dense<100> : tensor<i32>
  %0 = stablehlo.dynamic_slice %x, %i, %j, sizes = [1, 2] : (tensor<2x3xi32>, tensor<i32>, tensor<i32>) -> tensor<1x2xi32>
  check.expect_eq_const %0, dense<[[2, 3]]> : tensor<1x2xi32>
  return
}
