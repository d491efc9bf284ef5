// Template: eight rows of one kind of quantized weight into a panel. The including file defines, ahead of it:
//   enum { LINE }, ENTRY_BYTES  as in arm_tile.h
//   store_unit(f, q, out)       a unit of eight rows into a panel whose unit begins at out
// Internal to kernel/.
#include "backend/xla/engine/native/kernel/arm_neon_scales.h"
#include "backend/xla/engine/native/kernel/panel.h"

static CEL_ALWAYS_INLINE void unpack_unit(lin_kind f, const cel_linear *w, const eight_rows *e, int64_t offset, int64_t u0, int k,
                                          uint8_t *out) {
  uint8x16_t q[8][4];
  for (int r = 0; r < 8; r++) unpack_raw(f, e->at[r] + offset, k, is_whole(f, w, u0 + k), q[r]);
  store_unit(f, q, out);
}

// Units [u0, u0 + n) of eight rows into their lines of a panel.
static CEL_ALWAYS_INLINE void unpack_rows(lin_kind f, const cel_linear *w, const eight_rows *e, int64_t u0, int64_t n,
                                          cel_panel *p, int half) {
  enum { ROWS = CEL_PANEL_ROWS };
  const int halves = halves_of(f), bytes = unit_of(f) * ROWS * ENTRY_BYTES;
  int64_t offset = u0 / CEL_LIN_BATCH * batch_bytes_of(f);
  for (int64_t i = 0; i < n; i += CEL_LIN_BATCH, offset += batch_bytes_of(f)) {
    const int64_t here = CEL_MIN(CEL_LIN_BATCH, n - i), at = i * halves * ROWS + 8 * half;
    eight_scales(f, w, e, offset, u0 + i, here, p->s + at, p->b + at, ROWS);
    EACH_UNIT(f, here, unpack_unit(f, w, e, offset, u0 + i, k, p->u.bytes + (i + k) * bytes + half * LINE))
  }
}

#define CEL_ARM_UNPACK(f)                                                                                              \
  static CEL_NOINLINE void unpack_##f(const cel_linear *w, int64_t row, int64_t end, int64_t u, int64_t n, bool bytes, \
                                      cel_panel *p) {                                                                  \
    (void)bytes;                                                                                                       \
    for (int half = 0; half < 2 && row + 8 * half < end; half++) {                                                     \
      const eight_rows e = rows_from(w, row + 8 * half, end - 1);                                                      \
      unpack_rows(K_##f, w, &e, u, n, p, half);                                                                        \
    }                                                                                                                  \
  }
#define CEL_ARM_UNPACK_BODY(f) [K_##f] = unpack_##f,
