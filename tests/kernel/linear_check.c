// Linear kernels: every format in all precisions, every tail; the scalar table against exact sums in f64,
// the others against the scalar one; the same bits for any number of tokens and any range of rows.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/half.h"
#include "kernel/check.h"

static void put_f16(uint8_t *p, float f) {
  uint16_t h = cel_f32_to_f16(f);
  memcpy(p, &h, 2);
}

// Where a block keeps its f16 scale and minimum (-1: it has none), and the size its integers reach.
typedef struct block_shape {
  int scale_at, minimum_at;
  float largest, minimum;  // the minimum's size in scales
} block_shape;

static block_shape shape_of(cel_linear_format f) {
  switch (f) {
    case CEL_LIN_Q4_1: return (block_shape){0, 2, 8, -8};
    case CEL_LIN_Q5_1: return (block_shape){0, 2, 16, -8};
    case CEL_LIN_Q4_K: return (block_shape){0, 2, 256, 4};
    case CEL_LIN_Q5_K: return (block_shape){0, 2, 256, 4};
    case CEL_LIN_Q2_K: return (block_shape){80, 82, 32, 1};
    case CEL_LIN_Q3_K: return (block_shape){108, -1, 128, 0};
    case CEL_LIN_Q6_K: return (block_shape){208, -1, 512, 0};
    case CEL_LIN_Q8_0:
    case CEL_LIN_Q8_1:
    case CEL_LIN_IQ4_NL: return (block_shape){0, -1, 128, 0};
    case CEL_LIN_IQ4_XS: return (block_shape){0, -1, 4096, 0};
    case CEL_LIN_TQ1_0: return (block_shape){52, -1, 1, 0};
    case CEL_LIN_TQ2_0: return (block_shape){64, -1, 1, 0};
    default: return (block_shape){0, -1, 8, 0};
  }
}

// Random bytes, then sane scales where the format keeps them.
static void fill_block(check *c, cel_linear_format f, uint8_t *b, int bytes) {
  block_shape shape = shape_of(f);
  float scale = (0.1f + 0.2f * fabsf(uniform(c))) / shape.largest;
  for (int i = 0; i < bytes; i++) b[i] = (uint8_t)random_bits(c);
  if (f == CEL_LIN_MXFP4) {
    b[0] = (uint8_t)(118 + random_bits(c) % 8);
    return;
  }
  if (shape.minimum_at >= 0) put_f16(b + shape.minimum_at, shape.minimum * scale);
  if (random_bits(c) % 7 == 0) scale = -scale;
  if (f == CEL_LIN_Q8_K) memcpy(b, &scale, 4);
  else put_f16(b + shape.scale_at, scale);
}

static void put_float(uint8_t *p, int type, int64_t i, float f) {
  if (type == CEL_LIN_F32) memcpy(p + 4 * i, &f, 4);
  if (type == CEL_LIN_F16) put_f16(p + 2 * i, f);
  if (type == CEL_LIN_BF16) {
    uint16_t h = cel_f32_to_bf16(f);
    memcpy(p + 2 * i, &h, 2);
  }
}
static int float_bytes(int type) { return type == CEL_LIN_F32 ? 4 : 2; }

static bool make_plain(check *c, cel_linear *w) {
  int bytes = float_bytes((int)w->format);
  uint8_t *p = guarded((size_t)(w->rows * w->cols * bytes));
  for (int64_t i = 0; i < w->rows * w->cols; i++) put_float(p, (int)w->format, i, 0.05f * normal(c));
  w->w = p;
  w->w_row_bytes = w->cols * bytes;
  return true;
}

static bool make_gguf(check *c, cel_linear *w) {
  const cel_linear_traits *t = cel_linear_traits_of(w->format);
  if (w->cols % t->block) return false;
  w->w_row_bytes = w->cols / t->block * t->block_bytes;
  uint8_t *p = guarded((size_t)(w->rows * w->w_row_bytes));
  for (int64_t at = 0; at < w->rows * w->w_row_bytes; at += t->block_bytes) fill_block(c, w->format, p + at, t->block_bytes);
  w->w = p;
  return true;
}

static uint8_t *random_words(check *c, cel_linear *w) {
  w->w_row_bytes = w->cols * w->bits / 8;
  uint8_t *p = guarded((size_t)(w->rows * w->w_row_bytes));
  for (int64_t i = 0; i < w->rows * w->w_row_bytes; i++) p[i] = (uint8_t)random_bits(c);
  w->w = p;
  return p;
}

