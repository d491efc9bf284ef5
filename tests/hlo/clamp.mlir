// Bounds per element and for all; the upper one wins when they cross.
func.func @clamp_bounds() {
  %lo = stablehlo.constant dense<[0, 5, 9]> : tensor<3xi32>
  %x = stablehlo.constant dense<[-4, 7, 5]> : tensor<3xi32>
  %hi = stablehlo.constant dense<6> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %y = stablehlo.clamp %one, %x, %hi : (tensor<i32>, tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  check.expect_eq_const %y, dense<[1, 6, 5]> : tensor<3xi32>
  %z = stablehlo.clamp %lo, %x, %hi : (tensor<3xi32>, tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  check.expect_eq_const %z, dense<[0, 6, 6]> : tensor<3xi32>
  return
}

// -----

func.func @clamp_nan() {
  %lo = stablehlo.constant dense<0.0> : tensor<f32>
  %x = stablehlo.constant dense<[0x7FC00000, -1.0, 0.5]> : tensor<3xf32>
  %hi = stablehlo.constant dense<1.0> : tensor<f32>
  %y = stablehlo.clamp %lo, %x, %hi : (tensor<f32>, tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  %want = stablehlo.constant dense<[0x7FC00000, 0.0, 0.5]> : tensor<3xf32>
  check.expect_close %y, %want, max_ulp_difference = 0 : tensor<3xf32>, tensor<3xf32>
  return
}
