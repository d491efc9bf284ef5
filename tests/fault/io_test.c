// A disk that fails: every read, write, flush and rename of opening and of converting a model is made to fail with EIO in
// turn (the linker puts these in the place of ours). Each failure comes back as CEL_IO that names a file, and leaves nothing
// half written. Calls that are interrupted or do a part only are gone on with.
#define _XOPEN_SOURCE 700
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "model/write/conversion.h"

ssize_t __real_read(int fd, void *p, size_t n);
ssize_t __real_write(int fd, const void *p, size_t n);
ssize_t __real_pwrite(int fd, const void *p, size_t n, off_t at);
int __real_fsync(int fd);
int __real_ftruncate(int fd, off_t n);
int __real_rename(const char *from, const char *to);
ssize_t __wrap_read(int fd, void *p, size_t n);
ssize_t __wrap_write(int fd, const void *p, size_t n);
ssize_t __wrap_pwrite(int fd, const void *p, size_t n, off_t at);
int __wrap_fsync(int fd);
int __wrap_ftruncate(int fd, off_t n);
int __wrap_rename(const char *from, const char *to);

static long count, fail_at;  // 0: never; touched by the one thread that reads and writes
static bool slow;            // every other call is interrupted, the others move three bytes

static bool fails(void) {
  if (++count != fail_at) return false;
  errno = EIO;
  return true;
}

static size_t part(size_t n) { return slow && n > 3 ? 3 : n; }

static bool interrupted(void) {
  static bool now;
  if (!slow) return false;
  now = !now;
  errno = EINTR;
  return now;
}

ssize_t __wrap_read(int fd, void *p, size_t n) { return interrupted() || fails() ? -1 : __real_read(fd, p, part(n)); }
ssize_t __wrap_write(int fd, const void *p, size_t n) { return interrupted() || fails() ? -1 : __real_write(fd, p, part(n)); }
ssize_t __wrap_pwrite(int fd, const void *p, size_t n, off_t at) { return interrupted() || fails() ? -1 : __real_pwrite(fd, p, part(n), at); }
int __wrap_fsync(int fd) { return fails() ? -1 : __real_fsync(fd); }
int __wrap_ftruncate(int fd, off_t n) { return fails() ? -1 : __real_ftruncate(fd, n); }
int __wrap_rename(const char *from, const char *to) { return fails() ? -1 : __real_rename(from, to); }

static char folder[64];

static const char *in_folder(const char *name) {
  static char path[200];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

// How many entries there are, which `drop` removes.
static int entries(bool drop) {
  DIR *d = opendir(folder);
  assert_non_null(d);
  int n = 0;
  for (const struct dirent *e; (e = readdir(d));) {
    char command[400];
    if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
    snprintf(command, sizeof command, "rm -rf '%s/%s'", folder, e->d_name);
    if (drop) assert_int_equal(system(command), 0);
    n++;
  }
  closedir(d);
  return n;
}

// ---- reading ----------------------------------------------------------------------------------------

static void every_read_that_fails_is_an_error(void **state) {
  (void)state;
  static const char *const models[] = {"llama3", "gemma3", "qwen3-q4g32"};
  for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
    char path[600];
    snprintf(path, sizeof path, "%s/data/oracle/%s", CEL_TEST_DATA, models[i]);
    int failures = 0;
    for (long n = 1;; n++) {
      cel_checkpoint *c = NULL;
      cel_err err = {0};
      count = 0;
      fail_at = n;
      cel_status s = cel_checkpoint_open(path, &c, &err);
      bool reached = count >= n;
      fail_at = 0;
      cel_checkpoint_close(c);
      if (!reached) {
        assert_int_equal(s, CEL_OK);
        break;
      }
      if (s != CEL_IO || !strstr(err.text, path) || !strstr(err.text, strerror(EIO))) fail_msg("read %ld: %d %s", n, (int)s, err.text);
      failures++;
    }
    assert_true(failures > 0);
  }
}

