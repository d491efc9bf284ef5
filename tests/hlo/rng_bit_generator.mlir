// Known answers of Threefry-2x32-20 and Philox-4x32-10 for a key and a counter of zeros.
func.func @rng_bit_generator_three_fry() {
  %state = stablehlo.constant dense<0> : tensor<2xui64>
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2xui32>)
  check.expect_eq_const %bits, dense<[1797259609, 2579123966]> : tensor<2xui32>
  check.expect_eq_const %next, dense<[0, 1]> : tensor<2xui64>
  %after, %wide = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<1xui64>)
  check.expect_eq_const %wide, dense<11077253088097075545> : tensor<1xui64>
  return
}

// -----

func.func @rng_bit_generator_philox() {
  %state = stablehlo.constant dense<0> : tensor<3xui64>
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui32>)
  check.expect_eq_const %bits, dense<[1713891541, 3781805453, 3159862348, 2600524760]> : tensor<4xui32>
  check.expect_eq_const %next, dense<[0, 1, 0]> : tensor<3xui64>
  return
}

// -----

// The counter's low word carries into the high one.
func.func @rng_bit_generator_carry() {
  %state = stablehlo.constant dense<[7, 18446744073709551615, 4]> : tensor<3xui64>
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<8xui32>)
  check.expect_eq_const %next, dense<[7, 1, 5]> : tensor<3xui64>
  %zero = stablehlo.constant dense<[7, 0, 5]> : tensor<3xui64>
  %after, %same = stablehlo.rng_bit_generator %zero, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui32>)
  %second = stablehlo.slice %bits [4:8] : (tensor<8xui32>) -> tensor<4xui32>
  check.expect_eq %second, %same : tensor<4xui32>
  return
}
