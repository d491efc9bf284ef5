// A panel of unpacked rows against packed tokens, on x86. A lane stands for a row, so that one conversion and one fused
// product close a unit of as many outputs as a vector has lanes; each output's sum is that of linear.h whatever the width.
// Internal to kernel/.
#ifndef CEL_XLA_NATIVE_KERNEL_X86_PANEL_H
#define CEL_XLA_NATIVE_KERNEL_X86_PANEL_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/xla/engine/native/kernel/linear.h"
#include "base/macros.h"

enum {
  CEL_PANEL_ROWS = 16,
  CEL_PANEL_COLS = 640,                      // at most, of one stretch of the sum: 20 KiB of integers
  CEL_PANEL_SCALES = CEL_PANEL_COLS / 32 * 2,  // most units and halves in it
};

// In scratch. A unit is U/2 pairs of neighbouring positions, or U/4 fours of bytes in the order of cel_lin_byte_at; those
// of the first half come before those of the second where a unit has two.
typedef struct cel_panel {
  union {
    int16_t words[CEL_PANEL_COLS * CEL_PANEL_ROWS];  // [pair][row][2]
    uint8_t bytes[CEL_PANEL_COLS * CEL_PANEL_ROWS];  // [four][row][4]
  } u;
  float s[CEL_PANEL_SCALES * CEL_PANEL_ROWS];  // [unit and half][row]
  float b[CEL_PANEL_SCALES * CEL_PANEL_ROWS];
} cel_panel;
_Static_assert(sizeof(cel_panel) <= CEL_LIN_BLOCK_BYTES, "the scratch of a linear kernel holds a panel");

typedef struct cel_panel_tile {
  const cel_panel *panel;
  int64_t units;                         // in the panel
  const uint8_t *x, *xs, *xsum, *total;  // of the first token and the panel's first unit
  int64_t x_stride;                      // bytes from token to token, of all four
  float *y;                              // of the panel's first row, first token
  int64_t y_stride, rows;                // rows of the panel that exist
  bool first;                            // the sum begins here; else y holds it so far
} cel_panel_tile;

typedef struct cel_panel_shape {  // a row of x86_panel.def
  int unit, halves;
  bool bias;
  int bits, offset;
} cel_panel_shape;

typedef enum cel_panel_kind {
#define CEL_PANEL(name, ...) CEL_PANEL_##name,
#include "backend/xla/engine/native/kernel/x86_panel.def"
#undef CEL_PANEL
  CEL_PANEL_KINDS
} cel_panel_kind;

// One for each kind; a table of kernels brings its own.
typedef void cel_panel_multiply(const cel_panel_tile *t, int64_t n_tokens);
extern cel_panel_multiply *const cel_avx2_panels[CEL_PANEL_KINDS];

// What one token needs of the packed row, from the unit at hand on.
typedef struct cel_panel_token {
  const int32_t *x;  // pairs of words or fours of bytes
  const float *s, *sum;
  const int32_t *total;
} cel_panel_token;

static CEL_ALWAYS_INLINE void cel_panel_tokens(const cel_panel_tile *g, int n, cel_panel_token *x) {
  for (int t = 0; t < n; t++) {
    const int64_t at = t * g->x_stride;
    x[t] = (cel_panel_token){(const void *)(g->x + at), (const void *)(g->xs + at), (const void *)(g->xsum + at),
                             (const void *)(g->total + at)};
  }
}

static CEL_ALWAYS_INLINE void cel_panel_next_unit(cel_panel_shape f, int n, cel_panel_token *x) {
  for (int t = 0; t < n; t++) {
    x[t].x += f.unit / (f.bits ? 4 : 2);
    x[t].s++;
    x[t].sum += f.halves;
    x[t].total += 2;
  }
}

static CEL_ALWAYS_INLINE void cel_panel_skip_tokens(cel_panel_tile *g, int64_t n) {
  g->x += n * g->x_stride;
  g->xs += n * g->x_stride;
  g->xsum += n * g->x_stride;
  g->total += n * g->x_stride;
  g->y += n * g->y_stride;
}

// Where entry i of a unit's half is among the token's: all, or four of each eight.
static CEL_ALWAYS_INLINE int cel_panel_entry(int halves, int half, int i) {
  return halves == 1 ? i : i / 4 * 8 + 4 * half + i % 4;
}

// What the offset makes of a unit's half too much.
static CEL_ALWAYS_INLINE int32_t cel_panel_excess(cel_panel_shape f, const cel_panel_token *x, int half) {
  return f.offset * (f.halves == 1 ? x->total[0] + x->total[1] : x->total[half]);
}

#endif
