// A decode step allocates nothing; and each allocation of a whole life (open, load, encode, render, prefill, decode,
// close) is made to fail in turn: every failure must come back as a status, with nothing leaked (sanitizers watch).
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "fault/starve.h"
#include "generate/generate.h"
#include "support/oracle.h"

static void a_decode_step_allocates_nothing(void **state) {
  (void)state;
  static const char *const names[] = {"llama3", "gemma3", "qwen3-q4g32", "llama-gguf", "llama-dyn", "lfm2"};
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

// A prompt behind another one, for which the memory is lacking somewhere; then once more.
static bool refused_prompt(const oracle *o, long at) {
  loaded l;
  cel_err err = {0};
  cel_session *s;
  const oracle_case *c = &o->cases[0];
  cel_load_options options = {.n_threads = 1, .context = 64, .prefill_chunk = 5};
  cel_session_options so = greedy_options();
  loaded_open(&l, o->path, "f32", &options);
  assert_int_equal(l.backend->open(l.model, &so, &s, &err), CEL_OK);
  cel_prompt first = {.ids = c->ids, .n = 5}, rest = {.ids = c->ids + 5, .n = c->n - 5};
  assert_int_equal(l.backend->prefill(s, &first, &err), CEL_OK);
  count = 0;
  fail_at = at;
  cel_status status = l.backend->prefill(s, &rest, &err);
  fail_at = 0;
  if (status != CEL_OK) {
    assert_int_equal(status, CEL_OOM);
    assert_int_equal(l.backend->length(s), 5);
    assert_int_equal(l.backend->prefill(s, &rest, &err), CEL_OK);
  }
  for (int i = 0; i < 6; i++) {
    cel_event e;
    assert_int_equal(l.backend->step(l.model, &s, 1, &e, &err), CEL_OK);
    assert_int_equal(e.token, c->greedy[i]);
  }
  l.backend->close(s);
  loaded_close(&l);
  return status != CEL_OK;
}

static void a_prompt_that_failed_leaves_no_trace_in_a_state(void **state) {
  (void)state;
  static const char *const names[] = {"lfm2", "qwen3next"};
  for (int i = 0; i < CEL_COUNT(names); i++) {
    oracle *o = oracle_load(names[i]);
    int refused = 0;
    for (long at = 1; at < 1500; at += 1 + at / 12) refused += refused_prompt(o, at);
    assert_true(refused >= 10);
    oracle_free(o);
  }
}

// A folder as models come in: config, tokenizer and template as JSON, weights as safetensors.
static const char *const parts[][2] = {{"config.json", CEL_TEST_DATA "/data/oracle/llama3/config.json"},
                                       {"model.safetensors", CEL_TEST_DATA "/data/oracle/llama3/model.safetensors"},
                                       {"tokenizer.json", CEL_TEST_DATA "/data/tokenizer/llama3.json"}};
static const char *const texts[][2] = {
    {"tokenizer_config.json", "{\"bos_token\": {\"content\": \"<|a|>\"}, \"eos_token\": \"<|b|>\"}"},
    {"generation_config.json", "{\"eos_token_id\": [2, 5], \"top_k\": 3}"},
    {"chat_template.jinja", "{% for m in messages %}{% if m.role == 'developer' %}{{ raise_exception('no') }}{% endif %}<{{ m.role }}>{{ m.content }}{% endfor %}{{ tools|tojson }}"},
};
static char folder[64];

static const char *in_folder(const char *name) {
  static char path[200];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void make_folder(void) {
  snprintf(folder, sizeof folder, "/tmp/memory_test_XXXXXX");
  assert_non_null(mkdtemp(folder));
  for (int i = 0; i < CEL_COUNT(parts); i++) assert_int_equal(symlink(parts[i][1], in_folder(parts[i][0])), 0);
  for (int i = 0; i < CEL_COUNT(texts); i++) {
    assert_int_equal(cel_write_file(in_folder(texts[i][0]), texts[i][1], (int64_t)strlen(texts[i][1]), NULL), CEL_OK);
  }
}

static void drop_folder(void) {
  for (int i = 0; i < CEL_COUNT(parts); i++) unlink(in_folder(parts[i][0]));
  for (int i = 0; i < CEL_COUNT(texts); i++) unlink(in_folder(texts[i][0]));
  assert_int_equal(rmdir(folder), 0);
}

// Messages as JSON, rendered (parts joined, the developer renamed), encoded and answered.
static cel_status chat(cel_lm *lm, cel_json **messages, cel_json **tools, cel_buf *prompt, int32_t **ids, cel_err *err) {
  int64_t n;
  CEL_TRY(cel_json_parse(CEL_STR("[{\"role\":\"developer\",\"content\":\"be\\u00e9\"},{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a \"},"
                                 "{\"type\":\"text\",\"text\":\"b\"}]}]"), "messages", messages, err));
  CEL_TRY(cel_json_parse(CEL_STR("[{\"name\":\"f\",\"p\":{\"a\":[1,2.5,null]}}]"), "tools", tools, err));
  CEL_TRY(cel_lm_render(lm, *messages, *tools, NULL, true, prompt, err));
  if (prompt->failed) return cel_fail_oom(err, "the prompt");
  assert_string_equal(prompt->p, "<system>be\xC3\xA9<user>a b[{\"name\": \"f\", \"p\": {\"a\": [1, 2.5, null]}}]");
  CEL_TRY(cel_lm_encode(lm, cel_buf_str(prompt), true, ids, &n, err));
  assert_true(n > 10);
  const int32_t short_prompt[] = {1, 2, 3};
  cel_generation g = {0};
  cel_reply r = {0};
  cel_request q = {.ids = short_prompt, .n = 3, .max_tokens = 3, .ignore_end = true};
  cel_sampling_init(&q.sampling);
  q.sampling.temperature = 0;
  cel_status s = cel_generate(lm, &g, &q, NULL, &r, err);
  if (s == CEL_OK) assert_int_equal(r.n, 3);
  cel_reply_deinit(&r);
  cel_generation_close(&g, lm);
  return s;
}

static cel_status folder_life(cel_err *err) {
  cel_lm *lm;
  cel_lm_options o = {.need_backend = true, .need_tokenizer = true, .load = {.n_threads = 1, .context = 64}};
  CEL_TRY(cel_lm_open(folder, &o, &lm, err));
  cel_json *messages = NULL, *tools = NULL;
  cel_buf prompt = {0};
  int32_t *ids = NULL;
  cel_status s = chat(lm, &messages, &tools, &prompt, &ids, err);
  free(ids);
  cel_buf_deinit(&prompt);
  cel_json_decref(messages);
  cel_json_decref(tools);
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
  cel_json_decref(messages);
  cel_json_decref(variables);
  cel_template_free(t);
  return s;
}

static cel_status no_json(cel_err *err) { return cel_fail_oom(err, "JSON"); }

// Read, built, shared between documents, copied, written.
static cel_status json_life(cel_err *err) {
  cel_buf text = {0}, out = {0};
  cel_json *v = NULL, *copy = NULL, *o = NULL;
  cel_buf_addz(&text, "{\"deep\":[[[[[[[[[[[[[[[[[[[[1.5e-300,\"\\u00e9\\n\"]]]]]]]]]]]]]]]]]]]],\"many\":{");
  for (int i = 0; i < 300; i++) cel_buf_printf(&text, "%s\"k%d\":\"%d\"", i ? "," : "", i, i);
  cel_buf_addz(&text, "}}");
  cel_status s = text.failed ? no_json(err) : cel_json_parse(cel_buf_str(&text), "t", &v, err);
  if (s == CEL_OK && !(copy = cel_json_deep_copy(v))) s = no_json(err);
  if (s == CEL_OK && !(o = cel_json_pack("{s:[i,s],s:{}}", "a", 1, "x", "b"))) s = no_json(err);
  for (int i = 0; s == CEL_OK && i < 20; i++) {
    char key[16];
    snprintf(key, sizeof key, "n%d", i);
    if (cel_json_object_set_new(o, key, cel_json_integer(i)) != 0) s = no_json(err);
  }
  if (s == CEL_OK && cel_json_object_set(o, "copy", copy) != 0) s = no_json(err);
  if (s == CEL_OK && cel_json_array_append_new(cel_json_object_get(o, "a"), cel_json_incref(v)) != 0) s = no_json(err);
  if (s == CEL_OK) {
    assert_int_equal(cel_json_object_size(o), 23);
    assert_true(cel_json_equal(cel_json_object_get(o, "copy"), cel_json_array_get(cel_json_object_get(o, "a"), 2)));
    cel_json_write(&out, o, (cel_json_style){.indent = 1, .ascii = true});
    if (out.failed) s = no_json(err);
  }
  cel_json_decref(v);
  cel_json_decref(copy);
  cel_json_decref(o);
  cel_buf_deinit(&text);
  cel_buf_deinit(&out);
  return s;
}

static oracle *gguf;
static cel_status gguf_life(cel_err *err) { return life(gguf->path, &gguf->cases[0], err); }

static void every_allocation_may_fail_over_the_life_of_a_gguf_model(void **state) {
  (void)state;
  gguf = oracle_load("llama-gguf");
  setenv("MLXCEL_XLA_PRECISION", "i16", 1);
  starve(gguf_life, 1500, 100);  // every one would take minutes
  oracle_free(gguf);
}

static void every_allocation_may_fail_over_the_life_of_a_folder(void **state) {
  (void)state;
  make_folder();
  setenv("MLXCEL_XLA_PRECISION", "i16", 1);
  starve(folder_life, 1500, 100);
  drop_folder();
}

static void every_allocation_may_fail_in_a_template(void **state) {
  (void)state;
  starve(template_life, 1 << 20, 10);
}

static void every_allocation_may_fail_in_json(void **state) {
  (void)state;
  starve(json_life, 1 << 20, 30);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_decode_step_allocates_nothing),
                                     cmocka_unit_test(a_prompt_that_failed_leaves_no_trace_in_a_state),
                                     cmocka_unit_test(every_allocation_may_fail_over_the_life_of_a_gguf_model),
                                     cmocka_unit_test(every_allocation_may_fail_over_the_life_of_a_folder),
                                     cmocka_unit_test(every_allocation_may_fail_in_json),
                                     cmocka_unit_test(every_allocation_may_fail_in_a_template)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
