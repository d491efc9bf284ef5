// As half precision: rounds to even, overflows, flushes its subnormals.
func.func @reduce_precision_half() {
  %x = stablehlo.constant dense<[1.00048828125, 65520.0, 3.0517578125e-05, 6.103515625e-05]> : tensor<4xf32>
  %y = stablehlo.reduce_precision %x, format = e5m10 : tensor<4xf32>
  check.expect_eq_const %y, dense<[1.0, 0x7F800000, 0.0, 6.103515625e-05]> : tensor<4xf32>
  return
}
