#define _POSIX_C_SOURCE 200809L
#include "base/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"

enum { ROUNDS = 200, MOST = 64 };

typedef struct relay {
  cel_pool *pool;
  long board[MOST];  // written by its member only, read by all between barriers
  long bad[MOST];
  int rounds;
} relay;

// Each round every member writes its slot, meets, checks all slots, meets again.
static void run_relay(void *context, int member, int n) {
  relay *r = context;
  for (int round = 1; round <= r->rounds; round++) {
    r->board[member] = (long)round * 1000 + member;
    cel_pool_barrier(r->pool, member);
    for (int i = 0; i < n; i++) r->bad[member] += r->board[i] != (long)round * 1000 + i;
    cel_pool_barrier(r->pool, member);
  }
}

static cel_pool *new_pool(int n) {
  cel_pool *pool = NULL;
  cel_err err;
  assert_int_equal(cel_pool_new(n, &pool, &err), CEL_OK);
  assert_int_equal(cel_pool_members(pool), n);
  return pool;
}

static void nobody_passes_a_barrier_early(void **state) {
  (void)state;
  static const int sizes[] = {1, 2, 3, 8, MOST};
  for (int i = 0; i < CEL_COUNT(sizes); i++) {
    relay r = {.pool = new_pool(sizes[i]), .rounds = sizes[i] > 8 ? 10 : ROUNDS};
    cel_pool_run(r.pool, run_relay, &r);
    for (int m = 0; m < sizes[i]; m++) assert_int_equal(r.bad[m], 0);
    cel_pool_free(r.pool);
  }
}

typedef struct tally {
  int calls[MOST];
  int n_seen[MOST];
} tally;

static void count_call(void *context, int member, int n) {
  tally *t = context;
  t->calls[member]++;
  t->n_seen[member] = n;
}

static void every_member_runs_once_per_call(void **state) {
  (void)state;
  static const int sizes[] = {1, 2, 5, 17};
  for (int i = 0; i < CEL_COUNT(sizes); i++) {
    tally t = {0};
    cel_pool *pool = new_pool(sizes[i]);
    for (int round = 0; round < 50; round++) cel_pool_run(pool, count_call, &t);
    for (int m = 0; m < MOST; m++) {
      assert_int_equal(t.calls[m], m < sizes[i] ? 50 : 0);
      assert_int_equal(t.n_seen[m], m < sizes[i] ? sizes[i] : 0);
    }
    cel_pool_free(pool);
  }
}

static void sleeping_members_wake_for_the_next_call(void **state) {
  (void)state;
  tally t = {0};
  cel_pool *pool = new_pool(4);
  struct timespec pause = {0, 20 * 1000 * 1000};  // far beyond the spinning
  for (int round = 0; round < 5; round++) {
    nanosleep(&pause, NULL);
    cel_pool_run(pool, count_call, &t);
  }
  for (int m = 0; m < 4; m++) assert_int_equal(t.calls[m], 5);
  cel_pool_free(pool);
}

static void an_idle_pool_uses_no_cpu(void **state) {
  (void)state;
  tally t = {0};
  cel_pool *pool = new_pool(4);
  cel_pool_run(pool, count_call, &t);
  struct timespec settle = {0, 100 * 1000 * 1000}, rest = {0, 300 * 1000 * 1000}, a, b;
  nanosleep(&settle, NULL);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
  nanosleep(&rest, NULL);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
  double used_ms = (double)(b.tv_sec - a.tv_sec) * 1e3 + (double)(b.tv_nsec - a.tv_nsec) * 1e-6;
  assert_true(used_ms < 30);
  cel_pool_free(pool);
}

enum { PIECES = 37 };

typedef struct dealt {
  cel_pool *pool;
  int rounds;
  atomic_int taken[ROUNDS][MOST][PIECES];
  int own_out_of_order[MOST], by_others[MOST], late;  // late: a member that takes its time; -1: none
} dealt;

static void nap_ms(long ms) { nanosleep(&(struct timespec){0, ms * 1000 * 1000}, NULL); }

