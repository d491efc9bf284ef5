#include "session/sequence/sequence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int64_t cel_sequence_limit(const cel_arch *a) {
  int64_t n = a->max_position > 0 ? a->max_position : 4096;
  for (int i = 0; i < a->n_ropes; i++) {
    const cel_rope *r = &a->ropes[i];
    if (r->type == CEL_ROPE_DYNAMIC && r->factor > 1) return (int64_t)((double)n * CEL_MIN(r->factor, 1024.0));
  }
  return n;
}

cel_status cel_sequences_init(cel_model_handle *m, cel_err *err) {
  size_t n = (size_t)m->n_rows;
  m->by_row = calloc(n, sizeof *m->by_row);
  m->tokens = calloc(n, sizeof *m->tokens);
  m->positions = calloc(n, sizeof *m->positions);
  m->rows = calloc(n, sizeof *m->rows);
  m->sample_scratch = malloc((size_t)cel_sample_scratch_bytes(m->vocab) + 16);
  if (!m->by_row || !m->tokens || !m->positions || !m->rows || !m->sample_scratch) return cel_fail_oom(err, "a model's tables");
  return CEL_OK;
}

void cel_sequences_deinit(cel_model_handle *m) {
  free(m->by_row);
  free(m->tokens);
  free(m->positions);
  free(m->rows);
  free(m->sample_scratch);
}

int64_t cel_sequence_context(const cel_model_handle *m) { return m->capacity; }

// ---- open and close --------------------------------------------------------------------------------

static cel_status free_row(const cel_model_handle *m, int *row, cel_err *err) {
  for (int i = 0; i < m->n_rows; i++) {
    if (m->by_row[i]) continue;
    *row = i;
    return CEL_OK;
  }
  return cel_fail(err, CEL_BUSY, "all %d sessions of this model are open", m->n_rows);
}

void cel_sequence_close(cel_session *s) {
  if (!s) return;
  if (s->row >= 0) {
    s->model->by_row[s->row] = NULL;
    s->model->run->forget(s->model, s->row, true);
  }
  free(s->tokens);
  free(s->logits);
  free(s->end_ids);
  free(s);
}

static cel_status check_options(const cel_session_options *o, cel_err *err) {
  CEL_TRY(cel_sampling_check(&o->sampling, err));
  if (o->sampling.n_logprobs > CEL_EVENT_MAX_LOGPROBS) {
    return cel_fail(err, CEL_UNSUPPORTED, "%d log-probabilities per token asked for, at most %d are given",
                    o->sampling.n_logprobs, CEL_EVENT_MAX_LOGPROBS);
  }
  return o->n_end_ids < 0 ? cel_fail(err, CEL_INVALID, "%d end ids", o->n_end_ids) : CEL_OK;
}

cel_status cel_sequence_open(cel_model_handle *m, const cel_session_options *options, cel_session **out, cel_err *err) {
  *out = NULL;
  int row;
  CEL_TRY(check_options(options, err));
  CEL_TRY(free_row(m, &row, err));
  cel_session *s = calloc(1, sizeof *s);
  if (!s) return cel_fail_oom(err, "a session");
  s->model = m;
  s->row = -1;
  s->options = *options;
  atomic_init(&s->cancelled, false);
  s->tokens = malloc((size_t)m->capacity * sizeof *s->tokens);
  s->logits = malloc((size_t)m->vocab * sizeof *s->logits);
  s->end_ids = malloc(((size_t)options->n_end_ids + 1) * sizeof *s->end_ids);
  if (!s->tokens || !s->logits || !s->end_ids) {
    cel_sequence_close(s);
    return cel_fail_oom(err, "a session");
  }
  if (options->n_end_ids) memcpy(s->end_ids, options->end_ids, (size_t)options->n_end_ids * sizeof *s->end_ids);
  s->row = row;
  m->by_row[row] = s;
  *out = s;
  return CEL_OK;
}

// ---- prefill ---------------------------------------------------------------------------------------

