// linear_row gives the f32 values that model/dtype.h defines, bit for bit, for every format.
#include <string.h>

#include "kernel/check.h"
#include "model/dtype.h"

static const cel_dtype dtypes[] = {
  [CEL_LIN_F32] = CEL_DT_F32,   [CEL_LIN_F16] = CEL_DT_F16,   [CEL_LIN_BF16] = CEL_DT_BF16, [CEL_LIN_Q4_0] = CEL_DT_Q4_0,
  [CEL_LIN_Q4_1] = CEL_DT_Q4_1, [CEL_LIN_Q5_0] = CEL_DT_Q5_0, [CEL_LIN_Q5_1] = CEL_DT_Q5_1, [CEL_LIN_Q8_0] = CEL_DT_Q8_0,
  [CEL_LIN_Q4_K] = CEL_DT_Q4_K, [CEL_LIN_Q5_K] = CEL_DT_Q5_K, [CEL_LIN_Q6_K] = CEL_DT_Q6_K,
};

static void widen(const cel_linear *w, int64_t row, float *out) {
  const uint8_t *p = w->w + row * w->w_row_bytes;
  if (w->format != CEL_LIN_AFFINE) {
    cel_dtype_of(dtypes[w->format])->widen(p, out, w->cols);
    return;
  }
  int64_t at = row * (w->cols / w->group) * (w->scale_type == CEL_LIN_F32 ? 4 : 2);
  uint32_t *words = guarded((size_t)w->w_row_bytes);  // aligned, as that function wants them
  memcpy(words, p, (size_t)w->w_row_bytes);
  cel_affine_widen(words, w->scales + at, w->biases + at, dtypes[w->scale_type], w->bits, w->group, w->cols, out);
}

void check_dtypes(check *c) {
  static const int cols[] = {32, 96, 256, 576, 1024};
  for (int kind = 0; kind < WEIGHT_KINDS; kind++)
    for (int i = 0; i < CEL_COUNT(cols); i++) {
      weights m;
      if (make_weights(c, kind, CEL_LIN_PREC_F32, 3, cols[i], &m))
        for (int64_t r = 0; r < 3; r++) {
          float *got = guarded_floats(cols[i]), *want = guarded_floats(cols[i]);
          widen(&m.w, r, want);
          c->now->linear_row(&m.w, r, got);
          int64_t at = first_difference(got, want, cols[i]);
          expect(c, at < 0, "linear_row %s cols %d row %d: element %d is %.9g, dtype.h says %.9g", m.name, cols[i], (int)r,
                 (int)at, at < 0 ? 0 : (double)got[at], at < 0 ? 0 : (double)want[at]);
        }
      release_all();
    }
}
