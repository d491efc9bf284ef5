// The store of compiled programs: whole or not at all, whatever happens to the process, the file or the disk.
#define _DEFAULT_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "backend/xla/artifact/artifact.h"
#include "base/log.h"

enum { HEADER_BYTES = 512, PAYLOAD = 3000 };

static char folder[64];
static int n_warnings;
static char last_warning[1024];

static void hear(void *context, cel_log_level level, const char *text) {
  (void)context, (void)level;
  n_warnings++;
  snprintf(last_warning, sizeof last_warning, "%s", text);
}

static int set_up(void **state) {
  (void)state;
  strcpy(folder, "/tmp/cel-artifact-XXXXXX");
  n_warnings = 0;
  *last_warning = 0;
  cel_log_set(hear, NULL, CEL_LOG_WARN);
  return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state) {
  (void)state;
  char command[200];
  snprintf(command, sizeof command, "chmod -R u+w '%s'; rm -r '%s'", folder, folder);
  return system(command);
}

static cel_artifact_store *open_store(int64_t limit, bool only) {
  cel_artifact_options o = {.folder = folder, .limit_bytes = limit, .only = only};
  cel_artifact_store *s;
  assert_int_equal(cel_artifact_open(&o, &s, NULL), CEL_OK);
  return s;
}

static cel_artifact_parts parts_of(const char *program) {
  return (cel_artifact_parts){cel_str_of(program), "engine", "1.0", "-O2", "cpu", program};
}

// What is "compiled" from a program: bytes that depend on its text.
static void compiled(const char *program, uint8_t out[PAYLOAD]) {
  uint32_t x = 2166136261u;
  for (const char *p = program; *p; p++) x = (x ^ (uint8_t)*p) * 16777619u;
  for (int i = 0; i < PAYLOAD; i++) {
    x = x * 1664525u + 1013904223u;
    out[i] = (uint8_t)(x >> 24);
  }
}

// Looks up and makes what is not there. True when it was there.
static bool use(cel_artifact_store *s, const char *program) {
  uint8_t want[PAYLOAD];
  cel_artifact a;
  cel_err err = {0};
  cel_artifact_parts parts = parts_of(program);
  compiled(program, want);
  assert_int_equal(cel_artifact_begin(s, &parts, &a, &err), CEL_OK);
  bool there = a.bytes != NULL;
  if (there) {
    assert_int_equal(a.n, PAYLOAD);
    assert_int_equal((uintptr_t)a.bytes % 64, 0);
    assert_memory_equal(a.bytes, want, PAYLOAD);
  } else {
    cel_artifact_put(&a, want, PAYLOAD);
  }
  cel_artifact_end(&a);
  return there;
}

static void path_of(const char *program, char out[200]) {
  char key[CEL_SHA256_HEX_BYTES];
  cel_artifact_parts parts = parts_of(program);
  cel_artifact_key(&parts, key);
  snprintf(out, 200, "%s/%s.artifact", folder, key);
}

static int n_files(void) {
  char command[200];
  snprintf(command, sizeof command, "ls -A '%s' | wc -l", folder);
  FILE *f = popen(command, "r");
  int n = -1;
  assert_int_equal(fscanf(f, "%d", &n), 1);
  pclose(f);
  return n;
}

static void what_was_made_is_found_again(void **state) {
  (void)state;
  cel_artifact_store *s = open_store(0, false);
  assert_false(use(s, "one"));
  assert_true(use(s, "one"));
  assert_false(use(s, "two"));
  cel_artifact_counts c;
  cel_artifact_count(s, &c);
  assert_int_equal(c.found, 1);
  assert_int_equal(c.made, 2);
  cel_artifact_close(s);
  s = open_store(0, false);
  assert_true(use(s, "two"));
  cel_artifact_close(s);
  assert_int_equal(n_files(), 2);  // no lock and no half file is left
  assert_int_equal(n_warnings, 0);
}

static void every_part_makes_another_key(void **state) {
  (void)state;
  char key[7][CEL_SHA256_HEX_BYTES];
  const cel_artifact_parts p[7] = {
      {CEL_STR("m"), "e", "v", "f", "t", "n"}, {CEL_STR("x"), "e", "v", "f", "t", "n"}, {CEL_STR("m"), "x", "v", "f", "t", "n"},
      {CEL_STR("m"), "e", "x", "f", "t", "n"}, {CEL_STR("m"), "e", "v", "x", "t", "n"}, {CEL_STR("m"), "e", "v", "f", "x", "n"},
      {CEL_STR("me"), "", "v", "f", "t", "n"}};
  for (int i = 0; i < 7; i++) {
    cel_artifact_key(&p[i], key[i]);
    for (int k = 0; k < i; k++) assert_string_not_equal(key[i], key[k]);
  }
  cel_artifact_parts other_note = p[0];
  other_note.note = "another";
  cel_artifact_key(&other_note, key[1]);
  assert_string_equal(key[0], key[1]);
}

