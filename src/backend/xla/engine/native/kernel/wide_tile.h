// Products in f32 with weights widened, the same for all instruction sets: a stretch of eight rows at a time is widened into
// scratch, where it stays in the nearest cache, and meets all tokens of a block, three at a time. Sums that are cut between two
// stretches wait as the lanes they are. The tile itself is the instruction set's. Internal to kernel/.
#ifndef CEL_XLA_NATIVE_KERNEL_WIDE_TILE_H
#define CEL_XLA_NATIVE_KERNEL_WIDE_TILE_H

#include "backend/xla/engine/native/kernel/linear_kind.h"

enum {
  CEL_WIDE_ROWS = 8,     // widened together
  CEL_WIDE_TOKENS = 96,  // of a block, at most: a multiple of 3
};

// In scratch.
typedef struct cel_wide_scratch {
  float rows[CEL_WIDE_ROWS * CEL_LIN_COLS];
  float sums[CEL_WIDE_TOKENS * CEL_WIDE_ROWS * 8];  // [token][row][lane]
} cel_wide_scratch;
_Static_assert(sizeof(cel_wide_scratch) <= CEL_LIN_BLOCK_BYTES, "the scratch of a linear kernel holds widened rows and their sums");

typedef struct cel_wide_tile {
  const float *rows, *tokens;
  int64_t row_stride, token_stride, n;  // in floats; n a multiple of 8
  float *sums;                          // of the first row and token, as in scratch
  bool first, last;                     // the sum begins here, ends here; else it goes on from `sums`, into `sums`
  float *y;
  int64_t y_stride;
} cel_wide_tile;

// Sums of 1 or 4 rows with 1, 2 or 3 tokens, in the order of linear.h.
typedef void cel_wide_multiply(const cel_wide_tile *t, int n_rows, int n_tokens);

// Units [u, u + n) of a row; u begins a batch.
typedef struct cel_wide_part {
  int64_t row, u, n;
} cel_wide_part;
// A part of a row by position, zeros behind the row's end.
typedef void cel_wide_row(const cel_linear *w, cel_wide_part part, float *out);

// Part of a row to `out` by what its kind calls for: QUANTIZED(K_f), or widen_mxfp8, widen_fp8, or PLAIN(w, type, part, out).
#define CEL_WIDE_ROW(w, part, out, QUANTIZED, PLAIN)      \
  switch (kind_of(w)) {                                   \
    CEL_LIN_COMMON_KINDS(QUANTIZED)                       \
    CEL_LIN_SMALL_KINDS(QUANTIZED)                        \
    case K_F32: PLAIN(w, CEL_LIN_F32, part, out); break;   \
    case K_F16: PLAIN(w, CEL_LIN_F16, part, out); break;   \
    case K_BF16: PLAIN(w, CEL_LIN_BF16, part, out); break; \
    case K_MLX_MXFP8: widen_mxfp8(w, part, out); break;    \
    case K_FP8: widen_fp8(w, part, out); break;            \
    case K_AFFINE: break; /* one of the above */           \
  }

// Rows straight from the file, one token: 1 or 4 of them.
typedef void cel_wide_plain(const cel_linear *w, int type, const float *x, float *y, int64_t row, int n_rows);

static CEL_ALWAYS_INLINE void cel_wide_plain_rows(const cel_linear *w, int type, const float *x, float *y, int64_t begin, int64_t end,
                                                  cel_wide_plain *plain) {
  int64_t r = begin;
  for (; r + 4 <= end; r += 4) plain(w, type, x, y, r, 4);
  for (; r < end; r++) plain(w, type, x, y, r, 1);
}

static CEL_ALWAYS_INLINE void cel_wide_one(const cel_linear *w, const uint8_t *packed, float *y, int64_t begin, int64_t end,
                                           cel_wide_plain *plain) {
  const float *x = (const void *)packed;
  if (w->format == CEL_LIN_F32) cel_wide_plain_rows(w, CEL_LIN_F32, x, y, begin, end, plain);
  else if (w->format == CEL_LIN_F16) cel_wide_plain_rows(w, CEL_LIN_F16, x, y, begin, end, plain);
  else cel_wide_plain_rows(w, CEL_LIN_BF16, x, y, begin, end, plain);
}

// n_rows is a constant where this is called, and so is n_tokens where the tile is.
static CEL_ALWAYS_INLINE void cel_wide_pass(const cel_wide_tile *t, int n_rows, int n_tokens, cel_wide_multiply *multiply) {
  if (n_tokens == 3) multiply(t, n_rows, 3);
  else if (n_tokens == 2) multiply(t, n_rows, 2);
  else multiply(t, n_rows, 1);
}

