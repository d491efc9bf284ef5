// The session suite: what every backend promises at the seam, over a cache that can be cut back and over states that
// cannot. The null backend is held to its part: it refuses politely.
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "backend/null/null_backend.h"
#include "support/oracle.h"

typedef struct fixture {
  oracle *o;
  const oracle_case *c;
  loaded l;
} fixture;

static int setup(void **state) {  // *state: the model's name
  fixture *f = calloc(1, sizeof *f);
  cel_load_options options = {.n_threads = 2, .context = 128, .max_sessions = 3, .prefill_chunk = 16};
  f->o = oracle_load(*state);
  f->c = &f->o->cases[0];
  loaded_open(&f->l, f->o->path, "f32", &options);
  *state = f;
  return 0;
}

static int teardown(void **state) {
  fixture *f = *state;
  loaded_close(&f->l);
  oracle_free(f->o);
  free(f);
  return 0;
}

static cel_session *open_session(fixture *f, const cel_session_options *options) {
  cel_err err = {0};
  cel_session *s;
  if (f->l.backend->open(f->l.model, options, &s, &err) != CEL_OK) fail_msg("%s", err.text);
  return s;
}

static void expect_greedy(const int32_t *got, const int32_t *want, int64_t n) {
  for (int64_t i = 0; i < n; i++) assert_int_equal(got[i], want[i]);
}

static cel_event one_step(fixture *f, cel_session *s) {
  cel_err err = {0};
  cel_event e;
  if (f->l.backend->step(f->l.model, &s, 1, &e, &err) != CEL_OK) fail_msg("%s", err.text);
  return e;
}

static void greedy_tokens_are_the_reference(void **state) {
  fixture *f = *state;
  cel_session_options o = greedy_options();
  cel_session *s = open_session(f, &o);
  int32_t got[64];
  greedy_run(&f->l, s, f->c->ids, f->c->n, got, 64);
  expect_greedy(got, f->c->greedy, 64);
  assert_int_equal(f->l.backend->length(s), f->c->n + 64);
  assert_memory_equal(f->l.backend->tokens(s), f->c->ids, (size_t)f->c->n * 4);
  f->l.backend->close(s);
}

static void a_prompt_may_come_in_parts(void **state) {
  fixture *f = *state;
  cel_err err = {0};
  cel_session_options o = greedy_options();
  cel_session *s = open_session(f, &o);
  cel_prompt first = {.ids = f->c->ids, .n = 7};
  assert_int_equal(f->l.backend->prefill(s, &first, &err), CEL_OK);
  int32_t got[16];
  greedy_run(&f->l, s, f->c->ids + 7, f->c->n - 7, got, 16);
  expect_greedy(got, f->c->greedy, 16);
  f->l.backend->close(s);
}

static void truncate_goes_back_in_time(void **state) {
  fixture *f = *state;
  cel_err err = {0};
  cel_session_options o = greedy_options();
  cel_session *s = open_session(f, &o);
  int32_t got[16];
  greedy_run(&f->l, s, f->c->ids, f->c->n, got, 16);
  assert_int_equal(f->l.backend->truncate(s, 9, &err), CEL_OK);
  assert_int_equal(f->l.backend->length(s), 9);
  greedy_run(&f->l, s, f->c->ids + 9, f->c->n - 9, got, 16);
  expect_greedy(got, f->c->greedy, 16);
  assert_int_equal(f->l.backend->truncate(s, f->c->n + 3, &err), CEL_OK);  // into what was generated
  for (int i = 3; i < 8; i++) assert_int_equal(one_step(f, s).token, f->c->greedy[i]);
  assert_int_equal(f->l.backend->truncate(s, 1000, &err), CEL_INVALID);
  assert_int_equal(f->l.backend->truncate(s, -1, &err), CEL_INVALID);
  f->l.backend->close(s);
}

static void a_fork_goes_its_own_way(void **state) {
  fixture *f = *state;
  cel_err err = {0};
  cel_session_options o = greedy_options();
  cel_session *s = open_session(f, &o), *t;
  int32_t got[8];
  greedy_run(&f->l, s, f->c->ids, f->c->n, got, 8);
  assert_int_equal(f->l.backend->fork(s, &o, &t, &err), CEL_OK);
  for (int i = 8; i < 16; i++) {
    assert_int_equal(one_step(f, t).token, f->c->greedy[i]);
    if (i % 2) one_step(f, s);  // the other one lags behind
  }
  f->l.backend->close(s);
  for (int i = 16; i < 20; i++) assert_int_equal(one_step(f, t).token, f->c->greedy[i]);
  f->l.backend->close(t);
}