// A request that cannot be answered as asked is refused ahead of its work, not cut.
static cel_status check_length(const cel_session *s, int64_t n_prompt, cel_err *err) {
  int64_t capacity = s->model->capacity, fresh = CEL_MAX(s->options.max_tokens, 0);
  if (n_prompt <= capacity - s->n && fresh <= capacity - s->n - n_prompt) return CEL_OK;
  char held[80];
  snprintf(held, sizeof held, "what the session holds (%lld tokens), ", (long long)s->n);
  return cel_fail(err, CEL_TOO_LONG, "%sthe prompt (%lld tokens) and the new ones asked for (%lld) do not fit the context of %lld",
                  s->n > 0 ? held : "", (long long)n_prompt, (long long)fresh, (long long)capacity);
}

static cel_status check_prompt(const cel_session *s, const cel_prompt *p, cel_err *err) {
  const cel_model_handle *m = s->model;
  if (p->n < 1) return cel_fail(err, CEL_INVALID, "a prompt needs at least one token");
  CEL_TRY(check_length(s, p->n, err));
  for (int64_t i = 0; i < p->n; i++) {
    if (p->ids[i] >= 0 && p->ids[i] < m->vocab) continue;
    return cel_fail(err, CEL_INVALID, "token %lld of the prompt is %d, the vocabulary has ids 0 to %lld", (long long)i,
                    p->ids[i], (long long)m->vocab - 1);
  }
  return CEL_OK;
}

// Nothing of the session's row is used any more; all tokens are fed again. Keys are written before they are read, a
// recurrent state must be as new.
static void restart(cel_session *s) {
  s->n_kv = 0;
  s->model->run->forget(s->model, s->row, false);
}

// The states hold no more than the first n tokens. Of a recurrent state nothing can be taken back.
static void cut_back(cel_session *s, int64_t n) {
  if (s->n_kv <= n) return;
  if (cel_arch_recurrent(&s->model->arch)) restart(s);
  else s->n_kv = n;
}

// A run that failed wrote keys that nobody reads, but it may have moved a recurrent state on.
static void run_failed(cel_session *s) {
  if (s->model->run->failure_loses_rows || cel_arch_recurrent(&s->model->arch)) restart(s);
}

// Longrope rotates all keys of a sequence by one of two tables, whichever its length asks for (text-architectures §2.8).
static bool past_original(const cel_model_handle *m, int64_t length) {
  for (int i = 0; i < m->arch.n_ropes; i++) {
    const cel_rope *r = &m->arch.ropes[i];
    if (r->type == CEL_ROPE_LONGROPE && (double)length > r->original_max_position) return true;
  }
  return false;
}

// Where the length has crossed the border since the cached keys were made, they are made anew.
static void settle_tables(cel_session *s) {
  bool past = past_original(s->model, s->n);
  if (past != s->past_original && s->n_kv > 0) restart(s);
  s->past_original = past;
}

// Everything that is held but not in the cache yet.
static cel_status feed(cel_session *s, cel_err *err) {
  cel_model_handle *m = s->model;
  settle_tables(s);
  while (s->n_kv < s->n) {
    if (atomic_load(&s->cancelled)) return cel_fail(err, CEL_CANCELLED, "the session was cancelled");
    int64_t left = s->n - s->n_kv, count = m->run->chunk_size(m, left, CEL_MIN(left, m->prefill_chunk));
    bool final = count == left;
    const float *logits = NULL;
    cel_status status = m->run->prefill(m, s->row, s->tokens + s->n_kv, s->n_kv, count, s->n,
                                        final ? CEL_SEQUENCE_LAST : CEL_SEQUENCE_NONE, &logits, err);
    if (status != CEL_OK) {
      run_failed(s);
      return status;
    }
    s->n_kv += count;
    if (final) memcpy(s->logits, logits, (size_t)m->vocab * sizeof *s->logits);
  }
  s->pending = true;
  return CEL_OK;
}

