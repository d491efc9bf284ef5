// NaN wins, and +0 over -0.
func.func @maximum_f32() {
  %a = stablehlo.constant dense<[1.0, 0x7FC00000, -0.0, -3.0]> : tensor<4xf32>
  %b = stablehlo.constant dense<[2.0, 1.0, 0.0, -4.0]> : tensor<4xf32>
  %y = stablehlo.maximum %a, %b : tensor<4xf32>
  %want = stablehlo.constant dense<[2.0, 0x7FC00000, 0.0, -3.0]> : tensor<4xf32>
  check.expect_close %y, %want, max_ulp_difference = 0 : tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// Signed and unsigned order differ.
func.func @maximum_i8() {
  %a = stablehlo.constant dense<[-1, 3]> : tensor<2xi8>
  %b = stablehlo.constant dense<[1, -3]> : tensor<2xi8>
  %y = stablehlo.maximum %a, %b : tensor<2xi8>
  check.expect_eq_const %y, dense<[1, 3]> : tensor<2xi8>
  return
}

// -----

func.func @maximum_ui8() {
  %a = stablehlo.constant dense<[255, 3]> : tensor<2xui8>
  %b = stablehlo.constant dense<[1, 4]> : tensor<2xui8>
  %y = stablehlo.maximum %a, %b : tensor<2xui8>
  check.expect_eq_const %y, dense<[255, 4]> : tensor<2xui8>
  return
}
