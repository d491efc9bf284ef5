// Templates that would take all time, stack or memory end with an error, soon and cheaply; errors say where.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "text/template/template.h"

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static cel_status render(const char *source, const char *variables, const cel_template_limits *limits, cel_buf *out, cel_err *err) {
  cel_template *t = NULL;
  cel_json *v = NULL;
  assert_int_equal(cel_json_parse(cel_str_of(variables), "variables", &v, err), CEL_OK);
  cel_status s = cel_template_compile(cel_str_of(source), "chat", &t, err);
  if (s == CEL_OK) s = cel_template_render(t, v, limits, out, err);
  cel_template_free(t);
  cel_json_decref(v);
  return s;
}

// Fails with `status`, its text holding `word`.
static void fails(const char *source, cel_status status, const char *word) {
  cel_buf out = {0};
  cel_err err = {0};
  cel_status s = render(source, "{}", NULL, &out, &err);
  if (s != status || !strstr(err.text, word)) fail_msg("%.80s: status %d, %s", source, s, err.text);
  assert_int_equal(out.n, 0);
  cel_buf_deinit(&out);
}

#if defined(CEL_TEST_EMULATED)
static const double limit_s = 40;
#else
static const double limit_s = 5;  // with sanitizers
#endif

static void hostile_templates_end_in_a_second(void **state) {
  (void)state;
  static const char *const hostile[] = {
      "{% macro x() %}{{ x() }}{% endmacro %}{{ x() }}",
      "{% for i in range(1000000000) %}x{% endfor %}",
      "{% for a in range(3000) %}{% for b in range(3000) %}{% for c in range(3000) %}{% for d in range(3000) %}{% endfor %}{% endfor %}{% endfor %}{% endfor %}",
      "{{ 'a' * 10000000000 }}",
      "{{ ['a'] * 10000000000 }}",
      "{% set ns = namespace(s='ab') %}{% for i in range(99999) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
      "{% set ns = namespace(s=[1]) %}{% for i in range(99999) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
      "{% set ns = namespace(s=[]) %}{% for i in range(99999) %}{% set ns.s = [ns.s] %}{% endfor %}{{ ns.s }}",
      "{% set ns = namespace(s=[]) %}{% for i in range(99999) %}{% set ns.s = [ns.s] %}{% endfor %}{{ ns.s == [ns.s] }}{{ ns.s|tojson }}",
      "{% set b = 'a' * 9000000 %}{% for i in range(99999) %}{{ b|length }}{{ 'b' in b }}{{ b.count('ab') }}{% endfor %}",
      "{% set b = 'a' * 1000000 %}{{ (b ~ 'b') in (b * 8) }}{{ b.replace('', b) }}",
      "{% for i in range(99999) %}{% for j in range(99999) %}{{ 'x' * 1000 }}{% endfor %}{% endfor %}",
      "{% macro a(n) %}{% call a(n) %}{% endcall %}{% endmacro %}{{ a(1) }}",
      "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
      "{{ 'x'.center(99999999999) }}",
      "{{ '%99999999999d' % 1 }}",
      "{{ '{:99999999999}'.format(1) }}",
      "{% set ns = namespace(x=1) %}{% set ns.x = ns %}{{ ns }}",
      "{% set ns = namespace(n=2) %}{% for i in range(99) %}{% set ns.n = ns.n * ns.n %}{% endfor %}",
      "{% for i in range(99999) %}{% set s %}{{ 'x' * 100000 }}{% endset %}{% endfor %}",
      "{{ [1]|map('map', 'map', 'map')|list }}{% for i in range(99999) %}{{ range(99999)|list }}{% endfor %}",
  };
  for (int i = 0; i < CEL_COUNT(hostile); i++) {
    cel_buf out = {0};
    cel_err err = {0};
    double start = now();
    cel_status s = render(hostile[i], "{}", NULL, &out, &err);
    double took = now() - start;
    if (s == CEL_OK || !err.text[0]) fail_msg("accepted: %s", hostile[i]);
    if (took > limit_s) fail_msg("%.1f s (1 s without sanitizers is right): %s", took, hostile[i]);
    cel_buf_deinit(&out);
  }
}

