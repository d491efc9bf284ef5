// IREE's compiler as the engine reaches it: flags per device, where it is looked for, libraries and programs that are none, and
// the wheel's own (MLXCEL_TEST_PYTHON, scripts/test_env.sh).
#define _POSIX_C_SOURCE 200809L
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "backend/xla/engine/iree/iree_compiler.h"
#include "backend/xla/engine/iree/iree_target.h"
#include "base/file.h"

// ---- devices ----------------------------------------------------------------------------------------

static void target_is(const char *device, const char *precision, const char *rocm, const char *driver, const char *want_precision,
                      const char *want_flags) {
  cel_iree_target t;
  cel_err err = {0};
  char flags[512] = "";
  if (cel_iree_target_find(device, precision, rocm, &t, &err) != CEL_OK) fail_msg("%s", err.text);
  for (int i = 0; i < t.n_flags; i++) snprintf(flags + strlen(flags), sizeof flags - strlen(flags), "%s%s", i ? " " : "", t.argv[i]);
  assert_string_equal(t.driver, driver);
  assert_string_equal(t.precision, want_precision);
  assert_string_equal(flags, want_flags);
}

#define DOUBLE " --iree-input-demote-f64-to-f32=false"
#define INPUT "--iree-input-type=stablehlo "
#define LOCAL INPUT "--iree-hal-target-device=local --iree-hal-local-target-device-backends=llvm-cpu --iree-llvmcpu-target-cpu=host --iree-llvmcpu-debug-symbols=false" DOUBLE

static void every_device_has_its_flags(void **state) {
  (void)state;
#ifndef __APPLE__
  target_is("", "", "", "local-task", "f32", LOCAL);
#endif
  target_is("local", "", "", "local-task", "f32", LOCAL);
  target_is("local-sync", "bf16", "", "local-sync", "bf16", LOCAL);
  target_is("cuda", "", "", "cuda", "f16", INPUT "--iree-hal-target-device=cuda" DOUBLE);
  target_is("metal", "f32", "", "metal", "f32", INPUT "--iree-hal-target-device=metal");
  target_is("vulkan", "", "", "vulkan", "f16", INPUT "--iree-hal-target-device=vulkan");
  target_is("hip", "", "gfx1151", "hip", "f16", INPUT "--iree-hal-target-device=hip --iree-rocm-target=gfx1151" DOUBLE);
  target_is("hip", "f32", "gfx90a:xnack+", "hip", "f32", INPUT "--iree-hal-target-device=hip --iree-rocm-target=gfx90a:xnack+" DOUBLE);
  for (int i = 0; cel_iree_targets[i]; i++) {
    cel_iree_target t;
    assert_int_equal(cel_iree_target_find(cel_iree_targets[i], "", "gfx942", &t, NULL), CEL_OK);
    assert_true(t.artifact[0] != 0);
  }
}

static void refused(const char *device, const char *precision, const char *rocm, const char *want) {
  cel_iree_target t;
  cel_err err = {0};
  assert_int_equal(cel_iree_target_find(device, precision, rocm, &t, &err), CEL_INVALID);
  assert_string_equal(err.text, want);
}

static void other_values_are_refused_with_those_that_fit(void **state) {
  (void)state;
  refused("abacus", "", "", "MLXCEL_XLA_DEVICE=iree:abacus: accepted are local-task, local-sync, local, cuda, metal, hip, vulkan");
  refused("metal", "bf16", "", "MLXCEL_XLA_PRECISION=bf16: with IREE on metal products are taken in one of f32, f16 (default f16)");
  refused("local-sync", "i16", "", "MLXCEL_XLA_PRECISION=i16: with IREE on local-sync products are taken in one of f32, f16, bf16 (default f32)");
  static const char *const bad[] = {"", "1100", "gfx", "gfx11", "gfx110000", "GFX1100", "gfx11gg", "gfx1100 ", "gfx1100:", "gfx1100;x",
                                    "gfx1100:xnack+ --iree-x"};
  for (int i = 0; i < CEL_COUNT(bad); i++) {
    char want[256];
    snprintf(want, sizeof want, "MLXCEL_XLA_ROCM_TARGET=%s: the device hip needs the GPU's name in LLVM's words, as in gfx1100 or "
             "gfx90a:xnack+", bad[i]);
    refused("hip", "", bad[i], want);
  }
}

