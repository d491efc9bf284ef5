// Files cut short while they are mapped, bus errors that are none of ours, and the handlers of others.
#define _DEFAULT_SOURCE
#define _DARWIN_C_SOURCE
#include "base/map_guard.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"

enum { PAGES = 8 };
static char path[64];
static int64_t page;

static int make_file(void **state) {
  (void)state;
  page = sysconf(_SC_PAGESIZE);
  snprintf(path, sizeof path, "/tmp/map_guard_test_XXXXXX");
  int fd = mkstemp(path);
  char *text = malloc((size_t)(PAGES * page));
  if (fd < 0 || !text) return -1;
  memset(text, 'x', (size_t)(PAGES * page));
  bool ok = write(fd, text, (size_t)(PAGES * page)) == PAGES * page;
  free(text);
  close(fd);
  return ok ? 0 : -1;
}

static int drop_file(void **state) {
  (void)state;
  return unlink(path);
}

// cmocka sets a SIGBUS handler of its own around each test. So each body runs in a child that starts from the default, and
// that maps the program's first file.
#define NEED(condition)                                                                   \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                      \
      _exit(1);                                                                           \
    }                                                                                     \
  } while (0)

static int ended(pid_t pid) {
  int status = 0;
  assert_true(pid > 0);
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return status;
}

static void in_child(void (*body)(void)) {
  pid_t pid = fork();
  if (pid == 0) {
    signal(SIGBUS, SIG_DFL);
    body();
    _exit(0);
  }
  int status = ended(pid);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static unsigned char at(const cel_map *m, int64_t i) { return ((const volatile unsigned char *)m->data)[i]; }

static void do_lost_pages_read_as_zeros_and_are_told(void) {
  cel_map m, whole;
  cel_err err = {0};
  NEED(cel_map_open(path, &m, &err) == CEL_OK);
  NEED(cel_map_check(&m, path, &err) == CEL_OK);
  NEED(at(&m, 6 * page) == 'x');
  NEED(truncate(path, 2 * page + 100) == 0);
  NEED(cel_map_lost(m.guard) == -1);
  NEED(at(&m, 5 * page + 7) == 0);  // the first that is touched need not be the first that is lost
  NEED(cel_map_lost(m.guard) == 5 * page);
  NEED(at(&m, 3 * page) == 0);
  NEED(cel_map_lost(m.guard) == 3 * page);
  NEED(at(&m, PAGES * page - 1) == 0);
  NEED(at(&m, 2 * page) == 'x');
  NEED(cel_map_check(&m, path, &err) == CEL_IO);
  NEED(strstr(err.text, path));
  NEED(strstr(err.text, "became shorter"));
  // Grown again it is still not what it was, whatever its size says.
  NEED(truncate(path, PAGES * page) == 0);
  NEED(cel_map_check(&m, path, &err) == CEL_IO);
  NEED(strstr(err.text, "could not be read"));
  NEED(cel_map_open(path, &whole, &err) == CEL_OK);  // a new mapping is judged by itself
  NEED(cel_map_check(&whole, path, &err) == CEL_OK);
  cel_map_close(&whole);
  cel_map_close(&m);
}

// Within the last page the system itself gives zeros, without a word.
static void do_a_single_lost_byte_is_told(void) {
  cel_map m;
  cel_err err = {0};
  NEED(cel_map_open(path, &m, &err) == CEL_OK);
  NEED(truncate(path, PAGES * page - 1) == 0);
  NEED(at(&m, PAGES * page - 1) == 0);
  NEED(cel_map_check(&m, path, &err) == CEL_IO);
  cel_map_close(&m);
}

static void *touch_all(void *given) {
  const cel_map *m = given;
  unsigned sum = 0;
  for (int round = 0; round < 50; round++) {
    for (int64_t i = 0; i < m->bytes; i += page / 2) sum += at(m, i);
  }
  return sum ? given : NULL;
}

static void do_many_threads_may_hit_the_hole(void) {
  cel_map m;
  cel_err err = {0};
  pthread_t threads[4];
  NEED(cel_map_open(path, &m, &err) == CEL_OK);
  for (int i = 0; i < 4; i++) NEED(pthread_create(&threads[i], NULL, touch_all, &m) == 0);
  NEED(truncate(path, page) == 0);
  for (int i = 0; i < 4; i++) {
    void *result;
    NEED(pthread_join(threads[i], &result) == 0);
    NEED(result == &m);
  }
  NEED(at(&m, 2 * page) == 0);
  NEED(cel_map_check(&m, path, &err) == CEL_IO);
  cel_map_close(&m);
}

static void do_handles_are_used_again_and_their_number_is_bounded(void) {
  static int handles[CEL_MAPS_MOST];
  static const char nothing[1];
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < CEL_MAPS_MOST; i++) {
      NEED((handles[i] = cel_map_guard(nothing, 1)) >= 0);
      NEED(cel_map_lost(handles[i]) == -1);
    }
    cel_map m;
    cel_err err = {0};
    NEED(cel_map_guard(nothing, 1) == -1);
    NEED(cel_map_open(path, &m, &err) == CEL_IO);
    NEED(strstr(err.text, "4096 files"));
    for (int i = 0; i < CEL_MAPS_MOST; i++) cel_map_release(handles[i]);
  }
}

