// cel_arch to StableHLO: one parametric decoder, walked once per entry point. The emitter knows the
// architecture and how each weight is stored; it never sees a weight's bytes or an engine.
//
// Entry points (text models). The module is named ARCH_ENTRY, its public function is always @main, the one name
// that XLA takes for it. W...: every weight, in the order of the walk, each argument carrying
// {mlxcel.weight = "model.layers.0.mlp.up_proj.weight"}; inputs carry {mlxcel.input = NAME}, the KV cache
// {mlxcel.state = NAME} and the aliasing of its result.
//   prefill  W..., tokens i32[T], positions i32[T], slot i32, last i32, [rope_freqs f32[T, R/2]...],
//            STATE...  ->  logits, STATE...
//            T tokens of the one sequence in state row `slot`, in order; logits by options.logits
//   decode   W..., tokens i32[B], positions i32[B], slots i32[B], [rope_freqs...], STATE...
//            -> logits f32[B, V], STATE...
//            B rows of B different sequences, each at its own position
// STATE: those of kcache, vcache, conv, delta that the architecture has (cel_state_shape), rank 5, sequences
// along dimension 1. A key is written at (slot, position) before its token attends to keys 0 .. position. A slot >= rows
// writes nothing: rows of padding have it, behind real ones. Recurrent states (conv, delta) hold what the tokens before
// left behind and are zero ahead of the first.
// rope_freqs (one per rope table whose frequencies depend on the length) are per row, with the amplitude behind them
// where that does, too (cel_rope_columns); other tables are constants of the module.
//
// What deserves a kernel is a stablehlo.composite "mlxcel.NAME" with its meaning as a private function:
//   linear, quantized_linear    (x [N, in], weight...) -> [N, out]
//   embedding, quantized_embedding (ids [N], weight...) -> [N, width]
//   top_k                       (x [R, n]) {k} -> i32 [R, k]: where the k largest are, the largest first, of equal ones the
//                               lower index
//   expert_linear               (x [N, in], ids i32 [N, k], stack..., [bias [E * out]]) {format.., biased} -> [N, k, out]:
//                               row t, place j is x[t] through expert ids[t, j]; ids clamp
//   expert_combine              (a [N, k, in], ids, weights [N, k], stack..., [bias]) -> [N, out]: the k products of a token
//                               times their weights, summed. The ids of one token differ.
//   rms_norm                    (x [..., D], weight [D]) {eps, plus}
//   layer_norm                  (x [..., D], [weight [D] or [heads, D]], [bias [D]]) {eps}
//   rope                        (x [N, heads, D], cos [N, R/2], sin) {dims, interleaved}
//   gated_act                   (gate, up) {act}
//   kv_append                   (cache, new [N, kv, D], slots, positions) {layer}
//   attention                   (q [N, heads, D], kcache, vcache, slots, positions, layer, [sinks [heads]])
//                               {scale, softcap, window}; values are as many columns of vcache as the result is wide
//   head_linear                 (x [N, heads, in], weight...) {per_head, first, transposed} -> [N, heads, out]: the weight
//                               is [heads * per_head, cols], of each head's rows those from `first` on are multiplied
//                               with, as many as out (transposed: as in)
//   short_conv                  (u [N, C], weight [taps, C], conv, slots, layer) -> (y [N, C], conv)
//   gated_delta                 (q, k [N, key heads, d_k], v [N, value heads, d_v], g, beta [N, value heads], delta, slots,
//                               layer) -> (o [N, value heads, d_v], delta)
#ifndef CEL_XLA_EMIT_EMIT_H
#define CEL_XLA_EMIT_EMIT_H

#include "arch/arch.h"
#include "backend/xla/hlo/build.h"

// How a matrix is stored.
typedef struct cel_storage {
  const char *format;    // "F32" "F16" "BF16", a GGUF block format "Q4_1", "affine" "mxfp4" "mxfp8" "nvfp4" (MLX), or "fp8"
  int64_t rows, cols;    // [out, in]
  int64_t experts;       // > 0: a stack [experts, out, in]
  int64_t row_bytes;     // block formats: bytes of one row
  int bits, group;       // with scales; 0 for the others
  cel_etype scale_type;  // affine: F32, F16, BF16; fp8: F32; else UI8
} cel_storage;