static void without_a_store_all_is_made(void **state) {
  (void)state;
  assert_false(use(NULL, "one"));
  assert_false(use(NULL, "one"));
}

static void flip(const char *path, long at, int bit) {
  FILE *f = fopen(path, "r+");
  assert_non_null(f);
  fseek(f, at, SEEK_SET);
  int c = fgetc(f);
  fseek(f, at, SEEK_SET);
  fputc(c ^ (1 << bit), f);
  fclose(f);
}

// One bit of every byte of the header and of every 37th of the payload, and every length the file may be cut to.
static void any_flipped_bit_makes_it_anew(void **state) {
  (void)state;
  char path[200];
  path_of("one", path);
  cel_artifact_store *s = open_store(0, false);
  assert_false(use(s, "one"));
  int n = 0;
  for (long at = 0; at < HEADER_BYTES + PAYLOAD; at += at < HEADER_BYTES ? 1 : 37) {
    flip(path, at, (int)(at % 8));
    if (use(s, "one")) fail_msg("a flipped bit of byte %ld was not noticed", at);
    assert_int_equal(n_warnings, ++n);
    assert_non_null(strstr(last_warning, "is damaged ("));
    assert_true(use(s, "one"));
  }
  for (long bytes = 0; bytes < HEADER_BYTES + PAYLOAD; bytes += 131) {
    assert_int_equal(truncate(path, bytes), 0);
    assert_false(use(s, "one"));
    assert_true(use(s, "one"));
  }
  cel_artifact_close(s);
}

static void an_entry_under_another_name_is_not_taken(void **state) {
  (void)state;
  char one[200], two[200];
  path_of("one", one);
  path_of("two", two);
  cel_artifact_store *s = open_store(0, false);
  use(s, "one");
  assert_int_equal(rename(one, two), 0);
  assert_false(use(s, "two"));
  assert_non_null(strstr(last_warning, "of another key"));
  cel_artifact_close(s);
}

static void what_the_engine_rejects_is_replaced(void **state) {
  (void)state;
  cel_artifact_store *s = open_store(0, false);
  use(s, "one");
  cel_artifact a;
  cel_artifact_parts parts = parts_of("one");
  assert_int_equal(cel_artifact_begin(s, &parts, &a, NULL), CEL_OK);
  assert_non_null(a.bytes);
  assert_int_equal(cel_artifact_reject(&a, "of another processor", NULL), CEL_OK);
  assert_null(a.bytes);
  cel_artifact_put(&a, "new", 3);
  cel_artifact_end(&a);
  assert_int_equal(cel_artifact_begin(s, &parts, &a, NULL), CEL_OK);
  assert_int_equal(a.n, 3);
  assert_memory_equal(a.bytes, "new", 3);
  cel_artifact_end(&a);
  cel_artifact_close(s);
}

static void a_store_to_look_up_only_makes_nothing(void **state) {
  (void)state;
  cel_artifact_store *s = open_store(0, false);
  use(s, "one");
  cel_artifact_close(s);
  s = open_store(0, true);
  assert_true(use(s, "one"));
  cel_artifact a;
  cel_err err = {0};
  cel_artifact_parts parts = parts_of("two");
  assert_int_equal(cel_artifact_begin(s, &parts, &a, &err), CEL_NOT_FOUND);
  assert_non_null(strstr(err.text, "has no compiled program for two (engine engine, version 1.0, target cpu)"));
  cel_artifact_end(&a);
  assert_int_equal(n_files(), 1);
  cel_artifact_close(s);
}

// ---- other processes -----------------------------------------------------------------------------------

static void sleep_us(long us) {
  struct timespec t = {.tv_nsec = us * 1000};
  nanosleep(&t, NULL);
}

