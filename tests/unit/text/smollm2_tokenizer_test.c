// The real vocabulary of SmolLM2 (49 152 tokens), from the GGUF file that MLXCEL_TEST_SMOLLM2 names: as GGUF, and
// as the tokenizer.json that it stands for, with other patterns and normalizers.
#include "unit/text/mini_gguf.h"
#include "unit/text/text_fixtures.h"

static mini_gguf gguf;
static cel_json *model;  // {"vocab": …, "merges": …, "type": "BPE"}, "added_tokens" beside it

static const char digits_gpt2[] =
    "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Digits\",\"individual_digits\":true},"
    "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":true}]}";

static int open_model(void **state) {
  (void)state;
  mini_gguf_open(getenv("MLXCEL_TEST_SMOLLM2"), &gguf);
  cel_json *vocab = cel_json_object(), *merges = cel_json_array(), *added = cel_json_array();
  for (int64_t i = 0; i < gguf.vocab.n_tokens; i++) {
    cel_str s = gguf.vocab.tokens[i];
    cel_json_object_setn_new(vocab, s.p, s.n, cel_json_integer(i));
    if (gguf.vocab.types[i] != 3) continue;
    cel_json_array_append_new(added, cel_json_pack("{s:I, s:s%, s:b, s:b}", "id", (int64_t)i, "content", s.p, s.n, "special",
                                           1, "normalized", 0));
  }
  for (int64_t i = 0; i < gguf.vocab.n_merges; i++) {
    cel_json_array_append_new(merges, cel_json_string_new((cel_str){gguf.vocab.merges[i].p, gguf.vocab.merges[i].n}));
  }
  model = cel_json_pack("{s:{s:s, s:o, s:o}, s:o}", "model", "type", "BPE", "vocab", vocab, "merges", merges,
                    "added_tokens", added);
  return model ? 0 : -1;
}

static int close_model(void **state) {
  (void)state;
  cel_json_decref(model);
  mini_gguf_close(&gguf);
  return 0;
}

// The vocabulary with a pre-tokenizer and a normalizer (JSON, or NULL).
static cel_tokenizer *with(const char *pre, const char *normalizer) {
  cel_json_object_set_new(model, "pre_tokenizer", parse_json(pre));
  cel_json_object_set_new(model, "decoder", parse_json("{\"type\":\"ByteLevel\"}"));
  cel_json_object_set_new(model, "normalizer", normalizer ? parse_json(normalizer) : cel_json_null());
  return make_tokenizer(model, "smollm2");
}

static cel_tokenizer *from_gguf(void) {
  cel_tokenizer *t;
  cel_err err = {0};
  if (cel_tokenizer_from_gguf(&gguf.vocab, "smollm2", &t, &err) != CEL_OK) fail_msg("%s", err.text);
  return t;
}

static void runs_of_white_space_are_cut_as_the_pattern_says(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    cel_tokenizer *t = k ? from_gguf() : with(digits_gpt2, NULL);
    ENCODES(t, "Hello\n\n\nWorld \n \n\tx", 19556, 1116, 198, 11265, 3717, 3717, 197, 104);
    ENCODES(t, "\n =", 198, 446);
    ENCODES(t, "The end   ", 504, 1112, 333);
    ENCODES(t, "a  b   c", 81, 216, 278, 256, 265);
    ENCODES(t, "a\r\nb\r\n\r\nc", 81, 201, 198, 82, 7209, 198, 83);
    ENCODES(t, "\t\tif x:\t# y", 197, 197, 342, 1792, 42, 197, 19, 329);
    cel_tokenizer_free(t);
  }
}

