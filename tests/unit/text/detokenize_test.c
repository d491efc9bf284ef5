// Streams: text comes as soon as it is sure, never half a character, and the deltas join to the whole text.
#include "unit/text/text_fixtures.h"

typedef struct stream {
  cel_detokenizer *d;
  cel_buf out;
} stream;

static stream open_stream(const cel_tokenizer *t, bool skip) {
  stream s = {0};
  assert_int_equal(cel_detokenizer_new(t, skip, &s.d, NULL), CEL_OK);
  return s;
}

// Pushes an id (-1: the end) and compares what comes out with `want`.
static void gives(stream *s, int32_t id, const char *want) {
  cel_buf_clear(&s->out);
  if (id < 0) cel_detokenizer_finish(s->d, &s->out);
  else cel_detokenizer_push(s->d, id, &s->out);
  if (!cel_str_is(cel_buf_str(&s->out), want)) fail_msg("id %d gives \"%s\", right is \"%s\"", id, s->out.p, want);
  if (id >= 0) return;
  cel_detokenizer_free(s->d);
  cel_buf_deinit(&s->out);
}

static cel_tokenizer *from(const char *json_text_of_it) {
  cel_json *json = parse_json(json_text_of_it);
  cel_tokenizer *t = make_tokenizer(json, "t");
  cel_json_decref(json);
  return t;
}

// The four bytes of a llama emoji (F0 9F A6 99), a space and a letter, as a byte-level vocabulary has them.
#define BYTE_LEVEL                                                                                              \
  "{\"added_tokens\":[{\"id\":7,\"content\":\"<end>\",\"special\":true}],\"decoder\":{\"type\":\"ByteLevel\"}," \
  "\"model\":{\"type\":\"BPE\",\"vocab\":{\"ð\":0,\"Ł\":1,\"¦\":2,\"Ļ\":3,\"Ġa\":4,\"ðŁ\":5,\"b\":6},\"merges\":[]}}"

static void a_character_waits_until_it_is_whole(void **state) {
  (void)state;
  cel_tokenizer *t = from(BYTE_LEVEL);
  stream s = open_stream(t, true);
  gives(&s, 4, " a");
  gives(&s, 5, "");
  gives(&s, 2, "");
  gives(&s, 3, "🦙");
  gives(&s, 6, "b");
  gives(&s, -1, "");
  cel_tokenizer_free(t);
}

static void a_character_that_never_becomes_whole_is_replaced(void **state) {
  (void)state;
  cel_tokenizer *t = from(BYTE_LEVEL);
  stream s = open_stream(t, true);
  gives(&s, 5, "");
  gives(&s, -1, "\xEF\xBF\xBD");
  s = open_stream(t, true);
  gives(&s, 5, "");
  gives(&s, 6, "\xEF\xBF\xBD" "b");
  gives(&s, 3, "\xEF\xBF\xBD");
  gives(&s, -1, "");
  cel_tokenizer_free(t);
}

static void special_tokens_are_left_out_on_demand_and_unknown_ids_always(void **state) {
  (void)state;
  cel_tokenizer *t = from(BYTE_LEVEL);
  stream s = open_stream(t, true);
  gives(&s, 7, "");
  gives(&s, 6, "b");
  gives(&s, 99, "");
  gives(&s, -1, "");
  s = open_stream(t, false);
  gives(&s, 6, "b");
  gives(&s, 7, "<end>");
  cel_detokenizer_push(s.d, -7, &s.out);
  assert_string_equal(s.out.p, "<end>");
  gives(&s, -1, "");
  cel_tokenizer_free(t);
}

static void the_space_in_front_is_taken_off_once(void **state) {
  (void)state;
  cel_tokenizer *t = load_tokenizer("spm.json");
  stream s = open_stream(t, true);
  gives(&s, 1, "");      // <s> is skipped
  gives(&s, 259, "");    // the first ▁ goes
  gives(&s, 259, " ");   // the next stays
  gives(&s, 265, " ab");
  gives(&s, -1, "");
  s = open_stream(t, false);
  gives(&s, 1, "<s>");
  gives(&s, 265, " ab");  // not in front
  gives(&s, -1, "");
  cel_tokenizer_free(t);
}

static void byte_tokens_wait_for_the_end_of_their_run(void **state) {
  (void)state;
  cel_tokenizer *t = load_tokenizer("spm.json");
  stream s = open_stream(t, true);
  gives(&s, 260, "a");
  gives(&s, 3 + 0xE6, "");
  gives(&s, 3 + 0xAD, "");
  gives(&s, 3 + 0xAA, "");
  gives(&s, 261, "歪b");
  gives(&s, 3 + 0x41, "");
  gives(&s, 3 + 0xFF, "");  // makes the run bad, A included
  gives(&s, -1, "\xEF\xBF\xBD\xEF\xBF\xBD");
  cel_tokenizer_free(t);
}

