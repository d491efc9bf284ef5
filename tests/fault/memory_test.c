// A decode step allocates nothing; and each allocation of a whole life (open, load, encode, render, prefill, decode,
// close) is made to fail in turn: every failure must come back as a status, with nothing leaked (sanitizers watch).
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "generate/generate.h"
#include "support/oracle.h"

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static long count, fail_at;  // fail_at 0: never; only touched while one thread runs

static int fails(void) { return ++count == fail_at; }
void *__wrap_malloc(size_t n) { return fails() ? NULL : __real_malloc(n); }
void *__wrap_calloc(size_t n, size_t size) { return fails() ? NULL : __real_calloc(n, size); }
void *__wrap_realloc(void *p, size_t n) { return fails() ? NULL : __real_realloc(p, n); }

static void a_decode_step_allocates_nothing(void **state) {
  (void)state;
  static const char *const names[] = {"llama3", "gemma3", "qwen3-q4g32", "llama-gguf", "llama-dyn"};
  for (int i = 0; i < CEL_COUNT(names); i++) {
    oracle *o = oracle_load(names[i]);
    loaded l;
    cel_load_options options = {.n_threads = 2, .context = 128, .max_sessions = 2};
    loaded_open(&l, o->path, "i16", &options);
    cel_session *s[2];
    cel_err err = {0};
    for (int k = 0; k < 2; k++) {
      cel_session_options so = greedy_options();
      so.sampling.temperature = k ? 0.8f : 0;
      so.sampling.top_k = 40;
      so.sampling.n_logprobs = k ? 5 : -1;
      assert_int_equal(l.backend->open(l.model, &so, &s[k], &err), CEL_OK);
      int32_t first[2];
      greedy_run(&l, s[k], o->cases[0].ids, o->cases[0].n, first, 2);
    }
    cel_event e[2];
    assert_int_equal(l.backend->step(l.model, s, 2, e, &err), CEL_OK);  // compiles the batch of two
    long before = count;
    for (int k = 0; k < 8; k++) {
      assert_int_equal(l.backend->step(l.model, s, 2, e, &err), CEL_OK);
      assert_int_equal(e[0].finish, CEL_FINISH_NONE);
    }
    assert_int_equal(count - before, 0);
    for (int k = 0; k < 2; k++) l.backend->close(s[k]);
    loaded_close(&l);
    oracle_free(o);
  }
}

// One whole life of a model with a tokenizer. CEL_OK when nothing failed.
static cel_status life(const char *path, const oracle_case *c, cel_err *err) {
  cel_lm *lm;
  cel_lm_options o = {.need_backend = true, .need_tokenizer = true};
  o.load = (cel_load_options){.n_threads = 1, .context = 64};
  CEL_TRY(cel_lm_open(path, &o, &lm, err));
  int32_t *ids = NULL;
  int64_t n = 0;
  cel_status s = cel_lm_encode(lm, CEL_STR("a b\nc d"), false, &ids, &n, err);
  free(ids);
  cel_generation g = {0};
  cel_reply r = {0};
  cel_str stop = CEL_STR("zzz");
  cel_request q = {.ids = c->ids, .n = c->n, .max_tokens = 4, .ignore_end = true, .stops = &stop, .n_stops = 1};
  cel_sampling_init(&q.sampling);
  q.sampling.temperature = 0;
  q.sampling.n_logprobs = 2;
  if (s == CEL_OK) s = cel_generate(lm, &g, &q, NULL, &r, err);
  for (int64_t i = 0; s == CEL_OK && i < r.n; i++) assert_int_equal(r.ids[i], c->greedy[i]);
  cel_reply_deinit(&r);
  cel_generation_close(&g, lm);
  cel_lm_close(lm);
  return s;
}

static cel_status template_life(cel_err *err) {
  static const char source[] = "{% for m in messages %}{{ m.role ~ ': ' ~ m.content | trim }}{{ '\\n' if not loop.last }}{% endfor %}"
                               "{% set ns = namespace(x=[1,2]) %}{{ ns.x | tojson }}{% macro f(a) %}<{{ a }}>{% endmacro %}{{ f('z') }}";
  cel_template *t;
  CEL_TRY(cel_template_compile(cel_str_of(source), "t", &t, err));
  cel_json *messages = NULL, *variables = NULL;
  cel_buf out = {0};
  cel_status s = cel_json_parse(CEL_STR("[{\"role\":\"user\",\"content\":\" hi \"},{\"role\":\"a\",\"content\":\"b\"}]"), "m", &messages, err);
  if (s == CEL_OK) s = cel_chat_variables(messages, NULL, NULL, NULL, true, &variables, err);
  if (s == CEL_OK) s = cel_template_render(t, variables, NULL, &out, err);
  if (s == CEL_OK) assert_string_equal(out.p, "user: hi\na: b[1, 2]<z>");
  cel_buf_deinit(&out);
  json_decref(messages);
  json_decref(variables);
  cel_template_free(t);
  return s;
}

// Not every lost allocation is fatal (a hint may be dropped), but most are, and none may crash.
static void every_allocation_may_fail_over_a_whole_life(void **state) {
  (void)state;
  json_set_alloc_funcs(__wrap_malloc, free);
  oracle *o = oracle_load("llama-gguf");
  cel_err err = {0};
  setenv("MLXCEL_XLA_PRECISION", "i16", 1);
  count = fail_at = 0;
  if (life(o->path, &o->cases[0], &err) != CEL_OK) fail_msg("%s", err.text);
  long all = count, refused = 0, step = all > 1500 ? all / 1500 : 1;  // every one would take minutes
  for (long at = 1; at <= all; at += at < 300 ? 1 : step) {
    err = (cel_err){0};
    count = 0;
    fail_at = at;
    cel_status s = life(o->path, &o->cases[0], &err);
    fail_at = 0;
    if (s == CEL_OK) continue;
    refused++;
    assert_true(err.text[0] != 0);
  }
  assert_true(refused > 100);
  oracle_free(o);
}

static void every_allocation_may_fail_in_a_template(void **state) {
  (void)state;
  json_set_alloc_funcs(__wrap_malloc, free);
  cel_err err = {0};
  count = fail_at = 0;
  if (template_life(&err) != CEL_OK) fail_msg("%s", err.text);
  long all = count;
  for (long at = 1; at <= all; at++) {
    err = (cel_err){0};
    count = 0;
    fail_at = at;
    cel_status s = template_life(&err);
    fail_at = 0;
    if (s != CEL_OK) assert_true(err.text[0] != 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_decode_step_allocates_nothing),
                                     cmocka_unit_test(every_allocation_may_fail_over_a_whole_life),
                                     cmocka_unit_test(every_allocation_may_fail_in_a_template)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
