// The most negative integer has no positive twin and stays.
func.func @abs_i8() {
  %x = stablehlo.constant dense<[-128, -5, 7]> : tensor<3xi8>
  %y = stablehlo.abs %x : tensor<3xi8>
  check.expect_eq_const %y, dense<[-128, 5, 7]> : tensor<3xi8>
  return
}

// -----

// The sign of zero goes.
func.func @abs_f32() {
  %x = stablehlo.constant dense<[-0.0, -1.5, 0xFF800000, 2.0]> : tensor<4xf32>
  %y = stablehlo.abs %x : tensor<4xf32>
  %want = stablehlo.constant dense<[0.0, 1.5, 0x7F800000, 2.0]> : tensor<4xf32>
  check.expect_close %y, %want, max_ulp_difference = 0 : tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// A complex number gives its modulus.
func.func @abs_complex() {
  %x = stablehlo.constant dense<[(3.0, -4.0), (0.0, 2.0)]> : tensor<2xcomplex<f32>>
  %y = stablehlo.abs %x : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  check.expect_eq_const %y, dense<[5.0, 2.0]> : tensor<2xf32>
  return
}
