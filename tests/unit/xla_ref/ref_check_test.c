// Self-checking programs: our own in tests/hlo must all pass; failing and refused ones must be told apart.
// Two folders of StableHLO's own programs are run as well when CEL_STABLEHLO_PROGRAMS names them (separated by
// ':'): every program passes or is refused by name.
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/xla/engine/native/ref/check.h"
#include "base/file.h"
#include "unit/xla_ref/ref_kit.h"

typedef struct last {
  cel_check_outcome outcome;
  char where[512], text[1024];
} last;

static void remember(void *context, cel_check_outcome outcome, const char *where, const char *text) {
  last *l = context;
  l->outcome = outcome;
  snprintf(l->where, sizeof l->where, "%s", where);
  snprintf(l->text, sizeof l->text, "%s", text);
}

static cel_check_outcome check(const char *text, last *l) {
  cel_check_counts counts = {0};
  cel_err err = {0};
  *l = (last){0};
  assert_int_equal(cel_check_file(cel_str_of(text), "test", NULL, remember, l, &counts, &err), CEL_OK);
  assert_int_equal(counts.passed + counts.failed + counts.refused, 1);
  return l->outcome;
}

static void a_wrong_value_fails_with_place_and_both_values(void **state) {
  (void)state;
  last l;
  const char *text =
      "func.func @f() {\n"
      "  %0 = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>\n"
      "  check.expect_eq_const %0, dense<[[1, 2], [5, 4]]> : tensor<2x2xi32>\n"
      "  func.return\n"
      "}\n";
  assert_int_equal(check(text, &l), CEL_CHECK_FAILED);
  assert_non_null(strstr(l.where, "@f"));
  assert_non_null(strstr(l.text, "[1, 0] is 3, expected 5"));
}

static void units_in_the_last_place_are_counted(void **state) {
  (void)state;
  last l;
  const char *form =
      "func.func @f() {\n"
      "  %%0 = stablehlo.constant dense<1.0> : tensor<f32>\n"
      "  %%1 = stablehlo.constant dense<%s> : tensor<f32>\n"
      "  %s\n"
      "  func.return\n"
      "}\n";
  char text[1024];
  const char *close =
      "stablehlo.custom_call @check.expect_close(%0, %1) {has_side_effect = true} : (tensor<f32>, tensor<f32>) -> ()";
  snprintf(text, sizeof text, form, "0x3F800003", close);
  assert_int_equal(check(text, &l), CEL_CHECK_PASSED);
  snprintf(text, sizeof text, form, "0x3F800004", close);
  assert_int_equal(check(text, &l), CEL_CHECK_FAILED);
  snprintf(text, sizeof text, form, "0x7FC00000", close);
  assert_int_equal(check(text, &l), CEL_CHECK_FAILED);
  const char *two = "check.expect_close %0, %1, max_ulp_difference = 2 : tensor<f32>, tensor<f32>";
  snprintf(text, sizeof text, form, "0x3F800002", two);
  assert_int_equal(check(text, &l), CEL_CHECK_PASSED);
  snprintf(text, sizeof text, form, "0x3F800003", two);
  assert_int_equal(check(text, &l), CEL_CHECK_FAILED);
}

static void tolerances_are_absolute(void **state) {
  (void)state;
  last l;
  const char *form =
      "func.func @f() {\n"
      "  %%0 = stablehlo.constant dense<5.0> : tensor<f64>\n"
      "  check.expect_almost_eq_const %%0, dense<%s> : tensor<f64>%s\n"
      "  func.return\n"
      "}\n";
  char text[512];
  snprintf(text, sizeof text, form, "5.00009", "");
  assert_int_equal(check(text, &l), CEL_CHECK_PASSED);
  snprintf(text, sizeof text, form, "5.0002", "");
  assert_int_equal(check(text, &l), CEL_CHECK_FAILED);
  snprintf(text, sizeof text, form, "5.09", " {tolerance = 0.1 : f64}");
  assert_int_equal(check(text, &l), CEL_CHECK_PASSED);
}

static void what_is_not_known_is_refused_not_failed(void **state) {
  (void)state;
  last l;
  assert_int_equal(check("func.func @f() {\n"
                         "  %0 = stablehlo.constant dense<1.0> : tensor<f64>\n"
                         "  \"check.expect_smile\"(%0) : (tensor<f64>) -> ()\n"
                         "  func.return\n"
                         "}\n",
                         &l),
                   CEL_CHECK_REFUSED);
  assert_non_null(strstr(l.text, "check.expect_smile"));
  assert_int_equal(check("func.func @f(%a: tensor<f64>) {\n  func.return\n}\n", &l), CEL_CHECK_REFUSED);
  assert_int_equal(check("func.func @f( {\n", &l), CEL_CHECK_FAILED);
}

static void programs_of_one_file_are_run_one_by_one(void **state) {
  (void)state;
  cel_check_counts counts = {0};
  cel_err err = {0};
  last l;
  const char *text =
      "// only a comment\n"
      "// -----\n"
      "func.func @a() { func.return }\n"
      "func.func @b() { func.return }\n"
      "// -----\n"
      "\n"
      "func.func @c() { func.return }\n";
  assert_int_equal(cel_check_file(cel_str_of(text), "test", NULL, remember, &l, &counts, &err), CEL_OK);
  assert_int_equal(counts.passed, 3);
  assert_string_equal(l.where, "test:6 @c");
}

// ---- folders -----------------------------------------------------------------------------------

