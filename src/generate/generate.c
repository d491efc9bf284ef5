#include "generate/generate.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "generate/stop.h"

void cel_reply_deinit(cel_reply *r) {
  free(r->ids);
  free(r->logprobs);
  free(r->top);
  cel_buf_deinit(&r->text);
  *r = (cel_reply){0};
}

void cel_generation_close(cel_generation *g, const cel_lm *lm) {
  if (g->session) lm->backend->close(g->session);
  g->session = NULL;
}

typedef struct job {
  const cel_lm *lm;
  const cel_request *request;
  cel_reply *reply;
  cel_session *session;
  cel_detokenizer *detokenizer;
  cel_stop stop;
  cel_buf piece, safe;
  int64_t room;      // ids the reply has room for
  bool unheard;      // the listener said stop
} job;

static cel_status open_session(const cel_lm *lm, cel_generation *g, const cel_request *q, cel_err *err) {
  if (g->session) cel_generation_close(g, lm);  // options are a session's own
  cel_session_options o = {.sampling = q->sampling, .max_tokens = q->max_tokens, .end_ids = lm->end_ids,
                           .n_end_ids = lm->n_end_ids, .ignore_end = q->ignore_end};
  return lm->backend->open(lm->model, &o, &g->session, err);
}

// Keeps what session and prompt have in common; at least one token is left to run, for its logits.
static cel_status reuse(const cel_lm *lm, cel_generation *g, const cel_request *q, int64_t *kept, cel_err *err) {
  *kept = 0;
  if (!g->session) return open_session(lm, g, q, err);
  const int32_t *held = lm->backend->tokens(g->session);
  int64_t n = CEL_MIN(lm->backend->length(g->session), q->n - 1);
  while (*kept < n && held[*kept] == q->ids[*kept]) ++*kept;
  return lm->backend->truncate(g->session, *kept, err);
}

static cel_status make_room(job *j, cel_err *err) {
  cel_reply *r = j->reply;
  if (r->n < j->room) return CEL_OK;
  int64_t room = j->room ? j->room * 2 : 256;
  int32_t *ids = realloc(r->ids, (size_t)room * sizeof *ids);
  if (!ids) return cel_fail_oom(err, "a reply");
  r->ids = ids;
  if (j->request->sampling.n_logprobs >= 0) {
    float *logprobs = realloc(r->logprobs, (size_t)room * sizeof *logprobs);
    if (!logprobs) return cel_fail_oom(err, "a reply");
    r->logprobs = logprobs;
    cel_logprob *top = realloc(r->top, (size_t)(room * r->n_top + 1) * sizeof *top);
    if (!top) return cel_fail_oom(err, "a reply");
    r->top = top;
  }
  j->room = room;
  return CEL_OK;
}

// Hands on the text that is certain: no half character, no beginning of a stop string.
static void deliver(job *j) {
  if (j->safe.n && j->request->text && !j->unheard) {
    j->unheard = !j->request->text(j->request->text_context, cel_buf_str(&j->safe));
  }
  cel_buf_adds(&j->reply->text, cel_buf_str(&j->safe));
  cel_buf_clear(&j->safe);
  cel_buf_clear(&j->piece);
}

static cel_status keep(job *j, const cel_event *e, cel_err *err) {
  CEL_TRY(make_room(j, err));
  cel_reply *r = j->reply;
  if (r->logprobs) {
    r->logprobs[r->n] = e->logprob;
    if (r->n_top) memcpy(r->top + r->n * r->n_top, e->top, (size_t)r->n_top * sizeof *r->top);
  }
  r->ids[r->n++] = e->token;
  if (!j->detokenizer) return CEL_OK;
  cel_detokenizer_push(j->detokenizer, e->token, &j->piece);
  cel_stop_push(&j->stop, cel_buf_str(&j->piece), &j->safe);
  deliver(j);
  return CEL_OK;
}

static const char *reason(const job *j, cel_finish f) {
  if (j->stop.hit || f == CEL_FINISH_END) return "stop";
  return f == CEL_FINISH_LENGTH ? "length" : "cancelled";
}

static cel_status steps(job *j, const volatile int *cancel, double start, cel_err *err) {
  cel_timings *t = &j->reply->timings;
  cel_finish finish = CEL_FINISH_NONE;
  double first = 0;
  while (finish == CEL_FINISH_NONE) {
    cel_event e;
    if ((cancel && *cancel) || j->unheard) j->lm->backend->cancel(j->session);
    CEL_TRY(j->lm->backend->step(j->lm->model, &j->session, 1, &e, err));
    double now = cel_now_ms();
    if (e.finish == CEL_FINISH_ERROR) {
      if (err) *err = e.err;
      return e.err.status;
    }
    if (t->first_token_ms == 0) {
      t->first_token_ms = now - start;
      first = now;
    } else if (e.token >= 0) {
      t->n_decoded++;
      t->decode_ms = now - first;
    }
    finish = e.finish;
    if (e.token >= 0 && finish != CEL_FINISH_END) CEL_TRY(keep(j, &e, err));
    if (j->stop.hit) break;
  }
  j->reply->finish_reason = reason(j, finish);
  return CEL_OK;
}

