#include "backend/xla/engine/common/state_row.h"

bool cel_state_has_row(int rank, const int64_t *dims, int64_t row) { return rank == 5 && row >= 0 && row < dims[1]; }

cel_status cel_state_check_copy(int rank, const int64_t *dims, int64_t from, int64_t to, int64_t n, cel_err *err) {
  if (cel_state_has_row(rank, dims, from) && cel_state_has_row(rank, dims, to) && n >= 0 && n <= dims[3]) return CEL_OK;
  return cel_fail(err, CEL_INVALID, "copy of %lld positions from row %lld to row %lld does not fit the state", (long long)n,
                  (long long)from, (long long)to);
}
