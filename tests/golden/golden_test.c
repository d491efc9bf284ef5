// The emitter's text against tests/golden/<family>/<model>.<entry>.mlir, and what holds for all such text:
// printing what was parsed gives the same bytes, and the reference evaluator computes the same numbers as the
// kernels do.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/xla/emit/emit.h"
#include "backend/xla/engine/native/ref/ref.h"
#include "backend/xla/program/program.h"
#include "base/file.h"
#include "golden/subject.h"
#include "support/oracle.h"

static const struct {
  const char *family, *model;
} rows[] = {{"llama", "llama3"},       {"llama", "llama-linear"},  {"llama", "llama-dyn"},     {"llama", "llama-yarn"},
            {"llama", "llama3-q4g64"}, {"llama", "llama3-q8g32"},  {"llama", "llama-gguf"},    {"mistral", "mistral"},
            {"qwen2", "qwen2"},        {"qwen2", "qwen2-gguf"},    {"qwen3", "qwen3"},         {"qwen3", "qwen3-q4g32"},
            {"qwen3", "qwen3-q8g64"},  {"gemma3", "gemma3"},  {"gemma3", "gemma3n"},      {"gemma3", "gemma3-linear"}, {"llama", "llama3-mixed"},
            {"llama", "llama3-mxfp8"},  {"qwen3", "qwen3-nvfp4"},   {"llama", "llama-blocks"},
            {"moe", "mixtral"},        {"moe", "qwen2moe"},        {"moe", "qwen3moe-q4g32"}, {"moe", "granitemoe"},
            {"moe", "gptoss"},         {"moe", "gptoss-mxfp4"},    {"moe", "erniemoe"},       {"moe", "phimoe"},
            {"mla", "dsv2"},           {"mla", "dsv3-q4g32"},      {"mla", "dsv3-fp8"},
            {"mla", "minicpm3"},      {"mla", "youtu-q4g32"},
            {"dense", "olmo1"},        {"dense", "olmo2"},         {"dense", "cohere"},       {"dense", "stablelm"},
            {"dense", "phi3-short"},   {"dense", "glm4"},          {"dense", "internlm2"},    {"dense", "ministral3"},
            {"dense", "smollm3"},      {"dense", "apertus"},
            {"state", "lfm2"},         {"state", "qwen3next"}};
static const struct {
  const char *name;
  cel_emit_options options;
} entries[] = {
    {"prefill", {.entry = CEL_ENTRY_PREFILL, .tokens = 6, .rows = 2, .capacity = 32, .logits = CEL_LOGITS_LAST}},
    {"decode", {.entry = CEL_ENTRY_DECODE, .tokens = 2, .rows = 2, .capacity = 32, .logits = CEL_LOGITS_ALL}},
};

static cel_hlo_module *emit(const subject *s, int entry) {
  cel_err err = {0};
  cel_hlo_module *m;
  if (cel_emit_text(&s->arch, &s->storage, &entries[entry].options, &m, &err) != CEL_OK) fail_msg("%s", err.text);
  return m;
}

static cel_buf print(const cel_hlo_module *m) {
  cel_err err = {0};
  cel_buf b = {0};
  if (cel_hlo_print(m, &b, &err) != CEL_OK) fail_msg("%s", err.text);
  return b;
}

// ---- bytes -------------------------------------------------------------------------------------------

static int64_t first_difference(cel_str a, cel_str b) {
  size_t i = 0;
  while (i < a.n && i < b.n && a.p[i] == b.p[i]) i++;
  int64_t line = 1;
  for (size_t k = 0; k < i; k++) line += a.p[k] == '\n';
  return line;
}

static void compare_file(const char *path, cel_str got) {
  cel_err err = {0};
  char *want;
  int64_t n;
  if (getenv("CEL_GOLDEN_REFRESH")) {
    if (cel_write_file(path, got.p, (int64_t)got.n, &err) != CEL_OK) fail_msg("%s", err.text);
    return;
  }
  if (cel_read_file(path, 1 << 24, &want, &n, &err) != CEL_OK) fail_msg("%s", err.text);
  cel_str w = {want, (size_t)n};
  if (!cel_str_eq(got, w)) fail_msg("%s: the emitted text differs from line %lld on", path, (long long)first_difference(got, w));
  free(want);
}

static void emitted_text_is_golden(void **state) {
  (void)state;
  for (int i = 0; i < CEL_COUNT(rows); i++) {
    subject s;
    subject_open(&s, rows[i].model);
    for (int e = 0; e < CEL_COUNT(entries); e++) {
      char path[700];
      cel_hlo_module *m = emit(&s, e);
      cel_buf text = print(m);
      snprintf(path, sizeof path, "%s/golden/%s/%s.%s.mlir", CEL_TEST_DATA, rows[i].family, rows[i].model, entries[e].name);
      compare_file(path, cel_buf_str(&text));
      cel_buf_deinit(&text);
      cel_hlo_module_free(m);
    }
    subject_close(&s);
  }
}

