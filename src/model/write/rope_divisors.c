#include <math.h>

#include "base/macros.h"
#include "model/write/gguf_family.h"

enum { DIMS_MOST = 1024 };

bool cel_rope_divisors(const cel_rope *r, float *out) {
  if (r->type != CEL_ROPE_LLAMA3) return false;
  double low = r->original_max_position / r->low_freq_factor, high = r->original_max_position / r->high_freq_factor;
  for (int j = 0; j < r->dims / 2; j++) {
    double wave = 2 * acos(-1) * pow(r->theta, 2.0 * j / r->dims);
    double share = (r->original_max_position / wave - r->low_freq_factor) / (r->high_freq_factor - r->low_freq_factor);
    out[j] = (float)(wave < high ? 1 : wave > low ? r->factor : 1 / ((1 - share) / r->factor + share));
  }
  return true;
}

static bool gives(const cel_rope *r, const float *divisors, int n) {
  float again[DIMS_MOST / 2];
  if (!cel_rope_divisors(r, again)) return false;
  for (int j = 0; j < n; j++) {
    if (!(fabsf(again[j] - divisors[j]) <= 1e-5f * again[j])) return false;
  }
  return true;
}

// Between the borders a divisor d belongs to the share (1/d - 1/factor) / (1 - 1/factor) of the wave as it was; that is
// (original / wave - 1) / 3 with low 1 and high 4.
bool cel_rope_from_divisors(const float *divisors, int n, double theta, cel_rope *out) {
  double factor = 1, sum = 0;
  int between = 0;
  if (n < 1 || n > DIMS_MOST / 2) return false;
  for (int j = 0; j < n; j++) factor = CEL_MAX(factor, (double)divisors[j]);
  for (int j = 0; j < n; j++) {
    double d = divisors[j];
    if (!(d > 1 + 1e-6) || d > factor * (1 - 1e-6)) continue;
    double share = (1 / d - 1 / factor) / (1 - 1 / factor);
    sum += (3 * share + 1) * 2 * acos(-1) * pow(theta, (double)j / n);
    between++;
  }
  *out = (cel_rope){.type = CEL_ROPE_LLAMA3, .theta = theta, .dims = 2 * n, .factor = factor, .low_freq_factor = 1,
                    .high_freq_factor = 4, .original_max_position = between ? rint(sum / between) : 8192};
  return factor > 1 && gives(out, divisors, n);
}
