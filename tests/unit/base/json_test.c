#define _XOPEN_SOURCE 700
#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/comma_locale.h"

#include <math.h>
#include <stdio.h>

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
  cel_json_decref(v);
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

// The grammar of RFC 8259, point for point.
static void the_grammar_is_strict(void **state) {
  (void)state;
  static const char *const good[] = {
      "null", " true\n", "\t\r\n false ", "0", "-0", "-1", "12", "0.5", "1e5", "1E+5", "1.25e-3", "\"\"", "[]", "{}", " [ ] ", "{ }",
      "[null]", "[[],{}]", "{\"a\":[1,{\"b\":{}}],\"c\":\"d\"}", "\"\\u0000\"", "\"\\ud83e\\udd99\"", "\"\x7F\"",
      "\"\xEF\xBF\xBD\"", "9223372036854775807", "-9223372036854775808", "1e308", "{\"\":1}", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
  };
  static const char *const bad[] = {
      " ", "nul", "nulll", "True", "+1", "01", "-", "-01", ".5", "1.", "1.e3", "1e", "1e+", "0x10", "1,", "NaN", "Infinity", "-Infinity",
      "'a'", "\"", "\"a", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12G4\"", "\"\\ud800\"", "\"\\ud800\\n\"", "\"\\ud800\\u0041\"",
      "\"\\udc00\"", "\"a\nb\"", "\"\t\"", "\"\x80\"", "\"\xC0\x80\"", "\"\xED\xA0\x80\"", "\"\xF4\x90\x80\x80\"", "\"\xE6\xAD\"", "[", "]", "[1",
      "[1,", "[,1]", "[1,]", "[1 2]", "[1}", "{", "}", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "{a:1}", "{1:1}", "{\"a\" 1}",
      "{\"a\":1]", "{\"a\":1 \"b\":2}", "{\"a\":1,\"a\":1}", "{\"a\":{\"b\":1,\"c\":2,\"b\":3}}", "{\"\\u0061\":1,\"a\":2}", "1 2",
      "[] []", "// c\n1", "\xEF\xBB\xBF{}", "9223372036854775808", "-9223372036854775809", "99999999999999999999", "1e309", "-1e999", "\f1",
  };
  for (int i = 0; i < CEL_COUNT(good); i++) cel_json_decref(parse(good[i]));
  for (int i = 0; i < CEL_COUNT(bad); i++) {
    cel_json *v = NULL;
    cel_err err = {0};
    if (cel_json_parse(cel_str_of(bad[i]), "t", &v, &err) != CEL_MALFORMED) fail_msg("accepted: %s", bad[i]);
    assert_null(v);
    assert_non_null(strstr(err.text, "t: not valid JSON at line "));
  }
}

static void a_fault_is_placed_by_line_and_character(void **state) {
  (void)state;
  static const struct { const char *text, *want; } cases[] = {
      {"[1,\n 2,\n  x]", "line 3, column 3: a value is expected"},
      {"{\"\xC3\xA9\xC3\xA9\": 01}", "line 1, column 8: a number with a leading zero"},
      {"{\"abc\": 1,\n \"abc\": 2}", "line 2, column 2: duplicate key \"abc\""},
      {"[\"ok\", \"a\xFF\"]", "line 1, column 10: a text that is not UTF-8"},
      {"", "line 1, column 1: the text ends where a value is expected"},
      {"[1", "line 1, column 3: ',' or ']' is expected"},
      {"{\"a\\u0000b\\u001f\":1,\"a\\u0000b\\u001f\":1}", "line 1, column 21: duplicate key \"a?b?\""},
  };
  for (int i = 0; i < CEL_COUNT(cases); i++) {
    cel_json *v;
    cel_err err = {0};
    assert_int_equal(cel_json_parse(cel_str_of(cases[i].text), "t", &v, &err), CEL_MALFORMED);
    if (!strstr(err.text, cases[i].want)) fail_msg("%s: %s", cases[i].text, err.text);
    assert_null(strchr(err.text, '\n'));
  }
}