// ---- finding and opening ----------------------------------------------------------------------------

static void a_compiler_that_is_not_there_is_named(void **state) {
  (void)state;
  cel_buf path = {0};
  cel_err err = {0};
  assert_int_equal(cel_iree_find("/nowhere/iree-compile", "", &path, &err), CEL_NOT_FOUND);
  assert_string_equal(err.text, "MLXCEL_XLA_IREE_COMPILE=/nowhere/iree-compile: there is no such file");
  char home[512];
  snprintf(home, sizeof home, "%s", getenv("HOME") ? getenv("HOME") : "");
  setenv("HOME", "/nowhere", 1);
  unsetenv("VIRTUAL_ENV");
  cel_status s = cel_iree_find("", "/nowhere:/tmp", &path, &err);
  if (s != CEL_OK) assert_non_null(strstr(err.text, "pip install iree-base-compiler"));  // a system may have it
  setenv("HOME", home, 1);
  cel_buf_deinit(&path);
}

static void not_opened(const char *path, const char *words) {
  cel_iree_compiler c;
  cel_err err = {0};
  assert_int_not_equal(cel_iree_compiler_open(path, &c, &err), CEL_OK);
  if (!strstr(err.text, words)) fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

static void libraries_that_are_no_compiler_are_refused(void **state) {
  (void)state;
  not_opened(FAKE_IREE "symbol.so", "no compiler of IREE that is known here: ireeCompilerGlobalInitialize is missing");
  not_opened(FAKE_IREE "old.so", "its interface has version 1.3, this program speaks 1.4 and later ones of 1");
  not_opened(FAKE_IREE "new.so", "its interface has version 2.0");
  not_opened("/nowhere/libIREECompiler.so", "cannot be loaded");
}

// ---- a program --------------------------------------------------------------------------------------

// A program of ours that behaves as the words say.
static const char *script(const char *words) {
  static char path[512];
  cel_err err = {0};
  snprintf(path, sizeof path, "%sprogram", FAKE_IREE);
  char text[1024];
  int n = snprintf(text, sizeof text, "#!/bin/sh\n%s\n", words);
  if (cel_write_file(path, text, n, &err) != CEL_OK) fail_msg("%s", err.text);
  assert_int_equal(chmod(path, 0755), 0);
  return path;
}

static cel_status compile(const cel_iree_compiler *c, const char *text, const char *const *flags, int n, cel_buf *out, cel_err *err) {
  cel_buf b = {0};
  cel_buf_addz(&b, text);
  cel_status s = cel_iree_compile(c, &b, flags, n, out, err);
  cel_buf_deinit(&b);
  return s;
}

static void a_program_gets_file_and_flags(void **state) {
  (void)state;
  cel_iree_compiler c;
  cel_err err = {0};
  cel_buf out = {0};
  const char *flags[] = {"--one=$HOME `id`", "--two"};
  if (cel_iree_compiler_open(script("[ \"$1\" = --version ] && printf '\\n  abacus 7\\n\\n' && exit\n"
                                    "cat \"$1\" > \"$3\"; printf '%s|' \"$2\" \"$4\" \"$5\" >> \"$3\""), &c, &err) != CEL_OK) {
    fail_msg("%s", err.text);
  }
  assert_string_equal(c.version.p, "abacus 7");
  assert_int_equal(compile(&c, "module {}\n", flags, 2, &out, &err), CEL_OK);
  assert_string_equal(out.p, "module {}\n-o|--one=$HOME `id`|--two|");
  cel_buf_deinit(&out);
  cel_iree_compiler_close(&c);
}

static void a_program_that_fails_is_quoted(void **state) {
  (void)state;
  cel_iree_compiler c;
  cel_err err = {0};
  cel_buf out = {0};
  not_opened(script("echo no abacus here >&2; exit 3"), "ended with 3: no abacus here");
  not_opened(script("kill -9 $$"), "ended with -9");
  assert_int_equal(cel_iree_compiler_open(script("[ \"$1\" = --version ] && exit\necho 'error: a bead'; echo 'is missing' >&2; exit 1"), &c,
                                          &err), CEL_OK);
  assert_int_equal(compile(&c, "module {}", NULL, 0, &out, &err), CEL_UNSUPPORTED);
  assert_non_null(strstr(err.text, "ended with 1: error: a bead is missing"));
  cel_iree_compiler_close(&c);
  assert_int_equal(cel_iree_compiler_open(script("exit 0"), &c, &err), CEL_OK);  // says all is well and writes nothing
  assert_int_equal(compile(&c, "module {}", NULL, 0, &out, &err), CEL_NOT_FOUND);
  cel_iree_compiler_close(&c);
  cel_buf_deinit(&out);
  not_opened("/dev/null", "cannot be started");
}

// ---- the wheel's ------------------------------------------------------------------------------------

// The library and the program beside MLXCEL_TEST_PYTHON; false: there are none.
static bool wheel(char library[1024], char program[1024]) {
  const char *python = getenv("MLXCEL_TEST_PYTHON");
  glob_t found = {0};
  char pattern[1024];
  if (!python || !strrchr(python, '/')) return false;
  int n = (int)(strrchr(python, '/') - python);
  snprintf(pattern, sizeof pattern, "%.*s/../lib/python3*/site-packages/iree/compiler/_mlir_libs/libIREECompiler.*", n, python);
  snprintf(program, 1024, "%.*s/iree-compile", n, python);
  bool is_there = glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc > 0;
  if (is_there) snprintf(library, 1024, "%s", found.gl_pathv[0]);
  globfree(&found);
  return is_there && cel_is_file(program);
}

// A program of one addition becomes a module; what is wrong with a text is said.
static void compiles(const char *path) {
  cel_iree_compiler c;
  cel_iree_target t;
  cel_err err = {0};
  cel_buf out = {0};
  if (cel_iree_compiler_open(path, &c, &err) != CEL_OK) fail_msg("%s", err.text);
  assert_true(c.version.n > 4);
  assert_int_equal(cel_iree_target_find("local-sync", "", "", &t, &err), CEL_OK);
  const char *text = "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n  %b = stablehlo.add %a, %a : tensor<4xf32>\n"
                     "  return %b : tensor<4xf32>\n}\n";
  if (compile(&c, text, t.argv, t.n_flags, &out, &err) != CEL_OK) fail_msg("%s", err.text);
  assert_true(out.n > 1000);
  assert_int_equal(compile(&c, "func.func @main() { stablehlo.frobnicate }", t.argv, t.n_flags, &out, &err), CEL_UNSUPPORTED);
  if (!strstr(err.text, "frobnicate")) fail_msg("%s", err.text);
  const char *flags[] = {"--no-such-flag=1"};
  assert_int_equal(compile(&c, text, flags, 1, &out, &err), CEL_UNSUPPORTED);
  if (!strstr(err.text, "no-such-flag")) fail_msg("%s", err.text);
  cel_buf_deinit(&out);
  cel_iree_compiler_close(&c);
}

static void the_wheel_s_library_compiles(void **state) {
  (void)state;
  char library[1024], program[1024];
  if (!wheel(library, program)) {
    printf("skipped: MLXCEL_TEST_PYTHON has no iree-base-compiler\n");
    skip();
  }
  compiles(library);
}

static void the_wheel_s_program_compiles(void **state) {
  (void)state;
  char library[1024], program[1024];
  if (!wheel(library, program)) {
    printf("skipped: MLXCEL_TEST_PYTHON has no iree-base-compiler\n");
    skip();
  }
  compiles(program);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_device_has_its_flags),
      cmocka_unit_test(other_values_are_refused_with_those_that_fit),
      cmocka_unit_test(a_compiler_that_is_not_there_is_named),
      cmocka_unit_test(libraries_that_are_no_compiler_are_refused),
      cmocka_unit_test(a_program_gets_file_and_flags),
      cmocka_unit_test(a_program_that_fails_is_quoted),
      cmocka_unit_test(the_wheel_s_library_compiles),
      cmocka_unit_test(the_wheel_s_program_compiles),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
