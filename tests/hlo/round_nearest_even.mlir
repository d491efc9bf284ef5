// Ties go to the even neighbour.
func.func @round_nearest_even_f32() {
  %x = stablehlo.constant dense<[0.5, 1.5, 2.5, -0.5, -2.5, 3.5]> : tensor<6xf32>
  %y = stablehlo.round_nearest_even %x : tensor<6xf32>
  %want = stablehlo.constant dense<[0.0, 2.0, 2.0, -0.0, -2.0, 4.0]> : tensor<6xf32>
  check.expect_close %y, %want, max_ulp_difference = 0 : tensor<6xf32>, tensor<6xf32>
  return
}