static void finish_text(job *j) {
  if (!j->detokenizer) return;
  cel_detokenizer_finish(j->detokenizer, &j->piece);
  cel_stop_push(&j->stop, cel_buf_str(&j->piece), &j->safe);
  cel_stop_finish(&j->stop, &j->safe);
  deliver(j);
  if (j->stop.hit) j->reply->finish_reason = "stop";
}

// In parts where someone may lose patience meanwhile. What the backend would refuse goes to it whole, so that its
// words are about the whole.
static cel_status prefill(const job *j, const cel_prompt *p, const volatile int *cancel, cel_err *err) {
  enum { PART = 256 };
  const cel_backend *b = j->lm->backend;
  bool whole = !cancel || p->n <= PART || p->n > b->context(j->lm->model) - b->length(j->session);
  for (int64_t i = 0; !whole && i < p->n; i++) whole = p->ids[i] < 0 || p->ids[i] >= j->lm->arch.vocab;
  if (whole) return b->prefill(j->session, p, err);
  for (int64_t at = 0; at < p->n && !*cancel; at += PART) {
    cel_prompt part = {.ids = p->ids + at, .n = CEL_MIN(PART, p->n - at)};
    CEL_TRY(b->prefill(j->session, &part, err));
  }
  return CEL_OK;
}

static cel_status run(job *j, cel_generation *g, const volatile int *cancel, cel_err *err) {
  double start = cel_now_ms();
  const cel_request *q = j->request;
  cel_timings *t = &j->reply->timings;
  CEL_TRY(reuse(j->lm, g, q, &j->reply->n_reused, err));
  j->session = g->session;
  cel_prompt prompt = {.ids = q->ids + j->reply->n_reused, .n = q->n - j->reply->n_reused};
  CEL_TRY(prefill(j, &prompt, cancel, err));
  t->prefill_ms = cel_now_ms() - start;
  t->n_prefilled = prompt.n;
  j->reply->finish_reason = "length";
  if (q->max_tokens != 0) CEL_TRY(steps(j, cancel, start, err));
  finish_text(j);
  if (t->prefill_ms > 0) t->prefill_tok_s = 1000.0 * (double)t->n_prefilled / t->prefill_ms;
  if (t->decode_ms > 0) t->decode_tok_s = 1000.0 * (double)t->n_decoded / t->decode_ms;
  return CEL_OK;
}

static cel_status check(const cel_lm *lm, const cel_request *q, cel_err *err) {
  if (q->n < 1) return cel_fail(err, CEL_INVALID, "the prompt is empty: it has no tokens");
  for (int i = 0; i < q->n_stops; i++) {
    if (q->stops[i].n == 0) return cel_fail(err, CEL_INVALID, "stop string %d is empty", i + 1);
  }
  for (int32_t i = 0; i < q->sampling.n_bias; i++) {
    int32_t id = q->sampling.bias[i].id;
    if (id >= 0 && id < lm->arch.vocab) continue;
    return cel_fail(err, CEL_INVALID, "logit bias for token %d: the vocabulary has ids 0 to %lld", id, (long long)lm->arch.vocab - 1);
  }
  return CEL_OK;
}

cel_status cel_generate(const cel_lm *lm, cel_generation *g, const cel_request *request, const volatile int *cancel,
                        cel_reply *reply, cel_err *err) {
  *reply = (cel_reply){.n_top = CEL_MAX(request->sampling.n_logprobs, 0)};
  CEL_TRY(check(lm, request, err));
  job j = {.lm = lm, .request = request, .reply = reply};
  cel_stop_init(&j.stop, request->stops, request->n_stops);
  cel_status s = CEL_OK;
  if (lm->tokenizer) s = cel_detokenizer_new(lm->tokenizer, !request->show_special, &j.detokenizer, err);
  if (s == CEL_OK) s = run(&j, g, cancel, err);
  if (s == CEL_OK && j.piece.failed && j.detokenizer) s = cel_detokenizer_failure(j.detokenizer, err);
  if (s == CEL_OK && (j.safe.failed || j.piece.failed || reply->text.failed)) s = cel_fail_oom(err, "a reply's text");
  cel_detokenizer_free(j.detokenizer);
  cel_stop_deinit(&j.stop);
  cel_buf_deinit(&j.piece);
  cel_buf_deinit(&j.safe);
  if (s != CEL_OK) cel_reply_deinit(reply);
  return s;
}
