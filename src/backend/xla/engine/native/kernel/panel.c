// Several tokens against all rows, panel by panel. What is cut here does not depend on the instruction set.
#include "backend/xla/engine/native/kernel/panel.h"

// What all stretches and blocks of tokens of a call share.
typedef struct product {
  const cel_linear *w;
  bool bytes;
  int64_t begin, end;  // rows
  int64_t x_stride, y_stride;
  cel_panel_unpack *unpack;
  cel_panel_multiply *multiply;
  cel_panel *panel;
} product;

// The tile of one block of tokens from unit u on.
static cel_panel_tile tile_at(const product *p, const uint8_t *row, float *y, int64_t units, int64_t u) {
  const int unit_bytes = cel_lin_unit(p->w) * (p->bytes ? 1 : 2), sums = cel_lin_sums(p->w);
  return (cel_panel_tile){.w = p->w, .panel = p->panel, .units = units, .x_stride = p->x_stride, .y_stride = p->y_stride,
                          .x = row + u * unit_bytes, .total = row + cel_lin_totals_at(p->w) + u * 8,
                          .xs = row + cel_lin_scales_at(p->w) + u * 4, .xsum = row + cel_lin_sums_at(p->w) + u * sums * 4,
                          .y = y, .first = u == 0};
}

// Rows [r, r + CEL_PANEL_ROWS) and t's units, from u on. The rows behind them come next, at the same units: they are asked for
// between tokens, or, where those are few, while these are unpacked.
static void multiply_panel(const product *p, cel_panel_tile t, int64_t n_tokens, int64_t r, int64_t u) {
  const int64_t next = r + CEL_PANEL_ROWS, units = cel_lin_units(p->w), row_bytes = p->w->w_row_bytes;
  p->unpack(p->w, r, p->end, u, t.units, p->bytes, p->panel);
  if (!p->panel->ahead && next + CEL_PANEL_ROWS <= p->end) {
    t.next = p->w->w + next * row_bytes + row_bytes * u / units;
    t.next_bytes = row_bytes * t.units / units;
  }
  t.y += r;
  t.rows = CEL_MIN(CEL_PANEL_ROWS, p->end - r);
  p->multiply(&t, n_tokens);
}

// All rows, in chunks that take every stretch of the sum before the next one begins.
static void chunks(const product *p, const uint8_t *row, float *y, int64_t n_tokens, int64_t block, int64_t rows) {
  const int64_t units = cel_lin_units(p->w);
  for (int64_t chunk = p->begin; chunk < p->end; chunk += rows)
    for (int64_t u = 0; u < units; u += block)
      for (int64_t r = chunk; r < CEL_MIN(chunk + rows, p->end); r += CEL_PANEL_ROWS)
        multiply_panel(p, tile_at(p, row, y, CEL_MIN(block, units - u), u), n_tokens, r, u);
}

// Few tokens: weights are read once, as they lie, and memory is what this waits for; activations stay in the second-level
// cache whole. Many: what that holds is a stretch of their activations and their sums of a chunk of rows, which are read and
// written once for each stretch; the nearest cache holds a panel.
void cel_panel_mul(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens, float *y,
                   int64_t y_stride, int64_t row_begin, int64_t row_end, cel_panel_unpack *unpack, cel_panel_multiply *multiply,
                   int64_t columns, cel_panel *panel) {
  enum { TOKENS = 128, CACHED = 160 << 10 };
  const product p = {w, cel_lin_bytes(w), row_begin, row_end, pack_stride, y_stride, unpack, multiply, panel};
  const int64_t block = cel_lin_stretch(w, columns);
  panel->ahead = n_tokens * pack_stride <= CACHED;
  if (panel->ahead) {
    chunks(&p, packed, y, n_tokens, block, CEL_PANEL_ROWS);
    return;
  }
  for (int64_t i = 0; i < n_tokens; i += TOKENS)
    chunks(&p, packed + i * pack_stride, y + i * y_stride, CEL_MIN(TOKENS, n_tokens - i), block, 4 * CEL_PANEL_ROWS);
}
