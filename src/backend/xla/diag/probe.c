#include "backend/xla/diag/probe.h"

#include "backend/xla/diag/probe_reference.h"

#define EXACT "canonical-decomposition"
#define NEAR "mathematical-closeness"
#define BITS {.kind = CEL_CRITERION_BITS}
#define WITHIN(a, r) {.kind = CEL_CRITERION_CLOSE, .abs = a, .rel = r}
#define F32_PRODUCT "dot_in=f32 dot_accumulate=f32 dot_out=f32 sum=any_order"

const cel_probe cel_probes[] = {
    {"affine-q4-dequant", "stablehlo.shift_right_logical, and, convert, multiply, add", EXACT,
     "checkpoint=affine_u4 group=8 lanes=low_first carrier=f32 rounding=after_scale,after_bias", cel_probe_text_dequant, BITS,
     {{"weight", "<u4", 2, {2, 2}}, {"scales", "<f4", 2, {2, 2}}, {"biases", "<f4", 2, {2, 2}}}, {"y", "<f4", 2, {2, 16}},
     cel_probe_fill_dequant, cel_probe_dequant},
    {"dense-matmul", "stablehlo.dot_general", EXACT, "checkpoint=f32 " F32_PRODUCT " operands=exact_in_12_bits", cel_probe_text_matmul, BITS,
     {{"x", "<f4", 2, {2, 2}}, {"w", "<f4", 2, {2, 3}}}, {"y", "<f4", 2, {2, 3}}, cel_probe_fill_matmul, cel_probe_matmul},
    {"residual-add", "stablehlo.add", EXACT, "carrier=f32 rounding=once", cel_probe_text_add, BITS,
     {{"x", "<f4", 2, {2, 4}}, {"y", "<f4", 2, {2, 4}}}, {"y", "<f4", 2, {2, 4}}, cel_probe_fill_sum, cel_probe_add},
    {"rms-norm", "mlxcel.rms_norm", NEAR, "checkpoint=f32 reduce=f32 sum=any_order eps=1e-5 carrier=f32", cel_probe_text_rms_norm,
     WITHIN(2e-6, 2e-5), {{"x", "<f4", 2, {2, 4}}, {"w", "<f4", 1, {4}}}, {"y", "<f4", 2, {2, 4}}, cel_probe_fill_norm, cel_probe_rms_norm},
    {"layer-norm", "mlxcel.layer_norm", NEAR, "checkpoint=f32 reduce=f32 sum=any_order variance=biased eps=1e-5 carrier=f32",
     cel_probe_text_layer_norm, WITHIN(2e-6, 2e-5), {{"x", "<f4", 2, {2, 4}}, {"w", "<f4", 1, {4}}}, {"y", "<f4", 2, {2, 4}},
     cel_probe_fill_norm, cel_probe_layer_norm},
    {"attention-softmax", "stablehlo.reduce, exponential, divide", NEAR, "reduce=f32 sum=any_order shift=row_maximum carrier=f32",
     cel_probe_text_softmax, WITHIN(2e-6, 2e-5), {{"x", "<f4", 2, {2, 4}}}, {"y", "<f4", 2, {2, 4}}, cel_probe_fill_one, cel_probe_softmax},
    {"silu-projection", "mlxcel.linear, stablehlo.logistic", NEAR, "checkpoint=f32 " F32_PRODUCT " act=silu", cel_probe_text_silu,
     WITHIN(3e-6, 3e-5), {{"x", "<f4", 2, {2, 4}}, {"w", "<f4", 2, {3, 4}}}, {"y", "<f4", 2, {2, 3}}, cel_probe_fill_projection, cel_probe_silu},
    {"gelu-projection", "mlxcel.linear, stablehlo.tanh", NEAR, "checkpoint=f32 " F32_PRODUCT " act=gelu_tanh", cel_probe_text_gelu,
     WITHIN(3e-6, 3e-5), {{"x", "<f4", 2, {2, 4}}, {"w", "<f4", 2, {3, 4}}}, {"y", "<f4", 2, {2, 3}}, cel_probe_fill_projection, cel_probe_gelu},
    {"rope", "mlxcel.rope", NEAR, "pairs=halves carrier=f32 angles=given", cel_probe_text_rope, WITHIN(2e-6, 2e-5),
     {{"x", "<f4", 3, {2, 2, 8}}, {"cos", "<f4", 2, {2, 4}}, {"sin", "<f4", 2, {2, 4}}}, {"y", "<f4", 3, {2, 2, 8}}, cel_probe_fill_rope, cel_probe_rope},
    {"cuda-prefix-sum", "stablehlo.add in the order of a GPU's block", EXACT, "carrier=f32 each_thread=4 warp=32 warps=2 scan=doubling",
     cel_probe_text_scan, BITS, {{"x", "<f4", 2, {2, 130}}}, {"y", "<f4", 2, {2, 130}}, cel_probe_fill_scan, cel_probe_scan},
};
const int cel_n_probes = CEL_COUNT(cel_probes);

int64_t cel_probe_elements(const cel_probe_tensor *t) {
  int64_t n = 1;
  for (int i = 0; i < t->rank; i++) n *= t->dims[i];
  return n;
}
