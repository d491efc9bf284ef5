#include "backend/xla/diag/compare.h"

#include <math.h>
#include <string.h>

#include "base/half.h"

// ---- elements ------------------------------------------------------------------------------------------

typedef struct element {
  double value;
  uint32_t bits;
} element;

static int width_of(const char *dtype) {
  static const char *const read[] = {"<f4", "<f8", "<f2", "<i4", "<i8", "<i2", "|i1", "<u4", "<u2", "|u1", "|b1"};
  for (int i = 0; i < (int)(sizeof read / sizeof *read); i++) {
    if (!strcmp(dtype, read[i])) return dtype[2] - '0';
  }
  return 0;
}

static double integer_at(const char *p, char kind, int width) {
  int64_t v = 0;
  memcpy(&v, p, (size_t)width);  // little-endian
  int unused = 64 - 8 * width;
  if (kind == 'i' && unused) v = (int64_t)((uint64_t)v << unused) >> unused;
  return (double)v;
}

static double value_at(const cel_diag_array *a, int64_t i) {
  int width = a->dtype[2] - '0';
  const char *p = (const char *)a->data + i * width;
  if (a->dtype[1] != 'f') return integer_at(p, a->dtype[1], width);
  float f;
  double d;
  uint16_t h;
  if (width == 8) return memcpy(&d, p, 8), d;
  if (width == 4) return memcpy(&f, p, 4), (double)f;
  return memcpy(&h, p, 2), (double)cel_f16_to_f32(h);
}

static element element_at(const cel_diag_array *a, int64_t i) {
  element e = {.value = value_at(a, i)};
  if (a->dtype[1] == 'f') e.bits = cel_f32_bits((float)e.value);
  else e.bits = (uint32_t)(int64_t)e.value;
  return e;
}

// f32 bit patterns as whole numbers in the order of the values; 0 and -0 are the same.
static int64_t place(uint32_t bits) { return bits >> 31 ? -(int64_t)(bits & 0x7FFFFFFFu) : (int64_t)bits; }

static int64_t steps_between(const cel_diag_array *a, element r, element c) {
  if (a->dtype[1] != 'f') return (int64_t)fabs(c.value - r.value);
  int64_t d = place(c.bits) - place(r.bits);
  return d < 0 ? -d : d;
}

// ---- shapes --------------------------------------------------------------------------------------------

int64_t cel_diag_elements(const cel_diag_array *a) {
  int64_t n = 1;
  for (int i = 0; i < a->rank; i++) n *= a->dims[i];
  return n;
}

static int without_ones(const cel_diag_array *a, int64_t *dims) {
  int n = 0;
  for (int i = 0; i < a->rank; i++) {
    if (a->dims[i] != 1) dims[n++] = a->dims[i];
  }
  return n;
}

static void shape_text(const cel_diag_array *a, cel_buf *out) {
  cel_buf_printf(out, "%s [", a->dtype);
  for (int i = 0; i < a->rank; i++) cel_buf_printf(out, "%s%lld", i ? ", " : "", (long long)a->dims[i]);
  cel_buf_addc(out, ']');
}

static cel_status check_shapes(const cel_diag_array *r, const cel_diag_array *c, cel_err *err) {
  int64_t rd[CEL_DIAG_RANK_MOST], cd[CEL_DIAG_RANK_MOST];
  int rn = without_ones(r, rd), cn = without_ones(c, cd);
  bool same = rn == cn && memcmp(rd, cd, (size_t)rn * sizeof *rd) == 0;
  if (same && width_of(r->dtype) && width_of(c->dtype)) return CEL_OK;
  cel_buf a = {0}, b = {0};
  shape_text(r, &a);
  shape_text(c, &b);
  cel_status s = cel_fail(err, CEL_INVALID, "%s: the reference is %s, the candidate %s: %s", c->name, a.p ? a.p : "", b.p ? b.p : "",
                          same ? "a type that is not compared" : "not one shape");
  cel_buf_deinit(&a);
  cel_buf_deinit(&b);
  return s;
}

static void coordinates(const cel_diag_array *a, int64_t at, int64_t *out) {
  for (int i = a->rank - 1; i >= 0; i--) {
    out[i] = at % a->dims[i];
    at /= a->dims[i];
  }
}

// ---- comparing -----------------------------------------------------------------------------------------

