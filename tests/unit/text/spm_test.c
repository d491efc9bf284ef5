// SentencePiece-style vocabularies: from tokenizer.json and from GGUF, where joins go by score.
#include "unit/text/text_fixtures.h"

#include <math.h>

static void characters_without_a_token_become_bytes(void **state) {
  (void)state;
  cel_tokenizer *t = load_tokenizer("spm.json");
  cel_encode_options how = {true, true};
  encodes(t, "CJK", CEL_STR("ab 歪"), how, (int32_t[]){1, 265, 259, 233, 176, 173}, 6);
  encodes(t, "newline", CEL_STR("\n"), how, (int32_t[]){1, 259, 13}, 3);
  encodes(t, "no byte", CEL_STR("<0x41>"), how, (int32_t[]){1, 259, 63, 51, 123, 55, 52, 65}, 8);
  cel_buf out = {0};
  assert_int_equal(cel_decode(t, (int32_t[]){265, 259, 233, 176, 173}, 5, true, &out, NULL), CEL_OK);
  assert_string_equal(out.p, "ab 歪");
  cel_buf_deinit(&out);
  cel_tokenizer_free(t);
}

static void without_byte_fallback_the_unknown_token_is_fused(void **state) {
  (void)state;
  cel_tokenizer *t = load_tokenizer("spm_unk.json");
  encodes(t, "fused", CEL_STR("ab 歪歪 c"), (cel_encode_options){false, true}, (int32_t[]){265, 259, 0, 259, 0}, 5);
  cel_tokenizer_free(t);
}

static void bos_is_added_once_when_asked(void **state) {
  (void)state;
  cel_tokenizer *t = load_tokenizer("spm.json");
  // A rendered chat template carries its own BOS and is encoded without adding; raw text is not.
  encodes(t, "chat", CEL_STR("<s>ab"), (cel_encode_options){false, true}, (int32_t[]){1, 265}, 2);
  encodes(t, "raw", CEL_STR("ab"), (cel_encode_options){true, false}, (int32_t[]){1, 265}, 2);
  cel_tokenizer_free(t);
}

// --- GGUF ---------------------------------------------------------------------------------------------

// The vocabulary of a tokenizer.json as GGUF has it: scores fall with the rank of the merge that makes a token.
typedef struct gguf_twin {
  cel_gguf_vocab vocab;
  cel_str tokens[300];
  float scores[300];
  int32_t types[300];
} gguf_twin;

static void make_twin(const cel_json *json, gguf_twin *g) {
  const cel_json *model = cel_json_get(json, "model"), *vocab = cel_json_get(model, "vocab");
  const cel_json *merges = cel_json_get(model, "merges");
  size_t at;
  cel_str key;
  cel_json *v;
  g->vocab = (cel_gguf_vocab){.model = CEL_STR("llama"),
                              .tokens = g->tokens,
                              .scores = g->scores,
                              .types = g->types,
                              .n_tokens = (int64_t)cel_json_object_size(vocab),
                              .bos = 1,
                              .eos = 2,
                              .unk = 0,
                              .pad = -1,
                              .eot = -1,
                              .eom = -1,
                              .add_bos = -1,
                              .add_eos = -1,
                              .add_space_prefix = -1};
  cel_json_object_foreach(vocab, at, key, v) {
    int64_t id = cel_json_integer_value(v);
    g->tokens[id] = key;
    g->scores[id] = -1000;
    g->types[id] = id == 0 ? 2 : id < 3 ? 3 : id < 259 ? 6 : 1;
  }
  for (size_t i = 0; i < cel_json_array_size(merges); i++) {
    char joined[64];
    const char *row = cel_json_string_value(cel_json_array_get(merges, i)), *space = strchr(row, ' ');
    snprintf(joined, sizeof joined, "%.*s%s", (int)(space - row), row, space + 1);
    g->scores[cel_json_integer_value(cel_json_object_get(vocab, joined))] = -(float)i;
  }
}

static void joins_by_score_equal_joins_by_rank(void **state) {
  (void)state;
  cel_json *json = load_json("spm.json"), *strings = load_json("strings.json"),
           *vectors = load_json("spm.vectors.json");
  static gguf_twin g;
  make_twin(json, &g);
  cel_tokenizer *t, *right = make_tokenizer(json, "spm.json");  // equal to the reference: see tokenizer_test.c
  cel_err err = {0};
  assert_int_equal(cel_tokenizer_from_gguf(&g.vocab, "t.gguf", &t, &err), CEL_OK);
  assert_int_equal(cel_tokenizer_bos(t), 1);
  for (size_t i = 0; i < cel_json_array_size(strings); i++) {
    cel_str text = json_text(cel_json_array_get(strings, i));
    int32_t *want;
    int64_t n;
    assert_int_equal(cel_encode(right, text, (cel_encode_options){true, true}, &want, &n, NULL), CEL_OK);
    encodes(t, "gguf", text, (cel_encode_options){true, true}, want, (size_t)n);
    free(want);
  }
  const cel_json *streams = cel_json_get(vectors, "streams"), *texts = cel_json_get(vectors, "decoded");
  for (size_t i = 0; i < cel_json_array_size(streams); i++) {
    size_t n;
    int32_t *ids = json_ids(cel_json_array_get(streams, i), &n);
    cel_buf out = {0};
    assert_int_equal(cel_decode(t, ids, (int64_t)n, true, &out, NULL), CEL_OK);
    assert_true(cel_str_eq(cel_buf_str(&out), json_text(cel_json_array_get(texts, i))));
    cel_buf_deinit(&out);
    free(ids);
  }
  cel_tokenizer_free(t);
  cel_tokenizer_free(right);
  cel_json_decref(json);
  cel_json_decref(strings);
  cel_json_decref(vectors);
}