static void a_nul_stays_inside_keys_and_texts(void **state) {
  (void)state;
  cel_json *v = parse("{\"\\u0000\": 1, \"a\\u0000b\": 2, \"a\\u0000c\": 3, \"a\": 4, \"t\": \"x\\u0000y\"}");
  assert_int_equal(cel_json_object_size(v), 5);
  assert_int_equal(cel_json_integer_value(cel_json_object_getn(v, "\0", 1)), 1);
  assert_int_equal(cel_json_integer_value(cel_json_object_getn(v, "a\0b", 3)), 2);
  assert_int_equal(cel_json_integer_value(cel_json_object_getn(v, "a\0c", 3)), 3);
  assert_int_equal(cel_json_int(v, "a", 0), 4);
  assert_true(cel_str_eq(cel_json_object_key(v, 1), CEL_STR("a\0b")));
  assert_int_equal(cel_json_string_length(cel_json_object_get(v, "t")), 3);
  assert_string_equal(cel_json_string(v, "t", "no C string"), "no C string");
  cel_json_decref(v);
}

// As many members as a vocabulary has: found, in order, and a second one of a name refused, wherever it stands.
static void large_objects_are_indexed(void **state) {
  (void)state;
  enum { N = 5000 };
  for (int twice = -1; twice < N; twice += twice < 20 ? 1 : 997) {
    cel_buf b = {0};
    cel_json *v = NULL;
    cel_err err = {0};
    for (int i = 0; i < N; i++) cel_buf_printf(&b, "%s\"k%d\":%d", i ? "," : "{", i, i);
    if (twice >= 0) cel_buf_printf(&b, ",\"k%d\":0", twice);
    cel_buf_addc(&b, '}');
    cel_status s = cel_json_parse(cel_buf_str(&b), "t", &v, &err);
    assert_int_equal(s, twice >= 0 ? CEL_MALFORMED : CEL_OK);
    for (int i = 0; v && i < N; i++) {
      char key[16];
      snprintf(key, sizeof key, "k%d", i);
      assert_int_equal(cel_json_int(v, key, -1), i);
      assert_true(cel_str_is(cel_json_object_key(v, (size_t)i), key));
    }
    assert_null(v ? cel_json_object_get(v, "k5000") : NULL);
    cel_json_decref(v);
    cel_buf_deinit(&b);
  }
}

static void decimal_numbers_are_rounded_right(void **state) {
  (void)state;
  static const char *const texts[] = {"0.1", "123456789012345678901234567890", "9007199254740993.0", "9007199254740992.99999999999999999",
                                      "2.2250738585072011e-308", "4.9406564584124654e-324", "2.4703282292062327e-324", "1.7976931348623157e308",
                                      "1e22", "1e23", "123456789e-30", "0.000000000000000000000000000001", "1e-400", "8.5", "100000000000000008.0",
                                      "3.14159265358979323846264338327950288419716939937510"};
  for (int i = 0; i < CEL_COUNT(texts); i++) {
    char text[80];
    snprintf(text, sizeof text, "%s%s", texts[i], strpbrk(texts[i], ".e") ? "" : ".0");
    cel_json *v = parse(text);
    assert_true(cel_json_is_real(v));
    assert_true(cel_json_real_value(v) == strtod(text, NULL));
    cel_json_decref(v);
  }
  unsigned x = 12345;
  for (int i = 0; i < 20000; i++) {
    char text[64];
    x = x * 1664525u + 1013904223u;
    int n = snprintf(text, sizeof text, "%s%u.%ue%d", x & 1 ? "-" : "", x >> (x >> 3) % 32, x >> 1, (int)(x >> 8) % 30 - 10);
    cel_json *v = NULL;
    assert_int_equal(cel_json_parse((cel_str){text, (size_t)n}, "t", &v, NULL), CEL_OK);
    assert_true(cel_json_real_value(v) == strtod(text, NULL));
    cel_json_decref(v);
  }
}