static void sessions_of_different_length_share_a_step(void **state) {
  fixture *f = *state;
  cel_err err = {0};
  cel_session_options o = greedy_options();
  cel_session *s[3];
  for (int i = 0; i < 3; i++) {
    s[i] = open_session(f, &o);
    int32_t got[8];
    greedy_run(&f->l, s[i], f->c->ids, f->c->n, got, i + 1);
  }
  for (int step = 0; step < 8; step++) {
    cel_event e[3];
    assert_int_equal(f->l.backend->step(f->l.model, s, 3, e, &err), CEL_OK);
    for (int i = 0; i < 3; i++) assert_int_equal(e[i].token, f->c->greedy[i + 1 + step]);
  }
  for (int i = 0; i < 3; i++) f->l.backend->close(s[i]);
}

static void end_ids_and_lengths_finish(void **state) {
  fixture *f = *state;
  cel_err err = {0};
  int32_t end = f->c->greedy[5];
  int first = 0;
  while (f->c->greedy[first] != end) first++;
  cel_session_options o = greedy_options();
  o.ignore_end = false;
  o.end_ids = &end;
  o.n_end_ids = 1;
  cel_session *s = open_session(f, &o);
  int32_t got[64];
  greedy_run(&f->l, s, f->c->ids, f->c->n, got, first);
  cel_event e = one_step(f, s);
  assert_int_equal(e.token, end);
  assert_int_equal(e.finish, CEL_FINISH_END);
  assert_int_equal(f->l.backend->step(f->l.model, &s, 1, &e, &err), CEL_INVALID);  // it has finished
  f->l.backend->close(s);
  o = greedy_options();
  o.max_tokens = 3;
  s = open_session(f, &o);
  greedy_run(&f->l, s, f->c->ids, f->c->n, got, 2);
  assert_int_equal(one_step(f, s).finish, CEL_FINISH_LENGTH);
  f->l.backend->close(s);
}

static void a_full_context_finishes_and_too_long_is_refused(void **state) {
  fixture *f = *state;
  cel_err err = {0};
  cel_session_options o = greedy_options();
  cel_session *s = open_session(f, &o);
  int32_t ids[200];
  for (int i = 0; i < 200; i++) ids[i] = f->c->ids[i % f->c->n];
  cel_prompt p = {.ids = ids, .n = 129};
  assert_int_equal(f->l.backend->prefill(s, &p, &err), CEL_TOO_LONG);
  assert_non_null(strstr(err.text, "129"));
  assert_non_null(strstr(err.text, "128"));
  assert_int_equal(f->l.backend->length(s), 0);
  p.n = 126;
  assert_int_equal(f->l.backend->prefill(s, &p, &err), CEL_OK);
  assert_int_equal(one_step(f, s).finish, CEL_FINISH_NONE);
  assert_int_equal(one_step(f, s).finish, CEL_FINISH_LENGTH);
  f->l.backend->close(s);
}

static void bad_ids_and_empty_prompts_are_refused(void **state) {
  fixture *f = *state;
  cel_err err = {0};
  cel_session_options o = greedy_options();
  cel_session *s = open_session(f, &o);
  static const int32_t bad[][2] = {{3, -1}, {3, 256}, {3, INT32_MAX}};
  for (int i = 0; i < CEL_COUNT(bad); i++) {
    cel_prompt p = {.ids = bad[i], .n = 2};
    assert_int_equal(f->l.backend->prefill(s, &p, &err), CEL_INVALID);
  }
  cel_prompt empty = {.ids = bad[0], .n = 0};
  assert_int_equal(f->l.backend->prefill(s, &empty, &err), CEL_INVALID);
  cel_event e;
  assert_int_equal(f->l.backend->step(f->l.model, &s, 1, &e, &err), CEL_INVALID);  // nothing to go on from
  int32_t got[4];
  greedy_run(&f->l, s, f->c->ids, f->c->n, got, 4);  // and the session is as good as new
  expect_greedy(got, f->c->greedy, 4);
  cel_session *twice[2] = {s, s};
  cel_event events[2];
  assert_int_equal(f->l.backend->step(f->l.model, twice, 2, events, &err), CEL_INVALID);
  f->l.backend->close(s);
}

