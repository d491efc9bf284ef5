// The shim's promises: errors stick and are told once, scopes drop what is not kept, memory that is not there is an error.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "backend/mlx/shim/shim.h"
#include "base/macros.h"

static cel_mlx *open_cpu(void) {
  cel_err err = {0};
  cel_mlx *c;
  if (cel_mlx_open(CEL_MLX_CPU, &c, &err) != CEL_OK) fail_msg("%s", err.text);
  return c;
}

static arr numbers(cel_mlx *c, int64_t n) {
  static const float x[] = {1, 2, 3, 4, 5, 6};
  return cel_mlx_copy(c, CEL_MLX_F32, 1, &n, x);
}

static void the_library_is_the_one_of_the_headers(void **state) {
  (void)state;
  assert_true(cel_mlx_available(CEL_MLX_CPU));
  assert_non_null(strchr(cel_mlx_version(), '.'));
  assert_int_equal(strncmp(cel_mlx_version(), cel_mlx_built_for(), strlen(cel_mlx_built_for())), 0);
}

static void values_come_back(void **state) {
  (void)state;
  cel_err err = {0};
  cel_mlx *c = open_cpu();
  arr y = cel_mlx_keep(c, cel_mlx_scalar_op(c, CEL_MLX_MUL, numbers(c, 6), 2));
  cel_mlx_end_scope(c);
  assert_int_equal(cel_mlx_eval(c, &y, 1, true, &err), CEL_OK);
  for (int i = 0; i < 6; i++) assert_true(cel_mlx_floats(y)[i] == 2.0f * (float)(i + 1));
  cel_mlx_release(c, y);
  cel_mlx_close(c);
}

static void a_scope_drops_what_is_not_kept(void **state) {
  (void)state;
  cel_mlx *c = open_cpu();
  arr kept = cel_mlx_keep(c, numbers(c, 6));
  for (int i = 0; i < 10; i++) cel_mlx_unary_op(c, CEL_MLX_EXP, kept);
  assert_int_equal(cel_mlx_live(c), 12);
  cel_mlx_end_scope(c);
  assert_int_equal(cel_mlx_live(c), 1);
  cel_mlx_release(c, kept);
  cel_mlx_release(c, NULL);
  assert_int_equal(cel_mlx_live(c), 0);
  cel_mlx_close(c);
  cel_mlx_close(NULL);
}

static void the_first_error_sticks_and_is_told_once(void **state) {
  (void)state;
  cel_err err = {0};
  cel_mlx *c = open_cpu();
  int64_t wrong[2] = {4, 2};
  cel_mlx_path(c, "layers.%d", 3);
  assert_null(cel_mlx_reshape(c, numbers(c, 6), 2, wrong));
  assert_null(numbers(c, 6));  // nothing goes on
  assert_null(cel_mlx_binary_op(c, CEL_MLX_ADD, NULL, NULL));
  assert_int_equal(cel_mlx_status(c, &err), CEL_ENGINE);
  assert_int_equal(strncmp(err.text, "layers.3: MLX: ", 15), 0);
  assert_non_null(strstr(err.text, "reshape"));
  assert_int_equal(cel_mlx_status(c, &err), CEL_OK);
  assert_non_null(numbers(c, 6));
  cel_mlx_close(c);
}

