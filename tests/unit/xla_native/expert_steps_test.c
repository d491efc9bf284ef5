// The native steps of mixtures of experts: the right products, in the same bits for any neighbours and threads; experts
// that nobody chose stay untouched; ids from outside are clamped.
#define _DEFAULT_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "backend/xla/engine/engine.h"

extern const cel_engine_driver cel_engine_native;

enum { EXPERTS = 5, K = 2, IN = 40, OUT = 24, TOKENS = 37 };

// What the composites stand for is of no account here (composite_test compares the two): the kernels run.
static void linear_text(char *out, size_t size, int n, bool biased) {
  snprintf(out, size,
           "func.func @main(%%x: tensor<%dx40xf32> {mlxcel.input = \"x\"}, %%ids: tensor<%dx2xi32> {mlxcel.input = "
           "\"ids\"}, "
           "%%w: tensor<5x24x40xf32> {mlxcel.weight = \"w\"}, %%b: tensor<120xf32> {mlxcel.weight = \"b\"}) -> "
           "tensor<%dx2x24xf32> {\n"
           "%%0 = stablehlo.composite \"mlxcel.expert_linear\" %%x, %%ids, %%w%s {composite_attributes = {biased = %s, "
           "format = "
           "\"F32\"}, decomposition = @f} : (tensor<%dx40xf32>, tensor<%dx2xi32>, tensor<5x24x40xf32>%s) -> "
           "tensor<%dx2x24xf32>\n"
           "return %%0 : tensor<%dx2x24xf32>\n}\n"
           "func.func private @f(%%x: tensor<%dx40xf32>, %%ids: tensor<%dx2xi32>, %%w: tensor<5x24x40xf32>%s) -> "
           "tensor<%dx2x24xf32> {\n"
           "%%0 = stablehlo.constant dense<0.0> : tensor<%dx2x24xf32>\nreturn %%0 : tensor<%dx2x24xf32>\n}\n",
           n, n, n, biased ? ", %b" : "", biased ? "true" : "false", n, n, biased ? ", tensor<120xf32>" : "", n, n, n,
           n, biased ? ", %b: tensor<120xf32>" : "", n, n, n);
}

static void combine_text(char *out, size_t size, int n) {
  snprintf(out, size,
           "func.func @main(%%x: tensor<%dx2x40xf32> {mlxcel.input = \"x\"}, %%ids: tensor<%dx2xi32> {mlxcel.input = "
           "\"ids\"}, "
           "%%w: tensor<5x24x40xf32> {mlxcel.weight = \"w\"}, %%b: tensor<120xf32> {mlxcel.weight = \"b\"}, %%s: "
           "tensor<%dx2xf32> "
           "{mlxcel.input = \"s\"}) -> tensor<%dx24xf32> {\n"
           "%%0 = stablehlo.composite \"mlxcel.expert_combine\" %%x, %%ids, %%s, %%w, %%b {composite_attributes = "
           "{biased = true, "
           "format = \"F32\"}, decomposition = @f} : (tensor<%dx2x40xf32>, tensor<%dx2xi32>, tensor<%dx2xf32>, "
           "tensor<5x24x40xf32>, "
           "tensor<120xf32>) -> tensor<%dx24xf32>\nreturn %%0 : tensor<%dx24xf32>\n}\n"
           "func.func private @f(%%x: tensor<%dx2x40xf32>, %%ids: tensor<%dx2xi32>, %%s: tensor<%dx2xf32>, %%w: "
           "tensor<5x24x40xf32>, "
           "%%b: tensor<120xf32>) -> tensor<%dx24xf32> {\n%%0 = stablehlo.constant dense<0.0> : tensor<%dx24xf32>\n"
           "return %%0 : tensor<%dx24xf32>\n}\n",
           n, n, n, n, n, n, n, n, n, n, n, n, n, n, n);
}

// ---- an engine over one such program ---------------------------------------------------------------

typedef struct data {
  float x[TOKENS * K * IN], bias[EXPERTS * OUT], weights[TOKENS * K];
  int32_t ids[TOKENS * K];
  float w[EXPERTS][OUT * IN];
  const void *parts[EXPERTS], *bias_parts[EXPERTS];
  int n_parts;
} data;

static float small_number(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return (float)((int)(*seed >> 20) - 2048) / 1024.0f;
}