static void more_sessions_than_rows_are_busy(void **state) {
  fixture *f = *state;
  cel_err err = {0};
  cel_session_options o = greedy_options();
  cel_session *s[3], *more;
  for (int i = 0; i < 3; i++) s[i] = open_session(f, &o);
  assert_int_equal(f->l.backend->open(f->l.model, &o, &more, &err), CEL_BUSY);
  f->l.backend->close(s[1]);
  s[1] = open_session(f, &o);
  int32_t got[4];
  greedy_run(&f->l, s[1], f->c->ids, f->c->n, got, 4);
  expect_greedy(got, f->c->greedy, 4);
  for (int i = 0; i < 3; i++) f->l.backend->close(s[i]);
}

static void cancel_stops_a_session_and_no_other(void **state) {
  fixture *f = *state;
  cel_err err = {0};
  cel_session_options o = greedy_options();
  cel_session *s[2] = {open_session(f, &o), open_session(f, &o)};
  int32_t got[4];
  for (int i = 0; i < 2; i++) greedy_run(&f->l, s[i], f->c->ids, f->c->n, got, 2);
  f->l.backend->cancel(s[0]);
  cel_event e[2];
  assert_int_equal(f->l.backend->step(f->l.model, s, 2, e, &err), CEL_OK);
  assert_int_equal(e[0].finish, CEL_FINISH_CANCELLED);
  assert_int_equal(e[0].token, -1);
  assert_int_equal(e[1].token, f->c->greedy[2]);
  for (int i = 0; i < 2; i++) f->l.backend->close(s[i]);
}

static void bad_sampling_is_refused_by_name(void **state) {
  fixture *f = *state;
  cel_err err = {0};
  cel_session *s;
  cel_session_options o = greedy_options();
  o.sampling.temperature = -1;
  assert_int_equal(f->l.backend->open(f->l.model, &o, &s, &err), CEL_INVALID);
  o = greedy_options();
  o.sampling.n_logprobs = CEL_EVENT_MAX_LOGPROBS + 1;
  assert_int_equal(f->l.backend->open(f->l.model, &o, &s, &err), CEL_UNSUPPORTED);
}

static void log_probabilities_belong_to_the_tokens(void **state) {
  fixture *f = *state;
  cel_session_options o = greedy_options();
  o.sampling.n_logprobs = 4;
  cel_session *s = open_session(f, &o);
  cel_prompt p = {.ids = f->c->ids, .n = f->c->n};
  cel_err err = {0};
  assert_int_equal(f->l.backend->prefill(s, &p, &err), CEL_OK);
  for (int i = 0; i < 4; i++) {
    cel_event e = one_step(f, s);
    assert_int_equal(e.n_top, 4);
    assert_int_equal(e.top[0].id, e.token);
    assert_true(e.top[0].logprob == e.logprob && e.logprob <= 0);
    for (int k = 1; k < 4; k++) assert_true(e.top[k].logprob <= e.top[k - 1].logprob);
  }
  f->l.backend->close(s);
}

static void the_same_seed_draws_the_same_tokens(void **state) {
  fixture *f = *state;
  int32_t first[16], got[16];
  cel_session_options o = greedy_options();
  o.sampling.temperature = 1.5f;
  o.sampling.seed = 42;
  for (int run = 0; run < 2; run++) {
    cel_session *s = open_session(f, &o);
    greedy_run(&f->l, s, f->c->ids, f->c->n, run ? got : first, 16);
    f->l.backend->close(s);
  }
  assert_memory_equal(first, got, sizeof got);
  o.sampling.seed = 43;
  cel_session *s = open_session(f, &o);
  greedy_run(&f->l, s, f->c->ids, f->c->n, got, 16);
  assert_memory_not_equal(first, got, sizeof got);
  f->l.backend->close(s);
}

static void what_runs_is_described(void **state) {
  fixture *f = *state;
  cel_description d = {0};
  cel_memory_report m = {0};
  f->l.backend->describe(f->l.model, &d);
  f->l.backend->memory(f->l.model, &m);
  assert_string_equal(d.backend, f->l.backend->name);
  assert_int_equal(d.n_threads, strcmp(d.engine, "native") ? 0 : 2);  // other engines have threads of their own
  assert_true(d.engine && d.device && d.precision && d.isa);
  assert_true(m.weights_bytes > 0 && m.arena_bytes > 0);
  assert_int_equal(f->l.backend->context(f->l.model), 128);
}

static void the_null_backend_refuses_politely(void **state) {
  (void)state;
  cel_err err = {0};
  cel_model_handle *m = (cel_model_handle *)(void *)&err;
  assert_int_equal(cel_backend_null.probe(&err), CEL_UNSUPPORTED);
  assert_true(err.text[0] != 0);
  assert_int_equal(cel_backend_null.load(NULL, NULL, NULL, &m, &err), CEL_UNSUPPORTED);
  assert_null(m);
}