static void missing_operands_and_wild_shapes_are_errors(void **state) {
  (void)state;
  cel_err err = {0};
  cel_mlx *c = open_cpu();
  arr parts[2] = {numbers(c, 2), NULL};
  assert_null(cel_mlx_concat(c, parts, 2, 0));
  assert_int_equal(cel_mlx_status(c, &err), CEL_ENGINE);
  assert_null(cel_mlx_unary_op(c, CEL_MLX_EXP, NULL));
  assert_int_equal(cel_mlx_status(c, &err), CEL_ENGINE);
  int64_t wide = (int64_t)1 << 40;
  assert_null(cel_mlx_zeros(c, CEL_MLX_F32, 1, &wide));
  assert_int_equal(cel_mlx_status(c, &err), CEL_ENGINE);
  assert_null(cel_mlx_own(c, CEL_MLX_F32, 1, &wide, malloc(4)));  // taken over all the same: no leak
  assert_int_equal(cel_mlx_status(c, &err), CEL_ENGINE);
  cel_mlx_refuse(c, CEL_UNSUPPORTED, "of %s", "ours");
  assert_int_equal(cel_mlx_status(c, &err), CEL_UNSUPPORTED);
  assert_non_null(strstr(err.text, "of ours"));
  assert_int_equal(cel_mlx_dim(NULL, 0), 0);
  assert_int_equal(cel_mlx_rank(NULL), 0);
  cel_mlx_close(c);
}

#if !CEL_HAS_SANITIZER  // a sanitizer takes more address space than any bound
// With a bound on the address space, as a machine without memory has it.
static void memory_that_is_not_there_is_an_error(void **state) {
  (void)state;
  cel_err err = {0};
  cel_mlx *c = open_cpu();
  arr z = cel_mlx_keep(c, numbers(c, 6));
  assert_int_equal(cel_mlx_eval(c, &z, 1, true, &err), CEL_OK);  // what MLX takes once is there
  struct rlimit before, bound = {(rlim_t)4 << 30, (rlim_t)4 << 30};
  assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
  bound.rlim_max = before.rlim_max;
  assert_int_equal(setrlimit(RLIMIT_AS, &bound), 0);
  cel_mlx_path(c, "cache");
  int64_t dims[2] = {1 << 16, 1 << 15};  // eight gigabytes
  arr x = cel_mlx_zeros(c, CEL_MLX_F32, 2, dims);
  cel_status s = cel_mlx_status(c, &err);
  setrlimit(RLIMIT_AS, &before);
  assert_null(x);
  assert_int_equal(s, CEL_OOM);
  assert_int_equal(strncmp(err.text, "cache: MLX: ", 12), 0);
  assert_int_equal(setrlimit(RLIMIT_AS, &bound), 0);  // what lies between the beginning and the end counts as well
  int64_t column[2] = {1 << 16, 1}, row[2] = {1, 1 << 15};
  arr wide = cel_mlx_binary_op(c, CEL_MLX_ADD, cel_mlx_zeros(c, CEL_MLX_F32, 2, column), cel_mlx_zeros(c, CEL_MLX_F32, 2, row));
  arr sum = cel_mlx_keep(c, cel_mlx_reduce(c, CEL_MLX_SUM, cel_mlx_unary_op(c, CEL_MLX_EXP, wide), 0, false));
  cel_mlx_end_scope(c);
  s = cel_mlx_eval(c, &sum, 1, true, &err);
  setrlimit(RLIMIT_AS, &before);
  assert_int_equal(s, CEL_OOM);
  assert_non_null(strstr(err.text, "cache: MLX: out of memory: "));
  cel_mlx_release(c, sum);
  arr y = cel_mlx_keep(c, cel_mlx_scalar_op(c, CEL_MLX_ADD, z, 1));  // and work goes on
  cel_mlx_end_scope(c);
  assert_int_equal(cel_mlx_eval(c, &y, 1, true, &err), CEL_OK);
  cel_mlx_release(c, y);
  cel_mlx_release(c, z);
  cel_mlx_close(c);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_library_is_the_one_of_the_headers),
      cmocka_unit_test(values_come_back),
      cmocka_unit_test(a_scope_drops_what_is_not_kept),
      cmocka_unit_test(the_first_error_sticks_and_is_told_once),
      cmocka_unit_test(missing_operands_and_wild_shapes_are_errors),
#if !CEL_HAS_SANITIZER
      cmocka_unit_test(memory_that_is_not_there_is_an_error),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
