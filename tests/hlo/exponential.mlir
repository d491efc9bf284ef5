// Overflows to infinity, underflows to zero.
func.func @exponential_f32() {
  %x = stablehlo.constant dense<[0.0, 1.0, -1.0, 89.0, -200.0, 0xFF800000]> : tensor<6xf32>
  %y = stablehlo.exponential %x : tensor<6xf32>
  %want = stablehlo.constant dense<[1.0, 2.71828175, 0.36787945, 0x7F800000, 0.0, 0.0]> : tensor<6xf32>
  check.expect_close %y, %want, max_ulp_difference = 0 : tensor<6xf32>, tensor<6xf32>
  return
}
