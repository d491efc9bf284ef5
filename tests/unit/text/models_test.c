// Unigram, WordPiece and longest-token-first by themselves, and the GGUF vocabularies made of them.
#include "unit/text/text_fixtures.h"

#include "text/gguf_pre.h"
#include "text/model.h"
#include "text/steps.h"

// --- by themselves ------------------------------------------------------------------------------------

typedef struct fixture {
  cel_arena arena;
  cel_model model;
  double scores[32];
} fixture;

static void add_tokens(fixture *f, const char *const *tokens) {
  cel_buf text = {0};
  int64_t n = 0;
  cel_arena_init(&f->arena);
  for (; tokens[n]; n++) cel_buf_addz(&text, tokens[n]);
  char *p = cel_arena_dup(&f->arena, text.p, text.n);
  assert_true(cel_vocab_init(&f->model.vocab, &f->arena, n, p));
  for (int64_t i = 0; i < n; p += strlen(tokens[i++])) {
    assert_true(cel_vocab_put(&f->model.vocab, (cel_str){p, strlen(tokens[i])}, (int32_t)i));
  }
  cel_buf_deinit(&text);
}

static void make_unigram(fixture *f, const char *const *tokens, const double *scores, int n, int32_t unk) {
  *f = (fixture){.model = {.kind = CEL_MODEL_UNIGRAM}};
  add_tokens(f, tokens);
  memcpy(f->scores, scores, (size_t)n * sizeof *scores);
  f->model.unigram = (cel_unigram){.scores = f->scores, .n_scores = n, .unk = unk};
  assert_true(cel_model_index(&f->model, &f->arena));
}

static void make_words(fixture *f, const char *const *tokens, cel_wordpiece how) {
  *f = (fixture){.model = {.kind = CEL_MODEL_WORDPIECE, .words = how}};
  add_tokens(f, tokens);
  assert_true(cel_model_index(&f->model, &f->arena));
}

static void gives(fixture *f, const char *text, const int32_t *want, size_t n) {
  cel_model_scratch s = {0};
  cel_err err = {0};
  for (int round = 0; round < 3; round++) {  // the second fills the memory of pieces, the third uses it
    cel_ids ids = {0};
    if (round) cel_model_cache_on(&s);
    if (cel_model_encode(&f->model, &s, cel_str_of(text), &ids, &err) != CEL_OK) fail_msg("%s: %s", text, err.text);
    ids_are("model", cel_str_of(text), ids.p, (int64_t)ids.n, want, n);
    cel_ids_deinit(&ids);
  }
  cel_model_scratch_deinit(&s);
}
#define GIVES(f, text, ...) gives(f, text, (int32_t[]){__VA_ARGS__}, sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

static void fails(fixture *f, const char *text, const char *says) {
  cel_model_scratch s = {0};
  cel_ids ids = {0};
  cel_err err = {0};
  assert_int_equal(cel_model_encode(&f->model, &s, cel_str_of(text), &ids, &err), CEL_UNSUPPORTED);
  if (!strstr(err.text, says)) fail_msg("\"%s\", right is \"%s\"", err.text, says);
  cel_ids_deinit(&ids);
  cel_model_scratch_deinit(&s);
}

static void the_best_sum_of_scores_wins_and_of_equal_ones_the_longer_token(void **state) {
  (void)state;
  fixture f;
  const char *const tokens[] = {"?", "a", "b", "ab", "bc", "c", "abc", "é", "éé", NULL};
  make_unigram(&f, tokens, (const double[]){0, -1, -1, -3, -1, -1, -2, -1, -2}, 9, 0);
  GIVES(&f, "ab", 1, 2);        // -2 beats -3
  GIVES(&f, "abc", 6);          // abc -2, a bc -2, a b c -3: the one that begins first
  GIVES(&f, "bc", 4);
  GIVES(&f, "ééé", 7, 8);       // é éé and éé é are the same: the last token is the longer
  cel_arena_deinit(&f.arena);
}

