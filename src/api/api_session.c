#include <stdlib.h>

#include "api/api.h"

struct mlxcel_session {
  mlxcel_model *model;
  cel_session *session;
  cel_api_sampling sampling;              // must outlive `session`
  mlxcel_logprob top[MLXCEL_MAX_LOGPROBS];  // of the last event
  char text[CEL_ERR_TEXT_BYTES];
};

static const mlxcel_session_options defaults = {.max_tokens = -1};

void mlxcel_session_options_init(mlxcel_session_options *options, size_t struct_size) {
  cel_api_defaults(options, struct_size, &defaults, sizeof defaults);
}

static const cel_backend *backend(const mlxcel_session *s) { return s->model->lm->backend; }

// ---- open and close ----------------------------------------------------------------------------------

static cel_status read_options(const mlxcel_model *m, const mlxcel_session_options *given, cel_api_sampling *sampling,
                               cel_session_options *out, cel_err *err) {
  mlxcel_session_options o = defaults;
  CEL_TRY(cel_api_read(&o, sizeof o, sizeof o, given, "mlxcel_session_options", err));
  if (o.max_tokens < -1 || o.max_tokens == 0) {
    return cel_fail(err, CEL_INVALID, "max_tokens is %lld, allowed is 1 and more, or -1 for no limit", (long long)o.max_tokens);
  }
  if (o.n_end_ids < 0) return cel_fail(err, CEL_INVALID, "n_end_ids is %d", o.n_end_ids);
  if (!o.end_ids && o.n_end_ids) return cel_fail(err, CEL_INVALID, "end_ids is NULL, n_end_ids is %d", o.n_end_ids);
  CEL_TRY(cel_api_sampling_read(o.sampling, m->info.vocab, sampling, err));
  *out = (cel_session_options){.sampling = sampling->s, .max_tokens = o.max_tokens, .ignore_end = o.ignore_end,
                               .end_ids = o.end_ids ? o.end_ids : m->lm->end_ids,
                               .n_end_ids = o.end_ids ? o.n_end_ids : m->lm->n_end_ids};
  return CEL_OK;
}

// A new session, or (with `from`) one that holds what that one does.
static cel_status open_session(mlxcel_model *m, const mlxcel_session *from, const mlxcel_session_options *options,
                               mlxcel_session **out, cel_err *err) {
  CEL_TRY(cel_api_need_backend(m, err));
  mlxcel_session *s = calloc(1, sizeof *s);
  if (!s) return cel_fail_oom(err, "a session");
  cel_session_options o;
  cel_status status = read_options(m, options, &s->sampling, &o, err);
  if (status == CEL_OK) {
    status = from ? m->lm->backend->fork(from->session, &o, &s->session, err) : m->lm->backend->open(m->lm->model, &o, &s->session, err);
  }
  if (status != CEL_OK) {
    cel_api_sampling_deinit(&s->sampling);
    free(s);
    return status;
  }
  s->model = cel_api_hold(m);
  *out = s;
  return CEL_OK;
}

mlxcel_status mlxcel_session_open(mlxcel_model *model, const mlxcel_session_options *options, mlxcel_session **out,
                                  mlxcel_error *error) {
  if (!out) return cel_api_null("out", error);
  *out = NULL;
  if (!model) return cel_api_null("model", error);
  cel_err err = {0};
  return cel_api_done(open_session(model, NULL, options, out, &err), &err, error);
}

mlxcel_status mlxcel_session_fork(mlxcel_session *session, const mlxcel_session_options *options, mlxcel_session **out,
                                  mlxcel_error *error) {
  if (!out) return cel_api_null("out", error);
  *out = NULL;
  if (!session) return cel_api_null("session", error);
  cel_err err = {0};
  return cel_api_done(open_session(session->model, session, options, out, &err), &err, error);
}

void mlxcel_session_close(mlxcel_session *session) {
  if (!session) return;
  backend(session)->close(session->session);
  cel_api_sampling_deinit(&session->sampling);
  cel_api_drop(session->model);
  free(session);
}

// ---- prompt and step -----------------------------------------------------------------------------------

mlxcel_status mlxcel_session_prompt(mlxcel_session *session, const int32_t *ids, int64_t n, mlxcel_error *error) {
  if (!session) return cel_api_null("session", error);
  cel_err err = {0};
  cel_prompt prompt = {.ids = ids, .n = n};
  cel_status s = cel_api_ids(ids, n, &err);
  if (s == CEL_OK) s = backend(session)->prefill(session->session, &prompt, &err);
  return cel_api_done(s, &err, error);
}

