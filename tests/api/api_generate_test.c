// Generation in one call, and generators that keep their session.
#include "support.h"

#include <stdlib.h>

typedef struct heard {
  char text[4096];
  size_t n;
  int pieces, most;  // most: how many pieces it takes; -1: all
} heard;

static bool listen(void *context, const char *piece, size_t bytes) {
  heard *h = context;
  assert_true(h->n + bytes < sizeof h->text);
  memcpy(h->text + h->n, piece, bytes);
  h->n += bytes;
  return ++h->pieces != h->most;
}

static mlxcel_generate_options greedy(int64_t max_tokens) {
  mlxcel_generate_options o;
  mlxcel_generate_options_init(&o, sizeof o);
  o.max_tokens = max_tokens;
  o.ignore_end = true;
  o.show_special = true;
  return o;
}

static void one_call_gives_the_reference_tokens_and_their_text(void **state) {
  (void)state;
  reference r[ORACLE_CASES];
  reference_load("llama-gguf", r);
  mlxcel_model *m = open_model(LLAMA_GGUF, 1);
  heard h = {.most = -1};
  mlxcel_generate_options o = greedy(r[0].n_greedy);
  mlxcel_result *y;
  char *text;
  o.text = listen;
  o.text_context = &h;
  OK(mlxcel_generate(m, r[0].ids, r[0].n, &o, &y, ERR));
  assert_int_equal(y->n_ids, r[0].n_greedy);
  assert_memory_equal(y->ids, r[0].greedy, (size_t)y->n_ids * 4);
  assert_int_equal(y->finish, MLXCEL_FINISH_LENGTH);
  assert_int_equal(y->n_prompt, r[0].n);
  assert_int_equal(y->n_reused, 0);
  assert_true(y->prompt_ms > 0 && y->first_token_ms >= y->prompt_ms && y->decode_ms > 0);
  assert_null(y->logprobs);
  assert_null(y->top);
  OK(mlxcel_detokenize(m, y->ids, y->n_ids, MLXCEL_SHOW_SPECIAL, &text, NULL, ERR));
  assert_string_equal(y->text, text);
  assert_int_equal(y->text_bytes, h.n);
  assert_memory_equal(y->text, h.text, h.n);
  mlxcel_free(text);
  mlxcel_result_free(y);
  mlxcel_result_free(NULL);
  mlxcel_model_close(m);
}

static void a_model_without_tokenizer_gives_ids_alone(void **state) {
  (void)state;
  reference r[ORACLE_CASES];
  assert_int_equal(reference_load("llama3", r), 2);
  mlxcel_model *m = open_model(LLAMA3, 1);
  mlxcel_sampling how;
  mlxcel_generate_options o = greedy(4);
  mlxcel_result *y;
  mlxcel_sampling_init(&how, sizeof how);
  how.n_logprobs = 2;
  o.sampling = &how;
  OK(mlxcel_generate(m, r[0].ids, r[0].n, &o, &y, ERR));
  assert_memory_equal(y->ids, r[0].greedy, 16);
  assert_string_equal(y->text, "");
  assert_int_equal(y->n_top, 2);
  for (int i = 0; i < 4; i++) {
    assert_int_equal(y->top[2 * i].id, y->ids[i]);
    assert_true(y->top[2 * i].logprob == y->logprobs[i] && y->top[2 * i + 1].logprob <= y->logprobs[i]);
  }
  mlxcel_result_free(y);
  mlxcel_model_close(m);
}

