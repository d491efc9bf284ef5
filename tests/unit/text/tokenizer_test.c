// Whole tokenizers against what the reference made of the same strings (tests/oracle/make_tokenizer_vectors.py),
// and files that are refused.
#include "unit/text/text_fixtures.h"

static const char *const fixtures[] = {"gpt2",  "llama3", "qwen2",  "tekken",    "spm",        "spm_unk",
                                       "gemma", "words",  "removed", "metaspace", "t5",         "unigram",
                                       "bert",  "clip",   "bytes",  "letters",   "bert_cased", "wordlevel",
                                       "kimi"};

// FNV-1a over the ids as 4 little-endian bytes each, its low 32 bits in hexadecimal.
static void fingerprint(const int32_t *ids, int64_t n, char out[9]) {
  uint64_t h = UINT64_C(0xCBF29CE484222325);
  for (int64_t i = 0; i < n; i++) {
    for (int k = 0; k < 32; k += 8) h = (h ^ ((uint32_t)ids[i] >> k & 0xFF)) * UINT64_C(0x100000001B3);
  }
  snprintf(out, 9, "%08x", (unsigned)(h & 0xFFFFFFFF));
}

// String i: its ids when the vectors have them, else their fingerprint.
static void check_string(const cel_tokenizer *t, const char *name, cel_str text, const cel_json *vectors, size_t i,
                         size_t every) {
  enum { ROW = 12, DIGITS = 8 };
  int32_t *ids;
  int64_t n;
  cel_err err = {0};
  char print[DIGITS + 1];
  if (cel_encode(t, text, (cel_encode_options){true, true}, &ids, &n, &err) != CEL_OK) fail_msg("%s: %s", name, err.text);
  if (i % every == 0) {
    size_t n_want;
    int32_t *want = json_ids(cel_json_array_get(cel_json_get(vectors, "ids"), i / every), &n_want);
    ids_are(name, text, ids, n, want, n_want);
    free(want);
  }
  const char *row = cel_json_string_value(cel_json_array_get(cel_json_get(vectors, "fingerprints"), i / ROW));
  assert_non_null(row);
  fingerprint(ids, n, print);
  if (memcmp(row + i % ROW * DIGITS, print, DIGITS) != 0) {
    ids_are(name, text, ids, n, NULL, 0);
    fail_msg("%s: \"%.*s\" gives no ids", name, CEL_STR_ARG(text));
  }
  free(ids);
}

static void check_encoding(const cel_tokenizer *t, const char *name, const cel_json *strings, const cel_json *vectors) {
  const cel_json *plain = cel_json_get(vectors, "plain");
  size_t every = (size_t)cel_json_integer_value(cel_json_array_get(cel_json_get(vectors, "every"), 0)), n;
  assert_true(every > 0);
  for (size_t i = 0; i < cel_json_array_size(strings); i++) {
    cel_str text = json_text(cel_json_array_get(strings, i));
    check_string(t, name, text, vectors, i, every);
    if (i % (3 * every)) continue;
    int32_t *want = json_ids(cel_json_array_get(plain, i / (3 * every)), &n);
    encodes(t, name, text, (cel_encode_options){false, true}, want, n);
    free(want);
  }
}

// Pushes one id at a time; what comes out is UTF-8 each time.
static void stream(const cel_tokenizer *t, const int32_t *ids, size_t n, bool skip, cel_buf *out) {
  cel_detokenizer *d;
  assert_int_equal(cel_detokenizer_new(t, skip, &d, NULL), CEL_OK);
  for (size_t i = 0; i < n; i++) {
    size_t before = out->n;
    cel_detokenizer_push(d, ids[i], out);
    assert_true(out->n == before || cel_utf8_valid(out->p + before, out->n - before));
  }
  cel_detokenizer_finish(d, out);
  cel_detokenizer_free(d);
  assert_false(out->failed);
}

static void check_decoding(const cel_tokenizer *t, const char *name, const cel_json *vectors, const char *key,
                           bool skip) {
  const cel_json *streams = cel_json_get(vectors, "streams"), *texts = cel_json_get(vectors, key);
  assert_true(cel_json_array_size(streams) > 100 && cel_json_array_size(streams) == cel_json_array_size(texts));
  for (size_t i = 0; i < cel_json_array_size(streams); i++) {
    size_t n;
    int32_t *ids = json_ids(cel_json_array_get(streams, i), &n);
    cel_str want = json_text(cel_json_array_get(texts, i));
    cel_buf whole = {0}, deltas = {0};
    assert_int_equal(cel_decode(t, ids, (int64_t)n, skip, &whole, NULL), CEL_OK);
    stream(t, ids, n, skip, &deltas);
    if (!cel_str_eq(cel_buf_str(&whole), want)) {
      fail_msg("%s %s %zu: \"%s\", right is \"%.*s\"", name, key, i, whole.p ? whole.p : "", CEL_STR_ARG(want));
    }
    assert_true(cel_str_eq(cel_buf_str(&deltas), want));
    cel_buf_deinit(&whole);
    cel_buf_deinit(&deltas);
    free(ids);
  }
}

