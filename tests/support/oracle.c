#define _POSIX_C_SOURCE 200809L
#include "support/oracle.h"

// cmocka wants these before its own header
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/env.h"
#include "base/file.h"
#include "base/json.h"

static int64_t read_ints(const cel_json *list, int64_t *wide, int32_t **narrow) {
  int64_t n = (int64_t)cel_json_array_size(list);
  if (narrow) *narrow = calloc((size_t)n + 1, sizeof **narrow);
  for (int64_t i = 0; i < n; i++) {
    int64_t v = cel_json_integer_value(cel_json_array_get(list, (size_t)i));
    if (narrow) (*narrow)[i] = (int32_t)v;
    if (wide) wide[i] = v;
  }
  return n;
}

static void read_case(const cel_json *j, oracle_case *c) {
  c->n = read_ints(cel_json_object_get(j, "ids"), NULL, &c->ids);
  c->n_greedy = read_ints(cel_json_object_get(j, "greedy"), NULL, &c->greedy);
  const cel_json *rows = cel_json_object_get(j, "rows");
  c->n_rows = cel_json_is_array(rows) ? (int64_t)cel_json_array_size(rows) : cel_json_integer_value(rows);
  c->rows = calloc((size_t)c->n_rows + 1, sizeof *c->rows);
  for (int64_t i = 0; i < c->n_rows; i++) c->rows[i] = i;
  if (cel_json_is_array(rows)) read_ints(rows, c->rows, NULL);
  c->first_row = cel_json_int(j, "first_row", 0);
}

// f32 [rows, vocab] of a NumPy file.
static void read_logits(const char *path, oracle *o) {
  cel_err err;
  char *text;
  int64_t bytes;
  if (!cel_is_file(path)) return;
  if (cel_read_file(path, 64 << 20, &text, &bytes, &err) != CEL_OK) fail_msg("%s", err.text);
  int64_t header = (unsigned char)text[8] | (unsigned char)text[9] << 8;
  const char *shape = strstr(text + 10, "'shape': (");
  assert_non_null(shape);
  long long rows, vocab;
  assert_int_equal(sscanf(shape, "'shape': (%lld, %lld)", &rows, &vocab), 2);
  assert_true(bytes == 10 + header + rows * vocab * 4);
  o->vocab = vocab;
  o->logits = malloc((size_t)(rows * vocab) * sizeof(float));
  memcpy(o->logits, text + 10 + header, (size_t)(rows * vocab) * sizeof(float));
  free(text);
}

oracle *oracle_load(const char *name) {
  cel_err err = {0};
  cel_json *j;
  char path[600];
  oracle *o = calloc(1, sizeof *o);
  assert_non_null(o);
  const char *colon = strchr(name, ':');
  const char *dot = colon ? "." : "";
  snprintf(o->adapter, sizeof o->adapter, "%s", colon ? colon + 1 : "");
  snprintf(o->path, sizeof o->path, "%s/data/oracle/%.*s", CEL_TEST_DATA, (int)strcspn(name, ":"), name);
  snprintf(path, sizeof path, "%s/oracle%s%.40s.json", o->path, dot, o->adapter);
  if (cel_json_load(path, 8 << 20, &j, &err) != CEL_OK) fail_msg("%s", err.text);
  o->tolerance = cel_json_num(j, "tolerance", 0);
  o->max_logit = cel_json_num(j, "max_logit", 0);
  assert_true(o->tolerance > 0 && o->max_logit > 0);
  size_t i;
  cel_json *c;
  cel_json_array_foreach(cel_json_object_get(j, "cases"), i, c) {
    if (o->n_cases < CEL_COUNT(o->cases)) read_case(c, &o->cases[o->n_cases++]);
  }
  assert_true(o->n_cases > 0);
  cel_json_decref(j);
  snprintf(path, sizeof path, "%s/logits%s%.40s.npy", o->path, dot, o->adapter);
  read_logits(path, o);
  assert_non_null(o->logits);
  return o;
}

void oracle_free(oracle *o) {
  for (int i = 0; i < o->n_cases; i++) {
    free(o->cases[i].ids);
    free(o->cases[i].greedy);
    free(o->cases[i].rows);
  }
  free(o->logits);
  free(o);
}

void loaded_open(loaded *l, const char *path, const char *precision, const cel_load_options *options) {
  loaded_open_adapted(l, path, NULL, precision, options);
}

void loaded_open_adapted(loaded *l, const char *path, const char *adapter, const char *precision, const cel_load_options *options) {
  cel_err err = {0};
  *l = (loaded){0};
  cel_arena_init(&l->arena);
  setenv("MLXCEL_XLA_PRECISION", precision, 1);
  cel_load_options defaults = {.n_threads = 2, .context = 256};
  cel_status s = cel_checkpoint_open_adapted(path, adapter && *adapter ? adapter : NULL, &l->checkpoint, &err);
  if (s == CEL_OK) s = cel_arch_from_config(l->checkpoint->config, NULL, &l->arena, &l->arch, &err);
  if (s == CEL_OK) s = cel_backend_find(cel_env(CEL_ENV_BACKEND), &l->backend, &err);
  if (s == CEL_OK) s = l->backend->load(&l->arch, l->checkpoint, options ? options : &defaults, &l->model, &err);
  if (s != CEL_OK) fail_msg("%s: %s", path, err.text);
}

void loaded_close(loaded *l) {
  l->backend->unload(l->model);
  cel_checkpoint_close(l->checkpoint);
  cel_arena_deinit(&l->arena);
}

cel_session_options greedy_options(void) {
  cel_session_options o = {.max_tokens = -1, .ignore_end = true};
  cel_sampling_init(&o.sampling);
  o.sampling.temperature = 0;
  o.sampling.n_logprobs = -1;
  return o;
}

void greedy_run(const loaded *l, cel_session *s, const int32_t *ids, int64_t n_ids, int32_t *out, int64_t n) {
  cel_err err = {0};
  cel_prompt p = {.ids = ids, .n = n_ids};
  if (l->backend->prefill(s, &p, &err) != CEL_OK) fail_msg("prefill: %s", err.text);
  for (int64_t i = 0; i < n; i++) {
    cel_event e;
    if (l->backend->step(l->model, &s, 1, &e, &err) != CEL_OK) fail_msg("step: %s", err.text);
    if (e.finish == CEL_FINISH_ERROR) fail_msg("step: %s", e.err.text);
    out[i] = e.token;
  }
}
