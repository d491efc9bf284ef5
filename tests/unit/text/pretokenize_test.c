// Cutting: the scanners of well-known patterns against PCRE2 running the pattern itself, and the behaviours of
// Split.
#include "unit/text/text_fixtures.h"

#include "text/steps.h"

static void scans_as_pcre2(const char *pattern, cel_str text) {
  const cel_scan *scan = cel_scan_find(cel_str_of(pattern));
  cel_regex *re;
  cel_regex_run run = {0};
  assert_non_null(scan);
  assert_int_equal(cel_regex_new(cel_str_of(pattern), "t", &re, NULL), CEL_OK);
  for (size_t i = 0; i < text.n;) {
    bool found;
    size_t start, end, got = cel_scan_next(scan, text.p, text.n, i);
    assert_int_equal(cel_regex_find(re, &run, text, i, &found, &start, &end, NULL), CEL_OK);
    assert_true(found && start == i);
    if (got != end) fail_msg("%s at %zu of \"%.*s\": %zu, PCRE2 %zu", pattern, i, CEL_STR_ARG(text), got, end);
    i = end;
  }
  cel_regex_run_deinit(&run);
  cel_regex_free(re);
}

static void scanners_cut_as_their_patterns_do(void **state) {
  (void)state;
  const char *const patterns[] = {cel_pattern_gpt2, cel_pattern_llama3, cel_pattern_qwen2, cel_pattern_qwen35};
  cel_json *strings = load_json("strings.json");
  for (size_t i = 0; i < cel_json_array_size(strings); i++) {
    for (int k = 0; k < CEL_COUNT(patterns); k++) scans_as_pcre2(patterns[k], json_text(cel_json_array_get(strings, i)));
  }
  cel_json_decref(strings);
}

// All matches of both, one after the other.
static void finds_as_pcre2(const char *pattern, cel_str text) {
  const cel_scan *scan = cel_scan_find(cel_str_of(pattern));
  cel_regex *re;
  cel_regex_run run = {0};
  assert_true(scan && cel_scan_leaves_gaps(scan));
  assert_int_equal(cel_regex_new(cel_str_of(pattern), "t", &re, NULL), CEL_OK);
  cel_pattern a = {.scan = scan}, b = {.re = re};
  cel_find x = {.pattern = &a, .text = text}, y = {.pattern = &b, .run = &run, .text = text};
  for (bool found = true, right; found;) {
    assert_int_equal(cel_find_next(&x, &found, NULL), CEL_OK);
    assert_int_equal(cel_find_next(&y, &right, NULL), CEL_OK);
    if (found != right || (found && (x.start != y.start || x.end != y.end))) {
      fail_msg("%s in \"%.*s\": %d %zu-%zu, PCRE2 %d %zu-%zu", pattern, CEL_STR_ARG(text), found, x.start, x.end, right,
               y.start, y.end);
    }
  }
  cel_regex_run_deinit(&run);
  cel_regex_free(re);
}

static void scanners_that_leave_gaps_find_what_their_patterns_do(void **state) {
  (void)state;
  const char *const patterns[] = {cel_pattern_threes, "\\d{1,3}(?=(?:\\d{3})*\\b)", "(?=(\\d{3})+(?!\\d))", "\\s+$"};
  const char *const texts[] = {"1234567", "x1 12 123 1234 12345 123456", "1234567890a 12b 1234,5678", "٣٤٥٦٧ １２３４ ½½½½½ Ⅷ12345",
                               "12345_ 12345² 12345\u0301", " \n  \n", "a  \n\n  b  \t\n c \n", "   ", "\n\n\nx", "x   \r\n", "1 234\n"};
  cel_json *strings = load_json("strings.json");
  for (int k = 0; k < CEL_COUNT(patterns); k++) {
    for (int i = 0; i < CEL_COUNT(texts); i++) finds_as_pcre2(patterns[k], cel_str_of(texts[i]));
    for (size_t i = 0; i < cel_json_array_size(strings); i++) {
      finds_as_pcre2(patterns[k], json_text(cel_json_array_get(strings, i)));
    }
  }
  cel_json_decref(strings);
}

// --- pieces -------------------------------------------------------------------------------------------

// The pieces of a text as "a|b|c".
static void pieces_are(const char *pre, const char *text, const char *want) {
  cel_arena arena;
  cel_regex_list *regexes = NULL;
  cel_arena_init(&arena);
  cel_text_build b = {&arena, &regexes, "t"};
  cel_err err = {0};
  cel_json *json = parse_json(pre);
  cel_pres *pres = CEL_NEW(&arena, cel_pres);
  if (cel_pres_read(&b, json, pres, &err) != CEL_OK) fail_msg("%s", err.text);
  cel_regex_run run = {0};
  cel_pieces p = {.regex = &run, .at_start = true};
  cel_buf got = {0};
  cel_buf_addz(&p.text, text);
  assert_int_equal(cel_pres_run(pres, &p, &err), CEL_OK);
  for (size_t i = 0; i < p.spans.n; i++) {
    if (i) cel_buf_addc(&got, '|');
    cel_buf_add(&got, p.text.p + p.spans.p[i].at, p.spans.p[i].n);
  }
  if (!cel_str_is(cel_buf_str(&got), want))
    fail_msg("%s: \"%s\" gives %s, right is %s", pre, text, got.p ? got.p : "", want);
  for (cel_regex_list *r = regexes; r; r = r->next) cel_regex_free(r->re);
  cel_buf_deinit(&got);
  cel_pieces_deinit(&p);
  cel_regex_run_deinit(&run);
  cel_arena_deinit(&arena);
  cel_json_decref(json);
}

