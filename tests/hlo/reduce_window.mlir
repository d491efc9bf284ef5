// Padding holds the initial value.
func.func @reduce_window_sum() {
  %x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%x, %z) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) {window_dimensions = array<i64: 3>, window_strides = array<i64: 1>, padding = dense<[[2, 0]]> : tensor<1x2xi64>} : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  check.expect_eq_const %0, dense<[1, 3, 6, 9]> : tensor<4xi32>
  return
}

// -----

func.func @reduce_window_dilated() {
  %x = stablehlo.constant dense<[5, 2, 3, 4]> : tensor<4xi32>
  %z = stablehlo.constant dense<-100> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%x, %z) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.maximum %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) {window_dimensions = array<i64: 2>, base_dilations = array<i64: 2>, window_dilations = array<i64: 3>} : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  check.expect_eq_const %0, dense<[5, 3, 2, 4]> : tensor<4xi32>
  return
}
