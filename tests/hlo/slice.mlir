func.func @slice_with_strides() {
  %x = stablehlo.constant dense<[[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]> : tensor<3x4xi32>
  %0 = stablehlo.slice %x [0:3:2, 1:4:2] : (tensor<3x4xi32>) -> tensor<2x2xi32>
  check.expect_eq_const %0, dense<[[2, 4], [10, 12]]> : tensor<2x2xi32>
  %1 = stablehlo.slice %x [1:1, 0:4] : (tensor<3x4xi32>) -> tensor<0x4xi32>
  check.expect_eq_const %1, dense<> : tensor<0x4xi32>
  return
}
