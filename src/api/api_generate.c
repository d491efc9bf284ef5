#include <stdlib.h>

#include "api/api.h"

static const mlxcel_generate_options defaults = {.max_tokens = -1};

void mlxcel_generate_options_init(mlxcel_generate_options *options, size_t struct_size) {
  cel_api_defaults(options, struct_size, &defaults, sizeof defaults);
}

struct mlxcel_generator {
  mlxcel_model *model;
  mlxcel_generate_options options;  // its pointers to sampling and stops are not used
  cel_api_sampling sampling;
  cel_str *stops;                   // [options.n_stops], each malloc'ed
  cel_generation kept;
};

// ---- open and close ----------------------------------------------------------------------------------

static cel_status copy_stops(mlxcel_generator *g, const char *const *stops, cel_err *err) {
  int32_t n = g->options.n_stops;
  g->options.n_stops = 0;
  if (n < 0) return cel_fail(err, CEL_INVALID, "n_stops is %d", n);
  if (n && !stops) return cel_fail(err, CEL_INVALID, "stops is NULL, n_stops is %d", n);
  g->stops = calloc((size_t)n + 1, sizeof *g->stops);
  if (!g->stops) return cel_fail_oom(err, "stop strings");
  for (int32_t i = 0; i < n; i++) {
    if (!stops[i] || !*stops[i]) return cel_fail(err, CEL_INVALID, "stops[%d] is %s", i, stops[i] ? "empty" : "NULL");
    size_t bytes = strlen(stops[i]);
    char *copy = malloc(bytes + 1);
    if (!copy) return cel_fail_oom(err, "stop strings");
    memcpy(copy, stops[i], bytes + 1);
    g->stops[g->options.n_stops++] = (cel_str){copy, bytes};
  }
  return CEL_OK;
}

static cel_status read_options(mlxcel_generator *g, const mlxcel_generate_options *given, cel_err *err) {
  g->options = defaults;
  CEL_TRY(cel_api_read(&g->options, sizeof g->options, sizeof g->options, given, "mlxcel_generate_options", err));
  const mlxcel_generate_options o = g->options;
  g->options.sampling = NULL;
  g->options.stops = NULL;
  CEL_TRY(copy_stops(g, o.stops, err));
  CEL_TRY(cel_api_range("max_tokens", o.max_tokens, -1, INT64_MAX, err));
  return cel_api_sampling_read(o.sampling, g->model->info.vocab, &g->sampling, err);
}

static cel_status open_generator(mlxcel_model *m, const mlxcel_generate_options *options, mlxcel_generator **out, cel_err *err) {
  CEL_TRY(cel_api_need_backend(m, err));
  mlxcel_generator *g = calloc(1, sizeof *g);
  if (!g) return cel_fail_oom(err, "a generator");
  g->model = cel_api_hold(m);
  cel_status s = read_options(g, options, err);
  if (s != CEL_OK) {
    mlxcel_generator_close(g);
    return s;
  }
  *out = g;
  return CEL_OK;
}

mlxcel_status mlxcel_generator_open(mlxcel_model *model, const mlxcel_generate_options *options, mlxcel_generator **out,
                                    mlxcel_error *error) {
  if (!out) return cel_api_null("out", error);
  *out = NULL;
  if (!model) return cel_api_null("model", error);
  cel_err err = {0};
  return cel_api_done(open_generator(model, options, out, &err), &err, error);
}

void mlxcel_generator_close(mlxcel_generator *generator) {
  if (!generator) return;
  mlxcel_generator *g = generator;
  cel_generation_close(&g->kept, g->model->lm);
  for (int32_t i = 0; g->stops && i < g->options.n_stops; i++) free((void *)(uintptr_t)g->stops[i].p);
  free(g->stops);
  cel_api_sampling_deinit(&g->sampling);
  cel_api_drop(g->model);
  free(g);
}

// ---- results -----------------------------------------------------------------------------------------

