// Counts within the width.
func.func @popcnt_i8() {
  %x = stablehlo.constant dense<[-1, 0, 5]> : tensor<3xi8>
  %y = stablehlo.popcnt %x : tensor<3xi8>
  check.expect_eq_const %y, dense<[8, 0, 2]> : tensor<3xi8>
  return
}

// -----

func.func @popcnt_ui16() {
  %x = stablehlo.constant dense<[65535, 256]> : tensor<2xui16>
  %y = stablehlo.popcnt %x : tensor<2xui16>
  check.expect_eq_const %y, dense<[16, 1]> : tensor<2xui16>
  return
}
