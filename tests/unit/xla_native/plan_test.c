// The planner: what it prints, what it folds, where it waits, and that whatever it makes of a program computes what
// the reference evaluator computes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/xla/engine/native/plan/plan.h"
#include "backend/xla/engine/native/ref/ref.h"
#include "backend/xla/engine/native/run.h"
#include "backend/xla/hlo/build.h"
#include "base/cpu.h"

typedef struct native {
  cel_program *program;
  cel_plan *plan;
  void **weights;
  cel_pool *pool;
  cel_run run;
  char *arena, *scratch;
} native;

static void native_open(native *n, const char *text, int n_threads) {
  cel_err err = {0};
  cel_hlo_module *m;
  *n = (native){0};
  if (cel_hlo_parse(cel_str_of(text), "test", &m, &err) != CEL_OK) fail_msg("%s", err.text);
  if (cel_program_new(m, NULL, &n->program, &err) != CEL_OK) fail_msg("%s", err.text);
  n->weights = calloc((size_t)n->program->n_params + 1, sizeof *n->weights);
  if (cel_plan_new(n->program, n->weights, NULL, cel_cpu_detect(), CEL_LIN_PREC_F32, n_threads, &n->plan, &err) != CEL_OK) {
    fail_msg("%s", err.text);
  }
  assert_int_equal(cel_pool_new(n_threads, &n->pool, &err), CEL_OK);
  n->arena = calloc(1, (size_t)n->plan->arena_bytes + 64);
  n->scratch = calloc(1, (size_t)n->plan->scratch_bytes * (size_t)n_threads + 64);
  n->run = (cel_run){.plan = n->plan, .pool = n->pool, .scratch_stride = n->plan->scratch_bytes};
  n->run.scratch = (uint8_t *)(((uintptr_t)n->scratch + 63) & ~(uintptr_t)63);
  n->run.at = calloc((size_t)n->plan->n_slots + 1, sizeof *n->run.at);
}

static void native_close(native *n) {
  cel_pool_free(n->pool);
  cel_plan_free(n->plan);
  cel_program_free(n->program);
  free(n->weights);
  free(n->arena);
  free(n->scratch);
  free(n->run.at);
}

static void native_run(native *n, const cel_ref_tensor *args) {
  cel_err err = {0};
  char *arena = (char *)(((uintptr_t)n->arena + 63) & ~(uintptr_t)63);
  for (int i = 0; i < n->plan->n_slots; i++) {
    const cel_slot *s = &n->plan->slots[i];
    if (s->kind == CEL_SLOT_CONST) n->run.at[i] = (void *)(uintptr_t)s->data;
    if (s->kind == CEL_SLOT_ARENA) n->run.at[i] = arena + s->offset;
    if (s->kind == CEL_SLOT_PARAM) n->run.at[i] = args[s->index].data;
  }
  for (int i = 0; i < n->plan->n_slots; i++) {
    if (n->plan->slots[i].kind == CEL_SLOT_ALIAS) n->run.at[i] = n->run.at[cel_plan_root(n->plan, i)];
  }
  if (cel_run_plan(&n->run, &err) != CEL_OK) fail_msg("%s", err.text);
}

static float small_number(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return (float)((int)(*seed >> 24) - 128) / 64.0f;
}

