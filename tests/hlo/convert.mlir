// Truncates and saturates; NaN gives zero.
func.func @convert_f32_to_i8() {
  %x = stablehlo.constant dense<[1.9, -1.9, 300.0, -300.0, 0x7FC00000, 0x7F800000, 127.5]> : tensor<7xf32>
  %y = stablehlo.convert %x : (tensor<7xf32>) -> tensor<7xi8>
  check.expect_eq_const %y, dense<[1, -1, 127, -128, 0, 127, 127]> : tensor<7xi8>
  return
}

// -----

// Unsigned types saturate at zero.
func.func @convert_f32_to_ui8() {
  %x = stablehlo.constant dense<[-1.0, 255.5, 256.0, 0.5]> : tensor<4xf32>
  %y = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xui8>
  check.expect_eq_const %y, dense<[0, 255, 255, 0]> : tensor<4xui8>
  return
}

// -----

// Integers wrap into narrower ones.
func.func @convert_i32_to_i8() {
  %x = stablehlo.constant dense<[300, -129, 127]> : tensor<3xi32>
  %y = stablehlo.convert %x : (tensor<3xi32>) -> tensor<3xi8>
  check.expect_eq_const %y, dense<[44, 127, 127]> : tensor<3xi8>
  return
}

// -----

// Everything but zero is true.
func.func @convert_f32_to_i1() {
  %x = stablehlo.constant dense<[0.0, -0.0, 0.5, 0x7FC00000]> : tensor<4xf32>
  %y = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %y, dense<[false, false, true, true]> : tensor<4xi1>
  return
}

// -----

// Rounds to nearest, ties to even.
func.func @convert_f32_to_bf16() {
  %x = stablehlo.constant dense<[1.00390625, 1.01171875, 1.0078125]> : tensor<3xf32>
  %y = stablehlo.convert %x : (tensor<3xf32>) -> tensor<3xbf16>
  check.expect_eq_const %y, dense<[1.0, 1.015625, 1.0078125]> : tensor<3xbf16>
  return
}

// -----

// f8E4M3FN ends at 448 and has no infinity.
func.func @convert_f32_to_f8() {
  %x = stablehlo.constant dense<[448.0, 464.0, 0.001953125]> : tensor<3xf32>
  %y = stablehlo.convert %x : (tensor<3xf32>) -> tensor<3xf8E4M3FN>
  check.expect_eq_const %y, dense<[448.0, 448.0, 0.001953125]> : tensor<3xf8E4M3FN>
  return
}

// -----

// The imaginary part is dropped.
func.func @convert_complex_to_f32() {
  %x = stablehlo.constant dense<[(1.5, 2.0), (0.0, 1.0)]> : tensor<2xcomplex<f32>>
  %y = stablehlo.convert %x : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  check.expect_eq_const %y, dense<[1.5, 0.0]> : tensor<2xf32>
  return
}
