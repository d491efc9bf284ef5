// Integers wrap.
func.func @subtract_i8() {
  %a = stablehlo.constant dense<[-128, 5]> : tensor<2xi8>
  %b = stablehlo.constant dense<[1, 6]> : tensor<2xi8>
  %y = stablehlo.subtract %a, %b : tensor<2xi8>
  check.expect_eq_const %y, dense<[127, -1]> : tensor<2xi8>
  return
}

// -----

// Unsigned ones, too.
func.func @subtract_ui8() {
  %a = stablehlo.constant dense<[0, 5]> : tensor<2xui8>
  %b = stablehlo.constant dense<[1, 6]> : tensor<2xui8>
  %y = stablehlo.subtract %a, %b : tensor<2xui8>
  check.expect_eq_const %y, dense<[255, 255]> : tensor<2xui8>
  return
}

// -----

func.func @subtract_f32() {
  %a = stablehlo.constant dense<[1.0, 0x7F800000]> : tensor<2xf32>
  %b = stablehlo.constant dense<[0.25, 0x7F800000]> : tensor<2xf32>
  %y = stablehlo.subtract %a, %b : tensor<2xf32>
  %want = stablehlo.constant dense<[0.75, 0x7FC00000]> : tensor<2xf32>
  check.expect_close %y, %want, max_ulp_difference = 0 : tensor<2xf32>, tensor<2xf32>
  return
}
