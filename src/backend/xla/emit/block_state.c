// Recurrent states: [entries, rows, ...], a row per sequence. Prefill goes on from one row (slots is a scalar), decode
// from a row per token.
#include "backend/xla/emit/emit_internal.h"

// The rows of an entry that this step goes on from: [1 or N, ...] with the state's dimensions behind the second.
hlo cel_emit_state_rows(cel_hlo_builder *b, hlo state, hlo entry, hlo slots) {
  if (!state || !slots) return NULL;
  const int64_t *d = state->type->dims;
  bool per_token = slots->type->rank == 1;
  hlo zero = cel_hlo_scalar(b, CEL_ET_I32, 0);
  hlo starts[5] = {entry, per_token ? zero : slots, zero, zero, zero};
  int64_t sizes[5] = {1, per_token ? d[1] : 1, d[2], d[3], d[4]};
  hlo part = cel_hlo_reshape(b, cel_hlo_dynamic_slice(b, state, starts, sizes), 4, sizes + 1);
  return per_token ? cel_hlo_take_rows(b, part, slots) : part;
}

// (entry, slot) of each new row: [rows, 2].
static hlo write_indices(cel_hlo_builder *b, hlo entry, hlo slots, int64_t rows) {
  int64_t column[2] = {rows, 1}, map[1] = {0};
  hlo parts[2] = {cel_hlo_broadcast(b, entry, 2, column, map), cel_hlo_broadcast(b, slots, 2, column, map)};
  return cel_hlo_concat(b, parts, 2, 1);
}

// Row 0 of x everywhere.
static hlo first_everywhere(cel_hlo_builder *b, hlo x) {
  if (!x) return NULL;
  const cel_hlo_type *t = x->type;
  int64_t map[CEL_HLO_MAX_RANK];
  for (int i = 0; i + 1 < t->rank; i++) map[i] = i + 1;
  hlo first = cel_hlo_reshape(b, cel_hlo_slice_dim(b, x, 0, 0, 1, 1), t->rank - 1, t->dims + 1);
  return cel_hlo_broadcast(b, first, t->rank, t->dims, map);
}

void cel_emit_repeat_first(cel_hlo_builder *b, int64_t rows, hlo *slots, hlo *const *rest, int n) {
  if (!*slots) return;
  int64_t map[1] = {0};
  hlo limit = cel_hlo_splat(b, CEL_ET_I32, 1, (*slots)->type->dims, (double)rows);
  hlo real = cel_hlo_compare(b, "LT", *slots, limit);
  *slots = cel_hlo_select(b, real, *slots, first_everywhere(b, *slots));
  for (int i = 0; i < n && *rest[i]; i++) {
    const cel_hlo_type *t = (*rest[i])->type;
    hlo first = first_everywhere(b, *rest[i]);
    hlo which = t->rank == 1 ? real : cel_hlo_broadcast(b, real, t->rank, t->dims, map);
    *rest[i] = cel_hlo_select(b, which, *rest[i], first);
  }
}

hlo cel_emit_state_write(cel_hlo_builder *b, hlo state, hlo entry, hlo slots, hlo fresh) {
  if (!state || !slots || !fresh) return NULL;
  int64_t n = fresh->type->dims[0];
  if (slots->type->rank == 1 && n > 1) cel_emit_repeat_first(b, state->type->dims[1], &slots, (hlo *[]){&fresh}, 1);
  cel_hlo_scatter_dims dims = {.n_window = 3, .window = {1, 2, 3}, .n_inserted = 2, .inserted = {0, 1},
                               .n_index_map = 2, .index_map = {0, 1}, .index_vector_dim = 1};
  return cel_hlo_scatter(b, state, write_indices(b, entry, slots, n), fresh, &dims, false);
}
