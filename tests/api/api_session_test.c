// Sessions of the public interface against the committed reference runs.
#include "support.h"

#include <math.h>
#include <stdlib.h>

static mlxcel_session *open_session(mlxcel_model *m, const mlxcel_session_options *given) {
  mlxcel_session_options o;
  mlxcel_session *s;
  mlxcel_session_options_init(&o, sizeof o);
  o.ignore_end = true;
  OK(mlxcel_session_open(m, given ? given : &o, &s, ERR));
  return s;
}

// n greedy steps must give want[n].
static void expect_steps(mlxcel_model *m, mlxcel_session *s, const int32_t *want, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    mlxcel_event e;
    OK(mlxcel_step(m, &s, 1, &e, ERR));
    assert_int_equal(e.status, MLXCEL_OK);
    assert_string_equal(e.text, "");
    assert_int_equal(e.token, want[i]);
  }
}

static void greedy_tokens_equal_the_reference_of(const char *name, const char *path) {
  reference r[ORACLE_CASES];
  int n = reference_load(name, r);
  mlxcel_model *m = open_model(path, 1);
  for (int i = 0; i < n; i++) {
    mlxcel_session *s = open_session(m, NULL);
    OK(mlxcel_session_prompt(s, r[i].ids, r[i].n, ERR));
    assert_int_equal(mlxcel_session_length(s), r[i].n);
    expect_steps(m, s, r[i].greedy, r[i].n_greedy);
    assert_int_equal(mlxcel_session_length(s), r[i].n + r[i].n_greedy);
    assert_memory_equal(mlxcel_session_tokens(s), r[i].ids, (size_t)r[i].n * 4);
    assert_memory_equal(mlxcel_session_tokens(s) + r[i].n, r[i].greedy, (size_t)r[i].n_greedy * 4);
    assert_true(mlxcel_model_memory(m, MLXCEL_MEMORY_KV) > 0);
    mlxcel_session_close(s);
  }
  mlxcel_model_close(m);
}

static void greedy_tokens_equal_the_reference(void **state) {
  (void)state;
  greedy_tokens_equal_the_reference_of("llama3", LLAMA3);
  greedy_tokens_equal_the_reference_of("llama-gguf", LLAMA_GGUF);
}

static void a_batch_equals_its_members(void **state) {
  (void)state;
  reference r[ORACLE_CASES];
  assert_int_equal(reference_load("llama3", r), 2);
  mlxcel_model *m = open_model(LLAMA3, 2);
  mlxcel_session *s[2];
  mlxcel_event e[2];
  for (int i = 0; i < 2; i++) {
    s[i] = open_session(m, NULL);
    OK(mlxcel_session_prompt(s[i], r[i].ids, r[i].n, ERR));
  }
  for (int64_t k = 0; k < 8; k++) {
    OK(mlxcel_step(m, s, 2, e, ERR));
    for (int i = 0; i < 2; i++) assert_int_equal(e[i].token, r[i].greedy[k]);
  }
  mlxcel_session_close(s[0]);
  expect_steps(m, s[1], r[1].greedy + 8, r[1].n_greedy - 8);
  mlxcel_session_close(s[1]);
  mlxcel_model_close(m);
}

static void a_fork_goes_its_own_way_from_the_same_place(void **state) {
  (void)state;
  reference r[ORACLE_CASES];
  assert_int_equal(reference_load("llama3", r), 2);
  mlxcel_model *m = open_model(LLAMA3, 2);
  mlxcel_session *s = open_session(m, NULL), *t, *more;
  mlxcel_session_options o;
  mlxcel_session_options_init(&o, sizeof o);
  o.ignore_end = true;
  OK(mlxcel_session_prompt(s, r[0].ids, r[0].n, ERR));
  expect_steps(m, s, r[0].greedy, 4);
  OK(mlxcel_session_fork(s, &o, &t, ERR));
  assert_int_equal(mlxcel_session_length(t), r[0].n + 4);
  expect_steps(m, s, r[0].greedy + 4, 8);
  expect_steps(m, t, r[0].greedy + 4, 8);
  FAILS(MLXCEL_BUSY, "2 sessions", mlxcel_session_fork(s, NULL, &more, ERR));
  assert_null(more);
  FAILS(MLXCEL_INVALID, "session is NULL", mlxcel_session_fork(NULL, NULL, &more, ERR));
  mlxcel_session_close(s);
  mlxcel_model_close(m);  // t keeps it
  expect_steps(m, t, r[0].greedy + 12, 2);
  mlxcel_session_close(t);
}