static void tokenizers_equal_the_reference(void **state) {
  (void)state;
  cel_json *strings = load_json("strings.json");
  assert_true(cel_json_array_size(strings) >= 2000);
  for (int i = 0; i < CEL_COUNT(fixtures); i++) {
    char file[64];
    snprintf(file, sizeof file, "%s.json", fixtures[i]);
    cel_tokenizer *t = load_tokenizer(file);
    snprintf(file, sizeof file, "%s.vectors.json", fixtures[i]);
    cel_json *vectors = load_json(file);
    check_encoding(t, fixtures[i], strings, vectors);
    check_decoding(t, fixtures[i], vectors, "decoded", true);
    check_decoding(t, fixtures[i], vectors, "decoded_all", false);
    cel_json_decref(vectors);
    cel_tokenizer_free(t);
  }
  cel_json_decref(strings);
}

// --- questions ----------------------------------------------------------------------------------------

static void a_tokenizer_answers_about_its_tokens(void **state) {
  (void)state;
  cel_tokenizer *t = load_tokenizer("spm.json");
  assert_int_equal(cel_tokenizer_size(t), 267);
  assert_int_equal(cel_tokenizer_find(t, CEL_STR("<s>")), 1);
  assert_int_equal(cel_tokenizer_find(t, CEL_STR("▁ab")), 265);
  assert_int_equal(cel_tokenizer_find(t, CEL_STR("nope")), -1);
  assert_int_equal(cel_tokenizer_bos(t), 1);  // what the template begins with
  assert_true(cel_tokenizer_is_special(t, 1) && !cel_tokenizer_is_special(t, 260));
  assert_false(cel_tokenizer_is_special(t, -1) || cel_tokenizer_is_special(t, 267));
  assert_true(cel_str_is(cel_tokenizer_bytes(t, 265), " ab"));
  assert_true(cel_str_is(cel_tokenizer_bytes(t, 3 + 0xE6), "\xE6"));
  assert_int_equal(cel_tokenizer_bytes(t, 3).n, 1);
  assert_int_equal(cel_tokenizer_bytes(t, 3).p[0], 0);
  assert_int_equal(cel_tokenizer_bytes(t, 999).n, 0);
  cel_tokenizer_free(t);
  t = load_tokenizer("gpt2.json");
  int32_t id = cel_tokenizer_find(t, CEL_STR("Ġt"));
  assert_true(id >= 0 && cel_str_is(cel_tokenizer_bytes(t, id), " t"));
  cel_tokenizer_free(t);
}

static void the_config_names_bos_and_eos_and_the_post_processor_adds(void **state) {
  (void)state;
  static const struct {
    const char *config;
    int32_t bos, end;
  } cases[] = {
      {"{\"bos_token\":\"<s>\",\"eos_token\":{\"content\":\"</s>\"}}", 1, 2},
      {"{\"bos_token\":\"</s>\",\"eos_token\":\"<s>\",\"add_bos_token\":false}", 2, 1},
      {"{\"bos_token\":\"nope\",\"eos_token\":null,\"add_bos_token\":true,\"add_eos_token\":true}", 1, -1},
      {"{}", 1, -1},
  };
  cel_json *json = load_json("spm.json");
  for (int i = 0; i < CEL_COUNT(cases); i++) {
    cel_json *config = parse_json(cases[i].config);
    cel_tokenizer *t;
    int32_t ends[4] = {-1};
    assert_int_equal(cel_tokenizer_from_json(json, config, "t", &t, NULL), CEL_OK);
    encodes(t, cases[i].config, CEL_STR("ab"), (cel_encode_options){true, true}, (int32_t[]){1, 265}, 2);
    assert_int_equal(cel_tokenizer_bos(t), cases[i].bos);
    assert_int_equal(cel_tokenizer_end_ids(t, ends, 4), cases[i].end >= 0);
    assert_int_equal(ends[0], cases[i].end);
    cel_tokenizer_free(t);
    cel_json_decref(config);
  }
  cel_json_decref(json);
}

