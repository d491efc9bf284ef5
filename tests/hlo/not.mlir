// Bits of integers, truth of booleans.
func.func @not_i8() {
  %x = stablehlo.constant dense<[0, -1, 5]> : tensor<3xi8>
  %y = stablehlo.not %x : tensor<3xi8>
  check.expect_eq_const %y, dense<[-1, 0, -6]> : tensor<3xi8>
  return
}

// -----

func.func @not_i1() {
  %x = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %y = stablehlo.not %x : tensor<2xi1>
  check.expect_eq_const %y, dense<[false, true]> : tensor<2xi1>
  return
}