// Runs a text both ways on the same random f32 arguments; the results must agree within 4 units of 2^-23.
static void same_both_ways(const char *text) {
  cel_err err = {0};
  for (int n_threads = 1; n_threads <= 3; n_threads++) {
    native n;
    native_open(&n, text, n_threads);
    int n_params = n.program->n_params, n_results = n.program->n_results;
    cel_ref_tensor args[8] = {0}, want[8] = {0};
    uint32_t seed = 5;
    for (int i = 0; i < n_params; i++) {
      args[i].type = n.program->params[i].type;
      args[i].data = calloc(1, (size_t)cel_hlo_bytes(args[i].type) + 64);
      for (int64_t k = 0; k < cel_hlo_elements(args[i].type); k++) {
        if (args[i].type->etype == CEL_ET_F32) ((float *)args[i].data)[k] = small_number(&seed);
        else ((int32_t *)args[i].data)[k] = (int32_t)(k % 3);
      }
    }
    if (cel_ref_eval_func(n.program->module, n.program->entry, args, n_params, want, NULL, &err) != CEL_OK) fail_msg("%s", err.text);
    native_run(&n, args);
    for (int r = 0; r < n_results; r++) {
      const float *got = n.run.at[n.plan->results[r]], *w = want[r].data;
      for (int64_t k = 0; k < cel_hlo_elements(want[r].type); k++) {
        float bound = 5e-7f * fmaxf(1, fabsf(w[k]));
        if (!(fabsf(got[k] - w[k]) <= bound) && !(isnan(got[k]) && isnan(w[k])) && got[k] != w[k]) {
          fail_msg("result %d, element %lld: %g, the evaluator says %g, in\n%s", r, (long long)k, (double)got[k], (double)w[k], text);
        }
      }
      cel_ref_tensor_free(&want[r]);
    }
    for (int i = 0; i < n_params; i++) free(args[i].data);
    native_close(&n);
  }
}

#define MODULE(args, results, body) "func.func @main(" args ") -> (" results ") {\n" body "}\n"

static void chains_of_elementwise_operations_are_one_step(void **state) {
  (void)state;
  const char *text = MODULE("%a: tensor<4x6xf32>, %b: tensor<4x6xf32>", "tensor<4x6xf32>",
                            "%0 = stablehlo.add %a, %b : tensor<4x6xf32>\n%1 = stablehlo.multiply %0, %a : tensor<4x6xf32>\n"
                            "%2 = stablehlo.logistic %1 : tensor<4x6xf32>\n%3 = stablehlo.subtract %2, %0 : tensor<4x6xf32>\n"
                            "return %3 : tensor<4x6xf32>\n");
  native n;
  native_open(&n, text, 1);
  assert_int_equal(n.plan->n_steps, 1);
  assert_int_equal(n.plan->steps[0].kind, CEL_STEP_ELEMENTWISE);
  assert_int_equal(n.plan->steps[0].u.elementwise.n, 4);
  native_close(&n);
  same_both_ways(text);
}

static void broadcasts_are_read_as_views(void **state) {
  (void)state;
  const char *text =
      MODULE("%a: tensor<5x7xf32>, %row: tensor<7xf32>, %column: tensor<5xf32>", "tensor<5x7xf32>",
             "%c = stablehlo.constant dense<2.5> : tensor<f32>\n"
             "%0 = stablehlo.broadcast_in_dim %row, dims = [1] : (tensor<7xf32>) -> tensor<5x7xf32>\n"
             "%1 = stablehlo.broadcast_in_dim %column, dims = [0] : (tensor<5xf32>) -> tensor<5x7xf32>\n"
             "%2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<5x7xf32>\n"
             "%3 = stablehlo.add %a, %0 : tensor<5x7xf32>\n%4 = stablehlo.multiply %3, %1 : tensor<5x7xf32>\n"
             "%5 = stablehlo.maximum %4, %2 : tensor<5x7xf32>\nreturn %5 : tensor<5x7xf32>\n");
  native n;
  native_open(&n, text, 1);
  assert_int_equal(n.plan->n_steps, 1);
  native_close(&n);
  same_both_ways(text);
}

static void a_broadcast_others_need_whole_is_still_made(void **state) {
  (void)state;
  same_both_ways(MODULE("%a: tensor<3x4xf32>, %row: tensor<4xf32>", "tensor<3x4xf32>, tensor<4x3xf32>",
                        "%0 = stablehlo.broadcast_in_dim %row, dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>\n"
                        "%1 = stablehlo.add %a, %0 : tensor<3x4xf32>\n"
                        "%2 = stablehlo.transpose %0, dims = [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>\n"
                        "%3 = stablehlo.negate %1 : tensor<3x4xf32>\n"
                        "return %3, %2 : tensor<3x4xf32>, tensor<4x3xf32>\n"));
}