static void special_tokens_in_the_text_are_parsed_on_demand_only(void **state) {
  (void)state;
  cel_tokenizer *t = load_tokenizer("spm.json");
  encodes(t, "parsed", CEL_STR("<s>ab"), (cel_encode_options){.parse_special = true}, (int32_t[]){1, 265}, 2);
  int32_t as_text[] = {259, 63, 118, 65, 263};  // ▁ < s > ab
  encodes(t, "not parsed", CEL_STR("<s>ab"), (cel_encode_options){0}, as_text, 5);
  cel_tokenizer_free(t);
}

static void invalid_utf8_counts_as_replacement_characters(void **state) {
  (void)state;
  cel_tokenizer *t = load_tokenizer("gpt2.json");
  static const struct { const char *bad, *same; size_t n; } cases[] = {
      {"a\xFF" "b", "a\xEF\xBF\xBD" "b", 3},
      {"\xE6\xAD", "\xEF\xBF\xBD", 2},
      {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 3},  // a surrogate: three bad bytes
      {"\xF0\x9F\xA6z", "\xEF\xBF\xBDz", 4},
      {"\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD", 2},
  };
  for (int i = 0; i < CEL_COUNT(cases); i++) {
    int32_t *want;
    int64_t n;
    cel_encode_options how = {0};
    assert_int_equal(cel_encode(t, cel_str_of(cases[i].same), how, &want, &n, NULL), CEL_OK);
    encodes(t, "bad", (cel_str){cases[i].bad, cases[i].n}, how, want, (size_t)n);
    free(want);
  }
  cel_tokenizer_free(t);
}

static void an_empty_text_gives_what_the_template_adds(void **state) {
  (void)state;
  cel_tokenizer *t = load_tokenizer("spm.json");
  encodes(t, "empty", (cel_str){NULL, 0}, (cel_encode_options){true, true}, (int32_t[]){1}, 1);
  encodes(t, "empty", CEL_STR(""), (cel_encode_options){0}, (int32_t[]){0}, 0);
  cel_tokenizer_free(t);
}

static void several_texts_share_one_tokenizer_and_repeat(void **state) {
  (void)state;
  cel_tokenizer *t = load_tokenizer("llama3.json");
  cel_buf text = {0};  // long enough for the memory of pieces, which must not change anything
  for (int i = 0; i < 400; i++) cel_buf_printf(&text, "The end of day %d isn't the end\n", i % 7);
  int32_t *whole, *line;
  int64_t n, m, at = 0;
  assert_int_equal(cel_encode(t, cel_buf_str(&text), (cel_encode_options){0}, &whole, &n, NULL), CEL_OK);
  for (int i = 0; i < 400; i++) {
    char s[64];
    snprintf(s, sizeof s, "The end of day %d isn't the end\n", i % 7);
    assert_int_equal(cel_encode(t, cel_str_of(s), (cel_encode_options){0}, &line, &m, NULL), CEL_OK);
    assert_true(at + m <= n);
    assert_memory_equal(whole + at, line, (size_t)m * sizeof *line);
    at += m;
    free(line);
  }
  assert_int_equal(at, n);
  free(whole);
  cel_buf_deinit(&text);
  cel_tokenizer_free(t);
}

// --- refusals -----------------------------------------------------------------------------------------

#define MODEL "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[\"a b\"]}"