static void truncated_sessions_repeat_themselves(void **state) {
  (void)state;
  reference r[ORACLE_CASES];
  assert_int_equal(reference_load("llama3", r), 2);
  mlxcel_model *m = open_model(LLAMA3, 1);
  mlxcel_session *s = open_session(m, NULL);
  OK(mlxcel_session_prompt(s, r[0].ids, r[0].n, ERR));
  expect_steps(m, s, r[0].greedy, 6);
  OK(mlxcel_session_truncate(s, r[0].n, ERR));
  expect_steps(m, s, r[0].greedy, 6);
  FAILS(MLXCEL_INVALID, "truncate to", mlxcel_session_truncate(s, r[0].n + 7, ERR));
  FAILS(MLXCEL_INVALID, "truncate to", mlxcel_session_truncate(s, -1, ERR));
  FAILS(MLXCEL_INVALID, "session is NULL", mlxcel_session_truncate(NULL, 0, ERR));
  OK(mlxcel_session_truncate(s, 0, ERR));
  OK(mlxcel_session_prompt(s, r[1].ids, r[1].n, ERR));
  expect_steps(m, s, r[1].greedy, 6);
  mlxcel_session_close(s);
  mlxcel_model_close(m);
}

static void cancelling_ends_a_session_and_truncating_revives_it(void **state) {
  (void)state;
  reference r[ORACLE_CASES];
  assert_int_equal(reference_load("llama3", r), 2);
  mlxcel_model *m = open_model(LLAMA3, 1);
  mlxcel_session *s = open_session(m, NULL);
  mlxcel_event e;
  OK(mlxcel_session_prompt(s, r[0].ids, r[0].n, ERR));
  mlxcel_session_cancel(s);
  OK(mlxcel_step(m, &s, 1, &e, ERR));
  assert_int_equal(e.finish, MLXCEL_FINISH_CANCELLED);
  assert_int_equal(e.status, MLXCEL_CANCELLED);
  assert_int_equal(e.token, -1);
  assert_non_null(strstr(e.text, "cancelled"));
  FAILS(MLXCEL_CANCELLED, "cancelled", mlxcel_session_prompt(s, r[0].ids, 1, ERR));
  FAILS(MLXCEL_INVALID, "has finished", mlxcel_step(m, &s, 1, &e, ERR));
  OK(mlxcel_session_truncate(s, r[0].n, ERR));
  expect_steps(m, s, r[0].greedy, 3);
  mlxcel_session_cancel(NULL);
  mlxcel_session_close(s);
  mlxcel_model_close(m);
}

