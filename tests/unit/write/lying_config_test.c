// Folders whose config.json does not fit their tensors, to GGUF: refused, or a model of another size; never a read past a
// tensor (sanitizers watch). One number of each config at a time is doubled, or one more than it was.
#define _XOPEN_SOURCE 700
#include "unit/model/model_files.h"

#include <dirent.h>

#include "model/write/conversion.h"

static int n_made, n_refused;

static void try_to_convert(const folder *f, cel_pool *pool) {
  cel_checkpoint *c = NULL;
  cel_conversion *v = NULL;
  cel_err err = {0};
  const cel_conversion_options o = {.to = CEL_FORMAT_GGUF, .name = "x"};
  cel_status s = cel_checkpoint_open(f->path, &c, &err);
  if (s == CEL_OK) s = cel_conversion_new(c, &o, &v, &err);
  if (s == CEL_OK) s = cel_conversion_write(v, in_folder(f, "x.gguf"), true, pool, NULL, &err);
  cel_conversion_free(v);
  cel_checkpoint_close(c);
  if (s == CEL_OK) n_made++;
  else n_refused++;
  if (s != CEL_OK && (!err.text[0] || strchr(err.text, '\n'))) fail_msg("\"%s\"", err.text);
}

// Member `i` of the config in another size; false when it is no number that counts something.
static bool lie(cel_json *config, size_t i, int how) {
  cel_str key = cel_json_object_key(config, i);
  const cel_json *v = cel_json_object_value(config, i);
  int64_t n = cel_json_integer_value(v);
  if (!cel_json_is_integer(v) || n < 1 || n > 1 << 20 || cel_str_ends(key, CEL_STR("token_id"))) return false;
  return cel_json_object_setn_new(config, key.p, key.n, cel_json_integer(how ? n + 1 : 2 * n)) == 0;
}

static void write_json(const folder *f, const cel_json *v) {
  cel_buf b = {0};
  cel_json_write(&b, v, (cel_json_style){0});
  assert_int_equal(cel_write_file(in_folder(f, "config.json"), b.p, (int64_t)b.n, NULL), CEL_OK);
  cel_buf_deinit(&b);
}

static void lie_about(const char *name, cel_pool *pool) {
  char config_path[600], weights[600];
  cel_json *config;
  folder f = folder_new();
  snprintf(config_path, sizeof config_path, "%s/data/oracle/%s/config.json", CEL_TEST_DATA, name);
  snprintf(weights, sizeof weights, "%s/data/oracle/%s/model.safetensors", CEL_TEST_DATA, name);
  assert_int_equal(cel_json_load(config_path, 1 << 20, &config, NULL), CEL_OK);
  assert_int_equal(symlink(weights, in_folder(&f, "model.safetensors")), 0);
  for (size_t i = 0; i < cel_json_object_size(config); i++) {
    for (int how = 0; how < 2; how++) {
      cel_json *changed = cel_json_deep_copy(config);
      if (lie(changed, i, how)) {
        write_json(&f, changed);
        try_to_convert(&f, pool);
      }
      cel_json_decref(changed);
    }
  }
  cel_json_decref(config);
  folder_remove(&f);
}

static void configs_that_do_not_fit_read_past_no_tensor(void **state) {
  (void)state;
  static const char *const names[] = {"llama3", "phi3-short", "glm4", "internlm2", "stablelm", "starcoder2", "dsv3", "mixtral", "dots1",
                                      "granitemoeshared", "gptoss", "erniemoe", "lfm2moe", "dsv3-q4g32", "mixtral-mlx", "gemma3", "cohere"};
  cel_pool *pool;
  assert_int_equal(cel_pool_new(1, &pool, NULL), CEL_OK);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) lie_about(names[i], pool);
  cel_pool_free(pool);
  assert_true(n_refused > 100 && n_made > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(configs_that_do_not_fit_read_past_no_tensor)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
