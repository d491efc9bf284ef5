// Long runs of one thing, which overflow the stack of a backtracking matcher or take it quadratic time: on a
// thread with 256 KiB of stack, each within a second, equal to the reference.
#define _POSIX_C_SOURCE 200809L
#include "unit/text/text_fixtures.h"

#include <pthread.h>
#include <time.h>

#include "base/macros.h"

enum { STACK = 256 * 1024 };

// Sanitizers make everything a few times slower, an emulated processor more.
#if defined(CEL_TEST_EMULATED)
static const double limit_s = 40;
#elif CEL_HAS_SANITIZER
static const double limit_s = 8;
#else
static const double limit_s = 1;
#endif

typedef struct job {
  const cel_tokenizer *t;
  cel_str text;
  int32_t *ids;
  int64_t n;
  cel_status status;
  double seconds;
  cel_err err;
} job;

static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *encode_job(void *arg) {
  job *j = arg;
  double start = cpu_seconds();
  j->status = cel_encode(j->t, j->text, (cel_encode_options){true, true}, &j->ids, &j->n, &j->err);
  j->seconds = cpu_seconds() - start;
  return NULL;
}

static void on_a_small_stack(job *j) {
  pthread_attr_t attr;
  pthread_t thread;
  assert_int_equal(pthread_attr_init(&attr), 0);
  assert_int_equal(pthread_attr_setstacksize(&attr, STACK), 0);
  assert_int_equal(pthread_create(&thread, &attr, encode_job, j), 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attr);
  if (j->status != CEL_OK) fail_msg("%s", j->err.text);
  if (j->seconds > limit_s) fail_msg("%.2f s for %zu bytes", j->seconds, j->text.n);
}

static cel_buf repeat(cel_str unit, int64_t times) {
  cel_buf b = {0};
  for (int64_t i = 0; i < times; i++) cel_buf_adds(&b, unit);
  assert_false(b.failed);
  return b;
}

static void long_runs_equal_the_reference_in_linear_time(void **state) {
  (void)state;
  const char *const names[] = {"gpt2",  "llama3",  "qwen2",     "tekken", "spm",     "gemma", "metaspace",  "words",
                               "bytes", "removed", "wordlevel", "clip",   "letters", "bert",  "bert_cased", "t5",
                               "unigram"};
  for (int k = 0; k < CEL_COUNT(names); k++) {
    char file[64];
    snprintf(file, sizeof file, "%s.json", names[k]);
    cel_tokenizer *t = load_tokenizer(file);
    snprintf(file, sizeof file, "%s.vectors.json", names[k]);
    cel_json *vectors = load_json(file);
    const cel_json *rows = cel_json_get(vectors, "long");
    assert_true(cel_json_array_size(rows) >= 10);
    for (size_t i = 0; i < cel_json_array_size(rows); i++) {
      const cel_json *row = cel_json_array_get(rows, i);
      cel_buf text = repeat(json_text(cel_json_array_get(row, 0)), cel_json_integer_value(cel_json_array_get(row, 1)));
      job j = {.t = t, .text = cel_buf_str(&text)};
      on_a_small_stack(&j);
      int64_t sum = 0;  // as the maker of the vectors adds them up
      for (int64_t m = 0; m < j.n; m++) sum = (sum + (m + 1) * j.ids[m]) % (INT64_C(1) << 31);
      if (j.n != cel_json_integer_value(cel_json_array_get(row, 2)) || sum != cel_json_integer_value(cel_json_array_get(row, 3))) {
        fail_msg("%s, run %zu: %lld ids with sum %lld", names[k], i, (long long)j.n, (long long)sum);
      }
      free(j.ids);
      cel_buf_deinit(&text);
    }
    cel_json_decref(vectors);
    cel_tokenizer_free(t);
  }
}

static void added_tokens_that_nearly_match_cost_linear_time(void **state) {
  (void)state;
  cel_buf head = repeat(CEL_STR("a"), 5000), json = {0}, text = repeat(CEL_STR("a"), 200000);
  cel_buf_printf(&json, "{\"added_tokens\":[{\"id\":1,\"content\":\"%sb\"},{\"id\":2,\"content\":\"b%s\"}],", head.p,
                 head.p);
  cel_buf_addz(&json, "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]}}");
  cel_json *parsed = parse_json(json.p);
  cel_tokenizer *t = make_tokenizer(parsed, "t");
  job j = {.t = t, .text = cel_buf_str(&text)};
  on_a_small_stack(&j);
  assert_int_equal(j.n, 200000);
  free(j.ids);
  cel_tokenizer_free(t);
  cel_json_decref(parsed);
  cel_buf_deinit(&head);
  cel_buf_deinit(&json);
  cel_buf_deinit(&text);
}

