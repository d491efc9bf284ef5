// Each allocation of a tokenizer's life (make, encode, decode, free) is made to fail in turn: it comes back as a status, or
// the result is right without it (a memory of pieces that could not be had); nothing leaks (sanitizers watch).
#include "unit/text/text_fixtures.h"

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static long count, fail_at;  // fail_at 0: never

static int fails(void) { return ++count == fail_at; }
void *__wrap_malloc(size_t n) { return fails() ? NULL : __real_malloc(n); }
void *__wrap_calloc(size_t n, size_t size) { return fails() ? NULL : __real_calloc(n, size); }
void *__wrap_realloc(void *p, size_t n) { return fails() ? NULL : __real_realloc(p, n); }

// Encodes, and decodes what came. The ids are the caller's; NULL unless CEL_OK comes back.
static cel_status live(const cel_json *json, cel_str text, int32_t **ids, int64_t *n, cel_buf *out, cel_err *err) {
  cel_tokenizer *t;
  *ids = NULL;
  CEL_TRY(cel_tokenizer_from_json(json, NULL, "t", &t, err));
  cel_status s = cel_encode(t, text, (cel_encode_options){true, true}, ids, n, err);
  if (s == CEL_OK) s = cel_decode(t, *ids, *n, false, out, err);
  if (s != CEL_OK) {
    free(*ids);
    *ids = NULL;
  }
  cel_tokenizer_free(t);
  return s;
}

static void check(const char *file, cel_str text) {
  cel_json *json = load_json(file);
  int32_t *want, *ids;
  int64_t n_want, n;
  cel_buf right = {0};
  cel_err err = {0};
  fail_at = 0;
  assert_int_equal(live(json, text, &want, &n_want, &right, &err), CEL_OK);
  long failures = 0;
  for (long k = 1;; k++) {
    cel_buf out = {0};
    err = (cel_err){0};
    count = 0;
    fail_at = k;
    cel_status s = live(json, text, &ids, &n, &out, &err);
    bool reached = count >= k;
    fail_at = 0;
    if (s != CEL_OK && (s != CEL_OOM || !err.text[0]))
      fail_msg("%s, allocation %ld: %d \"%s\"", file, k, (int)s, err.text);
    if (s == CEL_OK) {
      ids_are(file, text, ids, n, want, (size_t)n_want);
      assert_true(cel_str_eq(cel_buf_str(&out), cel_buf_str(&right)));
    }
    free(ids);
    cel_buf_deinit(&out);
    if (!reached) break;
    failures += s != CEL_OK;
  }
  assert_true(failures > 10);
  free(want);
  cel_buf_deinit(&right);
  cel_json_decref(json);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  static const char *const files[] = {"t5.json",      "unigram.json", "bert.json",  "wordlevel.json",
                                      "letters.json", "clip.json",    "bytes.json", "kimi.json"};
  for (int i = 0; i < CEL_COUNT(files); i++) check(files[i], CEL_STR("Caf\u00e9 \u6B6A it's 12 <s> e\u0301."));
}

static void the_memory_of_pieces_is_not_needed(void **state) {
  (void)state;
  cel_tokenizer *t = load_tokenizer("bert.json");
  cel_buf text = {0};
  int32_t *want, *ids;
  int64_t n_want, n;
  for (int i = 0; i < 300; i++) cel_buf_addz(&text, "a word ");
  cel_encode_options how = {true, true};
  fail_at = 0;
  assert_int_equal(cel_encode(t, cel_buf_str(&text), how, &want, &n_want, NULL), CEL_OK);
  count = 0;
  fail_at = 1;  // what is asked for first
  assert_int_equal(cel_encode(t, cel_buf_str(&text), how, &ids, &n, NULL), CEL_OK);
  fail_at = 0;
  ids_are("bert", cel_buf_str(&text), ids, n, want, (size_t)n_want);
  free(ids);
  free(want);
  cel_buf_deinit(&text);
  cel_tokenizer_free(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_allocation_may_fail),
      cmocka_unit_test(the_memory_of_pieces_is_not_needed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
