// The definition of the linear kernels: see linear.h for the order of every sum.
#include <math.h>

#include "backend/xla/engine/native/kernel/linear.h"
#include "backend/xla/engine/native/kernel/scalar.h"
#include "base/macros.h"

// ---- packing ----------------------------------------------------------------------------------------

// One unit as integers of one scale: q = rint(x * (most / max|x|)), scale = max|x| / most, most = 32767 or 127. A
// maximum too small to divide by counts as zero; a value that is not finite makes the scale NaN, so that outputs are.
static float quantize(const float *x, int n, int unit, float levels, int16_t *q) {
  uint32_t top = 0;
  for (int i = 0; i < n; i++) top = CEL_MAX(top, cel_f32_bits(x[i]) & 0x7FFFFFFFu);
  float most = cel_f32_from_bits(top);
  memset(q, 0, (size_t)unit * 2);
  if (top >= 0x7F800000u) return NAN;
  if (most < 0x1p-100f) return 0;
  float to_int = levels / most;
  for (int p = 0; p < unit; p++) {
    int e = cel_lin_element(unit, p);
    if (e < n) q[p] = (int16_t)rintf(x[e] * to_int);
  }
  return most / levels;
}

static void pack_integers(const cel_linear *w, const float *x, uint8_t *out) {
  bool bytes = cel_lin_bytes(w);
  int unit = cel_lin_unit(w), n_sums = cel_lin_sums(w);
  int64_t units = cel_lin_units(w);
  float *scale = (float *)(void *)(out + cel_lin_scales_at(w)), *sum = (float *)(void *)(out + cel_lin_sums_at(w));
  memset(scale, 0, (size_t)(cel_linear_pack_bytes(w) - cel_lin_scales_at(w)));
  for (int64_t u = 0; u < units; u++) {
    int16_t q[CEL_LIN_UNIT_MAX];
    scale[u] = quantize(x + u * unit, (int)CEL_MIN(unit, w->cols - u * unit), unit, bytes ? 127.0f : 32767.0f, q);
    int32_t total[2] = {0, 0};
    for (int p = 0; p < unit; p++) total[p % 16 / 8] += q[p];
    sum[u * n_sums] = (float)(n_sums == 2 ? total[0] : total[0] + total[1]) * scale[u];
    if (n_sums == 2) sum[u * n_sums + 1] = (float)total[1] * scale[u];
    memcpy(out + cel_lin_totals_at(w) + u * 8, total, sizeof total);
    if (!bytes) memcpy(out + u * unit * 2, q, (size_t)unit * 2);
    for (int p = 0; p < unit && bytes; p++) out[u * unit + cel_lin_byte_at(p)] = (uint8_t)q[p];
  }
}

static void pack_f32(const cel_linear *w, const float *x, float *out) {
  int unit = cel_lin_unit(w);
  int64_t units = cel_lin_units(w);
  memset(out, 0, (size_t)cel_linear_pack_bytes(w));
  if (unit == 8) {
    memcpy(out, x, (size_t)w->cols * sizeof *x);
    return;
  }
  for (int64_t u = 0; u < units; u++)
    for (int p = 0; p < unit; p++) {
      int64_t e = u * unit + cel_lin_element(unit, p);
      if (e < w->cols) out[u * unit + p] = x[e];
    }
}

void cel_scalar_linear_pack(const cel_linear *w, const float *x, int64_t x_stride, int64_t n_tokens, uint8_t *packed,
                            int64_t pack_stride) {
  for (int64_t t = 0; t < n_tokens; t++) {
    uint8_t *out = packed + t * pack_stride;
    if (cel_lin_integers(w)) pack_integers(w, x + t * x_stride, out);
    else pack_f32(w, x + t * x_stride, (float *)(void *)out);
  }
}

// ---- product ----------------------------------------------------------------------------------------

// The activation at position p of unit u.
static int activation(const cel_linear *w, const uint8_t *packed, int64_t u, int p) {
  int unit = cel_lin_unit(w);
  if (cel_lin_bytes(w)) return (int8_t)packed[u * unit + cel_lin_byte_at(p)];
  return ((const int16_t *)(const void *)packed)[u * unit + p];
}

