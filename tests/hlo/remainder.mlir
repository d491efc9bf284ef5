// Has the sign of the dividend; by zero gives the dividend.
func.func @remainder_i32() {
  %a = stablehlo.constant dense<[17, -17, 17, 5, -2147483648]> : tensor<5xi32>
  %b = stablehlo.constant dense<[3, 3, -3, 0, -1]> : tensor<5xi32>
  %y = stablehlo.remainder %a, %b : tensor<5xi32>
  check.expect_eq_const %y, dense<[2, -2, 2, 5, 0]> : tensor<5xi32>
  return
}

// -----

// Exact.
func.func @remainder_f32() {
  %a = stablehlo.constant dense<[17.5, -17.5, 16777216.0]> : tensor<3xf32>
  %b = stablehlo.constant dense<[3.0, 3.0, 3.0]> : tensor<3xf32>
  %y = stablehlo.remainder %a, %b : tensor<3xf32>
  %want = stablehlo.constant dense<[2.5, -2.5, 1.0]> : tensor<3xf32>
  check.expect_close %y, %want, max_ulp_difference = 0 : tensor<3xf32>, tensor<3xf32>
  return
}
