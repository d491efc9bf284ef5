// Which tensors a description asks of a checkpoint, and the shape of each: what a backend checks a file against before it
// runs. Pure.
#ifndef CEL_ARCH_WEIGHT_SHAPE_H
#define CEL_ARCH_WEIGHT_SHAPE_H

#include "arch/arch.h"

// What a role's tensor must be.
typedef enum cel_weight_kind {
  CEL_WEIGHT_MATRIX,  // MODULE.weight [rows, cols] in whatever storage; rows -1: any number
  CEL_WEIGHT_STACK,   // the same with the experts in front
  CEL_WEIGHT_HEADS,   // the same with the query heads in front
  CEL_WEIGHT_VECTOR,  // MODULE.weight, `rows` floats
  CEL_WEIGHT_TENSOR,  // the name itself, `rows` floats
} cel_weight_kind;
typedef struct cel_weight_shape {
  cel_weight_kind kind;
  int64_t rows, cols;
  int64_t stack;  // matrices of a STACK or of HEADS; 0 otherwise
  bool bias;      // MODULE.bias, as many values as rows (of a stack in all; of CEL_W_CONV one per channel)
} cel_weight_shape;
cel_weight_shape cel_arch_weight_shape(const cel_arch *a, cel_weight_role role, int layer);
// Refuses a matrix of other dimensions (stack 0: no stack) with those found and those right.
CEL_MUST_CHECK cel_status cel_weight_shape_check(const cel_weight_shape *want, const char *module, int64_t stack,
                                                 int64_t rows, int64_t cols, cel_err *err);

// Is there a MODULE.weight? Files keep the experts' gate and up apart or in one, and latent attention's second matrix in
// one or (MLX) apart: which of the roles a layer has depends on that.
typedef bool cel_has_matrix(void *context, const char *module);
// Does this layer have the weight? layer -1: weights that belong to none. The embedding and the head are both wanted, but
// one of them may be missing (text-architectures §1.7).
bool cel_arch_weight_wanted(const cel_arch *a, cel_weight_role role, int layer, cel_has_matrix *has_matrix, void *context);

// How a backend takes weights.
typedef struct cel_weight_taker {
  // CEL_OK also where the description does not want it; CEL_NOT_FOUND where the file lacks it.
  cel_status (*take)(void *context, cel_weight_role role, int layer, cel_err *err);
  bool (*has)(void *context, cel_weight_role role);                        // was one of no layer taken?
  void (*share)(void *context, cel_weight_role from, cel_weight_role to);  // of no layer: `to` is the same tensor
} cel_weight_taker;
// Every weight the description asks for: the embedding and the head, of which one may serve for both, what else belongs to
// no layer, layer by layer, the final norm. Without `logits` the head and the final norm are left out.
CEL_MUST_CHECK cel_status cel_arch_take_weights(const cel_arch *a, bool logits, const cel_weight_taker *t, void *context,
                                                cel_err *err);

#endif
