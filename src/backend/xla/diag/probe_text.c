// The probes' programs. Those of what the emitter writes as composites have the composite, so that an engine's kernels are
// probed where it has them.
#include "backend/xla/diag/probe_reference.h"

#define MAIN(arguments, result) "module @probe {\n  func.func public @main(" arguments ") -> " result " {\n"
#define END "  }\n}\n"
#define X "tensor<2x4xf32>"
#define V "tensor<4xf32>"
#define R "tensor<2xf32>"
#define S "tensor<f32>"

const char cel_probe_text_dequant[] =
    MAIN("%w: tensor<2x2xui32>, %scales: tensor<2x2xf32>, %biases: tensor<2x2xf32>", "tensor<2x16xf32>")
    "    %0 = stablehlo.iota dim = 2 : tensor<2x2x8xui32>\n"
    "    %1 = stablehlo.constant dense<4> : tensor<2x2x8xui32>\n"
    "    %2 = stablehlo.multiply %0, %1 : tensor<2x2x8xui32>\n"
    "    %3 = stablehlo.broadcast_in_dim %w, dims = [0, 1] : (tensor<2x2xui32>) -> tensor<2x2x8xui32>\n"
    "    %4 = stablehlo.shift_right_logical %3, %2 : tensor<2x2x8xui32>\n"
    "    %5 = stablehlo.constant dense<15> : tensor<2x2x8xui32>\n"
    "    %6 = stablehlo.and %4, %5 : tensor<2x2x8xui32>\n"
    "    %7 = stablehlo.convert %6 : (tensor<2x2x8xui32>) -> tensor<2x2x8xf32>\n"
    "    %8 = stablehlo.broadcast_in_dim %scales, dims = [0, 1] : (tensor<2x2xf32>) -> tensor<2x2x8xf32>\n"
    "    %9 = stablehlo.multiply %7, %8 : tensor<2x2x8xf32>\n"
    "    %10 = stablehlo.broadcast_in_dim %biases, dims = [0, 1] : (tensor<2x2xf32>) -> tensor<2x2x8xf32>\n"
    "    %11 = stablehlo.add %9, %10 : tensor<2x2x8xf32>\n"
    "    %12 = stablehlo.reshape %11 : (tensor<2x2x8xf32>) -> tensor<2x16xf32>\n"
    "    return %12 : tensor<2x16xf32>\n" END;

const char cel_probe_text_matmul[] =
    MAIN("%x: tensor<2x2xf32>, %w: tensor<2x3xf32>", "tensor<2x3xf32>")
    "    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>\n"
    "    return %0 : tensor<2x3xf32>\n" END;

const char cel_probe_text_add[] = MAIN("%x: " X ", %y: " X, X)
    "    %0 = stablehlo.add %x, %y : " X "\n"
    "    return %0 : " X "\n" END;

#define MEAN_SQUARE(from)                                                                                             \
  "    %s0 = stablehlo.multiply " from ", " from " : " X "\n"                                                         \
  "    %zero = stablehlo.constant dense<0.0> : " S "\n"                                                               \
  "    %s1 = stablehlo.reduce(%s0 init: %zero) applies stablehlo.add across dimensions = [1] : (" X ", " S ") -> " R "\n" \
  "    %four = stablehlo.constant dense<4.0> : " R "\n"                                                               \
  "    %s2 = stablehlo.divide %s1, %four : " R "\n"                                                                   \
  "    %eps = stablehlo.constant dense<9.99999974E-6> : " R "\n"                                                      \
  "    %s3 = stablehlo.add %s2, %eps : " R "\n"                                                                       \
  "    %s4 = stablehlo.rsqrt %s3 : " R "\n"                                                                           \
  "    %s5 = stablehlo.broadcast_in_dim %s4, dims = [0] : (" R ") -> " X "\n"                                          \
  "    %s6 = stablehlo.multiply " from ", %s5 : " X "\n"                                                              \
  "    %s7 = stablehlo.broadcast_in_dim %w, dims = [1] : (" V ") -> " X "\n"                                           \
  "    %s8 = stablehlo.multiply %s6, %s7 : " X "\n"                                                                   \
  "    return %s8 : " X "\n"

const char cel_probe_text_rms_norm[] = MAIN("%x: " X ", %w: " V, X)
    "    %0 = stablehlo.composite \"mlxcel.rms_norm\" %x, %w {composite_attributes = {eps = 9.99999974E-6 : f32, plus = 0.0 : f32}, "
    "decomposition = @rms_norm} : (" X ", " V ") -> " X "\n"
    "    return %0 : " X "\n"
    "  }\n  func.func private @rms_norm(%x: " X ", %w: " V ") -> " X " {\n" MEAN_SQUARE("%x") END;

