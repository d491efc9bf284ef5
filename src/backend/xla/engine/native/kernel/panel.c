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

static void multiply_panel(const product *p, cel_panel_tile t, int64_t n_tokens, int64_t r, int64_t u) {
  p->unpack(p->w, r, p->end, u, t.units, p->bytes, p->panel);
  t.y += r;
  t.rows = CEL_MIN(CEL_PANEL_ROWS, p->end - r);
  p->multiply(&t, n_tokens);
}

// Few tokens: weights are read once, as they lie, and memory is what this waits for; activations stay in the second-level
// cache whole.
static void rows_first(const product *p, const uint8_t *row, float *y, int64_t n_tokens, int64_t units, int64_t block) {
  p->panel->ahead = true;
  for (int64_t r = p->begin; r < p->end; r += CEL_PANEL_ROWS)
    for (int64_t u = 0; u < units; u += block)
      multiply_panel(p, tile_at(p, row, y, CEL_MIN(block, units - u), u), n_tokens, r, u);
}

// Many tokens: of their activations one stretch of the sum stays in the second-level cache, a panel in the nearest.
static void stretches_first(const product *p, const uint8_t *row, float *y, int64_t n_tokens, int64_t units, int64_t block) {
  p->panel->ahead = false;
  for (int64_t u = 0; u < units; u += block)
    for (int64_t r = p->begin; r < p->end; r += CEL_PANEL_ROWS)
      multiply_panel(p, tile_at(p, row, y, CEL_MIN(block, units - u), u), n_tokens, r, u);
}

void cel_panel_mul(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens, float *y,
                   int64_t y_stride, int64_t row_begin, int64_t row_end, cel_panel_unpack *unpack, cel_panel_multiply *multiply,
                   cel_panel *panel) {
  enum { TOKENS = 96, CACHED = 160 << 10 };
  const product p = {w, cel_lin_bytes(w), row_begin, row_end, pack_stride, y_stride, unpack, multiply, panel};
  const int64_t units = cel_lin_units(w), block = cel_lin_stretch(w);
  if (n_tokens * pack_stride <= CACHED) {
    rows_first(&p, packed, y, n_tokens, units, block);
    return;
  }
  for (int64_t i = 0; i < n_tokens; i += TOKENS)
    stretches_first(&p, packed + i * pack_stride, y + i * y_stride, CEL_MIN(TOKENS, n_tokens - i), units, block);
}
