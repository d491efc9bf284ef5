#include "base/cpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void levels_keep_only_weaker_bits(void **state) {
  (void)state;
  uint32_t all = CEL_CPU_AVX2 | CEL_CPU_AVX512 | CEL_CPU_AVX512_VNNI | CEL_CPU_AVX512_BF16, out = 99;
  cel_err err;
  assert_int_equal(cel_cpu_limit(all, "scalar", &out, &err), CEL_OK);
  assert_int_equal(out, 0);
  assert_int_equal(cel_cpu_limit(all, "avx2", &out, &err), CEL_OK);
  assert_int_equal(out, CEL_CPU_AVX2);
  assert_int_equal(cel_cpu_limit(all, "avx512", &out, &err), CEL_OK);
  assert_int_equal(out, CEL_CPU_AVX2 | CEL_CPU_AVX512);
  assert_int_equal(cel_cpu_limit(all, "vnni", &out, &err), CEL_OK);
  assert_int_equal(out, CEL_CPU_AVX2 | CEL_CPU_AVX512 | CEL_CPU_AVX512_VNNI);
  uint32_t arm = CEL_CPU_NEON | CEL_CPU_DOTPROD | CEL_CPU_I8MM;
  assert_int_equal(cel_cpu_limit(arm, "dotprod", &out, &err), CEL_OK);
  assert_int_equal(out, CEL_CPU_NEON | CEL_CPU_DOTPROD);
  assert_int_equal(cel_cpu_limit(arm, "i8mm", &out, &err), CEL_OK);
  assert_int_equal(out, arm);
}

static void a_missing_or_unknown_level_is_named(void **state) {
  (void)state;
  uint32_t out = 99;
  cel_err err;
  assert_int_equal(cel_cpu_limit(CEL_CPU_AVX2, "avx512", &out, &err), CEL_UNSUPPORTED);
  assert_non_null(strstr(err.text, "avx512"));
  assert_non_null(strstr(err.text, "it has avx2"));
  assert_int_equal(cel_cpu_limit(CEL_CPU_AVX2, "sse9", &out, &err), CEL_INVALID);
  assert_non_null(strstr(err.text, "scalar, avx2, avx512, vnni, neon, dotprod or i8mm"));
  assert_int_equal(cel_cpu_limit(CEL_CPU_AVX2, "", &out, &err), CEL_INVALID);
  assert_int_equal(out, 99);
}

static void bits_are_described(void **state) {
  (void)state;
  char text[32], tiny[6];
  cel_cpu_describe(0, text, sizeof text);
  assert_string_equal(text, "scalar");
  cel_cpu_describe(CEL_CPU_AVX2 | CEL_CPU_AVX512_VNNI, text, sizeof text);
  assert_string_equal(text, "avx2+vnni");
  cel_cpu_describe(CEL_CPU_AVX2 | CEL_CPU_AVX512, tiny, sizeof tiny);
  assert_string_equal(tiny, "avx2+");
}

static void detection_is_stable_and_consistent(void **state) {
  (void)state;
  uint32_t bits = cel_cpu_detect();
  assert_int_equal(bits, cel_cpu_detect());
  if (bits & CEL_CPU_AVX512) assert_true(bits & CEL_CPU_AVX2);
  if (bits & CEL_CPU_AVX512_VNNI) assert_true(bits & CEL_CPU_AVX512);
  if (bits & (CEL_CPU_DOTPROD | CEL_CPU_I8MM)) assert_true(bits & CEL_CPU_NEON);
  assert_true(cel_cpu_cores() >= 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(levels_keep_only_weaker_bits),
    cmocka_unit_test(a_missing_or_unknown_level_is_named),
    cmocka_unit_test(bits_are_described),
    cmocka_unit_test(detection_is_stable_and_consistent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