static double root_mean_square(const cel_diag_array *a, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    double x = value_at(a, i);
    if (isfinite(x)) sum += x * x;
  }
  return n ? sqrt(sum / (double)n) : 0;
}

static cel_difference difference(const cel_diag_array *a, int64_t at, element r, element c) {
  double d = fabs(c.value - r.value);
  cel_difference x = {.at = at, .reference = r.value, .candidate = c.value, .reference_bits = r.bits, .candidate_bits = c.bits,
                      .abs = d, .rel = r.value != 0 ? d / fabs(r.value) : 0, .ulp = steps_between(a, r, c)};
  coordinates(a, at, x.coordinate);
  return x;
}

static bool fails(const cel_criterion *k, const cel_comparison *out, const cel_difference *d) {
  if (out->whole && k->kind != CEL_CRITERION_TOP1) return true;
  switch (k->kind) {
    case CEL_CRITERION_CLOSE: return !(d->abs <= out->abs + out->rel * fabs(d->reference));
    case CEL_CRITERION_BITS: return d->reference_bits != d->candidate_bits;
    case CEL_CRITERION_ULP: return d->ulp > k->ulp;
    case CEL_CRITERION_TOP1: break;
  }
  return false;
}

static void note(cel_comparison *out, const cel_difference *d, bool failed) {
  out->failures += failed;
  if (failed && out->first.at < 0) out->first = *d;
}

static void count(const cel_criterion *k, cel_comparison *out, const cel_difference *d) {
  if (d->reference_bits != d->candidate_bits) out->unequal_bits++;
  bool both_nan = isnan(d->reference) && isnan(d->candidate);
  if (both_nan || d->reference == d->candidate) {
    note(out, d, k->kind == CEL_CRITERION_BITS && d->reference_bits != d->candidate_bits);
    return;
  }
  if (!isfinite(d->reference) || !isfinite(d->candidate)) {
    out->non_finite++;
    note(out, d, true);
    return;
  }
  if (out->worst.at < 0 || d->abs > out->max_abs) out->worst = *d;
  out->max_abs = fmax(out->max_abs, d->abs);
  out->max_rel = fmax(out->max_rel, d->rel);
  out->max_ulp = CEL_MAX(out->max_ulp, d->ulp);
  out->rms += d->abs * d->abs;
  note(out, d, fails(k, out, d));
}

static int64_t largest(const cel_diag_array *a, int64_t from, int64_t n) {
  int64_t best = from;
  for (int64_t i = from + 1; i < from + n; i++) {
    if (value_at(a, i) > value_at(a, best)) best = i;
  }
  return best;
}

static void compare_rows(const cel_diag_array *r, const cel_diag_array *c, bool judge, cel_comparison *out) {
  int64_t wide = c->rank ? c->dims[c->rank - 1] : 1;
  if (wide < 1) return;
  out->rows = out->n / wide;
  for (int64_t i = 0; i < out->rows; i++) {
    int64_t a = largest(r, i * wide, wide), b = largest(c, i * wide, wide);
    if (a == b) continue;
    out->rows_unequal++;
    cel_difference d = difference(c, a, element_at(r, a), element_at(c, a));
    if (judge) note(out, &d, true);
  }
}

cel_status cel_compare(const cel_diag_array *reference, const cel_diag_array *candidate, const cel_criterion *criterion,
                       cel_comparison *out, cel_err *err) {
  *out = (cel_comparison){.first = {.at = -1}, .worst = {.at = -1}};
  CEL_TRY(check_shapes(reference, candidate, err));
  out->n = cel_diag_elements(candidate);
  out->whole = candidate->dtype[1] != 'f';
  out->reference_rms = root_mean_square(reference, out->n);
  out->abs = criterion->abs < 0 ? -criterion->abs * out->reference_rms : criterion->abs;
  out->rel = criterion->rel;
  for (int64_t i = 0; i < out->n; i++) {
    cel_difference d = difference(candidate, i, element_at(reference, i), element_at(candidate, i));
    count(criterion, out, &d);
  }
  compare_rows(reference, candidate, criterion->kind == CEL_CRITERION_TOP1, out);
  out->rms = out->n ? sqrt(out->rms / (double)out->n) : 0;
  out->passed = out->failures == 0;
  return CEL_OK;
}
