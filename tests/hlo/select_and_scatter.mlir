// The first of equal ones is selected; places that two windows select take both values.
func.func @select_and_scatter_max() {
  %x = stablehlo.constant dense<[1, 5, 2, 2, 0]> : tensor<5xi32>
  %s = stablehlo.constant dense<[10, 20]> : tensor<2xi32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %z) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.compare GE, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %t = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %t : tensor<i32>
  }) {window_dimensions = array<i64: 3>, window_strides = array<i64: 2>} : (tensor<5xi32>, tensor<2xi32>, tensor<i32>) -> tensor<5xi32>
  check.expect_eq_const %0, dense<[0, 10, 20, 0, 0]> : tensor<5xi32>
  return
}