static void a_session_finishes_at_its_length_and_at_its_end_ids(void **state) {
  (void)state;
  reference r[ORACLE_CASES];
  assert_int_equal(reference_load("llama3", r), 2);
  mlxcel_model *m = open_model(LLAMA3, 1);
  mlxcel_session_options o;
  mlxcel_event e;
  mlxcel_session_options_init(&o, sizeof o);
  o.max_tokens = 2;
  o.ignore_end = true;
  mlxcel_session *s = open_session(m, &o);
  OK(mlxcel_session_prompt(s, r[0].ids, r[0].n, ERR));
  OK(mlxcel_step(m, &s, 1, &e, ERR));
  assert_int_equal(e.finish, MLXCEL_FINISH_NONE);
  OK(mlxcel_step(m, &s, 1, &e, ERR));
  assert_int_equal(e.finish, MLXCEL_FINISH_LENGTH);
  mlxcel_session_close(s);

  int32_t end = r[0].greedy[0];
  mlxcel_session_options_init(&o, sizeof o);
  o.end_ids = &end;
  o.n_end_ids = 1;
  s = open_session(m, &o);
  end = -1;  // was copied
  OK(mlxcel_session_prompt(s, r[0].ids, r[0].n, ERR));
  OK(mlxcel_step(m, &s, 1, &e, ERR));
  assert_int_equal(e.finish, MLXCEL_FINISH_END);
  assert_int_equal(e.token, r[0].greedy[0]);
  mlxcel_session_close(s);
  mlxcel_model_close(m);
}

static void log_probabilities_come_with_the_event(void **state) {
  (void)state;
  reference r[ORACLE_CASES];
  assert_int_equal(reference_load("llama3", r), 2);
  mlxcel_model *m = open_model(LLAMA3, 1);
  mlxcel_sampling how;
  mlxcel_session_options o;
  mlxcel_event e;
  mlxcel_sampling_init(&how, sizeof how);
  how.n_logprobs = 5;
  mlxcel_session_options_init(&o, sizeof o);
  o.sampling = &how;
  mlxcel_session *s = open_session(m, &o);
  how.n_logprobs = -1;  // was copied
  OK(mlxcel_session_prompt(s, r[0].ids, r[0].n, ERR));
  OK(mlxcel_step(m, &s, 1, &e, ERR));
  assert_int_equal(e.n_top, 5);
  assert_int_equal(e.top[0].id, e.token);
  assert_true(e.top[0].logprob == e.logprob && e.logprob < 0);
  for (int i = 1; i < 5; i++) assert_true(e.top[i].logprob <= e.top[i - 1].logprob);
  mlxcel_session_close(s);
  mlxcel_model_close(m);
}

static void biases_and_seeds_are_heard(void **state) {
  (void)state;
  reference r[ORACLE_CASES];
  assert_int_equal(reference_load("llama3", r), 2);
  mlxcel_model *m = open_model(LLAMA3, 2);
  mlxcel_logit_bias bias = {r[0].greedy[0], -INFINITY};
  mlxcel_sampling how;
  mlxcel_session_options o;
  mlxcel_event e, f;
  mlxcel_sampling_init(&how, sizeof how);
  how.bias = &bias;
  how.n_bias = 1;
  mlxcel_session_options_init(&o, sizeof o);
  o.sampling = &how;
  mlxcel_session *s = open_session(m, &o);
  bias.id = 3;  // was copied
  OK(mlxcel_session_prompt(s, r[0].ids, r[0].n, ERR));
  OK(mlxcel_step(m, &s, 1, &e, ERR));
  assert_int_not_equal(e.token, r[0].greedy[0]);
  mlxcel_session_close(s);

  int differ = 0;
  for (uint64_t seed = 0; seed < 8; seed++) {
    mlxcel_session *pair[2];
    mlxcel_sampling_init(&how, sizeof how);
    how.temperature = 3;
    how.seed = seed;
    for (int i = 0; i < 2; i++) {
      pair[i] = open_session(m, &o);
      OK(mlxcel_session_prompt(pair[i], r[0].ids, r[0].n, ERR));
    }
    OK(mlxcel_step(m, &pair[0], 1, &e, ERR));
    OK(mlxcel_step(m, &pair[1], 1, &f, ERR));
    assert_int_equal(e.token, f.token);
    differ += e.token != r[0].greedy[0];
    for (int i = 0; i < 2; i++) mlxcel_session_close(pair[i]);
  }
  assert_true(differ > 0);
  mlxcel_model_close(m);
}

