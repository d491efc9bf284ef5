// A session's numbers are its own: the same bits alone and in a batch with others of other lengths.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "parity/bits.h"
#include "support/oracle.h"

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

// MLX's GPU kernels, and Apple's matrix products, are chosen by the number of rows.
static bool promises_bits(const loaded *l) {
  cel_description d = {0};
  l->backend->describe(l->model, &d);
#ifdef __APPLE__
  if (!strcmp(d.engine, "mlx")) return false;
#endif
  return strcmp(d.engine, "mlx") != 0 || !strcmp(d.device, "cpu");
}

static bool same(const cel_event *a, const cel_event *b, bool bits) {
  if (a->token != b->token) return false;
  if (!bits) return fabsf(a->logprob - b->logprob) < 1e-3f;
  return memcmp(&a->logprob, &b->logprob, sizeof(float)) == 0 && memcmp(a->top, b->top, 3 * sizeof *a->top) == 0;
}

static void check(const char *name, const loaded *l, cel_session **together, cel_session **alone, int steps) {
  bool bits = promises_bits(l);
  for (int step = 0; step < steps; step++) {
    cel_event a[ROWS], b;
    cel_err err = {0};
    if (l->backend->step(l->model, together, ROWS, a, &err) != CEL_OK) fail_msg("%s", err.text);
    for (int r = 0; r < ROWS; r++) {
      if (l->backend->step(l->model, &alone[r], 1, &b, &err) != CEL_OK) fail_msg("%s", err.text);
      if (!same(&a[r], &b, bits)) fail_msg("%s: row %d differs at step %d", name, r, step);
    }
  }
}

static void a_row_in_a_batch_equals_the_row_alone(void **state) {
  (void)state;
  const char *backend = getenv("MLXCEL_BACKEND");
  bool mlx = backend && !strcmp(backend, "mlx"), chosen = getenv("MLXCEL_MLX_PRECISION") != NULL;
  int every = mlx ? CEL_MAX(EVERY, 4) : EVERY;  // it is slow on CPUs
  for (int i = 0; i < CEL_COUNT(names); i += every) {
    if (mlx && !chosen) setenv("MLXCEL_MLX_PRECISION", i % 8 ? "f32" : "f16", 1);  // which rotate otherwise
    oracle *o = oracle_load(names[i]);
    const oracle_case *c = &o->cases[0];
    loaded l;
    cel_load_options options = {.n_threads = 2, .max_sessions = 2 * ROWS};
    loaded_open(&l, o->path, "i16", &options);
    cel_session *together[ROWS], *alone[ROWS];
    open_rows(&l, c, together);
    open_rows(&l, c, alone);
    check(names[i], &l, together, alone, mlx ? STEPS / 3 : STEPS);
    for (int r = 0; r < ROWS; r++) {
      l.backend->close(together[r]);
      l.backend->close(alone[r]);
    }
    loaded_close(&l);
    oracle_free(o);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_row_in_a_batch_equals_the_row_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
