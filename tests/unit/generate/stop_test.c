// Stop strings over a stream of pieces.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "generate/stop.h"

enum { STOPS_MOST = 4 };

// Feeds the pieces one by one and writes what came out of each, with '|' behind it, and of the end: "a|b||".
static const char *fed(const char *const *stops, const char *const *pieces, char out[256]) {
  cel_str strings[STOPS_MOST];
  int n = 0;
  for (; stops[n]; n++) strings[n] = cel_str_of(stops[n]);
  cel_stop s;
  cel_buf b = {0};
  cel_stop_init(&s, strings, n);
  for (int i = 0; pieces[i]; i++) {
    cel_stop_push(&s, cel_str_of(pieces[i]), &b);
    cel_buf_addc(&b, '|');
  }
  cel_stop_finish(&s, &b);
  if (s.hit) cel_buf_addz(&b, "!");
  cel_stop_deinit(&s);
  assert_false(b.failed);
  snprintf(out, 256, "%s", b.p ? b.p : "");
  cel_buf_deinit(&b);
  return out;
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})
#define assert_fed(stops, pieces, want)              \
  do {                                               \
    char text[256];                                  \
    assert_string_equal(fed(stops, pieces, text), want); \
  } while (0)

static void without_stops_text_passes_at_once(void **state) {
  (void)state;
  const char *const none[] = {NULL};
  assert_fed(none, LIST("ab", "", "c"), "ab||c|");
}

static void stop_inside_a_piece_ends_the_text_before_it(void **state) {
  (void)state;
  assert_fed(LIST("lo"), LIST("hello world", "more"), "hel||!");
}

static void stop_over_pieces_shows_none_of_its_parts(void **state) {
  (void)state;
  assert_fed(LIST("8, 9"), LIST(" 7", ", ", "8", ",", " ", "9", "!"), " 7|, |||||" "|!");
}

static void tail_that_turns_out_harmless_comes_late(void **state) {
  (void)state;
  assert_fed(LIST("stop"), LIST("a st", "art"), "a |start|");
  assert_fed(LIST("stop"), LIST("a sto"), "a |sto");
}

static void longest_tail_that_may_begin_a_stop_is_held(void **state) {
  (void)state;
  assert_fed(LIST("c", "abcd"), LIST("xab", "e"), "x|abe|");
  assert_fed(LIST("aab"), LIST("aaa", "ab"), "a|a|!");  // the hold moves on by one when the match breaks
  assert_fed(LIST("abab!"), LIST("aba", "bab", "!"), "|ab||!");
}

static void earliest_stop_counts(void **state) {
  (void)state;
  assert_fed(LIST("d", "bc"), LIST("abcd"), "a|!");
  assert_fed(LIST("bc", "d"), LIST("adbc"), "a|!");
}

// "bc" is whole while "abcd" might still come: the earlier beginning is waited for.
static void overlapping_stops_wait_for_the_earlier_one(void **state) {
  (void)state;
  assert_fed(LIST("abcd", "bc"), LIST("abc", "d"), "||!");
  assert_fed(LIST("abcd", "bc"), LIST("abc", "x"), "|a|!");
  assert_fed(LIST("abcd", "bc"), LIST("abc"), "|a!");
}

static void stop_that_begins_another_is_enough(void **state) {
  (void)state;
  assert_fed(LIST("ab", "abc"), LIST("xab", "c"), "x||!");
}

static void nothing_comes_after_a_stop(void **state) {
  (void)state;
  assert_fed(LIST("."), LIST("a.", "b", "c.d"), "a|||!");
}

static void stop_at_the_very_beginning_leaves_nothing(void **state) {
  (void)state;
  assert_fed(LIST(" 6"), LIST(" ", "6"), "||!");
}

static void stops_hold_bytes_of_any_value(void **state) {
  (void)state;
  cel_str stop = {"a\0b", 3};
  cel_stop s;
  cel_buf b = {0};
  cel_stop_init(&s, &stop, 1);
  cel_stop_push(&s, (cel_str){"xa\0", 3}, &b);
  cel_stop_push(&s, (cel_str){"by", 2}, &b);
  assert_true(s.hit);
  cel_stop_finish(&s, &b);
  assert_int_equal(b.n, 1);
  cel_stop_deinit(&s);
  cel_buf_deinit(&b);
  assert_fed(LIST("\xE6\xAD\xAA"), LIST("a\xE6", "\xAD", "\xAA"), "a|||!");
}

// Against the definition: the text up to the first place where any stop stands, whatever the pieces are.
static void any_cut_of_the_text_gives_the_same(void **state) {
  (void)state;
  static const char text[] = "abacabadabacabae";
  const char *const stops[] = {"cabae", "dab", "abad", NULL};
  cel_str strings[] = {CEL_STR("cabae"), CEL_STR("dab"), CEL_STR("abad")};
  const char *first = NULL;
  for (int i = 0; stops[i]; i++) {
    const char *p = strstr(text, stops[i]);
    if (p && (!first || p < first)) first = p;
  }
  size_t n = strlen(text);
  for (uint32_t cuts = 0; cuts < 1u << (n - 1); cuts++) {
    cel_stop s;
    cel_buf b = {0};
    cel_stop_init(&s, strings, CEL_COUNT(strings));
    size_t from = 0;
    for (size_t i = 1; i <= n; i++) {
      if (i < n && !(cuts >> (i - 1) & 1)) continue;
      cel_stop_push(&s, (cel_str){text + from, i - from}, &b);
      from = i;
    }
    cel_stop_finish(&s, &b);
    assert_true(s.hit);
    assert_int_equal(b.n, first - text);
    assert_memory_equal(b.p, text, b.n);
    cel_stop_deinit(&s);
    cel_buf_deinit(&b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_stops_text_passes_at_once),
      cmocka_unit_test(stop_inside_a_piece_ends_the_text_before_it),
      cmocka_unit_test(stop_over_pieces_shows_none_of_its_parts),
      cmocka_unit_test(tail_that_turns_out_harmless_comes_late),
      cmocka_unit_test(longest_tail_that_may_begin_a_stop_is_held),
      cmocka_unit_test(earliest_stop_counts),
      cmocka_unit_test(overlapping_stops_wait_for_the_earlier_one),
      cmocka_unit_test(stop_that_begins_another_is_enough),
      cmocka_unit_test(nothing_comes_after_a_stop),
      cmocka_unit_test(stop_at_the_very_beginning_leaves_nothing),
      cmocka_unit_test(stops_hold_bytes_of_any_value),
      cmocka_unit_test(any_cut_of_the_text_gives_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
