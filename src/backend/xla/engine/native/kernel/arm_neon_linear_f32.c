// NEON: the linear kernels in f32: plain weights, and quantized ones widened. The sums are those of linear.h.
#include "backend/xla/engine/native/kernel/kernel.h"

#if defined(__aarch64__)
#include "backend/xla/engine/native/kernel/arm_neon.h"
#include "backend/xla/engine/native/kernel/arm_neon_scales.h"
#include "backend/xla/engine/native/kernel/wide_tile.h"

// ---- rows, widened ----------------------------------------------------------------------------------

// Eight plain weights, the last n < 8 of a row with zeros behind them.
static CEL_ALWAYS_INLINE vec8 load_last(const uint8_t *p, int type, int64_t n) {
  uint8_t rest[32] = {0};
  memcpy(rest, p, (size_t)n * (type == CEL_LIN_F32 ? 4 : 2));
  return load_floats8(rest, type);
}

// Up to a multiple of 8, zeros behind the end.
static CEL_ALWAYS_INLINE void widen_plain(const cel_linear *w, int type, cel_wide_part part, float *out) {
  const int bytes = type == CEL_LIN_F32 ? 4 : 2;
  const uint8_t *p = w->w + part.row * w->w_row_bytes + part.u * 8 * bytes;
  const int64_t n = CEL_MIN(part.n * 8, w->cols - part.u * 8);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) store8(out + i, load_floats8(p + i * bytes, type));
  if (i < n) store8(out + i, load_last(p + i * bytes, type, n - i));
}

static CEL_ALWAYS_INLINE void row_plain(const cel_linear *w, int type, cel_wide_part whole, float *out) {
  const int bytes = type == CEL_LIN_F32 ? 4 : 2;
  const uint8_t *p = w->w + whole.row * w->w_row_bytes;
  int64_t i = 0;
  for (; i + 8 <= w->cols; i += 8) store8(out + i, load_floats8(p + i * bytes, type));
  for (; i < w->cols; i++) out[i] = cel_lin_float(p, type, i);
}

static CEL_ALWAYS_INLINE void widen_mxfp8(const cel_linear *w, cel_wide_part part, float *out) {
  const uint8_t *p = w->w + part.row * w->w_row_bytes, *scales = w->scales + part.row * (w->cols / 32);
  for (int64_t i = part.u * 8; i < (part.u + part.n) * 8; i += 8, out += 8)
    store8(out, mul8(load_e4m3(p + i), cel_lin_mlx_half_power(scales[i / 32]) * 2));
}

static CEL_ALWAYS_INLINE void widen_fp8(const cel_linear *w, cel_wide_part part, float *out) {
  const uint8_t *p = w->w + part.row * w->w_row_bytes, *scales = w->scales + part.row * (w->cols / w->group) * 4;
  for (int64_t i = part.u * 8; i < (part.u + part.n) * 8; i += 8, out += 8)
    store8(out, mul8(load_e4m3(p + i), cel_lin_float(scales, CEL_LIN_F32, i / w->group)));
}

// The bytes of a unit by position (linear.h), or by element.
static CEL_ALWAYS_INLINE void order_bytes(int unit, bool by_position, const uint8x16_t *q, uint8x16_t *out) {
  if (unit == 32) {
    out[0] = by_position ? vuzp1q_u8(q[0], q[1]) : q[0];
    out[1] = by_position ? vuzp2q_u8(q[0], q[1]) : q[1];
    return;
  }
  for (int i = 0; i < 2; i++) {
    out[2 * i] = by_position ? (i ? vuzp2q_u8(q[0], q[2]) : vuzp1q_u8(q[0], q[2])) : vzip1q_u8(q[2 * i], q[2 * i + 1]);
    out[2 * i + 1] = by_position ? (i ? vuzp2q_u8(q[1], q[3]) : vuzp1q_u8(q[1], q[3])) : vzip2q_u8(q[2 * i], q[2 * i + 1]);
  }
}

static CEL_ALWAYS_INLINE void widen_eight(lin_kind f, int16x8_t q, float s, float b, float *out) {
  vec8 x = mul8((vec8){vcvtq_f32_s32(vmovl_s16(vget_low_s16(q))), vcvtq_f32_s32(vmovl_high_s16(q))}, s);
  if (biased(f)) x = (vec8){vaddq_f32(x.low, set4(b)), vaddq_f32(x.high, set4(b))};
  store8(out, x);
}