static mlxcel_finish finish_of(cel_finish f) {
  switch (f) {
    case CEL_FINISH_NONE: return MLXCEL_FINISH_NONE;
    case CEL_FINISH_END: return MLXCEL_FINISH_END;
    case CEL_FINISH_LENGTH: return MLXCEL_FINISH_LENGTH;
    case CEL_FINISH_CANCELLED: return MLXCEL_FINISH_CANCELLED;
    case CEL_FINISH_ERROR: break;
  }
  return MLXCEL_FINISH_ERROR;
}

static void report(mlxcel_session *s, const cel_event *e, mlxcel_event *out) {
  bool failed = e->finish == CEL_FINISH_CANCELLED || e->finish == CEL_FINISH_ERROR;
  for (int32_t i = 0; i < e->n_top; i++) s->top[i] = (mlxcel_logprob){e->top[i].id, e->top[i].logprob};
  s->text[0] = 0;
  if (failed) memcpy(s->text, e->err.text, sizeof s->text);
  *out = (mlxcel_event){.token = e->token, .finish = finish_of(e->finish), .logprob = e->logprob, .n_top = e->n_top,
                        .top = e->n_top ? s->top : NULL, .status = failed ? (mlxcel_status)e->err.status : MLXCEL_OK,
                        .text = s->text};
}

static cel_status step(mlxcel_model *m, mlxcel_session *const *sessions, int32_t n, mlxcel_event *events, cel_err *err) {
  CEL_TRY(cel_api_need_backend(m, err));
  CEL_TRY(cel_api_range("the number of sessions in a step", n, 1, m->info.max_sessions, err));
  for (int32_t i = 0; i < n; i++) {
    if (!sessions[i]) return cel_fail(err, CEL_INVALID, "sessions[%d] is NULL", i);
    m->batch[i] = sessions[i]->session;
  }
  CEL_TRY(m->lm->backend->step(m->lm->model, m->batch, n, m->events, err));
  for (int32_t i = 0; i < n; i++) report(sessions[i], &m->events[i], &events[i]);
  return CEL_OK;
}

mlxcel_status mlxcel_step(mlxcel_model *model, mlxcel_session *const *sessions, int32_t n, mlxcel_event *events,
                          mlxcel_error *error) {
  if (!model || !sessions || !events) return cel_api_null(!model ? "model" : sessions ? "events" : "sessions", error);
  cel_err err = {0};
  return cel_api_done(step(model, sessions, n, events, &err), &err, error);
}

// ---- the rest ------------------------------------------------------------------------------------------

void mlxcel_session_cancel(mlxcel_session *session) {
  if (session) backend(session)->cancel(session->session);
}

mlxcel_status mlxcel_session_truncate(mlxcel_session *session, int64_t n, mlxcel_error *error) {
  if (!session) return cel_api_null("session", error);
  cel_err err = {0};
  return cel_api_done(backend(session)->truncate(session->session, n, &err), &err, error);
}

int64_t mlxcel_session_length(const mlxcel_session *session) {
  return session ? backend(session)->length(session->session) : 0;
}

const int32_t *mlxcel_session_tokens(const mlxcel_session *session) {
  return session ? backend(session)->tokens(session->session) : NULL;
}

static cel_status logits(mlxcel_model *m, const cel_prompt *p, float *out, size_t floats, cel_err *err) {
  CEL_TRY(cel_api_need_backend(m, err));
  CEL_TRY(cel_api_ids(p->ids, p->n, err));
  CEL_TRY(cel_api_range("n", p->n, 1, m->info.context, err));
  int64_t need = p->n * m->info.vocab;  // context and vocabulary are below 2^31
  if (floats < (size_t)need) return cel_fail(err, CEL_INVALID, "room for %zu floats, %lld are needed", floats, (long long)need);
  return m->lm->backend->logits(m->lm->model, p, out, err);
}

mlxcel_status mlxcel_logits(mlxcel_model *model, const int32_t *ids, int64_t n, float *out, size_t floats,
                            mlxcel_error *error) {
  if (!model || !out) return cel_api_null(model ? "out" : "model", error);
  cel_err err = {0};
  cel_prompt p = {.ids = ids, .n = n};
  return cel_api_done(logits(model, &p, out, floats, &err), &err, error);
}
