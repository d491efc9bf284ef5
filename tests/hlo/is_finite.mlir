func.func @is_finite_f32() {
  %x = stablehlo.constant dense<[0.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<4xf32>
  %y = stablehlo.is_finite %x : (tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %y, dense<[true, false, false, false]> : tensor<4xi1>
  return
}