static void unknown_characters_are_one_token_or_their_bytes(void **state) {
  (void)state;
  fixture f;
  const char *const tokens[] = {"?", "a", "xy", "<0xC3>", "<0xA9>", "▁", "z▁", NULL};
  const double scores[] = {0, -1, -1, 0, 0, -2, -1};
  make_unigram(&f, tokens, scores, 7, 0);
  GIVES(&f, "aqwa", 1, 0, 1);
  GIVES(&f, "xy", 2);           // neither x nor y is a token
  GIVES(&f, "x", 0);
  GIVES(&f, "aé", 1, 0);
  GIVES(&f, "z▁q▁a", 6, 0, 5, 1);
  f.model.unigram.byte_fallback = true;
  GIVES(&f, "aéa", 1, 3, 4, 1);
  GIVES(&f, "éq", 0);           // together they have no bytes
  f.model.unigram.unk = -1;
  fails(&f, "aq", "no token for U+0071");
  cel_arena_deinit(&f.arena);
}

static void special_tokens_never_come_out_of_text(void **state) {
  (void)state;
  fixture f;
  const uint8_t barred[] = {1 << 1};
  const char *const tokens[] = {"?", "<s>", "<", "s", ">", "##s>", NULL};
  make_unigram(&f, tokens, (const double[]){0, 0, -9, -9, -9, -9}, 6, 0);
  GIVES(&f, "<s>", 1);
  f.model.unigram.barred = barred;
  GIVES(&f, "<s>", 2, 3, 4);
  cel_arena_deinit(&f.arena);
  make_words(&f, tokens, (cel_wordpiece){.prefix = CEL_STR("##"), .most_chars = 100});
  GIVES(&f, "<s>", 1);
  f.model.words.barred = barred;
  GIVES(&f, "<s>", 2, 5);
  cel_arena_deinit(&f.arena);
}

static void scores_at_the_limits_of_doubles_do_no_harm(void **state) {
  (void)state;
  fixture f;
  const char *const tokens[] = {"?", "a", "b", "aa", NULL};
  make_unigram(&f, tokens, (const double[]){0, -1.7e308, 1.7e308, -1.7e308}, 4, 0);
  cel_model_scratch s = {0};
  cel_ids ids = {0};
  assert_int_equal(cel_model_encode(&f.model, &s, CEL_STR("aaaabbbbaaqq"), &ids, NULL), CEL_OK);
  assert_true(ids.n > 0 && ids.n <= 12);
  cel_ids_deinit(&ids);
  cel_model_scratch_deinit(&s);
  cel_arena_deinit(&f.arena);
}

static void a_word_is_cut_longest_token_first_or_unknown_as_a_whole(void **state) {
  (void)state;
  fixture f;
  const char *const tokens[] = {"[UNK]", "un", "##aff", "##able", "##a", "##ff", "unaff", "é", "##é", NULL};
  make_words(&f, tokens, (cel_wordpiece){.unk = 0, .prefix = CEL_STR("##"), .most_chars = 8});
  GIVES(&f, "unable", 1, 3);
  GIVES(&f, "unaffa", 6, 4);
  GIVES(&f, "unaffab", 0);      // what fits before the b does not count
  GIVES(&f, "aff", 0);          // no word begins so
  GIVES(&f, "##aff", 2);
  GIVES(&f, "éééééééé", 7, 8, 8, 8, 8, 8, 8, 8);
  GIVES(&f, "ééééééééé", 0);    // nine characters
  f.model.words.unk = -1;
  fails(&f, "x", "no token for \"x\"");
  cel_arena_deinit(&f.arena);
}

// --- GGUF ---------------------------------------------------------------------------------------------

enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, BYTE = 6 };

static cel_tokenizer *from_gguf(cel_gguf_vocab *v, const char *model, const char *const *tokens) {
  static cel_str list[512];
  cel_tokenizer *t;
  cel_err err = {0};
  for (v->n_tokens = 0; tokens[v->n_tokens]; v->n_tokens++) list[v->n_tokens] = cel_str_of(tokens[v->n_tokens]);
  v->tokens = list;
  v->model = cel_str_of(model);
  if (cel_tokenizer_from_gguf(v, "m.gguf", &t, &err) != CEL_OK) fail_msg("%s", err.text);
  return t;
}

