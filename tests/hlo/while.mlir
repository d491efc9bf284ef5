// Fibonacci: the state is replaced as a whole, and a value from outside is the bound.
func.func @while_fibonacci() {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<10> : tensor<i32>
  %0:3 = stablehlo.while(%i = %zero, %a = %zero, %b = %one) : tensor<i32>, tensor<i32>, tensor<i32>
   cond {
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %c = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %j, %b, %c : tensor<i32>, tensor<i32>, tensor<i32>
  }
  check.expect_eq_const %0#0, dense<10> : tensor<i32>
  check.expect_eq_const %0#1, dense<55> : tensor<i32>
  check.expect_eq_const %0#2, dense<89> : tensor<i32>
  return
}