static const struct {
  const char *json, *says;
} refused[] = {
    {"[]", "no object \"model\""},
    {"{}", "no object \"model\""},
    {"{\"model\":{\"type\":\"Char\",\"vocab\":[]}}",
     "model type \"Char\" is not supported; supported are BPE, Unigram, WordPiece, WordLevel"},
    {"{\"model\":{\"type\":\"Unigram\",\"vocab\":{}}}", "model.vocab must be a list of [token, score]"},
    {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",0],[\"b\"]]}}", "model.vocab[1] must be [token, score]"},
    {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",\"0\"]]}}", "model.vocab[0] must be [token, score]"},
    {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",0]],\"unk_id\":1}}", "model.unk_id must be the number of a token"},
    {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":[]}}", "model.vocab must be an object"},
    {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{},\"continuing_subword_prefix\":4}}",
     "model needs a string \"continuing_subword_prefix\""},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":[],\"merges\":[]}}", "model.vocab must be an object"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":-1},\"merges\":[]}}", "the id of \"a\" must be a number from 0"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":4000000000},\"merges\":[]}}",
     "the id of \"a\" must be a number from 0"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":1.5},\"merges\":[]}}", "the id of \"a\" must be a number"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":{}}}", "model.merges must be a list"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"aa\"]}}",
     "model.merges[0] must be \"left right\""},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[[\"a\",\"a\",\"a\"]]}}", "model.merges[0] must be"},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a a\"]}}",
     "model.merges[0] needs the token \"aa\""},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[\"a c\"]}}",
     "model.merges[0] needs the token \"c\""},
    {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[],\"dropout\":0.1}}", "model.dropout"},
    {"{" MODEL ",\"added_tokens\":{}}", "added_tokens must be a list"},
    {"{" MODEL ",\"added_tokens\":[{\"id\":3}]}", "added_tokens[0] needs a string \"content\""},
    {"{" MODEL ",\"added_tokens\":[{\"content\":\"x\",\"id\":\"y\"}]}", "the id of \"x\""},
    {"{" MODEL ",\"normalizer\":{\"type\":\"Uppercase\"}}",
     "normalizer type \"Uppercase\" is not supported; supported are NFC, NFD, NFKC, NFKD, Lowercase, Replace, "
     "Prepend, Strip, StripAccents, BertNormalizer, Nmt, Precompiled, ByteLevel, Sequence"},
    {"{" MODEL ",\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":null}}",
     "normalizer Precompiled needs a string \"precompiled_charsmap\""},
    {"{" MODEL ",\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"A*\"}}", "not base64"},
    {"{" MODEL ",\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"\"}}", "a trie of 0 bytes"},
    {"{" MODEL ",\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"/////w==\"}}",
     "a trie of 4294967295 bytes in a map of 4"},
    {"{" MODEL ",\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"BAAAAAAAAAD/\"}}", "not UTF-8"},
    {"{" MODEL ",\"normalizer\":{\"type\":\"Sequence\"}}", "normalizer Sequence needs a list \"normalizers\""},
    {"{" MODEL ",\"normalizer\":{\"type\":\"Replace\",\"pattern\":{},\"content\":\"\"}}", "Replace.pattern: must be"},
    {"{" MODEL ",\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"(\"},\"content\":\"\"}}",
     "the pattern \"(\" can not be used"},
    {"{" MODEL ",\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"[a&&]\"},\"content\":\"\"}}",
     "an empty character set"},
    {"{" MODEL ",\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"[a&&[b]\"},\"content\":\"\"}}",
     "has no end"},
    {"{" MODEL ",\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"[[[[[[[[[[a]]]]]]]]]]\"},\"content\":\"\"}}",
     "nests character sets deeper than 8"},
    {"{" MODEL ",\"normalizer\":{\"type\":\"Prepend\"}}", "normalizer Prepend needs a string \"prepend\""},
    {"{" MODEL ",\"pre_tokenizer\":{\"type\":\"UnicodeScripts\"}}",
     "pre_tokenizer type \"UnicodeScripts\" is not supported; supported are ByteLevel"},
    {"{" MODEL ",\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"String\":\"a\"},\"behavior\":\"Kept\"}}",
     "behavior \"Kept\" is not one of"},
    {"{" MODEL ",\"pre_tokenizer\":5}", "pre_tokenizer must be an object with a string \"type\""},
    {"{" MODEL ",\"pre_tokenizer\":{\"type\":\"CharDelimiterSplit\",\"delimiter\":\"ab\"}}", "must be one character"},
    {"{" MODEL ",\"pre_tokenizer\":{\"type\":\"FixedLength\",\"length\":0}}", "FixedLength.length is 0"},
    {"{" MODEL ",\"post_processor\":{\"type\":\"BertProcessing\",\"cls\":[\"a\"],\"sep\":[\"a\",0]}}",
     "post_processor.cls must be [token, id]"},
    {"{" MODEL ",\"post_processor\":{\"type\":\"RobertaProcessing\",\"cls\":[\"a\",0],\"sep\":[\"a\",99]}}",
     "post_processor adds id 99, which no token has"},
    {"{" MODEL ",\"post_processor\":{\"type\":\"TemplateProcessing\"}}", "needs a list \"single\""},
    {"{" MODEL ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"x\"}}]}}",
     "has no \"ids\" for \"x\""},
    {"{" MODEL ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"x\"}}],"
               "\"special_tokens\":{\"x\":{\"ids\":[77]}}}}",
     "post_processor adds id 77, which no token has"},
    {"{" MODEL ",\"decoder\":{\"type\":\"Char\"}}",
     "decoder type \"Char\" is not supported; supported are ByteLevel, Replace, ByteFallback, Fuse, Strip, Metaspace, "
     "WordPiece, BPEDecoder, CTC, Sequence"},
    {"{" MODEL ",\"decoder\":{\"type\":\"BPEDecoder\",\"suffix\":\"\"}}", "BPEDecoder.suffix is empty"},
    {"{" MODEL ",\"decoder\":{\"type\":\"CTC\",\"pad_token\":\"\"}}", "an empty pad_token"},
    {"{" MODEL ",\"decoder\":{\"type\":\"Strip\",\"content\":\" \",\"start\":-1,\"stop\":0}}",
     "decoder Strip takes -1"},
};

static void what_is_not_right_is_refused_by_name(void **state) {
  (void)state;
  for (int i = 0; i < CEL_COUNT(refused); i++) {
    cel_json *json = parse_json(refused[i].json);
    cel_tokenizer *t = (cel_tokenizer *)&t;
    cel_err err = {0};
    assert_int_not_equal(cel_tokenizer_from_json(json, NULL, "x/tokenizer.json", &t, &err), CEL_OK);
    assert_null(t);
    if (!strstr(err.text, refused[i].says) || !cel_str_starts(cel_str_of(err.text), CEL_STR("x/tokenizer.json: "))) {
      fail_msg("%s says \"%s\", right is \"%s\"", refused[i].json, err.text, refused[i].says);
    }
    cel_json_decref(json);
  }
}

static void a_unigram_token_as_long_as_a_text_is_refused(void **state) {
  (void)state;
  cel_buf b = {0};
  cel_buf_addz(&b, "{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"");
  for (int i = 0; i < 5000; i++) cel_buf_addc(&b, 'a');
  cel_buf_addz(&b, "\",-1]]}}");
  cel_json *json = parse_json(b.p);
  cel_tokenizer *t;
  cel_err err = {0};
  assert_int_equal(cel_tokenizer_from_json(json, NULL, "t", &t, &err), CEL_UNSUPPORTED);
  assert_non_null(strstr(err.text, "a token of 5000 bytes, at most 4096"));
  cel_json_decref(json);
  cel_buf_deinit(&b);
}

static void sequences_nested_too_deep_are_refused(void **state) {
  (void)state;
  cel_buf b = {0};
  cel_buf_addz(&b, "{" MODEL ",\"normalizer\":");
  for (int i = 0; i < 200; i++) cel_buf_addz(&b, "{\"type\":\"Sequence\",\"normalizers\":[");
  cel_buf_addz(&b, "{\"type\":\"NFC\"}");
  for (int i = 0; i < 200; i++) cel_buf_addz(&b, "]}");
  cel_buf_addz(&b, "}");
  cel_json *json = parse_json(b.p);
  cel_tokenizer *t;
  cel_err err = {0};
  assert_int_equal(cel_tokenizer_from_json(json, NULL, "t", &t, &err), CEL_UNSUPPORTED);
  assert_non_null(strstr(err.text, "nested deeper"));
  cel_json_decref(json);
  cel_buf_deinit(&b);
}

static void a_text_can_not_explode_in_the_normalizer(void **state) {
  (void)state;
  cel_buf b = {0};
  cel_buf_addz(&b, "{" MODEL ",\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[");
  for (int i = 0; i < 40; i++) {
    cel_buf_printf(&b, "%s{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"aaaaaaaa\"}",
                   i ? "," : "");
  }
  cel_buf_addz(&b, "]}}");
  cel_json *json = parse_json(b.p);
  cel_tokenizer *t = make_tokenizer(json, "t");
  cel_err err = {0};
  int32_t *ids;
  int64_t n;
  assert_int_equal(cel_encode(t, CEL_STR("aaaa"), (cel_encode_options){0}, &ids, &n, &err), CEL_TOO_LONG);
  assert_non_null(strstr(err.text, "grows"));
  cel_tokenizer_free(t);
  cel_json_decref(json);
  cel_buf_deinit(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tokenizers_equal_the_reference),
      cmocka_unit_test(a_tokenizer_answers_about_its_tokens),
      cmocka_unit_test(the_config_names_bos_and_eos_and_the_post_processor_adds),
      cmocka_unit_test(special_tokens_in_the_text_are_parsed_on_demand_only),
      cmocka_unit_test(invalid_utf8_counts_as_replacement_characters),
      cmocka_unit_test(an_empty_text_gives_what_the_template_adds),
      cmocka_unit_test(several_texts_share_one_tokenizer_and_repeat),
      cmocka_unit_test(what_is_not_right_is_refused_by_name),
      cmocka_unit_test(a_unigram_token_as_long_as_a_text_is_refused),
      cmocka_unit_test(sequences_nested_too_deep_are_refused),
      cmocka_unit_test(a_text_can_not_explode_in_the_normalizer),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
