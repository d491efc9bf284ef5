// Zero gives minus infinity, negative numbers NaN.
func.func @log_f32() {
  %x = stablehlo.constant dense<[1.0, 2.0, 0.0, -1.0]> : tensor<4xf32>
  %y = stablehlo.log %x : tensor<4xf32>
  %want = stablehlo.constant dense<[0.0, 0.693147182, 0xFF800000, 0x7FC00000]> : tensor<4xf32>
  check.expect_close %y, %want, max_ulp_difference = 0 : tensor<4xf32>, tensor<4xf32>
  return
}
