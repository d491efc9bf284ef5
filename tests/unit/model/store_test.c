// What a model's name means, in a home of its own.
#define _XOPEN_SOURCE 700
#include "model_files.h"

#include "model/store.h"

static const char *const variables[] = {"HOME", "MLXCEL_MODELS_DIR", "MLXCEL_CACHE_DIR", "MLXCEL_DEFAULT_ORG", "HF_HUB_CACHE", "HF_HOME"};

typedef struct place {
  folder f;
  char back[4096];  // the folder to return to
} place;

// An empty folder that is HOME and the current one.
static place place_new(void) {
  place p = {.f = folder_new()};
  assert_non_null(getcwd(p.back, sizeof p.back));
  for (int i = 0; i < CEL_COUNT(variables); i++) unsetenv(variables[i]);
  setenv("HOME", p.f.path, 1);
  assert_int_equal(chdir(p.f.path), 0);
  return p;
}

static void place_free(place *p) {
  assert_int_equal(chdir(p->back), 0);
  for (int i = 0; i < CEL_COUNT(variables); i++) unsetenv(variables[i]);
  char command[4200];
  snprintf(command, sizeof command, "rm -rf '%s'", p->f.path);
  assert_int_equal(system(command), 0);
}

static void text_at(const char *dir, const char *name, const char *text) {
  cel_err err;
  assert_int_equal(cel_make_dirs(dir, &err), CEL_OK);
  char file[4096];
  snprintf(file, sizeof file, "%s/%s", dir, name);
  assert_int_equal(cel_write_file(file, text, (int64_t)strlen(text), &err), CEL_OK);
}

// A folder that looks like a model.
static void model_at(const char *dir) {
  text_at(dir, "config.json", "{}");
  text_at(dir, "model.safetensors", "x");
}

static void assert_resolves(const char *name, const char *models_dir, const char *want) {
  cel_buf out = {0};
  cel_err err = {0};
  cel_status s = cel_store_resolve(name, models_dir, &out, &err);
  if (s != CEL_OK) print_message("%s: %s\n", name, err.text);
  assert_int_equal(s, CEL_OK);
  assert_string_equal(out.p, want);
  cel_buf_deinit(&out);
}

// Refused as not found, with a word in the message.
static void assert_refused(const char *name, const char *word) {
  cel_buf out = {0};
  cel_err err = {0};
  assert_int_equal(cel_store_resolve(name, NULL, &out, &err), CEL_NOT_FOUND);
  if (!strstr(err.text, word)) print_message("%s: %s\n", name, err.text);
  assert_non_null(strstr(err.text, word));
  assert_int_equal(out.n, 0);
  cel_buf_deinit(&out);
}

static const char *root(const char *models_dir, char out[4096]) {
  cel_buf b = {0};
  cel_err err;
  assert_int_equal(cel_store_root(models_dir, &b, &err), CEL_OK);
  snprintf(out, 4096, "%s", b.p);
  cel_buf_deinit(&b);
  return out;
}

static void root_is_the_first_that_is_set(void **state) {
  (void)state;
  place p = place_new();
  char got[4096], want[4200];
  snprintf(want, sizeof want, "%s/.cache/mlxcel/models", p.f.path);
  assert_string_equal(root(NULL, got), want);
  setenv("MLXCEL_CACHE_DIR", "/c", 1);
  assert_string_equal(root(NULL, got), "/c/models");
  setenv("MLXCEL_MODELS_DIR", "/m", 1);
  assert_string_equal(root(NULL, got), "/m");
  assert_string_equal(root("", got), "/m");
  assert_string_equal(root("/d", got), "/d");
  setenv("MLXCEL_MODELS_DIR", "", 1);  // an empty one is not set
  assert_string_equal(root(NULL, got), "/c/models");
  place_free(&p);
}

static void without_a_home_the_message_says_what_to_set(void **state) {
  (void)state;
  place p = place_new();
  unsetenv("HOME");
  cel_buf b = {0};
  cel_err err;
  assert_int_equal(cel_store_root(NULL, &b, &err), CEL_NOT_FOUND);
  assert_non_null(strstr(err.text, "MLXCEL_MODELS_DIR"));
  cel_buf_deinit(&b);
  assert_refused("own/er", "MLXCEL_MODELS_DIR");
  place_free(&p);
}

static void paths_are_taken_as_they_are(void **state) {
  (void)state;
  place p = place_new();
  model_at("a/b");
  assert_resolves("a/b", NULL, "a/b");
  assert_resolves("./a/b/", NULL, "./a/b/");
  assert_resolves("a/b/config.json", NULL, "a/b/config.json");
  assert_resolves(p.f.path, NULL, p.f.path);
  place_free(&p);
}

static void owner_and_name_are_found_in_the_store(void **state) {
  (void)state;
  place p = place_new();
  char want[4200];
  model_at(".cache/mlxcel/models/own/er");
  snprintf(want, sizeof want, "%s/.cache/mlxcel/models/own/er", p.f.path);
  assert_resolves("own/er", NULL, want);
  model_at("elsewhere/own/er");
  assert_resolves("own/er", "elsewhere", "elsewhere/own/er");
  setenv("MLXCEL_MODELS_DIR", "elsewhere", 1);
  assert_resolves("own/er", NULL, "elsewhere/own/er");
  place_free(&p);
}

