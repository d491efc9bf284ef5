// A negative exponent of an integer gives zero but for bases 1 and -1.
func.func @power_i32() {
  %a = stablehlo.constant dense<[2, -1, -1, 3, 1, 0]> : tensor<6xi32>
  %b = stablehlo.constant dense<[10, 3, -2, -1, -5, 0]> : tensor<6xi32>
  %y = stablehlo.power %a, %b : tensor<6xi32>
  check.expect_eq_const %y, dense<[1024, -1, 1, 0, 1, 1]> : tensor<6xi32>
  return
}

// -----

func.func @power_f32() {
  %a = stablehlo.constant dense<[2.0, -8.0, 0.0, 4.0]> : tensor<4xf32>
  %b = stablehlo.constant dense<[-1.0, 3.0, 0.0, 0.5]> : tensor<4xf32>
  %y = stablehlo.power %a, %b : tensor<4xf32>
  %want = stablehlo.constant dense<[0.5, -512.0, 1.0, 2.0]> : tensor<4xf32>
  check.expect_close %y, %want, max_ulp_difference = 0 : tensor<4xf32>, tensor<4xf32>
  return
}