#define SPLIT_WITH(numbers)                                                                                         \
  "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":{\"Regex\":" \
  "\"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|" numbers                                 \
  "| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+\"}},"                       \
  "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}]}"

static void the_pattern_of_the_family_counts(void **state) {
  (void)state;
  const char *const families[] = {SPLIT_WITH("\\\\p{N}{1,3}"), SPLIT_WITH("\\\\p{N}")};
  for (int k = 0; k < 2; k++) {
    cel_tokenizer *t = with(families[k], NULL);
    ENCODES(t, "(x):\n\n\ny", 24, 104, 727, 16506, 105);
    ENCODES(t, "   \n  ", 333, 198, 256);
    cel_tokenizer_free(t);
  }
  cel_tokenizer *t = with(digits_gpt2, NULL);
  ENCODES(t, "(x):\n\n\ny", 24, 104, 727, 1116, 198, 105);
  ENCODES(t, "   \n  ", 333, 11181);
  cel_tokenizer_free(t);
}

static void normalizers_come_first(void **state) {
  (void)state;
  cel_tokenizer *t = with(digits_gpt2, "{\"type\":\"NFC\"}");
  ENCODES(t, "cafe\xCC\x81", 83, 1939, 2756);
  ENCODES(t, "\u1112\u1161\u11ab", 33085, 246);
  ENCODES(t, "q\u0307\u0323", 97, 151, 113, 151, 225);
  ENCODES(t, "\u0958", 38565, 4300, 137);
  cel_tokenizer_free(t);
  t = with(digits_gpt2, NULL);
  ENCODES(t, "cafe\xCC\x81", 83, 9980, 151, 219);
  cel_tokenizer_free(t);
  t = with(digits_gpt2, "{\"type\":\"NFKC\"}");
  ENCODES(t, "\ufb01 \u2460 \uff21", 16775, 216, 33, 330);
  cel_tokenizer_free(t);
}

static void a_normalized_added_token_matches_normalized_text(void **state) {
  (void)state;
  cel_json *added = cel_json_object_get(model, "added_tokens");
  for (int normalized = 0; normalized < 2; normalized++) {
    cel_json_array_append_new(added, cel_json_pack("{s:i, s:s, s:b, s:b}", "id", 49152, "content", "YES", "special", 0,
                                           "normalized", normalized));
    cel_tokenizer *t = with(digits_gpt2, "{\"type\":\"Lowercase\"}");
    int32_t *ids;
    int64_t n, found = 0;
    assert_int_equal(cel_encode(t, CEL_STR("YES yes Yes"), (cel_encode_options){0}, &ids, &n, NULL), CEL_OK);
    for (int64_t i = 0; i < n; i++) found += ids[i] == 49152;
    assert_int_equal(found, normalized ? 3 : 1);
    free(ids);
    cel_tokenizer_free(t);
    cel_json_array_remove(added, cel_json_array_size(added) - 1);
  }
}

static void long_runs_have_the_right_length(void **state) {
  (void)state;
  static const struct { const char *unit; int times; int64_t n; int32_t last;
  } runs[] = {{"A", 100000, 12500, 44843},
              {" ", 100000, 1563, 12427},
              {"\n", 50000, 12500, -1},
              {"歪", 30000, 60000, -1},
              {".", 60000, 3750, -1}};
  cel_tokenizer *t = from_gguf();
  for (int k = 0; k < CEL_COUNT(runs); k++) {
    cel_buf text = {0};
    int32_t *ids;
    int64_t n;
    for (int i = 0; i < runs[k].times; i++) cel_buf_addz(&text, runs[k].unit);
    assert_int_equal(cel_encode(t, cel_buf_str(&text), (cel_encode_options){0}, &ids, &n, NULL), CEL_OK);
    assert_int_equal(n, runs[k].n);
    if (runs[k].last >= 0) assert_int_equal(ids[n - 1], runs[k].last);
    free(ids);
    cel_buf_deinit(&text);
  }
  cel_tokenizer_free(t);
}

static void the_strings_of_the_fixtures_have_the_peer_s_ids(void **state) {
  (void)state;
  cel_json *strings = load_json("strings.json"), *vectors = load_json("smollm2.gguf.json");
  cel_tokenizer *t = from_gguf();
  for (size_t i = 0; i < cel_json_array_size(cel_json_get(vectors, "ids")); i++) {  // the first of them
    cel_str text = json_text(cel_json_array_get(strings, i));
    size_t n;
    if (memchr(text.p, 0, text.n)) continue;
    int32_t *want = json_ids(cel_json_array_get(cel_json_get(vectors, "ids"), i), &n);
    encodes(t, "special", text, (cel_encode_options){true, true}, want, n);
    free(want);
    if (i % 9) continue;
    want = json_ids(cel_json_array_get(cel_json_get(vectors, "plain"), i / 9), &n);
    encodes(t, "plain", text, (cel_encode_options){true, false}, want, n);
    free(want);
  }
  cel_tokenizer_free(t);
  cel_json_decref(strings);
  cel_json_decref(vectors);
}

static void gives(cel_detokenizer *d, int32_t id, const char *want) {
  cel_buf out = {0};
  if (id < 0) cel_detokenizer_finish(d, &out);
  else cel_detokenizer_push(d, id, &out);
  assert_true(cel_str_is(cel_buf_str(&out), want));
  cel_buf_deinit(&out);
}

static void emoji_come_out_whole(void **state) {
  (void)state;
  cel_tokenizer *t = from_gguf();
  cel_detokenizer *d;
  assert_int_equal(cel_detokenizer_new(t, true, &d, NULL), CEL_OK);
  gives(d, 10813, "");
  gives(d, 116, "");
  gives(d, 243, "🦙");
  gives(d, 17097, " ");
  gives(d, 251, "");
  gives(d, 120, "歪");
  gives(d, 10813, "");
  gives(d, -1, "\xEF\xBF\xBD");
  cel_detokenizer_free(d);
  cel_tokenizer_free(t);
}

static void its_ends_and_bos_are_known(void **state) {
  (void)state;
  cel_tokenizer *t = from_gguf();
  int32_t ends[4];
  assert_int_equal(cel_tokenizer_bos(t), 1);
  assert_int_equal(cel_tokenizer_size(t), 49152);
  assert_true(cel_tokenizer_end_ids(t, ends, 4) >= 1 && ends[0] == 2);
  cel_tokenizer_free(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs_of_white_space_are_cut_as_the_pattern_says),
      cmocka_unit_test(the_pattern_of_the_family_counts),
      cmocka_unit_test(normalizers_come_first),
      cmocka_unit_test(a_normalized_added_token_matches_normalized_text),
      cmocka_unit_test(long_runs_have_the_right_length),
      cmocka_unit_test(the_strings_of_the_fixtures_have_the_peer_s_ids),
      cmocka_unit_test(emoji_come_out_whole),
      cmocka_unit_test(its_ends_and_bos_are_known),
  };
  if (!getenv("MLXCEL_TEST_SMOLLM2")) {
    puts("skipped: MLXCEL_TEST_SMOLLM2 does not name the GGUF file of SmolLM2-135M-Instruct");
    return 0;
  }
  return cmocka_run_group_tests(tests, open_model, close_model);
}
