// linear_row gives the f32 values that model/dtype.h defines, bit for bit, for every format.
#include <string.h>

#include "kernel/check.h"
#include "model/dtype.h"

static cel_dtype dtype_of(int format) {
  int i = 0;
  while (i < CEL_DTYPE_COUNT - 1 && strcmp(cel_dtype_of((cel_dtype)i)->name, cel_linear_traits_of((cel_linear_format)format)->name) != 0)
    i++;
  return (cel_dtype)i;
}

static void widen(const cel_linear *w, int64_t row, float *out) {
  const uint8_t *p = w->w + row * w->w_row_bytes;
  int64_t groups = w->group ? w->cols / w->group : 0;
  if (w->format == CEL_LIN_AFFINE) {
    int64_t at = row * groups * (w->scale_type == CEL_LIN_F32 ? 4 : 2);
    cel_affine_widen(p, w->scales + at, w->biases + at, dtype_of(w->scale_type), w->bits, w->group, w->cols, out);
  } else if (w->format == CEL_LIN_FP8) {
    cel_fp8_widen(p, w->scales + row * groups * 4, w->group, w->cols, out);
  } else if (groups) {
    cel_micro_widen(p, w->scales + row * groups, w->bits, w->group, w->cols, out);
  } else {
    cel_dtype_of(dtype_of((int)w->format))->widen(p, out, w->cols);
  }
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
