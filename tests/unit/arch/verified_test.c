// The table of what proves each family, against the folders of references and the list of families.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arch/verified.h"
#include "base/file.h"

static const char *folders_of(const cel_family *f) {
  const cel_verified *v = cel_verified_of(f);
  return v ? v->folders : "";
}

// Words of a list, one after another.
static bool next_word(const char **list, char *out, size_t n) {
  while (**list == ' ') (*list)++;
  size_t length = strcspn(*list, " ");
  if (length == 0) return false;
  assert_true(length < n);
  snprintf(out, n, "%.*s", (int)length, *list);
  *list += length;
  return true;
}

// The config of a folder, NULL for one that holds a GGUF file.
static cel_json *config_of(const char *folder) {
  char path[700];
  cel_err err = {0};
  cel_json *config = NULL;
  snprintf(path, sizeof path, "%s/data/oracle/%s/config.json", CEL_TEST_DATA, folder);
  if (!cel_is_file(path)) return NULL;
  if (cel_json_load(path, 1 << 20, &config, &err) != CEL_OK) fail_msg("%s", err.text);
  return config;
}

static void every_family_has_a_row_and_every_row_a_family(void **state) {
  (void)state;
  int n = 0;
  for (; cel_families[n]; n++) {
    const cel_verified *v = cel_verified_of(cel_families[n]);
    if (!v) fail_msg("%s: no row in verified.def", cel_families[n]->name);
    if (!v->folders[0] && !v->rests[0]) fail_msg("%s: no folder proves it, and no word says so", v->family);
  }
  int rows = 0;
  while (cel_verified_families[rows].family) rows++;
  assert_int_equal(rows, n);
}

static void each_folder_is_of_the_family_that_names_it(void **state) {
  (void)state;
  for (int i = 0; cel_families[i]; i++) {
    const char *list = folders_of(cel_families[i]);
    for (char folder[80]; next_word(&list, folder, sizeof folder);) {
      char path[700];
      snprintf(path, sizeof path, "%s/data/oracle/%s/oracle.json", CEL_TEST_DATA, folder);
      if (!cel_is_file(path)) fail_msg("%s: there is no %s", cel_families[i]->name, path);
      cel_json *config = config_of(folder);
      if (config && cel_arch_family_of(config) != cel_families[i]) fail_msg("%s is not of family %s", folder, cel_families[i]->name);
      cel_json_decref(config);
    }
  }
}

// What is named must be compared: a row of the table in tests/parity/families_test.c.
static void each_folder_is_run_by_the_parity_test(void **state) {
  (void)state;
  cel_err err = {0};
  char *source;
  if (cel_read_file(CEL_TEST_DATA "/parity/families_test.c", 1 << 20, &source, NULL, &err) != CEL_OK) fail_msg("%s", err.text);
  for (int i = 0; cel_families[i]; i++) {
    const char *list = folders_of(cel_families[i]);
    for (char folder[80], row[100]; next_word(&list, folder, sizeof folder);) {
      snprintf(row, sizeof row, "{\"%s\",", folder);
      if (!strstr(source, row)) fail_msg("verified.def names %s, and families_test.c has no row of it", folder);
    }
  }
  free(source);
}

static int times_named(const char *folder) {
  int n = 0;
  for (int i = 0; cel_families[i]; i++) {
    const char *list = folders_of(cel_families[i]);
    for (char word[80]; next_word(&list, word, sizeof word);) n += strcmp(word, folder) == 0;
  }
  return n;
}

static void each_folder_is_named_once(void **state) {
  (void)state;
  char path[600];
  int n = 0;
  snprintf(path, sizeof path, "%s/data/oracle", CEL_TEST_DATA);
  DIR *d = opendir(path);
  assert_non_null(d);
  for (struct dirent *f; (f = readdir(d));) {
    cel_json *config = f->d_name[0] == '.' ? NULL : config_of(f->d_name);
    if (!config) continue;
    if (cel_arch_family_of(config) && times_named(f->d_name) != 1) fail_msg("verified.def names %s %d times", f->d_name, times_named(f->d_name));
    n++;
    cel_json_decref(config);
  }
  closedir(d);
  assert_true(n > 40);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_family_has_a_row_and_every_row_a_family),
                                     cmocka_unit_test(each_folder_is_of_the_family_that_names_it),
                                     cmocka_unit_test(each_folder_is_run_by_the_parity_test),
                                     cmocka_unit_test(each_folder_is_named_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