static char *repeated(const char *head, const char *unit, int n, const char *tail) {
  size_t u = strlen(unit);
  char *s = malloc(strlen(head) + u * (size_t)n + strlen(tail) + 1), *p = s;
  assert_non_null(s);
  p += sprintf(p, "%s", head);
  for (int i = 0; i < n; i++) memcpy(p, unit, u), p += u;
  strcpy(p, tail);
  return s;
}

static void deep_nesting_is_an_error_and_no_overflow(void **state) {
  (void)state;
  static const struct {
    const char *head, *unit, *tail;
  } deep[] = {{"{{ ", "(", " }}"},        {"{{ ", "[", " }}"},          {"{{ ", "-", "1 }}"},       {"{{ ", "not ", "1 }}"},
              {"", "{% if 1 %}", ""},     {"{{ 1", " if 1 else 2", " }}"}, {"{{ 1", " ** 2", " }}"},   {"{{ a", ".b", " }}"},
              {"{{ 1", "+1", " }}"},      {"{{ 'a'", "|upper", " }}"},  {"{{ 1", " is odd", " }}"}, {"", "{% for a in b %}", ""},
              {"{{ f", "(1)", " }}"},     {"{{ a", "[0]", " }}"},       {"{{ ", "{1:", " }}"},      {"{% filter upper", "|upper", "%}{% endfilter %}"}};
  for (int i = 0; i < CEL_COUNT(deep); i++) {
    char *s = repeated(deep[i].head, deep[i].unit, 5000, deep[i].tail);
    cel_buf out = {0};
    cel_err err = {0};
    assert_int_not_equal(render(s, "{}", NULL, &out, &err), CEL_OK);
    assert_true(err.text[0] != 0);
    cel_buf_deinit(&out);
    free(s);
  }
}

static void limits_are_the_callers(void **state) {
  (void)state;
  cel_err err = {0};
  cel_buf out = {0};
  cel_template_limits l = cel_template_default_limits;
  l.output_bytes = 10;
  assert_int_equal(render("0123456789", "{}", &l, &out, &err), CEL_OK);
  assert_int_equal(out.n, 10);
  cel_buf_clear(&out);
  assert_int_equal(render("0123456789a", "{}", &l, &out, &err), CEL_TOO_LONG);
  l = cel_template_default_limits, l.steps = 50;
  assert_int_equal(render("{% for i in range(100) %}{% endfor %}", "{}", &l, &out, &err), CEL_TOO_LONG);
  assert_non_null(strstr(err.text, "50 steps"));
  l = cel_template_default_limits, l.depth = 6;
  assert_int_equal(render("{{ ((1 + 2) * 3 + 4) * 5 + 6 }}", "{}", &l, &out, &err), CEL_TOO_LONG);
  l = cel_template_default_limits, l.memory_bytes = 20000;
  assert_int_equal(render("{{ range(10000)|list }}", "{}", &l, &out, &err), CEL_TOO_LONG);
  cel_buf_deinit(&out);
}

static void errors_say_where(void **state) {
  (void)state;
  fails("ab\n  {{ x +  }}", CEL_MALFORMED, "chat:2:11: ");
  fails("ab\n\n{{ 1 }} {{ none.a.b }}", CEL_MALFORMED, "chat:3:");
  fails("{% if x %}", CEL_MALFORMED, "\"elif\" is missing");
  fails("{{ x|nope }}", CEL_MALFORMED, "no filter \"nope\"");
  fails("{{ x.y }}", CEL_MALFORMED, "\"x\" is undefined");
  fails("{{ 'a }}", CEL_MALFORMED, "chat:1:4: this string has no end");
  fails("\xff", CEL_MALFORMED, "UTF-8");
  fails("{{ 9223372036854775807 + 1 }}", CEL_TOO_LONG, "64 bits");
  fails("{{ 99999999999999999999 }}", CEL_MALFORMED, "64 bits");
}

