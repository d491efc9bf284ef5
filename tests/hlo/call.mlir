func.func @call_with_two_results() {
  %a = stablehlo.constant dense<3> : tensor<i32>
  %b = stablehlo.constant dense<5> : tensor<i32>
  %0:2 = call @swap(%a, %b) : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
  check.expect_eq_const %0#0, dense<5> : tensor<i32>
  check.expect_eq_const %0#1, dense<3> : tensor<i32>
  return
}

func.func private @swap(%a: tensor<i32>, %b: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
  return %b, %a : tensor<i32>, tensor<i32>
}