// Takes a stop string out of the reference's own text.
static void stop_strings_end_the_text(void **state) {
  (void)state;
  reference r[ORACLE_CASES];
  reference_load("llama-gguf", r);
  mlxcel_model *m = open_model(LLAMA_GGUF, 1);
  mlxcel_generate_options o = greedy(r[0].n_greedy);
  mlxcel_result *y;
  OK(mlxcel_generate(m, r[0].ids, r[0].n, &o, &y, ERR));
  size_t at = 0;  // of an ASCII character that has not come before
  while (y->text[at] && ((unsigned char)y->text[at] >= 0x80 || memchr(y->text, y->text[at], at))) at++;
  assert_true(at > 0 && y->text[at]);
  char stop[2] = {y->text[at], 0};
  const char *stops[] = {"not in it", stop};
  o.stops = stops;
  o.n_stops = 2;
  mlxcel_generator *g;
  OK(mlxcel_generator_open(m, &o, &g, ERR));
  char before[512] = {0};
  assert_true(at < sizeof before);
  memcpy(before, y->text, at);
  mlxcel_result_free(y);
  stop[0] = '#';  // was copied
  stops[0] = NULL;
  OK(mlxcel_generator_run(g, r[0].ids, r[0].n, &y, ERR));
  assert_string_equal(y->text, before);
  assert_int_equal(y->finish, MLXCEL_FINISH_END);
  mlxcel_result_free(y);
  mlxcel_generator_close(g);
  mlxcel_model_close(m);
}

static void a_generator_runs_only_what_is_new(void **state) {
  (void)state;
  reference r[ORACLE_CASES];
  assert_int_equal(reference_load("llama3", r), 2);
  mlxcel_model *m = open_model(LLAMA3, 1);
  mlxcel_generate_options o = greedy(4);
  mlxcel_generator *g;
  mlxcel_result *y;
  int32_t longer[ORACLE_MOST + 8];
  OK(mlxcel_generator_open(m, &o, &g, ERR));
  OK(mlxcel_generator_run(g, r[0].ids, r[0].n, &y, ERR));
  assert_memory_equal(y->ids, r[0].greedy, 16);
  mlxcel_result_free(y);
  memcpy(longer, r[0].ids, (size_t)r[0].n * 4);
  memcpy(longer + r[0].n, r[0].greedy, 8 * 4);
  OK(mlxcel_generator_run(g, longer, r[0].n + 8, &y, ERR));
  assert_memory_equal(y->ids, r[0].greedy + 8, 16);
  assert_int_equal(y->n_reused, r[0].n + 4);
  mlxcel_result_free(y);
  FAILS(MLXCEL_BUSY, "sessions", mlxcel_generate(m, r[0].ids, 1, NULL, &y, ERR));
  mlxcel_model_close(m);  // the generator keeps it
  OK(mlxcel_generator_run(g, r[1].ids, r[1].n, &y, ERR));
  assert_memory_equal(y->ids, r[1].greedy, 16);
  mlxcel_result_free(y);
  mlxcel_generator_close(g);
  mlxcel_generator_close(NULL);
}

static void a_listener_and_a_flag_can_cancel(void **state) {
  (void)state;
  reference r[ORACLE_CASES];
  reference_load("llama-gguf", r);
  mlxcel_model *m = open_model(LLAMA_GGUF, 1);
  heard h = {.most = 2};
  mlxcel_generate_options o = greedy(r[0].n_greedy);
  mlxcel_result *y;
  o.text = listen;
  o.text_context = &h;
  OK(mlxcel_generate(m, r[0].ids, r[0].n, &o, &y, ERR));
  assert_int_equal(y->finish, MLXCEL_FINISH_CANCELLED);
  assert_int_equal(h.pieces, 2);
  assert_true(y->n_ids > 0 && y->n_ids < r[0].n_greedy);
  mlxcel_result_free(y);
  volatile int cancel = 1;
  o = greedy(-1);
  o.cancel = &cancel;
  OK(mlxcel_generate(m, r[0].ids, r[0].n, &o, &y, ERR));
  assert_int_equal(y->finish, MLXCEL_FINISH_CANCELLED);
  assert_int_equal(y->n_ids, 0);
  mlxcel_result_free(y);
  mlxcel_model_close(m);
}

