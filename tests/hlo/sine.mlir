// Also far from zero.
func.func @sine_f32() {
  %x = stablehlo.constant dense<[0.0, 1.0, -1.0, 100.0]> : tensor<4xf32>
  %y = stablehlo.sine %x : tensor<4xf32>
  %want = stablehlo.constant dense<[0.0, 0.841470957, -0.841470957, -0.506365657]> : tensor<4xf32>
  check.expect_close %y, %want, max_ulp_difference = 0 : tensor<4xf32>, tensor<4xf32>
  return
}
