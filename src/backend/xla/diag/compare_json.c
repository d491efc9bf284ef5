// What a comparison found, as JSON.
#include <string.h>

#include "backend/xla/diag/compare.h"
#include "base/json.h"

static const char *const names[] = {[CEL_CRITERION_CLOSE] = "close", [CEL_CRITERION_BITS] = "bits", [CEL_CRITERION_ULP] = "ulp",
                                    [CEL_CRITERION_TOP1] = "top1"};

const char *cel_criterion_name(cel_criterion_kind kind) { return names[kind]; }

bool cel_criterion_by_name(const char *name, cel_criterion_kind *out) {
  for (int i = 0; i < CEL_COUNT(names); i++) {
    if (strcmp(name, names[i]) != 0) continue;
    *out = (cel_criterion_kind)i;
    return true;
  }
  return false;
}

static void real(cel_buf *b, const char *key, double x) {
  cel_buf_printf(b, ",\"%s\":", key);
  cel_json_add_number(b, x);
}

static void whole(cel_buf *b, const char *key, int64_t x) { cel_buf_printf(b, ",\"%s\":%lld", key, (long long)x); }

void cel_criterion_json(const cel_criterion *c, cel_buf *out) {
  cel_buf_printf(out, "{\"kind\":\"%s\"", names[c->kind]);
  if (c->kind == CEL_CRITERION_CLOSE) {
    real(out, c->abs < 0 ? "abs_of_rms" : "abs", c->abs < 0 ? -c->abs : c->abs);
    real(out, "rel", c->rel);
  }
  if (c->kind == CEL_CRITERION_ULP) whole(out, "ulp", c->ulp);
  cel_buf_addc(out, '}');
}

void cel_difference_json(const cel_difference *d, int rank, cel_buf *out) {
  cel_buf_printf(out, "{\"index\":%lld,\"coordinate\":[", (long long)d->at);
  for (int i = 0; i < rank; i++) cel_buf_printf(out, "%s%lld", i ? "," : "", (long long)d->coordinate[i]);
  cel_buf_addc(out, ']');
  real(out, "reference", d->reference);
  real(out, "candidate", d->candidate);
  cel_buf_printf(out, ",\"reference_bits\":\"0x%08X\",\"candidate_bits\":\"0x%08X\"", d->reference_bits, d->candidate_bits);
  real(out, "abs", d->abs);
  real(out, "rel", d->rel);
  whole(out, "ulp", d->ulp);
  cel_buf_addc(out, '}');
}

static void difference(cel_buf *out, const char *key, const cel_difference *d, int rank) {
  cel_buf_printf(out, ",\"%s\":", key);
  if (d->at < 0) cel_buf_addz(out, "null");
  else cel_difference_json(d, rank, out);
}

void cel_comparison_json(const cel_comparison *c, int rank, cel_buf *out) {
  cel_buf_printf(out, "\"n\":%lld", (long long)c->n);
  whole(out, "failures", c->failures);
  whole(out, "non_finite", c->non_finite);
  whole(out, "unequal_bits", c->unequal_bits);
  real(out, "abs_bound", c->abs);
  real(out, "rel_bound", c->rel);
  real(out, "max_abs", c->max_abs);
  real(out, "max_rel", c->max_rel);
  real(out, "rms", c->rms);
  real(out, "reference_rms", c->reference_rms);
  whole(out, "max_ulp", c->max_ulp);
  whole(out, "rows", c->rows);
  whole(out, "rows_top1_unequal", c->rows_unequal);
  difference(out, "first", &c->first, rank);
  difference(out, "worst", &c->worst, rank);
  cel_buf_printf(out, ",\"passed\":%s", c->passed ? "true" : "false");
}
