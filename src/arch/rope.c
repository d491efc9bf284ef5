// Rotary frequencies, rounded where transformers rounds: f32 tensors, double scalars (text-architectures
// §1.5). pow() is taken in double and rounded once, which is within an ulp of any good powf.
#include <math.h>

#include "arch/arch.h"

static const double pi = 3.14159265358979323846;

bool cel_rope_depends_on_length(const cel_rope *r) {
  return r->type == CEL_ROPE_DYNAMIC || r->type == CEL_ROPE_LONGROPE;
}

int cel_rope_columns(const cel_rope *r) { return r->dims / 2 + (r->short_mscale != 0); }

// base^(2j/R) in f32: the wavelength over 2 pi of pair j.
static float power(float base, int j, int dims) {
  float exponent = (float)(2 * j) / (float)dims;
  return (float)pow((double)base, (double)exponent);
}

static void plain(float base, int dims, float *f) {
  for (int j = 0; j < dims / 2; j++) f[j] = 1.0f / power(base, j, dims);
}

static void linear(const cel_rope *r, float *f) {
  plain((float)r->theta, r->dims, f);
  for (int j = 0; j < r->dims / 2; j++) f[j] /= (float)r->factor;
}

// The base grows with the length; up to max_position it is the plain one.
static void dynamic(const cel_rope *r, int64_t length, float *f) {
  float base = (float)r->theta;
  if ((double)length > r->max_position) {
    float ratio = (float)r->factor * (float)length / (float)r->max_position - (float)(r->factor - 1);
    double exponent = (double)r->dims / (double)(r->dims - 2);
    base *= (float)pow((double)ratio, exponent);
  }
  plain(base, r->dims, f);
}

// Long waves are slowed by `factor`, short ones kept, those between blended.
static float llama3_one(const cel_rope *r, float f) {
  float longest = (float)(r->original_max_position / r->low_freq_factor);
  float shortest = (float)(r->original_max_position / r->high_freq_factor);
  float wave = (float)(2 * pi) * (1.0f / f), factor = (float)r->factor;
  if (wave > longest) return f / factor;
  if (wave < shortest) return f;
  float span = (float)(r->high_freq_factor - r->low_freq_factor);
  float t = ((float)r->original_max_position * (1.0f / wave) - (float)r->low_freq_factor) / span;
  return (1.0f - t) * f / factor + t * f;
}

static void llama3(const cel_rope *r, float *f) {
  plain((float)r->theta, r->dims, f);
  for (int j = 0; j < r->dims / 2; j++) f[j] = llama3_one(r, f[j]);
}

// The (fractional) pair that turns `turns` times within the original length.
static double yarn_pair(const cel_rope *r, double turns) {
  return r->dims * log(r->original_max_position / (turns * 2 * pi)) / (2 * log(r->theta));
}

static void yarn(const cel_rope *r, float *f) {
  double low = yarn_pair(r, r->beta_fast), high = yarn_pair(r, r->beta_slow);
  if (r->truncate) {
    low = floor(low);
    high = ceil(high);
  }
  low = fmax(low, 0);
  high = fmin(high, r->dims - 1);
  if (low == high) high += 0.001;
  for (int j = 0; j < r->dims / 2; j++) {
    float wave = power((float)r->theta, j, r->dims);
    float kept = 1.0f / wave, slowed = 1.0f / ((float)r->factor * wave);
    float ramp = ((float)j - (float)low) / (float)(high - low);
    float keep = 1.0f - fminf(fmaxf(ramp, 0), 1);
    f[j] = slowed * (1.0f - keep) + kept * keep;
  }
}

static void longrope(const cel_rope *r, int64_t length, float *f) {
  bool is_long = (double)length > r->original_max_position && r->short_mscale == 0;
  const float *stretch = is_long ? r->long_factor : r->short_factor;
  for (int j = 0; j < r->dims / 2; j++) f[j] = 1.0f / (stretch[j] * power((float)r->theta, j, r->dims));
}

static double yarn_mscale(double scale, double m) { return scale <= 1 ? 1 : 0.1 * m * log(scale) + 1; }

static double amplitude_of(const cel_rope *r, int64_t length) {
  if (r->short_mscale != 0) return (double)length > r->original_max_position ? r->long_mscale : r->short_mscale;
  bool scales = r->type == CEL_ROPE_YARN || r->type == CEL_ROPE_LONGROPE;
  if (!scales) return 1;
  if (r->attention_factor != 0) return r->attention_factor;
  if (r->type == CEL_ROPE_LONGROPE)
    return r->factor <= 1 ? 1 : sqrt(1 + log(r->factor) / log(r->original_max_position));
  if (r->mscale != 0 && r->mscale_all_dim != 0)
    return yarn_mscale(r->factor, r->mscale) / yarn_mscale(r->factor, r->mscale_all_dim);
  return yarn_mscale(r->factor, 1);
}

void cel_rope_frequencies(const cel_rope *r, int64_t length, float *f, float *amplitude) {
  switch (r->type) {
    case CEL_ROPE_DEFAULT: plain((float)r->theta, r->dims, f); break;
    case CEL_ROPE_LINEAR: linear(r, f); break;
    case CEL_ROPE_DYNAMIC: dynamic(r, length, f); break;
    case CEL_ROPE_LLAMA3: llama3(r, f); break;
    case CEL_ROPE_YARN: yarn(r, f); break;
    case CEL_ROPE_LONGROPE: longrope(r, length, f); break;
  }
  if (r->divisors)
    for (int j = 0; j < r->dims / 2; j++) f[j] /= r->divisors[j];
  *amplitude = (float)amplitude_of(r, length);
}
