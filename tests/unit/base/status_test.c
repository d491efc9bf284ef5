// Messages are one line, whatever files put into them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/status.h"

static void what_a_file_says_stays_on_its_line(void **state) {
  (void)state;
  cel_err err = {0};
  assert_int_equal(cel_fail(&err, CEL_INVALID, "kind \"%s\" is not supported", "g\x02\n2\t\x1b[31m\x7f"), CEL_INVALID);
  assert_string_equal(err.text, "kind \"g? 2 ?[31m?\" is not supported");
  cel_err_prefix(&err, "%s", "a\nfile\r");
  assert_string_equal(err.text, "a file?: kind \"g? 2 ?[31m?\" is not supported");
}

static void letters_of_any_script_stay(void **state) {
  (void)state;
  cel_err err = {0};
  assert_int_equal(cel_fail(&err, CEL_NOT_FOUND, "%s", "\xE6\xAD\xAA \xC3\xA9 ~"), CEL_NOT_FOUND);
  assert_string_equal(err.text, "\xE6\xAD\xAA \xC3\xA9 ~");
}

static void long_ones_are_cut(void **state) {
  (void)state;
  cel_err err = {0};
  char text[2 * CEL_ERR_TEXT_BYTES];
  memset(text, '\n', sizeof text);
  text[sizeof text - 1] = 0;
  assert_int_equal(cel_fail(&err, CEL_IO, "%s", text), CEL_IO);
  assert_int_equal(strlen(err.text), CEL_ERR_TEXT_BYTES - 1);
  assert_null(strchr(err.text, '\n'));
  cel_err_prefix(&err, "%s", text);
  assert_true(strlen(err.text) < CEL_ERR_TEXT_BYTES);
  assert_null(strchr(err.text, '\n'));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(what_a_file_says_stays_on_its_line), cmocka_unit_test(letters_of_any_script_stay),
                                     cmocka_unit_test(long_ones_are_cut)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
