// Entries of the store: what is missing from a folder, records, locks, removal, the list.
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "model/store.h"

static char root[64], text[256];
static cel_err err;

static const char *below(const char *name) {
  snprintf(text, sizeof text, "%s/%s", root, name);
  return text;
}

static void write_file(const char *name, const char *content) {
  char dir[256];
  snprintf(dir, sizeof dir, "%s", below(name));
  *strrchr(dir, '/') = 0;
  assert_int_equal(cel_make_dirs(dir, &err), CEL_OK);
  assert_int_equal(cel_write_file(below(name), content, (int64_t)strlen(content), &err), CEL_OK);
}

static int set_up(void **state) {
  (void)state;
  snprintf(root, sizeof root, "/tmp/store_entry_test_XXXXXX");
  return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  return cel_store_delete_tree(root, NULL) == CEL_OK ? 0 : -1;
}

static const char *missing(const char *dir) {
  static char out[200];
  cel_buf what = {0};
  bool is = cel_store_missing(below(dir), &what);
  snprintf(out, sizeof out, "%s", is ? what.p : "nothing");
  cel_buf_deinit(&what);
  return out;
}

static void what_a_folder_lacks_is_named(void **state) {
  (void)state;
  assert_string_equal(missing("m"), "config.json");
  write_file("m/config.json", "{}");
  assert_string_equal(missing("m"), "*.safetensors");
  write_file("m/model.safetensors", "");
  assert_string_equal(missing("m"), "*.safetensors");
  write_file("m/model.safetensors", "x");
  assert_string_equal(missing("m"), "nothing");
  write_file("m/model.safetensors.index.json", "{\"weight_map\":{\"a\":\"1.safetensors\",\"b\":\"../2.safetensors\"}}");
  assert_string_equal(missing("m"), "1.safetensors");
  write_file("m/1.safetensors", "x");
  assert_string_equal(missing("m"), "nothing");
  write_file("m/model.safetensors.index.json", "{");
  assert_string_equal(missing("m"), "a readable model.safetensors.index.json");
  write_file("g/a.gguf", "x");
  assert_string_equal(missing("g"), "nothing");
  write_file("h/.gguf", "x");
  assert_string_equal(missing("h"), "config.json");
}

static void records_are_read_as_written_and_bad_ones_are_none(void **state) {
  (void)state;
  cel_store_origin in = {"o/m", "refs/pr/\"1\"", "abc"}, out;
  assert_int_equal(mkdir(below("m"), 0777), 0);
  assert_false(cel_store_origin_read(below("m"), &out));
  assert_int_equal(cel_store_origin_write(below("m"), &in, &err), CEL_OK);
  assert_true(cel_store_origin_read(below("m"), &out));
  assert_string_equal(out.repo, "o/m");
  assert_string_equal(out.revision, "refs/pr/\"1\"");
  assert_string_equal(out.commit, "abc");
  static const char long_commit[] =
      "{\"repo\":\"o/m\",\"revision\":\"main\",\"commit\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}";
  static const char *const bad[] = {"", "{", "[]", "{\"repo\":\"o/m\",\"revision\":\"main\"}", "{\"repo\":1,\"revision\":\"main\",\"commit\":\"a\"}",
                                    long_commit};
  for (int i = 0; i < CEL_COUNT(bad); i++) {
    write_file("m/.mlxcel.json", bad[i]);
    assert_false(cel_store_origin_read(below("m"), &out));
    assert_string_equal(out.repo, "");
  }
}

