#include <stdlib.h>

#include "api/api.h"

static const mlxcel_sampling defaults = {.top_p = 1, .typical_p = 1, .xtc_threshold = 0.1f, .repetition_penalty = 1,
                                         .penalty_last_n = -1, .dry_base = 1.75f, .dry_allowed_length = 2, .dry_last_n = -1,
                                         .n_logprobs = -1};

_Static_assert((int)MLXCEL_MAX_LOGPROBS == (int)CEL_EVENT_MAX_LOGPROBS, "an event holds that many");

void mlxcel_sampling_init(mlxcel_sampling *sampling, size_t struct_size) {
  cel_api_defaults(sampling, struct_size, &defaults, sizeof defaults);
}

void cel_api_sampling_deinit(cel_api_sampling *s) {
  free(s->breakers);
  free(s->bias);
  *s = (cel_api_sampling){0};
}

static void copy_numbers(const mlxcel_sampling *g, cel_sampling *s) {
  *s = (cel_sampling){.temperature = g->temperature, .top_k = g->top_k, .top_p = g->top_p, .min_p = g->min_p,
                      .typical_p = g->typical_p, .top_n_sigma = g->top_n_sigma, .xtc_probability = g->xtc_probability,
                      .xtc_threshold = g->xtc_threshold, .repetition_penalty = g->repetition_penalty,
                      .frequency_penalty = g->frequency_penalty, .presence_penalty = g->presence_penalty,
                      .penalty_last_n = g->penalty_last_n, .dry_multiplier = g->dry_multiplier, .dry_base = g->dry_base,
                      .dry_allowed_length = g->dry_allowed_length, .dry_last_n = g->dry_last_n, .seed = g->seed,
                      .n_logprobs = g->n_logprobs};
}

static cel_status check_list(const char *name, const void *list, int32_t n, cel_err *err) {
  if (n < 0) return cel_fail(err, CEL_INVALID, "n_%s is %d", name, n);
  return n && !list ? cel_fail(err, CEL_INVALID, "%s is NULL, n_%s is %d", name, name, n) : CEL_OK;
}

static cel_status copy_breakers(const mlxcel_sampling *g, cel_api_sampling *out, cel_err *err) {
  CEL_TRY(check_list("dry_breakers", g->dry_breakers, g->n_dry_breakers, err));
  if (g->n_dry_breakers == 0) return CEL_OK;
  out->breakers = malloc((size_t)g->n_dry_breakers * sizeof *out->breakers);
  if (!out->breakers) return cel_fail_oom(err, "sampling");
  memcpy(out->breakers, g->dry_breakers, (size_t)g->n_dry_breakers * sizeof *out->breakers);
  out->s.dry_breakers = out->breakers;
  out->s.n_dry_breakers = g->n_dry_breakers;
  return CEL_OK;
}

static cel_status copy_bias(const mlxcel_sampling *g, int64_t vocab, cel_api_sampling *out, cel_err *err) {
  CEL_TRY(check_list("bias", g->bias, g->n_bias, err));
  if (g->n_bias == 0) return CEL_OK;
  out->bias = malloc((size_t)g->n_bias * sizeof *out->bias);
  if (!out->bias) return cel_fail_oom(err, "sampling");
  for (int32_t i = 0; i < g->n_bias; i++) {
    CEL_TRY(cel_api_range("a logit bias's id", g->bias[i].id, 0, vocab - 1, err));
    out->bias[i] = (cel_logit_bias){g->bias[i].id, g->bias[i].bias};
  }
  out->s.bias = out->bias;
  out->s.n_bias = g->n_bias;
  return CEL_OK;
}

cel_status cel_api_sampling_read(const mlxcel_sampling *given, int64_t vocab, cel_api_sampling *out, cel_err *err) {
  mlxcel_sampling g = defaults;
  CEL_TRY(cel_api_read(&g, sizeof g, sizeof g, given, "mlxcel_sampling", err));
  *out = (cel_api_sampling){0};
  copy_numbers(&g, &out->s);
  cel_status s = cel_api_range("n_logprobs", g.n_logprobs, -1, MLXCEL_MAX_LOGPROBS, err);
  if (s == CEL_OK) s = copy_breakers(&g, out, err);
  if (s == CEL_OK) s = copy_bias(&g, vocab, out, err);
  if (s == CEL_OK) s = cel_sampling_check(&out->s, err);
  if (s != CEL_OK) cel_api_sampling_deinit(out);
  return s;
}
