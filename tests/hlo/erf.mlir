func.func @erf_f32() {
  %x = stablehlo.constant dense<[0.0, 0.5, -1.0, 10.0]> : tensor<4xf32>
  %y = chlo.erf %x : tensor<4xf32> -> tensor<4xf32>
  %want = stablehlo.constant dense<[0.0, 0.520499885, -0.842700779, 1.0]> : tensor<4xf32>
  check.expect_close %y, %want, max_ulp_difference = 0 : tensor<4xf32>, tensor<4xf32>
  return
}