static void replacements_reach_over_tokens_once_they_are_fused(void **state) {
  (void)state;
  cel_tokenizer *t = from("{\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Fuse\"},"
                          "{\"type\":\"Replace\",\"pattern\":{\"String\":\"aab\"},\"content\":\"X\"},"
                          "{\"type\":\"Strip\",\"content\":\"_\",\"start\":2,\"stop\":1}]},"
                          "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"_\":2,\"c_\":3},\"merges\":[]}}");
  stream s = open_stream(t, true);
  gives(&s, 2, "");
  gives(&s, 2, "");
  gives(&s, 2, "");    // the third is no head; it may be the tail
  gives(&s, 0, "");
  gives(&s, 0, "");
  gives(&s, 0, "_a");  // a a is still the start of aab
  gives(&s, 1, "X");
  gives(&s, 0, "");
  gives(&s, 3, "ac");
  gives(&s, 2, "_");
  gives(&s, -1, "");
  cel_tokenizer_free(t);
}

static void a_regular_expression_sees_the_whole_token(void **state) {
  (void)state;
  cel_tokenizer *t = from("{\"decoder\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"a+$\"},\"content\":\"X\"},"
                          "\"model\":{\"type\":\"BPE\",\"vocab\":{\"aa\":0,\"aab\":1},\"merges\":[]}}");
  stream s = open_stream(t, true);
  gives(&s, 0, "X");
  gives(&s, 1, "aab");
  gives(&s, -1, "");
  cel_tokenizer_free(t);
}

// Ten replacements, each a hundredfold: 10^20 bytes of one letter, were they made.
static void a_decoder_cannot_make_any_amount_of_text(void **state) {
  (void)state;
  char hundred[101];
  memset(hundred, 'a', 100);
  hundred[100] = 0;
  for (int regex = 0; regex < 2; regex++) {
    cel_buf b = {0}, out = {0};
    cel_json *json;
    cel_tokenizer *t;
    cel_err err = {0};
    cel_buf_addz(&b, "{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1},\"merges\":[]},\"decoder\":{\"type\":\"Sequence\",\"decoders\":[");
    for (int i = 0; i < 10; i++) {
      cel_buf_printf(&b, "%s{\"type\":\"Replace\",\"pattern\":{\"%s\":\"a\"},\"content\":\"%s\"}", i ? "," : "", regex ? "Regex" : "String", hundred);
    }
    cel_buf_addz(&b, "]}}");
    assert_int_equal(cel_json_parse(cel_buf_str(&b), "t", &json, &err), CEL_OK);
    cel_status s = cel_tokenizer_from_json(json, NULL, "t", &t, &err);
    assert_int_equal(s, regex ? CEL_OK : CEL_TOO_LONG);  // what literals make of a token is known when it is loaded
    if (s != CEL_OK) {
      assert_non_null(strstr(err.text, "decoder"));
      cel_json_decref(json);
      cel_buf_deinit(&b);
      continue;
    }
    const int32_t good[] = {1, 1}, bad[] = {1, 0};
    assert_int_equal(cel_decode(t, good, 2, false, &out, &err), CEL_OK);
    assert_string_equal(out.p, "bb");
    cel_buf_clear(&out);
    assert_int_equal(cel_decode(t, bad, 2, false, &out, &err), CEL_TOO_LONG);
    assert_non_null(strstr(err.text, "decoder"));
    cel_tokenizer_free(t);
    cel_json_decref(json);
    cel_buf_deinit(&b);
    cel_buf_deinit(&out);
  }
}

static void without_a_decoder_tokens_are_joined_by_spaces(void **state) {
  (void)state;
  cel_tokenizer *t = from("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1},\"merges\":[]}}");
  stream s = open_stream(t, true);
  gives(&s, 0, "a");
  gives(&s, 1, " b");
  gives(&s, -1, "");
  cel_tokenizer_free(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_character_waits_until_it_is_whole),
      cmocka_unit_test(a_character_that_never_becomes_whole_is_replaced),
      cmocka_unit_test(special_tokens_are_left_out_on_demand_and_unknown_ids_always),
      cmocka_unit_test(the_space_in_front_is_taken_off_once),
      cmocka_unit_test(byte_tokens_wait_for_the_end_of_their_run),
      cmocka_unit_test(replacements_reach_over_tokens_once_they_are_fused),
      cmocka_unit_test(a_regular_expression_sees_the_whole_token),
      cmocka_unit_test(a_decoder_cannot_make_any_amount_of_text),
      cmocka_unit_test(without_a_decoder_tokens_are_joined_by_spaces),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