static data *new_data(void) {
  data *d = calloc(1, sizeof *d);
  uint32_t seed = 3;
  assert_non_null(d);
  for (int i = 0; i < CEL_COUNT(d->x); i++) d->x[i] = small_number(&seed);
  for (int i = 0; i < CEL_COUNT(d->bias); i++) d->bias[i] = small_number(&seed);
  for (int i = 0; i < CEL_COUNT(d->weights); i++) d->weights[i] = small_number(&seed);
  for (int e = 0; e < EXPERTS; e++) {
    for (int i = 0; i < OUT * IN; i++) d->w[e][i] = small_number(&seed);
    d->parts[e] = d->w[e];
    d->bias_parts[e] = d->bias + e * OUT;
  }
  for (int i = 0; i < TOKENS * K; i++) d->ids[i] = (i * 7 / 3) % EXPERTS;
  d->n_parts = EXPERTS;
  return d;
}

// Runs n tokens from `first` on; the result goes to out.
static void run(const char *text, const data *d, int first, int64_t x_row, int n_threads, bool parts, float *out) {
  cel_err err = {0};
  const cel_engine_driver *driver = &cel_engine_native;
  cel_hlo_module *m;
  cel_program *p = NULL;
  cel_engine *e;
  cel_executable *x = NULL;
  cel_engine_options o = {.device = "", .precision = "f32", .n_threads = n_threads};
  if (driver->open(&o, &e, &err) != CEL_OK) fail_msg("%s", err.text);
  if (cel_hlo_parse(cel_str_of(text), "test", &m, &err) != CEL_OK || cel_program_new(m, NULL, &p, &err) != CEL_OK)
    fail_msg("%s", err.text);
  cel_buffer *weights[8] = {0};
  const void *inputs[8] = {0}, *results[1];
  for (int i = 0; i < p->n_params; i++) {
    const char *name = p->params[i].name;
    if (!strcmp(name, "x")) inputs[i] = d->x + first * x_row;
    if (!strcmp(name, "ids")) inputs[i] = d->ids + first * K;
    if (!strcmp(name, "s")) inputs[i] = d->weights + first * K;
    if (strcmp(name, "w") != 0 && strcmp(name, "b") != 0) continue;
    bool bias = name[0] == 'b';
    cel_status s =
        parts
            ? driver->upload_parts(e, p->params[i].type, bias ? d->bias_parts : d->parts, d->n_parts, &weights[i], &err)
            : driver->upload(e, p->params[i].type, bias ? (const void *)d->bias : d->w, true, &weights[i], &err);
    if (s != CEL_OK) fail_msg("%s", err.text);
  }
  if (driver->compile(e, p, weights, &x, &err) != CEL_OK || driver->execute(x, NULL, inputs, results, &err) != CEL_OK)
    fail_msg("%s", err.text);
  memcpy(out, results[0], (size_t)cel_hlo_bytes(p->entry->result_types[0]));
  driver->discard(x);
  for (int i = 0; i < p->n_params; i++) driver->release(weights[i]);
  driver->close(e);
  cel_program_free(p);
}

static double product(const data *d, const float *x, int expert, int row) {
  double sum = 0;
  for (int i = 0; i < IN; i++) sum += (double)x[i] * (double)d->w[expert][row * IN + i];
  return sum;
}

static int clamped(int32_t id) { return id < 0 ? 0 : id >= EXPERTS ? EXPERTS - 1 : id; }

static void linear_is_right(const data *d, const float *got, bool biased) {
  for (int i = 0; i < TOKENS * K; i++)
    for (int r = 0; r < OUT; r++) {
      int e = clamped(d->ids[i]);
      double want = product(d, d->x + i / K * IN, e, r) + (biased ? (double)d->bias[e * OUT + r] : 0);
      if (!(fabs((double)got[i * OUT + r] - want) < 1e-4))
        fail_msg("pair %d, row %d: %g, not %g", i, r, (double)got[i * OUT + r], want);
    }
}

static void combine_is_right(const data *d, const float *got) {
  for (int t = 0; t < TOKENS; t++)
    for (int r = 0; r < OUT; r++) {
      double want = 0;
      for (int k = 0; k < K; k++) {
        int e = clamped(d->ids[t * K + k]);
        want += (double)d->weights[t * K + k] *
                (product(d, d->x + (t * K + k) * IN, e, r) + (double)d->bias[e * OUT + r]);
      }
      if (!(fabs((double)got[t * OUT + r] - want) < 2e-4))
        fail_msg("token %d, row %d: %g, not %g", t, r, (double)got[t * OUT + r], want);
    }
}