const char cel_probe_text_layer_norm[] = MAIN("%x: " X ", %w: " V, X)
    "    %0 = stablehlo.composite \"mlxcel.layer_norm\" %x, %w {composite_attributes = {eps = 9.99999974E-6 : f32}, "
    "decomposition = @layer_norm} : (" X ", " V ") -> " X "\n"
    "    return %0 : " X "\n"
    "  }\n  func.func private @layer_norm(%x: " X ", %w: " V ") -> " X " {\n"
    "    %nought = stablehlo.constant dense<0.0> : " S "\n"
    "    %m0 = stablehlo.reduce(%x init: %nought) applies stablehlo.add across dimensions = [1] : (" X ", " S ") -> " R "\n"
    "    %n = stablehlo.constant dense<4.0> : " R "\n"
    "    %m1 = stablehlo.divide %m0, %n : " R "\n"
    "    %m2 = stablehlo.broadcast_in_dim %m1, dims = [0] : (" R ") -> " X "\n"
    "    %off = stablehlo.subtract %x, %m2 : " X "\n" MEAN_SQUARE("%off") END;

const char cel_probe_text_softmax[] = MAIN("%x: " X, X)
    "    %lowest = stablehlo.constant dense<0xFF800000> : " S "\n"
    "    %0 = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [1] : (" X ", " S ") -> " R "\n"
    "    %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (" R ") -> " X "\n"
    "    %2 = stablehlo.subtract %x, %1 : " X "\n"
    "    %3 = stablehlo.exponential %2 : " X "\n"
    "    %zero = stablehlo.constant dense<0.0> : " S "\n"
    "    %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1] : (" X ", " S ") -> " R "\n"
    "    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (" R ") -> " X "\n"
    "    %6 = stablehlo.divide %3, %5 : " X "\n"
    "    return %6 : " X "\n" END;

#define Y "tensor<2x3xf32>"
#define PROJECT                                                                                                       \
  MAIN("%x: " X ", %w: tensor<3x4xf32> {mlxcel.weight = \"w\"}", Y)                                                    \
  "    %0 = stablehlo.composite \"mlxcel.linear\" %x, %w {composite_attributes = {format = \"F32\"}, decomposition = @linear} : (" X ", tensor<3x4xf32>) -> " Y "\n"
#define LINEAR                                                                                                        \
  "  }\n  func.func private @linear(%x: " X ", %w: tensor<3x4xf32>) -> " Y " {\n"                                      \
  "    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (" X ", tensor<3x4xf32>) -> " Y "\n" \
  "    return %0 : " Y "\n"

const char cel_probe_text_silu[] = PROJECT
    "    %1 = stablehlo.logistic %0 : " Y "\n"
    "    %2 = stablehlo.multiply %0, %1 : " Y "\n"
    "    return %2 : " Y "\n" LINEAR END;

const char cel_probe_text_gelu[] = PROJECT
    "    %1 = stablehlo.multiply %0, %0 : " Y "\n"
    "    %2 = stablehlo.multiply %1, %0 : " Y "\n"
    "    %3 = stablehlo.constant dense<4.471500e-02> : " Y "\n"
    "    %4 = stablehlo.multiply %2, %3 : " Y "\n"
    "    %5 = stablehlo.add %0, %4 : " Y "\n"
    "    %6 = stablehlo.constant dense<0.797884583> : " Y "\n"
    "    %7 = stablehlo.multiply %5, %6 : " Y "\n"
    "    %8 = stablehlo.tanh %7 : " Y "\n"
    "    %9 = stablehlo.constant dense<1.0> : " Y "\n"
    "    %10 = stablehlo.add %8, %9 : " Y "\n"
    "    %11 = stablehlo.constant dense<0.5> : " Y "\n"
    "    %12 = stablehlo.multiply %0, %11 : " Y "\n"
    "    %13 = stablehlo.multiply %12, %10 : " Y "\n"
    "    return %13 : " Y "\n" LINEAR END;

#define Q "tensor<2x2x8xf32>"
#define H "tensor<2x2x4xf32>"
#define C "tensor<2x4xf32>"
const char cel_probe_text_rope[] = MAIN("%x: " Q ", %cos: " C ", %sin: " C, Q)
    "    %0 = stablehlo.composite \"mlxcel.rope\" %x, %cos, %sin {composite_attributes = {dims = 8 : i32, interleaved = false}, "
    "decomposition = @rope} : (" Q ", " C ", " C ") -> " Q "\n"
    "    return %0 : " Q "\n"
    "  }\n  func.func private @rope(%x: " Q ", %cos: " C ", %sin: " C ") -> " Q " {\n"
    "    %0 = stablehlo.slice %x [0:2, 0:2, 0:4] : (" Q ") -> " H "\n"
    "    %1 = stablehlo.slice %x [0:2, 0:2, 4:8] : (" Q ") -> " H "\n"
    "    %2 = stablehlo.broadcast_in_dim %cos, dims = [0, 2] : (" C ") -> " H "\n"
    "    %3 = stablehlo.broadcast_in_dim %sin, dims = [0, 2] : (" C ") -> " H "\n"
    "    %4 = stablehlo.multiply %0, %2 : " H "\n"
    "    %5 = stablehlo.multiply %1, %3 : " H "\n"
    "    %6 = stablehlo.subtract %4, %5 : " H "\n"
    "    %7 = stablehlo.multiply %1, %2 : " H "\n"
    "    %8 = stablehlo.multiply %0, %3 : " H "\n"
    "    %9 = stablehlo.add %7, %8 : " H "\n"
    "    %10 = stablehlo.concatenate %6, %9, dim = 2 : (" H ", " H ") -> " Q "\n"
    "    return %10 : " Q "\n" END;

