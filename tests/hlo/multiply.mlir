// Integers wrap.
func.func @multiply_i8() {
  %a = stablehlo.constant dense<[100, -128, 5]> : tensor<3xi8>
  %b = stablehlo.constant dense<[3, -1, 6]> : tensor<3xi8>
  %y = stablehlo.multiply %a, %b : tensor<3xi8>
  check.expect_eq_const %y, dense<[44, -128, 30]> : tensor<3xi8>
  return
}

// -----

func.func @multiply_complex() {
  %a = stablehlo.constant dense<[(1.0, 2.0)]> : tensor<1xcomplex<f32>>
  %b = stablehlo.constant dense<[(3.0, -5.0)]> : tensor<1xcomplex<f32>>
  %y = stablehlo.multiply %a, %b : tensor<1xcomplex<f32>>
  check.expect_eq_const %y, dense<[(13.0, 1.0)]> : tensor<1xcomplex<f32>>
  return
}

// -----

// Half precision overflows to infinity.
func.func @multiply_f16() {
  %a = stablehlo.constant dense<[256.0, 2.0]> : tensor<2xf16>
  %b = stablehlo.constant dense<[256.0, 0.5]> : tensor<2xf16>
  %y = stablehlo.multiply %a, %b : tensor<2xf16>
  check.expect_eq_const %y, dense<[0x7C00, 1.0]> : tensor<2xf16>
  return
}