// ---- tests -----------------------------------------------------------------------------------------

static void products_do_not_depend_on_neighbours_threads_or_parts(void **state) {
  (void)state;
  static float want[TOKENS * K * OUT], got[TOKENS * K * OUT];
  char text[4000];
  data *d = new_data();
  for (int biased = 0; biased < 2; biased++) {
    linear_text(text, sizeof text, TOKENS, biased);
    run(text, d, 0, IN, 1, false, want);
    linear_is_right(d, want, biased);
    for (int threads = 1; threads <= 4; threads++) {
      run(text, d, 0, IN, threads, true, got);
      assert_memory_equal(got, want, sizeof want);
    }
    for (int n = 1; n <= 6; n += 5) {
      linear_text(text, sizeof text, n, biased);
      for (int t = 0; t + n <= TOKENS; t += n) run(text, d, t, IN, 2, true, got + t * K * OUT);
      assert_memory_equal(got, want, (size_t)(TOKENS / n * n * K * OUT) * sizeof(float));
    }
  }
  free(d);
}

static void sums_do_not_depend_on_neighbours_threads_or_parts(void **state) {
  (void)state;
  static float want[TOKENS * OUT], got[TOKENS * OUT];
  char text[4000];
  data *d = new_data();
  combine_text(text, sizeof text, TOKENS);
  run(text, d, 0, K * IN, 1, false, want);
  combine_is_right(d, want);
  for (int threads = 1; threads <= 4; threads++) {
    run(text, d, 0, K * IN, threads, true, got);
    assert_memory_equal(got, want, sizeof want);
  }
  for (int n = 1; n <= 6; n += 5) {
    combine_text(text, sizeof text, n);
    for (int t = 0; t + n <= TOKENS; t += n) run(text, d, t, K * IN, 2, true, got + t * OUT);
    assert_memory_equal(got, want, (size_t)(TOKENS / n * n * OUT) * sizeof(float));
  }
  free(d);
}

static void all_tokens_may_go_to_one_expert(void **state) {
  (void)state;
  static float got[TOKENS * K * OUT];
  char text[4000];
  data *d = new_data();
  for (int i = 0; i < TOKENS * K; i++) d->ids[i] = 3;
  linear_text(text, sizeof text, TOKENS, true);
  run(text, d, 0, IN, 3, true, got);
  linear_is_right(d, got, true);
  combine_text(text, sizeof text, TOKENS);
  run(text, d, 0, K * IN, 3, true, got);
  combine_is_right(d, got);
  free(d);
}

// Experts 1 and 3 lie in pages that may not be read.
static void an_expert_that_nobody_chose_is_not_read(void **state) {
  (void)state;
  static float got[TOKENS * K * OUT];
  char text[4000];
  data *d = new_data();
  size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = (sizeof d->w[0] + page - 1) / page * page;
  void *locked = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(locked != MAP_FAILED);
  d->parts[1] = d->parts[3] = locked;
  for (int i = 0; i < TOKENS * K; i++) d->ids[i] = i % 3 * 2;
  linear_text(text, sizeof text, TOKENS, true);
  run(text, d, 0, IN, 2, true, got);
  linear_is_right(d, got, true);
  combine_text(text, sizeof text, TOKENS);
  run(text, d, 0, K * IN, 2, true, got);
  combine_is_right(d, got);
  linear_text(text, sizeof text, 1, false);
  run(text, d, 0, IN, 2, true, got);
  munmap(locked, bytes);
  free(d);
}

static void ids_from_outside_are_clamped(void **state) {
  (void)state;
  static const int32_t hostile[] = {-1, EXPERTS, INT32_MIN, INT32_MAX, 0, EXPERTS - 1, 1 << 30};
  static float got[TOKENS * K * OUT];
  char text[4000];
  data *d = new_data();
  for (int i = 0; i < TOKENS * K; i++) d->ids[i] = hostile[i % CEL_COUNT(hostile)];
  linear_text(text, sizeof text, TOKENS, false);
  run(text, d, 0, IN, 2, true, got);
  linear_is_right(d, got, false);
  combine_text(text, sizeof text, TOKENS);
  run(text, d, 0, K * IN, 2, true, got);
  combine_is_right(d, got);
  free(d);
}