// Threads [2, 64] as [2 rows, 2 warps, 32 lanes].
#define T4 "tensor<2x64x4xf32>"
#define T1 "tensor<2x64x1xf32>"
#define T "tensor<2x64xf32>"
#define W "tensor<2x2x32xf32>"
// One turn of a warp's scan: every lane from `d` on adds the total of the lane d below, the others nothing.
#define DOUBLE(from, to, d, rest)                                                                                     \
  "    %a" to " = stablehlo.slice %w" from " [0:2, 0:2, 0:" rest "] : (" W ") -> tensor<2x2x" rest "xf32>\n"             \
  "    %b" to " = stablehlo.pad %a" to ", %zero, low = [0, 0, " d "], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<2x2x" rest     \
  "xf32>, " S ") -> " W "\n"                                                                                           \
  "    %w" to " = stablehlo.add %w" from ", %b" to " : " W "\n"
#define PART(name, k) "    %" name " = stablehlo.slice %1 [0:2, 0:64, " k "] : (" T4 ") -> " T1 "\n"

const char cel_probe_text_scan[] = MAIN("%x: tensor<2x130xf32>", "tensor<2x130xf32>")
    "    %zero = stablehlo.constant dense<0.0> : " S "\n"
    "    %0 = stablehlo.pad %x, %zero, low = [0, 0], high = [0, 126], interior = [0, 0] : (tensor<2x130xf32>, " S ") -> tensor<2x256xf32>\n"
    "    %1 = stablehlo.reshape %0 : (tensor<2x256xf32>) -> " T4 "\n"
    PART("p0", "0:1") PART("p1", "1:2") PART("p2", "2:3") PART("p3", "3:4")
    "    %q1 = stablehlo.add %p0, %p1 : " T1 "\n"
    "    %q2 = stablehlo.add %q1, %p2 : " T1 "\n"
    "    %q3 = stablehlo.add %q2, %p3 : " T1 "\n"
    "    %own = stablehlo.concatenate %p0, %q1, %q2, %q3, dim = 2 : (" T1 ", " T1 ", " T1 ", " T1 ") -> " T4 "\n"
    "    %w0 = stablehlo.reshape %q3 : (" T1 ") -> " W "\n"
    DOUBLE("0", "1", "1", "31") DOUBLE("1", "2", "2", "30") DOUBLE("2", "3", "4", "28") DOUBLE("3", "4", "8", "24") DOUBLE("4", "5", "16", "16")
    "    %e0 = stablehlo.slice %w5 [0:2, 0:2, 0:31] : (" W ") -> tensor<2x2x31xf32>\n"
    "    %e1 = stablehlo.pad %e0, %zero, low = [0, 0, 1], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<2x2x31xf32>, " S ") -> " W "\n"
    "    %f0 = stablehlo.slice %w5 [0:2, 0:1, 31:32] : (" W ") -> tensor<2x1x1xf32>\n"
    "    %f1 = stablehlo.pad %f0, %zero, low = [0, 1, 0], high = [0, 0, 0], interior = [0, 0, 0] : (tensor<2x1x1xf32>, " S ") -> tensor<2x2x1xf32>\n"
    "    %f2 = stablehlo.reshape %f1 : (tensor<2x2x1xf32>) -> tensor<2x2xf32>\n"
    "    %f3 = stablehlo.broadcast_in_dim %f2, dims = [0, 1] : (tensor<2x2xf32>) -> " W "\n"
    "    %g0 = stablehlo.add %e1, %f3 : " W "\n"
    "    %g1 = stablehlo.reshape %g0 : (" W ") -> " T "\n"
    "    %g2 = stablehlo.broadcast_in_dim %g1, dims = [0, 1] : (" T ") -> " T4 "\n"
    "    %h0 = stablehlo.add %own, %g2 : " T4 "\n"
    "    %h1 = stablehlo.reshape %h0 : (" T4 ") -> tensor<2x256xf32>\n"
    "    %h2 = stablehlo.slice %h1 [0:2, 0:130] : (tensor<2x256xf32>) -> tensor<2x130xf32>\n"
    "    return %h2 : tensor<2x130xf32>\n" END;
