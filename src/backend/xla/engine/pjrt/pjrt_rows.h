// Copying and clearing one sequence's row of a state, on the device: small programs compiled when first needed.
#ifndef CEL_XLA_ENGINE_PJRT_PJRT_ROWS_H
#define CEL_XLA_ENGINE_PJRT_PJRT_ROWS_H

#include "backend/xla/engine/pjrt/pjrt_program.h"

// Types of states a model may have, capacities told apart; pairs of them that rows have moved between.
enum { CEL_PJRT_ROW_TYPES = 64, CEL_PJRT_MOVES = 64 };

typedef struct cel_pjrt_rows {  // zeroed to begin with
  struct {
    char type[128];
    cel_pjrt_loaded *clear, *copy;
  } of[CEL_PJRT_ROW_TYPES];
  int n;
  struct {
    char from[128], to[128];
    cel_pjrt_loaded *program;
  } moves[CEL_PJRT_MOVES];
  int n_moves;
} cel_pjrt_rows;

void cel_pjrt_rows_free(cel_pjrt_rows *r, const cel_pjrt *p);
// *state [layers, rows, ...] of type t, shared along dimension `axis` (-1: not), is consumed and replaced.
CEL_MUST_CHECK cel_status cel_pjrt_rows_clear(cel_pjrt_rows *r, const cel_pjrt *p, const cel_hlo_type *t, int axis,
                                              cel_pjrt_array *state, int64_t row, cel_err *err);
CEL_MUST_CHECK cel_status cel_pjrt_rows_copy(cel_pjrt_rows *r, const cel_pjrt *p, const cel_hlo_type *t, int axis,
                                             cel_pjrt_array *state, int64_t from, int64_t to, cel_err *err);
// Row `row` of `from`, which stays, into *to, consumed and replaced, which has more positions.
CEL_MUST_CHECK cel_status cel_pjrt_rows_move(cel_pjrt_rows *r, const cel_pjrt *p, const cel_hlo_type *t, const cel_pjrt_array *from,
                                             const cel_hlo_type *u, int axis, cel_pjrt_array *to, int64_t row, cel_err *err);

#endif
