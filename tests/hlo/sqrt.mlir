// Correctly rounded.
func.func @sqrt_f32() {
  %x = stablehlo.constant dense<[4.0, 2.0, 0.0, -1.0]> : tensor<4xf32>
  %y = stablehlo.sqrt %x : tensor<4xf32>
  %want = stablehlo.constant dense<[2.0, 1.41421354, 0.0, 0x7FC00000]> : tensor<4xf32>
  check.expect_close %y, %want, max_ulp_difference = 0 : tensor<4xf32>, tensor<4xf32>
  return
}

// -----

// The principal root of a complex number.
func.func @sqrt_complex() {
  %x = stablehlo.constant dense<[(-4.0, 0.0), (3.0, 4.0)]> : tensor<2xcomplex<f64>>
  %y = stablehlo.sqrt %x : tensor<2xcomplex<f64>>
  check.expect_almost_eq_const %y, dense<[(0.0, 2.0), (2.0, 1.0)]> : tensor<2xcomplex<f64>>
  return
}