static void a_view_of_the_groups_own_result_waits(void **state) {
  (void)state;
  same_both_ways(MODULE("%a: tensor<1x8xf32>", "tensor<1x8xf32>",
                        "%0 = stablehlo.negate %a : tensor<1x8xf32>\n%1 = stablehlo.reshape %0 : (tensor<1x8xf32>) -> tensor<8xf32>\n"
                        "%2 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<8xf32>) -> tensor<1x8xf32>\n"
                        "%3 = stablehlo.add %2, %a : tensor<1x8xf32>\nreturn %3 : tensor<1x8xf32>\n"));
}

static void constants_fold_and_dead_code_goes(void **state) {
  (void)state;
  const char *text = MODULE("%a: tensor<3xf32>", "tensor<3xf32>",
                            "%0 = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>\n%1 = stablehlo.multiply %0, %0 : tensor<3xf32>\n"
                            "%2 = stablehlo.exponential %a : tensor<3xf32>\n%3 = stablehlo.add %1, %a : tensor<3xf32>\n"
                            "return %3 : tensor<3xf32>\n");
  native n;
  native_open(&n, text, 1);
  assert_int_equal(n.plan->n_steps, 1);
  assert_int_equal(n.plan->steps[0].u.elementwise.n, 1);
  native_close(&n);
  same_both_ways(text);
}

static void results_may_be_arguments_constants_or_twice_the_same(void **state) {
  (void)state;
  same_both_ways(MODULE("%a: tensor<2x2xf32>", "tensor<2x2xf32>, tensor<4xf32>, tensor<2xf32>, tensor<2x2xf32>",
                        "%0 = stablehlo.reshape %a : (tensor<2x2xf32>) -> tensor<4xf32>\n%1 = stablehlo.constant dense<7.0> : tensor<2xf32>\n"
                        "return %a, %0, %1, %a : tensor<2x2xf32>, tensor<4xf32>, tensor<2xf32>, tensor<2x2xf32>\n"));
}

static void calls_and_unknown_composites_are_inlined(void **state) {
  (void)state;
  same_both_ways(
      "module {\nfunc.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
      "%0 = call @twice(%a) : (tensor<4xf32>) -> tensor<4xf32>\n"
      "%1 = stablehlo.composite \"my.thing\" %0 {decomposition = @twice} : (tensor<4xf32>) -> tensor<4xf32>\n"
      "return %1 : tensor<4xf32>\n}\n"
      "func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {\n%0 = stablehlo.add %x, %x : tensor<4xf32>\nreturn %0 : tensor<4xf32>\n}\n}\n");
}

// Does a product of x [2, 64] with these operands behind it get a kernel?
static bool product_has_kernel(const char *attributes, const char *w, const char *scales, const char *biases, const char *y) {
  cel_err err = {0};
  cel_hlo_module *m;
  cel_buf params = {0}, types = {0}, text = {0};
  const char *const operands[] = {"2x64xf32", w, scales, biases};
  static const char *const names[] = {"%a", "%b", "%c", "%d"};
  int n = 0;
  for (; n < 4 && operands[n]; n++) {
    cel_buf_printf(&params, "%s%s: tensor<%s>", n ? ", " : "", names[n], operands[n]);
    cel_buf_printf(&types, "%stensor<%s>", n ? ", " : "", operands[n]);
  }
  cel_buf_printf(&text, "func.func private @f(%s) -> tensor<%s> {\n%%0 = stablehlo.constant dense<0.0> : tensor<%s>\n"
                 "return %%0 : tensor<%s>\n}\n", params.p, y, y, y);
  cel_buf_printf(&text, "func.func @main(%s) -> tensor<%s> {\n%%0 = stablehlo.composite \"mlxcel.quantized_linear\" %%a", params.p, y);
  for (int i = 1; i < n; i++) cel_buf_printf(&text, ", %s", names[i]);
  cel_buf_printf(&text, " {composite_attributes = {%s}, decomposition = @f} : (%s) -> tensor<%s>\nreturn %%0 : tensor<%s>\n}\n",
                 attributes, types.p, y, y);
  if (cel_hlo_parse(cel_buf_str(&text), "test", &m, &err) != CEL_OK) fail_msg("%s in\n%s", err.text, text.p);
  bool yes = cel_plan_has_kernel(cel_hlo_find_func(m, "main")->body->first);
  cel_hlo_module_free(m);
  cel_buf_deinit(&params);
  cel_buf_deinit(&types);
  cel_buf_deinit(&text);
  return yes;
}

