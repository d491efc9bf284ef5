// A model's handles: as many after a step as before it, none left behind by a session; wrong files and variables refused by name.
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/mlx/mlx_model.h"

extern const cel_backend cel_backend_mlx;

typedef struct fixture {
  cel_arena arena;
  cel_checkpoint *checkpoint;
  cel_arch arch;
  cel_model_handle *model;
} fixture;

static void open_files(fixture *f, const char *name) {
  cel_err err = {0};
  char path[600];
  snprintf(path, sizeof path, "%s/data/oracle/%s", CEL_TEST_DATA, name);
  *f = (fixture){0};
  cel_arena_init(&f->arena);
  cel_status s = cel_checkpoint_open(path, &f->checkpoint, &err);
  if (s == CEL_OK) s = cel_arch_from_config(f->checkpoint->config, NULL, &f->arena, &f->arch, &err);
  if (s != CEL_OK) fail_msg("%s", err.text);
}

static cel_status load(fixture *f, cel_err *err) {
  cel_load_options o = {.context = 64, .max_sessions = 2, .prefill_chunk = 8};
  return cel_backend_mlx.load(&f->arch, f->checkpoint, &o, &f->model, err);
}

static void close_files(fixture *f) {
  cel_backend_mlx.unload(f->model);
  cel_checkpoint_close(f->checkpoint);
  cel_arena_deinit(&f->arena);
}

static cel_session *open_session(fixture *f) {
  cel_err err = {0};
  cel_session *s;
  cel_session_options o = {.max_tokens = -1, .ignore_end = true};
  cel_sampling_init(&o.sampling);
  o.sampling.n_logprobs = -1;
  o.sampling.temperature = 0;
  if (cel_backend_mlx.open(f->model, &o, &s, &err) != CEL_OK) fail_msg("%s", err.text);
  return s;
}

static int64_t live(const fixture *f) { return cel_mlx_live(cel_mlx_model_of(f->model)->c); }

// Through prompts, steps, cuts and a fork.
static void no_handle_is_left_behind(const char *name) {
  fixture f;
  cel_err err = {0};
  open_files(&f, name);
  if (load(&f, &err) != CEL_OK) fail_msg("%s", err.text);
  int64_t loaded = live(&f), steady = 0;
  for (int round = 0; round < 3; round++) {
    cel_session *s = open_session(&f), *t;
    cel_session_options o = s->options;
    static const int32_t ids[20] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
    cel_prompt p = {.ids = ids, .n = 20};
    cel_event e[2];
    assert_int_equal(cel_backend_mlx.prefill(s, &p, &err), CEL_OK);
    for (int i = 0; i < 4; i++) {
      assert_int_equal(cel_backend_mlx.step(f.model, &s, 1, e, &err), CEL_OK);
      if (i == 0 && round == 0) steady = live(&f);
      assert_int_equal(live(&f), steady);
    }
    assert_int_equal(cel_backend_mlx.fork(s, &o, &t, &err), CEL_OK);
    cel_session *both[2] = {s, t};
    assert_int_equal(cel_backend_mlx.step(f.model, both, 2, e, &err), CEL_OK);
    assert_int_equal(e[0].token, e[1].token);
    assert_int_equal(cel_backend_mlx.truncate(s, 5, &err), CEL_OK);
    assert_int_equal(cel_backend_mlx.step(f.model, both, 2, e, &err), CEL_OK);
    cel_backend_mlx.close(s);
    cel_backend_mlx.close(t);
    assert_int_equal(live(&f), loaded + 1);  // the last logits
  }
  cel_memory_report m;
  cel_backend_mlx.memory(f.model, &m);
  assert_true(m.weights_bytes > 0 && m.kv_bytes == 0);
  close_files(&f);
}

static void attention_leaves_nothing_behind(void **state) { (void)state, no_handle_is_left_behind("llama3"); }
static void recurrent_states_leave_nothing_behind(void **state) { (void)state, no_handle_is_left_behind("qwen3next"); }

static void greedy(fixture *f, cel_session *s, int n, int32_t *out) {
  cel_err err = {0};
  for (int i = 0; i < n; i++) {
    cel_event e;
    if (cel_backend_mlx.step(f->model, &s, 1, &e, &err) != CEL_OK) fail_msg("%s", err.text);
    out[i] = e.token;
  }
}