cel_status cel_sequence_prefill(cel_session *s, const cel_prompt *prompt, cel_err *err) {
  CEL_TRY(check_prompt(s, prompt, err));
  int64_t n = s->n, n_prompt = s->n_prompt;
  bool pending = s->pending, past = s->past_original;
  memcpy(s->tokens + s->n, prompt->ids, (size_t)prompt->n * sizeof *s->tokens);
  s->n += prompt->n;
  s->n_prompt = s->n;
  cel_status status = feed(s, err);
  if (status != CEL_OK) {
    s->n = n;
    if (s->past_original != past) restart(s);
    cut_back(s, n);
    s->n_prompt = n_prompt;
    s->pending = pending;
    return status;
  }
  s->finish = CEL_FINISH_NONE;
  s->generated = 0;
  return CEL_OK;
}

// ---- step ------------------------------------------------------------------------------------------

static bool is_end(const cel_session *s, int32_t token) {
  for (int i = 0; i < s->options.n_end_ids && !s->options.ignore_end; i++) {
    if (s->end_ids[i] == token) return true;
  }
  return false;
}

static void fail_event(cel_session *s, cel_event *e) {
  e->token = -1;
  e->finish = s->finish = e->err.status == CEL_CANCELLED ? CEL_FINISH_CANCELLED : CEL_FINISH_ERROR;
}

// Draws the next token from s->logits.
static void sample(cel_session *s, cel_event *e) {
  cel_model_handle *m = s->model;
  *e = (cel_event){.token = -1};
  if (atomic_load(&s->cancelled)) {
    cel_fail(&e->err, CEL_CANCELLED, "the session was cancelled");
    fail_event(s, e);
    return;
  }
  s->pending = false;
  int32_t token;
  void *scratch = (void *)(((uintptr_t)m->sample_scratch + 15) & ~(uintptr_t)15);
  bool report = s->options.sampling.n_logprobs >= 0;
  if (cel_sample(&s->options.sampling, s->logits, m->vocab, s->tokens, s->n, s->n_prompt, s->draws, scratch, &token,
                 report ? &e->logprob : NULL, report ? e->top : NULL, &e->err) != CEL_OK) {
    fail_event(s, e);
    return;
  }
  s->draws++;
  s->generated++;
  e->token = token;
  e->n_top = report ? s->options.sampling.n_logprobs : 0;
  if (s->n < m->capacity) s->tokens[s->n++] = token;
  if (is_end(s, token)) {
    e->finish = CEL_FINISH_END;
  } else if ((s->options.max_tokens >= 0 && s->generated >= s->options.max_tokens) || s->n >= m->capacity) {
    e->finish = CEL_FINISH_LENGTH;
  }
  s->finish = e->finish;
}

static cel_status check_step(cel_model_handle *m, cel_session *const *sessions, int n, cel_err *err) {
  if (n < 1 || n > m->n_rows) return cel_fail(err, CEL_INVALID, "a step of %d sessions; this model has %d rows", n, m->n_rows);
  for (int i = 0; i < n; i++) {
    if (sessions[i]->model != m) return cel_fail(err, CEL_INVALID, "session %d of the step belongs to another model", i);
    if (sessions[i]->finish != CEL_FINISH_NONE) return cel_fail(err, CEL_INVALID, "session %d of the step has finished", i);
    if (sessions[i]->n == 0) return cel_fail(err, CEL_INVALID, "session %d of the step has no prompt", i);
    for (int k = 0; k < i; k++) {
      if (sessions[k] == sessions[i]) return cel_fail(err, CEL_INVALID, "session %d is twice in the step", i);
    }
  }
  return CEL_OK;
}

// Sessions that are more than a token behind, after a truncate or where they start anew, are fed; the others are left with
// one token for the decode. Ahead of its rows, because feeding uses their buffers.
static cel_status catch_up(cel_session *const *sessions, int n, cel_err *err) {
  for (int i = 0; i < n; i++) {
    cel_session *s = sessions[i];
    if (s->pending) continue;
    settle_tables(s);
    cut_back(s, s->n - 1);  // all of it is there: the last token again, for its logits
    if (s->n - s->n_kv > 1) CEL_TRY(feed(s, err));
  }
  return CEL_OK;
}

