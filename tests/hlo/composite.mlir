// Means what its decomposition means.
func.func @composite_by_decomposition() {
  %a = stablehlo.constant dense<3> : tensor<i32>
  %0 = stablehlo.composite "test.square" %a {composite_attributes = {n = 2 : i64}, decomposition = @square} : (tensor<i32>) -> tensor<i32>
  check.expect_eq_const %0, dense<9> : tensor<i32>
  return
}

func.func private @square(%a: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.multiply %a, %a : tensor<i32>
  return %0 : tensor<i32>
}
