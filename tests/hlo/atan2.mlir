// All four quadrants.
func.func @atan2_f32() {
  %a = stablehlo.constant dense<[1.0, 1.0, -1.0, -1.0]> : tensor<4xf32>
  %b = stablehlo.constant dense<[1.0, -1.0, -1.0, 1.0]> : tensor<4xf32>
  %y = stablehlo.atan2 %a, %b : tensor<4xf32>
  %want = stablehlo.constant dense<[0.785398185, 2.3561945, -2.3561945, -0.785398185]> : tensor<4xf32>
  check.expect_close %y, %want, max_ulp_difference = 0 : tensor<4xf32>, tensor<4xf32>
  return
}