static void lost_pages_read_as_zeros_and_are_told(void **state) {
  (void)state;
  in_child(do_lost_pages_read_as_zeros_and_are_told);
}

static void a_single_lost_byte_is_told(void **state) {
  (void)state;
  in_child(do_a_single_lost_byte_is_told);
}

static void many_threads_may_hit_the_hole(void **state) {
  (void)state;
  in_child(do_many_threads_may_hit_the_hole);
}

static void handles_are_used_again_and_their_number_is_bounded(void **state) {
  (void)state;
  in_child(do_handles_are_used_again_and_their_number_is_bounded);
}

// ---- bus errors of others, each in a child ---------------------------------------------------------------

static void exit_7(int sig) {
  (void)sig;
  _exit(7);
}
static const void *fault_place;
static void exit_8(int sig, siginfo_t *info, void *context) {
  (void)sig, (void)context;
  _exit(info->si_addr == fault_place ? 8 : 9);
}

// Maps our file guarded, so that the handler stands, then reads a hole in a mapping of its own. How the child ended.
static int child(const struct sigaction *handler, bool raised) {
  pid_t pid = fork();
  if (pid == 0) {
    cel_map m;
    cel_err err = {0};
    if (handler) sigaction(SIGBUS, handler, NULL);
    else signal(SIGBUS, SIG_DFL);  // a sanitizer's own report is not what is looked at here
    if (cel_map_open(path, &m, &err) != CEL_OK) _exit(1);
    FILE *f = tmpfile();
    if (!f || ftruncate(fileno(f), page) != 0) _exit(2);
    void *own = mmap(NULL, (size_t)page, PROT_READ, MAP_SHARED, fileno(f), 0);
    if (own == MAP_FAILED || ftruncate(fileno(f), 0) != 0) _exit(3);
    fault_place = own;
    if (raised) raise(SIGBUS);
    else (void)*(volatile char *)own;
    _exit(4);  // went on
  }
  return ended(pid);
}

static void foreign_faults_go_where_they_went_before(void **state) {
  (void)state;
  struct sigaction simple = {.sa_handler = exit_7}, full = {.sa_sigaction = exit_8, .sa_flags = SA_SIGINFO};
  struct sigaction ignoring = {.sa_handler = SIG_IGN};
  int status = child(NULL, false);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
  status = child(NULL, true);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
  status = child(&simple, false);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  status = child(&full, false);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 8);
  status = child(&ignoring, false);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
  status = child(&ignoring, true);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(foreign_faults_go_where_they_went_before, make_file, drop_file),
      cmocka_unit_test_setup_teardown(lost_pages_read_as_zeros_and_are_told, make_file, drop_file),
      cmocka_unit_test_setup_teardown(a_single_lost_byte_is_told, make_file, drop_file),
      cmocka_unit_test_setup_teardown(many_threads_may_hit_the_hole, make_file, drop_file),
      cmocka_unit_test_setup_teardown(handles_are_used_again_and_their_number_is_bounded, make_file, drop_file),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