// Where a prompt, or a step, needs more than there is: one sentence, nothing held longer, and the session goes on once
// there is memory.
static void a_run_without_memory_is_refused_and_can_be_tried_again(void **state) {
  (void)state;
  enum { N = 8, LONG = 8192 };
  static int32_t ids[LONG];
  int32_t want[N], got[N];
  fixture f;
  cel_err err = {0};
  open_files(&f, "llama3");
  cel_load_options o = {.context = 2 * LONG, .max_sessions = 2, .prefill_chunk = LONG, .device = "cpu"};
  if (cel_backend_mlx.load(&f.arch, f.checkpoint, &o, &f.model, &err) != CEL_OK) fail_msg("%s", err.text);
  for (int i = 0; i < LONG; i++) ids[i] = (i * 37 + 11) % 128;
  cel_prompt some = {ids, 20}, many = {ids, LONG};
  cel_session *s = open_session(&f), *t = open_session(&f);
  assert_int_equal(cel_backend_mlx.prefill(s, &some, &err), CEL_OK);
  greedy(&f, s, N, want);
  assert_int_equal(cel_backend_mlx.prefill(t, &some, &err), CEL_OK);
  int64_t held = live(&f);
  cel_mlx_memory before;
  cel_mlx_memory_of(&before);
  cel_mlx_limit_memory(before.active + (64 << 20));
  assert_int_equal(cel_backend_mlx.prefill(t, &many, &err), CEL_OOM);  // scores of 8192 by 8192
  assert_non_null(strstr(err.text, "out of memory: "));
  assert_non_null(strstr(err.text, "--prefill-chunk"));
  assert_true(live(&f) <= held);
  assert_int_equal(cel_backend_mlx.length(t), 20);
  greedy(&f, t, N, got);
  assert_memory_equal(got, want, sizeof want);
  cel_mlx_limit_memory(1 << 10);
  assert_int_equal(cel_backend_mlx.truncate(t, 0, &err), CEL_OK);
  some.n = 700;
  assert_int_equal(cel_backend_mlx.prefill(t, &some, &err), CEL_OOM);
  cel_mlx_limit_memory(before.limit);
  some.n = 20;
  assert_int_equal(cel_backend_mlx.prefill(t, &some, &err), CEL_OK);
  greedy(&f, t, N, got);
  assert_memory_equal(got, want, sizeof want);
  cel_backend_mlx.close(s);
  cel_backend_mlx.close(t);
  close_files(&f);
}

static void a_wrong_shape_is_refused_by_its_name(void **state) {
  (void)state;
  fixture f;
  cel_err err = {0};
  open_files(&f, "llama3");
  f.arch.layers[1].inter += 64;
  assert_int_equal(load(&f, &err), CEL_MALFORMED);
  assert_non_null(strstr(err.text, "model.layers.1.mlp.gate_proj.weight is [128, 64], the config asks for [192, 64]"));
  assert_null(f.model);
  f.arch.layers[1].inter -= 64;
  f.arch.names[CEL_W_UP] = "model.layers.{i}.mlp.nowhere";
  assert_int_equal(load(&f, &err), CEL_NOT_FOUND);
  assert_non_null(strstr(err.text, "model.layers.0.mlp.nowhere.weight"));
  close_files(&f);
}

static void variables_are_held_to_what_there_is(void **state) {
  (void)state;
  fixture f;
  cel_err err = {0};
  cel_description d;
  open_files(&f, "llama3");
  setenv("MLXCEL_MLX_PRECISION", "f8", 1);
  assert_int_equal(load(&f, &err), CEL_INVALID);
  assert_non_null(strstr(err.text, "MLXCEL_MLX_PRECISION=f8"));
  setenv("MLXCEL_MLX_PRECISION", "bf16", 1);
  assert_int_equal(load(&f, &err), CEL_OK);
  cel_backend_mlx.describe(f.model, &d);
  assert_string_equal(d.precision, "bf16");
  cel_backend_mlx.unload(f.model);
  f.model = NULL;
  unsetenv("MLXCEL_MLX_PRECISION");
  setenv("MLXCEL_MLX_DEVICE", "gpu", 1);
  cel_status s = load(&f, &err);
  assert_int_equal(s, cel_mlx_available(CEL_MLX_GPU) ? CEL_OK : CEL_UNSUPPORTED);
  if (s != CEL_OK) assert_non_null(strstr(err.text, "no Metal or CUDA device"));
  unsetenv("MLXCEL_MLX_DEVICE");
  close_files(&f);
}

