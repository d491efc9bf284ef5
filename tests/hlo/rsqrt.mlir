func.func @rsqrt_f32() {
  %x = stablehlo.constant dense<[4.0, 0.0, 0x7F800000, 2.0]> : tensor<4xf32>
  %y = stablehlo.rsqrt %x : tensor<4xf32>
  %want = stablehlo.constant dense<[0.5, 0x7F800000, 0.0, 0.707106769]> : tensor<4xf32>
  check.expect_close %y, %want, max_ulp_difference = 0 : tensor<4xf32>, tensor<4xf32>
  return
}
