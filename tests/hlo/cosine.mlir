// Also far from zero.
func.func @cosine_f32() {
  %x = stablehlo.constant dense<[0.0, 1.0, -1.0, 100.0]> : tensor<4xf32>
  %y = stablehlo.cosine %x : tensor<4xf32>
  %want = stablehlo.constant dense<[1.0, 0.540302277, 0.540302277, 0.862318873]> : tensor<4xf32>
  check.expect_close %y, %want, max_ulp_difference = 0 : tensor<4xf32>, tensor<4xf32>
  return
}
