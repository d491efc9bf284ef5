// Negative numbers have a cube root.
func.func @cbrt_f32() {
  %x = stablehlo.constant dense<[-27.0, 0.0, 8.0, 1.0e-3]> : tensor<4xf32>
  %y = stablehlo.cbrt %x : tensor<4xf32>
  %want = stablehlo.constant dense<[-3.0, 0.0, 2.0, 1.0e-1]> : tensor<4xf32>
  check.expect_close %y, %want, max_ulp_difference = 0 : tensor<4xf32>, tensor<4xf32>
  return
}