// A file may have fewer experts, or more, whose bytes come to the same.
static void as_many_parts_as_experts_are_needed(void **state) {
  (void)state;
  char text[4000];
  data *d = new_data();
  linear_text(text, sizeof text, TOKENS, true);
  for (d->n_parts = 4; d->n_parts <= 8; d->n_parts += 4) {
    const void *parts[8];
    cel_err err = {0};
    cel_hlo_module *m = NULL;
    cel_program *p = NULL;
    cel_engine *e = NULL;
    cel_executable *x = NULL;
    cel_buffer *weights[8] = {0};
    cel_engine_options o = {.device = "", .precision = "f32", .n_threads = 1};
    for (int i = 0; i < 8; i++) parts[i] = d->w[0];
    assert_int_equal(cel_engine_native.open(&o, &e, &err), CEL_OK);
    assert_int_equal(cel_hlo_parse(cel_str_of(text), "test", &m, &err), CEL_OK);
    assert_int_equal(cel_program_new(m, NULL, &p, &err), CEL_OK);
    for (int i = 0; i < p->n_params; i++) {
      const cel_param *q = &p->params[i];
      if (!strcmp(q->name, "w"))
        assert_int_equal(cel_engine_native.upload_parts(e, q->type, parts, d->n_parts, &weights[i], &err), CEL_OK);
      if (!strcmp(q->name, "b"))
        assert_int_equal(cel_engine_native.upload(e, q->type, d->bias, true, &weights[i], &err), CEL_OK);
    }
    assert_int_equal(cel_engine_native.compile(e, p, weights, &x, &err), CEL_INVALID);
    assert_non_null(strstr(err.text, "as many as there are experts"));
    for (int i = 0; i < p->n_params; i++) cel_engine_native.release(weights[i]);
    cel_engine_native.close(e);
    cel_program_free(p);
  }
  free(d);
}

// ---- the choice ------------------------------------------------------------------------------------

static void the_largest_come_first_and_of_equals_the_lower(void **state) {
  (void)state;
  static const char text[] =
      "func.func @main(%x: tensor<5x6xf32> {mlxcel.input = \"x\"}) -> tensor<5x3xi32> {\n"
      "%0 = stablehlo.composite \"mlxcel.top_k\" %x {composite_attributes = {k = 3 : i64}, decomposition = @f} : "
      "(tensor<5x6xf32>) -> tensor<5x3xi32>\nreturn %0 : tensor<5x3xi32>\n}\n"
      "func.func private @f(%x: tensor<5x6xf32>) -> tensor<5x3xi32> {\n%0 = stablehlo.constant dense<0> : "
      "tensor<5x3xi32>\n"
      "return %0 : tensor<5x3xi32>\n}\n";
  static const float rows[5][6] = {{1, 2, 3, 4, 5, 6},
                                   {7, 7, 7, 7, 7, 7},
                                   {-INFINITY, 1, -INFINITY, 0, -INFINITY, -INFINITY},
                                   {NAN, NAN, NAN, NAN, NAN, NAN},
                                   {0, -1, 2, 2, -3, 2}};
  static const int32_t want[5][3] = {{5, 4, 3}, {0, 1, 2}, {1, 3, 0}, {0, 1, 2}, {2, 3, 5}};
  for (int threads = 1; threads <= 3; threads++) {
    float got[15];
    data *d = new_data();
    memcpy(d->x, rows, sizeof rows);
    run(text, d, 0, 0, threads, false, got);
    assert_memory_equal(got, want, sizeof want);
    free(d);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_do_not_depend_on_neighbours_threads_or_parts),
      cmocka_unit_test(sums_do_not_depend_on_neighbours_threads_or_parts),
      cmocka_unit_test(all_tokens_may_go_to_one_expert),
      cmocka_unit_test(an_expert_that_nobody_chose_is_not_read),
      cmocka_unit_test(ids_from_outside_are_clamped),
      cmocka_unit_test(as_many_parts_as_experts_are_needed),
      cmocka_unit_test(the_largest_come_first_and_of_equals_the_lower),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