// A library lives in programs with locales of their own.
static void the_point_is_a_point_in_every_locale(void **state) {
  (void)state;
  if (!set_comma_locale()) skip();
  assert_string_equal(localeconv()->decimal_point, ",");
  cel_json *v = parse("[1.5, 2.2250738585072011e-308]");
  cel_buf b = {0};
  cel_json_write(&b, v, (cel_json_style){0});
  setlocale(LC_NUMERIC, "C");
  assert_string_equal(b.p, "[1.5,2.225073858507201e-308]");
  cel_buf_deinit(&b);
  cel_json_decref(v);
}

static void nesting_goes_to_its_limit(void **state) {
  (void)state;
  for (int object = 0; object < 2; object++) {
    for (int deep = CEL_JSON_DEPTH_MOST; deep <= CEL_JSON_DEPTH_MOST + 1; deep++) {
      cel_buf b = {0}, again = {0};
      cel_json *v = NULL, *copy;
      cel_err err = {0};
      for (int i = 0; i < deep; i++) cel_buf_addz(&b, object ? "{\"a\":" : "[");
      cel_buf_addz(&b, "7");
      for (int i = 0; i < deep; i++) cel_buf_addc(&b, object ? '}' : ']');
      cel_status s = cel_json_parse(cel_buf_str(&b), "t", &v, &err);
      assert_int_equal(s, deep > CEL_JSON_DEPTH_MOST ? CEL_MALFORMED : CEL_OK);
      if (v) {
        assert_non_null(copy = cel_json_deep_copy(v));
        assert_true(cel_json_equal(v, copy));
        cel_json_write(&again, copy, (cel_json_style){0});
        assert_true(cel_str_eq(cel_buf_str(&again), cel_buf_str(&b)));
        cel_json_decref(copy);
      } else {
        assert_non_null(strstr(err.text, "more than 1000"));
      }
      cel_json_decref(v);
      cel_buf_deinit(&b);
      cel_buf_deinit(&again);
    }
  }
}

static void values_are_built_and_shared_between_documents(void **state) {
  (void)state;
  cel_json *from = parse("{\"inner\": {\"deep\": [1, 2]}, \"s\": \"t\"}"), *to = cel_json_object(), *list = cel_json_array();
  assert_int_equal(cel_json_object_set(to, "a", cel_json_object_get(from, "inner")), 0);
  assert_int_equal(cel_json_object_set_new(to, "b", cel_json_incref(cel_json_object_get(from, "s"))), 0);
  cel_json_decref(from);  // what stands in `to` keeps it
  assert_int_equal(cel_json_integer_value(cel_json_array_get(cel_json_object_get(cel_json_object_get(to, "a"), "deep"), 1)), 2);
  assert_string_equal(cel_json_string(to, "b", ""), "t");
  assert_int_equal(cel_json_array_append_new(list, cel_json_incref(to)), 0);
  assert_int_equal(cel_json_array_append_new(list, cel_json_integer(INT64_MIN)), 0);
  assert_int_equal(cel_json_array_append_new(list, cel_json_null()), 0);
  cel_json_decref(to);
  assert_int_equal(cel_json_object_set_new(to, "b", cel_json_boolean(true)), 0);  // replaced in place
  assert_int_equal(cel_json_object_size(to), 2);
  cel_buf b = {0};
  cel_json_write(&b, list, (cel_json_style){0});
  assert_string_equal(b.p, "[{\"a\":{\"deep\":[1,2]},\"b\":true},-9223372036854775808,null]");
  assert_int_equal(cel_json_array_remove(list, 0), 0);
  assert_int_equal(cel_json_array_remove(list, 2), -1);
  assert_int_equal(cel_json_array_size(list), 2);
  assert_int_equal(cel_json_object_set(list, "k", cel_json_null()), -1);  // no object
  assert_int_equal(cel_json_object_setn(to, "\xFF", 1, cel_json_null()), -1);
  assert_int_equal(cel_json_object_set_new(to, "k", NULL), -1);
  assert_int_equal(cel_json_array_append_new(NULL, cel_json_integer(1)), -1);  // and the value is not lost
  assert_null(cel_json_real(NAN));
  assert_null(cel_json_string_new(CEL_STR("\xFF")));
  cel_json_decref(list);
  cel_buf_deinit(&b);
}

