// Context buckets: sessions that move from capacity to capacity as they grow say, bit for bit, what a session of one capacity
// says; alone, in a batch whose rows are in several buckets, forked and cut back.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/oracle.h"

enum { CAPACITY = 64, SESSIONS = 3, STEPS = 40 };

static const char *const models[] = {"llama3", "qwen3-q4g32", "dsv2", "lfm2", "qwen3next", "gemma3n"};

typedef struct world {
  oracle *o;
  loaded l;
} world;

static void open_world(world *w, const char *model, const char *buckets) {
  cel_load_options options = {.n_threads = 2, .context = buckets ? 0 : CAPACITY, .max_sessions = SESSIONS};
  if (buckets) setenv("MLXCEL_XLA_CONTEXT_BUCKETS", buckets, 1);
  w->o = oracle_load(model);
  loaded_open(&w->l, w->o->path, "f32", &options);
  unsetenv("MLXCEL_XLA_CONTEXT_BUCKETS");
  assert_int_equal(w->l.backend->context(w->l.model), CAPACITY);
}

static void close_world(world *w) {
  loaded_close(&w->l);
  oracle_free(w->o);
}

static cel_session *open_session(const world *w, int64_t max_tokens) {
  cel_session *s;
  cel_err err = {0};
  cel_session_options options = greedy_options();
  options.sampling.n_logprobs = 2;
  options.max_tokens = max_tokens;
  options.ignore_end = true;
  if (w->l.backend->open(w->l.model, &options, &s, &err) != CEL_OK) fail_msg("%s", err.text);
  return s;
}

static void feed(const world *w, cel_session *s, int64_t n) {
  cel_err err = {0};
  cel_prompt p = {.ids = w->o->cases[w->o->n_cases - 1].ids, .n = n};
  if (w->l.backend->prefill(s, &p, &err) != CEL_OK) fail_msg("%s", err.text);
}

typedef struct said {
  int32_t token;
  float logprob, second;
} said;

static void step(const world *w, cel_session **s, int n, said *out) {
  cel_event e[SESSIONS];
  cel_err err = {0};
  if (w->l.backend->step(w->l.model, s, n, e, &err) != CEL_OK) fail_msg("%s", err.text);
  for (int i = 0; i < n; i++) out[i] = (said){e[i].token, e[i].logprob, e[i].top[1].logprob};
}

static void same(const said *a, const said *b, const char *what, int at) {
  if (memcmp(a, b, sizeof *a) != 0) fail_msg("%s, step %d: token %d with %g, one capacity has %d with %g", what, at, a->token, (double)a->logprob, b->token, (double)b->logprob);
}

// Three sessions of different lengths, grown together.
static void run_batch(const world *w, said out[STEPS][SESSIONS]) {
  cel_session *s[SESSIONS];
  for (int i = 0; i < SESSIONS; i++) {
    s[i] = open_session(w, -1);
    feed(w, s[i], 1 + 7 * i);
  }
  for (int at = 0; at < STEPS; at++) step(w, s, SESSIONS, out[at]);
  for (int i = 0; i < SESSIONS; i++) w->l.backend->close(s[i]);
}

static void a_moving_session_says_the_same(void **state) {
  (void)state;
  for (int k = 0; k < CEL_COUNT(models); k++) {
    static said want[STEPS][SESSIONS], got[STEPS][SESSIONS];
    world one, many;
    open_world(&one, models[k], NULL);
    open_world(&many, models[k], "24,8,16,64,24");
    run_batch(&one, want);
    for (int again = 0; again < 2; again++) {  // rows and buckets are used a second time
      run_batch(&many, got);
      for (int at = 0; at < STEPS; at++) {
        for (int i = 0; i < SESSIONS; i++) same(&got[at][i], &want[at][i], models[k], at);
      }
    }
    close_world(&one);
    close_world(&many);
  }
}

static void forks_and_cuts_move_too(void **state) {
  (void)state;
  for (int k = 0; k < CEL_COUNT(models); k++) {
    said want, got;
    world one, many;
    open_world(&one, models[k], NULL);
    open_world(&many, models[k], "8,16,64");
    const world *worlds[2] = {&one, &many};
    cel_session *s[2], *t[2];
    cel_err err = {0};
    cel_session_options options = greedy_options();
    options.sampling.n_logprobs = 2;
    options.ignore_end = true;
    for (int i = 0; i < 2; i++) {
      s[i] = open_session(worlds[i], -1);
      feed(worlds[i], s[i], 7);
      for (int at = 0; at < 6; at++) step(worlds[i], &s[i], 1, i ? &got : &want);
      assert_int_equal(worlds[i]->l.backend->fork(s[i], &options, &t[i], &err), CEL_OK);
      assert_int_equal(worlds[i]->l.backend->truncate(s[i], 5, &err), CEL_OK);
    }
    for (int at = 0; at < 30; at++) {
      step(&one, &s[0], 1, &want);
      step(&many, &s[1], 1, &got);
      same(&got, &want, "cut back", at);
      step(&one, &t[0], 1, &want);
      step(&many, &t[1], 1, &got);
      same(&got, &want, "a fork", at);
    }
    close_world(&one);
    close_world(&many);
  }
}

static void what_does_not_fit_is_refused_with_the_numbers(void **state) {
  (void)state;
  world w;
  cel_err err = {0};
  open_world(&w, "llama3", "8,64");
  cel_prompt p = {.ids = w.o->cases[0].ids, .n = 5};
  cel_session *s = open_session(&w, 60);
  assert_int_equal(w.l.backend->prefill(s, &p, &err), CEL_TOO_LONG);
  assert_string_equal(err.text, "the prompt (5 tokens) and the new ones asked for (60) do not fit the context of 64");
  w.l.backend->close(s);
  s = open_session(&w, 59);
  assert_int_equal(w.l.backend->prefill(s, &p, &err), CEL_OK);
  assert_int_equal(w.l.backend->prefill(s, &p, &err), CEL_TOO_LONG);
  assert_string_equal(err.text, "what the session holds (5 tokens), the prompt (5 tokens) and the new ones asked for (59) do not fit the context of 64");
  w.l.backend->close(s);
  close_world(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_moving_session_says_the_same),
      cmocka_unit_test(forks_and_cuts_move_too),
      cmocka_unit_test(what_does_not_fit_is_refused_with_the_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
