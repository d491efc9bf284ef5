func.func @get_dimension_size_of_each() {
  %x = stablehlo.constant dense<0.0> : tensor<2x3xf32>
  %0 = stablehlo.get_dimension_size %x, dim = 1 : (tensor<2x3xf32>) -> tensor<i32>
  check.expect_eq_const %0, dense<3> : tensor<i32>
  return
}
