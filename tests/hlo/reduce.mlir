// Starts from the initial value and goes from left to right.
func.func @reduce_in_order() {
  %x = stablehlo.constant dense<[[16777216.0, 1.0, 1.0], [1.0, 1.0, 16777216.0]]> : tensor<2x3xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  check.expect_eq_const %0, dense<[16777216.0, 16777218.0]> : tensor<2xf32>
  return
}

// -----

// The place of the maximum: two inputs together.
func.func @reduce_two() {
  %x = stablehlo.constant dense<[3, 9, 4, 9]> : tensor<4xi32>
  %i = stablehlo.iota dim = 0 : tensor<4xi32>
  %least = stablehlo.constant dense<-2147483648> : tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.reduce(%x init: %least), (%i init: %zero) across dimensions = [0] : (tensor<4xi32>, tensor<4xi32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
   reducer(%a: tensor<i32>, %c: tensor<i32>) (%b: tensor<i32>, %d: tensor<i32>) {
    %p = stablehlo.compare GE, %a, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %v = stablehlo.select %p, %a, %c : tensor<i1>, tensor<i32>
    %k = stablehlo.select %p, %b, %d : tensor<i1>, tensor<i32>
    stablehlo.return %v, %k : tensor<i32>, tensor<i32>
  }
  check.expect_eq_const %0#0, dense<9> : tensor<i32>
  check.expect_eq_const %0#1, dense<1> : tensor<i32>
  return
}

// -----

// Nothing to reduce gives the initial value; no dimension to reduce applies the body once.
func.func @reduce_edges() {
  %x = stablehlo.constant dense<> : tensor<0x2xi32>
  %z = stablehlo.constant dense<7> : tensor<i32>
  %0 = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0] : (tensor<0x2xi32>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %0, dense<7> : tensor<2xi32>
  %y = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %1 = stablehlo.reduce(%y init: %z) applies stablehlo.add across dimensions = [] : (tensor<2xi32>, tensor<i32>) -> tensor<2xi32>
  check.expect_eq_const %1, dense<[8, 9]> : tensor<2xi32>
  return
}