#define NO_IDS .bos = -1, .eos = -1, .unk = -1, .pad = -1, .eot = -1, .eom = -1, .sep = -1, .cls = -1
#define NO_FLAGS .add_bos = -1, .add_eos = -1, .add_space_prefix = -1, .merge_spaces = -1, .lowercase = -1, .strip_accents = -1

static void decodes(const cel_tokenizer *t, const int32_t *ids, int64_t n, const char *want) {
  cel_buf out = {0};
  assert_int_equal(cel_decode(t, ids, n, true, &out, NULL), CEL_OK);
  assert_string_equal(out.p ? out.p : "", want);
  cel_buf_deinit(&out);
}

static void a_bert_vocabulary_marks_what_begins_a_word(void **state) {
  (void)state;
  const char *const tokens[] = {"[UNK]", "[CLS]", "[SEP]", "▁hello", "ing", "▁cafe", "▁,", "▁世", "▁界", "▁x", "x", NULL};
  int32_t types[] = {UNKNOWN, CONTROL, CONTROL, 1, 1, 1, 1, 1, 1, 1, 1};
  cel_gguf_vocab v = {NO_IDS, NO_FLAGS, .types = types};
  v.unk = 0, v.cls = 1, v.sep = 2;
  cel_tokenizer *t = from_gguf(&v, "bert", tokens);
  int32_t want[] = {1, 3, 4, 6, 5, 7, 8, 0, 2};
  encodes(t, "bert", CEL_STR("HELLOing, Caf\u00e9 世界 zz"), (cel_encode_options){true, true}, want, 9);
  decodes(t, want, 9, "helloing, cafe 世 界");  // the unknown token is a special one
  ENCODES(t, "x", 9);
  ENCODES(t, "xx", 9, 10);
  ENCODES(t, "a[SEP]", 0, 2);
  assert_int_equal(cel_tokenizer_bos(t), 1);
  cel_tokenizer_free(t);
  v.lowercase = 0;
  t = from_gguf(&v, "bert", tokens);
  ENCODES(t, "HELLO hello", 0, 3);
  cel_tokenizer_free(t);
}

static void a_t5_vocabulary_merges_spaces_and_ends_with_its_end(void **state) {
  (void)state;
  // A map of one rule, a to b: the root's children at unit 0x60, so that "a" is unit 1, whose text is unit 2.
  unsigned char map[4 + 4 * 4 + 2] = {16, 0, 0, 0};
  const uint32_t units[] = {0x60 << 10, 3 << 10 | 1 << 8 | 'a', 0x80000000u, 0};
  for (int i = 0; i < 4; i++) {
    for (int k = 0; k < 4; k++) map[4 + 4 * i + k] = (unsigned char)(units[i] >> 8 * k);
  }
  map[20] = 'b';
  const char *const tokens[] = {"<pad>", "</s>", "<unk>", "▁", "b", "▁b", "c", "▁▁", "<0x64>", NULL};
  float scores[] = {0, 0, 0, -3, -2, -1, -2, -9, 0};
  int32_t types[] = {CONTROL, CONTROL, UNKNOWN, 1, 1, 1, 1, 1, NORMAL};
  cel_gguf_vocab v = {NO_IDS, NO_FLAGS, .types = types, .scores = scores, .charsmap = {(const char *)map, sizeof map}};
  v.eos = 1, v.unk = 2, v.pad = 0, v.merge_spaces = 1;
  cel_tokenizer *t = from_gguf(&v, "t5", tokens);
  int32_t want[] = {5, 6, 5, 1};
  encodes(t, "t5", CEL_STR("  ac   b "), (cel_encode_options){true, true}, want, 4);
  decodes(t, want, 4, "bc b");
  ENCODES(t, "d", 3, 2);
  cel_tokenizer_free(t);
  types[8] = BYTE;  // with byte tokens unknown characters become bytes
  v.merge_spaces = 0, v.add_space_prefix = 0;
  t = from_gguf(&v, "t5", tokens);
  ENCODES(t, "d  b", 8, 3, 5);
  ENCODES(t, "e", 2);
  cel_tokenizer_free(t);
}

