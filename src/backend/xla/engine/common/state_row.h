// What engines ask before they touch rows of a rank-5 state [layers, rows, heads, positions, width].
#ifndef CEL_XLA_ENGINE_COMMON_STATE_ROW_H
#define CEL_XLA_ENGINE_COMMON_STATE_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/xla/hlo/hlo.h"
#include "base/status.h"

bool cel_state_has_row(int rank, const int64_t *dims, int64_t row);
// CEL_INVALID unless both rows are there and hold n positions.
CEL_MUST_CHECK cel_status cel_state_check_copy(int rank, const int64_t *dims, int64_t from, int64_t to, int64_t n, cel_err *err);
// CEL_INVALID unless the states differ in their positions alone, of which `to` has no fewer, and row `row` of `from` holds n.
CEL_MUST_CHECK cel_status cel_state_check_move(const cel_hlo_type *from, const cel_hlo_type *to, int64_t row, int64_t n, cel_err *err);

#endif
