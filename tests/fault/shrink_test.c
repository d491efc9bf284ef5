// A model whose file is cut short while it is loaded, or while it answers: each piece of work ends in an error that names
// the file. Every case runs in a child: cmocka sets a SIGBUS handler of its own around each test.
#define _XOPEN_SOURCE 700
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "generate/generate.h"

#define NEED(condition)                                                        \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);          \
      _exit(1);                                                                \
    }                                                                          \
  } while (0)

static char folder[64], model[200], weights[200];

static void copy(const char *from, const char *name) {
  char to[200], source[600];
  char *p;
  int64_t n;
  snprintf(source, sizeof source, "%s/data/oracle/%s/%s", CEL_TEST_DATA, from, name);
  snprintf(to, sizeof to, "%s/%s", folder, name);
  NEED(cel_read_file(source, 16 << 20, &p, &n, NULL) == CEL_OK && cel_write_file(to, p, n, NULL) == CEL_OK);
  free(p);
}

// A model of either format in a folder of its own; `weights` is its file.
static void make_model(bool gguf) {
  snprintf(folder, sizeof folder, "/tmp/shrink_test_XXXXXX");
  NEED(mkdtemp(folder) != NULL);
  if (gguf) copy("llama-gguf", "model.gguf");
  else copy("llama3", "config.json"), copy("llama3", "model.safetensors");
  snprintf(weights, sizeof weights, "%s/%s", folder, gguf ? "model.gguf" : "model.safetensors");
  snprintf(model, sizeof model, "%s", gguf ? weights : folder);
  setenv("MLXCEL_XLA_PRECISION", "f32", 1);  // read where they are mapped
}

static void drop_model(void) {
  char config[200];
  snprintf(config, sizeof config, "%s/config.json", folder);
  unlink(config);
  unlink(weights);
  rmdir(folder);
}

// All but the first part of the file.
static void cut(void) {
  struct stat st;
  NEED(stat(weights, &st) == 0 && truncate(weights, st.st_size / 4) == 0);
}

static void need_named(cel_status s, const cel_err *err) {
  if (s != CEL_IO || !strstr(err->text, weights) || !strstr(err->text, "became shorter")) {
    fprintf(stderr, "status %d: %s\n", (int)s, err->text);
    _exit(1);
  }
}

static cel_lm *open_model(void) {
  cel_lm *lm;
  cel_err err = {0};
  cel_lm_options o = {.need_backend = true, .load = {.n_threads = 2, .context = 64}};
  if (cel_lm_open(model, &o, &lm, &err) == CEL_OK) return lm;
  fprintf(stderr, "%s\n", err.text);
  _exit(1);
}

// Cut between reading the head and loading the weights.
static void cut_while_loading(void) {
  cel_checkpoint *c;
  cel_arena arena;
  cel_arch arch;
  const cel_backend *backend;
  cel_model_handle *m = NULL;
  cel_err err = {0};
  cel_load_options o = {.n_threads = 2, .context = 64};
  cel_arena_init(&arena);
  NEED(cel_checkpoint_open(model, &c, &err) == CEL_OK);
  NEED(cel_arch_from_config(c->config, NULL, &arena, &arch, &err) == CEL_OK && cel_backend_find(NULL, &backend, &err) == CEL_OK);
  cut();
  need_named(backend->load(&arch, c, &o, &m, &err), &err);
  NEED(m == NULL);
  need_named(cel_checkpoint_intact(c, CEL_OK, &err), &err);
  cel_checkpoint_close(c);
  cel_arena_deinit(&arena);
}

static cel_session_options greedy(void) {
  cel_session_options o = {.max_tokens = -1, .ignore_end = true};
  cel_sampling_init(&o.sampling);
  o.sampling.temperature = 0;
  o.sampling.n_logprobs = -1;
  return o;
}