static void parts_and_interruptions_are_gone_on_with(void **state) {
  (void)state;
  char text[1000], *back;
  int64_t n;
  for (size_t i = 0; i < sizeof text; i++) text[i] = (char)('a' + i % 26);
  slow = true;
  cel_status w = cel_write_file(in_folder("x"), text, sizeof text, NULL);
  cel_status r = cel_read_file(in_folder("x"), 1 << 20, &back, &n, NULL);
  slow = false;
  assert_true(w == CEL_OK && r == CEL_OK && n == sizeof text && memcmp(back, text, sizeof text) == 0);
  free(back);
  entries(true);
}

// ---- writing ----------------------------------------------------------------------------------------

static void a_file_is_as_before_when_writing_it_fails(void **state) {
  (void)state;
  assert_int_equal(cel_write_file(in_folder("x"), "old", 3, NULL), CEL_OK);
  for (long n = 1;; n++) {
    char *back;
    cel_err err = {0};
    count = 0;
    fail_at = n;
    cel_status s = cel_write_file(in_folder("x"), "newer", 5, &err);
    bool reached = count >= n;
    fail_at = 0;
    assert_int_equal(cel_read_file(in_folder("x"), 100, &back, NULL, NULL), CEL_OK);
    assert_string_equal(back, reached ? "old" : "newer");
    free(back);
    assert_int_equal(entries(false), 1);  // no .partial
    if (!reached) break;
    if (s != CEL_IO || !strstr(err.text, folder) || !strstr(err.text, strerror(EIO))) fail_msg("call %ld: %d %s", n, (int)s, err.text);
  }
  entries(true);
}

static cel_status convert(const cel_checkpoint *c, cel_conversion_options *o, const char *to, cel_pool *pool, cel_err *err) {
  cel_conversion *v = NULL;
  cel_status s = cel_conversion_new(c, o, &v, err);
  if (s == CEL_OK) s = cel_conversion_write(v, to, false, pool, NULL, err);
  if (s == CEL_OK) s = cel_conversion_commit(v, err);
  cel_conversion_free(v);
  return s;
}

static void a_conversion_that_fails_leaves_nothing(void **state) {
  (void)state;
  static const cel_extra_file extra = {"tokenizer.json", "{}", 2};
  for (int gguf = 0; gguf < 2; gguf++) {
    cel_checkpoint *c;
    cel_pool *pool;
    cel_conversion_options o = {.to = gguf ? CEL_FORMAT_GGUF : CEL_FORMAT_SAFETENSORS, .scheme = {.kind = CEL_SCHEME_PLAIN, .dtype = CEL_DT_F32},
                                .name = "x", .files = &extra, .n_files = !gguf, .shard_bytes = 100000};
    assert_int_equal(cel_checkpoint_open(CEL_TEST_DATA "/data/oracle/llama3", &c, NULL), CEL_OK);
    assert_int_equal(cel_pool_new(1, &pool, NULL), CEL_OK);
    long n = 1;
    int left = 0;
    for (;; n++) {
      cel_err err = {0};
      count = 0;
      fail_at = n;
      cel_status s = convert(c, &o, in_folder(gguf ? "x.gguf" : "x"), pool, &err);
      bool reached = count >= n;
      fail_at = 0;
      if (!reached) {
        assert_int_equal(s, CEL_OK);
        break;
      }
      if (s != CEL_IO || !strstr(err.text, strerror(EIO))) fail_msg("call %ld: %d %s", n, (int)s, err.text);
      // Behind the rename only the folder's own flush can fail: then the whole model is there, under its name.
      cel_checkpoint *whole = NULL;
      bool renamed = cel_checkpoint_open(in_folder(gguf ? "x.gguf" : "x"), &whole, &err) == CEL_OK;
      cel_checkpoint_close(whole);
      if (entries(false) != renamed) fail_msg("call %ld left something", n);
      if (renamed) entries(true);
      left += renamed;
    }
    assert_true(n > 20 && left <= 1);
    entries(true);
    cel_pool_free(pool);
    cel_checkpoint_close(c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_read_that_fails_is_an_error),
      cmocka_unit_test(parts_and_interruptions_are_gone_on_with),
      cmocka_unit_test(a_file_is_as_before_when_writing_it_fails),
      cmocka_unit_test(a_conversion_that_fails_leaves_nothing),
  };
  snprintf(folder, sizeof folder, "/tmp/io_test_XXXXXX");
  if (!mkdtemp(folder)) return 1;
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  return rmdir(folder) != 0 || failed;
}