static float dot_integers(const cel_linear *w, const uint8_t *row, const uint8_t *packed) {
  const int16_t *q = (const void *)row;
  const float *s = (const void *)(row + cel_lin_row_scales_at(w)), *b = (const void *)(row + cel_lin_row_biases_at(w));
  const float *xs = (const void *)(packed + cel_lin_scales_at(w)), *xsum = (const void *)(packed + cel_lin_sums_at(w));
  int unit = cel_lin_unit(w), halves = cel_lin_halves(w);
  int64_t units = cel_lin_units(w);
  bool biased = cel_lin_biased(w->format);
  float acc = 0;
  for (int64_t u = 0; u < units; u++, q += unit) {
    int32_t d[2] = {0};
    for (int p = 0; p < unit; p++) d[p % 16 / 8 * (halves - 1)] += q[p] * activation(w, packed, u, p);
    for (int h = 0; h < halves; h++) {
      acc = fmaf((float)d[h], s[u * halves + h] * xs[u], acc);
      if (biased) acc = fmaf(b[u * halves + h], xsum[u * halves + h], acc);
    }
  }
  return acc;
}

static float dot_f32(const float *w, const float *x, int64_t n) {
  float acc[8] = {0};
  for (int64_t i = 0; i < n; i += 8)
    for (int l = 0; l < 8; l++) acc[l] = fmaf(w[i + l], x[i + l], acc[l]);
  return cel_lin_reduce(acc);
}

static float widen(const cel_linear *w, const cel_lin_unit_values *v, int p) {
  int h = p % 16 >= 8;
  float f = (float)v->q[p] * v->s[h];
  return cel_lin_biased(w->format) ? f + v->b[h] : f;
}

static void unpack_integers(const cel_linear *w, int64_t row, uint8_t *out) {
  int unit = cel_lin_unit(w), halves = cel_lin_halves(w);
  int64_t units = cel_lin_units(w);
  float *s = (float *)(void *)(out + cel_lin_row_scales_at(w)), *b = (float *)(void *)(out + cel_lin_row_biases_at(w));
  cel_lin_unit_values v;
  for (int64_t u = 0; u < units; u++) {
    cel_lin_decode(w, row, u, &v);
    memcpy(out + u * unit * 2, v.q, (size_t)unit * 2);
    for (int h = 0; h < halves; h++) {
      s[u * halves + h] = v.s[h];
      b[u * halves + h] = v.b[h];
    }
  }
}

static float single(const cel_linear *w, int64_t row, int64_t i) {
  if (cel_lin_plain(w->format)) return cel_lin_float(w->w + row * w->w_row_bytes, (int)w->format, i);
  return w->format == CEL_LIN_FP8 ? cel_lin_fp8(w, row, i) : cel_lin_mxfp8(w, row, i);
}

static void unpack_f32(const cel_linear *w, int64_t row, float *out) {
  int unit = cel_lin_unit(w);
  int64_t units = cel_lin_units(w);
  cel_lin_unit_values v;
  if (cel_lin_floats(w->format)) {
    for (int64_t i = 0; i < units * 8; i++) out[i] = i < w->cols ? single(w, row, i) : 0;
    return;
  }
  for (int64_t u = 0; u < units; u++) {
    cel_lin_decode(w, row, u, &v);
    for (int p = 0; p < unit; p++) out[u * unit + p] = widen(w, &v, p);
  }
}

void cel_scalar_linear_mul(const cel_linear *w, const uint8_t *packed, int64_t pack_stride, int64_t n_tokens, float *y,
                           int64_t y_stride, int64_t row_begin, int64_t row_end, void *scratch) {
  int64_t n = cel_lin_units(w) * cel_lin_unit(w);
  for (int64_t r = row_begin; r < row_end; r++) {
    if (cel_lin_integers(w)) unpack_integers(w, r, scratch);
    else unpack_f32(w, r, scratch);
    for (int64_t t = 0; t < n_tokens; t++) {
      const uint8_t *x = packed + t * pack_stride;
      y[t * y_stride + r] = cel_lin_integers(w) ? dot_integers(w, scratch, x) : dot_f32(scratch, (const void *)x, n);
    }
  }
}

void cel_scalar_linear_row(const cel_linear *w, int64_t row, float *out) {
  int unit = cel_lin_unit(w);
  int64_t units = cel_lin_units(w);
  cel_lin_unit_values v;
  if (cel_lin_floats(w->format)) {
    for (int64_t i = 0; i < w->cols; i++) out[i] = single(w, row, i);
    return;
  }
  for (int64_t u = 0; u < units; u++) {
    cel_lin_decode(w, row, u, &v);
    for (int p = 0; p < unit; p++) {
      int64_t e = u * unit + cel_lin_element(unit, p);
      if (e < w->cols) out[e] = widen(w, &v, p);
    }
  }
}

void cel_scalar_add_rows(float *y, const float *x, const float *w, int64_t stride, int64_t n_rows, int64_t n_cols) {
  for (int64_t r = 0; r < n_rows; r++)
    for (int64_t c = 0; c < n_cols; c++) y[c] = fmaf(x[r], w[r * stride + c], y[c]);
}