// Killed at any moment of making an entry, a process leaves none or a whole one, and no lock that holds.
static void killed_while_making_100_times(void **state) {
  (void)state;
  int whole = 0;
  cel_artifact_store *s = open_store(0, false);
  for (int i = 0; i < 100; i++) {
    char program[32];
    snprintf(program, sizeof program, "program %d", i);
    pid_t child = fork();
    if (child == 0) {
      for (int k = 0; k < 64; k++) {  // made again and again
        char path[200];
        path_of(program, path);
        use(s, program);
        unlink(path);
      }
      for (;;) pause();
    }
    sleep_us(20 * (i % 50));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    whole += use(s, program);  // compares the bytes
    assert_true(use(s, program));
  }
  assert_int_equal(n_warnings, 0);  // none was damaged
  cel_artifact_close(s);
  if (whole == 100) print_message("every child was quicker than its killer\n");
  int64_t n, bytes;
  assert_int_equal(cel_artifact_clear(folder, &n, &bytes, NULL), CEL_OK);
  assert_int_equal(n, 100);
  assert_int_equal(n_files(), 0);
}

// The second process waits for the first, and then has nothing to do.
static void two_at_once_make_one(void **state) {
  (void)state;
  int made[2];
  assert_int_equal(pipe(made), 0);
  for (int i = 0; i < 4; i++) {
    if (fork() != 0) continue;
    cel_artifact_store *s = open_store(0, false);
    cel_artifact a;
    cel_artifact_parts parts = parts_of("one");
    uint8_t bytes[PAYLOAD];
    compiled("one", bytes);
    if (cel_artifact_begin(s, &parts, &a, NULL) != CEL_OK) _exit(1);
    if (!a.bytes) {
      sleep_us(50000);  // compiling
      cel_artifact_put(&a, bytes, PAYLOAD);
      if (write(made[1], "1", 1) != 1) _exit(1);
    } else if (a.n != PAYLOAD || memcmp(a.bytes, bytes, PAYLOAD) != 0) {
      _exit(1);
    }
    cel_artifact_end(&a);
    cel_artifact_close(s);
    _exit(0);
  }
  for (int i = 0; i < 4; i++) {
    int status;
    assert_true(wait(&status) > 0);
    assert_int_equal(status, 0);
  }
  close(made[1]);
  char ones[8];
  assert_int_equal(read(made[0], ones, sizeof ones), 1);
  close(made[0]);
  assert_int_equal(n_files(), 1);
}

// ---- limits --------------------------------------------------------------------------------------------

static void age(const char *program, int seconds) {
  char path[200];
  path_of(program, path);
  struct timeval now, times[2];
  gettimeofday(&now, NULL);
  now.tv_sec -= seconds;
  times[0] = times[1] = now;
  assert_int_equal(utimes(path, times), 0);
}

static void the_least_recently_used_go(void **state) {
  (void)state;
  cel_artifact_store *s = open_store(3 * (HEADER_BYTES + PAYLOAD), false);
  use(s, "one");
  use(s, "two");
  use(s, "three");
  age("one", 300);
  age("two", 200);
  age("three", 100);
  assert_true(use(s, "one"));  // now the newest
  assert_false(use(s, "four"));
  assert_int_equal(n_files(), 3);
  assert_true(use(s, "one"));
  assert_true(use(s, "three"));
  assert_true(use(s, "four"));
  assert_false(use(s, "two"));
  cel_artifact_close(s);
  assert_int_equal(n_warnings, 0);
}

static void one_too_large_is_not_kept(void **state) {
  (void)state;
  cel_artifact_store *s = open_store(PAYLOAD, false);
  assert_false(use(s, "one"));
  assert_false(use(s, "one"));
  assert_int_equal(n_warnings, 1);
  assert_non_null(strstr(last_warning, "larger than the whole store may be"));
  assert_int_equal(n_files(), 0);
  cel_artifact_close(s);
}

// As on a disk that is full: no file can grow beyond a few bytes.
static void a_full_disk_is_one_warning(void **state) {
  (void)state;
  struct rlimit before, small;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  small = before;
  small.rlim_cur = 1000;
  signal(SIGXFSZ, SIG_IGN);
  cel_artifact_store *s = open_store(0, false);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  bool there[2] = {use(s, "one"), use(s, "two")};
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  assert_false(there[0] || there[1]);
  assert_int_equal(n_warnings, 1);
  assert_non_null(strstr(last_warning, "compiled programs are not kept: "));
  assert_int_equal(n_files(), 0);
  assert_false(use(s, "one"));  // there is room again
  assert_true(use(s, "one"));
  cel_artifact_close(s);
}

