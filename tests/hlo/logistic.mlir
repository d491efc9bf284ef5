func.func @logistic_f32() {
  %x = stablehlo.constant dense<[0.0, 100.0, -200.0, 1.0]> : tensor<4xf32>
  %y = stablehlo.logistic %x : tensor<4xf32>
  %want = stablehlo.constant dense<[0.5, 1.0, 0.0, 0.731058597]> : tensor<4xf32>
  check.expect_close %y, %want, max_ulp_difference = 0 : tensor<4xf32>, tensor<4xf32>
  return
}
