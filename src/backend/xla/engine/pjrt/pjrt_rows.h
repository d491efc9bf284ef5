// Copying and clearing one sequence's row of a state, on the device: small programs compiled when first needed.
#ifndef CEL_XLA_ENGINE_PJRT_PJRT_ROWS_H
#define CEL_XLA_ENGINE_PJRT_PJRT_ROWS_H

#include "backend/xla/engine/pjrt/pjrt_program.h"

enum { CEL_PJRT_ROW_TYPES = 8 };  // types of states a model may have

typedef struct cel_pjrt_rows {  // zeroed to begin with
  struct {
    char type[128];
    cel_pjrt_loaded *clear, *copy;
  } of[CEL_PJRT_ROW_TYPES];
  int n;
} cel_pjrt_rows;

void cel_pjrt_rows_free(cel_pjrt_rows *r, const cel_pjrt *p);
// *state [layers, rows, ...] of type t, shared along dimension `axis` (-1: not), is consumed and replaced.
CEL_MUST_CHECK cel_status cel_pjrt_rows_clear(cel_pjrt_rows *r, const cel_pjrt *p, const cel_hlo_type *t, int axis,
                                              cel_pjrt_array *state, int64_t row, cel_err *err);
CEL_MUST_CHECK cel_status cel_pjrt_rows_copy(cel_pjrt_rows *r, const cel_pjrt *p, const cel_hlo_type *t, int axis,
                                             cel_pjrt_array *state, int64_t from, int64_t to, cel_err *err);

#endif