static void raise_exception_gives_the_templates_own_message(void **state) {
  (void)state;
  cel_err err = {0};
  cel_buf out = {0};
  const char *t = "{% if messages[0].role!='user' %}{{ raise_exception('Roles must alternate') }}{% endif %}ok";
  assert_int_equal(render(t, "{\"messages\": [{\"role\": \"system\"}]}", NULL, &out, &err), CEL_INVALID);
  assert_string_equal(err.text, "Roles must alternate");
  assert_int_equal(out.n, 0);
  assert_int_equal(render(t, "{\"messages\": [{\"role\": \"user\"}]}", NULL, &out, &err), CEL_OK);
  assert_string_equal(out.p, "ok");
  cel_buf_deinit(&out);
}

static void the_sandbox_is_closed(void **state) {
  (void)state;
  fails("{{ ''.__class__ }}", CEL_MALFORMED, "unsafe");
  fails("{{ ''['__class__'] }}", CEL_MALFORMED, "unsafe");
  fails("{{ ''|attr('__class__') }}", CEL_MALFORMED, "unsafe");
  fails("{{ [1]|map(attribute='__class__')|list }}", CEL_MALFORMED, "unsafe");
  fails("{{ '{0.__class__}'.format('') }}", CEL_MALFORMED, "unsafe");
  fails("{{ [].append(1) }}", CEL_MALFORMED, "changes its value");
  fails("{{ {}.update({}) }}", CEL_MALFORMED, "changes its value");
  fails("{{ lipsum() }}", CEL_MALFORMED, "lipsum");
  fails("{{ [1]|random }}", CEL_MALFORMED, "random");
  fails("{% include 'x' %}", CEL_MALFORMED, "other templates");
}

static void strftime_now_writes_the_date(void **state) {
  (void)state;
  cel_err err = {0};
  cel_buf out = {0};
  assert_int_equal(render("{{ strftime_now('%Y-%m-%d é %%') }}", "{}", NULL, &out, &err), CEL_OK);
  assert_int_equal(out.n, strlen("2026-01-01 é %"));
  assert_true(out.p[4] == '-' && out.p[7] == '-' && out.p[0] == '2');
  cel_buf_deinit(&out);
}

static void output_is_appended_and_a_template_renders_again(void **state) {
  (void)state;
  cel_template *t;
  cel_err err = {0};
  cel_buf out = {0};
  cel_json *v = cel_json_pack("{s:i}", "x", 7);
  assert_int_equal(cel_template_compile(CEL_STR("<{{ x }}{{ y }}>"), "t", &t, &err), CEL_OK);
  assert_int_equal(cel_template_render(t, v, NULL, &out, &err), CEL_OK);
  assert_int_equal(cel_template_render(t, NULL, NULL, &out, &err), CEL_OK);
  assert_string_equal(out.p, "<7><>");
  cel_json_decref(v);
  v = cel_json_array();
  assert_int_equal(cel_template_render(t, v, NULL, &out, &err), CEL_INVALID);
  cel_json_decref(v);
  cel_template_free(t);
  cel_template_free(NULL);
  cel_buf_deinit(&out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hostile_templates_end_in_a_second),
      cmocka_unit_test(deep_nesting_is_an_error_and_no_overflow),
      cmocka_unit_test(limits_are_the_callers),
      cmocka_unit_test(errors_say_where),
      cmocka_unit_test(raise_exception_gives_the_templates_own_message),
      cmocka_unit_test(the_sandbox_is_closed),
      cmocka_unit_test(strftime_now_writes_the_date),
      cmocka_unit_test(output_is_appended_and_a_template_renders_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
