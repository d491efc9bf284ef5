// Every family, rope kind and storage format against the reference: logits of the prompt and 64 greedy tokens.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/oracle.h"

static double largest_difference(const oracle *o, const oracle_case *c, const float *logits) {
  double worst = 0;
  for (int64_t r = 0; r < c->n_rows; r++) {
    const float *got = logits + c->rows[r] * o->vocab, *want = o->logits + (c->first_row + r) * o->vocab;
    for (int64_t v = 0; v < o->vocab; v++) {
      double d = fabs((double)got[v] - want[v]);
      if (!(d <= worst)) worst = d;  // a NaN counts
    }
  }
  return worst;
}

static void check_logits(const loaded *l, const oracle *o, const oracle_case *c, double bound) {
  cel_err err = {0};
  cel_prompt p = {.ids = c->ids, .n = c->n};
  float *logits = malloc((size_t)(c->n * o->vocab) * sizeof *logits);
  assert_non_null(logits);
  if (l->backend->logits(l->model, &p, logits, &err) != CEL_OK) fail_msg("%s", err.text);
  double d = largest_difference(o, c, logits);
  if (!(d <= bound)) fail_msg("%s: logits differ by %g, the bound is %g", o->path, d, bound);
  free(logits);
}

static void check_tokens(const loaded *l, const oracle *o, const oracle_case *c) {
  cel_err err = {0};
  cel_session *s;
  cel_session_options options = greedy_options();
  if (l->backend->open(l->model, &options, &s, &err) != CEL_OK) fail_msg("%s", err.text);
  int32_t got[256];
  assert_true(c->n_greedy <= 256);
  greedy_run(l, s, c->ids, c->n, got, c->n_greedy);
  for (int64_t i = 0; i < c->n_greedy; i++) {
    if (got[i] != c->greedy[i]) fail_msg("%s: token %lld is %d, the reference has %d", o->path, (long long)i, got[i], c->greedy[i]);
  }
  l->backend->close(s);
}

// `bound` 0: the oracle's own tolerance. Otherwise a fraction of its largest logit.
static void check(const char *name, const char *precision, double bound) {
  oracle *o = oracle_load(name);
  loaded l;
  loaded_open(&l, o->path, precision, NULL);
  for (int i = 0; i < o->n_cases; i++) {
    check_logits(&l, o, &o->cases[i], bound > 0 ? bound * o->max_logit : o->tolerance);
    check_tokens(&l, o, &o->cases[i]);
  }
  loaded_close(&l);
  oracle_free(o);
}

#define FAMILY(id, name)                           \
  static void id##_equals_the_reference(void **s) { \
    (void)s;                                       \
    check(name, "f32", 0);                   \
  }
FAMILY(llama3, "llama3")
FAMILY(llama_linear, "llama-linear")
FAMILY(llama_dyn, "llama-dyn")
FAMILY(llama_yarn, "llama-yarn")
FAMILY(mistral, "mistral")
FAMILY(qwen2, "qwen2")
FAMILY(qwen3, "qwen3")
FAMILY(gemma3, "gemma3")
FAMILY(gemma3_linear, "gemma3-linear")
FAMILY(llama3_4_bit, "llama3-q4g64")
FAMILY(llama3_8_bit, "llama3-q8g32")
FAMILY(qwen3_4_bit, "qwen3-q4g32")
FAMILY(qwen3_8_bit, "qwen3-q8g64")
FAMILY(llama_gguf, "llama-gguf")
FAMILY(qwen2_gguf, "qwen2-gguf")
FAMILY(llama3_2_bit, "llama3-q2g32")
FAMILY(qwen3_3_bit, "qwen3-q3g64")
FAMILY(llama3_5_bit, "llama3-q5g32")
FAMILY(qwen3_6_bit, "qwen3-q6g64")
FAMILY(llama3_mixed_bits, "llama3-mixed")
FAMILY(qwen3_mxfp4, "qwen3-mxfp4")
FAMILY(llama3_mxfp8, "llama3-mxfp8")
FAMILY(qwen3_nvfp4, "qwen3-nvfp4")
FAMILY(llama_gguf_blocks, "llama-blocks")

