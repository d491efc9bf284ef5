// The byte-pair model by itself: which joins come first, unknown characters, cutting long texts.
#include "unit/text/text_fixtures.h"

#include "text/model.h"

typedef struct fixture {
  cel_arena arena;
  cel_model model;
  cel_bpe *bpe;  // the model's
} fixture;

// Tokens 0, 1, … from `tokens`; merges "a b" by rank from `merges` (NULL-terminated lists).
static void make(fixture *f, const char *const *tokens, const char *const *merges) {
  cel_buf text = {0};
  int64_t n = 0, n_merges = 0;
  *f = (fixture){.model = {.bpe = {.unk = -1}}};
  f->bpe = &f->model.bpe;
  cel_arena_init(&f->arena);
  for (; tokens[n]; n++) cel_buf_addz(&text, tokens[n]);
  char *p = cel_arena_dup(&f->arena, text.p, text.n);
  assert_true(cel_vocab_init(&f->model.vocab, &f->arena, n, p));
  for (int64_t i = 0; i < n; p += strlen(tokens[i++])) {
    assert_true(cel_vocab_put(&f->model.vocab, (cel_str){p, strlen(tokens[i])}, (int32_t)i));
  }
  while (merges && merges[n_merges]) n_merges++;
  assert_true(cel_bpe_merges_init(f->bpe, &f->arena, n_merges));
  for (int64_t i = 0; i < n_merges; i++) {
    char a[32], b[32], ab[64];
    assert_int_equal(sscanf(merges[i], "%31s %31s", a, b), 2);
    snprintf(ab, sizeof ab, "%s%s", a, b);
    cel_bpe_add_merge(f->bpe, cel_vocab_get(&f->model.vocab, cel_str_of(a)), cel_vocab_get(&f->model.vocab, cel_str_of(b)),
                      (int32_t)i, cel_vocab_get(&f->model.vocab, cel_str_of(ab)), true);
  }
  assert_true(cel_model_index(&f->model, &f->arena));
  cel_buf_deinit(&text);
}

static void gives(fixture *f, const char *text, const int32_t *want, size_t n) {
  cel_model_scratch s = {0};
  cel_err err = {0};
  for (int round = 0; round < 3; round++) {  // the second fills the memory of pieces, the third uses it
    cel_ids ids = {0};
    if (round) cel_model_cache_on(&s);
    assert_int_equal(cel_model_encode(&f->model, &s, cel_str_of(text), &ids, &err), CEL_OK);
    ids_are("bpe", cel_str_of(text), ids.p, (int64_t)ids.n, want, n);
    cel_ids_deinit(&ids);
  }
  cel_model_scratch_deinit(&s);
}
#define GIVES(f, text, ...) gives(f, text, (int32_t[]){__VA_ARGS__}, sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

static void the_best_rank_joins_first_and_of_equal_ones_the_left(void **state) {
  (void)state;
  fixture f;
  make(&f, (const char *const[]){"a", "b", "c", "ab", "bc", "aa", "abc", NULL},
       (const char *const[]){"b c", "a b", "a a", "ab c", NULL});
  GIVES(&f, "abc", 0, 4);     // b c comes before a b
  GIVES(&f, "abab", 3, 3);
  GIVES(&f, "aaa", 5, 0);     // the left pair
  GIVES(&f, "aabbc", 0, 3, 4);
  GIVES(&f, "c", 2);
  cel_arena_deinit(&f.arena);
}

static void a_whole_piece_is_a_token_with_ignore_merges(void **state) {
  (void)state;
  fixture f;
  make(&f, (const char *const[]){"a", "b", "ab", "aba", NULL}, (const char *const[]){"a b", NULL});
  GIVES(&f, "aba", 2, 0);
  f.bpe->ignore_merges = true;
  GIVES(&f, "aba", 3);
  GIVES(&f, "abab", 2, 2);
  cel_arena_deinit(&f.arena);
}

static void unknown_characters_are_dropped_marked_or_fused(void **state) {
  (void)state;
  fixture f;
  make(&f, (const char *const[]){"a", "?", "<0xE2>", "<0x82>", "<0xAC>", NULL}, NULL);
  GIVES(&f, "axya", 0, 0);
  f.bpe->unk = 1;
  GIVES(&f, "axya", 0, 1, 1, 0);
  f.bpe->fuse_unk = true;
  GIVES(&f, "axya", 0, 1, 0);
  GIVES(&f, "a€", 0, 1);
  f.bpe->byte_fallback = true;
  GIVES(&f, "a€", 0, 2, 3, 4);
  GIVES(&f, "é", 1);  // one of its bytes has no token
  cel_arena_deinit(&f.arena);
}