static void an_unknown_backend_is_refused_with_the_list(void **state) {
  (void)state;
  cel_err err = {0};
  const cel_backend *b;
  assert_int_equal(cel_backend_find("nonsense", &b, &err), CEL_INVALID);
  assert_non_null(strstr(err.text, "nonsense"));
  for (int i = 0; cel_backends[i]; i++) assert_non_null(strstr(err.text, cel_backends[i]->name));
}

// ---- bits --------------------------------------------------------------------------------------------

enum { STEPS = 6 };

// Tokens and log-probabilities of the next steps.
static void follow(fixture *f, cel_session *s, cel_event *out) {
  for (int i = 0; i < STEPS; i++) out[i] = one_step(f, s);
}

static void expect_bits(const cel_event *got, const cel_event *want) {
  for (int i = 0; i < STEPS; i++) {
    assert_int_equal(got[i].token, want[i].token);
    assert_memory_equal(&got[i].logprob, &want[i].logprob, sizeof(float));
    assert_memory_equal(got[i].top, want[i].top, 3 * sizeof *got[i].top);
  }
}

static cel_session_options reporting_options(void) {
  cel_session_options o = greedy_options();
  o.sampling.n_logprobs = 3;
  return o;
}

static void expect_prefill(fixture *f, cel_session *s, const int32_t *ids, int64_t n) {
  cel_err err = {0};
  cel_prompt p = {.ids = ids, .n = n};
  if (f->l.backend->prefill(s, &p, &err) != CEL_OK) fail_msg("%s", err.text);
}

// What a session says that was fed the first n tokens of the case and nothing else.
static void fresh(fixture *f, int64_t n, cel_event *out) {
  cel_session_options o = reporting_options();
  cel_session *s = open_session(f, &o);
  expect_prefill(f, s, f->c->ids, n);
  follow(f, s, out);
  f->l.backend->close(s);
}

static void a_session_cut_back_has_the_bits_of_a_fresh_one(void **state) {
  fixture *f = *state;
  cel_err err = {0};
  cel_event want[STEPS], got[STEPS];
  cel_session_options o = reporting_options();
  cel_session *s = open_session(f, &o);
  expect_prefill(f, s, f->c->ids, f->c->n);
  follow(f, s, got);
  static const int64_t lengths[] = {19, 19, 7, 1};  // the second has all its tokens in the states
  for (int i = 0; i < CEL_COUNT(lengths); i++) {
    fresh(f, lengths[i], want);
    assert_int_equal(f->l.backend->truncate(s, lengths[i], &err), CEL_OK);
    follow(f, s, got);
    expect_bits(got, want);
  }
  assert_int_equal(f->l.backend->truncate(s, 0, &err), CEL_OK);
  expect_prefill(f, s, f->c->ids, 19);
  fresh(f, 19, want);
  follow(f, s, got);
  expect_bits(got, want);
  f->l.backend->close(s);
}

static void a_fork_has_the_bits_of_its_origin(void **state) {
  fixture *f = *state;
  cel_err err = {0};
  cel_event want[STEPS], got[STEPS];
  cel_session_options o = reporting_options();
  cel_session *s = open_session(f, &o), *t;
  expect_prefill(f, s, f->c->ids, 19);
  one_step(f, s);
  assert_int_equal(f->l.backend->fork(s, &o, &t, &err), CEL_OK);
  follow(f, s, want);
  follow(f, t, got);
  expect_bits(got, want);
  f->l.backend->close(s);
  fresh(f, 11, want);
  assert_int_equal(f->l.backend->truncate(t, 11, &err), CEL_OK);
  follow(f, t, got);
  expect_bits(got, want);
  f->l.backend->close(t);
}

// Two rows and one are different programs on engines whose compilers choose the order of sums; ours keeps the bits.
static void expect_row(const fixture *f, const cel_event *got, const cel_event *want) {
  cel_description d = {0};
  f->l.backend->describe(f->l.model, &d);
  assert_int_equal(got->token, want->token);
  if (!strcmp(d.engine, "native")) assert_memory_equal(&got->logprob, &want->logprob, sizeof(float));
  else assert_true(got->logprob - want->logprob < 1e-4f && want->logprob - got->logprob < 1e-4f);
}

