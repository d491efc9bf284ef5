// The probes of the micro oracle: each program means what its reference says, and a program that means something else, be it
// another order of a sum or operands of fewer bits, is found.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/xla/diag/probe.h"
#include "backend/xla/engine/native/ref/ref.h"
#include "backend/xla/xla_micro.h"
#include "base/json.h"

static const cel_probe *find(const char *name) {
  for (int i = 0; i < cel_n_probes; i++) {
    if (!strcmp(cel_probes[i].name, name)) return &cel_probes[i];
  }
  fail_msg("there is no probe %s", name);
  return NULL;
}

// What the reference evaluator makes of a text, compared as the probe asks.
static cel_comparison evaluate(const cel_probe *p, const char *text) {
  cel_err err = {0};
  cel_hlo_module *m;
  if (cel_hlo_parse(cel_str_of(text), p->name, &m, &err) != CEL_OK) fail_msg("%s", err.text);
  const cel_hlo_func *f = cel_hlo_find_func(m, "main");
  cel_ref_tensor args[CEL_PROBE_OPERANDS_MOST], result;
  void *operands[CEL_PROBE_OPERANDS_MOST] = {NULL};
  int n = 0;
  for (; n < CEL_PROBE_OPERANDS_MOST && p->operands[n].name; n++) {
    operands[n] = calloc((size_t)cel_probe_elements(&p->operands[n]), 4);
    args[n] = (cel_ref_tensor){f->body->args[n]->type, operands[n]};
    assert_int_equal(cel_hlo_bytes(args[n].type), cel_probe_elements(&p->operands[n]) * 4);
  }
  assert_int_equal(n, f->body->n_args);
  float *want = calloc((size_t)cel_probe_elements(&p->result), sizeof *want);
  p->fill(operands);
  p->reference((const void *const *)operands, want);
  if (cel_ref_eval_func(m, f, args, n, &result, NULL, &err) != CEL_OK) fail_msg("%s: %s", p->name, err.text);
  cel_diag_array r = {.name = p->name, .dtype = "<f4", .rank = p->result.rank, .data = want}, c = r;
  memcpy(r.dims, p->result.dims, sizeof p->result.dims);
  memcpy(c.dims, p->result.dims, sizeof p->result.dims);
  c.data = result.data;
  cel_comparison out;
  if (cel_compare(&r, &c, &p->criterion, &out, &err) != CEL_OK) fail_msg("%s", err.text);
  cel_ref_tensor_free(&result);
  for (int i = 0; i < n; i++) free(operands[i]);
  free(want);
  cel_hlo_module_free(m);
  return out;
}

static void programs_mean_their_references(void **state) {
  (void)state;
  assert_true(cel_n_probes >= 9);
  for (int i = 0; i < cel_n_probes; i++) {
    cel_comparison c = evaluate(&cel_probes[i], cel_probes[i].text);
    if (!c.passed) fail_msg("%s: %lld elements, the largest by %g", cel_probes[i].name, (long long)c.failures, c.max_abs);
  }
}

static void another_meaning_is_found(void **state) {
  (void)state;
  static const struct {
    const char *probe, *from, *to;
  } faults[] = {
      {"affine-q4-dequant", "dense<4>", "dense<3>"},
      {"dense-matmul", "    %0 = stablehlo.dot_general %x,",  // the operands of a tensor core
       "    %b = stablehlo.convert %x : (tensor<2x2xf32>) -> tensor<2x2xbf16>\n    %c = stablehlo.convert %b : (tensor<2x2xbf16>) -> "
       "tensor<2x2xf32>\n    %0 = stablehlo.dot_general %c,"},
      {"residual-add", "stablehlo.add", "stablehlo.subtract"},
      {"rms-norm", "%eps = stablehlo.constant dense<9.99999974E-6>", "%eps = stablehlo.constant dense<1.0E-3>"},
      {"layer-norm", "%n = stablehlo.constant dense<4.0>", "%n = stablehlo.constant dense<3.0>"},
      {"attention-softmax", "%zero = stablehlo.constant dense<0.0>", "%zero = stablehlo.constant dense<1.0E-3>"},
      {"silu-projection", "stablehlo.logistic", "stablehlo.tanh"},
      {"gelu-projection", "dense<4.471500e-02>", "dense<4.400000e-02>"},
      {"rope", "stablehlo.subtract", "stablehlo.add"},
      {"cuda-prefix-sum", "    %q2 = stablehlo.add %q1, %p2 :",  // the same sum in another order
       "    %q = stablehlo.add %p1, %p2 : tensor<2x64x1xf32>\n    %q2 = stablehlo.add %p0, %q :"},
  };
  assert_int_equal(CEL_COUNT(faults), cel_n_probes);
  for (int i = 0; i < CEL_COUNT(faults); i++) {
    const cel_probe *p = find(faults[i].probe);
    const char *at = strstr(p->text, faults[i].from);
    if (!at) fail_msg("%s: its text has no %s", p->name, faults[i].from);
    cel_buf text = {0};
    cel_buf_add(&text, p->text, (size_t)(at - p->text));
    cel_buf_addz(&text, faults[i].to);
    cel_buf_addz(&text, at + strlen(faults[i].from));
    if (evaluate(p, text.p).passed) fail_msg("%s: %s in place of %s is not found", p->name, faults[i].to, faults[i].from);
    cel_buf_deinit(&text);
  }
}

static void the_native_engine_passes(void **state) {
  (void)state;
  cel_xla_micro_options o = {.device = "native", .n_threads = 2};
  cel_xla_micro_counts n;
  cel_buf b = {0};
  cel_err err = {0};
  cel_json *report;
  if (cel_xla_micro_oracle(&o, false, &b, &n, &err) != CEL_OK) fail_msg("%s", err.text);
  assert_int_equal(n.passed, cel_n_probes);
  assert_int_equal(n.failed + n.qualified, 0);
  if (cel_json_parse(cel_buf_str(&b), "report", &report, &err) != CEL_OK) fail_msg("%s", err.text);
  assert_int_equal(cel_json_array_size(report), cel_n_probes);
  for (int i = 0; i < cel_n_probes; i++) {
    const cel_json *v = cel_json_array_get(report, (size_t)i);
    assert_string_equal(cel_json_string(v, "schema", ""), "mlxcel-xla-micro-oracle-v1");
    assert_string_equal(cel_json_string(v, "probe", ""), cel_probes[i].name);
    const char *contract = cel_json_string(v, "contract", "");
    assert_true(!strpbrk(contract, ";\r\n") && *contract);
    assert_int_equal(strlen(cel_json_string(v, "contract_sha256", "")), 64);
  }
  cel_json_decref(report);
  cel_buf_deinit(&b);
}

static void an_engine_that_is_not_there_is_an_error(void **state) {
  (void)state;
  cel_xla_micro_options o = {.device = "abacus"};
  cel_xla_micro_counts n;
  cel_buf b = {0};
  cel_err err = {0};
  assert_int_not_equal(cel_xla_micro_oracle(&o, true, &b, &n, &err), CEL_OK);
  assert_non_null(strstr(err.text, "abacus"));
  cel_buf_deinit(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(programs_mean_their_references), cmocka_unit_test(another_meaning_is_found),
                                     cmocka_unit_test(the_native_engine_passes), cmocka_unit_test(an_engine_that_is_not_there_is_an_error)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
