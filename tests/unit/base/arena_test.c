#include "base/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void pieces_are_zeroed_aligned_and_apart(void **state) {
  (void)state;
  enum { N = 400 };
  cel_arena a;
  unsigned char *p[N];
  cel_arena_init(&a);
  for (size_t i = 0; i < N; i++) {
    size_t bytes = i * 37 % 5000;
    p[i] = cel_arena_alloc(&a, bytes);
    assert_non_null(p[i]);
    assert_int_equal((uintptr_t)p[i] % 16, 0);
    for (size_t k = 0; k < bytes; k++) assert_int_equal(p[i][k], 0);
    memset(p[i], (int)(i % 255 + 1), bytes);
  }
  for (size_t i = 0; i < N; i++)
    for (size_t k = 0; k < i * 37 % 5000; k++) assert_int_equal(p[i][k], i % 255 + 1);
  cel_arena_deinit(&a);
  assert_int_equal(a.total_bytes, 0);
}

static void reset_keeps_one_block_and_zeroes_again(void **state) {
  (void)state;
  cel_arena a;
  cel_arena_init(&a);
  cel_arena_reset(&a);
  for (int i = 0; i < 100; i++) memset(cel_arena_alloc(&a, 1000), 0xFF, 1000);
  size_t before = a.total_bytes;
  cel_arena_reset(&a);
  assert_true(a.total_bytes > 0 && a.total_bytes < before);
  size_t kept = a.total_bytes;
  unsigned char *p = cel_arena_alloc(&a, 1000);
  for (int k = 0; k < 1000; k++) assert_int_equal(p[k], 0);
  assert_int_equal(a.total_bytes, kept);
  cel_arena_deinit(&a);
}

static void absurd_sizes_give_null(void **state) {
  (void)state;
  cel_arena a;
  cel_arena_init(&a);
  assert_null(cel_arena_alloc(&a, SIZE_MAX));
  assert_null(cel_arena_array(&a, SIZE_MAX / 4, 8));
  assert_null(cel_arena_array(&a, SIZE_MAX, SIZE_MAX));
  assert_non_null(cel_arena_array(&a, 0, SIZE_MAX));
  assert_non_null(cel_arena_alloc(&a, 0));
  cel_arena_deinit(&a);
}

static void text_is_copied_and_printed(void **state) {
  (void)state;
  cel_arena a = {0};  // usable without init
  assert_string_equal(cel_arena_dup(&a, "layers", 5), "layer");
  assert_string_equal(cel_arena_dup(&a, NULL, 0), "");
  assert_string_equal(cel_arena_printf(&a, "%s.%d", "model", 12), "model.12");
  char long_text[9000];
  memset(long_text, 'x', sizeof long_text - 1);
  long_text[sizeof long_text - 1] = 0;
  assert_string_equal(cel_arena_printf(&a, "%s", long_text), long_text);
  cel_arena_deinit(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(pieces_are_zeroed_aligned_and_apart),
    cmocka_unit_test(reset_keeps_one_block_and_zeroes_again),
    cmocka_unit_test(absurd_sizes_give_null),
    cmocka_unit_test(text_is_copied_and_printed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
