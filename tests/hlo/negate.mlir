// Integers wrap, unsigned ones too.
func.func @negate_i8() {
  %x = stablehlo.constant dense<[-128, 5, 0]> : tensor<3xi8>
  %y = stablehlo.negate %x : tensor<3xi8>
  check.expect_eq_const %y, dense<[-128, -5, 0]> : tensor<3xi8>
  return
}

// -----

func.func @negate_ui8() {
  %x = stablehlo.constant dense<[1, 0, 255]> : tensor<3xui8>
  %y = stablehlo.negate %x : tensor<3xui8>
  check.expect_eq_const %y, dense<[255, 0, 1]> : tensor<3xui8>
  return
}

// -----

// Zero changes its sign.
func.func @negate_f32() {
  %x = stablehlo.constant dense<[0.0, 1.5]> : tensor<2xf32>
  %y = stablehlo.negate %x : tensor<2xf32>
  %want = stablehlo.constant dense<[-0.0, -1.5]> : tensor<2xf32>
  check.expect_close %y, %want, max_ulp_difference = 0 : tensor<2xf32>, tensor<2xf32>
  return
}
