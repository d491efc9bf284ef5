// Allocations that fail: malloc and its kin of our own objects go through the test (the linker's --wrap). Included by the one
// file of a test program.
#ifndef CEL_TESTS_FAULT_STARVE_H
#define CEL_TESTS_FAULT_STARVE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/status.h"

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static long count, fail_at;  // fail_at 0: never; only touched while one thread runs

static int fails(void) { return ++count == fail_at; }
void *__wrap_malloc(size_t n) { return fails() ? NULL : __real_malloc(n); }
void *__wrap_calloc(size_t n, size_t size) { return fails() ? NULL : __real_calloc(n, size); }
void *__wrap_realloc(void *p, size_t n) { return fails() ? NULL : __real_realloc(p, n); }

// Makes each allocation of a life fail in turn, the first 300 and then about `most` of the others. Whatever failed is told as
// want of memory. Not every lost allocation is fatal (a hint may be dropped), but most are.
static void starve(cel_status lived(cel_err *err), long most, long least_refused) {
  cel_err err = {0};
  count = fail_at = 0;
  if (lived(&err) != CEL_OK) fail_msg("%s", err.text);
  long all = count, refused = 0, step = all > most ? all / most : 1;
  for (long at = 1; at <= all; at += at < 300 ? 1 : step) {
    err = (cel_err){0};
    count = 0;
    fail_at = at;
    cel_status s = lived(&err);
    fail_at = 0;
    if (s == CEL_OK) continue;
    refused++;
    if (s != CEL_OOM || !strstr(err.text, "memory")) fail_msg("allocation %ld of %ld: status %d: %s", at, all, (int)s, err.text);
  }
  assert_true(refused >= least_refused);
}

#endif
