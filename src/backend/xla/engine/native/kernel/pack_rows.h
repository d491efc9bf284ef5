// Template: linear_pack over rows of units, the same for all instruction sets. The including file defines NAME(kernel) and
//   float pack_unit(const float *x, int unit, int n_sums, bool bytes, uint8_t *out, int32_t *totals, float *sum)
// which writes one unit's integers to out, their two totals and n_sums sums, and returns its scale. Internal to kernel/.
#include "backend/xla/engine/native/kernel/linear.h"
#include "backend/xla/engine/native/kernel/scalar.h"
#include "base/macros.h"

static CEL_ALWAYS_INLINE void pack_row(const cel_linear *w, int unit, int n_sums, bool bytes, const float *x, uint8_t *out) {
  float *scale = (float *)(void *)(out + cel_lin_scales_at(w)), *sum = (float *)(void *)(out + cel_lin_sums_at(w));
  int32_t *totals = (int32_t *)(void *)(out + cel_lin_totals_at(w));
  const int64_t whole = w->cols / unit, unit_bytes = bytes ? unit : 2 * unit;
  memset(scale, 0, (size_t)(cel_linear_pack_bytes(w) - cel_lin_scales_at(w)));
  for (int64_t u = 0; u < whole; u++)
    scale[u] = pack_unit(x + u * unit, unit, n_sums, bytes, out + u * unit_bytes, totals + 2 * u, sum + u * n_sums);
  if (whole * unit == w->cols) return;
  float last[CEL_LIN_UNIT_MAX] = {0};
  memcpy(last, x + whole * unit, (size_t)(w->cols - whole * unit) * sizeof *x);
  scale[whole] = pack_unit(last, unit, n_sums, bytes, out + whole * unit_bytes, totals + 2 * whole, sum + whole * n_sums);
}

static CEL_ALWAYS_INLINE void pack_shape(const cel_linear *w, int unit, int n_sums, const float *x, uint8_t *out) {
  if (cel_lin_bytes(w)) pack_row(w, unit, n_sums, true, x, out);
  else pack_row(w, unit, n_sums, false, x, out);
}

void NAME(linear_pack)(const cel_linear *w, const float *x, int64_t x_stride, int64_t n_tokens, uint8_t *packed,
                       int64_t pack_stride) {
  if (!cel_lin_integers(w)) {
    cel_scalar_linear_pack(w, x, x_stride, n_tokens, packed, pack_stride);
    return;
  }
  for (int64_t t = 0; t < n_tokens; t++, x += x_stride, packed += pack_stride) {
    if (cel_lin_unit(w) == 32 && cel_lin_sums(w) == 1) pack_shape(w, 32, 1, x, packed);
    else if (cel_lin_unit(w) == 32) pack_shape(w, 32, 2, x, packed);
    else if (cel_lin_sums(w) == 1) pack_shape(w, 64, 1, x, packed);
    else pack_shape(w, 64, 2, x, packed);
  }
}
