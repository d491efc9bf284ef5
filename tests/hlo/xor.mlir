func.func @xor_i8() {
  %a = stablehlo.constant dense<[12, -1]> : tensor<2xi8>
  %b = stablehlo.constant dense<[10, 7]> : tensor<2xi8>
  %y = stablehlo.xor %a, %b : tensor<2xi8>
  check.expect_eq_const %y, dense<[6, -8]> : tensor<2xi8>
  return
}

// -----

func.func @xor_i1() {
  %a = stablehlo.constant dense<[false, false, true, true]> : tensor<4xi1>
  %b = stablehlo.constant dense<[false, true, false, true]> : tensor<4xi1>
  %y = stablehlo.xor %a, %b : tensor<4xi1>
  check.expect_eq_const %y, dense<[false, true, true, false]> : tensor<4xi1>
  return
}