// Of 16 bytes by position the first eight are of the first half; by element a half is a run of bytes.
static CEL_ALWAYS_INLINE void widen_unit(lin_kind f, bool by_position, const uint8x16_t *q, const float *s, const float *b,
                                         float *out) {
  uint8x16_t ordered[4];
  order_bytes(unit_of(f), by_position, q, ordered);
  for (int v = 0; v < unit_of(f) / 16; v++)
    for (int h = 0; h < 2; h++) {
      const int half = by_position ? h : v >= unit_of(f) / 32, at = halves_of(f) == 2 ? half : 0;
      widen_eight(f, words_of(f, ordered[v], h), s[at], biased(f) ? b[at] : 0, out + 16 * v + 8 * h);
    }
}

// In the order of elements nothing is written behind the row's end.
static CEL_ALWAYS_INLINE void widen_quantized(lin_kind f, const cel_linear *w, cel_wide_part part, bool by_position, float *out) {
  const int64_t end = part.u + part.n, unit = unit_of(f);
  const uint8_t *p = w->w + part.row * w->w_row_bytes + part.u / CEL_LIN_BATCH * batch_bytes_of(f);
  for (int64_t u0 = part.u; u0 < end; u0 += CEL_LIN_BATCH, p += batch_bytes_of(f)) {
    const int n = (int)CEL_MIN(CEL_LIN_BATCH, end - u0);
    float s[16], b[16], last[CEL_LIN_UNIT_MAX];
    batch_scales(f, w, p, part.row, u0, n, s, b);
    for (int k = 0; k < n; k++, out += unit) {
      uint8x16_t q[4];
      const int64_t left = w->cols - (u0 + k) * unit;
      const bool partly = !by_position && left < unit;
      unpack_raw(f, p, k, is_whole(f, w, u0 + k), q);
      widen_unit(f, by_position, q, s + k * halves_of(f), b + k * halves_of(f), partly ? last : out);
      if (partly) memcpy(out, last, (size_t)left * sizeof *out);
    }
  }
}

static CEL_NOINLINE void widen_part(const cel_linear *w, cel_wide_part part, float *out) {
#define KIND(f) case K_##f: widen_quantized(K_##f, w, part, true, out); break;
  CEL_WIDE_ROW(w, part, out, KIND, widen_plain)
#undef KIND
}

void cel_neon_linear_row(const cel_linear *w, int64_t row, float *out) {
  const cel_wide_part whole = {row, 0, cel_lin_units(w)};
#define KIND(f) case K_##f: widen_quantized(K_##f, w, whole, false, out); break;
  CEL_WIDE_ROW(w, whole, out, KIND, row_plain)
#undef KIND
}

// ---- products ---------------------------------------------------------------------------------------

// Rows straight from the file, one token.
static CEL_ALWAYS_INLINE void gemv_plain(const cel_linear *w, int type, const float *x, float *y, int64_t row, int n_rows) {
  const int bytes = type == CEL_LIN_F32 ? 4 : 2;
  const int64_t step = w->w_row_bytes, whole = w->cols / 8 * 8;
  const uint8_t *p = w->w + row * step;
  vec8 a = zero8(), b = a, c = a, d = a;
  for (int64_t i = 0; i < whole; i += 8) {
    const vec8 v = load8(x + i);
    a = fma8(a, load_floats8(p + i * bytes, type), v);
    if (n_rows == 1) continue;
    b = fma8(b, load_floats8(p + step + i * bytes, type), v);
    c = fma8(c, load_floats8(p + 2 * step + i * bytes, type), v);
    d = fma8(d, load_floats8(p + 3 * step + i * bytes, type), v);
  }
  if (whole < w->cols) {
    const vec8 v = load8(x + whole);
    const int64_t at = whole * bytes, n = w->cols - whole;
    a = fma8(a, load_last(p + at, type, n), v);
    if (n_rows > 1) {
      b = fma8(b, load_last(p + step + at, type, n), v);
      c = fma8(c, load_last(p + 2 * step + at, type, n), v);
      d = fma8(d, load_last(p + 3 * step + at, type, n), v);
    }
  }
  if (n_rows == 1) y[row] = reduce8(a);
  else vst1q_f32(y + row, reduce8x4(a, b, c, d));
}

// One row of a tile: its sums with three tokens.
typedef struct three {
  vec8 a, b, c;
} three;

static CEL_ALWAYS_INLINE three add_three(three s, const float *w, int n_tokens, vec8 x0, vec8 x1, vec8 x2) {
  const vec8 v = load8(w);
  s.a = fma8(s.a, v, x0);
  if (n_tokens > 1) s.b = fma8(s.b, v, x1);
  if (n_tokens > 2) s.c = fma8(s.c, v, x2);
  return s;
}

