// A model on MLX: weights as arrays, the states of all sessions. Shared by the files of this folder.
#ifndef CEL_MLX_MODEL_H
#define CEL_MLX_MODEL_H

#include "backend/mlx/mlx_options.h"
#include "backend/mlx/shim/shim.h"
#include "session/sequence/sequence.h"

enum { CEL_MLX_PREFILL_CHUNK = 512 };

typedef struct cel_mlx_weight {
  bool present;
  cel_mlx_matrix matrix;  // of a stack with the matrices in front
  int64_t stack, rows, cols;
  arr bias;               // [rows], of a stack [stack, rows], in the model's type; NULL: none
  arr global_scale;       // nvfp4 stacks may have one: f32 [stack], what a matrix is times
  cel_mlx_matrix low, high;  // an adapter's lora_A, times its scale, and lora_B; w NULL: none
  arr vector;             // a norm's weight, in the model's type; another tensor of floats, f32: [n]
} cel_mlx_weight;

// The states of one sequence. Arrays are NULL until something is written.
typedef struct cel_mlx_row {
  int64_t capacity;  // positions there is room for
  arr *keys;         // [n_kv_layers] of [1, kv heads, capacity, key width]
  arr *values;       // the same with the width of a value; not with MLA, whose keys hold them
  arr *conv;         // [conv or delta layers] of [taps - 1, channels], the last inputs, oldest first
  arr *delta;        // [n_delta_layers] of f32 [value heads, d_k, d_v]
} cel_mlx_row;

typedef struct cel_mlx_model {
  cel_model_handle base;
  const cel_checkpoint *checkpoint;
  float *rope_divisors;  // [head_dim]
  cel_mlx_device device;
  cel_mlx_type type;     // of activations, and of what is not packed
  cel_mlx *c;
  int n_ranks, rank;     // processes that share the model, and which of them this is; 1, 0: it is alone
  cel_mlx_weight *weights;  // [1 + n_layers][CEL_W_COUNT]; row 0 holds what belongs to no layer
  int64_t mapped_bytes;     // of weights used where they lie in the file
  int64_t copied_bytes;     // of those that MLX needs otherwise: other types, GGUF, experts kept apart
  cel_mlx_row *rows;        // [n_rows]
  arr logits;               // of the last run
  struct cel_mlx_span *spans;  // [n_rows], a step's
  arr *parts;               // [n_rows], of a step's sequences one by one
  float *angles, *freqs;    // [max(prefill_chunk, n_rows)][head_dim] and [head_dim], for rotation tables
} cel_mlx_model;

static inline cel_mlx_model *cel_mlx_model_of(cel_model_handle *m) { return (cel_mlx_model *)(void *)m; }
static inline cel_mlx_weight *cel_mlx_weight_of(const cel_mlx_model *m, cel_weight_role role, int layer) {
  return &m->weights[(int64_t)(layer + 1) * CEL_W_COUNT + role];
}

extern const cel_sequence_runner cel_mlx_runner;  // mlx_session.c

cel_status cel_mlx_load(const cel_arch *arch, const cel_checkpoint *checkpoint, const cel_load_options *options,
                        cel_model_handle **out, cel_err *err);
void cel_mlx_unload(cel_model_handle *m);

// mlx_weights.c: all weights the description asks for; a wrong or missing one is refused by its name.
CEL_MUST_CHECK cel_status cel_mlx_load_weights(cel_mlx_model *m, cel_err *err);
void cel_mlx_release_weights(cel_mlx_model *m);

// mlx_shard.c: tensor parallel. This process's share of every weight and of the description's heads; a description whose
// blocks cannot be shared out is refused by name.
CEL_MUST_CHECK cel_status cel_mlx_shard(cel_mlx_model *m, cel_err *err);
bool cel_mlx_is_partial(cel_weight_role role);  // of a shared model, what this matrix gives is to be summed over the processes

// mlx_repack.c: a GGUF weight in MLX's affine or mxfp4 form, number for number, where that is possible: false where not.
// words: malloc'd, [rows * max(experts, 1)][cols * bits / 32]; scales (and biases) f32, or bytes for mxfp4. OOM is an error.
typedef struct cel_mlx_repacked {
  const char *mode;
  int bits, group;
  void *words, *scales, *biases;  // biases NULL for mxfp4
} cel_mlx_repacked;
bool cel_mlx_can_repack(cel_dtype type);
CEL_MUST_CHECK cel_status cel_mlx_repack(const cel_weight *w, cel_mlx_repacked *out, cel_err *err);

// mlx_state.c
CEL_MUST_CHECK cel_status cel_mlx_make_rows(cel_mlx_model *m, cel_err *err);
void cel_mlx_free_rows(cel_mlx_model *m);
void cel_mlx_forget_row(cel_mlx_model *m, int row, bool all);
CEL_MUST_CHECK cel_status cel_mlx_copy_row(cel_mlx_model *m, int from, int to, cel_err *err);
int64_t cel_mlx_state_bytes(const cel_mlx_model *m);
int cel_mlx_row_arrays(const cel_mlx_model *m, int row, arr *out);  // all that there are; at most cel_mlx_row_most
int cel_mlx_row_most(const cel_mlx_model *m);

#endif
