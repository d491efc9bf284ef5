// Generations: run publishes the work by raising `generation`; a member that sees a new number runs the
// work and counts itself out of `running`. A member that has spun long enough goes to sleep on a condition;
// `sleepers` is raised before the last look at the generation, and run reads it after raising the
// generation, both sequentially consistent, so a wake-up cannot be lost.
#define _POSIX_C_SOURCE 200809L
#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cpu.h"
#include "base/macros.h"

#if defined(__x86_64__)
#include <immintrin.h>
static inline void relax(void) { _mm_pause(); }
#elif defined(__aarch64__)
static inline void relax(void) { __asm__ volatile("isb" ::: "memory"); }
#else
static inline void relax(void) {}
#endif

enum {
  MAX_MEMBERS = 256,
  CACHE_LINE = 64,
  SPINS = 4096,          // about 100 us: the gap between two steps of one answer
  SPINS_CROWDED = 16,    // more members than cores: whoever is waited for needs this core
  YIELDS = 512,          // after that, naps
  NAP_NS = 50 * 1000,
};

typedef struct member {
  cel_pool *pool;
  int index;
  pthread_t thread;
} member;

// What a member has given out of its pieces: generation, round and their number. Only the member begins a round; it and who
// helps it count on.
typedef struct given {
  _Alignas(CACHE_LINE) _Atomic uint64_t pieces;
} given;

struct cel_pool {
  int n, spins;
  bool stop;  // published by generation, like work and context
  cel_pool_work *work;
  void *context;
  pthread_mutex_t lock;
  pthread_cond_t wake;
  member *members;
  given *given;  // by member
  // Each on a line of its own: they are written by different threads.
  _Alignas(CACHE_LINE) atomic_uint generation;
  _Alignas(CACHE_LINE) atomic_int running;   // members 1.. still inside work
  _Alignas(CACHE_LINE) atomic_int sleepers;
  _Alignas(CACHE_LINE) atomic_int arrived;   // at the barrier
  _Alignas(CACHE_LINE) atomic_uint phase;    // of the barrier; raised by the last to arrive
};

// One step of waiting: pauses, then gives the core away, then naps.
static void wait_a_little(int step, int spins) {
  if (step < spins) {
    relax();
  } else if (step < spins + YIELDS) {
    sched_yield();
  } else {
    struct timespec nap = {0, NAP_NS};
    nanosleep(&nap, NULL);
  }
}

static void next_step(int *step, int spins) {
  if (*step < spins + YIELDS) ++*step;
}

void cel_pool_barrier(cel_pool *p, int index) {
  (void)index;
  if (p->n == 1) return;
  unsigned phase = atomic_load_explicit(&p->phase, memory_order_relaxed);
  if (atomic_fetch_add_explicit(&p->arrived, 1, memory_order_acq_rel) == p->n - 1) {
    atomic_store_explicit(&p->arrived, 0, memory_order_relaxed);
    atomic_store_explicit(&p->phase, phase + 1, memory_order_release);
    return;
  }
  for (int step = 0; atomic_load_explicit(&p->phase, memory_order_acquire) == phase; next_step(&step, p->spins))
    wait_a_little(step, p->spins);
}

enum { PIECE_BITS = 16, MOST_HELPED = 4 };
_Static_assert(CEL_POOL_MOST_PIECES < 1 << PIECE_BITS, "pieces are counted in so many bits");

// One more of the pieces of a round that has begun, or -1.
static int one_more(given *g, uint64_t round, int n) {
  uint64_t now = atomic_load_explicit(&g->pieces, memory_order_relaxed);
  do {
    if (now >> PIECE_BITS != round || (int)(now & CEL_POOL_MOST_PIECES) >= n) return -1;
  } while (!atomic_compare_exchange_weak_explicit(&g->pieces, &now, now + 1, memory_order_relaxed, memory_order_relaxed));
  return (int)(now & CEL_POOL_MOST_PIECES);
}

// Order comes from barriers and the end of the run: what a piece reads was there before the round, and nobody reads what
// it writes without waiting for everybody.
bool cel_pool_take(cel_pool *p, int index, uint16_t number, int n, cel_pool_piece *out) {
  const uint64_t generation = atomic_load_explicit(&p->generation, memory_order_relaxed), round = generation << PIECE_BITS | number;
  if (atomic_load_explicit(&p->given[index].pieces, memory_order_relaxed) >> PIECE_BITS != round) {
    atomic_store_explicit(&p->given[index].pieces, round << PIECE_BITS | 1, memory_order_relaxed);
    *out = (cel_pool_piece){index, 0};
    return true;
  }
  for (int i = 0; i <= CEL_MIN(MOST_HELPED, p->n - 1); i++) {
    const int owner = (index + i) % p->n, piece = one_more(&p->given[owner], round, n);
    if (piece < 0) continue;
    *out = (cel_pool_piece){owner, piece};
    return true;
  }
  return false;
}