// Answers for the emitter, from a checkpoint or a test. CEL_NOT_FOUND when there is no such tensor (the
// emitter decides whether that is an error).
typedef struct cel_storage_source {
  void *context;
  cel_status (*matrix)(void *context, const char *module, cel_storage *out, cel_err *err);
  // A tensor of floats "NAME" (with its .weight or .bias): element type (F32, F16, BF16) and number of elements, of
  // whatever rank: taken as one row.
  cel_status (*vector)(void *context, const char *name, cel_etype *type, int64_t *n, cel_err *err);
} cel_storage_source;

typedef enum cel_entry { CEL_ENTRY_PREFILL, CEL_ENTRY_DECODE } cel_entry;
typedef enum cel_emit_logits {
  CEL_LOGITS_LAST,  // prefill: f32[1, V] of row `last`
  CEL_LOGITS_ALL,   // f32[N, V]
  CEL_LOGITS_NONE,  // prefill of all chunks but the final one: no head, no logits result
} cel_emit_logits;

// Keys and values of one head of one token, as the cache keeps them; all are f32 again where they are read.
typedef enum cel_emit_kv {
  CEL_EMIT_KV_F32,
  CEL_EMIT_KV_F16,  // the nearest finite one
  CEL_EMIT_KV_I16,  // whole numbers of one step for the vector, which stands behind them as the two i16 of an f32 (base/kept.h)
  CEL_EMIT_KV_I8,   // the same of a step for each group, as the four i8 of an f32
  CEL_EMIT_KV_KINDS,
} cel_emit_kv;

typedef struct cel_emit_options {
  cel_entry entry;
  int64_t tokens;    // T of prefill, B of decode
  int64_t rows;      // cache rows
  int64_t capacity;  // positions per cache row
  cel_emit_logits logits;
  int devices;       // that share weights and caches by heads, rows and columns; 0 or 1: one
  cel_hlo_dots dots;  // how the target takes f32 products
  cel_emit_kv kv;     // how keys and values are kept
  // Named values that become results too, behind the others and in the order of the walk, each with its name as
  // {mlxcel.tap = NAME}: those that any of these shell patterns fits. None: the module is what it is without taps.
  const char *const *taps;  // [n_taps], at most CEL_EMIT_MAX_TAPS
  int n_taps;
} cel_emit_options;

enum { CEL_EMIT_MAX_TAPS = 64 };
#define CEL_EMIT_TAP_ATTR "mlxcel.tap"

// The states of an architecture. Dimension 0 counts the layers that have it, 1 the sequences.
typedef enum cel_state {
  CEL_STATE_KEYS,    // "kcache": [layers, rows, kv heads, capacity, key width], wider by its steps with I16 and I8
  CEL_STATE_VALUES,  // "vcache": the same with the width of a value; none with MLA
  CEL_STATE_CONV,    // "conv": [layers, rows, 1, taps - 1, channels], the last inputs of the convolution, oldest first
  CEL_STATE_DELTA,   // "delta": [layers, rows, value heads, d_k, d_v]
  CEL_STATE_COUNT,
} cel_state;
typedef struct cel_state_shape {
  const char *name;
  cel_etype type;
  int64_t dims[5];   // dims[0] == 0: the architecture has no such state
  bool by_position;  // dimension 3 is the position in the sequence
} cel_state_shape;
cel_state_shape cel_state_shape_of(const cel_arch *arch, cel_state state, int64_t rows, int64_t capacity, cel_emit_kv kv);

// Refuses, with the numbers, devices that cannot share the model's heads.
CEL_MUST_CHECK cel_status cel_emit_check_devices(const cel_arch *arch, int devices, cel_err *err);
// Along which dimension `devices` share a state: keys and values by head where the heads can be divided; -1: each has all of it.
int cel_state_shard(const cel_arch *arch, cel_state state, int devices);

// Fails with the sentence of the first thing that cannot be (a weight that is missing, a shape that does
// not fit the description, a format without a decomposition), naming its tensor.
CEL_MUST_CHECK cel_status cel_emit_text(const cel_arch *arch, const cel_storage_source *weights,
                                        const cel_emit_options *options, cel_hlo_module **out, cel_err *err);

// The entry point's name and its inverse, for the command line.
const char *cel_entry_name(cel_entry entry);
bool cel_entry_by_name(const char *name, cel_entry *out);

#endif
