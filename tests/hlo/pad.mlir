// Low, high and between; negative padding takes away, also from what lies between.
func.func @pad_all_ways() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %p = stablehlo.constant dense<0> : tensor<i32>
  %a = stablehlo.pad %x, %p, low = [1], high = [2], interior = [1] : (tensor<3xi32>, tensor<i32>) -> tensor<8xi32>
  check.expect_eq_const %a, dense<[0, 1, 0, 2, 0, 3, 0, 0]> : tensor<8xi32>
  %b = stablehlo.pad %x, %p, low = [-1], high = [-2], interior = [1] : (tensor<3xi32>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %b, dense<[0, 2]> : tensor<2xi32>
  return
}
