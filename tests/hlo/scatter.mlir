// Updates at the same place are added one after the other, updates outside are dropped.
func.func @scatter_add() {
  %x = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  %i = stablehlo.constant dense<[[1], [1], [3], [-1], [0]]> : tensor<5x1xi32>
  %u = stablehlo.constant dense<[10, 20, 30, 40, 50]> : tensor<5xi32>
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %s = stablehlo.add %a, %b : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) {
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  } : (tensor<3xi32>, tensor<5x1xi32>, tensor<5xi32>) -> tensor<3xi32>
  check.expect_eq_const %0, dense<[51, 32, 3]> : tensor<3xi32>
  return
}

// -----

// Whole rows are replaced.
func.func @scatter_rows() {
  %x = stablehlo.constant dense<0> : tensor<3x2xi32>
  %i = stablehlo.constant dense<[2, 0]> : tensor<2xi32>
  %u = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %0 = "stablehlo.scatter"(%x, %i, %u) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    stablehlo.return %b : tensor<i32>
  }) {
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  } : (tensor<3x2xi32>, tensor<2xi32>, tensor<2x2xi32>) -> tensor<3x2xi32>
  check.expect_eq_const %0, dense<[[3, 4], [0, 0], [1, 2]]> : tensor<3x2xi32>
  return
}

// -----

// Two inputs at once; the body sees both.
func.func @scatter_two() {
  %x = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %y = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %i = stablehlo.constant dense<1> : tensor<1x1xi32>
  %u = stablehlo.constant dense<5> : tensor<1xi32>
  %v = stablehlo.constant dense<0.5> : tensor<1xf32>
  %0:2 = "stablehlo.scatter"(%x, %y, %i, %u, %v) ({
  ^bb0(%a: tensor<i32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<f32>):
    %s = stablehlo.multiply %a, %c : tensor<i32>
    %t = stablehlo.subtract %b, %d : tensor<f32>
    stablehlo.return %s, %t : tensor<i32>, tensor<f32>
  }) {
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
  } : (tensor<2xi32>, tensor<2xf32>, tensor<1x1xi32>, tensor<1xi32>, tensor<1xf32>) -> (tensor<2xi32>, tensor<2xf32>)
  check.expect_eq_const %0#0, dense<[1, 10]> : tensor<2xi32>
  check.expect_eq_const %0#1, dense<[1.0, 1.5]> : tensor<2xf32>
  return
}
