// An index outside takes the last branch.
func.func @case_indices() {
  %i = stablehlo.constant dense<0> : tensor<i32>
  %j = stablehlo.constant dense<-1> : tensor<i32>
  %a = stablehlo.constant dense<10> : tensor<i32>
  %b = stablehlo.constant dense<20> : tensor<i32>
  %0 = "stablehlo.case"(%i) ({
    stablehlo.return %a : tensor<i32>
  }, {
    stablehlo.return %b : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  check.expect_eq_const %0, dense<10> : tensor<i32>
  %1 = "stablehlo.case"(%j) ({
    stablehlo.return %a : tensor<i32>
  }, {
    stablehlo.return %b : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  check.expect_eq_const %1, dense<20> : tensor<i32>
  return
}
