// AVX2: a panel of unpacked rows against packed tokens. A lane stands for a row, so that one conversion and one
// fused product close a unit of eight outputs. Internal to kernel/.
#ifndef CEL_XLA_NATIVE_KERNEL_X86_AVX2_PANEL_H
#define CEL_XLA_NATIVE_KERNEL_X86_AVX2_PANEL_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/xla/engine/native/kernel/linear.h"

enum {
  CEL_AVX2_PANEL_ROWS = 16,
  CEL_AVX2_PANEL_COLS = 640,                          // at most, of one block along the sum: 20 KiB of integers
  CEL_AVX2_PANEL_SCALES = CEL_AVX2_PANEL_COLS / 32 * 2,  // most units and halves in it
};

// In scratch. A unit is U/2 pairs of neighbouring positions, or U/4 fours of bytes in the order of cel_lin_byte_at; those
// of the first half come before those of the second where a unit has two.
typedef struct cel_avx2_panel {
  union {
    int16_t q[CEL_AVX2_PANEL_COLS * CEL_AVX2_PANEL_ROWS];      // [pair][row][2]
    uint8_t bytes[CEL_AVX2_PANEL_COLS * CEL_AVX2_PANEL_ROWS];  // [four][row][4], unsigned: less offset_of
  } u;
  float s[CEL_AVX2_PANEL_SCALES * CEL_AVX2_PANEL_ROWS];    // [unit and half][row]
  float b[CEL_AVX2_PANEL_SCALES * CEL_AVX2_PANEL_ROWS];
} cel_avx2_panel;
_Static_assert(sizeof(cel_avx2_panel) <= CEL_LIN_BLOCK_BYTES, "the scratch of a linear kernel holds a panel");

typedef struct cel_avx2_tile {
  const cel_avx2_panel *panel;
  int64_t units;                  // in the panel
  const uint8_t *x, *xs, *xsum, *total;  // of the first token and the panel's first unit
  int64_t x_stride;                      // bytes from token to token, of all four
  float *y;                       // of the panel's first row, first token
  int64_t y_stride, rows;         // rows of the panel that exist
  bool first;                     // the sum begins here; else y holds it so far
} cel_avx2_tile;

// By unit, scales per unit and biases; apart from the formats, so that tiles are compiled once per shape.
typedef void cel_avx2_multiply_panel(const cel_avx2_tile *t, int64_t n_tokens);
cel_avx2_multiply_panel cel_avx2_panel32, cel_avx2_panel32_bias, cel_avx2_panel32_halves, cel_avx2_panel32_halves_bias,
    cel_avx2_panel64, cel_avx2_panel64_halves;
// Bytes: with an offset of 8, 16 and (in halves) 32; with biases, of up to 4, of 5, of 6 bits.
cel_avx2_multiply_panel cel_avx2_bytes32_q4, cel_avx2_bytes32_q5, cel_avx2_bytes32_q6, cel_avx2_bytes32_bias4,
    cel_avx2_bytes32_bias5, cel_avx2_bytes32_bias6, cel_avx2_bytes64, cel_avx2_bytes64_halves;

#endif