static void print_parse_print_is_the_identity(void **state) {
  (void)state;
  for (int i = 0; i < CEL_COUNT(rows); i++) {
    subject s;
    subject_open(&s, rows[i].model);
    for (int e = 0; e < CEL_COUNT(entries); e++) {
      cel_err err = {0};
      cel_hlo_module *m = emit(&s, e), *again;
      if (cel_hlo_verify(m, &err) != CEL_OK) fail_msg("%s: %s", rows[i].model, err.text);
      cel_buf first = print(m);
      if (cel_hlo_parse(cel_buf_str(&first), rows[i].model, &again, &err) != CEL_OK) fail_msg("%s", err.text);
      cel_buf second = print(again);
      assert_true(cel_str_eq(cel_buf_str(&first), cel_buf_str(&second)));
      cel_buf_deinit(&first);
      cel_buf_deinit(&second);
      cel_hlo_module_free(m);
      cel_hlo_module_free(again);
    }
    subject_close(&s);
  }
}

// ---- numbers -----------------------------------------------------------------------------------------

// Arguments of a program for the evaluator: weights from the checkpoint, the rest by name.
static void fill(const subject *s, const cel_program *p, const oracle_case *c, cel_ref_tensor *args) {
  for (int i = 0; i < p->n_params; i++) {
    const cel_param *q = &p->params[i];
    args[i].type = q->type;
    args[i].data = calloc(1, (size_t)cel_hlo_bytes(q->type) + 1);
    assert_non_null(args[i].data);
    if (q->kind == CEL_PARAM_WEIGHT) {
      const cel_tensor *t = cel_checkpoint_find(s->checkpoint, q->name);
      assert_non_null(t);
      assert_true(t->bytes == cel_hlo_bytes(q->type));
      cel_tensor_copy(t, args[i].data);
      continue;
    }
    int32_t *v = args[i].data;
    int64_t n = cel_hlo_elements(q->type);
    for (int64_t k = 0; k < n && q->type->etype == CEL_ET_I32; k++) {
      if (!strcmp(q->name, "tokens")) v[k] = c->ids[k];
      if (!strcmp(q->name, "positions")) v[k] = (int32_t)k;
      if (!strcmp(q->name, "last")) v[k] = (int32_t)entries[0].options.tokens - 1;
    }
    if (strncmp(q->name, "rope_freqs", 10) != 0) continue;
    float amplitude;
    const cel_rope *r = &s->arch.ropes[q->name[11] - '0'];
    for (int64_t k = 0; k < q->type->dims[0]; k++) {
      cel_rope_frequencies(r, entries[0].options.tokens, (float *)args[i].data + k * (r->dims / 2), &amplitude);
    }
  }
}

// The decompositions, run by the evaluator, give the reference's logits: the graph itself is right, whatever the
// kernels do.
static void decompositions_equal_the_reference(void **state) {
  (void)state;
  for (int i = 0; i < CEL_COUNT(rows); i++) {
    subject s;
    cel_err err = {0};
    subject_open(&s, rows[i].model);
    oracle *o = oracle_load(rows[i].model);
    cel_program *p;
    if (cel_program_new(emit(&s, 0), NULL, &p, &err) != CEL_OK) fail_msg("%s", err.text);
    cel_ref_tensor *args = calloc((size_t)p->n_params, sizeof *args), results[8] = {0};
    assert_non_null(args);
    fill(&s, p, &o->cases[0], args);
    if (cel_ref_eval_func(p->module, p->entry, args, p->n_params, results, NULL, &err) != CEL_OK) fail_msg("%s: %s", rows[i].model, err.text);
    const float *want = o->logits + (o->cases[0].first_row + entries[0].options.tokens - 1) * o->vocab;
    for (int64_t v = 0; v < o->vocab; v++) {
      double d = fabs((double)((float *)results[0].data)[v] - want[v]);
      if (!(d <= o->tolerance)) fail_msg("%s: logit %lld differs by %g", rows[i].model, (long long)v, d);
    }
    for (int k = 0; k < p->n_results; k++) cel_ref_tensor_free(&results[k]);
    for (int k = 0; k < p->n_params; k++) free(args[k].data);
    free(args);
    cel_program_free(p);
    oracle_free(o);
    subject_close(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(emitted_text_is_golden),
                                     cmocka_unit_test(print_parse_print_is_the_identity),
                                     cmocka_unit_test(decompositions_equal_the_reference)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