#define SPLIT(pattern, behavior, invert) \
  "{\"type\":\"Split\",\"pattern\":" pattern ",\"behavior\":\"" behavior "\",\"invert\":" invert "}"

static void split_behaves_in_five_ways(void **state) {
  (void)state;
  pieces_are(SPLIT("{\"String\":\"-\"}", "Removed", "false"), "a--b-c", "a|b|c");
  pieces_are(SPLIT("{\"String\":\"-\"}", "Isolated", "false"), "a--b-c", "a|-|-|b|-|c");
  pieces_are(SPLIT("{\"String\":\"-\"}", "MergedWithPrevious", "false"), "a--b-c", "a-|-|b-|c");
  pieces_are(SPLIT("{\"String\":\"-\"}", "MergedWithNext", "false"), "a--b-c", "a|-|-b|-c");
  pieces_are(SPLIT("{\"String\":\"-\"}", "Contiguous", "false"), "a--b-c", "a|--|b|-|c");
  pieces_are(SPLIT("{\"Regex\":\"[a-c]+\"}", "Removed", "true"), "ab--c-", "ab|c");
  pieces_are(SPLIT("{\"String\":\"abab\"}", "Isolated", "false"), "ababab abaabab", "abab|ab aba|abab");
  pieces_are(SPLIT("{\"Regex\":\"x*\"}", "Isolated", "false"), "axxbx", "a|xx|b|x");
}

static void words_follow_oniguruma(void **state) {
  (void)state;
  pieces_are(SPLIT("{\"Regex\":\"\\\\w+\"}", "Removed", "true"), "e\xCC\x81x \xC2\xB2_\xE2\x85\xA0-\xE2\x80\x8D",
             "e\xCC\x81x|\xC2\xB2_\xE2\x85\xA0");
  pieces_are(SPLIT("{\"Regex\":\"\\\\s\"}", "Removed", "false"),
             "a\xC2\x85"
             "b\xE1\xA0\x8E"
             "c\xE3\x80\x80"
             "d",
             "a|b\xE1\xA0\x8E"
             "c|d");
  pieces_are(SPLIT("{\"Regex\":\"^b|c$\"}", "Isolated", "false"), "b\nbc\nac", "b|\n|b|c|\na|c");
  pieces_are(SPLIT("{\"Regex\":\"(?m:a.b)|\\\\h{2}\"}", "Isolated", "false"), "a\nb;1F;g", "a\nb|;|1F|;g");
}

static void the_other_pre_tokenizers(void **state) {
  (void)state;
  pieces_are("{\"type\":\"Digits\",\"individual_digits\":true}", "a12½b", "a|1|2|½|b");
  pieces_are("{\"type\":\"Digits\",\"individual_digits\":false}", "a12½b3", "a|12½|b|3");
  pieces_are("{\"type\":\"Punctuation\"}", "a$b+c“d", "a|$|b|+|c|“|d");
  pieces_are("{\"type\":\"Whitespace\"}", "ab\xCC\x81" "c _x.. y\xC2\xB2z", "ab\xCC\x81" "c|_x|..|y|\xC2\xB2|z");
  pieces_are("{\"type\":\"WhitespaceSplit\"}", " a\tb\xE3\x80\x80" "c ", "a|b|c");
  pieces_are("{\"type\":\"Metaspace\",\"replacement\":\"▁\",\"prepend_scheme\":\"always\"}", "a b  c", "▁a|▁b|▁|▁c");
  pieces_are("{\"type\":\"Metaspace\",\"replacement\":\"▁\",\"prepend_scheme\":\"always\"}", " a", "▁a");
  pieces_are("{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"never\",\"split\":false}", "a b",
             "a_b");
  pieces_are("{\"type\":\"ByteLevel\",\"add_prefix_space\":true}", "it's é", "Ġit|'s|ĠÃ©");
  pieces_are("{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}", "a b\n", "aĠbĊ");
}

static void family_patterns_differ_where_they_should(void **state) {
  (void)state;
#define FAMILY(tail)                                                                                                  \
  SPLIT("{\"Regex\":\"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}" tail              \
        "| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+\"}", "Isolated", "false")
  pieces_are(FAMILY("{1,3}"), "I'LL 12345", "I|'LL| |123|45");
  pieces_are(FAMILY(""), "I'LL 12345", "I|'LL| |1|2|3|4|5");
  pieces_are(FAMILY(""), "e\xCC\x81x", "e|\xCC\x81x");
  pieces_are(FAMILY("{1,3}"), "(x):\n\n\ny", "(x|):\n\n\n|y");
  pieces_are(FAMILY("{1,3}"), "   \n  ", "   \n|  ");
  pieces_are(
      "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"'s|'t|'re|'ve|'m|'ll|'d| ?\\\\p{L}+| ?\\\\p{N}+| "
      "?[^\\\\s\\\\p{L}\\\\p{N}]+|\\\\s+(?!\\\\S)|\\\\s+\"}}",
      "(x):\n\n\ny  z", "(|x|):|\n\n|\n|y| | z");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scanners_cut_as_their_patterns_do),  cmocka_unit_test(split_behaves_in_five_ways),
      cmocka_unit_test(scanners_that_leave_gaps_find_what_their_patterns_do),
      cmocka_unit_test(words_follow_oniguruma),             cmocka_unit_test(the_other_pre_tokenizers),
      cmocka_unit_test(family_patterns_differ_where_they_should),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
