// Finding and opening PJRT plugins, whole and broken.
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/xla/engine/pjrt/pjrt_program.h"

static const char *plugin(const char *kind) {
  static char path[512];
  snprintf(path, sizeof path, "%s%s.so", FAKE_PLUGINS, kind);
  return path;
}

static void refused(const char *kind, const char *options, const char *words) {
  cel_pjrt p;
  cel_err err = {0};
  assert_int_not_equal(cel_pjrt_open(plugin(kind), options, 1, &p, &err), CEL_OK);
  if (!strstr(err.text, words)) fail_msg("\"%s\" does not say \"%s\"", err.text, words);
  assert_null(strchr(err.text, '\n'));
  assert_null(p.client);
}

static void a_library_without_the_symbol_is_no_plugin(void **state) {
  (void)state;
  refused("symbol", "", "exports no GetPjrtApi");
  refused("nothing", "", "returns nothing");
}

static void another_version_is_refused_with_both(void **state) {
  (void)state;
  refused("major", "", "PJRT 1.33; version 0.33 or a later minor one");
  refused("minor", "", "PJRT 0.32; version 0.33");
  refused("short", "", "bytes");
}

static void the_plugin_s_own_words_are_carried_up(void **state) {
  (void)state;
  refused("refuses", "", "the driver is older than the plugin");
  refused("works", "no_such_option=1", "the driver is older");
  refused("empty", "", "the PJRT platform fake has no device here");
}

static void options_have_the_types_they_look_like(void **state) {
  (void)state;
  cel_pjrt p;
  cel_err err = {0};
  assert_int_equal(cel_pjrt_open(plugin("works"), "cpu_device_count=3", 1, &p, &err), CEL_OK);
  assert_int_equal(p.n_devices, 3);
  assert_string_equal(p.platform, "fake");
  cel_pjrt_close(&p);
  refused("works", "cpu_device_count=three", "older");  // a string, which the option is not
  refused("works", "cpu_device_count", "no name=value");
  refused("works", "=1", "no name=value");
  refused("works", "a,b=1", "no name=value");
}

static void what_cannot_be_loaded_is_said_by_the_loader(void **state) {
  (void)state;
  cel_pjrt p;
  cel_err err = {0};
  assert_int_not_equal(cel_pjrt_open(__FILE__, "", 1, &p, &err), CEL_OK);
  assert_non_null(strstr(err.text, __FILE__));
}

static void names_and_paths_are_looked_up(void **state) {
  (void)state;
  cel_buf path = {0};
  cel_err err = {0};
  setenv("HOME", "/nonexistent", 1);
  unsetenv("VIRTUAL_ENV");
  assert_int_equal(cel_pjrt_find("gpu", "", &path, &err), CEL_INVALID);
  assert_non_null(strstr(err.text, "one of cpu, cuda, rocm, oneapi, tpu, metal"));
  assert_int_equal(cel_pjrt_find("/nonexistent/plugin.so", "", &path, &err), CEL_NOT_FOUND);
  assert_int_equal(cel_pjrt_find("metal", "/nonexistent", &path, &err), CEL_NOT_FOUND);
  assert_non_null(strstr(err.text, "no PJRT plugin is installed for metal (looked"));
  assert_int_equal(cel_pjrt_find(plugin("works"), "", &path, &err), CEL_OK);
  assert_string_equal(path.p, plugin("works"));
  cel_buf_deinit(&path);
}

static void touch(const char *folder, const char *below) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", folder, below);
  for (char *c = path + strlen(folder) + 1; (c = strchr(c, '/')); *c++ = '/') {
    *c = 0;
    char command[700];
    snprintf(command, sizeof command, "mkdir -p '%s'", path);
    assert_int_equal(system(command), 0);
  }
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fclose(f);
}

static void the_first_folder_that_has_the_wheel_wins(void **state) {
  (void)state;
  char folder[] = "/tmp/cel-pjrt-XXXXXX", list[700], command[200];
  cel_buf path = {0};
  cel_err err = {0};
  assert_non_null(mkdtemp(folder));
  touch(folder, "jax_plugins/xla_cuda12/xla_cuda_plugin.so");
  snprintf(list, sizeof list, "/nonexistent::%s", folder);
  assert_int_equal(cel_pjrt_find("cuda", list, &path, &err), CEL_OK);
  assert_non_null(strstr(path.p, "xla_cuda12"));
  touch(folder, "jax_plugins/xla_cuda13/xla_cuda_plugin.so");
  assert_int_equal(cel_pjrt_find("cuda", list, &path, &err), CEL_OK);
  assert_non_null(strstr(path.p, "xla_cuda13"));  // the newer one of the table
  cel_buf_deinit(&path);
  snprintf(command, sizeof command, "rm -r '%s'", folder);
  assert_int_equal(system(command), 0);
}

