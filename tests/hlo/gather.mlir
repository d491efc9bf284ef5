// Rows by number; numbers outside are clamped.
func.func @gather_rows() {
  %x = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>
  %i = stablehlo.constant dense<[2, 0, 9, -1]> : tensor<4xi32>
  %0 = "stablehlo.gather"(%x, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 2>
  } : (tensor<3x2xi32>, tensor<4xi32>) -> tensor<4x2xi32>
  check.expect_eq_const %0, dense<[[5, 6], [1, 2], [5, 6], [1, 2]]> : tensor<4x2xi32>
  return
}

// -----

// One pick per row, the row being a batching dimension.
func.func @gather_batching() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %i = stablehlo.constant dense<[[2], [1]]> : tensor<2x1xi32>
  %0 = "stablehlo.gather"(%x, %i) {
    dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 1>
  } : (tensor<2x3xi32>, tensor<2x1xi32>) -> tensor<2xi32>
  check.expect_eq_const %0, dense<[3, 5]> : tensor<2xi32>
  return
}

// -----

// Two components, in the other order, and a window that keeps both dimensions.
func.func @gather_windows() {
  %x = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6], [7, 8, 9]]> : tensor<3x3xi32>
  %i = stablehlo.constant dense<[[1, 0], [5, 5]]> : tensor<2x2xi32>
  %0 = "stablehlo.gather"(%x, %i) {
    dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], start_index_map = [1, 0], index_vector_dim = 1>,
    slice_sizes = array<i64: 2, 2>
  } : (tensor<3x3xi32>, tensor<2x2xi32>) -> tensor<2x2x2xi32>
  check.expect_eq_const %0, dense<[[[2, 3], [5, 6]], [[5, 6], [8, 9]]]> : tensor<2x2x2xi32>
  return
}
