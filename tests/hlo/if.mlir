func.func @if_both_ways() {
  %yes = stablehlo.constant dense<true> : tensor<i1>
  %no = stablehlo.constant dense<false> : tensor<i1>
  %a = stablehlo.constant dense<1> : tensor<i32>
  %b = stablehlo.constant dense<2> : tensor<i32>
  %0 = "stablehlo.if"(%yes) ({
    stablehlo.return %a : tensor<i32>
  }, {
    stablehlo.return %b : tensor<i32>
  }) : (tensor<i1>) -> tensor<i32>
  check.expect_eq_const %0, dense<1> : tensor<i32>
  %1 = "stablehlo.if"(%no) ({
    stablehlo.return %a : tensor<i32>
  }, {
    %c = stablehlo.add %b, %b : tensor<i32>
    stablehlo.return %c : tensor<i32>
  }) : (tensor<i1>) -> tensor<i32>
  check.expect_eq_const %1, dense<4> : tensor<i32>
  return
}
