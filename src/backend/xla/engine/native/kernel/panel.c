// Several tokens against all rows, panel by panel. What is cut here does not depend on the instruction set.
#include "backend/xla/engine/native/kernel/panel.h"

// Units to a stretch of the sum: equal ones, of whole batches.
static int64_t stretch(int unit, int64_t units) {
  const int64_t most = CEL_PANEL_COLS / unit / CEL_LIN_BATCH * CEL_LIN_BATCH, n = (units + most - 1) / most;
  return CEL_MIN(most, cel_lin_round((units + n - 1) / n, CEL_LIN_BATCH));
}

// What all stretches and blocks of tokens of a call share.
typedef struct product {
  const cel_linear *w;
  bool bytes;
  int64_t begin, end;  // rows
  cel_panel_unpack *unpack;
  cel_panel_multiply *multiply;
  cel_panel *panel;
} product;

// All panels of rows against one block of tokens along one stretch of the sum, from unit u on: its activations stay in the
// second-level cache, a panel in the nearest.
static void multiply_block(const product *p, cel_panel_tile t, int64_t n_tokens, int64_t u) {
  t.panel = p->panel;
  t.first = u == 0;
  for (int64_t r = p->begin; r < p->end; r += CEL_PANEL_ROWS) {
    p->unpack(p->w, r, p->end, u, t.units, p->bytes, p->panel);
    cel_panel_tile here = t;
    here.y += r;
    here.rows = CEL_MIN(CEL_PANEL_ROWS, p->end - r);
    p->multiply(&here, n_tokens);
  }
}

void cel_panel_mul(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens, float *y,
                   int64_t y_stride, int64_t row_begin, int64_t row_end, cel_panel_unpack *unpack, cel_panel_multiply *multiply,
                   cel_panel *panel) {
  enum { TOKENS = 96 };
  const product p = {w, cel_lin_bytes(w), row_begin, row_end, unpack, multiply, panel};
  const int unit = cel_lin_unit(w), unit_bytes = unit * (p.bytes ? 1 : 2), sums = cel_lin_sums(w);
  const int64_t units = cel_lin_units(w), block = stretch(unit, units);
  for (int64_t i = 0; i < n_tokens; i += TOKENS)
    for (int64_t u = 0; u < units; u += block) {
      const uint8_t *row = packed + i * pack_stride;
      const cel_panel_tile t = {.w = w, .units = CEL_MIN(block, units - u), .x_stride = pack_stride,
                                .y_stride = y_stride, .x = row + u * unit_bytes,
                                .total = row + cel_lin_totals_at(w) + u * 8,
                                .xs = row + cel_lin_scales_at(w) + u * 4, .xsum = row + cel_lin_sums_at(w) + u * sums * 4,
                                .y = y + i * y_stride};
      multiply_block(&p, t, CEL_MIN(TOKENS, n_tokens - i), u);
    }
}
