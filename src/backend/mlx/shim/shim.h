// MLX in C: opaque arrays, about fifty operations, no exception. What MLX says when something goes wrong sticks to the
// context, with the place in the model (cel_mlx_path), until cel_mlx_status asks; from then on every operation returns
// NULL, and NULL operands give NULL, so that a walk reads as straight lines.
//
// Operations build a graph; nothing is computed before cel_mlx_eval. An array belongs to the context's scope and goes with
// it (cel_mlx_end_scope), unless it is kept (cel_mlx_keep: from then on the caller's, until cel_mlx_release). Memory is
// reused while a graph runs only for arrays that no handle holds, so a scope ends before its results are evaluated.
//
// Threads: a context is used by one thread at a time, whichever; contexts are independent. Evaluations take turns.
#ifndef CEL_MLX_SHIM_H
#define CEL_MLX_SHIM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct cel_mlx cel_mlx;              // a device, its stream, an error, a scope
typedef struct cel_mlx_array cel_mlx_array;  // up to 8 dimensions, row-major, outermost first
typedef cel_mlx_array *arr;

typedef enum cel_mlx_type { CEL_MLX_F32, CEL_MLX_F16, CEL_MLX_BF16, CEL_MLX_I32, CEL_MLX_U32, CEL_MLX_U8, CEL_MLX_BOOL } cel_mlx_type;
typedef enum cel_mlx_device { CEL_MLX_CPU, CEL_MLX_GPU } cel_mlx_device;

// ---- the library and the context -----------------------------------------------------------------------

const char *cel_mlx_version(void);     // of the library that is loaded
const char *cel_mlx_built_for(void);   // of the headers this program was compiled with
bool cel_mlx_available(cel_mlx_device device);
// "metal", "cuda" or "cpu": what MLX calls its device.
const char *cel_mlx_device_name(cel_mlx_device device);

CEL_MUST_CHECK cel_status cel_mlx_open(cel_mlx_device device, cel_mlx **out, cel_err *err);
void cel_mlx_close(cel_mlx *c);  // NULL is fine. Kept arrays must be released before
// The error so far and where it happened; clears it.
CEL_MUST_CHECK cel_status cel_mlx_status(cel_mlx *c, cel_err *err);
void cel_mlx_path(cel_mlx *c, const char *fmt, ...) CEL_PRINTF(2, 3);
// A fault of ours or of the model, found between operations: sticks like MLX's own.
void cel_mlx_refuse(cel_mlx *c, cel_status status, const char *fmt, ...) CEL_PRINTF(3, 4);

void cel_mlx_end_scope(cel_mlx *c);
arr cel_mlx_keep(cel_mlx *c, arr x);       // another handle on the same array, in no scope
void cel_mlx_release(cel_mlx *c, arr kept);  // NULL is fine
int64_t cel_mlx_live(const cel_mlx *c);    // handles there are

typedef struct cel_mlx_memory { int64_t active, peak, cache, limit; } cel_mlx_memory;
void cel_mlx_memory_of(cel_mlx_memory *out);  // bytes, of the process
// What MLX may take, of all its contexts; what was its limit (eight tenths of the machine's memory, on Metal of what the system
// recommends). On the CPU an evaluation that would need more is CEL_OOM; GPUs' allocators see to it themselves.
int64_t cel_mlx_limit_memory(int64_t bytes);
// On Metal, so much stays resident (as far as the system allows); nothing elsewhere.
void cel_mlx_wire(int64_t bytes);
void cel_mlx_clear_cache(void);

// Joins the processes that MLX's launch variables name (ring, MPI, JACCL, NCCL), which must be n; this one's number.
CEL_MUST_CHECK cel_status cel_mlx_join(cel_mlx *c, int n, int *rank, cel_err *err);
arr cel_mlx_all_sum(cel_mlx *c, arr x);  // over the processes that were joined

// ---- arrays from memory --------------------------------------------------------------------------------

// The caller's memory where MLX can take it as it is (unified memory; Metal: whole pages), else a copy. It must stay as
// it is until the context is closed. NULL for a shape whose dimensions do not fit into 31 bits.
arr cel_mlx_lend(cel_mlx *c, cel_mlx_type type, int rank, const int64_t *dims, const void *data);
arr cel_mlx_copy(cel_mlx *c, cel_mlx_type type, int rank, const int64_t *dims, const void *data);
// Memory of malloc's that goes over to MLX, also on failure.
arr cel_mlx_own(cel_mlx *c, cel_mlx_type type, int rank, const int64_t *dims, void *data);
// CEL_OOM where there is no memory for it.
arr cel_mlx_zeros(cel_mlx *c, cel_mlx_type type, int rank, const int64_t *dims);
arr cel_mlx_iota(cel_mlx *c, int64_t from, int64_t to);  // i32 [to - from]

// ---- looking -------------------------------------------------------------------------------------------

int cel_mlx_rank(const cel_mlx_array *x);            // NULL: 0
int64_t cel_mlx_dim(const cel_mlx_array *x, int i);  // NULL, or no such dimension: 0
cel_mlx_type cel_mlx_type_of(const cel_mlx_array *x);
// Computes arrays (NULL ones are passed over), all at once. Without `wait` it may return before they are done. CEL_OOM where
// there is no memory for what is to be held at once: on the CPU nothing is computed then, on GPUs some may be.
CEL_MUST_CHECK cel_status cel_mlx_eval(cel_mlx *c, const arr *xs, int n, bool wait, cel_err *err);
// Of an evaluated, contiguous f32 array; lent as long as its handle lives.
const float *cel_mlx_floats(const cel_mlx_array *x);