// In another process, since a process does not lock itself out: the status it gets.
static int lock_elsewhere(const char *path) {
  pid_t pid = fork();
  if (pid == 0) {
    cel_store_lock lock;
    _exit(cel_store_lock_take(path, &lock, NULL));
  }
  int status = -1;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_lock_keeps_other_processes_out_until_it_is_dropped(void **state) {
  (void)state;
  cel_store_lock lock;
  char path[256];
  snprintf(path, sizeof path, "%s", below("m.lock"));
  assert_int_equal(cel_store_lock_take(path, &lock, &err), CEL_OK);
  assert_int_equal(lock_elsewhere(path), CEL_BUSY);
  cel_store_lock_drop(&lock);
  assert_int_equal(access(path, F_OK), -1);
  assert_int_equal(lock_elsewhere(path), CEL_OK);  // that process has ended and left the file: no lock any more
  assert_int_equal(access(path, F_OK), 0);
  assert_int_equal(cel_store_lock_take(path, &lock, &err), CEL_OK);
  cel_store_lock_drop(&lock);
  cel_store_lock_drop(&lock);
}

static void a_lock_is_no_link(void **state) {
  (void)state;
  char path[256];
  cel_store_lock lock;
  write_file("victim", "x");
  snprintf(path, sizeof path, "%s", below("m.lock"));
  assert_int_equal(symlink(below("victim"), path), 0);
  assert_int_equal(cel_store_lock_take(path, &lock, &err), CEL_IO);
}

static void removal_takes_the_entry_and_no_more(void **state) {
  (void)state;
  int64_t bytes;
  write_file("o/m/deep/a", "123");
  write_file("o/m.partial/.a.part", "45");
  write_file("o/mm/a", "1");
  write_file("outside/a", "1");
  char link[256];
  snprintf(link, sizeof link, "%s", below("o/m/link"));
  assert_int_equal(symlink(below("outside"), link), 0);
  assert_int_equal(cel_store_remove(root, "o/m", &bytes, &err), CEL_OK);
  assert_int_equal(bytes, 5);
  assert_false(cel_is_dir(below("o/m")));
  assert_false(cel_is_dir(below("o/m.partial")));
  assert_true(cel_is_file(below("o/mm/a")));
  assert_true(cel_is_file(below("outside/a")));
  assert_int_equal(cel_store_remove(root, "o/m", NULL, &err), CEL_NOT_FOUND);
  assert_int_equal(cel_store_remove(root, "p/m", NULL, &err), CEL_NOT_FOUND);
  assert_int_equal(cel_store_remove(root, "m", NULL, &err), CEL_INVALID);
  assert_int_equal(cel_store_remove(root, "o/mm", NULL, &err), CEL_OK);
  assert_false(cel_is_dir(below("o")));
}

static void the_list_is_sorted_and_tells_unfinished_ones(void **state) {
  (void)state;
  cel_store_listing l;
  assert_int_equal(cel_store_list(below("none"), &l, &err), CEL_OK);
  assert_int_equal(l.n, 0);
  write_file("p/z/a", "1");
  write_file("o/m/a/b", "12");
  write_file("o/m.partial/a", "123");
  write_file("o/.m.old/a", "123");
  write_file("o/file", "1");
  assert_int_equal(mkdir(below("o/empty"), 0777), 0);
  assert_int_equal(cel_store_list(root, &l, &err), CEL_OK);
  assert_int_equal(l.n, 4);
  static const char *const ids[] = {"o/empty", "o/m", "o/m", "p/z"};
  static const int bytes[] = {0, 2, 3, 1};
  for (int i = 0; i < 4; i++) {
    assert_string_equal(l.entries[i].id, ids[i]);
    assert_int_equal(l.entries[i].bytes, bytes[i]);
    assert_int_equal(l.entries[i].partial, i == 2);
    assert_int_equal(l.entries[i].modified < 0, i == 0);
  }
  cel_store_listing_deinit(&l);
  assert_int_equal(cel_store_list(below("o/file"), &l, &err), CEL_IO);
}

static void deep_folders_are_refused_not_descended_for_ever(void **state) {
  (void)state;
  cel_buf deep = {0};
  cel_buf_addz(&deep, root);
  for (int i = 0; i < 80; i++) cel_buf_addz(&deep, "/d");
  assert_int_equal(cel_make_dirs(deep.p, &err), CEL_OK);
  assert_int_equal(cel_store_delete_tree(below("d"), &err), CEL_UNSUPPORTED);
  while (deep.n > strlen(root)) {
    rmdir(deep.p);
    deep.n -= 2;
    deep.p[deep.n] = 0;
  }
  cel_buf_deinit(&deep);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(what_a_folder_lacks_is_named, set_up, tear_down),
      cmocka_unit_test_setup_teardown(records_are_read_as_written_and_bad_ones_are_none, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_lock_keeps_other_processes_out_until_it_is_dropped, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_lock_is_no_link, set_up, tear_down),
      cmocka_unit_test_setup_teardown(removal_takes_the_entry_and_no_more, set_up, tear_down),
      cmocka_unit_test_setup_teardown(the_list_is_sorted_and_tells_unfinished_ones, set_up, tear_down),
      cmocka_unit_test_setup_teardown(deep_folders_are_refused_not_descended_for_ever, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