// Rounds follow one another without a barrier: members may be in different ones.
static void take_all(void *context, int member, int n) {
  (void)n;
  dealt *d = context;
  if (d->late >= 0 && member != d->late) nap_ms(10);  // who has not begun is not helped
  for (int round = 0; round < d->rounds; round++) {
    cel_pool_piece piece;
    int last = -1;
    while (cel_pool_take(d->pool, member, (uint16_t)round, PIECES, &piece)) {
      atomic_fetch_add(&d->taken[round][piece.owner][piece.index], 1);
      if (piece.owner == member) {
        d->own_out_of_order[member] += piece.index <= last;
        last = piece.index;
        if (member == d->late) nap_ms(2);
      } else {
        d->by_others[member]++;
      }
    }
  }
}

static void every_piece_is_given_out_once(void **state) {
  (void)state;
  static const struct {
    int members, rounds;
  } of[] = {{1, 1}, {1, ROUNDS}, {2, 1}, {2, ROUNDS}, {3, ROUNDS}, {8, ROUNDS}, {17, 20}};
  dealt *d = calloc(1, sizeof *d);
  assert_non_null(d);
  for (int i = 0; i < CEL_COUNT(of); i++) {
    const int members = of[i].members;
    *d = (dealt){.pool = new_pool(members), .rounds = of[i].rounds, .late = -1};
    for (int run = 1; run <= 3; run++) {  // numbers begin anew with each run
      cel_pool_run(d->pool, take_all, d);
      for (int round = 0; round < d->rounds; round++)
        for (int m = 0; m < members; m++)
          for (int k = 0; k < PIECES; k++) assert_int_equal(atomic_load(&d->taken[round][m][k]), run);
    }
    for (int m = 0; m < members; m++) assert_int_equal(d->own_out_of_order[m], 0);
    cel_pool_free(d->pool);
  }
  free(d);
}

static void who_is_done_helps_who_is_late(void **state) {
  (void)state;
  dealt *d = calloc(1, sizeof *d);
  assert_non_null(d);
  *d = (dealt){.pool = new_pool(3), .rounds = 1, .late = 1};
  for (int run = 0; run < 100 && d->by_others[0] + d->by_others[2] == 0; run++) cel_pool_run(d->pool, take_all, d);
  assert_true(d->by_others[0] + d->by_others[2] > 0);
  cel_pool_free(d->pool);
  free(d);
}

static void absurd_sizes_are_refused(void **state) {
  (void)state;
  static const int sizes[] = {0, -1, 257, 1 << 30};
  for (int i = 0; i < CEL_COUNT(sizes); i++) {
    cel_pool *pool = NULL;
    cel_err err;
    assert_int_equal(cel_pool_new(sizes[i], &pool, &err), CEL_INVALID);
    assert_null(pool);
    assert_non_null(strstr(err.text, "1 to 256"));
  }
  cel_pool_free(NULL);
}

static void the_clock_moves_and_memory_is_counted(void **state) {
  (void)state;
  double before = cel_now_ms();
  struct timespec pause = {0, 5 * 1000 * 1000};
  nanosleep(&pause, NULL);
  assert_true(cel_now_ms() - before >= 4.9);
  assert_true(cel_process_age_ms() >= 0 && cel_process_age_ms() < 600e3);
  assert_true(cel_peak_rss_bytes() > 100 * 1024);
  assert_true(cel_current_rss_bytes() > 100 * 1024);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(nobody_passes_a_barrier_early),
    cmocka_unit_test(every_member_runs_once_per_call),
    cmocka_unit_test(sleeping_members_wake_for_the_next_call),
    cmocka_unit_test(an_idle_pool_uses_no_cpu),
    cmocka_unit_test(every_piece_is_given_out_once),
    cmocka_unit_test(who_is_done_helps_who_is_late),
    cmocka_unit_test(absurd_sizes_are_refused),
    cmocka_unit_test(the_clock_moves_and_memory_is_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