// Kernels trust sizes; so operands that are not what the format's name promises go to the decomposition.
static void products_get_kernels_only_when_their_operands_are_the_formats(void **state) {
  (void)state;
#define WORDS(format, bits, group) "format = \"" format "\", bits = " bits " : i32, group = " group " : i32"
  static const struct {
    const char *attributes, *w, *scales, *biases, *y;
    bool kernel;
  } cases[] = {
      {"format = \"Q4_0\"", "3x36xui8", NULL, NULL, "2x3xf32", true},
      {"format = \"MXFP4\"", "3x34xui8", NULL, NULL, "2x3xf32", true},
      {"format = \"Q8_1\"", "3x72xui8", NULL, NULL, "2x3xf32", true},
      {"format = \"Q8_1\"", "3x68xui8", NULL, NULL, "2x3xf32", false},   // bytes of Q8_0
      {"format = \"Q2_K\"", "3x84xui8", NULL, NULL, "2x3xf32", false},   // 64 columns are no block
      {"format = \"Q4_0\"", "3x36xui8", NULL, NULL, "2x4xf32", false},   // another number of rows
      {"format = \"Q4_0\"", "3x36xi8", NULL, NULL, "2x3xf32", false},
      {"format = \"Q9_9\"", "3x36xui8", NULL, NULL, "2x3xf32", false},
      {WORDS("affine", "3", "64"), "3x6xui32", "3x1xf16", "3x1xf16", "2x3xf32", true},
      {WORDS("affine", "6", "32"), "3x12xui32", "3x2xbf16", "3x2xbf16", "2x3xf32", true},
      {WORDS("affine", "7", "32"), "3x14xui32", "3x2xbf16", "3x2xbf16", "2x3xf32", false},
      {WORDS("affine", "6", "128"), "3x12xui32", "3x1xbf16", "3x1xbf16", "2x3xf32", false},
      {WORDS("affine", "6", "32"), "3x12xui32", "3x2xbf16", NULL, "2x3xf32", false},
      {WORDS("affine", "6", "32"), "3x12xui32", "3x2xbf16", "3x2xf16", "2x3xf32", false},
      {WORDS("affine", "6", "32"), "3x12xui32", "3x1xbf16", "3x1xbf16", "2x3xf32", false},
      {WORDS("mxfp4", "4", "32"), "3x8xui32", "3x2xui8", NULL, "2x3xf32", true},
      {WORDS("mxfp8", "8", "32"), "3x16xui32", "3x2xui8", NULL, "2x3xf32", true},
      {WORDS("nvfp4", "4", "16"), "3x8xui32", "3x4xui8", NULL, "2x3xf32", true},
      {WORDS("nvfp4", "4", "32"), "3x8xui32", "3x2xui8", NULL, "2x3xf32", false},
      {WORDS("mxfp4", "4", "32"), "3x8xui32", "3x2xf16", NULL, "2x3xf32", false},
      {WORDS("mxfp4", "4", "0"), "3x8xui32", "3x2xui8", NULL, "2x3xf32", false},
      {WORDS("fp8", "8", "64"), "3x16xui32", "3x1xf32", NULL, "2x3xf32", true},
      {WORDS("fp8", "8", "32"), "3x16xui32", "3x2xf32", NULL, "2x3xf32", true},
      {WORDS("fp8", "8", "64"), "3x16xui32", "3x1xui8", NULL, "2x3xf32", false},
      {WORDS("fp8", "4", "64"), "3x8xui32", "3x1xf32", NULL, "2x3xf32", false},
      {WORDS("fp8", "8", "16"), "3x16xui32", "3x4xf32", NULL, "2x3xf32", false},
  };
#undef WORDS
  for (int i = 0; i < CEL_COUNT(cases); i++) {
    bool got = product_has_kernel(cases[i].attributes, cases[i].w, cases[i].scales, cases[i].biases, cases[i].y);
    if (got != cases[i].kernel) fail_msg("case %d (%s, %s): kernel %d", i, cases[i].attributes, cases[i].w, (int)got);
  }
}