// {"a":…} or [["a",-1],…]: texts of one to `n` letters, and one of `long_one`; each behind `head` but the first letter.
static void put_vocabulary(cel_buf *json, bool list, const char *head, int n, int long_one) {
  cel_buf run = {0};
  cel_buf_addc(json, list ? '[' : '{');
  for (int i = 1, id = 0; i <= long_one; i++) {
    cel_buf_addc(&run, 'a');
    if (i > n && i < long_one) continue;
    for (int k = 0; k < 2; k++) {
      cel_buf_printf(json, list ? "%s[\"%s%s\",-%d]" : "%s\"%s%s\":%d", id ? "," : "", k ? head : "", run.p, id + 1);
      id++;
      if (!head[0]) break;
    }
  }
  cel_buf_addz(json, list ? ",[\"?\",-5000]]" : ",\"?\":0}");
  cel_buf_deinit(&run);
}

static void a_million_letters_cost_linear_time_in_every_model(void **state) {
  (void)state;
  enum { LENGTHS = 20, LONG = 1500, TEXT = 1 << 20 };
  static const struct {
    const char *before, *after, *head, *tail;
  } models[] = {
      {"{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":", "}}", "", ""},
      {"{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":", "}}", "", "\xE6\xAD\xAA"},
      {"{\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"?\",\"max_input_chars_per_word\":1000000000,\"vocab\":", "}}", "##", ""},
      {"{\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"?\",\"max_input_chars_per_word\":1000000000,\"vocab\":", "}}", "##", "b"},
      {"{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"?\",\"vocab\":", "}}", "", ""},
  };
  for (int i = 0; i < CEL_COUNT(models); i++) {
    cel_buf json = {0}, text = repeat(CEL_STR("a"), TEXT);
    cel_buf_addz(&json, models[i].before);
    put_vocabulary(&json, strstr(models[i].before, "Unigram") != NULL, models[i].head, LENGTHS, LONG);
    cel_buf_addz(&json, models[i].after);
    cel_buf_addz(&text, models[i].tail);
    cel_json *parsed = parse_json(json.p);
    cel_tokenizer *t = make_tokenizer(parsed, "t");
    job j = {.t = t, .text = cel_buf_str(&text)};
    on_a_small_stack(&j);
    assert_true(j.n >= 1);
    free(j.ids);
    cel_tokenizer_free(t);
    cel_json_decref(parsed);
    cel_buf_deinit(&json);
    cel_buf_deinit(&text);
  }
}

// Names whose patterns look ahead over a run: digits, white space.
static void long_runs_cost_linear_time_under_every_named_pre_tokenizer(void **state) {
  (void)state;
  static const char *const names[] = {"afmoe", "tiny_aya", "superbpe", "deepseek-llm", "kimi-k2", "gpt-4o", "youtu", "jais-2",
                                      "exaone-moe", "default", "bloom", "viking", "chameleon", "minicpm5", "bailingmoe"};
  static const char *const units[] = {"1", " ", "\n", "A", "a", "\u6B6A", ".", " a", "\u0301"};
  enum { BYTES = 200000 };
  cel_str tokens[] = {CEL_STR("a"), CEL_STR("1"), CEL_STR("\u0120"), CEL_STR("A")};
  for (int k = 0; k < CEL_COUNT(names); k++) {
    cel_gguf_vocab v = {.model = CEL_STR("gpt2"), .pre = cel_str_of(names[k]), .tokens = tokens, .n_tokens = 4, .bos = -1,
                        .eos = -1, .unk = -1, .pad = -1, .eot = -1, .eom = -1, .sep = -1, .cls = -1};
    cel_tokenizer *t;
    cel_err err = {0};
    if (cel_tokenizer_from_gguf(&v, "m.gguf", &t, &err) != CEL_OK) fail_msg("%s", err.text);
    for (int i = 0; i < CEL_COUNT(units); i++) {
      cel_buf text = repeat(cel_str_of(units[i]), BYTES / (int64_t)strlen(units[i]));
      cel_buf_addz(&text, "\u6B6A");
      job j = {.t = t, .text = cel_buf_str(&text)};
      on_a_small_stack(&j);
      free(j.ids);
      cel_buf_deinit(&text);
    }
    cel_tokenizer_free(t);
  }
}