static void a_folder_that_cannot_be_made_is_one_warning(void **state) {
  (void)state;
  char file[100];
  snprintf(file, sizeof file, "%s/file", folder);
  fclose(fopen(file, "w"));
  snprintf(file, sizeof file, "%s/file/below", folder);
  cel_artifact_options o = {.folder = file};
  cel_artifact_store *s;
  assert_int_equal(cel_artifact_open(&o, &s, NULL), CEL_OK);
  assert_false(use(s, "one"));
  assert_false(use(s, "one"));
  assert_int_equal(n_warnings, 1);
  cel_artifact_close(s);
}

static void a_folder_that_can_only_be_read_is_used(void **state) {
  (void)state;
  if (geteuid() == 0) skip();  // who may write anywhere
  cel_artifact_store *s = open_store(0, false);
  use(s, "one");
  assert_int_equal(chmod(folder, 0500), 0);
  assert_true(use(s, "one"));
  assert_false(use(s, "two"));
  assert_false(use(s, "two"));
  assert_int_equal(n_warnings, 1);
  cel_artifact_close(s);
}

// ---- looking after a folder ----------------------------------------------------------------------------

typedef struct listing {
  int n, wrong;
  char text[4000];
} listing;

static void list(void *context, const cel_artifact_info *i) {
  listing *l = context;
  l->n++;
  l->wrong += i->wrong != NULL;
  size_t at = strlen(l->text);
  snprintf(l->text + at, sizeof l->text - at, "%s %s %s %s %lld %s\n", i->engine, i->version, i->target, i->note,
           (long long)i->bytes, i->wrong ? i->wrong : "");
}

static void entries_are_listed_and_verified(void **state) {
  (void)state;
  cel_artifact_store *s = open_store(0, false);
  char path[200];
  listing l = {0};
  assert_int_equal(cel_artifact_each("/nonexistent/folder", true, list, &l, NULL), CEL_OK);
  assert_int_equal(l.n, 0);
  use(s, "one");
  use(s, "two");
  path_of("one", path);
  flip(path, HEADER_BYTES + 10, 3);
  assert_int_equal(cel_artifact_each(folder, false, list, &l, NULL), CEL_OK);
  assert_int_equal(l.n, 2);
  assert_int_equal(l.wrong, 0);
  assert_non_null(strstr(l.text, "engine 1.0 cpu two 3512 \n"));
  l = (listing){0};
  assert_int_equal(cel_artifact_each(folder, true, list, &l, NULL), CEL_OK);
  assert_int_equal(l.wrong, 1);
  assert_non_null(strstr(l.text, "payload does not have its digest"));
  cel_artifact_close(s);
}

static void clearing_leaves_what_is_not_ours(void **state) {
  (void)state;
  char path[300];
  cel_artifact_store *s = open_store(0, false);
  use(s, "one");
  snprintf(path, sizeof path, "%s/notes.txt", folder);
  fclose(fopen(path, "w"));
  path_of("left", path);
  strcat(path, ".partial");
  fclose(fopen(path, "w"));
  cel_artifact a;
  cel_artifact_parts parts = parts_of("in the making");
  assert_int_equal(cel_artifact_begin(s, &parts, &a, NULL), CEL_OK);
  int64_t n, bytes;
  assert_int_equal(cel_artifact_clear(folder, &n, &bytes, NULL), CEL_OK);
  assert_int_equal(n, 1);
  assert_int_equal(bytes, HEADER_BYTES + PAYLOAD);
  assert_int_equal(n_files(), 2);  // the notes and the lock of what is being made
  cel_artifact_put(&a, "x", 1);
  cel_artifact_end(&a);
  assert_int_equal(n_files(), 2);
  assert_int_equal(cel_artifact_clear("/nonexistent/folder", &n, &bytes, NULL), CEL_OK);
  cel_artifact_close(s);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(what_was_made_is_found_again),
      TEST(every_part_makes_another_key),
      TEST(without_a_store_all_is_made),
      TEST(any_flipped_bit_makes_it_anew),
      TEST(an_entry_under_another_name_is_not_taken),
      TEST(what_the_engine_rejects_is_replaced),
      TEST(a_store_to_look_up_only_makes_nothing),
      TEST(killed_while_making_100_times),
      TEST(two_at_once_make_one),
      TEST(the_least_recently_used_go),
      TEST(one_too_large_is_not_kept),
      TEST(a_full_disk_is_one_warning),
      TEST(a_folder_that_cannot_be_made_is_one_warning),
      TEST(a_folder_that_can_only_be_read_is_used),
      TEST(entries_are_listed_and_verified),
      TEST(clearing_leaves_what_is_not_ours),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
