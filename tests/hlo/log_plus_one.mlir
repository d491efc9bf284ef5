// Keeps small arguments exact.
func.func @log_plus_one_f32() {
  %x = stablehlo.constant dense<[1.0e-8, 0.0, -1.0, 1.0]> : tensor<4xf32>
  %y = stablehlo.log_plus_one %x : tensor<4xf32>
  %want = stablehlo.constant dense<[1.0e-8, 0.0, 0xFF800000, 0.693147182]> : tensor<4xf32>
  check.expect_close %y, %want, max_ulp_difference = 0 : tensor<4xf32>, tensor<4xf32>
  return
}
