// Defaults and allowed ranges of the sampling settings.
#include <math.h>

#include "sample/sample.h"

void cel_sampling_init(cel_sampling *s) {
  *s = (cel_sampling){.temperature = 1.0f,
                      .top_p = 1.0f,
                      .typical_p = 1.0f,
                      .xtc_threshold = 0.1f,
                      .repetition_penalty = 1.0f,
                      .penalty_last_n = -1,
                      .dry_base = 1.75f,
                      .dry_allowed_length = 2,
                      .dry_last_n = -1,
                      .n_logprobs = -1};
}

typedef struct range {
  const char *name;
  float value, low, high;
  bool low_open;  // the low end itself is refused
} range;

// The ends keep every later sum and quotient of ordinary logits finite.
static cel_status check_range(const range *r, cel_err *err) {
  if (r->value <= r->high && (r->low_open ? r->value > r->low : r->value >= r->low)) return CEL_OK;
  return cel_fail(err, CEL_INVALID, "%s is %g, allowed is %s%g to %g", r->name, (double)r->value,
                  r->low_open ? "more than " : "", (double)r->low, (double)r->high);
}

static cel_status check_bias(const cel_sampling *s, cel_err *err) {
  if (s->n_bias < 0 || (s->n_bias > 0 && !s->bias)) return cel_fail(err, CEL_INVALID, "logit_bias has no entries");
  for (int32_t i = 0; i < s->n_bias; i++) {
    const cel_logit_bias *b = &s->bias[i];
    if (b->id < 0) return cel_fail(err, CEL_INVALID, "logit_bias names token %d, ids start at 0", b->id);
    if (!(fabsf(b->bias) <= 1e6f) && b->bias != -INFINITY) {
      return cel_fail(err, CEL_INVALID, "logit_bias of token %d is %g, allowed is -1e6 to 1e6 or -infinity", b->id,
                      (double)b->bias);
    }
  }
  return CEL_OK;
}

cel_status cel_sampling_check(const cel_sampling *s, cel_err *err) {
  const range ranges[] = {
      {"temperature", s->temperature, 0, 1e6f, false},
      {"top_p", s->top_p, 0, 1, true},
      {"min_p", s->min_p, 0, 1, false},
      {"typical_p", s->typical_p, 0, 1, true},
      {"top_n_sigma", s->top_n_sigma, -1e6f, 1e6f, false},
      {"xtc_probability", s->xtc_probability, 0, 1, false},
      {"xtc_threshold", s->xtc_threshold, 0, 1, false},
      {"repetition_penalty", s->repetition_penalty, 0.01f, 100, false},
      {"frequency_penalty", s->frequency_penalty, -1000, 1000, false},
      {"presence_penalty", s->presence_penalty, -1000, 1000, false},
      {"dry_multiplier", s->dry_multiplier, 0, 1000, false},
      {"dry_base", s->dry_base, 1, 1000, false},
  };
  for (int i = 0; i < CEL_COUNT(ranges); i++) CEL_TRY(check_range(&ranges[i], err));
  const struct {
    const char *name;
    int32_t value, low;
  } counts[] = {{"penalty_last_n", s->penalty_last_n, -1},
                {"dry_last_n", s->dry_last_n, -1},
                {"dry_allowed_length", s->dry_allowed_length, 1},
                {"n_logprobs", s->n_logprobs, -1},
                {"n_dry_breakers", s->n_dry_breakers, 0}};
  for (int i = 0; i < CEL_COUNT(counts); i++) {
    if (counts[i].value < counts[i].low) {
      return cel_fail(err, CEL_INVALID, "%s is %d, allowed is %d or more", counts[i].name, counts[i].value,
                      counts[i].low);
    }
  }
  if (s->n_dry_breakers > 0 && !s->dry_breakers) return cel_fail(err, CEL_INVALID, "dry_breakers has no entries");
  return check_bias(s, err);
}
