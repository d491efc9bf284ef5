// Looking does not change what is seen: the logits of a prefill with every value tapped have the bits of one without taps.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/xla/xla_taps.h"
#include "support/oracle.h"

static const char *const names[] = {"llama3", "qwen3-q4g32", "gemma3", "gemma3n", "llama3-q4g64", "llama-gguf", "qwen3-nvfp4", "gemma2", "olmo2",
                                    "cohere", "stablelm", "phi3-long", "granite", "internlm2", "apertus", "qwen3moe-q4g32", "qwen2moe",
                                    "gptoss-mxfp4", "phimoe", "dsv2", "dsv3", "lfm2", "lfm2moe", "qwen3next"};

static void same_bits(const char *name, const char *precision) {
  oracle *o = oracle_load(name);
  const oracle_case *c = &o->cases[0];
  cel_err err = {0};
  loaded l;
  cel_load_options load = {.n_threads = 2};
  loaded_open(&l, o->path, precision, &load);
  float *want = malloc((size_t)(c->n * o->vocab) * sizeof *want);
  assert_non_null(want);
  cel_prompt p = {.ids = c->ids, .n = c->n};
  if (l.backend->logits(l.model, &p, want, &err) != CEL_OK) fail_msg("%s", err.text);
  static const char *const all[] = {"*"};
  cel_xla_taps_options q = {.precision = precision, .n_threads = 2, .taps = all, .n_taps = 1};
  cel_xla_taps t;
  if (cel_xla_taps_run(&l.arch, l.checkpoint, c->ids, c->n, &q, &t, &err) != CEL_OK) fail_msg("%s: %s", name, err.text);
  const cel_diag_array *logits = &t.arrays[t.n - 1];
  assert_string_equal(logits->name, "logits");
  assert_int_equal(cel_diag_elements(logits), c->n * o->vocab);
  if (memcmp(logits->data, want, (size_t)(c->n * o->vocab) * sizeof *want) != 0) fail_msg("%s in %s: taps change the logits", name, precision);
  cel_xla_taps_deinit(&t);
  free(want);
  loaded_close(&l);
  oracle_free(o);
}

static void taps_do_not_change_a_bit(void **state) {
  (void)state;
  for (int i = 0; i < CEL_COUNT(names); i++) {
    same_bits(names[i], "i16");
    same_bits(names[i], "f32");
  }
}

static void what_cannot_be_run_is_refused(void **state) {
  (void)state;
  oracle *o = oracle_load("llama3");
  loaded l;
  cel_load_options load = {.n_threads = 1};
  cel_err err = {0};
  cel_xla_taps t;
  loaded_open(&l, o->path, "f32", &load);
  static const char *const none[] = {"layers.9.q"}, *const all[] = {"*"};
  static const int32_t ids[2] = {1, 99999};
  cel_xla_taps_options q = {.taps = none, .n_taps = 1};
  assert_int_equal(cel_xla_taps_run(&l.arch, l.checkpoint, ids, 1, &q, &t, &err), CEL_NOT_FOUND);
  assert_non_null(strstr(err.text, "layers.9.q"));
  q.taps = all;
  assert_int_equal(cel_xla_taps_run(&l.arch, l.checkpoint, ids, 2, &q, &t, &err), CEL_INVALID);
  assert_non_null(strstr(err.text, "99999"));
  assert_int_equal(cel_xla_taps_run(&l.arch, l.checkpoint, ids, 0, &q, &t, &err), CEL_INVALID);
  q.module = CEL_STR("module @x { func.func public @main(%a: tensor<2xf32>) -> tensor<2xf32> { return %a : tensor<2xf32> } }");
  q.module_name = "x.mlir";
  assert_int_equal(cel_xla_taps_run(&l.arch, l.checkpoint, ids, 1, &q, &t, &err), CEL_INVALID);
  assert_non_null(strstr(err.text, "tokens"));
  loaded_close(&l);
  oracle_free(o);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(taps_do_not_change_a_bit), cmocka_unit_test(what_cannot_be_run_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
