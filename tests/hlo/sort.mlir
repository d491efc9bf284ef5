// Stable: the second input tells equal ones apart.
func.func @sort_two() {
  %x = stablehlo.constant dense<[[3, 1, 3, 2], [1, 1, 0, 0]]> : tensor<2x4xi32>
  %i = stablehlo.iota dim = 1 : tensor<2x4xi32>
  %0:2 = "stablehlo.sort"(%x, %i) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>, %c: tensor<i32>, %d: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = 1 : i64, is_stable = true} : (tensor<2x4xi32>, tensor<2x4xi32>) -> (tensor<2x4xi32>, tensor<2x4xi32>)
  check.expect_eq_const %0#0, dense<[[1, 2, 3, 3], [0, 0, 1, 1]]> : tensor<2x4xi32>
  check.expect_eq_const %0#1, dense<[[1, 3, 0, 2], [2, 3, 0, 1]]> : tensor<2x4xi32>
  return
}

// -----

func.func @sort_outer_dimension_descending() {
  %x = stablehlo.constant dense<[[1.0, 6.0], [3.0, 5.0], [2.0, 7.0]]> : tensor<3x2xf32>
  %0 = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare GT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  check.expect_eq_const %0, dense<[[3.0, 7.0], [2.0, 6.0], [1.0, 5.0]]> : tensor<3x2xf32>
  return
}
