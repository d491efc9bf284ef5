// Up; a small negative number becomes minus zero.
func.func @ceil_f32() {
  %x = stablehlo.constant dense<[1.25, -1.25, -0.25, 3.0]> : tensor<4xf32>
  %y = stablehlo.ceil %x : tensor<4xf32>
  %want = stablehlo.constant dense<[2.0, -1.0, -0.0, 3.0]> : tensor<4xf32>
  check.expect_close %y, %want, max_ulp_difference = 0 : tensor<4xf32>, tensor<4xf32>
  return
}