// One step, of which one session has to be fed all of its tokens again and the other goes on.
static void a_new_beginning_disturbs_no_other_row(void **state) {
  fixture *f = *state;
  cel_err err = {0};
  cel_event want[2][STEPS];
  cel_session_options o = reporting_options();
  cel_session *s[2];
  for (int i = 0; i < 2; i++) {
    s[i] = open_session(f, &o);
    expect_prefill(f, s[i], f->c->ids, 19);
  }
  one_step(f, s[0]);
  follow(f, s[1], want[1]);
  fresh(f, 19, want[0]);
  assert_int_equal(f->l.backend->truncate(s[1], 13, &err), CEL_OK);
  fresh(f, 13, want[1]);
  cel_event e[2];
  for (int i = 0; i + 1 < STEPS; i++) {
    assert_int_equal(f->l.backend->step(f->l.model, s, 2, e, &err), CEL_OK);
    expect_row(f, &e[0], &want[0][i + 1]);
    expect_row(f, &e[1], &want[1][i]);
  }
  for (int i = 0; i < 2; i++) f->l.backend->close(s[i]);
}

typedef struct canceller {
  fixture *f;
  cel_session *s;
  long delay_us;
} canceller;

static void *cancel_soon(void *p) {
  canceller *c = p;
  struct timespec t = {0, c->delay_us * 1000};
  nanosleep(&t, NULL);
  c->f->l.backend->cancel(c->s);
  return NULL;
}

// Wherever the word comes in, a prompt is taken whole or not at all, and what is left goes on as if it had not been tried.
static void a_cancelled_prompt_leaves_no_trace(void **state) {
  fixture *f = *state;
  cel_err err = {0};
  cel_event want[STEPS], got[STEPS];
  cel_session_options o = reporting_options();
  cel_session *s = open_session(f, &o);
  int32_t ids[90];
  for (int i = 0; i < 90; i++) ids[i] = f->c->ids[i % f->c->n];
  fresh(f, 9, want);
  for (int i = 0; i < 12; i++) {
    assert_int_equal(f->l.backend->truncate(s, 0, &err), CEL_OK);
    expect_prefill(f, s, f->c->ids, 9);
    canceller c = {f, s, i * 150};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, &c), 0);
    cel_prompt p = {.ids = ids, .n = 90};
    cel_status status = f->l.backend->prefill(s, &p, &err);
    pthread_join(thread, NULL);
    assert_true(status == CEL_OK || status == CEL_CANCELLED);
    assert_int_equal(f->l.backend->length(s), status == CEL_OK ? 99 : 9);
    assert_int_equal(f->l.backend->truncate(s, 9, &err), CEL_OK);
    follow(f, s, got);
    expect_bits(got, want);
  }
  f->l.backend->close(s);
}

#define CONFORMANCE \
  X(greedy_tokens_are_the_reference) X(a_prompt_may_come_in_parts) X(truncate_goes_back_in_time) \
  X(a_fork_goes_its_own_way) X(sessions_of_different_length_share_a_step) X(end_ids_and_lengths_finish) \
  X(a_full_context_finishes_and_too_long_is_refused) X(bad_ids_and_empty_prompts_are_refused) \
  X(more_sessions_than_rows_are_busy) X(cancel_stops_a_session_and_no_other) X(bad_sampling_is_refused_by_name) \
  X(log_probabilities_belong_to_the_tokens) X(the_same_seed_draws_the_same_tokens) X(what_runs_is_described) \
  X(a_session_cut_back_has_the_bits_of_a_fresh_one) X(a_fork_has_the_bits_of_its_origin) \
  X(a_new_beginning_disturbs_no_other_row) X(a_cancelled_prompt_leaves_no_trace)

static const struct {
  const char *name;
  void (*run)(void **state);
} suite[] = {
#define X(test) {#test, test},
    CONFORMANCE
#undef X
};

int main(void) {
  static char models[][16] = {"llama3", "lfm2", "qwen3next"};
  enum { ALL = CEL_COUNT(models) * CEL_COUNT(suite) };
  static struct CMUnitTest tests[ALL + 2] = {cmocka_unit_test(the_null_backend_refuses_politely),
                                             cmocka_unit_test(an_unknown_backend_is_refused_with_the_list)};
  static char names[ALL][96];
  for (int i = 0; i < ALL; i++) {
    char *model = models[i / CEL_COUNT(suite)];
    snprintf(names[i], sizeof names[i], "%s: %s", model, suite[i % CEL_COUNT(suite)].name);
    tests[i + 2] = (struct CMUnitTest){names[i], suite[i % CEL_COUNT(suite)].run, setup, teardown, model};
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
