// Every family on 4 bits: its oracle's weights are packed as mx.quantize does (affine, groups of 32), and the model on the
// packed file must compute what it computes in f32 on the file of the same weights widened again: logits within a bound,
// and the same greedy tokens. That file is a folder in f32, whose arithmetic families_test compares with transformers.
// Nothing of this is committed: both files are made here.
//   quantized_test [FOLDER | all]    one oracle, or all that are not packed themselves with 64 tokens; else one a family
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "arch/verified.h"
#include "arch/weight_shape.h"
#include "base/file.h"
#include "model/write/quantize.h"
#include "support/oracle.h"

enum { BITS = 4, GROUP = 32, PROMPT_MOST = 24, TOKENS_MOST = 64 };
// Fractions of the largest logit: products in f32 and with activations of 16 bits. Measured (CEL_VERBOSE=1 prints them):
// at most 3.6e-06 and 6.5e-4.
static const double bounds[2] = {2e-5, 1e-3};
static const char *const precisions[2] = {"f32", "i16"};
static int tokens = 16;

// ---- the two files -----------------------------------------------------------------------------------------

typedef struct file {
  cel_buf header, data;
} file;

static void put(file *f, const char *name, const char *dtype, const int64_t *dims, int rank, const void *bytes, int64_t n) {
  cel_buf_printf(&f->header, "%c\"%s\":{\"dtype\":\"%s\",\"shape\":[", f->header.n ? ',' : '{', name, dtype);
  for (int i = 0; i < rank; i++) cel_buf_printf(&f->header, "%s%lld", i ? "," : "", (long long)dims[i]);
  cel_buf_printf(&f->header, "],\"data_offsets\":[%zu,%zu]}", f->data.n, f->data.n + (size_t)n);
  cel_buf_add(&f->data, bytes, (size_t)n);
}

static void finish(file *f, const char *folder, const char *config, const char *insert) {
  cel_buf all = {0}, text = {0};
  char path[600];
  cel_buf_addc(&f->header, '}');
  for (int i = 0; i < 8; i++) cel_buf_addc(&all, (char)(f->header.n >> 8 * i & 255));
  cel_buf_adds(&all, cel_buf_str(&f->header));
  cel_buf_adds(&all, cel_buf_str(&f->data));
  snprintf(path, sizeof path, "%s/model.safetensors", folder);
  assert_int_equal(cel_write_file(path, all.p, (int64_t)all.n, NULL), CEL_OK);
  cel_buf_printf(&text, "{%s%s", insert, strchr(config, '{') + 1);
  snprintf(path, sizeof path, "%s/config.json", folder);
  assert_int_equal(cel_write_file(path, text.p, (int64_t)text.n, NULL), CEL_OK);
  cel_buf_deinit(&all);
  cel_buf_deinit(&text);
  cel_buf_deinit(&f->header);
  cel_buf_deinit(&f->data);
}

// What mlx-lm packs: products and embeddings; routers stay as they are.
static bool is_packed(const cel_arch *a, const cel_weight *w) {
  if (w->cols % GROUP != 0 || w->scales) return false;
  for (int role = 0; role < CEL_W_COUNT; role++) {
    if (role == CEL_W_ROUTER || !cel_arch_weight_is(a, (cel_weight_role)role, w->name)) continue;
    cel_weight_kind kind = cel_arch_weight_shape(a, (cel_weight_role)role, 0).kind;
    return kind == CEL_WEIGHT_MATRIX || kind == CEL_WEIGHT_STACK;
  }
  return false;
}

static void put_both(const cel_weight *w, file *packed, file *wide) {
  const cel_tensor *t = w->tensor;
  int64_t rows = w->rows * CEL_MAX(w->experts, 1), groups = w->cols / GROUP, words = w->cols * BITS / 8;
  uint8_t *q = malloc((size_t)(rows * words)), *s = malloc((size_t)(rows * groups * 2)), *b = malloc((size_t)(rows * groups * 2));
  float *x = malloc((size_t)(rows * w->cols) * sizeof *x);
  assert_true(q && s && b && x);
  for (int64_t r = 0; r < rows; r++) {
    float *row = x + r * w->cols;
    cel_weight_row(w, r, row);
    cel_quantize_affine(row, w->cols, BITS, GROUP, CEL_DT_BF16, q + r * words, s + r * groups * 2, b + r * groups * 2);
    cel_affine_widen(q + r * words, s + r * groups * 2, b + r * groups * 2, CEL_DT_BF16, BITS, GROUP, w->cols, row);
  }
  char name[600];
  int64_t dims[3];
  memcpy(dims, t->dims, sizeof dims);
  put(wide, t->name, "F32", dims, t->rank, x, rows * w->cols * 4);
  dims[t->rank - 1] = w->cols * BITS / 32;
  put(packed, t->name, "U32", dims, t->rank, q, rows * words);
  dims[t->rank - 1] = groups;
  snprintf(name, sizeof name, "%s.scales", w->name);
  put(packed, name, "BF16", dims, t->rank, s, rows * groups * 2);
  snprintf(name, sizeof name, "%s.biases", w->name);
  put(packed, name, "BF16", dims, t->rank, b, rows * groups * 2);
  free(q);
  free(s);
  free(b);
  free(x);
}

