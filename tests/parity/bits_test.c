// The same bits in one prefill or in chunks, with one thread or several. In a batch: batch_test.c.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "parity/bits.h"
#include "support/oracle.h"

static const char *const packed_names[] = {"llama3-q4g64", "llama-gguf", "llama3-mixed", "llama-blocks", "qwen3moe-q4g32"};

static float *all_logits(const char *path, const char *precision, const oracle_case *c, int64_t vocab, int n_threads, int chunk) {
  loaded l;
  cel_err err = {0};
  cel_load_options o = {.n_threads = n_threads, .prefill_chunk = chunk};
  loaded_open(&l, path, precision, &o);
  float *logits = malloc((size_t)(c->n * vocab) * sizeof *logits);
  assert_non_null(logits);
  cel_prompt p = {.ids = c->ids, .n = c->n};
  if (l.backend->logits(l.model, &p, logits, &err) != CEL_OK) fail_msg("%s", err.text);
  loaded_close(&l);
  return logits;
}

static void same_in_chunks(const char *name, const char *precision) {
  static const int settings[][2] = {{1, 1}, {2, 7}, {3, 64}, {8, 16}, {2, 1}};
  oracle *o = oracle_load(name);
  const oracle_case *c = &o->cases[o->n_cases - 1];
  float *want = all_logits(o->path, precision, c, o->vocab, 1, 64);
  for (int k = 0; k < CEL_COUNT(settings); k++) {
    float *got = all_logits(o->path, precision, c, o->vocab, settings[k][0], settings[k][1]);
    if (memcmp(got, want, (size_t)(c->n * o->vocab) * sizeof *got) != 0) {
      fail_msg("%s, %s: %d threads and chunks of %d change the logits", name, precision, settings[k][0], settings[k][1]);
    }
    free(got);
  }
  free(want);
  oracle_free(o);
}

static void chunks_and_threads_do_not_change_a_bit(void **state) {
  (void)state;
  for (int i = 0; i < CEL_COUNT(names); i += EVERY) same_in_chunks(names[i], "i16");
  for (int i = 0; i < CEL_COUNT(packed_names); i++) same_in_chunks(packed_names[i], "i8");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(chunks_and_threads_do_not_change_a_bit)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
