// Splats, lists, hexadecimal bytes, no elements.
func.func @constant_forms() {
  %a = stablehlo.constant dense<7> : tensor<2x2xi32>
  check.expect_eq_const %a, dense<[[7, 7], [7, 7]]> : tensor<2x2xi32>
  %b = stablehlo.constant dense<"0x0100000002000000"> : tensor<2xi32>
  check.expect_eq_const %b, dense<[1, 2]> : tensor<2xi32>
  %c = stablehlo.constant dense<> : tensor<0xf32>
  check.expect_eq_const %c, dense<> : tensor<0xf32>
  return
}
