// By element, and by one predicate for all.
func.func @select_both_ways() {
  %p = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
  %q = stablehlo.constant dense<false> : tensor<i1>
  %a = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %b = stablehlo.constant dense<[10, 20, 30]> : tensor<3xi32>
  %x = stablehlo.select %p, %a, %b : tensor<3xi1>, tensor<3xi32>
  check.expect_eq_const %x, dense<[1, 20, 3]> : tensor<3xi32>
  %y = stablehlo.select %q, %a, %b : tensor<i1>, tensor<3xi32>
  check.expect_eq_const %y, dense<[10, 20, 30]> : tensor<3xi32>
  return
}
