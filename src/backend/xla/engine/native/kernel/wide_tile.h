// Products in f32 with weights widened, the same for all instruction sets: four rows at a time are widened into scratch and
// meet all tokens of a block, three at a time. The tile itself is the instruction set's. Internal to kernel/.
#ifndef CEL_XLA_NATIVE_KERNEL_WIDE_TILE_H
#define CEL_XLA_NATIVE_KERNEL_WIDE_TILE_H

#include "backend/xla/engine/native/kernel/linear_kind.h"

typedef struct cel_wide_tile {
  const float *rows, *tokens;
  int64_t row_stride, token_stride, n;  // in floats; n a multiple of 8
  float *y;
  int64_t y_stride;
} cel_wide_tile;

// Sums of 1 or 4 rows with 1 or 3 tokens, in the order of linear.h.
typedef void cel_wide_multiply(const cel_wide_tile *t, int n_rows, int n_tokens);
// A row by position, zeros behind its end.
typedef void cel_wide_row(const cel_linear *w, int64_t row, float *out);

// Row `row` to `out` by what its kind calls for: QUANTIZED(K_f), or widen_mxfp8, widen_fp8, or PLAIN(w, type, row, out).
#define CEL_WIDE_ROW(w, row, out, QUANTIZED, PLAIN)      \
  switch (kind_of(w)) {                                  \
    CEL_LIN_COMMON_KINDS(QUANTIZED)                      \
    CEL_LIN_SMALL_KINDS(QUANTIZED)                       \
    case K_F32: PLAIN(w, CEL_LIN_F32, row, out); break;   \
    case K_F16: PLAIN(w, CEL_LIN_F16, row, out); break;   \
    case K_BF16: PLAIN(w, CEL_LIN_BF16, row, out); break; \
    case K_MLX_MXFP8: widen_mxfp8(w, row, out); break;    \
    case K_FP8: widen_fp8(w, row, out); break;            \
    case K_AFFINE: break; /* one of the above */          \
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

static CEL_ALWAYS_INLINE void cel_wide_tokens(cel_wide_tile t, int n_rows, int64_t n_tokens, cel_wide_multiply *multiply) {
  for (; n_tokens >= 3; n_tokens -= 3) {
    multiply(&t, n_rows, 3);
    t.tokens += 3 * t.token_stride;
    t.y += 3 * t.y_stride;
  }
  for (; n_tokens > 0; n_tokens--) {
    multiply(&t, n_rows, 1);
    t.tokens += t.token_stride;
    t.y += t.y_stride;
  }
}

static CEL_ALWAYS_INLINE void cel_wide_rows(cel_wide_tile t, int64_t n_rows, int64_t n_tokens, cel_wide_multiply *multiply) {
  if (n_rows == 4) {
    cel_wide_tokens(t, 4, n_tokens, multiply);
    return;
  }
  for (; n_rows > 0; n_rows--) {
    cel_wide_tokens(t, 1, n_tokens, multiply);
    t.rows += t.row_stride;
    t.y++;
  }
}

// linear_mul; inlined with what an instruction set brings.
static CEL_ALWAYS_INLINE void cel_wide_mul(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens, float *y,
                                           int64_t y_stride, int64_t row_begin, int64_t row_end, float *scratch,
                                           cel_wide_plain *plain, cel_wide_row *widen, cel_wide_multiply *multiply) {
  enum { CACHE = 256 * 1024 };
  if (n_tokens == 1 && cel_lin_plain(w->format)) {
    cel_wide_one(w, packed, y, row_begin, row_end, plain);
    return;
  }
  const int64_t n = cel_lin_units(w) * cel_lin_unit(w), stride = cel_lin_row_stride(w) / 4;
  const int64_t block = CEL_MAX(12, CACHE / cel_linear_pack_bytes(w) / 3 * 3);
  for (int64_t i = 0; i < n_tokens; i += block)
    for (int64_t r = row_begin; r < row_end; r += CEL_LIN_PANEL_F32) {
      const int64_t n_rows = CEL_MIN(CEL_LIN_PANEL_F32, row_end - r);
      for (int64_t k = 0; k < n_rows; k++) widen(w, r + k, scratch + k * stride);
      const cel_wide_tile t = {scratch, (const void *)(packed + i * pack_stride), stride, pack_stride / 4, n, y + i * y_stride + r,
                               y_stride};
      cel_wide_rows(t, n_rows, CEL_MIN(block, n_tokens - i), multiply);
    }
}

#endif
