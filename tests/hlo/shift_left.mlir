// By the width or more: zero.
func.func @shift_left_i8() {
  %a = stablehlo.constant dense<[1, 1, -1, 3]> : tensor<4xi8>
  %b = stablehlo.constant dense<[7, 8, 100, 2]> : tensor<4xi8>
  %y = stablehlo.shift_left %a, %b : tensor<4xi8>
  check.expect_eq_const %y, dense<[-128, 0, 0, 12]> : tensor<4xi8>
  return
}