static cel_gguf_vocab tiny(cel_str *tokens, int64_t n) {
  return (cel_gguf_vocab){.model = CEL_STR("gpt2"),
                          .pre = CEL_STR("gpt-2"),
                          .tokens = tokens,
                          .n_tokens = n,
                          .bos = -1,
                          .eos = -1,
                          .unk = -1,
                          .pad = -1,
                          .eot = -1,
                          .eom = -1,
                          .add_bos = -1,
                          .add_eos = -1,
                          .add_space_prefix = -1};
}

static void refused(const cel_gguf_vocab *v, cel_status status, const char *says) {
  cel_tokenizer *t;
  cel_err err = {0};
  assert_int_equal(cel_tokenizer_from_gguf(v, "m.gguf", &t, &err), status);
  assert_null(t);
  if (!strstr(err.text, says)) fail_msg("\"%s\", right is \"%s\"", err.text, says);
}

static void gguf_vocabularies_that_are_not_right_are_refused_by_name(void **state) {
  (void)state;
  cel_str tokens[] = {CEL_STR("a"), CEL_STR("b"), CEL_STR("ab")}, bad_merge[] = {CEL_STR("ab")};
  cel_gguf_vocab v = tiny(tokens, 3);
  v.model = CEL_STR("plamo2");
  refused(&v, CEL_UNSUPPORTED, "tokenizer.ggml.model \"plamo2\" is not supported; supported are gpt2, llama");
  v = tiny(tokens, 3);
  v.pre = CEL_STR("nope");
  refused(&v, CEL_UNSUPPORTED, "tokenizer.ggml.pre \"nope\" is not known; known are default, llama-bpe");
  v = tiny(tokens, 0);
  refused(&v, CEL_MALFORMED, "tokenizer.ggml.tokens has 0 entries");
  v = tiny(tokens, 3);
  v.eos = 3;
  refused(&v, CEL_MALFORMED, "tokenizer.ggml.eos_token_id is 3, but there are 3 tokens");
  v = tiny(tokens, 3);
  v.merges = bad_merge;
  v.n_merges = 1;
  refused(&v, CEL_MALFORMED, "tokenizer.ggml.merges[0] is \"ab\"");
}

static void scores_that_are_no_numbers_do_no_harm(void **state) {
  (void)state;
  cel_str tokens[] = {CEL_STR("a"), CEL_STR("b"), CEL_STR("ab"), CEL_STR("▁"), CEL_STR("aa")};
  float scores[] = {NAN, INFINITY, NAN, -INFINITY, NAN};
  cel_gguf_vocab v = tiny(tokens, 5);
  v.model = CEL_STR("llama");
  v.scores = scores;
  v.add_space_prefix = 0;
  cel_tokenizer *t;
  assert_int_equal(cel_tokenizer_from_gguf(&v, "m.gguf", &t, NULL), CEL_OK);
  ENCODES(t, "aab b", 4, 1, 3, 1);
  cel_tokenizer_free(t);
}

static void end_ids_come_from_every_key_and_known_names(void **state) {
  (void)state;
  cel_str tokens[] = {CEL_STR("a"), CEL_STR("<eos>"), CEL_STR("<end_of_turn>"), CEL_STR("<|eom_id|>")};
  int32_t types[] = {1, 3, 3, 3}, ends[4];
  cel_gguf_vocab v = tiny(tokens, 4);
  v.types = types;
  v.eos = 1;
  cel_tokenizer *t;
  assert_int_equal(cel_tokenizer_from_gguf(&v, "m.gguf", &t, NULL), CEL_OK);
  assert_int_equal(cel_tokenizer_end_ids(t, ends, 4), 3);
  assert_true(ends[0] == 1 && ends[1] == 2 && ends[2] == 3);
  cel_tokenizer_free(t);
  v.eot = 3;  // said by the file: names do not count
  assert_int_equal(cel_tokenizer_from_gguf(&v, "m.gguf", &t, NULL), CEL_OK);
  assert_int_equal(cel_tokenizer_end_ids(t, ends, 4), 2);
  assert_true(ends[0] == 1 && ends[1] == 3);
  cel_tokenizer_free(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(characters_without_a_token_become_bytes),
      cmocka_unit_test(without_byte_fallback_the_unknown_token_is_fused),
      cmocka_unit_test(bos_is_added_once_when_asked),
      cmocka_unit_test(joins_by_score_equal_joins_by_rank),
      cmocka_unit_test(gguf_vocabularies_that_are_not_right_are_refused_by_name),
      cmocka_unit_test(scores_that_are_no_numbers_do_no_harm),
      cmocka_unit_test(end_ids_come_from_every_key_and_known_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