static void what_has_no_kernel_goes_to_the_evaluator(void **state) {
  (void)state;
  same_both_ways(MODULE("%a: tensor<3x5xf32>, %i: tensor<2xi32>", "tensor<3xf32>, tensor<2x5xf32>",
                        "%z = stablehlo.constant dense<0.0> : tensor<f32>\n"
                        "%0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<3x5xf32>, tensor<f32>) -> tensor<3xf32>\n"
                        "%1 = \"stablehlo.gather\"(%a, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], "
                        "start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5>}> : (tensor<3x5xf32>, tensor<2xi32>) -> tensor<2x5xf32>\n"
                        "return %0, %1 : tensor<3xf32>, tensor<2x5xf32>\n"));
}

// ---- random programs -----------------------------------------------------------------------------------

// Grows a program of elementwise operations, views and transposes over [6, 10]; every value may be used again.
static void random_program(uint32_t seed, cel_buf *out) {
  static const char *const binary[] = {"add", "subtract", "multiply", "maximum", "minimum"};
  static const char *const unary[] = {"negate", "abs", "logistic", "tanh", "cosine"};
  uint32_t s = seed * 2654435761u + 1;
  cel_buf_addz(out, "func.func @main(%v0: tensor<6x10xf32>, %v1: tensor<6x10xf32>, %row: tensor<10xf32>, %column: tensor<6xf32>) -> "
                    "(tensor<6x10xf32>, tensor<6x10xf32>) {\n");
  int n = 2;
  for (int i = 0; i < 14; i++) {
    s = s * 1664525u + 1013904223u;
    uint32_t kind = s >> 8, a = (s >> 16) % (uint32_t)n, b = (s >> 20) % (uint32_t)n;
    if (kind % 8 < 4) {
      cel_buf_printf(out, "%%v%d = stablehlo.%s %%v%u, %%v%u : tensor<6x10xf32>\n", n, binary[kind % 5], a, b);
    } else if (kind % 8 < 6) {
      cel_buf_printf(out, "%%v%d = stablehlo.%s %%v%u : tensor<6x10xf32>\n", n, unary[kind % 5], a);
    } else if (kind % 8 == 6) {
      cel_buf_printf(out, "%%v%d = stablehlo.broadcast_in_dim %%%s, dims = [%d] : (tensor<%sxf32>) -> tensor<6x10xf32>\n", n,
                     kind % 16 == 6 ? "row" : "column", kind % 16 == 6, kind % 16 == 6 ? "10" : "6");
    } else {
      cel_buf_printf(out, "%%t%d = stablehlo.reshape %%v%u : (tensor<6x10xf32>) -> tensor<10x6xf32>\n"
                          "%%v%d = stablehlo.transpose %%t%d, dims = [1, 0] : (tensor<10x6xf32>) -> tensor<6x10xf32>\n", n, a, n, n);
    }
    n++;
  }
  cel_buf_printf(out, "return %%v%d, %%v%d : tensor<6x10xf32>, tensor<6x10xf32>\n}\n", n - 1, n - 3);
}

