// One canonical tensor on its way into new files: what the files of convert_*.c that make moves of it share. None writes.
#ifndef CEL_MODEL_WRITE_CONVERT_TARGET_H
#define CEL_MODEL_WRITE_CONVERT_TARGET_H

#include "model/checkpoint_private.h"
#include "model/write/conversion_private.h"

enum { CEL_TARGET_NAME = 512 };  // bytes of a name

typedef struct cel_target {
  cel_conversion *v;
  const cel_tensor *t;  // the canonical one that this is about
  cel_weight_role role;
  cel_holes at;
  cel_str part;         // ".weight", ".bias"; empty where the role is a tensor
  bool values;          // each value counts as a row: of biases and the like
  cel_err *err;
} cel_target;

static inline bool cel_target_to_gguf(const cel_target *x) { return x->v->o->to == CEL_FORMAT_GGUF; }

// ---- convert_emit.c ---------------------------------------------------------------------------------

cel_status cel_target_no_name(const cel_target *x);
cel_status cel_target_bad_shape(const cel_target *x);
// A tensor as a matrix of rows; with `values` each value is a row.
CEL_MUST_CHECK cel_status cel_target_open(const cel_target *x, const cel_tensor *t, cel_weight *out);
// The tensor of another role beside this one.
CEL_MUST_CHECK cel_status cel_target_open_role(const cel_target *x, cel_weight_role role, cel_weight *out);
// Every row of a source whose groups are equal.
cel_segment cel_segment_of(const cel_weight *w, int64_t groups);
// Dimensions of the values, also of packed words; returns the rank.
int cel_target_shape(const cel_target *x, const cel_weight *w, int64_t dims[CEL_TENSOR_MAX_RANK]);
// The new tensor's name: the form written out for a folder, what GGUF calls it there. NULL, or none: refused.
CEL_MUST_CHECK cel_status cel_target_name(const cel_target *x, const char *form, char name[CEL_TARGET_NAME]);

// Adds a move: shape and segments are set, the segments' rows must fill it. Two turned segments are woven.
CEL_MUST_CHECK cel_status cel_target_emit(const cel_target *x, const cel_segment *s, int n, const int64_t *dims, int rank,
                                          const char *name);
// As the source has it, under this name.
CEL_MUST_CHECK cel_status cel_target_emit_whole(const cel_target *x, const char *name);
// The same under the new name of `form`.
CEL_MUST_CHECK cel_status cel_target_emit_as(const cel_target *x, const char *form);
// Parts (canonical forms) one after the other. `groups`: how often they take turns (experts).
CEL_MUST_CHECK cel_status cel_target_emit_joined(const cel_target *x, const char *const *parts, int n, int64_t groups, const char *name);
// A tensor for each of the outermost dimension; `form` has {e}.
CEL_MUST_CHECK cel_status cel_target_emit_apart(const cel_target *x, const char *form);

// ---- convert_experts.c ------------------------------------------------------------------------------

// Gate and up of a stack that has both, to GGUF or MLX.
CEL_MUST_CHECK cel_status cel_target_emit_halves(const cel_target *x);
// A stack, or a matrix beside one, under mlx-lm's name.
CEL_MUST_CHECK cel_status cel_target_stack_to_mlx(const cel_target *x);
// One of the expert roles to a folder of plain weights, in the form the family's files have.
CEL_MUST_CHECK cel_status cel_target_expert_to_folder(const cel_target *x);

// ---- convert_blocks.c -------------------------------------------------------------------------------

CEL_MUST_CHECK cel_status cel_target_emit_qkv(const cel_target *x);
CEL_MUST_CHECK cel_status cel_target_emit_kv_parts(const cel_target *x);
CEL_MUST_CHECK cel_status cel_target_emit_kv_whole(const cel_target *x);
CEL_MUST_CHECK cel_status cel_target_emit_delta_parts(const cel_target *x);
CEL_MUST_CHECK cel_status cel_target_emit_delta_whole(const cel_target *x);
CEL_MUST_CHECK cel_status cel_target_emit_ba(const cel_target *x);
CEL_MUST_CHECK cel_status cel_target_emit_rates(const cel_target *x);
CEL_MUST_CHECK cel_status cel_target_emit_planes(const cel_target *x, const char *stem);
CEL_MUST_CHECK cel_status cel_target_emit_per_layer(const cel_target *x);

#endif
