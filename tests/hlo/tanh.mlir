// Saturates.
func.func @tanh_f32() {
  %x = stablehlo.constant dense<[0.0, 0.5, -0.5, 100.0, 0xFF800000]> : tensor<5xf32>
  %y = stablehlo.tanh %x : tensor<5xf32>
  %want = stablehlo.constant dense<[0.0, 0.46211716, -0.46211716, 1.0, -1.0]> : tensor<5xf32>
  check.expect_close %y, %want, max_ulp_difference = 0 : tensor<5xf32>, tensor<5xf32>
  return
}

// -----

// Half precision is rounded once from the exact value.
func.func @tanh_f16() {
  %x = stablehlo.constant dense<[0.5, -2.0]> : tensor<2xf16>
  %y = stablehlo.tanh %x : tensor<2xf16>
  %want = stablehlo.constant dense<[0.46212, -0.96403]> : tensor<2xf16>
  check.expect_close %y, %want, max_ulp_difference = 0 : tensor<2xf16>, tensor<2xf16>
  return
}