static bool make_affine(check *c, cel_linear *w) {
  if (w->cols % w->group) return false;
  int64_t n = w->rows * (w->cols / w->group);
  random_words(c, w);
  uint8_t *s = guarded((size_t)(n * float_bytes(w->scale_type))), *b = guarded((size_t)(n * float_bytes(w->scale_type)));
  float most = (float)((1 << w->bits) - 1);
  for (int64_t i = 0; i < n; i++) {
    float scale = 0.3f / most * uniform(c);
    put_float(s, w->scale_type, i, scale);
    put_float(b, w->scale_type, i, -scale * most / 2);
  }
  w->scales = s;
  w->biases = b;
  return true;
}

static bool make_fp8(check *c, cel_linear *w) {
  static const int groups[] = {128, 64, 32};
  w->bits = 8;
  w->scale_type = CEL_LIN_F32;
  for (int i = 0; i < 3 && (w->group == 0 || w->cols % w->group); i++) w->group = groups[i];
  if (w->cols % w->group) return false;
  int64_t n = w->rows * (w->cols / w->group);
  uint8_t *p = random_words(c, w), *s = guarded((size_t)(4 * n));
  for (int64_t i = 0; i < w->rows * w->w_row_bytes; i++)
    if ((p[i] & 127) == 127) p[i] ^= 64;  // no NaN
  for (int64_t i = 0; i < n; i++) put_float(s, CEL_LIN_F32, i, 0.001f * normal(c));
  w->scales = s;
  return true;
}

static bool make_micro(check *c, cel_linear *w) {
  bool e4m3 = w->format == CEL_LIN_MLX_NVFP4, bytes = w->format == CEL_LIN_MLX_MXFP8;
  w->bits = bytes ? 8 : 4;
  w->group = e4m3 ? 16 : 32;
  if (w->cols % 32) return false;
  uint8_t *p = random_words(c, w), *s = guarded((size_t)(w->rows * (w->cols / w->group)));
  for (int64_t i = 0; bytes && i < w->rows * w->w_row_bytes; i++)
    if ((p[i] & 127) == 127) p[i] ^= 64;  // no NaN
  for (int64_t i = 0; i < w->rows * (w->cols / w->group); i++)
    s[i] = (uint8_t)(e4m3 ? (random_bits(c) & 0x80) | random_bits(c) % 24 : (bytes ? 112 : 118) + random_bits(c) % 8);
  w->scales = s;
  return true;
}

bool make_weights(check *c, int kind, cel_linear_precision precision, int64_t rows, int64_t cols, weights *out) {
  static const int bits[] = {2, 3, 4, 5, 6, 8}, types[] = {CEL_LIN_BF16, CEL_LIN_F16, CEL_LIN_F32};
  cel_linear *w = &out->w;
  *w = (cel_linear){.precision = precision, .rows = rows, .cols = cols};
  if (kind < CEL_LIN_FORMATS - 1) {
    w->format = (cel_linear_format)(kind < CEL_LIN_AFFINE ? kind : kind + 1);
    const cel_linear_traits *t = cel_linear_traits_of(w->format);
    snprintf(out->name, sizeof out->name, "%s", t->name);
    if (w->format == CEL_LIN_FP8) return make_fp8(c, w);
    return t->block == 1 ? make_plain(c, w) : t->block ? make_gguf(c, w) : make_micro(c, w);
  }
  kind -= CEL_LIN_FORMATS - 1;
  w->format = CEL_LIN_AFFINE;
  w->bits = bits[kind / 6];
  w->group = 32 << kind % 3;
  w->scale_type = types[(kind / 6 + kind) % 3 == 2 && kind % 6 < 3 ? 2 : kind % 6 / 3];
  snprintf(out->name, sizeof out->name, "affine%d_g%d_%s", w->bits, w->group,
           cel_linear_traits_of((cel_linear_format)w->scale_type)->name);
  return make_affine(c, w);
}

// Mostly normal, some large, some units of zeros.
static void fill_activations(check *c, float *x, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    x[i] = normal(c);
    if (random_bits(c) % 61 == 0) x[i] *= 50;
    if (i / 32 % 7 == 3) x[i] = 0;
  }
}

// What linear_pack makes of one unit, in f64.
static void quantized(const float *x, int64_t n, float levels, double *out) {
  float most = 0;
  for (int64_t i = 0; i < n; i++) most = fmaxf(most, fabsf(x[i]));
  for (int64_t i = 0; i < n; i++)
    out[i] = most == 0 ? 0 : (double)rintf(x[i] * (levels / most)) * (double)(most / levels);
}

// Formats whose products are of bytes at precision i8.
static bool few_bits(const cel_linear *w) {
  switch (w->format) {
    case CEL_LIN_Q4_0:
    case CEL_LIN_Q4_1:
    case CEL_LIN_Q5_0:
    case CEL_LIN_Q5_1:
    case CEL_LIN_Q4_K:
    case CEL_LIN_Q5_K:
    case CEL_LIN_Q6_K: return true;
    default: return w->format == CEL_LIN_AFFINE && w->bits <= 6;
  }
}

