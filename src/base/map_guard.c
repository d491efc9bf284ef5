#define _DEFAULT_SOURCE
#define _DARWIN_C_SOURCE
#include "base/map_guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/macros.h"

enum { FREE, TAKEN, LIVE };

typedef struct entry {
  atomic_int state;
  atomic_int_least64_t lost;  // -1: nothing
  atomic_uintptr_t begin;
  atomic_size_t bytes;
} entry;

// The process-wide part. A signal handler gets nothing from its caller, so it finds these here.
static entry entries[CEL_MAPS_MOST];
static atomic_int n_used;  // entries behind it were never taken
static atomic_size_t page_bytes;
static struct sigaction before;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void note_lost(entry *e, int64_t at) {
  int64_t known = atomic_load(&e->lost);
  while ((known < 0 || at < known) && !atomic_compare_exchange_weak(&e->lost, &known, at)) continue;
}

// Zero pages from the one at `at` to the end. All of the tail: a file that ends before this page has no later one either.
static bool patch(entry *e, uintptr_t begin, size_t bytes, uintptr_t at) {
  size_t page = atomic_load(&page_bytes);
  uintptr_t first = at - at % page;
  void *place = (void *)first;
  note_lost(e, (int64_t)(first - begin));
  return mmap(place, begin + bytes - first, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == place;
}

static bool is_ours(uintptr_t at) {
  int n = atomic_load(&n_used);
  for (int i = 0; i < n; i++) {
    entry *e = &entries[i];
    if (atomic_load(&e->state) != LIVE) continue;
    uintptr_t begin = atomic_load(&e->begin);
    size_t bytes = atomic_load(&e->bytes);
    if (at >= begin && at - begin < bytes) return patch(e, begin, bytes, at);
  }
  return false;
}

// Somebody else's: to the handler before ours; without one the default, which ends the process, when the read is tried again.
static void pass_on(int sig, siginfo_t *info, void *context) {
  if (before.sa_flags & SA_SIGINFO) {
    before.sa_sigaction(sig, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(sig);
  } else if (before.sa_handler == SIG_DFL || info->si_code > 0) {
    struct sigaction none = {.sa_handler = SIG_DFL};
    sigaction(sig, &none, NULL);
    raise(sig);  // waits until we return
  }
}

static void on_bus_error(int sig, siginfo_t *info, void *context) {
  int saved = errno;
  if (info->si_code <= 0 || !is_ours((uintptr_t)info->si_addr)) pass_on(sig, info, context);
  errno = saved;
}

static void set_handler(void) {
  long page = sysconf(_SC_PAGESIZE);
  atomic_store(&page_bytes, page > 0 ? (size_t)page : 4096);
  struct sigaction ours = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigemptyset(&ours.sa_mask);
  sigaction(SIGBUS, NULL, &before);  // known before the handler can run
  sigaction(SIGBUS, &ours, NULL);
}

int cel_map_guard(const void *data, size_t bytes) {
  pthread_once(&once, set_handler);
  for (int i = 0; i < CEL_MAPS_MOST; i++) {
    entry *e = &entries[i];
    int state = FREE;
    if (!atomic_compare_exchange_strong(&e->state, &state, TAKEN)) continue;
    atomic_store(&e->lost, -1);
    atomic_store(&e->begin, (uintptr_t)data);
    atomic_store(&e->bytes, bytes);
    atomic_store(&e->state, LIVE);
    int n = atomic_load(&n_used);
    while (n <= i && !atomic_compare_exchange_weak(&n_used, &n, i + 1)) continue;
    return i;
  }
  return -1;
}

void cel_map_release(int handle) { atomic_store(&entries[handle].state, FREE); }

int64_t cel_map_lost(int handle) { return atomic_load(&entries[handle].lost); }