static CEL_ALWAYS_INLINE three begin_sums(const cel_wide_tile *g, int row, int n_tokens) {
  three s = {zero8(), zero8(), zero8()};
  const float *from = g->sums + 8 * row;
  if (g->first) return s;
  s.a = load8(from);
  if (n_tokens > 1) s.b = load8(from + CEL_WIDE_ROWS * 8);
  if (n_tokens > 2) s.c = load8(from + 2 * CEL_WIDE_ROWS * 8);
  return s;
}

static CEL_ALWAYS_INLINE void keep_sums(const cel_wide_tile *g, int row, int n_tokens, three s) {
  float *to = g->sums + 8 * row;
  store8(to, s.a);
  if (n_tokens > 1) store8(to + CEL_WIDE_ROWS * 8, s.b);
  if (n_tokens > 2) store8(to + 2 * CEL_WIDE_ROWS * 8, s.c);
}

// 24 registers of sums at most.
static CEL_ALWAYS_INLINE void tile_mul(const cel_wide_tile *g, int n_rows, int n_tokens) {
  three r0 = begin_sums(g, 0, n_tokens), r1 = r0, r2 = r0, r3 = r0;
  if (n_rows > 1) {
    r1 = begin_sums(g, 1, n_tokens);
    r2 = begin_sums(g, 2, n_tokens);
    r3 = begin_sums(g, 3, n_tokens);
  }
  for (int64_t i = 0; i < g->n; i += 8) {
    const float *x = g->tokens + i, *w = g->rows + i;
    const vec8 x0 = load8(x), x1 = n_tokens > 1 ? load8(x + g->token_stride) : x0;
    const vec8 x2 = n_tokens > 2 ? load8(x + 2 * g->token_stride) : x0;
    r0 = add_three(r0, w, n_tokens, x0, x1, x2);
    if (n_rows == 1) continue;
    r1 = add_three(r1, w + g->row_stride, n_tokens, x0, x1, x2);
    r2 = add_three(r2, w + 2 * g->row_stride, n_tokens, x0, x1, x2);
    r3 = add_three(r3, w + 3 * g->row_stride, n_tokens, x0, x1, x2);
  }
  if (!g->last) {
    keep_sums(g, 0, n_tokens, r0);
    if (n_rows == 1) return;
    keep_sums(g, 1, n_tokens, r1);
    keep_sums(g, 2, n_tokens, r2);
    keep_sums(g, 3, n_tokens, r3);
  } else if (n_rows == 1) {
    g->y[0] = reduce8(r0.a);
    if (n_tokens > 1) g->y[g->y_stride] = reduce8(r0.b);
    if (n_tokens > 2) g->y[2 * g->y_stride] = reduce8(r0.c);
  } else {
    vst1q_f32(g->y, reduce8x4(r0.a, r1.a, r2.a, r3.a));
    if (n_tokens > 1) vst1q_f32(g->y + g->y_stride, reduce8x4(r0.b, r1.b, r2.b, r3.b));
    if (n_tokens > 2) vst1q_f32(g->y + 2 * g->y_stride, reduce8x4(r0.c, r1.c, r2.c, r3.c));
  }
}

void cel_neon_linear_mul_f32(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens, float *y,
                             int64_t y_stride, int64_t row_begin, int64_t row_end, void *scratch) {
  cel_wide_mul(w, packed, pack_stride, n_tokens, y, y_stride, row_begin, row_end, scratch, gemv_plain,
               widen_part, tile_mul);
}

static CEL_ALWAYS_INLINE void add_columns(float *y, const float *x, const float *w, int64_t stride, int64_t n_rows) {
  vec8 a = load8(y), b = load8(y + 8), c = load8(y + 16), d = load8(y + 24);
  for (int64_t r = 0; r < n_rows; r++, w += stride) {
    a = fma8_by(a, load8(w), x[r]);
    b = fma8_by(b, load8(w + 8), x[r]);
    c = fma8_by(c, load8(w + 16), x[r]);
    d = fma8_by(d, load8(w + 24), x[r]);
  }
  store8(y, a);
  store8(y + 8, b);
  store8(y + 16, c);
  store8(y + 24, d);
}

void cel_neon_add_rows(float *y, const float *x, const float *w, int64_t stride, int64_t n_rows, int64_t n_cols) {
  int64_t c = 0;
  for (; c + 32 <= n_cols; c += 32) add_columns(y + c, x, w + c, stride, n_rows);
  for (; c < n_cols; c += 8) {
    const int64_t n = CEL_MIN(8, n_cols - c);
    vec8 acc = load_first8(y + c, n);
    for (int64_t r = 0; r < n_rows; r++) acc = fma8_by(acc, load_first8(w + r * stride + c, n), x[r]);
    store_first8(y + c, n, acc);
  }
}

#endif