static void against_f64(check *c, const weights *m, const float *x, int64_t n, const float *y) {
  const cel_linear *w = &m->w;
  int unit = w->format == CEL_LIN_AFFINE && w->bits == 4 ? 64 : 32;
  bool floats = w->format <= CEL_LIN_BF16 || w->format == CEL_LIN_MLX_MXFP8 || w->format == CEL_LIN_FP8;
  bool integers = !floats && w->precision != CEL_LIN_PREC_F32;
  float levels = w->precision == CEL_LIN_PREC_I8 && few_bits(w) ? 127.0f : 32767.0f;
  float row[4096];
  double hat[4096];
  for (int64_t t = 0; t < n; t++) {
    for (int64_t i = 0; i < w->cols; i += unit) {
      int64_t k = CEL_MIN(unit, w->cols - i);
      if (integers) quantized(x + t * w->cols + i, k, levels, hat + i);
      for (int64_t j = i; j < i + k && !integers; j++) hat[j] = (double)x[t * w->cols + j];
    }
    for (int64_t r = 0; r < w->rows; r++) {
      double sum = 0, size = 0, got = (double)y[t * w->rows + r];
      c->ref->linear_row(w, r, row);
      for (int64_t i = 0; i < w->cols; i++) {
        sum += (double)row[i] * hat[i];
        size += fabs((double)row[i] * hat[i]);
      }
      // Scales times integers plus biases: the parts are a few times larger than the widened weights.
      if (!expect(c, fabs(got - sum) <= (integers ? 4e-6 : 1e-6) * size + 1e-30,
                  "linear_mul %s precision %d rows %d cols %d: token %d row %d is %.9g, exactly %.9g (of %.9g)", m->name,
                  (int)w->precision, (int)w->rows, (int)w->cols, (int)t, (int)r, got, sum, size))
        return;
    }
  }
}

typedef struct product {
  float *y;
  uint8_t *packed;
  int64_t stride;
} product;

static product multiply(const cel_kernels *k, const cel_linear *w, const float *x, int64_t n) {
  int64_t stride = cel_linear_pack_bytes(w), x_stride = w->cols;
  product p = {guarded_floats(n * w->rows), guarded((size_t)(stride * n)), stride};
  void *scratch = guarded((size_t)cel_linear_scratch_bytes(w));
  k->linear_pack(w, x, x_stride, n, p.packed, stride);
  k->linear_mul(w, p.packed, stride, n, p.y, w->rows, 0, w->rows, scratch);
  return p;
}

// Tokens one at a time and in other batches, rows in odd ranges: the bits of `whole`.
static void same_bits_any_way(check *c, const weights *m, const product *whole, int64_t n) {
  static const int batches[] = {1, 2, 3, 4, 5, 8, 17};
  const cel_linear *w = &m->w;
  void *scratch = guarded((size_t)cel_linear_scratch_bytes(w));
  float *y = guarded_floats(n * w->rows);
  for (int i = 0; i < CEL_COUNT(batches); i++) {
    int64_t step = 1 + i * 2;
    if (batches[i] > n) continue;
    memset(y, 0, (size_t)(n * w->rows) * sizeof *y);
    for (int64_t t = 0; t < n; t += batches[i])
      for (int64_t r = 0; r < w->rows; r += step)
        c->now->linear_mul(w, whole->packed + t * whole->stride, whole->stride, CEL_MIN(batches[i], n - t),
                           y + t * w->rows, w->rows, r, CEL_MIN(r + step, w->rows), scratch);
    int64_t at = first_difference(y, whole->y, n * w->rows);
    expect(c, at < 0, "linear_mul %s precision %d rows %d cols %d: %d tokens at a time, %d rows at a time differ from %d at once at %d",
           m->name, (int)w->precision, (int)w->rows, (int)w->cols, batches[i], (int)step, (int)n, (int)at);
  }
}

static void check_case(check *c, int kind, cel_linear_precision precision, int64_t rows, int64_t cols, int64_t n) {
  weights m;
  if (c->cases++ % c->every) return;
  if (make_weights(c, kind, precision, rows, cols, &m)) {
    float *x = guarded_floats(n * cols), *row_a = guarded_floats(cols), *row_b = guarded_floats(cols);
    fill_activations(c, x, n * cols);
    product want = multiply(c->ref, &m.w, x, n), got = multiply(c->now, &m.w, x, n);
    against_f64(c, &m, x, n, got.y);
    int64_t at = first_difference(got.y, want.y, n * rows);
    expect(c, at < 0, "linear_mul %s precision %d rows %d cols %d tokens %d: differs at %d: %.9g, scalar %.9g",
           m.name, (int)precision, (int)rows, (int)cols, (int)n, (int)at, at < 0 ? 0 : (double)got.y[at],
           at < 0 ? 0 : (double)want.y[at]);
    c->ref->linear_row(&m.w, rows - 1, row_a);
    c->now->linear_row(&m.w, rows - 1, row_b);
    expect(c, first_difference(row_a, row_b, cols) < 0, "linear_row %s cols %d", m.name, (int)cols);
    same_bits_any_way(c, &m, &got, n);
  }
  release_all();
}

