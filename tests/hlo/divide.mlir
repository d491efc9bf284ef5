// Towards zero; by zero gives all ones; the most negative number over -1 stays.
func.func @divide_i32() {
  %a = stablehlo.constant dense<[17, -17, 17, 5, -2147483648]> : tensor<5xi32>
  %b = stablehlo.constant dense<[3, 3, -3, 0, -1]> : tensor<5xi32>
  %y = stablehlo.divide %a, %b : tensor<5xi32>
  check.expect_eq_const %y, dense<[5, -5, -5, -1, -2147483648]> : tensor<5xi32>
  return
}

// -----

func.func @divide_f32() {
  %a = stablehlo.constant dense<[1.0, -1.0, 0.0, 1.0]> : tensor<4xf32>
  %b = stablehlo.constant dense<[3.0, 0.0, 0.0, 0x7F800000]> : tensor<4xf32>
  %y = stablehlo.divide %a, %b : tensor<4xf32>
  %want = stablehlo.constant dense<[0.333333343, 0xFF800000, 0x7FC00000, 0.0]> : tensor<4xf32>
  check.expect_close %y, %want, max_ulp_difference = 0 : tensor<4xf32>, tensor<4xf32>
  return
}
