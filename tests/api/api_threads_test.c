// What the headers allow several threads to do at once. Worth a run with the thread sanitizer.
#include "support.h"

#include <pthread.h>

enum { THREADS = 3, ROUNDS = 20 };

typedef struct reader {
  const mlxcel_model *model;
  int wrong;
} reader;

static const char text[] = "Hello world, \xe2\x82\xac 1,000";

// cmocka's checks belong to the main thread: readers only count.
static void *read_model(void *context) {
  reader *r = context;
  for (int i = 0; i < ROUNDS; i++) {
    int32_t *ids = NULL;
    int64_t n;
    char *back = NULL;
    size_t bytes = 0;
    r->wrong += mlxcel_tokenize(r->model, text, strlen(text), 0, &ids, &n, NULL) != MLXCEL_OK;
    r->wrong += mlxcel_detokenize(r->model, ids, n, 0, &back, &bytes, NULL) != MLXCEL_OK;
    r->wrong += !back || strcmp(back, text) != 0;
    r->wrong += mlxcel_token_find(r->model, "H", 1) != 72 || mlxcel_model_vocab(r->model) != 256;
    mlxcel_free(ids);
    mlxcel_free(back);
  }
  return NULL;
}

static void *close_stream(void *context) {
  mlxcel_detokenizer_close(context);
  return NULL;
}

static void *cancel_session(void *context) {
  mlxcel_session_cancel(context);
  return NULL;
}

static void many_threads_read_one_model_while_it_runs(void **state) {
  (void)state;
  reference r[ORACLE_CASES];
  reference_load("llama-gguf", r);
  mlxcel_model *m = open_model(LLAMA_GGUF, 1);
  mlxcel_session *s;
  mlxcel_event e;
  pthread_t threads[THREADS];
  reader readers[THREADS];
  OK(mlxcel_session_open(m, NULL, &s, ERR));
  for (int i = 0; i < THREADS; i++) {
    readers[i] = (reader){.model = m};
    assert_int_equal(pthread_create(&threads[i], NULL, read_model, &readers[i]), 0);
  }
  OK(mlxcel_session_prompt(s, r[0].ids, r[0].n, ERR));
  for (int i = 0; i < 8; i++) {
    OK(mlxcel_step(m, &s, 1, &e, ERR));
    assert_int_equal(e.token, r[0].greedy[i]);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    assert_int_equal(readers[i].wrong, 0);
  }
  mlxcel_session_close(s);
  mlxcel_model_close(m);
}

static void another_thread_cancels(void **state) {
  (void)state;
  static const int32_t ids[] = {1, 2, 3};
  mlxcel_model *m = open_model(LLAMA3, 1);
  mlxcel_session *s;
  mlxcel_event e = {.finish = MLXCEL_FINISH_NONE};
  pthread_t thread;
  OK(mlxcel_session_open(m, NULL, &s, ERR));
  OK(mlxcel_session_prompt(s, ids, 3, ERR));
  OK(mlxcel_step(m, &s, 1, &e, ERR));
  assert_int_equal(pthread_create(&thread, NULL, cancel_session, s), 0);
  while (e.finish == MLXCEL_FINISH_NONE) OK(mlxcel_step(m, &s, 1, &e, ERR));
  pthread_join(thread, NULL);
  assert_true(e.finish == MLXCEL_FINISH_CANCELLED || e.finish == MLXCEL_FINISH_LENGTH || e.finish == MLXCEL_FINISH_END);
  mlxcel_session_close(s);
  mlxcel_model_close(m);
}

static void the_last_to_close_may_be_any_thread(void **state) {
  (void)state;
  mlxcel_model *m = open_files(LLAMA_GGUF);
  mlxcel_detokenizer *d[THREADS];
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) OK(mlxcel_detokenizer_open(m, 0, &d[i], ERR));
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, close_stream, d[i]), 0);
  mlxcel_model_close(m);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(many_threads_read_one_model_while_it_runs),
      cmocka_unit_test(another_thread_cancels),
      cmocka_unit_test(the_last_to_close_may_be_any_thread),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
