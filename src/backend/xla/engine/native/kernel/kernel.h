// Microkernels: arithmetic on plain arrays, nothing else. One table of function pointers; the scalar table
// is complete and is the definition; each instruction set overlays what it does better (select.c).
// Kernels return void, allocate nothing, know no threads: the plan has checked every size, and splits work
// by handing out ranges of outputs.
//
// One output element is always computed by the same sequence of operations, whatever the number of rows,
// tokens or threads in the call: decode, batched decode and prefill give the same bits. Different
// instruction sets may differ within the bound of kernel.def.
#ifndef CEL_XLA_NATIVE_KERNEL_KERNEL_H
#define CEL_XLA_NATIVE_KERNEL_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/kept.h"

// ---- linear: y[t][r] = sum_c x[t][c] * w[r][c] ------------------------------------------------------

typedef enum cel_linear_format {
#define CEL_LINEAR(code, name, block, bytes, scales, biased) CEL_LIN_##code,
#include "backend/xla/engine/native/kernel/linear.def"
#undef CEL_LINEAR
  CEL_LIN_FORMATS
} cel_linear_format;

typedef enum cel_linear_precision {
  CEL_LIN_PREC_F32,  // weights widened, FMA in f32
  CEL_LIN_PREC_I16,  // quantized formats: activations as int16 per group, exact integer dot per group
  CEL_LIN_PREC_I8,   // the same with int8, for formats of at most 6 bits (cel_lin_bytes); the others as I16
} cel_linear_precision;
extern const char *const cel_linear_precision_names[3];

typedef struct cel_linear {  // describes one weight matrix; all that a kernel needs to know
  cel_linear_format format;
  cel_linear_precision precision;  // plain formats, MLX_MXFP8 and FP8, whose weights are no small integers, compute in f32
  int64_t rows, cols;              // [out, in]; cols is whole blocks / groups, and of MLX formats whole units of 32
  int bits, group;                 // MLX only: AFFINE 2, 3, 4, 5, 6, 8 in 32, 64, 128; MXFP4 4, 32; MXFP8 8, 32; NVFP4 4, 16;
                                   // FP8 8, 32, 64, 128
  int scale_type;                  // AFFINE: CEL_LIN_F32, CEL_LIN_F16 or CEL_LIN_BF16; FP8: CEL_LIN_F32
  const uint8_t *w;                // alignment 1
  int64_t w_row_bytes;
  const uint8_t *scales, *biases;  // MLX only; [rows][cols / group] of scale_type (AFFINE, FP8) or bytes, alignment 1; biases: AFFINE only
} cel_linear;

// What linear.def says of a format.
typedef struct cel_linear_traits {
  const char *name;
  int block, block_bytes;  // 0: MLX
  int scales;
  bool biased;
} cel_linear_traits;
const cel_linear_traits *cel_linear_traits_of(cel_linear_format f);

// Activations are packed once per token row in the form the weight's kernel wants (linear_pack), shared by
// all matrices for which cel_linear_same_pack says so (q, k, v; gate, up).
// Bytes of one packed token row, a multiple of 64. Pure.
int64_t cel_linear_pack_bytes(const cel_linear *w);
bool cel_linear_same_pack(const cel_linear *a, const cel_linear *b);
// Scratch one thread needs inside linear_mul, a multiple of 64 (bounded: panels, never the matrix). Pure.
int64_t cel_linear_scratch_bytes(const cel_linear *w);
// Bytes of one of its scales, 0 without scales. Pure.
int64_t cel_linear_scale_bytes(const cel_linear *w);
// Rows [first, first + n) as a matrix of its own. Pure.
cel_linear cel_linear_rows(const cel_linear *w, int64_t first, int64_t n);
// Rows are best handed out in multiples of this (register tile).
int cel_linear_row_tile(const cel_linear *w);

// ---- attention over a KV cache ----------------------------------------------------------------------

