// One channel, zero padding at both sides.
func.func @convolution_padding() {
  %x = stablehlo.constant dense<[[[1.0], [2.0], [3.0], [4.0]]]> : tensor<1x4x1xf32>
  %w = stablehlo.constant dense<[[[1.0]], [[10.0]], [[100.0]]]> : tensor<3x1x1xf32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} : (tensor<1x4x1xf32>, tensor<3x1x1xf32>) -> tensor<1x4x1xf32>
  check.expect_eq_const %0, dense<[[[210.0], [321.0], [432.0], [43.0]]]> : tensor<1x4x1xf32>
  return
}

// -----

// Strides and dilations of both operands.
func.func @convolution_dilation() {
  %x = stablehlo.constant dense<[[[1.0, 2.0, 3.0, 4.0, 5.0]]]> : tensor<1x1x5xf32>
  %w = stablehlo.constant dense<[[[1.0, 10.0]]]> : tensor<1x1x2xf32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [2], rhs_dilate = [2]} : (tensor<1x1x5xf32>, tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
  check.expect_eq_const %0, dense<[[[31.0, 53.0]]]> : tensor<1x1x2xf32>
  %1 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {lhs_dilate = [2]} : (tensor<1x1x5xf32>, tensor<1x1x2xf32>) -> tensor<1x1x8xf32>
  check.expect_eq_const %1, dense<[[[1.0, 20.0, 2.0, 30.0, 3.0, 40.0, 4.0, 50.0]]]> : tensor<1x1x8xf32>
  return
}

// -----

// Each feature group sees its own input channel.
func.func @convolution_groups() {
  %x = stablehlo.constant dense<[[[1.0, 2.0], [3.0, 4.0]]]> : tensor<1x2x2xf32>
  %w = stablehlo.constant dense<[[[10.0, 100.0]]]> : tensor<1x1x2xf32>
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {feature_group_count = 2 : i64, batch_group_count = 1 : i64} : (tensor<1x2x2xf32>, tensor<1x1x2xf32>) -> tensor<1x2x2xf32>
  check.expect_eq_const %0, dense<[[[10.0, 200.0], [30.0, 400.0]]]> : tensor<1x2x2xf32>
  return
}