typedef struct result {
  mlxcel_result open;  // first: it is what the caller holds
  cel_reply reply;
  mlxcel_logprob *top;
} result;

void mlxcel_result_free(mlxcel_result *r) {
  if (!r) return;
  result *own = (result *)(void *)r;
  cel_reply_deinit(&own->reply);
  free(own->top);
  free(own);
}

static mlxcel_finish finish_of(const char *reason) {
  if (!strcmp(reason, "stop")) return MLXCEL_FINISH_END;
  return strcmp(reason, "length") ? MLXCEL_FINISH_CANCELLED : MLXCEL_FINISH_LENGTH;
}

static cel_status copy_top(result *r, cel_err *err) {
  int64_t n = r->reply.top ? r->reply.n * r->reply.n_top : 0;  // both fit in memory already
  if (n == 0) return CEL_OK;
  r->top = malloc((size_t)n * sizeof *r->top);
  if (!r->top) return cel_fail_oom(err, "log-probabilities");
  for (int64_t i = 0; i < n; i++) r->top[i] = (mlxcel_logprob){r->reply.top[i].id, r->reply.top[i].logprob};
  return CEL_OK;
}

static void publish(result *r, int64_t n_prompt) {
  const cel_reply *y = &r->reply;
  cel_str text = cel_buf_str(&y->text);
  r->open = (mlxcel_result){.text = text.p, .text_bytes = text.n, .ids = y->ids, .n_ids = y->n, .logprobs = y->logprobs,
                            .top = r->top, .n_top = y->n_top, .finish = finish_of(y->finish_reason), .n_prompt = n_prompt,
                            .n_reused = y->n_reused, .prompt_ms = y->timings.prefill_ms,
                            .first_token_ms = y->timings.first_token_ms, .decode_ms = y->timings.decode_ms};
}

// ---- running -----------------------------------------------------------------------------------------

static bool hand_on(void *context, cel_str piece) {
  const mlxcel_generator *g = context;
  return g->options.text(g->options.text_context, piece.p, piece.n);
}

static cel_status run(mlxcel_generator *g, const int32_t *ids, int64_t n, mlxcel_result **out, cel_err *err) {
  CEL_TRY(cel_api_ids(ids, n, err));
  const mlxcel_generate_options *o = &g->options;
  cel_request q = {.ids = ids, .n = n, .sampling = g->sampling.s, .max_tokens = o->max_tokens, .ignore_end = o->ignore_end,
                   .stops = g->stops, .n_stops = o->n_stops, .show_special = o->show_special,
                   .text = o->text ? hand_on : NULL, .text_context = g};
  result *r = calloc(1, sizeof *r);
  if (!r) return cel_fail_oom(err, "a result");
  cel_status s = cel_generate(g->model->lm, &g->kept, &q, o->cancel, &r->reply, err);
  if (s == CEL_OK) s = copy_top(r, err);
  if (s != CEL_OK) {
    mlxcel_result_free(&r->open);
    return s;
  }
  publish(r, n);
  *out = &r->open;
  return CEL_OK;
}

mlxcel_status mlxcel_generator_run(mlxcel_generator *generator, const int32_t *ids, int64_t n, mlxcel_result **out,
                                   mlxcel_error *error) {
  if (!out) return cel_api_null("out", error);
  *out = NULL;
  if (!generator) return cel_api_null("generator", error);
  cel_err err = {0};
  return cel_api_done(run(generator, ids, n, out, &err), &err, error);
}

mlxcel_status mlxcel_generate(mlxcel_model *model, const int32_t *ids, int64_t n, const mlxcel_generate_options *options,
                              mlxcel_result **out, mlxcel_error *error) {
  if (!out) return cel_api_null("out", error);
  *out = NULL;
  mlxcel_generator *g;
  mlxcel_status s = mlxcel_generator_open(model, options, &g, error);
  if (s != MLXCEL_OK) return s;
  s = mlxcel_generator_run(g, ids, n, out, error);
  mlxcel_generator_close(g);
  return s;
}
