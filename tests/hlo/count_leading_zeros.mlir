// Counts within the width.
func.func @count_leading_zeros_i8() {
  %x = stablehlo.constant dense<[-1, 0, 1, 64]> : tensor<4xi8>
  %y = stablehlo.count_leading_zeros %x : tensor<4xi8>
  check.expect_eq_const %y, dense<[0, 8, 7, 1]> : tensor<4xi8>
  return
}

// -----

func.func @count_leading_zeros_ui32() {
  %x = stablehlo.constant dense<[0, 65536]> : tensor<2xui32>
  %y = stablehlo.count_leading_zeros %x : tensor<2xui32>
  check.expect_eq_const %y, dense<[32, 15]> : tensor<2xui32>
  return
}
