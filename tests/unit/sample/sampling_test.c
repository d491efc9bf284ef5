// The chain from logits to a token: edge values, penalties, truncation, determinism.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sample/sample.h"

enum { MAX_VOCAB = 4096 };

typedef struct fixture {
  cel_sampling s;
  float logits[MAX_VOCAB];
  int64_t vocab;
  int32_t history[64];
  int64_t n_history, n_prompt;
  float logprob;
  cel_logprob top[MAX_VOCAB];
  cel_err err;
  cel_status status;
} fixture;

static fixture *make(const float *logits, int64_t vocab) {
  fixture *f = calloc(1, sizeof *f);
  assert_non_null(f);
  cel_sampling_init(&f->s);
  memcpy(f->logits, logits, (size_t)vocab * sizeof *logits);
  f->vocab = vocab;
  return f;
}

static int32_t pick(fixture *f, uint64_t draw) {
  float work[MAX_VOCAB];
  memcpy(work, f->logits, sizeof work);
  // exactly as large as promised, so that a sanitizer sees a step beyond
  void *scratch = malloc((size_t)cel_sample_scratch_bytes(f->vocab));
  assert_non_null(scratch);
  int32_t token = -1;
  f->status = cel_sample(&f->s, work, f->vocab, f->history, f->n_history, f->n_prompt, draw, scratch, &token,
                         &f->logprob, f->top, &f->err);
  free(scratch);
  return token;
}

// Which of the first 64 ids ever come out in `draws` draws, as bits.
static uint64_t ever_drawn(fixture *f, int draws) {
  uint64_t bits = 0;
  for (int i = 0; i < draws; i++) {
    int32_t t = pick(f, (uint64_t)i);
    assert_int_equal(f->status, CEL_OK);
    assert_in_range(t, 0, f->vocab - 1);
    bits |= (uint64_t)1 << (t & 63);
  }
  return bits;
}

static fixture *four(void) {
  const float p[] = {.5f, .25f, .15f, .1f};
  float x[4];
  for (int i = 0; i < 4; i++) x[i] = logf(p[i]) + 3;
  return make(x, 4);
}

static void top_p_keeps_the_shortest_head_that_reaches_it(void **state) {
  (void)state;
  fixture *f = four();
  f->s.top_p = .74f;
  assert_int_equal(ever_drawn(f, 2000), 3);
  f->s.top_p = .76f;
  assert_int_equal(ever_drawn(f, 2000), 7);
  f->s.top_p = 1e-9f;
  f->s.temperature = 5;
  assert_int_equal(ever_drawn(f, 2000), 1);
  free(f);
}

static void min_p_is_relative_to_the_largest(void **state) {
  (void)state;
  fixture *f = four();
  f->s.min_p = .29f;
  assert_int_equal(ever_drawn(f, 2000), 7);
  f->s.min_p = 1;
  f->s.temperature = 5;
  assert_int_equal(ever_drawn(f, 2000), 1);
  free(f);
}

static void top_k_zero_or_less_is_off_and_one_is_greedy(void **state) {
  (void)state;
  fixture *f = four();
  f->s.temperature = 5;
  f->s.top_k = 0;
  assert_int_equal(ever_drawn(f, 2000), 15);
  f->s.top_k = -1;
  assert_int_equal(ever_drawn(f, 2000), 15);
  f->s.top_k = 1000000000;
  assert_int_equal(ever_drawn(f, 2000), 15);
  f->s.top_k = 2;
  assert_int_equal(ever_drawn(f, 2000), 3);
  f->s.top_k = 1;
  assert_int_equal(ever_drawn(f, 2000), 1);
  free(f);
}

static void tiny_temperature_is_greedy(void **state) {
  (void)state;
  fixture *f = four();
  f->s.temperature = 1e-9f;
  assert_int_equal(ever_drawn(f, 500), 1);
  f->s.temperature = 1e-45f;
  assert_int_equal(ever_drawn(f, 500), 1);
  free(f);
}

