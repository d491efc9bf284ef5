#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

static cel_json *parse(const char *text) {
  cel_json *v = NULL;
  cel_err err;
  assert_int_equal(cel_json_parse(cel_str_of(text), "t.json", &v, &err), CEL_OK);
  return v;
}

static void lookups_give_the_value_or_the_default(void **state) {
  (void)state;
  cel_json *v = parse("{\"n\": 7, \"r\": 8.0, \"x\": 1.5, \"big\": 1e300, \"t\": true, \"s\": \"word\", \"z\": null}");
  assert_int_equal(cel_json_int(v, "n", -1), 7);
  assert_int_equal(cel_json_int(v, "r", -1), 8);
  assert_int_equal(cel_json_int(v, "x", -1), -1);
  assert_int_equal(cel_json_int(v, "big", -1), -1);
  assert_int_equal(cel_json_int(v, "s", -1), -1);
  assert_true(cel_json_num(v, "n", 0) == 7 && cel_json_num(v, "x", 0) == 1.5 && cel_json_num(v, "t", 3) == 3);
  assert_true(cel_json_bool(v, "t", false) && cel_json_bool(v, "n", true) && !cel_json_bool(v, "no", false));
  assert_string_equal(cel_json_string(v, "s", "-"), "word");
  assert_string_equal(cel_json_string(v, "n", "-"), "-");
  assert_null(cel_json_get(v, "z"));
  assert_null(cel_json_get(NULL, "z"));
  assert_int_equal(cel_json_int(NULL, "n", 5), 5);
  json_decref(v);
}

static void bad_text_names_file_and_place(void **state) {
  (void)state;
  static const char *const bad[] = {"", "{", "{\"a\": 1, \"a\": 2}", "[1, 2,]", "{\"a\": 01}", "nul", "[1] 2",
                                    "{\"a\":\n \"\xFF\"}", "[1e999]"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    cel_json *v = NULL;
    cel_err err;
    assert_int_equal(cel_json_parse(cel_str_of(bad[i]), "t.json", &v, &err), CEL_MALFORMED);
    assert_null(v);
    assert_non_null(strstr(err.text, "t.json"));
    assert_non_null(strstr(err.text, "line"));
  }
}

static void endless_nesting_is_refused(void **state) {
  (void)state;
  enum { DEEP = 200000 };
  char *text = malloc(DEEP);
  cel_json *v = NULL;
  cel_err err;
  assert_non_null(text);
  memset(text, '[', DEEP);
  assert_int_equal(cel_json_parse((cel_str){text, DEEP}, "t.json", &v, &err), CEL_MALFORMED);
  free(text);
}

static void strings_are_escaped_and_made_valid(void **state) {
  (void)state;
  cel_buf b = {0};
  cel_json_add_string(&b, CEL_STR("q\" b\\ \n\t\r\x01\0 \xC3\xA9 \xFF"));
  assert_string_equal(b.p, "\"q\\\" b\\\\ \\n\\t\\r\\u0001\\u0000 \xC3\xA9 \xEF\xBF\xBD\"");
  cel_buf_deinit(&b);
}

static void numbers_read_back_the_same(void **state) {
  (void)state;
  static const double values[] = {0, -0.0, 1, -1, 0.1, 1.0 / 3, 1e300, 5e-324, 123456789012345678.0, 1e21, 2.5};
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    cel_buf b = {0};
    cel_json_add_number(&b, values[i]);
    assert_true(strtod(b.p, NULL) == values[i]);
    cel_json *v = parse(b.p);  // and is valid JSON
    json_decref(v);
    cel_buf_deinit(&b);
  }
  cel_buf b = {0};
  cel_json_add_number(&b, NAN);
  cel_json_add_number(&b, -INFINITY);
  assert_string_equal(b.p, "nullnull");
  cel_buf_deinit(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(lookups_give_the_value_or_the_default),
    cmocka_unit_test(bad_text_names_file_and_place),
    cmocka_unit_test(endless_nesting_is_refused),
    cmocka_unit_test(strings_are_escaped_and_made_valid),
    cmocka_unit_test(numbers_read_back_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
