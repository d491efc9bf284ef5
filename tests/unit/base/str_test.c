#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void views_compare_by_bytes(void **state) {
  (void)state;
  cel_str s = CEL_STR("model.layers");
  assert_true(cel_str_is(s, "model.layers") && !cel_str_is(s, "model") && !cel_str_is(s, "model.layerz"));
  assert_true(cel_str_starts(s, CEL_STR("model.")) && cel_str_starts(s, CEL_STR("")));
  assert_false(cel_str_starts(CEL_STR("mod"), CEL_STR("model")));
  assert_true(cel_str_ends(s, CEL_STR(".layers")) && !cel_str_ends(CEL_STR("s"), s));
  assert_true(cel_str_eq((cel_str){NULL, 0}, CEL_STR("")));
}

static void a_buffer_grows_and_stays_terminated(void **state) {
  (void)state;
  cel_buf b = {0};
  assert_string_equal(cel_buf_str(&b).p, "");
  for (int i = 0; i < 5000; i++) {
    cel_buf_printf(&b, "%d,", i % 10);
    assert_int_equal(b.p[b.n], 0);
  }
  assert_int_equal(b.n, 10000);
  cel_buf_addc(&b, 0);
  cel_buf_add(&b, NULL, 0);
  cel_buf_addz(&b, "end");
  assert_int_equal(b.n, 10004);
  assert_memory_equal(b.p + 9998, "9,\0end", 7);
  cel_buf_clear(&b);
  assert_int_equal(b.n, 0);
  assert_string_equal(b.p, "");
  cel_buf_deinit(&b);
}

static void a_failure_sticks(void **state) {
  (void)state;
  cel_buf b = {0};
  cel_buf_addz(&b, "kept");
  assert_false(cel_buf_reserve(&b, SIZE_MAX - 2));
  assert_true(b.failed);
  cel_buf_addz(&b, "lost");
  cel_buf_printf(&b, "%d", 1);
  assert_int_equal(b.n, 4);
  assert_null(cel_buf_take(&b));
  assert_false(b.failed);  // empty and usable again
  cel_buf_deinit(&b);
}

static void taking_gives_a_string_even_when_empty(void **state) {
  (void)state;
  cel_buf b = {0};
  char *p = cel_buf_take(&b);
  assert_string_equal(p, "");
  free(p);
  cel_buf_addz(&b, "x");
  p = cel_buf_take(&b);
  assert_string_equal(p, "x");
  assert_null(b.p);
  free(p);
}

static void every_code_point_survives_utf8(void **state) {
  (void)state;
  for (uint32_t cp = 0; cp <= 0x10FFFF; cp++) {
    char out[4];
    size_t i = 0, n = (size_t)cel_utf8_put(out, cp);
    bool surrogate = cp >= 0xD800 && cp <= 0xDFFF;
    uint32_t back = cel_utf8_next(out, n, &i);
    if (back != (surrogate ? 0xFFFD : cp) || i != n || !cel_utf8_valid(out, n)) fail_msg("U+%04X", cp);
    for (size_t part = 1; part < n; part++)
      if (cel_utf8_partial_tail(out, part) != part) fail_msg("U+%04X cut at %zu", cp, part);
    if (cel_utf8_partial_tail(out, n) != 0) fail_msg("U+%04X whole", cp);
  }
  char out[4];
  assert_int_equal(cel_utf8_put(out, 0x110000), 3);
  assert_memory_equal(out, "\xEF\xBF\xBD", 3);
}

// The maximal invalid parts of the Unicode standard's own examples (3.9, tables 3-8 to 3-11).
static void malformed_utf8_becomes_one_mark_per_maximal_part(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    int marks;
  } cases[] = {
    {"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82", 8}, {"\xED\xA0\x80\xED\xBF\xBF\xED\xAF", 8},
    {"\xF4\x91\x92\x93\xFF\x80\xBF", 7},     {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF", 4},
    {"\x80", 1},                             {"\xF8\x88\x80\x80\x80", 5},
  };
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    size_t n = strlen(cases[k].bytes);
    int marks = 0;
    assert_false(cel_utf8_valid(cases[k].bytes, n));
    for (size_t i = 0; i < n; marks++) assert_int_equal(cel_utf8_next(cases[k].bytes, n, &i), 0xFFFD);
    assert_int_equal(marks, cases[k].marks);
  }
}

static void impossible_tails_are_not_waited_for(void **state) {
  (void)state;
  assert_int_equal(cel_utf8_partial_tail("a\xE2\x82", 3), 2);
  assert_int_equal(cel_utf8_partial_tail("\xE0\x80", 2), 0);
  assert_int_equal(cel_utf8_partial_tail("\xED\xA0", 2), 0);
  assert_int_equal(cel_utf8_partial_tail("\xFF", 1), 0);
  assert_int_equal(cel_utf8_partial_tail("\x80\x80\x80\x80", 4), 0);
  assert_int_equal(cel_utf8_partial_tail("", 0), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(views_compare_by_bytes),
    cmocka_unit_test(a_buffer_grows_and_stays_terminated),
    cmocka_unit_test(a_failure_sticks),
    cmocka_unit_test(taking_gives_a_string_even_when_empty),
    cmocka_unit_test(every_code_point_survives_utf8),
    cmocka_unit_test(malformed_utf8_becomes_one_mark_per_maximal_part),
    cmocka_unit_test(impossible_tails_are_not_waited_for),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
