// The table of environment variables: what is accepted, what a refusal says, what is never shown.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/env.h"

static void checks_accept_what_they_say(void **state) {
  (void)state;
  static const struct {
    const char *check, *value;
    bool accepted;
  } rows[] = {
      {"", "anything", true},        {"secret", "x", true},         {"a|b:*", "a", true},          {"a|b:*", "b:/p/q.so", true},
      {"a|b:*", "b", false},         {"a|b:*", "A", false},         {"a|b:*", "", false},          {"a|b:*", "aa", false},
      {"int 1 10", "1", true},       {"int 1 10", "10", true},      {"int 1 10", "0", false},      {"int 1 10", "11", false},
      {"int 1 10", "-1", false},     {"int 1 10", "+1", false},     {"int 1 10", " 1", false},     {"int 1 10", "1x", false},
      {"int 1 10", "1.0", false},    {"int 1 10", "99999999999999999999", false},
      {"ints 1 9 3", "1", true},     {"ints 1 9 3", "3,1,2,3", true}, {"ints 1 9 3", "1,2,3,4", false}, {"ints 1 9 3", "", false},
      {"ints 1 9 3", ",", false},    {"ints 1 9 3", "1,", false},   {"ints 1 9 3", "0", false},    {"ints 1 9 3", "1,10", false},
      {"size", "0", true},           {"size", "4G", true},          {"size", "4g", true},          {"size", "4GB", false},
      {"size", "G", false},          {"size", "-1", false},         {"size", "9223372036854775807T", false},
      {"switch", "on", true},        {"switch", "ON", true},        {"switch", "0", true},         {"switch", "perhaps", false},
  };
  for (int i = 0; i < CEL_COUNT(rows); i++) {
    if (cel_env_accepts(rows[i].check, rows[i].value) == rows[i].accepted) continue;
    fail_msg("%s: \"%s\"", rows[i].check, rows[i].value);
  }
}

static void a_refusal_names_variable_value_and_set(void **state) {
  (void)state;
  cel_err err = {0};
  assert_int_equal(cel_env_check(&err), CEL_OK);
  setenv("HF_HUB_DOWNLOAD_TIMEOUT", "soon", 1);
  assert_int_equal(cel_env_check(&err), CEL_INVALID);
  assert_string_equal(err.text, "HF_HUB_DOWNLOAD_TIMEOUT=soon: accepted is a whole number from 1 to 3600");
  int64_t n = 7;
  assert_int_equal(cel_env_integer(CEL_ENV_HF_HUB_DOWNLOAD_TIMEOUT, 1, &n, &err), CEL_INVALID);
  setenv("HF_HUB_DOWNLOAD_TIMEOUT", "30", 1);
  assert_int_equal(cel_env_integer(CEL_ENV_HF_HUB_DOWNLOAD_TIMEOUT, 1, &n, &err), CEL_OK);
  assert_int_equal(n, 30);
  setenv("HF_HUB_DOWNLOAD_TIMEOUT", "", 1);
  assert_int_equal(cel_env_integer(CEL_ENV_HF_HUB_DOWNLOAD_TIMEOUT, 1, &n, &err), CEL_OK);
  assert_int_equal(n, 1);
  unsetenv("HF_HUB_DOWNLOAD_TIMEOUT");
  setenv("MLXCEL_CPU", "fast", 1);
  assert_int_equal(cel_env_check(&err), CEL_INVALID);
  assert_string_equal(err.text, "MLXCEL_CPU=fast: accepted are scalar, avx2, avx512, vnni, neon, dotprod, i8mm");
  unsetenv("MLXCEL_CPU");
}

static void switches_and_defaults(void **state) {
  (void)state;
  cel_err err = {0};
  bool on = true;
  unsetenv("LLAMA_ARG_OFFLINE");
  assert_int_equal(cel_env_switch(CEL_ENV_LLAMA_ARG_OFFLINE, false, &on, &err), CEL_OK);
  assert_false(on);
  setenv("LLAMA_ARG_OFFLINE", "Yes", 1);
  assert_int_equal(cel_env_switch(CEL_ENV_LLAMA_ARG_OFFLINE, false, &on, &err), CEL_OK);
  assert_true(on);
  unsetenv("LLAMA_ARG_OFFLINE");
  assert_null(cel_env(CEL_ENV_LLAMA_ARG_OFFLINE));
  assert_string_equal(cel_env_or(CEL_ENV_LLAMA_ARG_OFFLINE, "off"), "off");
}

static void secrets_are_not_shown(void **state) {
  (void)state;
  setenv("HF_TOKEN", "hf_secret", 1);
  assert_string_equal(cel_env(CEL_ENV_HF_TOKEN), "hf_secret");
  assert_string_equal(cel_env_shown(CEL_ENV_HF_TOKEN), "(set)");
  unsetenv("HF_TOKEN");
  assert_null(cel_env_shown(CEL_ENV_HF_TOKEN));
}

// Every row of this build that has a closed set refuses a word that none can have.
static void every_closed_set_refuses(void **state) {
  (void)state;
  int closed = 0;
  for (int i = 0; i < CEL_ENV_COUNT; i++) {
    const cel_env_row *r = &cel_env_rows[i];
    cel_err err = {0};
    assert_true(*r->name && *r->accepted && *r->unset && *r->read && *r->meaning);
    if (!*r->check || !strcmp(r->check, "secret")) continue;
    closed++;
    const char *old = getenv(r->name);
    char *kept = old ? strdup(old) : NULL;
    setenv(r->name, "no such value", 1);
    assert_int_equal(cel_env_check(&err), CEL_INVALID);
    if (!strstr(err.text, r->name) || !strstr(err.text, "=no such value: accepted ") || !strstr(err.text, r->accepted)) fail_msg("%s", err.text);
    if (kept) setenv(r->name, kept, 1);
    else unsetenv(r->name);
    free(kept);
  }
  assert_true(closed >= 4);
#ifdef CEL_WITH_XLA
  assert_true(closed >= 8);
#else
  for (int i = 0; i < CEL_ENV_COUNT; i++) assert_null(strstr(cel_env_rows[i].name, "MLXCEL_XLA"));
#endif
}

static void a_name_that_is_none_is_refused(void **state) {
  (void)state;
  cel_err err = {0};
  setenv("MLXCEL_TEST_SOMETHING", "1", 1);  // no switch of a backend
  assert_int_equal(cel_env_check(&err), CEL_OK);
  unsetenv("MLXCEL_TEST_SOMETHING");
  setenv("MLXCEL_XLA_DEVICES", "2", 1);
#ifdef CEL_WITH_XLA
  assert_int_equal(cel_env_check(&err), CEL_INVALID);
  assert_string_equal(err.text, "MLXCEL_XLA_DEVICES: there is no such variable; mlxcel env lists those there are");
  setenv("MLXCEL_XLA_DEVICES", "", 1);
#endif
  assert_int_equal(cel_env_check(&err), CEL_OK);
  unsetenv("MLXCEL_XLA_DEVICES");
  setenv("MLXCEL_MLX_DEVICE", "cpu", 1);  // of another build, perhaps
  assert_int_equal(cel_env_check(&err), CEL_OK);
  unsetenv("MLXCEL_MLX_DEVICE");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(checks_accept_what_they_say), cmocka_unit_test(a_refusal_names_variable_value_and_set),
                                     cmocka_unit_test(switches_and_defaults), cmocka_unit_test(secrets_are_not_shown),
                                     cmocka_unit_test(every_closed_set_refuses),
                                     cmocka_unit_test(a_name_that_is_none_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