static void affixes_are_part_of_a_characters_token(void **state) {
  (void)state;
  fixture f;
  make(&f, (const char *const[]){"a", "##a", "##a$", "a$", "##b", NULL}, NULL);
  f.bpe->prefix = CEL_STR("##");
  f.bpe->suffix = CEL_STR("$");
  GIVES(&f, "aaa", 0, 1, 2);
  GIVES(&f, "a", 3);
  GIVES(&f, "aba", 0, 4, 2);
  cel_arena_deinit(&f.arena);
}

static void by_score_the_best_token_joins_first(void **state) {
  (void)state;
  fixture f;
  make(&f, (const char *const[]){"a", "b", "c", "ab", "bc", "abc", "xy", NULL}, NULL);
  assert_true(cel_bpe_set_scores(f.bpe, &f.arena, (const float[]){0, 0, 0, -2, -1, -3, -4}, 7));
  GIVES(&f, "abc", 5);       // bc, then a with bc: the text of a token, whatever its parts
  GIVES(&f, "abab", 3, 3);
  GIVES(&f, "axyb", 0, 6, 1);  // x and y are no tokens, xy is
  cel_arena_deinit(&f.arena);
}

static void cuts_at_spaces_change_nothing(void **state) {
  (void)state;
  const char *const tokens[] = {"a", "b", "▁", "▁a", "ab", "b▁", "▁▁", "▁ab", "b▁a", "c", NULL};
  const char *const merges[] = {"b ▁", "▁ a", "a b", "▁a b", "b▁ a", "▁ ▁", NULL};
  fixture f;
  make(&f, tokens, merges);
  assert_true(f.model.cuts);  // but not behind b, which joins with a space
  const char *const texts[] = {"a▁ab▁a", "ab▁ab▁▁a▁c▁", "▁▁▁a▁a▁a", "c▁c▁ab▁ab▁b", "ba▁ab▁"};
  for (int i = 0; i < CEL_COUNT(texts); i++) {
    cel_model_scratch s = {0};
    cel_ids cut = {0}, whole = {0};
    f.model.cuts = true;
    assert_int_equal(cel_model_encode(&f.model, &s, cel_str_of(texts[i]), &cut, NULL), CEL_OK);
    f.model.cuts = false;
    assert_int_equal(cel_model_encode(&f.model, &s, cel_str_of(texts[i]), &whole, NULL), CEL_OK);
    ids_are("cut", cel_str_of(texts[i]), cut.p, (int64_t)cut.n, whole.p, whole.n);
    cel_ids_deinit(&cut);
    cel_ids_deinit(&whole);
    cel_model_scratch_deinit(&s);
  }
  cel_arena_deinit(&f.arena);
}

static void a_vocabulary_finds_what_it_holds(void **state) {
  (void)state;
  cel_arena arena;
  cel_vocab v;
  char text[4000];
  cel_arena_init(&arena);
  assert_true(cel_vocab_init(&v, &arena, 1000, text));
  for (int i = 0; i < 1000; i++) {
    for (int k = 0, d = 1000; k < 4; k++, d /= 10) text[4 * i + k] = (char)('0' + i / d % 10);
    assert_true(cel_vocab_put(&v, (cel_str){text + 4 * i, 4}, i * 3));
  }
  assert_false(cel_vocab_put(&v, (cel_str){text, 4}, 1));  // full, and there already
  for (int i = 0; i < 1000; i++) assert_int_equal(cel_vocab_get(&v, (cel_str){text + 4 * i, 4}), i * 3);
  assert_int_equal(cel_vocab_get(&v, CEL_STR("x")), -1);
  assert_int_equal(cel_vocab_get(&v, CEL_STR("00000")), -1);
  assert_false(cel_vocab_init(&v, &arena, -1, text));
  assert_false(cel_vocab_init(&v, &arena, INT64_MAX, text));
  cel_arena_deinit(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_best_rank_joins_first_and_of_equal_ones_the_left),
      cmocka_unit_test(a_whole_piece_is_a_token_with_ignore_merges),
      cmocka_unit_test(unknown_characters_are_dropped_marked_or_fused),
      cmocka_unit_test(affixes_are_part_of_a_characters_token),
      cmocka_unit_test(by_score_the_best_token_joins_first),
      cmocka_unit_test(cuts_at_spaces_change_nothing),
      cmocka_unit_test(a_vocabulary_finds_what_it_holds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
