// What fast maths would change: each op rounds once, in the order written, and infinities and NaN go their way.
// A masked score takes no part, and does not make NaN of the others.
func.func @softmax_of_a_masked_row() {
  %x = stablehlo.constant dense<[0xFF800000, 0.0]> : tensor<2xf32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [] : (tensor<f32>) -> tensor<2xf32>
  %d = stablehlo.subtract %x, %mb : tensor<2xf32>
  %e = stablehlo.exponential %d : tensor<2xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  %sb = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<2xf32>
  %y = stablehlo.divide %e, %sb : tensor<2xf32>
  check.expect_eq_const %y, dense<[0.0, 1.0]> : tensor<2xf32>
  return
}

// -----

// Not fused into one rounding: the two products cancel exactly.
func.func @products_that_cancel() {
  %a = stablehlo.constant dense<[1.0e20, 3.0]> : tensor<2xf32>
  %b = stablehlo.constant dense<[-1.0e20, -3.0]> : tensor<2xf32>
  %x = stablehlo.constant dense<[1.0e10, 0.1]> : tensor<2xf32>
  %ax = stablehlo.multiply %a, %x : tensor<2xf32>
  %bx = stablehlo.multiply %b, %x : tensor<2xf32>
  %y = stablehlo.add %ax, %bx : tensor<2xf32>
  check.expect_eq_const %y, dense<[0.0, 0.0]> : tensor<2xf32>
  return
}

// -----

func.func @tanh_stays_within_one() {
  %x = stablehlo.constant dense<[8.0, 9.0, 10.0, -8.0]> : tensor<4xf32>
  %one = stablehlo.constant dense<1.0> : tensor<4xf32>
  %y = stablehlo.tanh %x : tensor<4xf32>
  %abs = stablehlo.abs %y : tensor<4xf32>
  %ok = stablehlo.compare LE, %abs, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  check.expect_eq_const %ok, dense<[true, true, true, true]> : tensor<4xi1>
  return
}

// -----

// The usual test for NaN is one.
func.func @nan_differs_from_itself() {
  %x = stablehlo.constant dense<[0x7FC00000, 1.0, 0x7F800000]> : tensor<3xf32>
  %y = stablehlo.compare NE, %x, %x : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
  check.expect_eq_const %y, dense<[true, false, false]> : tensor<3xi1>
  return
}