typedef struct walk {
  bool quiet;     // tell failures only
  bool disabled;  // the authors do not run this one
} walk;

static void print(void *context, cel_check_outcome outcome, const char *where, const char *text) {
  const walk *w = context;
  if (outcome == CEL_CHECK_FAILED || (outcome == CEL_CHECK_REFUSED && !w->quiet))
    printf("%s%s %s: %s\n", w->disabled ? "disabled by its authors, " : "",
           outcome == CEL_CHECK_FAILED ? "FAILED" : "refused", where, text);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

// The .mlir files of a folder in order of their names; the caller frees them and the list.
static char **list(const char *folder, int *n) {
  char **names = NULL;
  *n = 0;
  DIR *d = opendir(folder);
  for (struct dirent *e; d && (e = readdir(d));) {
    if (!cel_str_ends(cel_str_of(e->d_name), CEL_STR(".mlir"))) continue;
    names = realloc(names, (size_t)(*n + 1) * sizeof *names);
    assert_non_null(names);
    names[(*n)++] = strdup(e->d_name);
  }
  if (d) closedir(d);
  if (*n) qsort(names, (size_t)*n, sizeof *names, by_name);
  return names;
}

// Programs whose first line says that their authors do not run them ("RUN-DISABLED") are run, but counted apart.
static int run_folder(const char *folder, walk *w, cel_check_counts *counts, cel_check_counts *disabled) {
  int n;
  char **names = list(folder, &n);
  for (int i = 0; i < n; i++) {
    char path[1024], *text = NULL;
    int64_t bytes;
    cel_err err = {0};
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    assert_int_equal(cel_read_file(path, 64 << 20, &text, &bytes, &err), CEL_OK);
    w->disabled = strncmp(text, "// RUN-DISABLED", 15) == 0;
    cel_check_counts *to = w->disabled ? disabled : counts;
    assert_int_equal(cel_check_file((cel_str){text, (size_t)bytes}, names[i], NULL, print, w, to, &err), CEL_OK);
    free(text);
    free(names[i]);
  }
  free(names);
  return n;
}

static void our_own_programs_pass(void **state) {
  (void)state;
  walk w = {0};
  cel_check_counts counts = {0};
  int files = run_folder(CEL_TEST_DATA "/hlo", &w, &counts, &counts);
  printf("%d files: %d passed, %d failed, %d refused\n", files, (int)counts.passed, (int)counts.failed,
         (int)counts.refused);
  assert_true(files > 0 && counts.passed > 0);
  assert_int_equal(counts.failed, 0);
  assert_int_equal(counts.refused, 0);
}

// op.def, but for what every program has: functions, calls and returns.
static void every_operation_has_a_program_of_its_own(void **state) {
  (void)state;
  int n, missing = 0;
  char **names = list(CEL_TEST_DATA "/hlo", &n);
  cel_buf all = {0};
  for (int i = 0; i < n; i++) {
    char path[1024], *text = NULL;
    cel_err err = {0};
    snprintf(path, sizeof path, "%s/%s", CEL_TEST_DATA "/hlo", names[i]);
    assert_int_equal(cel_read_file(path, 1 << 20, &text, NULL, &err), CEL_OK);
    cel_buf_addz(&all, text);
    free(text);
    free(names[i]);
  }
  free(names);
  assert_false(all.failed || !all.p);
  for (int code = CEL_HLO_REGION_RETURN; code < CEL_HLO_FOREIGN; code++) {
    const char *name = cel_hlo_opcode_name((cel_hlo_opcode)code), *at = all.p;
    size_t length = strlen(name);
    while ((at = strstr(at, name)) && strchr("abcdefghijklmnopqrstuvwxyz_", at[length])) at += length;
    if (!at) printf("no program in tests/hlo has %s\n", name);
    missing += !at;
  }
  cel_buf_deinit(&all);
  assert_int_equal(missing, 0);
}

static void programs_of_the_specification_pass_or_are_refused(void **state) {
  (void)state;
  const char *folders = getenv("CEL_STABLEHLO_PROGRAMS");
  if (!folders) {
    printf("CEL_STABLEHLO_PROGRAMS names no folders of StableHLO programs\n");
    skip();
  }
  walk w = {.quiet = getenv("CEL_STABLEHLO_REFUSED") == NULL};
  cel_check_counts all = {0};
  char *copy = strdup(folders), *rest = copy;
  for (char *folder; (folder = strtok_r(rest, ":", &rest));) {
    cel_check_counts counts = {0}, disabled = {0};
    int files = run_folder(folder, &w, &counts, &disabled);
    printf("%s: %d files: %d passed, %d failed, %d refused; disabled by their authors: %d, %d, %d\n", folder, files,
           (int)counts.passed, (int)counts.failed, (int)counts.refused, (int)disabled.passed, (int)disabled.failed,
           (int)disabled.refused);
    assert_true(files > 0);
    all.passed += counts.passed;
    all.failed += counts.failed;
  }
  free(copy);
  assert_true(all.passed > 0);
  assert_int_equal(all.failed, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_wrong_value_fails_with_place_and_both_values),
      cmocka_unit_test(units_in_the_last_place_are_counted),
      cmocka_unit_test(tolerances_are_absolute),
      cmocka_unit_test(what_is_not_known_is_refused_not_failed),
      cmocka_unit_test(programs_of_one_file_are_run_one_by_one),
      cmocka_unit_test(our_own_programs_pass),
      cmocka_unit_test(every_operation_has_a_program_of_its_own),
      cmocka_unit_test(programs_of_the_specification_pass_or_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