// ---- shape ---------------------------------------------------------------------------------------------

arr cel_mlx_reshape(cel_mlx *c, arr x, int rank, const int64_t *dims);
arr cel_mlx_transpose(cel_mlx *c, arr x, const int *order);  // [rank]
arr cel_mlx_swap(cel_mlx *c, arr x, int a, int b);           // two dimensions
arr cel_mlx_slice(cel_mlx *c, arr x, int dim, int64_t from, int64_t to, int64_t step);
// x with y written over it from `at` on along `dim`; in place where no other handle holds x.
arr cel_mlx_update(cel_mlx *c, arr x, arr y, int dim, int64_t at);
arr cel_mlx_concat(cel_mlx *c, const arr *xs, int n, int dim);
arr cel_mlx_broadcast(cel_mlx *c, arr x, int rank, const int64_t *dims);
arr cel_mlx_contiguous(cel_mlx *c, arr x);
arr cel_mlx_take(cel_mlx *c, arr x, arr ids, int dim);
arr cel_mlx_take_along(cel_mlx *c, arr x, arr ids, int dim);
arr cel_mlx_cast(cel_mlx *c, arr x, cel_mlx_type type);  // x itself when it is of that type

// ---- arithmetic ----------------------------------------------------------------------------------------

typedef enum cel_mlx_unary {
  CEL_MLX_NEGATE, CEL_MLX_ABS, CEL_MLX_EXP, CEL_MLX_LOG, CEL_MLX_LOG1P, CEL_MLX_TANH, CEL_MLX_SIGMOID, CEL_MLX_ERF,
  CEL_MLX_SQRT, CEL_MLX_RSQRT,
} cel_mlx_unary;
typedef enum cel_mlx_binary {
  CEL_MLX_ADD, CEL_MLX_SUB, CEL_MLX_MUL, CEL_MLX_DIV, CEL_MLX_MAX, CEL_MLX_MIN, CEL_MLX_LT, CEL_MLX_LE, CEL_MLX_GT,
  CEL_MLX_EQ, CEL_MLX_AND,
} cel_mlx_binary;
typedef enum cel_mlx_reduction { CEL_MLX_SUM, CEL_MLX_MOST, CEL_MLX_MEAN, CEL_MLX_ANY } cel_mlx_reduction;

arr cel_mlx_unary_op(cel_mlx *c, cel_mlx_unary op, arr x);
arr cel_mlx_binary_op(cel_mlx *c, cel_mlx_binary op, arr x, arr y);     // broadcasting
arr cel_mlx_scalar_op(cel_mlx *c, cel_mlx_binary op, arr x, double y);  // y in x's type
arr cel_mlx_where(cel_mlx *c, arr condition, arr x, arr y);
arr cel_mlx_reduce(cel_mlx *c, cel_mlx_reduction op, arr x, int dim, bool keep);
arr cel_mlx_softmax(cel_mlx *c, arr x);  // over the last dimension, in f32 inside
arr cel_mlx_argsort(cel_mlx *c, arr x);  // ascending over the last dimension, stable: u32

// ---- products ------------------------------------------------------------------------------------------

// A matrix or a stack of them, [..., out, in]: plain, or MLX's packed words with scales (and biases).
typedef struct cel_mlx_matrix {
  arr w, scales, biases;  // scales NULL: plain
  const char *mode;       // "affine", "mxfp4", "mxfp8", "nvfp4"
  int bits, group;
} cel_mlx_matrix;

arr cel_mlx_matmul(cel_mlx *c, arr x, arr y);
// x [..., in] by the transposed matrix: [..., out]; `transposed` false: x [..., out] by the matrix as it is: [..., in].
arr cel_mlx_linear(cel_mlx *c, arr x, const cel_mlx_matrix *w, bool transposed);
// x [N, 1 or k, 1, in], each row through the matrices ids [N, k] of a stack: [N, k, 1, out].
arr cel_mlx_expert_linear(cel_mlx *c, arr x, const cel_mlx_matrix *stack, arr ids);
arr cel_mlx_dequantize(cel_mlx *c, const cel_mlx_matrix *w, cel_mlx_type type);

// ---- fused ---------------------------------------------------------------------------------------------

arr cel_mlx_rms_norm(cel_mlx *c, arr x, arr weight, double eps);               // weight NULL: none
arr cel_mlx_layer_norm(cel_mlx *c, arr x, arr weight, arr bias, double eps);   // NULL: none
// x [..., T, D]: rotates the first `dims` columns of row t by the angles (offset + t) / periods [dims / 2].
arr cel_mlx_rope(cel_mlx *c, arr x, int dims, bool interleaved, int64_t offset, arr periods);
// x [B, heads, T, D], each batch from a position of its own, offsets i32 [B].
arr cel_mlx_rope_each(cel_mlx *c, arr x, int dims, bool interleaved, arr offsets, arr periods);
// q [B, heads, T, D], k and v [B, kv heads, L, D]; causal: query t sees keys 0 .. L - T + t; mask [T, L] of booleans or NULL;
// sinks [heads] or NULL.
arr cel_mlx_attention(cel_mlx *c, arr q, arr k, arr v, double scale, bool causal, arr mask, arr sinks);

#endif