static void another_version_than_that_of_the_headers_is_refused(void **state) {
  (void)state;
  cel_err err = {0};
  assert_int_equal(cel_mlx_check_version(cel_mlx_version(), cel_mlx_built_for(), &err), CEL_OK);
  assert_int_equal(cel_mlx_check_version("0.32.9", "0.32.4", &err), CEL_OK);
  assert_int_equal(cel_mlx_check_version("0.32.5.dev20261130+abc", "0.32.4", &err), CEL_OK);
  static const char *const others[] = {"0.33.0", "0.3.4", "0.320.4", "1.32.4", "0.32x", "1", ""};
  for (int i = 0; i < CEL_COUNT(others); i++) {
    assert_int_equal(cel_mlx_check_version(others[i], "0.32.4", &err), CEL_UNSUPPORTED);
    assert_non_null(strstr(err.text, others[i]));
    assert_non_null(strstr(err.text, "built for 0.32.4"));
  }
}

enum { PROMPT = 24, VOCAB = 256, SMALLEST = 128 };  // ids of all these models

// How many there are.
static int64_t logits_of(const char *name, const char *precision, float *out) {
  fixture f;
  cel_err err = {0};
  int32_t ids[PROMPT];
  for (int i = 0; i < PROMPT; i++) ids[i] = (i * 37 + 11) % SMALLEST;
  cel_prompt p = {.ids = ids, .n = PROMPT};
  open_files(&f, name);
  setenv("MLXCEL_MLX_PRECISION", precision, 1);
  if (load(&f, &err) != CEL_OK) fail_msg("%s in %s: %s", name, precision, err.text);
  unsetenv("MLXCEL_MLX_PRECISION");
  int64_t n = f.model->vocab;
  assert_true(n >= SMALLEST && n <= VOCAB);
  if (cel_backend_mlx.logits(f.model, &p, out, &err) != CEL_OK) fail_msg("%s in %s: %s", name, precision, err.text);
  close_files(&f);
  return n * PROMPT;
}

// The largest difference, as a fraction of the largest logit.
static double off_by(const float *got, const float *want, int64_t n) {
  double worst = 0, most = 0;
  for (int64_t i = 0; i < n; i++) {
    double d = fabs((double)got[i] - want[i]);
    if (!(d <= worst)) worst = d;  // a NaN counts
    most = fmax(most, fabs((double)want[i]));
  }
  return worst / most;
}

// Every block in 16 bits. Routers choose other experts where scores are close, so that mixtures have the wider bound.
static void sixteen_bits_stay_close(void **state) {
  (void)state;
  static const struct { const char *name; double f16, bf16; } models[] = {
      {"llama3", 0.05, 0.3}, {"llama3-q4g64", 0.05, 0.3}, {"gemma2", 0.05, 0.3}, {"lfm2", 0.05, 0.3}, {"youtu-q4g32", 0.05, 0.3},
      {"qwen35", 0.05, 0.3}, {"gemma3n", 0.05, 0.3}, {"mixtral", 0.3, 1}, {"qwen3moe-q4g32", 0.3, 1}};
  static float want[PROMPT * VOCAB], got[PROMPT * VOCAB];
  for (int i = 0; i < CEL_COUNT(models); i++) {
    int64_t n = logits_of(models[i].name, "f32", want);
    logits_of(models[i].name, "f16", got);
    double f16 = off_by(got, want, n);
    logits_of(models[i].name, "bf16", got);
    double bf16 = off_by(got, want, n);
    if (!(f16 <= models[i].f16 && bf16 <= models[i].bf16)) fail_msg("%s: off by %g in f16, %g in bf16", models[i].name, f16, bf16);
    print_message("%s: %g, %g\n", models[i].name, f16, bf16);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(attention_leaves_nothing_behind),
      cmocka_unit_test(recurrent_states_leave_nothing_behind),
      cmocka_unit_test(a_run_without_memory_is_refused_and_can_be_tried_again),
      cmocka_unit_test(a_wrong_shape_is_refused_by_its_name),
      cmocka_unit_test(sixteen_bits_stay_close),
      cmocka_unit_test(another_version_than_that_of_the_headers_is_refused),
      cmocka_unit_test(variables_are_held_to_what_there_is),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
