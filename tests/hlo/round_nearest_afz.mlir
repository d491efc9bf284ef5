// Ties go away from zero.
func.func @round_nearest_afz_f32() {
  %x = stablehlo.constant dense<[0.5, 1.5, 2.5, -0.5, -2.5, 0.49999997]> : tensor<6xf32>
  %y = stablehlo.round_nearest_afz %x : tensor<6xf32>
  %want = stablehlo.constant dense<[1.0, 2.0, 3.0, -1.0, -3.0, 0.0]> : tensor<6xf32>
  check.expect_close %y, %want, max_ulp_difference = 0 : tensor<6xf32>, tensor<6xf32>
  return
}
