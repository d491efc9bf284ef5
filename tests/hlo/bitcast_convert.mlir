// Little end first.
func.func @bitcast_convert_f64_to_i16() {
  %x = stablehlo.constant dense<0x0123456789ABCDEF> : tensor<f64>
  %y = stablehlo.bitcast_convert %x : (tensor<f64>) -> tensor<4xi16>
  check.expect_eq_const %y, dense<[-12817, -30293, 17767, 291]> : tensor<4xi16>
  return
}

// -----

// Back again.
func.func @bitcast_convert_i16_to_f64() {
  %x = stablehlo.constant dense<[-12817, -30293, 17767, 291]> : tensor<4xi16>
  %y = stablehlo.bitcast_convert %x : (tensor<4xi16>) -> tensor<f64>
  check.expect_eq_const %y, dense<0x0123456789ABCDEF> : tensor<f64>
  return
}

// -----

// The same width.
func.func @bitcast_convert_f32_to_ui32() {
  %x = stablehlo.constant dense<[1.0, -0.0]> : tensor<2xf32>
  %y = stablehlo.bitcast_convert %x : (tensor<2xf32>) -> tensor<2xui32>
  check.expect_eq_const %y, dense<[1065353216, 2147483648]> : tensor<2xui32>
  return
}