static void a_pattern_that_runs_away_ends_with_an_error(void **state) {
  (void)state;
  cel_json *json = parse_json(
      "{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(a|aa|aaa)+(?=c)\"},\"behavior\":\"Isolated\"},"
      "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]}}");
  cel_tokenizer *t = make_tokenizer(json, "t");
  cel_buf text = repeat(CEL_STR("a"), 20000);
  cel_err err = {0};
  int32_t *ids;
  int64_t n;
  assert_int_equal(cel_encode(t, cel_buf_str(&text), (cel_encode_options){0}, &ids, &n, &err), CEL_TOO_LONG);
  assert_non_null(strstr(err.text, "pattern needs more than"));
  cel_buf_deinit(&text);
  cel_tokenizer_free(t);
  cel_json_decref(json);
}

// No match takes long, but each looks over all that is left.
static void a_pattern_that_looks_ahead_at_every_place_ends_with_an_error(void **state) {
  (void)state;
  cel_json *json = parse_json(
      "{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"a(?=a*c)|a\"},\"behavior\":\"Isolated\"},"
      "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]}}");
  cel_tokenizer *t = make_tokenizer(json, "t");
  cel_buf text = repeat(CEL_STR("a"), 2000000);
  cel_err err = {0};
  int32_t *ids;
  int64_t n;
  double start = cpu_seconds();
  assert_int_equal(cel_encode(t, cel_buf_str(&text), (cel_encode_options){0}, &ids, &n, &err), CEL_TOO_LONG);
  assert_non_null(strstr(err.text, "pattern needs more than"));
  assert_true(cpu_seconds() - start < 20);
  cel_buf_deinit(&text);
  cel_tokenizer_free(t);
  cel_json_decref(json);
}

static void added_tokens_that_take_the_spaces_behind_them_cost_linear_time(void **state) {
  (void)state;
  cel_json *json = parse_json("{\"added_tokens\":[{\"id\":1,\"content\":\" \",\"rstrip\":true,\"lstrip\":true}],"
                              "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]}}");
  cel_tokenizer *t = make_tokenizer(json, "t");
  cel_buf text = repeat(CEL_STR(" "), 300000);
  job j = {.t = t, .text = cel_buf_str(&text)};
  on_a_small_stack(&j);
  free(j.ids);
  cel_buf_deinit(&text);
  cel_tokenizer_free(t);
  cel_json_decref(json);
}

// A polynomial over the bytes, whatever its base, gives the halves of a Thue-Morse word one hash.
static void words_of_one_hash_are_refused(void **state) {
  (void)state;
  enum { BITS = 11, N = 1 << BITS, PARTS = 8 };
  cel_buf json = {0};
  cel_buf_addz(&json, "{\"model\":{\"type\":\"BPE\",\"merges\":[],\"vocab\":{\"a\":0");
  for (int word = 0; word < 1 << PARTS; word++) {
    cel_buf_addz(&json, ",\"");
    for (int part = 0; part < PARTS; part++) {
      for (int i = 0; i < N; i++) {
        int ones = word >> part & 1;
        for (int b = 0; b < BITS; b++) ones ^= i >> b & 1;
        cel_buf_addc(&json, ones ? 'x' : 'y');
      }
    }
    cel_buf_printf(&json, "\":%d", word + 1);
  }
  cel_buf_addz(&json, "}}}");
  cel_json *v;
  cel_tokenizer *t;
  cel_err err = {0};
  assert_int_equal(cel_json_parse(cel_buf_str(&json), "t", &v, &err), CEL_OK);
  assert_int_equal(cel_tokenizer_from_json(v, NULL, "t", &t, &err), CEL_MALFORMED);
  assert_non_null(strstr(err.text, "the same hash"));
  cel_json_decref(v);
  cel_buf_deinit(&json);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_pattern_that_looks_ahead_at_every_place_ends_with_an_error),
      cmocka_unit_test(added_tokens_that_take_the_spaces_behind_them_cost_linear_time),
      cmocka_unit_test(words_of_one_hash_are_refused),
      cmocka_unit_test(long_runs_equal_the_reference_in_linear_time),
      cmocka_unit_test(added_tokens_that_nearly_match_cost_linear_time),
      cmocka_unit_test(a_million_letters_cost_linear_time_in_every_model),
      cmocka_unit_test(long_runs_cost_linear_time_under_every_named_pre_tokenizer),
      cmocka_unit_test(a_pattern_that_runs_away_ends_with_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