static void an_rwkv_vocabulary_takes_the_longest_bytes(void **state) {
  (void)state;
  const char *const tokens[] = {"<s>", "\\x00", "\\xe2", "\\x96\\x81", "\\n", "\\n\\n", "a", "a\\'b", "\\\\x", " a", "\\xe2\\x96\\x81a", "\\x9", NULL};
  int32_t types[] = {CONTROL, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  cel_gguf_vocab v = {NO_IDS, NO_FLAGS, .types = types};
  v.bos = v.eos = 0, v.eot = 5;
  cel_tokenizer *t = from_gguf(&v, "rwkv", tokens);
  ENCODES(t, "\n\n\na", 5, 4, 6);
  ENCODES(t, "a'b\\x a", 7, 8, 9);
  ENCODES(t, "▁▁a", 2, 3, 10);   // the longest is not the best: ▁ is two tokens
  ENCODES(t, "x9", 11);          // \x9 is no byte: an x stands for itself
  decodes(t, (int32_t[]){2, 3, 10, 5}, 4, "▁▁a\n\n");
  cel_err err = {0};
  int32_t *ids;
  int64_t n;
  assert_int_equal(cel_encode(t, CEL_STR("q"), (cel_encode_options){0}, &ids, &n, &err), CEL_UNSUPPORTED);
  assert_non_null(strstr(err.text, "no token for \"q\""));
  cel_tokenizer_free(t);
}

static void without_merges_kimi_joins_by_the_order_of_ids(void **state) {
  (void)state;
  const char *const tokens[] = {"a", "b", "c", "bc", "ab", "abc", NULL};
  cel_gguf_vocab v = {NO_IDS, NO_FLAGS, .pre = CEL_STR("kimi-k2")};
  cel_tokenizer *t = from_gguf(&v, "gpt2", tokens);
  ENCODES(t, "abc", 5);
  ENCODES(t, "abab", 4, 4);
  ENCODES(t, "abca", 5, 0);
  cel_tokenizer_free(t);
}

// Every byte a token, and every name: what goes in comes out, so no expression loses text or is not understood.
static void every_named_pre_tokenizer_keeps_every_byte(void **state) {
  (void)state;
  cel_byte_chars chars;
  char names[256][3] = {{0}};
  const char *tokens[257] = {0};
  cel_buf list = {0};
  cel_json *strings = load_json("strings.json");
  cel_byte_chars_init(&chars);
  for (int i = 0; i < 256; i++) {
    memcpy(names[i], chars.text[i], chars.bytes[i]);
    tokens[i] = names[i];
  }
  cel_gguf_pre_list(&list);
  int n_names = 0;
  for (char *name = strtok(list.p, ", "); name; name = strtok(NULL, ", "), n_names++) {
    cel_gguf_vocab v = {NO_IDS, NO_FLAGS, .pre = cel_str_of(name)};
    if (cel_gguf_pre_find(v.pre)->plain) continue;
    cel_tokenizer *t = from_gguf(&v, "gpt2", tokens);
    for (size_t i = 0; i < cel_json_array_size(strings); i += 9) {
      cel_str text = json_text(cel_json_array_get(strings, i));
      int32_t *ids;
      int64_t n;
      cel_err err = {0};
      if (cel_encode(t, text, (cel_encode_options){0}, &ids, &n, &err) != CEL_OK) fail_msg("%s: %s", name, err.text);
      if (n != (int64_t)text.n) fail_msg("%s: \"%.*s\" gives %lld ids", name, CEL_STR_ARG(text), (long long)n);
      for (int64_t k = 0; k < n; k++) assert_int_equal(ids[k], (unsigned char)text.p[k]);
      free(ids);
    }
    cel_tokenizer_free(t);
  }
  assert_true(n_names >= 90);
  cel_buf_deinit(&list);
  cel_json_decref(strings);
}

// The pieces that a name cuts a text into, as "a|b|c".
static void cuts(const char *name, const char *text, const char *want) {
  cel_arena arena;
  cel_regex_list *regexes = NULL;
  cel_arena_init(&arena);
  cel_text_build b = {&arena, &regexes, "t"};
  cel_pres *pres = CEL_NEW(&arena, cel_pres);
  cel_err err = {0};
  const cel_gguf_pre *pre = cel_gguf_pre_find(cel_str_of(name));
  assert_non_null(pre);
  for (int i = 0; i < CEL_GGUF_PRE_REGEXES && pre->regexes[i]; i++) {
    if (cel_pre_split(&b, pres, cel_str_of(pre->regexes[i]), &err) != CEL_OK) fail_msg("%s: %s", name, err.text);
  }
  cel_regex_run run = {0};
  cel_pieces p = {.regex = &run};
  cel_buf got = {0};
  cel_buf_addz(&p.text, text);
  if (cel_pres_run(pres, &p, &err) != CEL_OK) fail_msg("%s: %s", name, err.text);
  for (size_t i = 0; i < p.spans.n; i++) {
    if (i) cel_buf_addc(&got, '|');
    cel_buf_add(&got, p.text.p + p.spans.p[i].at, p.spans.p[i].n);
  }
  if (strcmp(got.p ? got.p : "", want) != 0) fail_msg("%s: \"%s\" gives %s, right is %s", name, text, got.p, want);
  cel_buf_deinit(&got);
  cel_pieces_deinit(&p);
  cel_regex_run_deinit(&run);
  for (cel_regex_list *r = regexes; r; r = r->next) cel_regex_free(r->re);
  cel_arena_deinit(&arena);
}

static void named_pre_tokenizers_cut_where_their_families_do(void **state) {
  (void)state;
  cuts("kimi-k2", "Hello世界abc I'LL 12345", "Hello|世界|abc| I'LL| |123|45");
  cuts("kimi-k2", "HTTPServer don't", "HTTPServer| don't");
  cuts("gpt-4o", "HTTPServer camelCase", "HTTPServer| camel|Case");
  cuts("afmoe", "x1234567 12 日本語ab", "x|1|234|567| |12| |日本語|ab");
  cuts("tiny_aya", "1234567 a1234b", "1|234|567| a|123|4|b");
  cuts("superbpe", "1234567", "1|234|567");
  cuts("youtu", "한국어 text、ok", "한국어| text|、|ok");
  cuts("laguna", "a\n\nb12", "a|\n\n|b|1|2");
  cuts("exaone-moe", "ab cd 12", "ab cd| |1|2");
  cuts("ufakzeka", "Ali'nin", "Ali|'nin");
  cuts("jais-2", "a      b", "a|    | | b");
  cuts("spark2_5", "12345!\n", "1|2|3|4|5|!|\n");
  cuts("chameleon", "a    b1.", "a|    |b|1|.");
  cuts("qwen2", "I'll 42", "I|'ll| |4|2");
  cuts("deepseek-llm", "ab 12\n歪  ", "ab| |12|\n|歪|  ");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_best_sum_of_scores_wins_and_of_equal_ones_the_longer_token),
      cmocka_unit_test(unknown_characters_are_one_token_or_their_bytes),
      cmocka_unit_test(special_tokens_never_come_out_of_text),
      cmocka_unit_test(scores_at_the_limits_of_doubles_do_no_harm),
      cmocka_unit_test(a_word_is_cut_longest_token_first_or_unknown_as_a_whole),
      cmocka_unit_test(a_bert_vocabulary_marks_what_begins_a_word),
      cmocka_unit_test(a_t5_vocabulary_merges_spaces_and_ends_with_its_end),
      cmocka_unit_test(an_rwkv_vocabulary_takes_the_longest_bytes),
      cmocka_unit_test(without_merges_kimi_joins_by_the_order_of_ids),
      cmocka_unit_test(every_named_pre_tokenizer_keeps_every_byte),
      cmocka_unit_test(named_pre_tokenizers_cut_where_their_families_do),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
