// Sessions: rows of one KV cache. Prefill runs a sequence's tokens in chunks; a step runs one decode of all
// sessions that need one and samples for each.
#include <stdlib.h>
#include <string.h>

#include "backend/xla/xla_model.h"
#include "backend/xla/xla_options.h"

static cel_status xla_probe(cel_err *err) {
  const cel_engine_driver *driver;
  const char *rest;
  return cel_engine_find("", &driver, &rest, err);
}

static const char *xla_engine(int i) {
  for (int k = 0; cel_engine_drivers[k]; k++) {
    if (k == i) return cel_engine_drivers[k]->name;
  }
  return NULL;
}

static void xla_describe(const cel_model_handle *m, cel_description *out) {
  cel_engine_description e;
  m->driver->describe(m->engine, &e);
  *out = (cel_description){.backend = "xla", .engine = e.engine, .device = e.device, .precision = e.precision,
                           .isa = e.isa, .n_threads = e.n_threads};
}

static void xla_memory(const cel_model_handle *m, cel_memory_report *out) {
  enum { PAGE = 4096 };
  cel_engine_description e;
  m->driver->describe(m->engine, &e);
  int64_t kv = 0;
  for (int i = 0; i < m->rows; i++) {
    for (int k = 0; m->by_row[i] && k < CEL_STATE_COUNT; k++) {
      cel_state_shape s = cel_state_shape_of(&m->arch, (cel_state)k, m->rows, m->capacity);
      int64_t bytes = (s.by_position ? m->by_row[i]->n_kv : s.dims[3]) * s.dims[4] * (int64_t)sizeof(float);
      kv += s.dims[0] * s.dims[2] * ((bytes + PAGE - 1) / PAGE * PAGE);
    }
  }
  *out = (cel_memory_report){.weights_bytes = m->weights_bytes, .kv_bytes = kv, .arena_bytes = e.arena_bytes};
}

static int64_t xla_context(const cel_model_handle *m) { return m->capacity; }

// ---- open and close --------------------------------------------------------------------------------

static cel_status free_row(const cel_model_handle *m, int *row, cel_err *err) {
  for (int i = 0; i < m->rows; i++) {
    if (m->by_row[i]) continue;
    *row = i;
    return CEL_OK;
  }
  return cel_fail(err, CEL_BUSY, "all %d sessions of this model are open", m->rows);
}