static void typical_p_keeps_what_surprises_as_much_as_the_mean(void **state) {
  (void)state;
  fixture *f = four();  // entropy 1.208 nats; surprises .693 1.386 1.897 2.303; distances .515 .178 .689 1.095
  f->s.typical_p = .2f;
  assert_int_equal(ever_drawn(f, 2000), 2);
  f->s.typical_p = .7f;
  assert_int_equal(ever_drawn(f, 2000), 3);
  f->s.typical_p = .8f;
  assert_int_equal(ever_drawn(f, 2000), 7);
  free(f);
}

static void top_n_sigma_cuts_in_units_of_deviation(void **state) {
  (void)state;
  const float x[] = {4, 3, 0, 1, -INFINITY};  // mean 2, deviation sqrt(2.5) = 1.581; the banned one does not count
  fixture *f = make(x, 5);
  f->s.temperature = 20;
  f->s.top_n_sigma = .6f;  // floor 3.05
  assert_int_equal(ever_drawn(f, 2000), 1);
  f->s.top_n_sigma = 1;  // floor 2.42
  assert_int_equal(ever_drawn(f, 2000), 3);
  f->s.top_n_sigma = 2;  // floor .84
  assert_int_equal(ever_drawn(f, 2000), 11);
  free(f);
}

static void xtc_leaves_the_least_likely_of_the_likely(void **state) {
  (void)state;
  fixture *f = four();
  f->s.xtc_probability = 1;
  f->s.xtc_threshold = .14f;  // 0, 1 and 2 reach it: 2 stays, and 3
  assert_int_equal(ever_drawn(f, 2000), 12);
  f->s.xtc_threshold = .4f;  // only one reaches it: nothing happens
  assert_int_equal(ever_drawn(f, 2000), 15);
  f->s.xtc_threshold = .14f;
  f->s.xtc_probability = .5f;
  int low = 0;
  for (int i = 0; i < 4000; i++) low += pick(f, (uint64_t)i) < 2;
  assert_in_range(low, 1350, 1650);  // 4000 * .5 * .75 = 1500, deviation 31
  free(f);
}

static void penalties_mind_sign_prompt_and_counts(void **state) {
  (void)state;
  const float x[] = {2, 1, -1, 0};
  const int32_t history[] = {0, 2, 2};
  cel_sampling s;
  cel_sampling_init(&s);
  float y[4];
  memcpy(y, x, sizeof x);
  s.repetition_penalty = 2;
  cel_apply_penalties(&s, y, 4, history, 3, 1);
  assert_true(y[0] == 1 && y[1] == 1 && y[2] == -2 && y[3] == 0);
  memcpy(y, x, sizeof x);
  s.repetition_penalty = 1, s.frequency_penalty = .5f, s.presence_penalty = .25f;
  cel_apply_penalties(&s, y, 4, history, 3, 1);
  assert_true(y[0] == 2 && y[1] == 1 && y[2] == -2.25f && y[3] == 0);
  memcpy(y, x, sizeof x);
  s.penalty_last_n = 1;  // only the last token is seen
  cel_apply_penalties(&s, y, 4, history, 3, 1);
  assert_true(y[0] == 2 && y[2] == -1.75f);
  memcpy(y, x, sizeof x);
  s.penalty_last_n = 0;
  cel_apply_penalties(&s, y, 4, history, 3, 1);
  assert_memory_equal(y, x, sizeof x);
}

static void penalties_ignore_ids_outside_the_vocabulary(void **state) {
  (void)state;
  float y[] = {2, 1};
  const int32_t history[] = {-1, 7, 2, INT32_MAX, INT32_MIN, 1};
  cel_sampling s;
  cel_sampling_init(&s);
  s.repetition_penalty = 2;
  s.dry_multiplier = 1;
  cel_apply_penalties(&s, y, 2, history, 6, 0);
  cel_apply_dry(&s, y, 2, history, 6);
  assert_true(y[0] == 2 && y[1] == .5f);
}

