// Tokenizers carried to GGUF and back give the same ids on every string of the fixtures.
#include "text/carry.h"
#include "unit/text/text_fixtures.h"

static void same_ids(const cel_tokenizer *a, const cel_tokenizer *b, const char *what, cel_str text) {
  const cel_encode_options how = {.add_special = true, .parse_special = true};
  cel_err err = {0};
  int32_t *want;
  int64_t n;
  if (cel_encode(a, text, how, &want, &n, &err) != CEL_OK) fail_msg("%s: %s", what, err.text);
  encodes(b, what, text, how, want, (size_t)n);
  free(want);
}

static int n_notes;
static void count_note(void *context, const char *text) { (void)context, (void)text, n_notes++; }

static cel_status carry(const cel_json *json, cel_arena *arena, int64_t n_tokens, cel_gguf_vocab *out, cel_err *err) {
  cel_carry_source from = {.json = json, .n_tokens = n_tokens, .name = "tokenizer.json"};
  return cel_carry_to_gguf(&from, arena, out, count_note, NULL, err);
}

static void there_and_back(const cel_json *json, const char *name, const char *model) {
  cel_arena arena;
  cel_gguf_vocab v;
  cel_err err = {0};
  cel_tokenizer *want = make_tokenizer(json, name), *got;
  cel_buf text = {0};
  cel_json *strings = load_json("strings.json");
  cel_arena_init(&arena);
  if (carry(json, &arena, cel_tokenizer_size(want) + 3, &v, &err) != CEL_OK) fail_msg("%s: %s", name, err.text);
  assert_true(cel_str_is(v.model, model));
  assert_true(v.n_tokens == cel_tokenizer_size(want) + 3 && v.types[v.n_tokens - 1] == 5);
  if (cel_tokenizer_from_gguf(&v, name, &got, &err) != CEL_OK) fail_msg("%s: %s", name, err.text);
  if (cel_carry_to_json(&v, name, &text, &err) != CEL_OK) fail_msg("%s: %s", name, err.text);
  cel_json *back = parse_json(text.p);
  cel_tokenizer *again = make_tokenizer(back, name);
  assert_true(cel_json_array_size(strings) > 2000);
  for (size_t i = 0; i < cel_json_array_size(strings); i++) {
    cel_str s = json_text(cel_json_array_get(strings, i));
    // In GGUF U+2581 stands for a space, and no text becomes a byte's token by its name.
    if (strstr(s.p, "\xE2\x96\x81") || strstr(s.p, "<0x")) continue;
    same_ids(want, got, name, s);
    same_ids(want, again, name, s);
  }
  cel_json_decref(back);
  cel_json_decref(strings);
  cel_buf_deinit(&text);
  cel_tokenizer_free(want);
  cel_tokenizer_free(got);
  cel_tokenizer_free(again);
  cel_arena_deinit(&arena);
}

static void wordpiece_goes_there_and_back(void **state) {
  (void)state;
  cel_json *json = load_json("bert.json");
  there_and_back(json, "bert", "bert");
  cel_json_decref(json);
}

// As files of models have them that make spaces one: GGUF's reader takes away all but one, too.
static void set_normalizer(cel_json *json, const char *text) {
  cel_json *steps = parse_json(text), *old = cel_json_object_get(json, "normalizer");
  cel_json *list = cel_json_object_get(steps, "normalizers"), *of_old = cel_json_object_get(old, "normalizers");
  cel_json *first = of_old ? cel_json_array_get(of_old, 0) : old;
  if (!strcmp(cel_json_string(first, "type", ""), "Precompiled")) {
    cel_json *all = cel_json_array();
    assert_int_equal(cel_json_array_append_new(all, cel_json_deep_copy(first)), 0);
    for (size_t i = 0; i < cel_json_array_size(list); i++) {
      assert_int_equal(cel_json_array_append_new(all, cel_json_deep_copy(cel_json_array_get(list, i))), 0);
    }
    assert_int_equal(cel_json_object_set_new(steps, "normalizers", all), 0);
  }
  assert_int_equal(cel_json_object_set_new(json, "normalizer", steps), 0);
}

#define ONE_SPACE                                                                                                      \
  "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"\\\\A +| +\\\\z\"},\"content\":\"\"},"                                   \
  "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},\"content\":\" \"}"

static void unigram_goes_there_and_back(void **state) {
  (void)state;
  cel_json *t5 = load_json("t5.json"), *bytes = load_json("unigram.json");
  set_normalizer(t5, "{\"type\":\"Sequence\",\"normalizers\":[" ONE_SPACE "]}");
  there_and_back(t5, "t5", "t5");
  set_normalizer(bytes, "{\"type\":\"Sequence\",\"normalizers\":[" ONE_SPACE ",{\"type\":\"Prepend\",\"prepend\":\"\xE2\x96\x81\"},"
                        "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\xE2\x96\x81\"}]}");
  there_and_back(bytes, "unigram", "t5");
  cel_json_decref(t5);
  cel_json_decref(bytes);
}

static void what_gguf_has_no_words_for_is_refused(void **state) {
  (void)state;
  static const struct { const char *file, *says; } rows[] = {
      {"bert_cased.json", "BERT's normalizer"}, {"unigram.json", "a normalizer other than"}, {"wordlevel.json", "of the type WordLevel"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    cel_json *json = load_json(rows[i].file);
    cel_arena arena;
    cel_gguf_vocab v;
    cel_err err = {0};
    cel_arena_init(&arena);
    assert_int_equal(carry(json, &arena, 5000, &v, &err), CEL_UNSUPPORTED);
    if (!strstr(err.text, rows[i].says)) fail_msg("%s", err.text);
    cel_arena_deinit(&arena);
    cel_json_decref(json);
  }
}

// Fewer rows than tokens; a list of something else; ids out of place.
static void broken_models_are_refused(void **state) {
  (void)state;
  static const struct { const char *text; int64_t n; } rows[] = {
      {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",0],[\"b\",1]],\"unk_id\":0},\"pre_tokenizer\":{\"type\":\"Metaspace\"}}", 1},
      {"{\"model\":{\"type\":\"Unigram\",\"vocab\":{\"a\":0}},\"pre_tokenizer\":{\"type\":\"Metaspace\"}}", 9},
      {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[1,0],7]},\"pre_tokenizer\":{\"type\":\"Metaspace\"}}", 9},
      {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":[]},\"normalizer\":{\"type\":\"BertNormalizer\"},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}}", 9},
      {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":-1}},\"normalizer\":{\"type\":\"BertNormalizer\"},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}}", 9},
      {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":\"b\"}},\"normalizer\":{\"type\":\"BertNormalizer\"},\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}}", 9}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    cel_json *json = parse_json(rows[i].text);
    cel_arena arena;
    cel_gguf_vocab v;
    cel_err err = {0};
    cel_arena_init(&arena);
    assert_int_not_equal(carry(json, &arena, rows[i].n, &v, &err), CEL_OK);
    assert_non_null(strstr(err.text, "tokenizer.json"));
    cel_arena_deinit(&arena);
    cel_json_decref(json);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(wordpiece_goes_there_and_back),
      cmocka_unit_test(unigram_goes_there_and_back),
      cmocka_unit_test(what_gguf_has_no_words_for_is_refused),
      cmocka_unit_test(broken_models_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