// Tensors in the canonical names, as the loader has arranged them. Number of weights packed.
static int make_twins(const char *source, const char *packed_folder, const char *wide_folder) {
  cel_err err = {0};
  cel_checkpoint *c;
  cel_arena arena;
  cel_arch a;
  char path[600], *config;
  int64_t n;
  int count = 0;
  cel_arena_init(&arena);
  if (cel_checkpoint_open(source, &c, &err) != CEL_OK || cel_arch_from_config(c->config, NULL, &arena, &a, &err) != CEL_OK)
    fail_msg("%s", err.text);
  snprintf(path, sizeof path, "%s/config.json", source);
  if (cel_read_file(path, 1 << 20, &config, &n, &err) != CEL_OK) fail_msg("%s", err.text);
  file packed = {0}, wide = {0};
  for (int64_t i = 0; i < c->n_tensors; i++) {
    const cel_tensor *t = &c->tensors[i];
    cel_str name = cel_str_of(t->name);
    char module[512];
    cel_weight w;
    bool matrix = cel_str_ends(name, CEL_STR(".weight")) && (t->rank == 2 || t->rank == 3) && name.n < sizeof module;
    snprintf(module, sizeof module, "%.*s", (int)(name.n - (matrix ? 7 : 0)), name.p);
    if (matrix && cel_checkpoint_weight(c, module, &w, &err) == CEL_OK && is_packed(&a, &w)) {
      put_both(&w, &packed, &wide);
      count++;
      continue;
    }
    void *copy = malloc((size_t)t->bytes + 1);
    assert_non_null(copy);
    cel_tensor_copy(t, copy);
    put(&packed, t->name, cel_dtype_of(t->dtype)->safetensors, t->dims, t->rank, copy, t->bytes);
    put(&wide, t->name, cel_dtype_of(t->dtype)->safetensors, t->dims, t->rank, copy, t->bytes);
    free(copy);
  }
  finish(&packed, packed_folder, config, "\"quantization\": {\"group_size\": 32, \"bits\": 4},");
  finish(&wide, wide_folder, config, "");
  free(config);
  cel_checkpoint_close(c);
  cel_arena_deinit(&arena);
  return count;
}

// ---- the comparison ----------------------------------------------------------------------------------------

typedef struct said {
  float *logits;  // [n][vocab]
  int64_t n, vocab;
  int32_t greedy[TOKENS_MOST];
} said;

static float *logits_of(const loaded *l, const int32_t *ids, int64_t n, int64_t vocab) {
  cel_err err = {0};
  cel_prompt p = {.ids = ids, .n = n};
  float *out = malloc((size_t)(n * vocab) * sizeof *out);
  assert_non_null(out);
  if (l->backend->logits(l->model, &p, out, &err) != CEL_OK) fail_msg("%s", err.text);
  return out;
}

static said ask(const loaded *l, const oracle *o, int64_t n) {
  cel_err err = {0};
  said s = {.n = n, .vocab = o->vocab};
  s.logits = logits_of(l, o->cases[0].ids, n, o->vocab);
  cel_session *session;
  cel_session_options options = greedy_options();
  if (l->backend->open(l->model, &options, &session, &err) != CEL_OK) fail_msg("%s", err.text);
  greedy_run(l, session, o->cases[0].ids, n, s.greedy, tokens);
  l->backend->close(session);
  return s;
}

static double largest(const said *s) {
  double most = 0;
  for (int64_t i = 0; i < s->n * s->vocab; i++) most = fmax(most, fabs((double)s->logits[i]));
  return most;
}