// A unit that holds a NaN or an infinity makes every output NaN; zeros and tiny numbers give zero or tiny.
static void check_awkward_activations(check *c, int kind) {
  static const float values[] = {NAN, INFINITY, -INFINITY, 0, 1e-42f, 1e36f};
  for (int i = 0; i < CEL_COUNT(values); i++) {
    weights m;
    if (!make_weights(c, kind, CEL_LIN_PREC_I16, 5, 256, &m)) continue;
    float *x = guarded_floats(256);
    for (int j = 0; j < 256; j++) x[j] = values[i] == 0 || fabsf(values[i]) < 1e-30f ? 0 : 0.5f;
    x[77] = values[i];
    product want = multiply(c->ref, &m.w, x, 1), got = multiply(c->now, &m.w, x, 1);
    bool finite = isfinite(values[i]);
    for (int r = 0; r < 5; r++)
      expect(c, finite ? isfinite(got.y[r]) && isfinite(want.y[r]) : !isfinite(got.y[r]) && !isfinite(want.y[r]),
             "linear_mul %s with an activation of %g: row %d is %g, scalar %g", m.name, (double)values[i], r,
             (double)got.y[r], (double)want.y[r]);
    release_all();
  }
}

// Widened rows added up with a factor each: the same bits whatever the width of a table's vectors, and the right sum.
static void check_add_rows(check *c) {
  for (int i = 0; i < 60; i++) {
    int64_t rows = i % 19, cols = 1 + i * 37 % 211, stride = cols + i % 3;
    float *x = guarded_floats(rows), *w = guarded_floats(rows * stride), *got = guarded_floats(cols), *want = guarded_floats(cols);
    for (int64_t k = 0; k < rows; k++) x[k] = normal(c);
    for (int64_t k = 0; k < rows * stride; k++) w[k] = normal(c);
    for (int64_t k = 0; k < cols; k++) got[k] = want[k] = normal(c);
    float *start = guarded_floats(cols);
    memcpy(start, want, (size_t)cols * sizeof *start);
    c->ref->add_rows(want, x, w, stride, rows, cols);
    c->now->add_rows(got, x, w, stride, rows, cols);
    int64_t differs = first_difference(got, want, cols);
    expect(c, differs < 0, "add_rows %d of %d: column %d differs", (int)rows, (int)cols, (int)differs);
    double sum = (double)start[cols - 1], size = fabs(sum);
    for (int64_t k = 0; k < rows; k++) {
      double term = (double)x[k] * (double)w[k * stride + cols - 1];
      sum += term;
      size += fabs(term);
    }
    expect(c, fabs((double)want[cols - 1] - sum) <= 2e-6 * size, "add_rows %d of %d: %g, not %g", (int)rows, (int)cols,
           (double)want[cols - 1], sum);
    release_all();
  }
}

void check_linear(check *c) {
  check_add_rows(c);
  static const int cols[] = {32, 64, 96, 128, 160, 256, 288, 320, 512, 576, 768, 1536};
  static const int plain_cols[] = {1, 7, 8, 9, 31, 67, 576};
  for (int kind = 0; kind < WEIGHT_KINDS; kind++)
    for (int precision = 0; precision < 3; precision++) {
      if (kind < 3 && precision) continue;
      for (int i = 0; i < CEL_COUNT(cols); i++)
        check_case(c, kind, (cel_linear_precision)precision, 1 + (i * 7) % 19, cols[i], 1 + (i * 11 + kind) % 23);
      for (int i = 0; i < CEL_COUNT(plain_cols) && kind < 3; i++)
        check_case(c, kind, CEL_LIN_PREC_F32, 1 + i * 3 % 11, plain_cols[i], 1 + i);
      // More than a stretch of the sum, and than a block of tokens.
      if (kind < 3) check_case(c, kind, CEL_LIN_PREC_F32, 13, 1353, 101);
      check_case(c, kind, (cel_linear_precision)precision, 16, 256, 64);
    }
  for (int kind = 0; kind < WEIGHT_KINDS; kind++) check_awkward_activations(c, kind);
}