static CEL_ALWAYS_INLINE void cel_wide_rows(cel_wide_tile t, int64_t n_rows, int n_tokens, cel_wide_multiply *multiply) {
  for (int64_t step; n_rows > 0; n_rows -= step) {
    step = n_rows >= 4 ? 4 : 1;
    if (step == 4) cel_wide_pass(&t, 4, n_tokens, multiply);
    else cel_wide_pass(&t, 1, n_tokens, multiply);
    t.rows += step * t.row_stride;
    t.sums += step * 8;
    t.y += step;
  }
}

// Weights that come next, in the order of memory: each pass of a few tokens asks for a share of them.
typedef struct cel_wide_ahead {
  const uint8_t *at;
  int64_t share;  // bytes
} cel_wide_ahead;

static CEL_ALWAYS_INLINE void cel_wide_ask(cel_wide_ahead *a) {
  for (int64_t line = 0; line < a->share; line += 64) __builtin_prefetch(a->at + line, 0, 2);
  a->at += a->share;
}

// Four tokens are two and two: one alone would leave half of the sums' registers idle.
static CEL_ALWAYS_INLINE void cel_wide_block(cel_wide_tile t, int64_t n_rows, int64_t n_tokens, cel_wide_ahead *ahead,
                                             cel_wide_multiply *multiply) {
  for (int64_t step; n_tokens > 0; n_tokens -= step) {
    step = n_tokens == 3 || n_tokens > 4 ? 3 : n_tokens > 1 ? 2 : 1;
    cel_wide_ask(ahead);
    cel_wide_rows(t, n_rows, (int)step, multiply);
    t.tokens += step * t.token_stride;
    t.sums += step * CEL_WIDE_ROWS * 8;
    t.y += step * t.y_stride;
  }
}

// Tokens whose activations stay in the second-level cache while rows pass by.
static CEL_ALWAYS_INLINE int64_t cel_wide_tokens(const cel_linear *w) {
  enum { CACHED = 256 << 10, LEAST = 24 };
  return CEL_MIN(CEL_WIDE_TOKENS, CEL_MAX(LEAST, CACHED / cel_linear_pack_bytes(w) / 3 * 3));
}

// All stretches of up to eight rows from `row` on with a block of tokens: t.tokens and t.y are those of the first token and row.
static CEL_ALWAYS_INLINE void cel_wide_panel(const cel_linear *w, cel_wide_tile t, int64_t row, int64_t n_rows, int64_t n_tokens,
                                             cel_wide_scratch *scratch, cel_wide_row *widen, cel_wide_multiply *multiply) {
  const int64_t unit = cel_lin_unit(w), units = cel_lin_units(w), stretch = cel_lin_stretch(w, CEL_LIN_COLS);
  const int64_t passes = (n_tokens + 2) / 3 * ((units + stretch - 1) / stretch), bytes = CEL_WIDE_ROWS * w->w_row_bytes;
  cel_wide_ahead ahead = {w->w + row * w->w_row_bytes + bytes, bytes / passes + 1};
  for (int64_t u = 0; u < units; u += stretch) {
    const int64_t n = CEL_MIN(stretch, units - u);
    for (int64_t k = 0; k < n_rows; k++) widen(w, (cel_wide_part){row + k, u, n}, scratch->rows + k * t.row_stride);
    t.n = n * unit;
    t.first = u == 0;
    t.last = u + n == units;
    cel_wide_block(t, n_rows, n_tokens, &ahead, multiply);
    t.tokens += t.n;
  }
}

// linear_mul; inlined with what an instruction set brings.
static CEL_ALWAYS_INLINE void cel_wide_mul(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens, float *y,
                                           int64_t y_stride, int64_t row_begin, int64_t row_end, cel_wide_scratch *scratch,
                                           cel_wide_plain *plain, cel_wide_row *widen, cel_wide_multiply *multiply) {
  if (n_tokens == 1 && cel_lin_plain(w->format)) {
    cel_wide_one(w, packed, y, row_begin, row_end, plain);
    return;
  }
  const int64_t block = cel_wide_tokens(w);
  cel_wide_tile t = {.rows = scratch->rows, .row_stride = cel_lin_stretch(w, CEL_LIN_COLS) * cel_lin_unit(w), .token_stride = pack_stride / 4,
                     .sums = scratch->sums, .y_stride = y_stride};
  for (int64_t i = 0; i < n_tokens; i += block) {
    t.tokens = (const void *)(packed + i * pack_stride);
    for (int64_t r = row_begin; r < row_end; r += CEL_WIDE_ROWS) {
      t.y = y + i * y_stride + r;
      cel_wide_panel(w, t, r, CEL_MIN(CEL_WIDE_ROWS, row_end - r), CEL_MIN(block, n_tokens - i), scratch, widen, multiply);
    }
  }
}

#endif