static void bad_sampling_is_refused(void **state) {
  (void)state;
  mlxcel_model *m = open_model(LLAMA3, 1);
  mlxcel_session *s;
  mlxcel_logit_bias bias = {256, 1};
  mlxcel_sampling how;
  mlxcel_session_options o;
  mlxcel_session_options_init(&o, sizeof o);
  o.sampling = &how;
#define REFUSED(status, part, change)           \
  do {                                          \
    mlxcel_sampling_init(&how, sizeof how);     \
    change;                                     \
    FAILS(status, part, mlxcel_session_open(m, &o, &s, ERR)); \
    assert_null(s);                             \
  } while (0)
  REFUSED(MLXCEL_INVALID, "mlxcel_sampling.struct_size is 1,", how.struct_size = 1);
  REFUSED(MLXCEL_INVALID, "temperature", how.temperature = -1);
  REFUSED(MLXCEL_INVALID, "top_p", how.top_p = NAN);
  REFUSED(MLXCEL_INVALID, "n_logprobs is 21, allowed is -1 to 20", how.n_logprobs = 21);
  REFUSED(MLXCEL_INVALID, "bias is NULL, n_bias is 2", how.n_bias = 2);
  REFUSED(MLXCEL_INVALID, "n_dry_breakers is -1", how.n_dry_breakers = -1);
  REFUSED(MLXCEL_INVALID, "id is 256, allowed is 0 to 255", (how.bias = &bias, how.n_bias = 1));
#undef REFUSED
  mlxcel_session_options_init(&o, sizeof o);
  o.max_tokens = 0;
  FAILS(MLXCEL_INVALID, "max_tokens is 0", mlxcel_session_open(m, &o, &s, ERR));
  mlxcel_session_options_init(&o, sizeof o);
  o.n_end_ids = 3;
  FAILS(MLXCEL_INVALID, "end_ids is NULL, n_end_ids is 3", mlxcel_session_open(m, &o, &s, ERR));
  o.n_end_ids = -3;
  FAILS(MLXCEL_INVALID, "n_end_ids is -3", mlxcel_session_open(m, &o, &s, ERR));
  o.struct_size = 0;
  FAILS(MLXCEL_INVALID, "mlxcel_session_options.struct_size is 0", mlxcel_session_open(m, &o, &s, ERR));
  OK(mlxcel_session_open(m, NULL, &s, ERR));  // no refusal kept the one place there is
  mlxcel_session_close(s);
  mlxcel_model_close(m);
}

