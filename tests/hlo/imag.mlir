func.func @imag_complex() {
  %x = stablehlo.constant dense<[(1.0, 2.0), (-3.0, 4.0)]> : tensor<2xcomplex<f32>>
  %y = stablehlo.imag %x : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
  check.expect_eq_const %y, dense<[2.0, 4.0]> : tensor<2xf32>
  return
}