static void no_tokens_and_no_limit(void **state) {
  (void)state;
  reference r[ORACLE_CASES];
  assert_int_equal(reference_load("llama3", r), 2);
  mlxcel_model *m = open_model(LLAMA3, 1);
  mlxcel_generate_options o = greedy(0);
  mlxcel_result *y;
  OK(mlxcel_generate(m, r[0].ids, r[0].n, &o, &y, ERR));
  assert_int_equal(y->n_ids, 0);
  assert_int_equal(y->finish, MLXCEL_FINISH_LENGTH);
  mlxcel_result_free(y);
  o = greedy(-1);  // until the context is full
  OK(mlxcel_generate(m, r[0].ids, r[0].n, &o, &y, ERR));
  assert_int_equal(y->n_prompt + y->n_ids, mlxcel_model_context(m));
  assert_int_equal(y->finish, MLXCEL_FINISH_LENGTH);
  mlxcel_result_free(y);
  mlxcel_model_close(m);
}

static void bad_requests_are_refused(void **state) {
  (void)state;
  mlxcel_model *m = open_model(LLAMA3, 1);
  mlxcel_result *y = (mlxcel_result *)(void *)1;
  mlxcel_generator *g;
  mlxcel_generate_options o = greedy(4);
  static const int32_t ids[] = {1, 2};
  FAILS(MLXCEL_INVALID, "prompt is empty", mlxcel_generate(m, ids, 0, &o, &y, ERR));
  assert_null(y);
  FAILS(MLXCEL_INVALID, "ids is NULL", mlxcel_generate(m, NULL, 2, &o, &y, ERR));
  FAILS(MLXCEL_INVALID, "model is NULL", mlxcel_generate(NULL, ids, 2, &o, &y, ERR));
  FAILS(MLXCEL_INVALID, "out is NULL", mlxcel_generate(m, ids, 2, &o, NULL, ERR));
  FAILS(MLXCEL_INVALID, "generator is NULL", mlxcel_generator_run(NULL, ids, 2, &y, ERR));
  static const char *const stops[] = {"a", ""}, *const none[] = {NULL};
  o.stops = stops;
  o.n_stops = 2;
  FAILS(MLXCEL_INVALID, "stops[1] is empty", mlxcel_generator_open(m, &o, &g, ERR));
  o.stops = none;
  o.n_stops = 1;
  FAILS(MLXCEL_INVALID, "stops[0] is NULL", mlxcel_generator_open(m, &o, &g, ERR));
  o.stops = NULL;
  FAILS(MLXCEL_INVALID, "stops is NULL, n_stops is 1", mlxcel_generator_open(m, &o, &g, ERR));
  o.n_stops = -1;
  FAILS(MLXCEL_INVALID, "n_stops is -1", mlxcel_generator_open(m, &o, &g, ERR));
  o = greedy(-2);
  FAILS(MLXCEL_INVALID, "max_tokens is -2", mlxcel_generator_open(m, &o, &g, ERR));
  o = greedy(4);
  mlxcel_sampling how;
  mlxcel_sampling_init(&how, sizeof how);
  how.min_p = 2;
  o.sampling = &how;
  FAILS(MLXCEL_INVALID, "min_p", mlxcel_generator_open(m, &o, &g, ERR));
  assert_null(g);
  o.struct_size = 9;
  FAILS(MLXCEL_INVALID, "mlxcel_generate_options.struct_size is 9", mlxcel_generate(m, ids, 2, &o, &y, ERR));
  mlxcel_model_close(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_call_gives_the_reference_tokens_and_their_text),
      cmocka_unit_test(a_model_without_tokenizer_gives_ids_alone),
      cmocka_unit_test(stop_strings_end_the_text),
      cmocka_unit_test(a_generator_runs_only_what_is_new),
      cmocka_unit_test(a_listener_and_a_flag_can_cancel),
      cmocka_unit_test(no_tokens_and_no_limit),
      cmocka_unit_test(bad_requests_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
