// Zeros keep their sign, NaN stays.
func.func @sign_f32() {
  %x = stablehlo.constant dense<[-2.5, -0.0, 0.0, 7.0, 0x7FC00000]> : tensor<5xf32>
  %y = stablehlo.sign %x : tensor<5xf32>
  %want = stablehlo.constant dense<[-1.0, -0.0, 0.0, 1.0, 0x7FC00000]> : tensor<5xf32>
  check.expect_close %y, %want, max_ulp_difference = 0 : tensor<5xf32>, tensor<5xf32>
  return
}

// -----

func.func @sign_i16() {
  %x = stablehlo.constant dense<[-300, 0, 300]> : tensor<3xi16>
  %y = stablehlo.sign %x : tensor<3xi16>
  check.expect_eq_const %y, dense<[-1, 0, 1]> : tensor<3xi16>
  return
}