// Where the tokens part, the reference must have had the two within twice the bound of each other.
static void same_tokens(const loaded *l, const oracle *o, const said *want, const said *got, double bound) {
  int32_t ids[PROMPT_MOST + TOKENS_MOST];
  for (int i = 0; i < tokens; i++) {
    if (got->greedy[i] == want->greedy[i]) continue;
    memcpy(ids, o->cases[0].ids, (size_t)want->n * sizeof *ids);
    memcpy(ids + want->n, want->greedy, (size_t)i * sizeof *ids);
    float *logits = logits_of(l, ids, want->n + i, want->vocab), *last = logits + (want->n + i - 1) * want->vocab;
    double gap = (double)last[want->greedy[i]] - (double)last[got->greedy[i]];
    if (!(gap <= 2 * bound)) fail_msg("%s: token %d is %d, in f32 it is %d, %g ahead", o->path, i, got->greedy[i], want->greedy[i], gap);
    free(logits);
    return;
  }
}

static void compare(const loaded *wide, const oracle *o, const said *want, const char *packed_folder, int k) {
  loaded l;
  loaded_open(&l, packed_folder, precisions[k], NULL);
  said got = ask(&l, o, want->n);
  double most = largest(want), worst = 0;
  for (int64_t i = 0; i < want->n * want->vocab; i++) {
    double d = fabs((double)got.logits[i] - (double)want->logits[i]);
    if (!(d <= worst)) worst = d;
  }
  if (getenv("CEL_VERBOSE")) printf("  %s %s: %.1e of the largest logit\n", strrchr(o->path, '/') + 1, precisions[k], worst / most);
  if (!(worst <= bounds[k] * most)) fail_msg("%s, %s: logits differ by %g of %g", o->path, precisions[k], worst, most);
  same_tokens(wide, o, want, &got, bounds[k] * most);
  free(got.logits);
  loaded_close(&l);
}

static void equals_its_widened_weights(void **state) {
  oracle *o = oracle_load(*state);
  char base[300], packed[340], wide[340], command[800];
  const char *temp = getenv("TMPDIR");
  snprintf(base, sizeof base, "%s/cel_quantized_XXXXXX", temp && strlen(temp) < 250 ? temp : "/tmp");
  assert_non_null(mkdtemp(base));
  snprintf(packed, sizeof packed, "%s/packed", base);
  snprintf(wide, sizeof wide, "%s/wide", base);
  snprintf(command, sizeof command, "mkdir %s %s", packed, wide);
  assert_int_equal(system(command), 0);
  assert_true(make_twins(o->path, packed, wide) >= 4);
  loaded l;
  loaded_open(&l, wide, "f32", NULL);
  said want = ask(&l, o, CEL_MIN(o->cases[0].n, PROMPT_MOST));
  for (int k = 0; k < 2; k++) compare(&l, o, &want, packed, k);
  free(want.logits);
  loaded_close(&l);
  oracle_free(o);
  snprintf(command, sizeof command, "rm -rf '%s'", base);
  assert_int_equal(system(command), 0);
}

// ---- which -------------------------------------------------------------------------------------------------

static bool is_plain_folder(const char *name) {
  cel_err err;
  cel_checkpoint *c;
  char path[600];
  snprintf(path, sizeof path, "%s/data/oracle/%s", CEL_TEST_DATA, name);
  if (cel_checkpoint_open(path, &c, &err) != CEL_OK) return false;
  bool plain = c->format == CEL_FORMAT_SAFETENSORS;
  for (int64_t i = 0; i < c->n_tensors; i++) plain = plain && c->tensors[i].dtype != CEL_DT_U32;
  cel_checkpoint_close(c);
  return plain;
}

enum { TESTS_MOST = 400 };
static struct CMUnitTest tests[TESTS_MOST];
static char names[TESTS_MOST][80];
static int n_tests;

static void add(const char *name) {
  if (n_tests == TESTS_MOST || !is_plain_folder(name)) return;
  snprintf(names[n_tests], sizeof names[0], "%s", name);
  tests[n_tests] = (struct CMUnitTest){names[n_tests], equals_its_widened_weights, NULL, NULL, names[n_tests]};
  n_tests++;
}

int main(int n_args, char **args) {
  bool all = n_args > 1 && !strcmp(args[1], "all");
  if (all) tokens = TOKENS_MOST;
  for (const cel_verified *v = cel_verified_families; v->family && (n_args == 1 || all); v++) {
    int before = n_tests;
    char list[2000], *rest = list;
    snprintf(list, sizeof list, "%s", v->folders);
    for (char *one = strtok_r(list, " ", &rest); one && (all || n_tests == before); one = strtok_r(NULL, " ", &rest)) add(one);
  }
  if (n_args > 1 && !all) add(args[1]);
  assert_true(n_tests > 0);
  return _cmocka_run_group_tests("quantized", tests, (size_t)n_tests, NULL, NULL);
}
