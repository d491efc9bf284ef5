#include "backend/xla/engine/common/state_row.h"

bool cel_state_has_row(int rank, const int64_t *dims, int64_t row) { return rank == 5 && row >= 0 && row < dims[1]; }

cel_status cel_state_check_copy(int rank, const int64_t *dims, int64_t from, int64_t to, int64_t n, cel_err *err) {
  if (cel_state_has_row(rank, dims, from) && cel_state_has_row(rank, dims, to) && n >= 0 && n <= dims[3]) return CEL_OK;
  return cel_fail(err, CEL_INVALID, "copy of %lld positions from row %lld to row %lld does not fit the state", (long long)n,
                  (long long)from, (long long)to);
}

cel_status cel_state_check_move(const cel_hlo_type *from, const cel_hlo_type *to, int64_t row, int64_t n, cel_err *err) {
  const int64_t *d = from->dims, *e = to->dims;
  bool alike = from->rank == 5 && to->rank == 5 && from->etype == to->etype && d[0] == e[0] && d[1] == e[1] && d[2] == e[2] && d[4] == e[4] && d[3] <= e[3];
  if (alike && cel_state_has_row(from->rank, d, row) && n >= 0 && n <= d[3]) return CEL_OK;
  return cel_fail(err, CEL_INVALID, "%lld positions of row %lld do not fit from one state into the other", (long long)n, (long long)row);
}
