// Keeps small arguments exact.
func.func @exponential_minus_one_f32() {
  %x = stablehlo.constant dense<[1.0e-8, 0.0, 1.0]> : tensor<3xf32>
  %y = stablehlo.exponential_minus_one %x : tensor<3xf32>
  %want = stablehlo.constant dense<[1.0e-8, 0.0, 1.71828187]> : tensor<3xf32>
  check.expect_close %y, %want, max_ulp_difference = 0 : tensor<3xf32>, tensor<3xf32>
  return
}
