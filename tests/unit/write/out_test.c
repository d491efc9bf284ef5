// Outputs that are there whole or not at all.
#define _XOPEN_SOURCE 700
#include "unit/model/model_files.h"

#include <dirent.h>

#include "model/write/out.h"

static cel_out *begun(const folder *f, const char *name, bool is_folder, bool replace) {
  cel_err err = {0};
  cel_out *o;
  if (cel_out_begin(in_folder(f, name), is_folder, replace, &o, &err) != CEL_OK) fail_msg("%s", err.text);
  return o;
}

static void refuses(const folder *f, const char *name, bool is_folder, bool replace, cel_status status, const char *says) {
  cel_err err = {0};
  cel_out *o;
  assert_int_equal(cel_out_begin(in_folder(f, name), is_folder, replace, &o, &err), status);
  assert_null(o);
  assert_says(err.text, says, NULL);
}

static int count(const char *path) {
  int n = 0;
  DIR *d = opendir(path);
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d));) n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
  closedir(d);
  return n;
}

static void says(const char *path, const char *text) {
  char *got;
  assert_int_equal(cel_read_file(path, 1000, &got, NULL, NULL), CEL_OK);
  assert_string_equal(got, text);
  free(got);
}

static void a_file_has_its_name_only_after_commit(void **state) {
  (void)state;
  folder f = folder_new();
  int index;
  cel_out *o = begun(&f, "x", false, false);
  assert_int_equal(cel_out_add(o, NULL, 5, &index, NULL), CEL_OK);
  assert_int_equal(cel_out_put(o, index, 2, "llo", 3, NULL), CEL_OK);
  assert_int_equal(cel_out_put(o, index, 0, "he", 2, NULL), CEL_OK);
  assert_false(cel_is_file(in_folder(&f, "x")));
  assert_int_equal(cel_out_commit(o, NULL), CEL_OK);
  cel_out_end(o);
  says(in_folder(&f, "x"), "hello");
  assert_int_equal(count(f.path), 1);
  folder_remove(&f);
}

static void what_is_not_committed_vanishes(void **state) {
  (void)state;
  folder f = folder_new();
  for (int is_folder = 0; is_folder < 2; is_folder++) {
    int index;
    cel_out *o = begun(&f, "x", is_folder, false);
    assert_int_equal(cel_out_add(o, is_folder ? "a" : NULL, 5, &index, NULL), CEL_OK);
    if (is_folder) assert_int_equal(cel_out_add_whole(o, "sub/b", "b", 1, NULL), CEL_OK);
    assert_int_equal(count(f.path), 2);  // the lock and the thing itself
    cel_out_end(o);
    assert_int_equal(count(f.path), 0);
  }
  cel_out_end(NULL);
  folder_remove(&f);
}

static void a_folder_replaces_a_model_as_a_whole(void **state) {
  (void)state;
  folder f = folder_new();
  for (int turn = 0; turn < 2; turn++) {
    cel_out *o = begun(&f, "m", true, turn == 1);
    assert_int_equal(cel_out_add_whole(o, "config.json", turn ? "new" : "old", 3, NULL), CEL_OK);
    if (!turn) assert_int_equal(cel_out_add_whole(o, "gone", "", 0, NULL), CEL_OK);
    assert_int_equal(cel_out_commit(o, NULL), CEL_OK);
    cel_out_end(o);
  }
  says(in_folder(&f, "m/config.json"), "new");
  assert_false(cel_is_file(in_folder(&f, "m/gone")));
  assert_int_equal(count(f.path), 1);
  folder_remove(&f);
}

static void what_is_there_stays_unless_it_may_be_replaced(void **state) {
  (void)state;
  folder f = folder_new();
  add_text(&f, "file", "mine");
  assert_int_equal(mkdir(in_folder(&f, "dir"), 0777), 0);
  add_text(&f, "dir/letter", "mine");
  refuses(&f, "file", false, false, CEL_INVALID, "--force");
  refuses(&f, "file", true, true, CEL_INVALID, "no folder");
  refuses(&f, "dir", false, true, CEL_INVALID, "no regular file");
  refuses(&f, "dir", true, true, CEL_INVALID, "no config.json");
  refuses(&f, "none/x", false, false, CEL_INVALID, "there is no folder");
  refuses(&f, "dir/..", true, true, CEL_INVALID, "a name of its own");
  assert_int_equal(count(f.path), 2);
  says(in_folder(&f, "file"), "mine");
  folder_remove(&f);
}

static void somebody_who_came_meanwhile_is_not_overwritten(void **state) {
  (void)state;
  folder f = folder_new();
  cel_err err = {0};
  int index;
  cel_out *o = begun(&f, "x", false, false);
  assert_int_equal(cel_out_add(o, NULL, 1, &index, NULL), CEL_OK);
  add_text(&f, "x", "theirs");
  assert_int_equal(cel_out_commit(o, &err), CEL_INVALID);
  assert_says(err.text, "there already", NULL);
  cel_out_end(o);
  says(in_folder(&f, "x"), "theirs");
  assert_int_equal(count(f.path), 1);
  folder_remove(&f);
}

static void leftovers_of_a_killed_writer_are_cleared(void **state) {
  (void)state;
  folder f = folder_new();
  assert_int_equal(mkdir(in_folder(&f, ".x.partial"), 0777), 0);
  add_text(&f, ".x.partial/old", "old");
  cel_out *o = begun(&f, "x", true, false);
  assert_int_equal(count(cel_out_path(o)), 0);
  cel_out_end(o);
  assert_int_equal(count(f.path), 0);
  folder_remove(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_file_has_its_name_only_after_commit),
    cmocka_unit_test(what_is_not_committed_vanishes),
    cmocka_unit_test(a_folder_replaces_a_model_as_a_whole),
    cmocka_unit_test(what_is_there_stays_unless_it_may_be_replaced),
    cmocka_unit_test(somebody_who_came_meanwhile_is_not_overwritten),
    cmocka_unit_test(leftovers_of_a_killed_writer_are_cleared),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