// One decode of the sessions whose last token is not in the cache.
static cel_status decode(cel_model_handle *m, cel_session *const *sessions, int n, cel_err *err) {
  int rows = 0;
  CEL_TRY(catch_up(sessions, n, err));
  for (int i = 0; i < n; i++) {
    const cel_session *s = sessions[i];
    if (s->pending) continue;
    m->tokens[rows] = s->tokens[s->n_kv];
    m->positions[rows] = (int32_t)s->n_kv;
    m->rows[rows++] = s->row;
  }
  if (rows == 0) return CEL_OK;
  const float *logits = NULL;
  cel_status status = m->run->decode(m, rows, m->tokens, m->positions, m->rows, &logits, err);
  for (int i = 0, row = 0; i < n; i++) {
    cel_session *s = sessions[i];
    if (s->pending) continue;
    if (status != CEL_OK) {
      run_failed(s);
      continue;
    }
    memcpy(s->logits, logits + m->vocab * row++, (size_t)m->vocab * sizeof *s->logits);
    s->n_kv++;
    s->pending = true;
  }
  return status;
}

cel_status cel_sequence_step(cel_model_handle *m, cel_session *const *sessions, int n, cel_event *events, cel_err *err) {
  CEL_TRY(check_step(m, sessions, n, err));
  CEL_TRY(decode(m, sessions, n, err));
  for (int i = 0; i < n; i++) sample(sessions[i], &events[i]);
  return CEL_OK;
}

void cel_sequence_cancel(cel_session *s) { atomic_store(&s->cancelled, true); }

// ---- truncate, fork, look ----------------------------------------------------------------------------

cel_status cel_sequence_truncate(cel_session *s, int64_t n, cel_err *err) {
  if (n < 0 || n > s->n) {
    return cel_fail(err, CEL_INVALID, "truncate to %lld tokens: the session holds %lld", (long long)n, (long long)s->n);
  }
  s->n = n;
  cut_back(s, n);
  s->n_prompt = CEL_MIN(s->n_prompt, n);
  s->pending = false;
  s->finish = CEL_FINISH_NONE;
  s->generated = 0;
  atomic_store(&s->cancelled, false);
  return CEL_OK;
}

cel_status cel_sequence_fork(cel_session *s, const cel_session_options *options, cel_session **out, cel_err *err) {
  cel_model_handle *m = s->model;
  CEL_TRY(cel_sequence_open(m, options, out, err));
  cel_session *t = *out;
  cel_status status = m->run->copy(m, s->row, t->row, s->n_kv, err);
  if (status != CEL_OK) {
    cel_sequence_close(t);
    *out = NULL;
    return status;
  }
  memcpy(t->tokens, s->tokens, (size_t)s->n * sizeof *t->tokens);
  if (s->pending) memcpy(t->logits, s->logits, (size_t)m->vocab * sizeof *t->logits);
  t->n = s->n;
  t->n_kv = s->n_kv;
  t->n_prompt = s->n_prompt;
  t->past_original = s->past_original;
  t->pending = s->pending;
  return CEL_OK;
}

int64_t cel_sequence_length(const cel_session *s) { return s->n; }
const int32_t *cel_sequence_tokens(const cel_session *s) { return s->tokens; }

cel_status cel_sequence_logits_of(cel_model_handle *m, const cel_prompt *prompt, float *out, cel_err *err) {
  cel_session_options options = {.max_tokens = -1};
  cel_sampling_init(&options.sampling);
  cel_session *s;
  CEL_TRY(cel_sequence_open(m, &options, &s, err));
  cel_status status = check_prompt(s, prompt, err);
  for (int64_t at = 0; status == CEL_OK && at < prompt->n;) {
    int64_t left = prompt->n - at, count = m->run->chunk_size(m, left, CEL_MIN(left, CEL_MIN(m->prefill_chunk, CEL_SEQUENCE_LOGITS_CHUNK)));
    const float *logits = NULL;
    status = m->run->prefill(m, s->row, prompt->ids + at, at, count, prompt->n, CEL_SEQUENCE_ALL, &logits, err);
    if (status == CEL_OK) memcpy(out + at * m->vocab, logits, (size_t)(count * m->vocab) * sizeof *out);
    at += count;
  }
  cel_sequence_close(s);
  return status;
}