// Returns when the generation is no longer `seen`.
static void wait_for_work(cel_pool *p, unsigned seen) {
  for (int i = 0; i < p->spins; i++) {
    if (atomic_load_explicit(&p->generation, memory_order_acquire) != seen) return;
    relax();
  }
  pthread_mutex_lock(&p->lock);
  atomic_fetch_add(&p->sleepers, 1);
  while (atomic_load(&p->generation) == seen) pthread_cond_wait(&p->wake, &p->lock);
  atomic_fetch_sub(&p->sleepers, 1);
  pthread_mutex_unlock(&p->lock);
}

static void publish(cel_pool *p) {
  atomic_fetch_add(&p->generation, 1);
  if (atomic_load(&p->sleepers) == 0) return;
  pthread_mutex_lock(&p->lock);
  pthread_cond_broadcast(&p->wake);
  pthread_mutex_unlock(&p->lock);
}

static void *member_main(void *argument) {
  member *m = argument;
  cel_pool *p = m->pool;
  for (unsigned seen = 0;; seen++) {
    wait_for_work(p, seen);
    if (p->stop) return NULL;
    p->work(p->context, m->index, p->n);
    atomic_fetch_sub_explicit(&p->running, 1, memory_order_release);
  }
}

void cel_pool_run(cel_pool *p, cel_pool_work *work, void *context) {
  p->work = work;
  p->context = context;
  atomic_store_explicit(&p->running, p->n - 1, memory_order_relaxed);
  publish(p);
  work(context, 0, p->n);
  for (int step = 0; atomic_load_explicit(&p->running, memory_order_acquire) != 0; next_step(&step, p->spins))
    wait_a_little(step, p->spins);
}

int cel_pool_members(const cel_pool *p) { return p->n; }

// Ends the first `started` members (those with a thread) and frees the pool.
static void dismantle(cel_pool *p, int started) {
  p->stop = true;
  publish(p);
  for (int i = 1; i < started; i++) pthread_join(p->members[i].thread, NULL);
  pthread_cond_destroy(&p->wake);
  pthread_mutex_destroy(&p->lock);
  free(p->members);
  free(p->given);
  free(p);
}

void cel_pool_free(cel_pool *p) {
  if (p) dismantle(p, p->n);
}

// All but the threads. NULL when memory is out.
static cel_pool *make(int n) {
  cel_pool *p = aligned_alloc(CACHE_LINE, (sizeof *p + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
  if (!p) return NULL;
  *p = (cel_pool){.n = n, .spins = n <= cel_cpu_cores() ? SPINS : SPINS_CROWDED};
  p->members = calloc((size_t)n, sizeof *p->members);
  p->given = aligned_alloc(CACHE_LINE, (size_t)n * sizeof *p->given);
  if (!p->members || !p->given) goto fail;
  memset(p->given, 0, (size_t)n * sizeof *p->given);
  if (pthread_mutex_init(&p->lock, NULL) != 0) goto fail;
  if (pthread_cond_init(&p->wake, NULL) == 0) return p;
  pthread_mutex_destroy(&p->lock);
fail:
  free(p->members);
  free(p->given);
  free(p);
  return NULL;
}

cel_status cel_pool_new(int n_members, cel_pool **out, cel_err *err) {
  if (n_members < 1 || n_members > MAX_MEMBERS)
    return cel_fail(err, CEL_INVALID, "thread pool: %d threads asked for, 1 to %d can be had", n_members,
                    (int)MAX_MEMBERS);
  cel_pool *p = make(n_members);
  if (!p) return cel_fail_oom(err, "the thread pool");
  for (int i = 1; i < n_members; i++) {
    p->members[i] = (member){.pool = p, .index = i};
    int failed = pthread_create(&p->members[i].thread, NULL, member_main, &p->members[i]);
    if (failed) {
      dismantle(p, i);
      return cel_fail(err, CEL_ENGINE, "thread pool: thread %d of %d could not be started (error %d); ask for fewer",
                      i + 1, n_members, failed);
    }
  }
  *out = p;
  return CEL_OK;
}
