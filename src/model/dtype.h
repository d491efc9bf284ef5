// Every storage format a tensor of a file can have, one row each in dtype.def: block size, bytes and the
// function that widens to f32. Everything else asks this table.
//
// The f32 value of a quantized element is defined bit for bit: by the `gguf` package's dequantize for
// GGUF blocks; for MLX affine by f32(q * scale) + bias with scale and bias widened to f32 first (two
// roundings, no FMA; text-architectures §1.6).
#ifndef CEL_MODEL_DTYPE_H
#define CEL_MODEL_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef enum cel_dtype {
#define CEL_DTYPE(code, name, block, bytes, gguf, safetensors, widen) code,
#include "model/dtype.def"
#undef CEL_DTYPE
  CEL_DTYPE_COUNT
} cel_dtype;

// Widens n elements, n a multiple of the block, from src to dst.
typedef void cel_widen(const void *src, float *dst, int64_t n);

typedef struct cel_dtype_traits {
  const char *name;         // "Q4_K", "F16", "U32"
  int block;                // elements per block; 1 for plain types
  int block_bytes;
  int gguf_type;            // ggml type number, -1 when GGUF has none
  const char *safetensors;  // dtype word there, NULL when it has none
  cel_widen *widen;         // NULL for integers and predicates
} cel_dtype_traits;

const cel_dtype_traits *cel_dtype_of(cel_dtype t);
bool cel_dtype_by_gguf(int gguf_type, cel_dtype *out);
bool cel_dtype_by_safetensors(const char *word, cel_dtype *out);
// Bytes of n elements; false when n is not whole blocks or the size overflows.
CEL_MUST_CHECK bool cel_dtype_bytes(cel_dtype t, int64_t n, int64_t *bytes);

// MLX affine: one row of `cols` elements of `bits` (2,3,4,5,6,8) from a little-endian bit stream, one scale
// and bias per `group` elements (a multiple of 32), both of dtype `scale_type` (F32, F16, BF16). Any alignment.
void cel_affine_widen(const void *packed, const void *scales, const void *biases, cel_dtype scale_type,
                      int bits, int group, int64_t cols, float *dst);

// MLX's floating modes, which have no biases: one row of E2M1 numbers with powers of two as scales (4 bits, groups
// of 32: mxfp4) or E4M3 numbers (4, 16: nvfp4), or of E4M3 numbers with powers of two (8, 32: mxfp8). One byte a scale.
// f32(value * scale), zeros without a sign where the value is E2M1.
void cel_micro_widen(const void *packed, const void *scales, int bits, int group, int64_t cols, float *dst);
// One row of E4M3 bytes with an f32 scale for every `group`: f32(value * scale). Any alignment.
void cel_fp8_widen(const void *packed, const void *scales, int group, int64_t cols, float *dst);
// "mxfp4", "mxfp8" or "nvfp4"; NULL for no mode there is.
const char *cel_micro_name(int bits, int group);

#endif
