// Taps in the emitted text: every value has one name, the results before the taps are those of the module without them,
// and a pattern that fits nothing is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "backend/xla/emit/emit.h"
#include "golden/subject.h"

static const char *const models[] = {"llama3", "gemma3", "gemma3n", "cohere", "olmo2", "qwen2moe", "gptoss-mxfp4", "dsv2", "dsv3-q4g32",
                                     "lfm2", "qwen3next", "apertus", "internlm2"};

static cel_status emit(const subject *s, const char *const *taps, int n, cel_hlo_module **out, cel_err *err) {
  cel_emit_options o = {.entry = CEL_ENTRY_PREFILL, .tokens = 6, .rows = 1, .capacity = 6, .logits = CEL_LOGITS_ALL, .taps = taps, .n_taps = n};
  return cel_emit_text(&s->arch, &s->storage, &o, out, err);
}

static const char *tap_of(const cel_hlo_func *f, int result) {
  cel_hlo_attr **attrs = f->result_attrs ? f->result_attrs[result] : NULL;
  for (; attrs && *attrs; attrs++) {
    if (!strcmp((*attrs)->name, CEL_EMIT_TAP_ATTR)) return (*attrs)->s;
  }
  return NULL;
}

static bool has(const cel_hlo_func *f, const char *name) {
  int n = 0;
  for (int i = 0; i < f->n_results; i++) n += tap_of(f, i) && !strcmp(tap_of(f, i), name);
  if (n > 1) fail_msg("%s is the name of %d values", name, n);
  return n == 1;
}

static void every_value_has_one_name(void **state) {
  (void)state;
  for (int i = 0; i < CEL_COUNT(models); i++) {
    subject s;
    cel_err err = {0};
    cel_hlo_module *plain, *tapped;
    static const char *const all[] = {"*"};
    subject_open(&s, models[i]);
    if (emit(&s, NULL, 0, &plain, &err) != CEL_OK || emit(&s, all, 1, &tapped, &err) != CEL_OK) fail_msg("%s", err.text);
    if (cel_hlo_verify(tapped, &err) != CEL_OK) fail_msg("%s: %s", models[i], err.text);
    const cel_hlo_func *p = cel_hlo_find_func(plain, "main"), *t = cel_hlo_find_func(tapped, "main");
    char name[64];
    snprintf(name, sizeof name, "layers.%d.ffn", s.arch.n_layers - 1);
    assert_true(has(t, "embedding") && has(t, "final_norm") && has(t, "logits") && has(t, name));
    assert_true(t->n_results > p->n_results + 6 * s.arch.n_layers);
    for (int k = 0; k < t->n_results; k++) {
      if (k < p->n_results) assert_null(tap_of(t, k));
      else assert_true(has(t, tap_of(t, k)));
    }
    cel_hlo_module_free(plain);
    cel_hlo_module_free(tapped);
    subject_close(&s);
  }
}

static void patterns_choose(void **state) {
  (void)state;
  subject s;
  cel_err err = {0};
  cel_hlo_module *m;
  subject_open(&s, "llama3");
  static const char *const some[] = {"layers.1.q", "layers.*.attn", "logits"};
  if (emit(&s, some, CEL_COUNT(some), &m, &err) != CEL_OK) fail_msg("%s", err.text);
  const cel_hlo_func *f = cel_hlo_find_func(m, "main");
  assert_int_equal(f->n_results, 3 + 1 + s.arch.n_layers + 1);  // logits, keys, values; then the taps
  assert_string_equal(tap_of(f, 3), "layers.0.attn");
  assert_string_equal(tap_of(f, 4), "layers.1.q");
  assert_string_equal(tap_of(f, f->n_results - 1), "logits");
  cel_hlo_module_free(m);
  subject_close(&s);
}

static void refused(const subject *s, const char *const *taps, int n, const char *says) {
  cel_err err = {0};
  cel_hlo_module *m = NULL;
  assert_int_not_equal(emit(s, taps, n, &m, &err), CEL_OK);
  assert_null(m);
  if (!strstr(err.text, says)) fail_msg("%s", err.text);
}

static void a_pattern_that_fits_nothing_is_refused(void **state) {
  (void)state;
  subject s;
  subject_open(&s, "llama3");
  static const char *const wrong[] = {"embedding", "layers.*.moe_router"};
  refused(&s, wrong, 2, "layers.*.moe_router");
  static const char *many[CEL_EMIT_MAX_TAPS + 1];
  for (int i = 0; i < CEL_COUNT(many); i++) many[i] = "*";
  refused(&s, many, CEL_COUNT(many), "patterns of taps");
  subject_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_value_has_one_name), cmocka_unit_test(patterns_choose),
                                     cmocka_unit_test(a_pattern_that_fits_nothing_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
