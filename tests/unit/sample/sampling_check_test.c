// Ranges of the sampling settings, and the generator's published answers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "sample/philox.h"
#include "sample/sample.h"

static void defaults_are_allowed(void **state) {
  (void)state;
  cel_sampling s;
  cel_err err;
  cel_sampling_init(&s);
  assert_int_equal(cel_sampling_check(&s, &err), CEL_OK);
  assert_true(s.temperature == 1 && s.top_p == 1 && s.top_k == 0);
}

static void refused(cel_sampling s, const char *name) {
  cel_err err;
  assert_int_equal(cel_sampling_check(&s, &err), CEL_INVALID);
  if (!strstr(err.text, name) || !strstr(err.text, "allowed")) fail_msg("%s: %s", name, err.text);
}

static void bad_values_are_refused_by_name(void **state) {
  (void)state;
  cel_sampling d;
  cel_sampling_init(&d);
#define REFUSE(field, bad)   \
  do {                       \
    cel_sampling s = d;      \
    s.field = (bad);         \
    refused(s, #field);      \
  } while (0)
  REFUSE(temperature, -1);
  REFUSE(temperature, NAN);
  REFUSE(temperature, INFINITY);
  REFUSE(top_p, 2);
  REFUSE(top_p, 0);
  REFUSE(top_p, NAN);
  REFUSE(min_p, -.1f);
  REFUSE(min_p, 1.1f);
  REFUSE(typical_p, 0);
  REFUSE(typical_p, NAN);
  REFUSE(top_n_sigma, NAN);
  REFUSE(xtc_probability, 1.5f);
  REFUSE(xtc_threshold, -1);
  REFUSE(repetition_penalty, 0);
  REFUSE(repetition_penalty, -1);
  REFUSE(repetition_penalty, NAN);
  REFUSE(frequency_penalty, INFINITY);
  REFUSE(presence_penalty, NAN);
  REFUSE(penalty_last_n, -2);
  REFUSE(dry_multiplier, -1);
  REFUSE(dry_base, .5f);
  REFUSE(dry_allowed_length, 0);
  REFUSE(dry_last_n, -2);
  REFUSE(n_logprobs, -2);
#undef REFUSE
}

static void bad_bias_is_refused(void **state) {
  (void)state;
  cel_sampling s;
  cel_err err;
  cel_sampling_init(&s);
  const cel_logit_bias bad[] = {{-1, 0}, {3, INFINITY}, {3, NAN}, {3, 1e30f}};
  for (int i = 0; i < 4; i++) {
    s.bias = &bad[i], s.n_bias = 1;
    assert_int_equal(cel_sampling_check(&s, &err), CEL_INVALID);
    assert_non_null(strstr(err.text, "logit_bias"));
  }
  const cel_logit_bias ban = {3, -INFINITY};
  s.bias = &ban;
  assert_int_equal(cel_sampling_check(&s, &err), CEL_OK);
}

static void philox_gives_the_published_answers(void **state) {
  (void)state;
  static const struct {
    uint32_t counter[4], key[2], want[4];
  } known[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (int i = 0; i < 3; i++) {
    uint32_t got[4];
    cel_philox4x32(known[i].counter, known[i].key, got);
    assert_memory_equal(got, known[i].want, sizeof got);
  }
}

static void uniform_is_made_of_the_first_53_bits(void **state) {
  (void)state;
  assert_true(cel_uniform(0, 0) == (double)(0x6627e8d5e169c58d >> 11) / 9007199254740992.0);
  double sum = 0;
  for (uint64_t i = 0; i < 10000; i++) {
    double u = cel_uniform(123, i);
    assert_true(u >= 0 && u < 1);
    sum += u;
  }
  assert_true(fabs(sum / 10000 - .5) < .01);
  assert_true(cel_uniform(1, 5) != cel_uniform(2, 5) && cel_uniform(1, 5) != cel_uniform(1, 5 + (1ull << 32)));
  assert_true(cel_uniform_of(1, 5, CEL_STREAM_XTC) != cel_uniform(1, 5));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(defaults_are_allowed),
      cmocka_unit_test(bad_values_are_refused_by_name),
      cmocka_unit_test(bad_bias_is_refused),
      cmocka_unit_test(philox_gives_the_published_answers),
      cmocka_unit_test(uniform_is_made_of_the_first_53_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
