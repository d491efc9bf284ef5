#define _POSIX_C_SOURCE 200809L
#include "support.h"

#include "base/json.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

mlxcel_error the_error;

void ok_(mlxcel_status s, const char *call, int line) {
  if (s != MLXCEL_OK) fail_msg("line %d: %s: %s: %s", line, call, mlxcel_status_word(s), the_error.text);
}

void fails_(mlxcel_status want, const char *part, mlxcel_status got, const char *call, int line) {
  if (got != want) fail_msg("line %d: %s: %s, expected %s", line, call, mlxcel_status_word(got), mlxcel_status_word(want));
  if (the_error.status != want) fail_msg("line %d: %s: the error's status is %d", line, call, (int)the_error.status);
  if (!strstr(the_error.text, part)) fail_msg("line %d: %s: \"%s\" does not say \"%s\"", line, call, the_error.text, part);
  the_error = (mlxcel_error){.status = MLXCEL_OK};
}

static int64_t read_ids(const cel_json *list, int32_t *out) {
  size_t i;
  cel_json *v;
  assert_true(cel_json_is_array(list) && cel_json_array_size(list) <= ORACLE_MOST);
  cel_json_array_foreach(list, i, v) out[i] = (int32_t)cel_json_integer_value(v);
  return (int64_t)cel_json_array_size(list);
}

int reference_load(const char *name, reference out[ORACLE_CASES]) {
  char path[512];
  snprintf(path, sizeof path, DATA("%s/oracle.json"), name);
  cel_json *j = NULL;
  assert_int_equal(cel_json_load(path, 8 << 20, &j, NULL), CEL_OK);
  assert_non_null(j);
  const cel_json *cases = cel_json_object_get(j, "cases");
  int n = cel_json_array_size(cases) < ORACLE_CASES ? (int)cel_json_array_size(cases) : ORACLE_CASES;
  assert_true(n > 0);
  for (int i = 0; i < n; i++) {
    const cel_json *c = cel_json_array_get(cases, (size_t)i);
    out[i].n = read_ids(cel_json_object_get(c, "ids"), out[i].ids);
    out[i].n_greedy = read_ids(cel_json_object_get(c, "greedy"), out[i].greedy);
    assert_true(out[i].n > 1 && out[i].n_greedy > 8);
  }
  cel_json_decref(j);
  return n;
}

mlxcel_model *open_model(const char *path, int32_t max_sessions) {
  mlxcel_model_options o;
  mlxcel_model *m;
  setenv("MLXCEL_XLA_PRECISION", "f32", 1);
  mlxcel_model_options_init(&o, sizeof o);
  o.max_sessions = max_sessions;
  o.threads = 2;
  OK(mlxcel_model_open(path, &o, &m, ERR));
  return m;
}

mlxcel_model *open_files(const char *path) {
  mlxcel_model_options o;
  mlxcel_model *m;
  mlxcel_model_options_init(&o, sizeof o);
  o.files_only = true;
  OK(mlxcel_model_open(path, &o, &m, ERR));
  return m;
}

// ---- a folder ----------------------------------------------------------------------------------------

static char folder[64];
static const char *const links[][2] = {{"config.json", DATA("llama3/config.json")},
                                       {"model.safetensors", DATA("llama3/model.safetensors")},
                                       {"tokenizer.json", CEL_TEST_DATA "/data/tokenizer/llama3.json"}};
enum { N_LINKS = sizeof links / sizeof links[0] };

static const char *inside(const char *name) {
  static char path[128];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

const char *chat_folder(const char *chat_template) {
  snprintf(folder, sizeof folder, "/tmp/mlxcel-api-XXXXXX");
  assert_non_null(mkdtemp(folder));
  for (int i = 0; i < N_LINKS; i++) assert_int_equal(symlink(links[i][1], inside(links[i][0])), 0);
  FILE *f = fopen(inside("chat_template.jinja"), "w");
  assert_non_null(f);
  fputs(chat_template, f);
  assert_int_equal(fclose(f), 0);
  return folder;
}

void folder_remove(void) {
  for (int i = 0; i < N_LINKS; i++) unlink(inside(links[i][0]));
  unlink(inside("chat_template.jinja"));
  rmdir(folder);
}
