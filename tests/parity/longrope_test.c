// Longrope's border within a session: however a sequence came to its length, its logits are those of a session that was
// given all of it at once. phi3-long has its border at 16 tokens.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/oracle.h"

enum { BORDER = 16 };

typedef struct world {
  oracle *o;
  loaded l;
  const int32_t *ids;
} world;

static void open_world(world *w) {
  cel_load_options options = {.n_threads = 2, .context = 256, .max_sessions = 4};
  w->o = oracle_load("phi3-long");
  loaded_open(&w->l, w->o->path, "f32", &options);
  w->ids = w->o->cases[w->o->n_cases - 1].ids;
  assert_true(w->l.arch.ropes[0].type == CEL_ROPE_LONGROPE && w->l.arch.ropes[0].original_max_position == BORDER);
}

static void close_world(world *w) {
  loaded_close(&w->l);
  oracle_free(w->o);
}

static cel_session *open_session(const world *w) {
  cel_session *s;
  cel_err err = {0};
  cel_session_options options = greedy_options();
  options.sampling.n_logprobs = 3;
  if (w->l.backend->open(w->l.model, &options, &s, &err) != CEL_OK) fail_msg("%s", err.text);
  return s;
}

static void feed(const world *w, cel_session *s, int64_t from, int64_t n) {
  cel_err err = {0};
  cel_prompt p = {.ids = w->ids + from, .n = n};
  if (w->l.backend->prefill(s, &p, &err) != CEL_OK) fail_msg("%s", err.text);
}

static cel_event step(const world *w, cel_session *s) {
  cel_event e;
  cel_err err = {0};
  if (w->l.backend->step(w->l.model, &s, 1, &e, &err) != CEL_OK) fail_msg("%s", err.text);
  return e;
}

static void cut(const world *w, cel_session *s, int64_t n) {
  cel_err err = {0};
  if (w->l.backend->truncate(s, n, &err) != CEL_OK) fail_msg("%s", err.text);
}

// The next token of s is that of a new session over the same tokens, bit for bit.
static void is_like_new(const world *w, cel_session *s) {
  cel_session *fresh = open_session(w);
  cel_err err = {0};
  cel_prompt p = {.ids = w->l.backend->tokens(s), .n = w->l.backend->length(s)};
  if (w->l.backend->prefill(fresh, &p, &err) != CEL_OK) fail_msg("%s", err.text);
  int64_t n = p.n;
  cel_event a = step(w, s), b = step(w, fresh);
  if (a.token != b.token || memcmp(&a.logprob, &b.logprob, sizeof a.logprob) != 0 || memcmp(a.top, b.top, 3 * sizeof *a.top) != 0)
    fail_msg("after %lld tokens: token %d with %g, a new session has %d with %g", (long long)n, a.token, (double)a.logprob,
             b.token, (double)b.logprob);
  w->l.backend->close(fresh);
}

static void decoding_across_the_border(void **state) {
  (void)state;
  world w;
  open_world(&w);
  cel_session *s = open_session(&w);
  feed(&w, s, 0, BORDER - 4);
  for (int i = 0; i < 12; i++) is_like_new(&w, s);
  w.l.backend->close(s);
  close_world(&w);
}

static void a_second_prompt_across_the_border(void **state) {
  (void)state;
  world w;
  open_world(&w);
  cel_session *s = open_session(&w);
  feed(&w, s, 0, BORDER);
  is_like_new(&w, s);
  feed(&w, s, BORDER, 9);
  is_like_new(&w, s);
  w.l.backend->close(s);
  close_world(&w);
}

static void cutting_back_across_the_border(void **state) {
  (void)state;
  world w;
  open_world(&w);
  cel_session *s = open_session(&w);
  feed(&w, s, 0, BORDER + 10);
  is_like_new(&w, s);
  cut(&w, s, BORDER - 5);
  for (int i = 0; i < 8; i++) is_like_new(&w, s);
  cut(&w, s, BORDER);
  is_like_new(&w, s);
  w.l.backend->close(s);
  close_world(&w);
}

static void a_fork_on_one_side_goes_to_the_other(void **state) {
  (void)state;
  world w;
  open_world(&w);
  cel_err err = {0};
  cel_session *s = open_session(&w), *t;
  feed(&w, s, 0, BORDER + 3);
  cel_session_options options = greedy_options();
  options.sampling.n_logprobs = 3;
  if (w.l.backend->fork(s, &options, &t, &err) != CEL_OK) fail_msg("%s", err.text);
  cut(&w, t, 6);
  is_like_new(&w, t);
  is_like_new(&w, s);
  w.l.backend->close(t);
  w.l.backend->close(s);
  close_world(&w);
}

// A prompt that is cancelled behind the border leaves the tokens of before; the cache has to be made anew for them.
static void a_cancelled_crossing_loses_nothing(void **state) {
  (void)state;
  world w;
  open_world(&w);
  cel_err err = {0};
  cel_session *s = open_session(&w);
  feed(&w, s, 0, BORDER - 4);
  step(&w, s);
  w.l.backend->cancel(s);
  cel_prompt p = {.ids = w.ids, .n = 20};
  assert_int_equal(w.l.backend->prefill(s, &p, &err), CEL_CANCELLED);
  cut(&w, s, w.l.backend->length(s));  // takes the cancelling back
  is_like_new(&w, s);
  is_like_new(&w, s);
  w.l.backend->close(s);
  close_world(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(decoding_across_the_border),
      cmocka_unit_test(a_second_prompt_across_the_border),
      cmocka_unit_test(cutting_back_across_the_border),
      cmocka_unit_test(a_fork_on_one_side_goes_to_the_other),
      cmocka_unit_test(a_cancelled_crossing_loses_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