// Query i (token i) attends, in cache row slots[i * slot_step], to keys j with
//   lo <= j <= positions[i],  lo = window > 0 ? max(0, positions[i] - window + 1) : 0.
// score = softcap > 0 ? softcap * tanh(scale * q.k / softcap) : scale * q.k; softmax in f32; out = p.v.
// Query head h reads kv head h / (n_q / n_kv). A value is as wide as a key or, in latent attention (v is k then), the
// first columns of one. Keys are cut in tiles at absolute multiples of
// CEL_ATTENTION_TILE and joined in order (running maximum), so the bits do not depend on chunking.
// Keys and values are kept as f32, as f16, or as whole numbers of steps (base/kept.h).
// I16, one step a vector: score = scale * (step * q.k), and out = sum of (p * step).v, with k and v the whole numbers.
// I8, a step for each group: k and v are number * step, rounded to f32.
typedef enum cel_kv { CEL_KV_F32, CEL_KV_F16, CEL_KV_I16, CEL_KV_I8, CEL_KV_KINDS } cel_kv;
static inline int cel_kv_bytes(cel_kv kv) { return kv == CEL_KV_F32 ? 4 : kv == CEL_KV_I8 ? 1 : 2; }  // of an element
static inline int cel_kv_width(cel_kv kv, int d) {
  return kv == CEL_KV_I16 ? cel_kept_width_i16(d) : kv == CEL_KV_I8 ? cel_kept_width_i8(d) : d;
}

enum { CEL_ATTENTION_TILE = 64, CEL_ATTENTION_WIDEST = 1024 };
typedef struct cel_attention {
  const float *q;     // [n][n_q][d]
  float *out;         // [n][n_q][dv]
  const void *k, *v;  // of this layer: element (slot, kv head, j, c) at slot*slot_stride + head*head_stride + j*width + c
  cel_kv kv;
  int width;          // cel_kv_width(kv, d)
  int64_t slot_stride, head_stride;  // in elements
  const int32_t *slots;
  int slot_step;             // 1: one slot per token; 0: slots[0] for all
  const int32_t *positions;  // [n]
  int64_t n;
  int n_q, n_kv, d, dv;      // dv <= d <= CEL_ATTENTION_WIDEST, multiples of 4
  float scale, softcap;
  int64_t window;
  const float *sinks;        // [n_q] one more logit of each head, whose share of the softmax nobody gets; NULL: none
  int workers;               // how many share the items, in turn; 0: one
} cel_attention;
// Work items of one call (some split over tokens and heads, the kernel's choice by how many workers there are; bits do not
// depend on it). attention(a, begin, end, scratch) does items [begin, end). Pure.
int64_t cel_attention_items(const cel_attention *a);
int64_t cel_attention_scratch_bytes(const cel_attention *a);  // per thread, a multiple of 64

// ---- recurrent states --------------------------------------------------------------------------------

// slot_step 1: token i is the next one of the sequence in row slots[i]; 0: all n tokens, in order, of row slots[0].
// `state` is that of one layer: row r begins at r * slot_stride floats.

// y_t[c] = sum over j of weight[j][c] * u_{t - taps + 1 + j}[c], terms added in the order of j. A row of the state is
// [taps - 1][channels], the inputs before the first token, oldest first.
typedef struct cel_short_conv {
  const float *u, *weight;  // [n][channels], [taps][channels]
  float *y, *state;
  int64_t slot_stride, rows;
  const int32_t *slots;
  int slot_step;
  int64_t n, channels;
  int taps;                 // >= 2
} cel_short_conv;

// Value head h reads key head h / (n_v / n_k); S [d_k][d_v] is its state:
//   S = exp(g) S;  d = beta (v - sum_i k[i] S[i]);  S[i] += k[i] d;  o = sum_i q[i] S[i], sums in the order of i.
// An item is a block of CEL_DELTA_COLUMNS columns of one head of one sequence.
enum { CEL_DELTA_COLUMNS = 32 };
typedef struct cel_gated_delta {
  const float *q, *k;     // [n][n_k][d_k]
  const float *v;         // [n][n_v][d_v]
  const float *g, *beta;  // [n][n_v]
  float *o, *state;
  int64_t slot_stride, rows;
  const int32_t *slots;
  int slot_step;
  int64_t n;
  int n_k, n_v, d_k, d_v;
} cel_gated_delta;
static inline int64_t cel_delta_blocks(const cel_gated_delta *d) { return (d->d_v + CEL_DELTA_COLUMNS - 1) / CEL_DELTA_COLUMNS; }
static inline int64_t cel_delta_items(const cel_gated_delta *d) {
  return (d->slot_step ? d->n : 1) * d->n_v * cel_delta_blocks(d);
}

// ---- the table --------------------------------------------------------------------------------------

typedef struct cel_kernels {
  const char *isa;  // "scalar", "avx2", ...
#define CEL_KERNEL(name, args) void (*name) args;
#include "backend/xla/engine/native/kernel/kernel.def"
#undef CEL_KERNEL
} cel_kernels;

// The same bits (base/cpu.h) give the same table. Pure.
cel_kernels cel_kernels_for(uint32_t cpu_bits);
extern const cel_kernels cel_kernels_scalar;  // complete

#endif