static void step_by_step_equals_the_chain_in_a_large_vocabulary(void **state) {
  (void)state;
  static float x[10000], y[10000];
  static int32_t history[3000];
  for (int i = 0; i < 10000; i++) x[i] = y[i] = (float)((i * 7919) % 1000) / 100 - 5;
  for (int i = 0; i < 3000; i++) history[i] = (i * i * 31 + i % 17) % 10000;
  memcpy(history + 2900, history + 100, 100 * sizeof *history);
  cel_sampling s;
  cel_sampling_init(&s);
  s.temperature = 0;
  s.repetition_penalty = 1.3f, s.frequency_penalty = .1f, s.presence_penalty = .2f, s.dry_multiplier = .8f;
  void *scratch = malloc((size_t)cel_sample_scratch_bytes(10000));
  int32_t token;
  cel_err err;
  assert_int_equal(cel_sample(&s, x, 10000, history, 3000, 1000, 0, scratch, &token, NULL, NULL, &err), CEL_OK);
  cel_apply_penalties(&s, y, 10000, history, 3000, 1000);
  cel_apply_dry(&s, y, 10000, history, 3000);
  assert_memory_equal(x, y, sizeof x);
  assert_int_equal(token, cel_argmax(y, 10000));
  assert_true(y[history[200]] < -1e20f);  // a repetition of 100 tokens
  free(scratch);
}

static void dry_punishes_what_lengthens_a_repetition(void **state) {
  (void)state;
  //                        1 2 3 4   2 3 5   1 2 3 -> 4 lengthens three, 5 lengthens two
  const int32_t history[] = {1, 2, 3, 4, 2, 3, 5, 1, 2, 3};
  float y[8] = {0};
  cel_sampling s;
  cel_sampling_init(&s);
  s.dry_multiplier = .5f, s.dry_base = 2;
  cel_apply_dry(&s, y, 8, history, 10);
  assert_true(y[4] == -1 && y[5] == -.5f);
  assert_true(y[0] == 0 && y[1] == 0 && y[2] == 0 && y[3] == 0 && y[6] == 0);
  memset(y, 0, sizeof y);
  const int32_t breakers[] = {2};
  s.dry_breakers = breakers, s.n_dry_breakers = 1;  // only "3" is left to match, too short
  cel_apply_dry(&s, y, 8, history, 10);
  assert_true(y[4] == 0 && y[5] == 0);
  memset(y, 0, sizeof y);
  const int32_t other[] = {4};
  s.dry_breakers = other;  // a breaker itself is not punished
  cel_apply_dry(&s, y, 8, history, 10);
  assert_true(y[4] == 0 && y[5] == -.5f);
  memset(y, 0, sizeof y);
  s.n_dry_breakers = 0, s.dry_last_n = 6;  // 2 3 5 1 2 3
  cel_apply_dry(&s, y, 8, history, 10);
  assert_true(y[4] == 0 && y[5] == -.5f);
}

static void dry_stays_finite_on_long_runs(void **state) {
  (void)state;
  static int32_t history[20000];
  float y[2] = {1, 2};
  cel_sampling s;
  cel_sampling_init(&s);
  s.dry_multiplier = 5;
  cel_apply_dry(&s, y, 2, history, 20000);
  assert_true(isfinite(y[0]) && y[0] < -1e29f && y[1] == 2);
}

static void bias_adds_and_bans(void **state) {
  (void)state;
  fixture *f = four();
  f->s.temperature = 0;
  cel_logit_bias bias[] = {{0, -INFINITY}, {3, 2}, {99, 5}};
  f->s.bias = bias, f->s.n_bias = 3;
  assert_int_equal(pick(f, 0), 3);
  f->s.temperature = 1;
  assert_int_equal(ever_drawn(f, 2000) & 1, 0);
  free(f);
}

static void banning_everything_is_an_error(void **state) {
  (void)state;
  fixture *f = four();
  cel_logit_bias bias[] = {{0, -INFINITY}, {1, -INFINITY}, {2, -INFINITY}, {3, -INFINITY}};
  f->s.bias = bias, f->s.n_bias = 4;
  for (int t = 0; t < 2; t++) {
    f->s.temperature = (float)t;
    pick(f, 0);
    assert_int_equal(f->status, CEL_INVALID);
    assert_string_equal(f->err.text, "logit_bias bans every token");
  }
  free(f);
}

