func.func @tuple_and_back() {
  %a = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = stablehlo.constant dense<3> : tensor<i64>
  %t = stablehlo.tuple %a, %b : tuple<tensor<2xf32>, tensor<i64>>
  %0 = stablehlo.get_tuple_element %t[1] : (tuple<tensor<2xf32>, tensor<i64>>) -> tensor<i64>
  check.expect_eq_const %0, dense<3> : tensor<i64>
  %1 = stablehlo.get_tuple_element %t[0] : (tuple<tensor<2xf32>, tensor<i64>>) -> tensor<2xf32>
  check.expect_eq_const %1, dense<[1.0, 2.0]> : tensor<2xf32>
  return
}
