// Numbers in templates are Python's whatever locale the program around the library has set.
#define _XOPEN_SOURCE 700
#include "text/template/template.h"
#include "unit/comma_locale.h"
#include "unit/text/text_fixtures.h"

static void renders(const char *source, const char *want) {
  cel_template *t;
  cel_err err = {0};
  cel_buf out = {0};
  cel_json *variables = parse_json("{\"x\": 0.1, \"y\": 1e-7, \"n\": 1234567.5}");
  if (cel_template_compile(cel_str_of(source), "test", &t, &err) != CEL_OK) fail_msg("%s: %s", source, err.text);
  if (cel_template_render(t, variables, NULL, &out, &err) != CEL_OK) fail_msg("%s: %s", source, err.text);
  if (!cel_str_is(cel_buf_str(&out), want)) fail_msg("%s gives %s, right is %s", source, out.p ? out.p : "", want);
  cel_buf_deinit(&out);
  cel_template_free(t);
  cel_json_decref(variables);
}

static const struct { const char *source, *want; } rows[] = {
    {"{{ 1.5 }} {{ 1.25 + 1 }} {{ x }} {{ y }} {{ n }} {{ 1e300 }}", "1.5 2.25 0.1 1e-07 1234567.5 1e+300"},
    {"{{ 2.5e3 }} {{ 1_0.5 }}", "2500.0 10.5"},
    {"{{ '2.5'|float + 1 }} {{ '1e-3'|float }} {{ '2,5'|float }} {{ '.5'|float }} {{ '5.'|float }}", "3.5 0.001 0.0 0.5 5.0"},
    {"{{ 'inf'|float }} {{ '-Infinity'|float }} {{ 'nan'|float }} {{ 'infinit'|float }} {{ '1e999'|float }}", "inf -inf nan 0.0 inf"},
    {"{{ 2.675|round(2) }} {{ 1.25|round(1) }} {{ 7.5|int }}", "2.67 1.2 7"},
    {"{{ '%.2f|%e|%g|%5.1f%%'|format(3.14159, 12345.678, 0.0001, 50.0) }}", "3.14|1.234568e+04|0.0001| 50.0%"},
    {"{{ '{:.1f} {:e} {:g} {:.2%} {}'.format(2.25, 0.5, 1e20, 0.125, 0.5) }}", "2.2 5.000000e-01 1e+20 12.50% 0.5"},
    {"{{ 1500000|filesizeformat }} {{ 1e300|filesizeformat|length }}", "1.5 MB 281"},
    {"{{ {'a': 1.5, 'b': y}|tojson }}", "{\"a\": 1.5, \"b\": 1e-07}"},
    {"{{ [1.5, 'a'] }} {{ 1.5|string ~ x }}", "[1.5, 'a'] 1.50.1"},
};

static void numbers_are_pythons(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) renders(rows[i].source, rows[i].want);
}

static void the_locale_changes_nothing(void **state) {
  (void)state;
  if (!set_comma_locale()) skip();
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) renders(rows[i].source, rows[i].want);
  setlocale(LC_NUMERIC, "C");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_are_pythons), cmocka_unit_test(the_locale_changes_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