// ---- compiled programs that are kept -------------------------------------------------------------------------

static void compile_with(cel_pjrt *p, const char *text, const char *want) {
  cel_pjrt_loaded *loaded;
  cel_err err = {0};
  assert_int_equal(cel_pjrt_compile(p, cel_str_of(text), "a program", &loaded, &err), CEL_OK);
  const struct { char *text; size_t n; } *fake = (const void *)loaded;
  assert_int_equal(fake->n, strlen(want));
  assert_memory_equal(fake->text, want, fake->n);
  cel_pjrt_drop_program(p, loaded);
}

static void overwrite_entry(cel_artifact_store *store, const cel_artifact_parts *parts, const char *bytes) {
  cel_artifact a;
  assert_int_equal(cel_artifact_begin(store, parts, &a, NULL), CEL_OK);
  assert_non_null(a.bytes);
  assert_int_equal(cel_artifact_reject(&a, "by a test", NULL), CEL_OK);
  cel_artifact_put(&a, bytes, (int64_t)strlen(bytes));
  cel_artifact_end(&a);
}

static void a_kept_program_is_loaded_not_compiled(void **state) {
  (void)state;
  char folder[] = "/tmp/cel-pjrt-XXXXXX", command[100];
  cel_pjrt p;
  cel_err err = {0};
  assert_non_null(mkdtemp(folder));
  cel_artifact_options o = {.folder = folder};
  assert_int_equal(cel_pjrt_open(plugin("works"), "", 1, &p, &err), CEL_OK);
  cel_pjrt_identify(&p, plugin("works"));
  assert_non_null(strstr(p.version, "libfake_plugin_works.so PJRT 0.33"));
  assert_string_equal(p.target, "fake");
  void *library = dlopen(plugin("works"), RTLD_NOW);
  int *compilations = dlsym(library, "fake_compilations");
  *compilations = 0;
  compile_with(&p, "module A", "module A");
  compile_with(&p, "module A", "module A");
  assert_int_equal(*compilations, 2);  // there is no store yet
  assert_int_equal(cel_artifact_open(&o, &p.artifacts, &err), CEL_OK);
  for (int i = 0; i < 3; i++) compile_with(&p, "module A", "module A");
  compile_with(&p, "module B", "module B");
  assert_int_equal(*compilations, 4);
  cel_artifact_parts parts = {CEL_STR("module A"), "pjrt", p.version, "", p.target, ""};
  overwrite_entry(p.artifacts, &parts, "FAKE:module Z");  // whole by its digests: it is what is loaded
  compile_with(&p, "module A", "module Z");
  overwrite_entry(p.artifacts, &parts, "of a plugin that wrote in other ways");  // refused by the plugin: made anew
  for (int i = 0; i < 2; i++) compile_with(&p, "module A", "module A");
  assert_int_equal(*compilations, 5);
  setenv("XLA_FLAGS", "--xla_something", 1);  // other flags, another program
  compile_with(&p, "module A", "module A");
  unsetenv("XLA_FLAGS");
  assert_int_equal(*compilations, 6);
  cel_artifact_close(p.artifacts);
  cel_pjrt_close(&p);
  snprintf(command, sizeof command, "rm -r '%s'", folder);
  assert_int_equal(system(command), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_library_without_the_symbol_is_no_plugin),
      cmocka_unit_test(another_version_is_refused_with_both),
      cmocka_unit_test(the_plugin_s_own_words_are_carried_up),
      cmocka_unit_test(options_have_the_types_they_look_like),
      cmocka_unit_test(what_cannot_be_loaded_is_said_by_the_loader),
      cmocka_unit_test(names_and_paths_are_looked_up),
      cmocka_unit_test(the_first_folder_that_has_the_wheel_wins),
      cmocka_unit_test(a_kept_program_is_loaded_not_compiled),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
