// The computation sees values from around it.
func.func @map_captures() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %k = stablehlo.constant dense<10> : tensor<i32>
  %0 = "stablehlo.map"(%x, %x) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %m = stablehlo.multiply %a, %b : tensor<i32>
    %s = stablehlo.add %m, %k : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) {dimensions = array<i64: 0>} : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>
  check.expect_eq_const %0, dense<[11, 14, 19]> : tensor<3xi32>
  return
}
