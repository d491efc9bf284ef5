// A session's numbers are its own: the same bits alone or in a batch, in one prefill or in chunks, with one
// thread or several.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/oracle.h"

static const char *const names[] = {"llama3", "qwen3", "mistral", "gemma3", "gemma3n", "qwen2", "llama3-q4g64", "qwen3-q8g64", "llama-gguf",
                                    "qwen3-q3g64", "llama3-mixed", "qwen3-nvfp4", "llama3-mxfp8", "llama-blocks",
                                    "gemma1", "gemma2", "olmo1", "olmo2", "cohere", "stablelm", "starcoder2", "phi3-long",
                                    "glm4", "granite", "ministral3", "internlm2", "exaone4", "hunyuan", "apertus", "smollm3",
                                    "qwen3moe-q4g32", "qwen2moe", "gptoss-mxfp4", "phimoe", "dsv2", "dsv3",
                                    "lfm2", "lfm2moe", "qwen3next",
                                    "ministral", "mimo", "olmo3", "ernie", "seedoss", "internlm3",
                                    "exaone3", "cohere2", "phi4mm", "hyperclovax", "minicpm", "glm", "arcee",
                                    "nemotron", "mixtral", "qwen3moe", "olmoe", "erniemoe", "granitemoe",
                                    "granitemoeshared", "granite4-dense", "glm4moe", "dots1", "exaonemoe", "dsv1",
                                    "gptoss", "minicpm3", "youtu", "qwen35", "qwen35moe"};
// Races do not depend on the family: under a sanitizer, which makes this ten times slower, every fifth will do.
enum { EVERY = CEL_HAS_SANITIZER ? 5 : 1 };
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

enum { ROWS = 5, STEPS = 24 };

// Prompts of different lengths: the case's ids from different beginnings.
static void open_rows(const loaded *l, const oracle_case *c, cel_session **s) {
  for (int r = 0; r < ROWS; r++) {
    cel_err err = {0};
    cel_session_options options = greedy_options();
    options.sampling.n_logprobs = 3;
    if (l->backend->open(l->model, &options, &s[r], &err) != CEL_OK) fail_msg("%s", err.text);
    cel_prompt p = {.ids = c->ids + r * 2, .n = c->n - r * 4};
    if (l->backend->prefill(s[r], &p, &err) != CEL_OK) fail_msg("%s", err.text);
  }
}

static void a_row_in_a_batch_equals_the_row_alone(void **state) {
  (void)state;
  for (int i = 0; i < CEL_COUNT(names); i += EVERY) {
    oracle *o = oracle_load(names[i]);
    const oracle_case *c = &o->cases[0];
    loaded l;
    cel_load_options options = {.n_threads = 2, .max_sessions = 2 * ROWS};
    loaded_open(&l, o->path, "i16", &options);
    cel_session *together[ROWS], *alone[ROWS];
    open_rows(&l, c, together);
    open_rows(&l, c, alone);
    for (int step = 0; step < STEPS; step++) {
      cel_event a[ROWS], b[ROWS];
      cel_err err = {0};
      if (l.backend->step(l.model, together, ROWS, a, &err) != CEL_OK) fail_msg("%s", err.text);
      for (int r = 0; r < ROWS; r++) {
        if (l.backend->step(l.model, &alone[r], 1, &b[r], &err) != CEL_OK) fail_msg("%s", err.text);
        if (a[r].token != b[r].token || memcmp(&a[r].logprob, &b[r].logprob, sizeof(float)) != 0 ||
            memcmp(a[r].top, b[r].top, 3 * sizeof *a[r].top) != 0) {
          fail_msg("%s: row %d differs at step %d", names[i], r, step);
        }
      }
    }
    for (int r = 0; r < ROWS; r++) {
      l.backend->close(together[r]);
      l.backend->close(alone[r]);
    }
    loaded_close(&l);
    oracle_free(o);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(chunks_and_threads_do_not_change_a_bit),
                                     cmocka_unit_test(a_row_in_a_batch_equals_the_row_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
