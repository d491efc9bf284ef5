#define _POSIX_C_SOURCE 200809L
#include "base/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static char path_text[128];

static const char *in_folder(const char *name) {
  snprintf(path_text, sizeof path_text, "%s/%s", folder, name);
  return path_text;
}

static int make_folder(void **state) {
  (void)state;
  snprintf(folder, sizeof folder, "/tmp/file_test_XXXXXX");
  return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
  (void)state;
  static const char *const files[] = {"a", "empty", "fifo", "device", "d/e/f", "d/e", "d"};
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) remove(in_folder(files[i]));
  return rmdir(folder);
}

static void what_is_written_is_read_back(void **state) {
  (void)state;
  cel_err err;
  char *text = NULL;
  int64_t bytes = 0;
  assert_int_equal(cel_write_file(in_folder("a"), "one\0two", 7, &err), CEL_OK);
  assert_int_equal(cel_write_file(in_folder("a"), "ONE\0TWO", 7, &err), CEL_OK);  // replaces
  assert_int_equal(cel_read_file(in_folder("a"), 7, &text, &bytes, &err), CEL_OK);
  assert_int_equal(bytes, 7);
  assert_memory_equal(text, "ONE\0TWO", 8);
  free(text);
  assert_false(cel_is_file(in_folder("a.partial")));
  assert_true(cel_is_file(in_folder("a")) && !cel_is_dir(in_folder("a")));
}

static void a_link_under_the_temporary_name_is_not_followed(void **state) {
  char *text;
  (void)state;
  char path[300], partial[320], other[300];
  snprintf(path, sizeof path, "%s", in_folder("linked"));
  snprintf(partial, sizeof partial, "%s.partial", path);
  snprintf(other, sizeof other, "%s", in_folder("other"));
  assert_int_equal(cel_write_file(other, "mine", 4, NULL), CEL_OK);
  assert_int_equal(symlink(other, partial), 0);
  assert_int_equal(cel_write_file(path, "new", 3, NULL), CEL_OK);
  assert_int_equal(cel_read_file(other, 100, &text, NULL, NULL), CEL_OK);
  assert_string_equal(text, "mine");
  free(text);
  assert_int_equal(cel_read_file(path, 100, &text, NULL, NULL), CEL_OK);
  assert_string_equal(text, "new");
  free(text);
  assert_int_not_equal(access(partial, F_OK), 0);
  unlink(path);
  unlink(other);
}

static void a_mapping_shows_the_file(void **state) {
  (void)state;
  cel_err err;
  cel_map m = {0};
  cel_map_close(&m);
  assert_int_equal(cel_write_file(in_folder("a"), "mapped", 6, &err), CEL_OK);
  assert_int_equal(cel_map_open(in_folder("a"), &m, &err), CEL_OK);
  assert_int_equal(m.bytes, 6);
  assert_memory_equal(m.data, "mapped", 6);
  cel_map_close(&m);
  assert_null(m.data);
  assert_int_equal(cel_write_file(in_folder("empty"), "", 0, &err), CEL_OK);
  assert_int_equal(cel_map_open(in_folder("empty"), &m, &err), CEL_OK);
  assert_true(m.bytes == 0 && m.data);
  cel_map_close(&m);
}

static void limits_and_kinds_are_named(void **state) {
  (void)state;
  cel_err err;
  cel_map m;
  char *text = (char *)"untouched";
  assert_int_equal(cel_write_file(in_folder("a"), "12345678", 8, &err), CEL_OK);
  assert_int_equal(cel_read_file(in_folder("a"), 7, &text, NULL, &err), CEL_MALFORMED);
  assert_null(text);
  assert_non_null(strstr(err.text, "8 bytes, at most 7"));
  assert_int_equal(cel_read_file(in_folder("absent"), 7, &text, NULL, &err), CEL_NOT_FOUND);
  assert_non_null(strstr(err.text, "/absent"));
  assert_int_equal(cel_map_open(in_folder("a/b"), &m, &err), CEL_NOT_FOUND);
  assert_int_equal(cel_map_open(folder, &m, &err), CEL_INVALID);
  assert_int_equal(cel_write_file(in_folder("no/such"), "x", 1, &err), CEL_IO);
}

static void folders_are_made_all_the_way(void **state) {
  (void)state;
  cel_err err;
  assert_int_equal(cel_make_dirs(in_folder("d/e/f"), &err), CEL_OK);
  assert_true(cel_is_dir(in_folder("d/e/f")));
  assert_int_equal(cel_make_dirs(in_folder("d/e/f"), &err), CEL_OK);  // again
  assert_int_equal(cel_write_file(in_folder("a"), "x", 1, &err), CEL_OK);
  assert_int_equal(cel_make_dirs(in_folder("a/b"), &err), CEL_IO);
}

// A hostile folder: nobody ever writes into the pipe.
static void pipe_without_a_writer_is_refused_at_once(void **state) {
  (void)state;
  cel_err err;
  cel_map m;
  char *text;
  assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
  assert_false(cel_is_file(in_folder("fifo")));
  assert_int_equal(cel_read_file(in_folder("fifo"), 7, &text, NULL, &err), CEL_INVALID);
  assert_non_null(strstr(err.text, "not a regular file"));
  assert_int_equal(cel_map_open(in_folder("fifo"), &m, &err), CEL_INVALID);
}

static void device_is_written_to_and_not_replaced(void **state) {
  (void)state;
  cel_err err;
  struct stat st;
  assert_int_equal(symlink("/dev/null", in_folder("device")), 0);
  assert_int_equal(cel_write_file(in_folder("device"), "gone", 4, &err), CEL_OK);
  assert_int_equal(lstat(in_folder("device"), &st), 0);
  assert_true(S_ISLNK(st.st_mode));
  assert_int_equal(stat(in_folder("device"), &st), 0);
  assert_true(S_ISCHR(st.st_mode));
  assert_int_equal(cel_write_file(folder, "x", 1, &err), CEL_IO);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(what_is_written_is_read_back),
    cmocka_unit_test(a_link_under_the_temporary_name_is_not_followed),
    cmocka_unit_test(a_mapping_shows_the_file),
    cmocka_unit_test(limits_and_kinds_are_named),
    cmocka_unit_test(folders_are_made_all_the_way),
    cmocka_unit_test(pipe_without_a_writer_is_refused_at_once),
    cmocka_unit_test(device_is_written_to_and_not_replaced),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