static void non_finite_logits_are_an_engine_failure(void **state) {
  (void)state;
  const float bad[] = {NAN, INFINITY, -NAN};
  for (int where = 0; where < 1100; where += 37) {
    for (int b = 0; b < 3; b++) {
      static float x[1100];
      for (int i = 0; i < 1100; i++) x[i] = (float)(i % 5);
      x[where] = bad[b];
      fixture *f = make(x, 1100);
      f->s.temperature = (float)(where & 1);
      pick(f, 0);
      assert_int_equal(f->status, CEL_ENGINE);
      assert_non_null(strstr(f->err.text, "non-finite logits"));
      free(f);
    }
  }
  const float masked[] = {-INFINITY, -INFINITY};
  fixture *f = make(masked, 2);
  pick(f, 0);
  assert_int_equal(f->status, CEL_ENGINE);
  free(f);
}

static void masked_logits_are_never_drawn(void **state) {
  (void)state;
  const float x[] = {-INFINITY, 1, -INFINITY, 1};
  fixture *f = make(x, 4);
  assert_int_equal(ever_drawn(f, 500), 10);
  f->s.top_k = 3;
  assert_int_equal(ever_drawn(f, 500), 10);
  f->s.typical_p = .9f, f->s.top_p = .95f, f->s.min_p = .01f;
  assert_int_equal(ever_drawn(f, 500), 10);
  free(f);
}

static void ties_go_to_the_lowest_id(void **state) {
  (void)state;
  static float x[3000];
  for (int i = 0; i < 3000; i++) x[i] = (float)(i % 3 == 2);
  assert_int_equal(cel_argmax(x, 3000), 2);
  assert_int_equal(cel_argmax(x, 2), 0);
  assert_int_equal(cel_argmax(x, 0), -1);
  fixture *f = make(x, 3000);
  f->s.temperature = 3;
  f->s.top_k = 2;  // ids 2 and 5
  assert_int_equal(ever_drawn(f, 500), 1 << 2 | 1 << 5);
  f->s.top_k = 0;
  f->s.top_p = 1e-9f;
  assert_int_equal(ever_drawn(f, 100), 1 << 2);
  free(f);
}

static void argmax_finds_the_first_maximum_at_every_place(void **state) {
  (void)state;
  static float x[1200];
  for (int n = 1; n < 1200; n += 13) {
    for (int at = 0; at < n; at += 7) {
      for (int i = 0; i < n; i++) x[i] = -1;
      x[at] = x[n - 1] = 2;
      assert_int_equal(cel_argmax(x, n), at);
    }
  }
}

static void a_draw_depends_on_seed_and_number_alone(void **state) {
  (void)state;
  float x[50];
  for (int i = 0; i < 50; i++) x[i] = sinf((float)i * 1.7f) * 2;
  fixture *f = make(x, 50);
  f->s.seed = 42;
  int32_t first[100];
  for (int i = 0; i < 100; i++) first[i] = pick(f, (uint64_t)i);
  for (int i = 99; i >= 0; i--) assert_int_equal(pick(f, (uint64_t)i), first[i]);
  f->s.seed = 43;
  int same = 0;
  for (int i = 0; i < 100; i++) same += pick(f, (uint64_t)i) == first[i];
  assert_true(same < 30);
  free(f);
}

static void draws_follow_the_probabilities(void **state) {
  (void)state;
  fixture *f = four();
  int count[4] = {0};
  for (int i = 0; i < 20000; i++) count[pick(f, (uint64_t)i)]++;
  const double want[] = {.5, .25, .15, .1};
  for (int i = 0; i < 4; i++) assert_true(fabs(count[i] / 20000.0 - want[i]) < .012);  // over 3 deviations
  free(f);
}

