// f32 rows into the formats that are written: plain floats, MLX's affine and floating modes, GGUF's Q8_0 and Q4_0.
// Each gives the bits of its reference: mx.quantize (MLX, on the CPU) and quantize of the `gguf` package.
// Values are finite. Pure; any alignment of what is written.
#ifndef CEL_MODEL_WRITE_QUANTIZE_H
#define CEL_MODEL_WRITE_QUANTIZE_H

#include "model/dtype.h"

// n values as F32, F16 or BF16, rounded to nearest even.
void cel_narrow(const float *src, cel_dtype to, void *dst, int64_t n);
// Rounds in place to what the type can hold.
void cel_round_to(float *x, cel_dtype to, int64_t n);

// One row. `packed` takes cols * bits / 8 bytes, `scales` and `biases` one `scale_type` per group.
// cols is a multiple of group (32, 64, 128); bits 2 to 6 or 8.
void cel_quantize_affine(const float *src, int64_t cols, int bits, int group, cel_dtype scale_type, void *packed,
                         void *scales, void *biases);

// One row of mxfp4 (4 bits, groups of 32), mxfp8 (8, 32) or nvfp4 (4, 16); one byte of scale per group. The reference
// computes in the type its weight has, `value_type`, which src is exact in.
void cel_quantize_micro(const float *src, int64_t cols, int bits, int group, cel_dtype value_type, void *packed,
                        void *scales);

// n values, a multiple of 32, to blocks.
void cel_quantize_q8_0(const float *src, void *dst, int64_t n);
void cel_quantize_q4_0(const float *src, void *dst, int64_t n);

#endif