// Cut between two steps: the step, a prefill and logits all say so, and closing works.
static void cut_between_steps(void) {
  cel_lm *lm = open_model();
  const int32_t ids[] = {1, 2, 3, 4};
  cel_prompt p = {.ids = ids, .n = 4};
  cel_session *s, *other;
  cel_session_options o = greedy();
  cel_event e;
  cel_err err = {0};
  float *logits = malloc((size_t)(4 * lm->arch.vocab) * sizeof *logits);
  NEED(logits && lm->backend->open(lm->model, &o, &s, &err) == CEL_OK && lm->backend->prefill(s, &p, &err) == CEL_OK);
  for (int i = 0; i < 2; i++) NEED(lm->backend->step(lm->model, &s, 1, &e, &err) == CEL_OK && e.finish == CEL_FINISH_NONE);
  cut();
  need_named(lm->backend->step(lm->model, &s, 1, &e, &err), &err);
  need_named(lm->backend->prefill(s, &p, &err), &err);
  lm->backend->close(s);
  need_named(lm->backend->logits(lm->model, &p, logits, &err), &err);
  NEED(lm->backend->open(lm->model, &o, &other, &err) == CEL_OK);
  need_named(lm->backend->prefill(other, &p, &err), &err);
  lm->backend->close(other);
  free(logits);
  cel_lm_close(lm);
}

// Cut by somebody else while a request runs.
static void cut_while_answering(void) {
  cel_lm *lm = open_model();
  const int32_t ids[] = {1, 2, 3};
  cel_generation g = {0};
  cel_reply r;
  cel_err err = {0};
  cel_request q = {.ids = ids, .n = 3, .max_tokens = 50, .ignore_end = true};
  cel_sampling_init(&q.sampling);
  q.sampling.temperature = 0;
  NEED(cel_generate(lm, &g, &q, NULL, &r, &err) == CEL_OK && r.n == 50);
  cel_reply_deinit(&r);
  pid_t pid = fork();
  NEED(pid >= 0);
  if (pid == 0) {
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    cut();
    _exit(0);
  }
  cel_status s = CEL_OK;
  for (int i = 0; s == CEL_OK && i < 100000; i++) {  // until the file is cut, at whatever point of a step
    s = cel_generate(lm, &g, &q, NULL, &r, &err);
    if (s == CEL_OK) cel_reply_deinit(&r);
  }
  need_named(s, &err);
  NEED(waitpid(pid, NULL, 0) == pid);
  cel_generation_close(&g, lm);
  cel_lm_close(lm);
}

// Cut ahead of everything: what the head says is not there, which has always been an error of the file.
static void cut_before_opening(void) {
  cel_lm *lm;
  cel_err err = {0};
  cel_lm_options o = {.need_backend = true, .load = {.n_threads = 1, .context = 64}};
  cut();
  cel_status s = cel_lm_open(model, &o, &lm, &err);
  NEED(s == CEL_MALFORMED && lm == NULL && strstr(err.text, weights));
}

static void both_formats(void (*body)(void)) {
  for (int gguf = 0; gguf < 2; gguf++) {
    int status = 0;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
      static const int signals[] = {SIGBUS, SIGSEGV, SIGABRT, SIGFPE, SIGILL};  // cmocka's would go on in its own tests
      for (int i = 0; i < CEL_COUNT(signals); i++) signal(signals[i], SIG_DFL);
      make_model(gguf);
      body();
      drop_model();
      exit(0);  // by way of the leak checker
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("%s: status %x", gguf ? "GGUF" : "safetensors", (unsigned)status);
  }
}

#define CASE(name)                        \
  static void name##_is_an_error(void **state) { \
    (void)state;                          \
    both_formats(name);                   \
  }
CASE(cut_before_opening)
CASE(cut_while_loading)
CASE(cut_between_steps)
CASE(cut_while_answering)

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(cut_before_opening_is_an_error), cmocka_unit_test(cut_while_loading_is_an_error),
                                     cmocka_unit_test(cut_between_steps_is_an_error), cmocka_unit_test(cut_while_answering_is_an_error)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