static void logprobs_are_of_the_raw_logits(void **state) {
  (void)state;
  fixture *f = four();
  cel_logit_bias bias[] = {{0, -INFINITY}};
  f->s.bias = bias, f->s.n_bias = 1, f->s.temperature = 0, f->s.n_logprobs = 3;
  assert_int_equal(pick(f, 0), 1);
  assert_true(fabsf(f->logprob - logf(.25f)) < 1e-5f);
  assert_int_equal(f->top[0].id, 0);
  assert_int_equal(f->top[2].id, 2);
  assert_true(fabsf(f->top[0].logprob - logf(.5f)) < 1e-5f);
  f->s.n_logprobs = 4;
  pick(f, 0);
  assert_int_equal(f->top[3].id, 3);
  f->s.n_logprobs = 5;
  pick(f, 0);
  assert_int_equal(f->status, CEL_INVALID);
  free(f);
}

// Every truncation against sorting everything, on many shapes.
static void truncation_in_a_large_vocabulary_equals_full_sorting(void **state) {
  (void)state;
  static float x[MAX_VOCAB], sorted[MAX_VOCAB];
  for (int round = 0; round < 20; round++) {
    for (int i = 0; i < MAX_VOCAB; i++) {
      x[i] = (float)(cel_uniform(7, (uint64_t)(round * MAX_VOCAB + i)) * (1 + round));
    }
    memcpy(sorted, x, sizeof x);
    for (int i = 1; i < MAX_VOCAB; i++) {
      float v = sorted[i];
      int j = i;
      while (j > 0 && sorted[j - 1] < v) sorted[j] = sorted[j - 1], j--;
      sorted[j] = v;
    }
    double z = 0, sum = 0;
    for (int i = 0; i < MAX_VOCAB; i++) z += exp((double)(sorted[i] - sorted[0]));
    int keep = 0;
    while (sum < .9 * z) sum += exp((double)(sorted[keep++] - sorted[0]));
    fixture *f = make(x, MAX_VOCAB);
    f->s.temperature = 50;  // nearly uniform over what is left
    f->s.top_p = .9f;
    int64_t lowest_rank = 0;
    for (int i = 0; i < 400; i++) {
      float v = x[pick(f, (uint64_t)i)];
      int64_t rank = 0;
      while (sorted[rank] > v) rank++;
      if (rank > lowest_rank) lowest_rank = rank;
    }
    assert_true(lowest_rank <= keep);
    assert_true(lowest_rank > keep / 2);
    free(f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(top_p_keeps_the_shortest_head_that_reaches_it),
      cmocka_unit_test(min_p_is_relative_to_the_largest),
      cmocka_unit_test(top_k_zero_or_less_is_off_and_one_is_greedy),
      cmocka_unit_test(tiny_temperature_is_greedy),
      cmocka_unit_test(typical_p_keeps_what_surprises_as_much_as_the_mean),
      cmocka_unit_test(top_n_sigma_cuts_in_units_of_deviation),
      cmocka_unit_test(xtc_leaves_the_least_likely_of_the_likely),
      cmocka_unit_test(penalties_mind_sign_prompt_and_counts),
      cmocka_unit_test(penalties_ignore_ids_outside_the_vocabulary),
      cmocka_unit_test(step_by_step_equals_the_chain_in_a_large_vocabulary),
      cmocka_unit_test(dry_punishes_what_lengthens_a_repetition),
      cmocka_unit_test(dry_stays_finite_on_long_runs),
      cmocka_unit_test(bias_adds_and_bans),
      cmocka_unit_test(banning_everything_is_an_error),
      cmocka_unit_test(non_finite_logits_are_an_engine_failure),
      cmocka_unit_test(masked_logits_are_never_drawn),
      cmocka_unit_test(ties_go_to_the_lowest_id),
      cmocka_unit_test(argmax_finds_the_first_maximum_at_every_place),
      cmocka_unit_test(a_draw_depends_on_seed_and_number_alone),
      cmocka_unit_test(draws_follow_the_probabilities),
      cmocka_unit_test(logprobs_are_of_the_raw_logits),
      cmocka_unit_test(truncation_in_a_large_vocabulary_equals_full_sorting),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
