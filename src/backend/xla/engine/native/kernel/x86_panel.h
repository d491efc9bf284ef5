// The panels of x86: what their kernels are compiled for. A unit is U/2 pairs of words of neighbouring positions, or U/4 fours of
// bytes in the order of cel_lin_byte_at; those of the first half come before those of the second where a unit has two.
// Internal to kernel/.
#ifndef CEL_XLA_NATIVE_KERNEL_X86_PANEL_H
#define CEL_XLA_NATIVE_KERNEL_X86_PANEL_H

#include "backend/xla/engine/native/kernel/panel.h"

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

// The same unit of the tokens behind these is asked for meanwhile.
static CEL_ALWAYS_INLINE void cel_panel_next_unit(const cel_panel_tile *g, cel_panel_shape f, int n, cel_panel_token *x) {
  for (int t = 0; t < n; t++) {
    __builtin_prefetch((const uint8_t *)x[t].x + n * g->x_stride);
    x[t].x += f.unit / (f.bits ? 4 : 2);
    x[t].s++;
    x[t].sum += f.halves;
    x[t].total += 2;
  }
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
