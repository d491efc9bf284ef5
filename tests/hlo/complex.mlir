func.func @complex_of_parts() {
  %re = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %im = stablehlo.constant dense<[3.0, 0.5]> : tensor<2xf32>
  %z = stablehlo.complex %re, %im : tensor<2xcomplex<f32>>
  check.expect_eq_const %z, dense<[(1.0, 3.0), (-2.0, 0.5)]> : tensor<2xcomplex<f32>>
  return
}