static void xla_close(cel_session *s) {
  if (!s) return;
  cel_model_handle *m = s->model;
  if (s->row >= 0) {
    m->by_row[s->row] = NULL;
    for (int i = 0; i < CEL_STATE_COUNT; i++) {
      if (m->states[i]) m->driver->forget_row(m->states[i], s->row);
    }
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

static cel_status xla_open(cel_model_handle *m, const cel_session_options *options, cel_session **out, cel_err *err) {
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
    xla_close(s);
    return cel_fail_oom(err, "a session");
  }
  if (options->n_end_ids) memcpy(s->end_ids, options->end_ids, (size_t)options->n_end_ids * sizeof *s->end_ids);
  s->row = row;
  m->by_row[row] = s;
  *out = s;
  return CEL_OK;
}

// ---- prefill ---------------------------------------------------------------------------------------

static cel_status check_prompt(const cel_session *s, const cel_prompt *p, cel_err *err) {
  const cel_model_handle *m = s->model;
  if (p->n < 1) return cel_fail(err, CEL_INVALID, "a prompt needs at least one token");
  if (p->n > m->capacity - s->n) {
    return cel_fail(err, CEL_TOO_LONG, "the prompt has %lld tokens and the session holds %lld: together more than the context of %lld",
                    (long long)p->n, (long long)s->n, (long long)m->capacity);
  }
  for (int64_t i = 0; i < p->n; i++) {
    if (p->ids[i] >= 0 && p->ids[i] < m->vocab) continue;
    return cel_fail(err, CEL_INVALID, "token %lld of the prompt is %d, the vocabulary has ids 0 to %lld", (long long)i,
                    p->ids[i], (long long)m->vocab - 1);
  }
  return CEL_OK;
}

static int64_t power_of_two_below(int64_t n) {
  int64_t p = 1;
  while (p * 2 <= n) p *= 2;
  return p;
}

// How many of n tokens the next call takes. Where compiling is slow, prompts of all lengths share the programs of a few
// sizes: 37 tokens are 32, 4 and 1.
static int64_t chunk_size(const cel_model_handle *m, int64_t n, int64_t most) {
  n = CEL_MIN(n, most);
  return m->driver->quick_compile ? n : power_of_two_below(n);
}

// Runs tokens[from, from + count) of a row; `end` is the length of the whole prompt.
static cel_status chunk(cel_model_handle *m, int row, const int32_t *tokens, int64_t from, int64_t count, int64_t end,
                        cel_emit_logits want, const float **logits, cel_err *err) {
  cel_xla_program *program;
  CEL_TRY(cel_xla_program_for(m, CEL_ENTRY_PREFILL, count, want, &program, err));
  for (int64_t i = 0; i < count; i++) m->positions[i] = (int32_t)(from + i);
  m->slots[0] = row;
  return cel_xla_run(m, program, tokens, m->positions, m->slots, (int32_t)count - 1, end, logits, err);
}

// Nothing of the session's row is used any more; all tokens are fed again. Keys are written before they are read, a
// recurrent state must be as new.
static void restart(cel_session *s) {
  cel_model_handle *m = s->model;
  s->n_kv = 0;
  for (int i = 0; i < CEL_STATE_COUNT; i++) {
    if (m->states[i] && !cel_state_shape_of(&m->arch, (cel_state)i, 1, 1).by_position) m->driver->forget_row(m->states[i], s->row);
  }
}

// The states hold no more than the first n tokens. Of a recurrent state nothing can be taken back.
static void cut_back(cel_session *s, int64_t n) {
  if (s->n_kv <= n) return;
  if (cel_arch_recurrent(&s->model->arch)) restart(s);
  else s->n_kv = n;
}

// A run that failed wrote keys that nobody reads, but it may have moved a recurrent state on.
static void run_failed(cel_session *s) {
  if (cel_arch_recurrent(&s->model->arch)) restart(s);
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
    int64_t count = chunk_size(m, s->n - s->n_kv, m->prefill_chunk);
    bool final = s->n_kv + count == s->n;
    const float *logits = NULL;
    cel_status status = chunk(m, s->row, s->tokens + s->n_kv, s->n_kv, count, s->n,
                              final ? CEL_LOGITS_LAST : CEL_LOGITS_NONE, final ? &logits : NULL, err);
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

static cel_status xla_prefill(cel_session *s, const cel_prompt *prompt, cel_err *err) {
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
  if (n < 1 || n > m->rows) return cel_fail(err, CEL_INVALID, "a step of %d sessions; this model has %d rows", n, m->rows);
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

// Where compiling is slow, rows of padding bring a batch up to a power of two: they belong to no cache row.
static int pad_rows(cel_model_handle *m, int rows) {
  int all = rows;
  if (!m->driver->quick_compile) all = (int)power_of_two_below(2 * (int64_t)rows - 1);
  for (int i = rows; i < all; i++) {
    m->tokens[i] = m->positions[i] = 0;
    m->slots[i] = m->rows;
  }
  return all;
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

static cel_status run_decode(cel_model_handle *m, int rows, const float **logits, cel_err *err) {
  cel_xla_program *program;
  CEL_TRY(cel_xla_program_for(m, CEL_ENTRY_DECODE, rows, CEL_LOGITS_ALL, &program, err));
  return cel_xla_run(m, program, m->tokens, m->positions, m->slots, 0, 0, logits, err);
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
    m->slots[rows++] = s->row;
  }
  if (rows == 0) return CEL_OK;
  const float *logits = NULL;
  cel_status status = run_decode(m, pad_rows(m, rows), &logits, err);
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

static cel_status xla_step(cel_model_handle *m, cel_session *const *sessions, int n, cel_event *events, cel_err *err) {
  CEL_TRY(check_step(m, sessions, n, err));
  CEL_TRY(decode(m, sessions, n, err));
  for (int i = 0; i < n; i++) sample(sessions[i], &events[i]);
  return CEL_OK;
}

static void xla_cancel(cel_session *s) { atomic_store(&s->cancelled, true); }

// ---- truncate, fork, look ----------------------------------------------------------------------------

static cel_status xla_truncate(cel_session *s, int64_t n, cel_err *err) {
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

static cel_status copy_states(cel_model_handle *m, int from, int to, int64_t n, cel_err *err) {
  for (int i = 0; i < CEL_STATE_COUNT; i++) {
    if (!m->states[i]) continue;
    cel_state_shape shape = cel_state_shape_of(&m->arch, (cel_state)i, m->rows, m->capacity);
    CEL_TRY(m->driver->copy_row(m->states[i], from, to, shape.by_position ? n : shape.dims[3], err));
  }
  return CEL_OK;
}

static cel_status xla_fork(cel_session *s, const cel_session_options *options, cel_session **out, cel_err *err) {
  cel_model_handle *m = s->model;
  CEL_TRY(xla_open(m, options, out, err));
  cel_session *t = *out;
  cel_status status = copy_states(m, s->row, t->row, s->n_kv, err);
  if (status != CEL_OK) {
    xla_close(t);
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

static int64_t xla_length(const cel_session *s) { return s->n; }
static const int32_t *xla_tokens(const cel_session *s) { return s->tokens; }

static cel_status xla_logits(cel_model_handle *m, const cel_prompt *prompt, float *out, cel_err *err) {
  enum { LOGITS_CHUNK = 64 };
  cel_session_options options = {.max_tokens = -1};
  cel_sampling_init(&options.sampling);
  cel_session *s;
  CEL_TRY(xla_open(m, &options, &s, err));
  cel_status status = check_prompt(s, prompt, err);
  for (int64_t at = 0; status == CEL_OK && at < prompt->n;) {
    int64_t count = chunk_size(m, prompt->n - at, CEL_MIN(m->prefill_chunk, LOGITS_CHUNK));
    const float *logits = NULL;
    status = chunk(m, s->row, prompt->ids + at, at, count, prompt->n, CEL_LOGITS_ALL, &logits, err);
    if (status == CEL_OK) memcpy(out + at * m->vocab, logits, (size_t)(count * m->vocab) * sizeof *out);
    at += count;
  }
  xla_close(s);
  return status;
}

const cel_backend cel_backend_xla = {
    .name = "xla",
    .summary = "OpenXLA: emits StableHLO for each architecture and runs it on an engine",
    .environment = cel_xla_environment,
    .engine = xla_engine,
    .probe = xla_probe,
    .load = cel_xla_load,
    .unload = cel_xla_unload,
    .describe = xla_describe,
    .memory = xla_memory,
    .context = xla_context,
    .open = xla_open,
    .close = xla_close,
    .prefill = xla_prefill,
    .step = xla_step,
    .cancel = xla_cancel,
    .truncate = xla_truncate,
    .fork = xla_fork,
    .length = xla_length,
    .tokens = xla_tokens,
    .logits = xla_logits,
};
