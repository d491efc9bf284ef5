func.func @tan_f64() {
  %x = stablehlo.constant dense<[0.0, 1.0, -1.0]> : tensor<3xf64>
  %y = stablehlo.tan %x : tensor<3xf64>
  %want = stablehlo.constant dense<[0.0, 1.5574077246549023, -1.5574077246549023]> : tensor<3xf64>
  check.expect_close %y, %want, max_ulp_difference = 1 : tensor<3xf64>, tensor<3xf64>
  return
}
