// A panel of unpacked rows against packed tokens. A lane stands for a row, so that one conversion and one fused product close
// a unit of as many outputs as a vector has lanes; each output's sum is that of linear.h whatever the width. How integers lie
// in a panel is between the two functions that an instruction set brings. Internal to kernel/.
#ifndef CEL_XLA_NATIVE_KERNEL_PANEL_H
#define CEL_XLA_NATIVE_KERNEL_PANEL_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/xla/engine/native/kernel/linear.h"
#include "base/macros.h"

enum {
  CEL_PANEL_ROWS = 16,
  CEL_PANEL_SCALES = 2 * CEL_LIN_COLS / 32 * 2,  // most units and halves in it
};

// In scratch.
typedef struct cel_panel {
  union {
    int16_t words[CEL_LIN_COLS * CEL_PANEL_ROWS];
    uint8_t bytes[2 * CEL_LIN_COLS * CEL_PANEL_ROWS];
  } u;
  float s[CEL_PANEL_SCALES * CEL_PANEL_ROWS];  // [unit and half][row]
  float b[CEL_PANEL_SCALES * CEL_PANEL_ROWS];
  bool ahead;  // rows are read once, in order: unpacking may ask for those of the next panel
} cel_panel;
_Static_assert(sizeof(cel_panel) <= CEL_LIN_BLOCK_BYTES, "the scratch of a linear kernel holds a panel");

typedef struct cel_panel_tile {
  const cel_linear *w;
  const cel_panel *panel;
  int64_t units;                         // in the panel
  const uint8_t *x, *xs, *xsum, *total;  // of the first token and the panel's first unit
  int64_t x_stride;                      // bytes from token to token, of all four
  float *y;                              // of the panel's first row, first token
  int64_t y_stride, rows;                // rows of the panel that exist
  const uint8_t *next;                   // what will be unpacked next: the first of its rows, w_row_bytes apart
  int64_t next_bytes;                    // of each row; 0: nothing to ask for
  bool first;                            // the sum begins here; else y holds it so far
} cel_panel_tile;

// All of a panel against n tokens.
typedef void cel_panel_multiply(const cel_panel_tile *t, int64_t n_tokens);
// Units [u, u + n) of rows from `row` on, as many as there are before `end` and at most CEL_PANEL_ROWS, into *p; u begins a
// batch. What stands for rows that are not there does not matter. `bytes`: of cel_lin_bytes.
typedef void cel_panel_unpack(const cel_linear *w, int64_t row, int64_t end, int64_t u, int64_t n, bool bytes, cel_panel *p);

// linear_mul for several tokens. A packed row begins with as many bytes of integers as linear.h says, unit after unit. `columns`: the
// most of a stretch, CEL_LIN_COLS, or twice that where `unpack` makes bytes of this matrix.
void cel_panel_mul(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens, float *y,
                   int64_t y_stride, int64_t row_begin, int64_t row_end, cel_panel_unpack *unpack, cel_panel_multiply *multiply,
                   int64_t columns, cel_panel *panel);

// Asks for where the next n_tokens' sums will go, and for row `row` of what will be unpacked next.
static CEL_ALWAYS_INLINE void cel_panel_ask(const cel_panel_tile *g, int64_t n_tokens, int row) {
  for (int64_t t = 0; t < n_tokens; t++) __builtin_prefetch(g->y + t * g->y_stride, 1);
  if (row >= CEL_PANEL_ROWS) return;
  for (int64_t i = 0; i < g->next_bytes; i += 64) __builtin_prefetch(g->next + row * g->w->w_row_bytes + i);
}

static CEL_ALWAYS_INLINE void cel_panel_skip_tokens(cel_panel_tile *g, int64_t n) {
  g->x += n * g->x_stride;
  g->xs += n * g->x_stride;
  g->xsum += n * g->x_stride;
  g->total += n * g->x_stride;
  g->y += n * g->y_stride;
}

#endif
