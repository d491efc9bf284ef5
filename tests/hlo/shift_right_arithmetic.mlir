// By the width or more: the sign.
func.func @shift_right_arithmetic_i8() {
  %a = stablehlo.constant dense<[-128, -128, 64, 64]> : tensor<4xi8>
  %b = stablehlo.constant dense<[7, 8, 100, 2]> : tensor<4xi8>
  %y = stablehlo.shift_right_arithmetic %a, %b : tensor<4xi8>
  check.expect_eq_const %y, dense<[-1, -1, 0, 16]> : tensor<4xi8>
  return
}