// Documents that hold documents, far deeper than a stack would take.
static void a_long_chain_of_documents_is_freed(void **state) {
  (void)state;
  cel_json *v = cel_json_array();
  for (int i = 0; i < 100000; i++) {
    cel_json *outer = cel_json_array();
    assert_int_equal(cel_json_array_append_new(outer, v), 0);
    v = outer;
  }
  cel_json_decref(v);
}

static void patterns_make_values(void **state) {
  (void)state;
  cel_json *v = cel_json_pack("{s:s, s:[i,I,b,f,n,{}], s:o, s:s%}", "a", "x", "b", -3, INT64_C(1) << 40, 1, 0.25, "c", cel_json_array(), "d",
                              "yz", (size_t)1);
  cel_buf b = {0};
  cel_json_write(&b, v, (cel_json_style){.indent = 1});
  assert_string_equal(b.p, "{\n \"a\": \"x\",\n \"b\": [\n  -3,\n  1099511627776,\n  true,\n  0.25,\n  null,\n  {}\n ],\n \"c\": [],\n \"d\": \"y\"\n}");
  assert_null(cel_json_pack("{s:s,s:o}", "a", "\xFF", "b", cel_json_array()));
  assert_null(cel_json_pack("[o,o]", NULL, cel_json_object()));
  cel_json_decref(v);
  cel_buf_deinit(&b);
}

static void what_is_written_reads_back_equal(void **state) {
  (void)state;
  cel_json *v = parse("{\"i\": 9223372036854775807, \"r\": 3.0, \"n\": -0.0, \"s\": \"\\u0000\\ud83e\\udd99\\\"\\\\\\n\", \"l\": [[], {}, [null, true, 1e-300]], \"x\": 0.1}");
  for (int i = 0; i < 4; i++) {
    cel_buf b = {0};
    cel_json *again = NULL;
    cel_json_write(&b, v, (cel_json_style){.indent = i & 2, .ascii = i & 1});
    assert_int_equal(cel_json_parse(cel_buf_str(&b), "t", &again, NULL), CEL_OK);
    assert_true(cel_json_equal(v, again));
    if (i & 1) assert_non_null(strstr(b.p, "\\ud83e\\udd99"));
    cel_json_decref(again);
    cel_buf_deinit(&b);
  }
  cel_json_decref(v);
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
    cel_json_decref(v);
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
    cmocka_unit_test(the_grammar_is_strict),
    cmocka_unit_test(a_fault_is_placed_by_line_and_character),
    cmocka_unit_test(a_nul_stays_inside_keys_and_texts),
    cmocka_unit_test(large_objects_are_indexed),
    cmocka_unit_test(decimal_numbers_are_rounded_right),
    cmocka_unit_test(the_point_is_a_point_in_every_locale),
    cmocka_unit_test(nesting_goes_to_its_limit),
    cmocka_unit_test(values_are_built_and_shared_between_documents),
    cmocka_unit_test(a_long_chain_of_documents_is_freed),
    cmocka_unit_test(patterns_make_values),
    cmocka_unit_test(what_is_written_reads_back_equal),
    cmocka_unit_test(endless_nesting_is_refused),
    cmocka_unit_test(strings_are_escaped_and_made_valid),
    cmocka_unit_test(numbers_read_back_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