static void bare_name_has_the_default_owner(void **state) {
  (void)state;
  place p = place_new();
  setenv("MLXCEL_MODELS_DIR", "s", 1);
  model_at("s/mlx-community/x-1.5_4bit");
  assert_resolves("x-1.5_4bit", NULL, "s/mlx-community/x-1.5_4bit");
  model_at("s/me/y");
  assert_refused("y", "mlx-community/y");
  setenv("MLXCEL_DEFAULT_ORG", "me", 1);
  assert_resolves("y", NULL, "s/me/y");
  place_free(&p);
}

static void folder_of_a_gguf_file_is_a_model(void **state) {
  (void)state;
  place p = place_new();
  setenv("MLXCEL_MODELS_DIR", "s", 1);
  text_at("s/a/b", "w.gguf", "GGUF");
  assert_resolves("a/b", NULL, "s/a/b");
  text_at("s/a/c", ".gguf", "GGUF");
  text_at("s/a/c", "readme", "x");
  assert_refused("a/c", "a/c");
  place_free(&p);
}

static void nearer_places_come_first(void **state) {
  (void)state;
  place p = place_new();
  setenv("MLXCEL_MODELS_DIR", "s", 1);
  setenv("HF_HUB_CACHE", "h", 1);
  model_at("s/a/b");
  assert_resolves("a/b", NULL, "s/a/b");
  model_at("h/models--a--b/snapshots/f00");
  text_at("h/models--a--b/refs", "main", "f00");
  assert_resolves("a/b", NULL, "h/models--a--b/snapshots/f00");
  model_at("models/b");
  assert_resolves("a/b", NULL, "./models/b");
  place_free(&p);
}

static void hub_cache_is_found_by_its_three_names(void **state) {
  (void)state;
  place p = place_new();
  char want[4200];
  model_at(".cache/huggingface/hub/models--a--b/snapshots/1");
  text_at(".cache/huggingface/hub/models--a--b/refs", "main", "1\n");
  snprintf(want, sizeof want, "%s/.cache/huggingface/hub/models--a--b/snapshots/1", p.f.path);
  assert_resolves("a/b", NULL, want);
  setenv("HF_HOME", "hf", 1);
  assert_refused("a/b", "a/b");
  model_at("hf/hub/models--a--b/snapshots/2");
  text_at("hf/hub/models--a--b/refs", "main", "2");
  assert_resolves("a/b", NULL, "hf/hub/models--a--b/snapshots/2");
  setenv("HF_HUB_CACHE", "hub", 1);
  assert_refused("a/b", "a/b");
  place_free(&p);
}

static void snapshot_names_stay_inside_the_cache(void **state) {
  (void)state;
  place p = place_new();
  setenv("HF_HUB_CACHE", "h", 1);
  static const char *const bad[] = {"../../outside", "..", ".", "", "\n", "a/b"};
  model_at("h/outside");
  model_at("h/models--a--b");
  model_at("h/models--a--b/snapshots/a/b");
  for (int i = 0; i < CEL_COUNT(bad); i++) {
    text_at("h/models--a--b/refs", "main", bad[i]);
    assert_refused("a/b", "no model a/b");
  }
  place_free(&p);
}

static void names_that_leave_the_store_are_refused(void **state) {
  (void)state;
  place p = place_new();
  setenv("MLXCEL_MODELS_DIR", "s", 1);
  model_at("out");
  model_at("s/a/b");
  static const char *const bad[] = {"../nothing", "a/../c",  "/etc/nothing", "a//b", "a/b/", "a/b/c",        "~/x",
                                    ".hidden",    "a/.x/..", "a\\b",         "a b",  "",     "https://h/a/b", "a/b\n"};
  for (int i = 0; i < CEL_COUNT(bad); i++) assert_refused(bad[i], "a model is a path");
  place_free(&p);
}

static void message_names_the_places(void **state) {
  (void)state;
  place p = place_new();
  setenv("MLXCEL_MODELS_DIR", "s", 1);
  assert_refused("a/b", "./models/b");
  assert_refused("a/b", "Hugging Face cache");
  assert_refused("a/b", "s/a/b");
  assert_refused("b", "mlx-community/b");
  place_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(root_is_the_first_that_is_set),
      cmocka_unit_test(without_a_home_the_message_says_what_to_set),
      cmocka_unit_test(paths_are_taken_as_they_are),
      cmocka_unit_test(owner_and_name_are_found_in_the_store),
      cmocka_unit_test(bare_name_has_the_default_owner),
      cmocka_unit_test(folder_of_a_gguf_file_is_a_model),
      cmocka_unit_test(nearer_places_come_first),
      cmocka_unit_test(hub_cache_is_found_by_its_three_names),
      cmocka_unit_test(snapshot_names_stay_inside_the_cache),
      cmocka_unit_test(names_that_leave_the_store_are_refused),
      cmocka_unit_test(message_names_the_places),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