static void random_programs_agree_with_the_evaluator(void **state) {
  (void)state;
  for (uint32_t seed = 0; seed < 300; seed++) {
    cel_buf text = {0};
    random_program(seed, &text);
    same_both_ways(text.p);
    cel_buf_deinit(&text);
  }
}

// ---- memory --------------------------------------------------------------------------------------------

static void nothing_that_lives_at_the_same_time_overlaps(void **state) {
  (void)state;
  for (uint32_t seed = 0; seed < 100; seed++) {
    cel_buf text = {0};
    random_program(seed, &text);
    native n;
    native_open(&n, text.p, 2);
    for (int i = 0; i < n.plan->n_slots; i++) {
      for (int k = 0; k < i; k++) {
        const cel_slot *a = &n.plan->slots[i], *b = &n.plan->slots[k];
        if (a->kind != CEL_SLOT_ARENA || b->kind != CEL_SLOT_ARENA) continue;
        bool together = a->first <= b->last && b->first <= a->last;
        bool overlap = a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
        assert_false(together && overlap);
      }
    }
    native_close(&n);
    cel_buf_deinit(&text);
  }
}

static void refusals_name_the_operation(void **state) {
  (void)state;
  static const struct {
    const char *text, *word;
  } cases[] = {
      {MODULE("%a: tensor<2xf32>", "tensor<2xf32>",
              "%0 = stablehlo.tuple %a : tuple<tensor<2xf32>>\n%1 = stablehlo.get_tuple_element %0[0] : (tuple<tensor<2xf32>>) -> tensor<2xf32>\n"
              "return %1 : tensor<2xf32>\n"), "tuple"},
      {MODULE("%p: tensor<i1>, %a: tensor<2xf32>", "tensor<2xf32>",
              "%0 = \"stablehlo.if\"(%p) ({\nstablehlo.return %a : tensor<2xf32>\n}, {\n%1 = stablehlo.negate %a : tensor<2xf32>\n"
              "stablehlo.return %1 : tensor<2xf32>\n}) : (tensor<i1>) -> tensor<2xf32>\nreturn %0 : tensor<2xf32>\n"), "if"},
  };
  for (int i = 0; i < CEL_COUNT(cases); i++) {
    cel_err err = {0};
    cel_hlo_module *m;
    cel_program *p;
    cel_plan *plan;
    void *weights[4] = {0};
    if (cel_hlo_parse(cel_str_of(cases[i].text), "test", &m, &err) != CEL_OK) fail_msg("%s", err.text);
    assert_int_equal(cel_program_new(m, NULL, &p, &err), CEL_OK);
    assert_int_equal(cel_plan_new(p, weights, NULL, 0, CEL_LIN_PREC_F32, 1, &plan, &err), CEL_UNSUPPORTED);
    assert_non_null(strstr(err.text, cases[i].word));
    cel_program_free(p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chains_of_elementwise_operations_are_one_step),
      cmocka_unit_test(broadcasts_are_read_as_views),
      cmocka_unit_test(a_broadcast_others_need_whole_is_still_made),
      cmocka_unit_test(a_view_of_the_groups_own_result_waits),
      cmocka_unit_test(constants_fold_and_dead_code_goes),
      cmocka_unit_test(results_may_be_arguments_constants_or_twice_the_same),
      cmocka_unit_test(calls_and_unknown_composites_are_inlined),
      cmocka_unit_test(products_get_kernels_only_when_their_operands_are_the_formats),
      cmocka_unit_test(what_has_no_kernel_goes_to_the_evaluator),
      cmocka_unit_test(random_programs_agree_with_the_evaluator),
      cmocka_unit_test(nothing_that_lives_at_the_same_time_overlaps),
      cmocka_unit_test(refusals_name_the_operation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