static void bad_prompts_and_steps_are_refused(void **state) {
  (void)state;
  mlxcel_model *m = open_model(LLAMA3, 2), *other = open_model(LLAMA_GGUF, 1);
  mlxcel_session *s[3] = {open_session(m, NULL), NULL, NULL}, *more;
  mlxcel_event e[3];
  static const int32_t good[] = {1, 2, 3}, bad[] = {1, 256};
  int32_t *many = calloc(300, sizeof *many);
  FAILS(MLXCEL_INVALID, "session is NULL", mlxcel_session_prompt(NULL, good, 3, ERR));
  FAILS(MLXCEL_INVALID, "ids is NULL", mlxcel_session_prompt(s[0], NULL, 3, ERR));
  FAILS(MLXCEL_INVALID, "-1 token ids", mlxcel_session_prompt(s[0], good, -1, ERR));
  FAILS(MLXCEL_INVALID, "at least one", mlxcel_session_prompt(s[0], good, 0, ERR));
  FAILS(MLXCEL_INVALID, "256", mlxcel_session_prompt(s[0], bad, 2, ERR));
  FAILS(MLXCEL_TOO_LONG, "300", mlxcel_session_prompt(s[0], many, 300, ERR));
  free(many);
  FAILS(MLXCEL_INVALID, "no prompt", mlxcel_step(m, s, 1, e, ERR));
  FAILS(MLXCEL_INVALID, "model is NULL", mlxcel_step(NULL, s, 1, e, ERR));
  FAILS(MLXCEL_INVALID, "sessions is NULL", mlxcel_step(m, NULL, 1, e, ERR));
  FAILS(MLXCEL_INVALID, "events is NULL", mlxcel_step(m, s, 1, NULL, ERR));
  FAILS(MLXCEL_INVALID, "is 0, allowed is 1 to 2", mlxcel_step(m, s, 0, e, ERR));
  FAILS(MLXCEL_INVALID, "is 3, allowed is 1 to 2", mlxcel_step(m, s, 3, e, ERR));
  FAILS(MLXCEL_INVALID, "sessions[1] is NULL", mlxcel_step(m, s, 2, e, ERR));
  OK(mlxcel_session_prompt(s[0], good, 3, ERR));
  s[1] = s[0];
  FAILS(MLXCEL_INVALID, "twice", mlxcel_step(m, s, 2, e, ERR));
  FAILS(MLXCEL_INVALID, "another model", mlxcel_step(other, s, 1, e, ERR));
  s[1] = open_session(m, NULL);
  FAILS(MLXCEL_BUSY, "2 sessions", mlxcel_session_open(m, NULL, &more, ERR));
  assert_null(more);
  FAILS(MLXCEL_INVALID, "model is NULL", mlxcel_session_open(NULL, NULL, &more, ERR));
  FAILS(MLXCEL_INVALID, "out is NULL", mlxcel_session_open(m, NULL, NULL, ERR));
  assert_int_equal(mlxcel_session_length(NULL), 0);
  assert_null(mlxcel_session_tokens(NULL));
  mlxcel_session_close(NULL);
  mlxcel_session_close(s[0]);
  mlxcel_session_close(s[1]);
  mlxcel_model_close(m);
  mlxcel_model_close(other);
}

static void logits_name_the_greedy_token(void **state) {
  (void)state;
  reference r[ORACLE_CASES];
  assert_int_equal(reference_load("llama3", r), 2);
  mlxcel_model *m = open_model(LLAMA3, 1);
  int64_t vocab = mlxcel_model_vocab(m), best = 0;
  size_t floats = (size_t)(r[0].n * vocab);
  float *out = malloc(floats * sizeof *out);
  assert_non_null(out);
  OK(mlxcel_logits(m, r[0].ids, r[0].n, out, floats, ERR));
  const float *last = out + (r[0].n - 1) * vocab;
  for (int64_t i = 1; i < vocab; i++) best = last[i] > last[best] ? i : best;
  assert_int_equal(best, r[0].greedy[0]);
  FAILS(MLXCEL_INVALID, "room for", mlxcel_logits(m, r[0].ids, r[0].n, out, floats - 1, ERR));
  FAILS(MLXCEL_INVALID, "n is 0", mlxcel_logits(m, r[0].ids, 0, out, floats, ERR));
  FAILS(MLXCEL_INVALID, "n is 257", mlxcel_logits(m, r[0].ids, 257, out, floats, ERR));
  FAILS(MLXCEL_INVALID, "out is NULL", mlxcel_logits(m, r[0].ids, 1, NULL, floats, ERR));
  free(out);
  mlxcel_model_close(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(greedy_tokens_equal_the_reference),
      cmocka_unit_test(a_batch_equals_its_members),
      cmocka_unit_test(a_fork_goes_its_own_way_from_the_same_place),
      cmocka_unit_test(truncated_sessions_repeat_themselves),
      cmocka_unit_test(cancelling_ends_a_session_and_truncating_revives_it),
      cmocka_unit_test(a_session_finishes_at_its_length_and_at_its_end_ids),
      cmocka_unit_test(log_probabilities_come_with_the_event),
      cmocka_unit_test(biases_and_seeds_are_heard),
      cmocka_unit_test(bad_sampling_is_refused),
      cmocka_unit_test(bad_prompts_and_steps_are_refused),
      cmocka_unit_test(logits_name_the_greedy_token),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
