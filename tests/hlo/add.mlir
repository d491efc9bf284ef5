// Integers wrap.
func.func @add_i8() {
  %a = stablehlo.constant dense<[127, -128, 5]> : tensor<3xi8>
  %b = stablehlo.constant dense<[1, -1, 6]> : tensor<3xi8>
  %y = stablehlo.add %a, %b : tensor<3xi8>
  check.expect_eq_const %y, dense<[-128, 127, 11]> : tensor<3xi8>
  return
}

// -----

// Booleans: or.
func.func @add_i1() {
  %a = stablehlo.constant dense<[false, false, true, true]> : tensor<4xi1>
  %b = stablehlo.constant dense<[false, true, false, true]> : tensor<4xi1>
  %y = stablehlo.add %a, %b : tensor<4xi1>
  check.expect_eq_const %y, dense<[false, true, true, true]> : tensor<4xi1>
  return
}

// -----

// bf16 is rounded after each operation.
func.func @add_bf16() {
  %a = stablehlo.constant dense<[256.0, 1.0]> : tensor<2xbf16>
  %b = stablehlo.constant dense<[1.0, 0.0078125]> : tensor<2xbf16>
  %y = stablehlo.add %a, %b : tensor<2xbf16>
  check.expect_eq_const %y, dense<[256.0, 1.0078125]> : tensor<2xbf16>
  return
}

// -----

func.func @add_complex() {
  %a = stablehlo.constant dense<[(1.0, 2.0)]> : tensor<1xcomplex<f32>>
  %b = stablehlo.constant dense<[(3.0, -5.0)]> : tensor<1xcomplex<f32>>
  %y = stablehlo.add %a, %b : tensor<1xcomplex<f32>>
  check.expect_eq_const %y, dense<[(4.0, -3.0)]> : tensor<1xcomplex<f32>>
  return
}