// 16-bit activations: the same tokens, logits within 3e-4 of the largest one (measured: 0.9e-4 to 2.8e-4), or 4e-4
// where rows are 256 wide (measured: 3.2e-4).
#define I16_WITHIN(id, name, bound)                         \
  static void id##_keeps_the_tokens_at_16_bits(void **s) {  \
    (void)s;                                                \
    check(name, "i16", bound);                              \
  }
#define I16(id, name) I16_WITHIN(id, name, 3e-4)
I16(llama3_4_bit, "llama3-q4g64")
I16(llama3_8_bit, "llama3-q8g32")
I16(qwen3_4_bit, "qwen3-q4g32")
I16(qwen3_8_bit, "qwen3-q8g64")
I16(llama_gguf, "llama-gguf")
I16(llama3_2_bit, "llama3-q2g32")
I16(qwen3_3_bit, "qwen3-q3g64")
I16(llama3_5_bit, "llama3-q5g32")
I16(qwen3_6_bit, "qwen3-q6g64")
I16(llama3_mixed_bits, "llama3-mixed")
I16(qwen3_mxfp4, "qwen3-mxfp4")
I16(llama3_mxfp8, "llama3-mxfp8")
I16(qwen3_nvfp4, "qwen3-nvfp4")
I16_WITHIN(llama_gguf_blocks, "llama-blocks", 4e-4)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(llama3_equals_the_reference),
      cmocka_unit_test(llama_linear_equals_the_reference),
      cmocka_unit_test(llama_dyn_equals_the_reference),
      cmocka_unit_test(llama_yarn_equals_the_reference),
      cmocka_unit_test(mistral_equals_the_reference),
      cmocka_unit_test(qwen2_equals_the_reference),
      cmocka_unit_test(qwen3_equals_the_reference),
      cmocka_unit_test(gemma3_equals_the_reference),
      cmocka_unit_test(gemma3_linear_equals_the_reference),
      cmocka_unit_test(llama3_4_bit_equals_the_reference),
      cmocka_unit_test(llama3_8_bit_equals_the_reference),
      cmocka_unit_test(qwen3_4_bit_equals_the_reference),
      cmocka_unit_test(qwen3_8_bit_equals_the_reference),
      cmocka_unit_test(llama_gguf_equals_the_reference),
      cmocka_unit_test(qwen2_gguf_equals_the_reference),
      cmocka_unit_test(llama3_2_bit_equals_the_reference),
      cmocka_unit_test(qwen3_3_bit_equals_the_reference),
      cmocka_unit_test(llama3_5_bit_equals_the_reference),
      cmocka_unit_test(qwen3_6_bit_equals_the_reference),
      cmocka_unit_test(llama3_mixed_bits_equals_the_reference),
      cmocka_unit_test(qwen3_mxfp4_equals_the_reference),
      cmocka_unit_test(llama3_mxfp8_equals_the_reference),
      cmocka_unit_test(qwen3_nvfp4_equals_the_reference),
      cmocka_unit_test(llama_gguf_blocks_equals_the_reference),
      cmocka_unit_test(llama3_4_bit_keeps_the_tokens_at_16_bits),
      cmocka_unit_test(llama3_8_bit_keeps_the_tokens_at_16_bits),
      cmocka_unit_test(qwen3_4_bit_keeps_the_tokens_at_16_bits),
      cmocka_unit_test(qwen3_8_bit_keeps_the_tokens_at_16_bits),
      cmocka_unit_test(llama_gguf_keeps_the_tokens_at_16_bits),
      cmocka_unit_test(llama3_2_bit_keeps_the_tokens_at_16_bits),
      cmocka_unit_test(qwen3_3_bit_keeps_the_tokens_at_16_bits),
      cmocka_unit_test(llama3_5_bit_keeps_the_tokens_at_16_bits),
      cmocka_unit_test(qwen3_6_bit_keeps_the_tokens_at_16_bits),
      cmocka_unit_test(llama3_mixed_bits_keeps_the_tokens_at_16_bits),
      cmocka_unit_test(qwen3_mxfp4_keeps_the_tokens_at_16_bits),
      cmocka_unit_test(llama3_mxfp8_keeps_the_tokens_at_16_bits),
      cmocka_unit_test(qwen3_nvfp4_keeps_the_tokens_at_16_bits),
      cmocka_unit_test(llama_gguf_blocks_keeps_the_tokens_at_16_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
