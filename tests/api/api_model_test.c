// Opening and describing models; options of older and newer programs; errors.
#include "support.h"

#include <stdio.h>

// Structs a program holds: these sizes are what it was compiled with.
_Static_assert(sizeof(void *) != 8 || sizeof(mlxcel_error) == 1028, "frozen");
_Static_assert(sizeof(void *) != 8 || sizeof(mlxcel_event) == 56, "frozen");
_Static_assert(sizeof(mlxcel_logprob) == 8 && sizeof(mlxcel_logit_bias) == 8, "frozen");
_Static_assert(sizeof(void *) != 8 || sizeof(mlxcel_model_options) >= 64, "only grows");
_Static_assert(sizeof(void *) != 8 || sizeof(mlxcel_sampling) >= 112, "only grows");

static void header_and_library_have_one_version(void **state) {
  (void)state;
  char text[32];
  snprintf(text, sizeof text, "%d.%d.%d", MLXCEL_VERSION_MAJOR, MLXCEL_VERSION_MINOR, MLXCEL_VERSION_PATCH);
  assert_string_equal(mlxcel_version(), text);
}

static void every_status_has_a_word_and_others_are_told_apart(void **state) {
  (void)state;
  for (int i = MLXCEL_OK; i <= MLXCEL_ENGINE; i++) {
    for (int k = MLXCEL_OK; k < i; k++) {
      assert_string_not_equal(mlxcel_status_word((mlxcel_status)i), mlxcel_status_word((mlxcel_status)k));
    }
  }
  assert_string_equal(mlxcel_status_word((mlxcel_status)77), "unknown status");
}

static void a_missing_model_is_not_found_by_name(void **state) {
  (void)state;
  mlxcel_model *m = (mlxcel_model *)(void *)1;
  FAILS(MLXCEL_NOT_FOUND, "/no/such/model", mlxcel_model_open("/no/such/model", NULL, &m, ERR));
  assert_null(m);
  assert_int_equal(mlxcel_model_open("/no/such/model", NULL, &m, NULL), MLXCEL_NOT_FOUND);
}

static void files_that_are_no_models_are_refused(void **state) {
  (void)state;
  mlxcel_model *m;
  FAILS(MLXCEL_MALFORMED, "oracle.json", mlxcel_model_open(DATA("llama3/oracle.json"), NULL, &m, ERR));
  assert_null(m);
}

static void nulls_are_refused(void **state) {
  (void)state;
  mlxcel_model *m;
  FAILS(MLXCEL_INVALID, "name is NULL", mlxcel_model_open(NULL, NULL, &m, ERR));
  FAILS(MLXCEL_INVALID, "out is NULL", mlxcel_model_open(LLAMA3, NULL, NULL, ERR));
  mlxcel_model_close(NULL);
  mlxcel_free(NULL);
  assert_null(mlxcel_model_describe(NULL));
  assert_int_equal(mlxcel_model_vocab(NULL), 0);
  assert_int_equal(mlxcel_model_context(NULL), 0);
  assert_int_equal(mlxcel_model_memory(NULL, MLXCEL_MEMORY_KV), -1);
}

static void success_leaves_the_error_alone(void **state) {
  (void)state;
  mlxcel_error e = {.status = MLXCEL_IO, .text = "before"};
  mlxcel_model_options o;
  mlxcel_model *m;
  mlxcel_model_options_init(&o, sizeof o);
  o.files_only = true;
  assert_int_equal(mlxcel_model_open(LLAMA3, &o, &m, &e), MLXCEL_OK);
  assert_int_equal(e.status, MLXCEL_IO);
  assert_string_equal(e.text, "before");
  mlxcel_model_close(m);
}

static void options_that_were_not_initialized_are_refused(void **state) {
  (void)state;
  mlxcel_model *m;
  mlxcel_model_options o = {.max_sessions = 1};
  FAILS(MLXCEL_INVALID, "struct_size is 0", mlxcel_model_open(LLAMA3, &o, &m, ERR));
  mlxcel_model_options_init(&o, sizeof o);
  o.struct_size = (size_t)-1;
  FAILS(MLXCEL_INVALID, "mlxcel_model_options", mlxcel_model_open(LLAMA3, &o, &m, ERR));
}

// A later version's struct has fields behind ours.
typedef struct newer {
  mlxcel_model_options known;
  int64_t added;
} newer;

static void options_of_a_newer_program_work_until_they_ask_for_something_new(void **state) {
  (void)state;
  mlxcel_model *m;
  newer n;
  memset(&n, 0xff, sizeof n);
  mlxcel_model_options_init(&n.known, sizeof n);
  assert_int_equal(n.known.struct_size, sizeof n);
  assert_int_equal(n.known.max_sessions, 1);
  assert_int_equal(n.added, 0);
  n.known.files_only = true;
  OK(mlxcel_model_open(LLAMA3, &n.known, &m, ERR));
  mlxcel_model_close(m);
  n.added = 1;
  FAILS(MLXCEL_UNSUPPORTED, "does not know", mlxcel_model_open(LLAMA3, &n.known, &m, ERR));
}

// An older program's struct is smaller: init must not write behind it.
static void init_stays_inside_the_callers_struct(void **state) {
  (void)state;
  struct {
    size_t struct_size;
    const char *backend;
    unsigned char behind[sizeof(mlxcel_model_options)];
  } old;
  memset(&old, 0xa5, sizeof old);
  mlxcel_model_options_init((mlxcel_model_options *)(void *)&old, offsetof(mlxcel_model_options, models_dir));
  assert_int_equal(old.struct_size, offsetof(mlxcel_model_options, models_dir));
  assert_null(old.backend);
  for (size_t i = 0; i < sizeof old.behind; i++) assert_int_equal(old.behind[i], 0xa5);
  mlxcel_model_options_init(NULL, 8);
  mlxcel_model_options_init((mlxcel_model_options *)(void *)&old, 1);
  assert_int_equal(old.struct_size, offsetof(mlxcel_model_options, models_dir));
}

static void numbers_out_of_range_are_named_with_their_range(void **state) {
  (void)state;
  mlxcel_model *m;
  mlxcel_model_options o, good;
  mlxcel_model_options_init(&good, sizeof good);
  o = good;
  o.threads = 257;
  FAILS(MLXCEL_INVALID, "threads is 257, allowed is 0 to 256", mlxcel_model_open(LLAMA3, &o, &m, ERR));
  o = good;
  o.max_sessions = -1;
  FAILS(MLXCEL_INVALID, "max_sessions is -1", mlxcel_model_open(LLAMA3, &o, &m, ERR));
  o = good;
  o.context = -5;
  FAILS(MLXCEL_INVALID, "context is -5", mlxcel_model_open(LLAMA3, &o, &m, ERR));
  o = good;
  o.prefill_chunk = 65537;
  FAILS(MLXCEL_INVALID, "prefill_chunk is 65537", mlxcel_model_open(LLAMA3, &o, &m, ERR));
  o = good;
  o.backend = "abacus";
  FAILS(MLXCEL_INVALID, "abacus", mlxcel_model_open(LLAMA3, &o, &m, ERR));
}

static void files_alone_are_described(void **state) {
  (void)state;
  mlxcel_model *m = open_files(LLAMA_GGUF);
  const mlxcel_model_info *i = mlxcel_model_describe(m);
  assert_string_equal(i->path, LLAMA_GGUF);
  assert_string_equal(i->family, "llama");
  assert_string_equal(i->model_type, "llama");
  assert_string_equal(i->format, "gguf");
  assert_string_equal(i->backend, "");
  assert_int_equal(i->vocab, 256);
  assert_int_equal(i->context, 256);
  assert_int_equal(i->layers, 2);
  assert_int_equal(i->hidden, 64);
  assert_true(i->has_tokenizer && !i->has_chat_template && i->file_bytes > 0);
  assert_int_equal(mlxcel_model_memory(m, MLXCEL_MEMORY_WEIGHTS), 0);
  mlxcel_session *s;
  FAILS(MLXCEL_INVALID, "files_only", mlxcel_session_open(m, NULL, &s, ERR));
  assert_null(s);
  mlxcel_generator *g;
  FAILS(MLXCEL_INVALID, "files_only", mlxcel_generator_open(m, NULL, &g, ERR));
  float f;
  FAILS(MLXCEL_INVALID, "files_only", mlxcel_logits(m, (const int32_t[]){1}, 1, &f, 1, ERR));
  mlxcel_model_close(m);
}

#ifdef CEL_API_RUNS
static bool backend_is_built(const char *name) {
  for (int32_t i = 0; mlxcel_backend_name(i); i++) {
    if (!strcmp(mlxcel_backend_name(i), name)) return true;
  }
  return false;
}

static void a_loaded_model_is_described(void **state) {
  (void)state;
  mlxcel_model *m = open_model(LLAMA3, 3);
  const mlxcel_model_info *i = mlxcel_model_describe(m);
  assert_string_equal(i->format, "safetensors");
  assert_true(backend_is_built(i->backend));
  assert_string_equal(i->precision, "f32");
  assert_true(*i->engine && *i->device && *i->isa);
  assert_int_equal(i->threads, strcmp(i->engine, "native") ? 0 : 2);  // others have threads of their own
  assert_int_equal(i->max_sessions, 3);
  assert_false(i->has_tokenizer);
  assert_true(mlxcel_model_memory(m, MLXCEL_MEMORY_WEIGHTS) > 0);
  assert_int_equal(mlxcel_model_memory(m, MLXCEL_MEMORY_KV), 0);
  assert_int_equal(mlxcel_model_memory(m, (mlxcel_memory)9), -1);
  mlxcel_model_close(m);
}

static void the_context_is_the_callers_choice(void **state) {
  (void)state;
  mlxcel_model *m;
  mlxcel_model_options o;
  mlxcel_model_options_init(&o, sizeof o);
  o.context = 32;
  OK(mlxcel_model_open(LLAMA3, &o, &m, ERR));
  assert_int_equal(mlxcel_model_context(m), 32);
  assert_int_equal(mlxcel_model_describe(m)->max_sessions, 1);
  mlxcel_model_close(m);
}
#else
static void without_an_engine_only_files_open(void **state) {
  (void)state;
  mlxcel_model *m;
  FAILS(MLXCEL_UNSUPPORTED, "", mlxcel_model_open(LLAMA3, NULL, &m, ERR));
  assert_null(m);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(header_and_library_have_one_version),
      cmocka_unit_test(every_status_has_a_word_and_others_are_told_apart),
      cmocka_unit_test(a_missing_model_is_not_found_by_name),
      cmocka_unit_test(files_that_are_no_models_are_refused),
      cmocka_unit_test(nulls_are_refused),
      cmocka_unit_test(success_leaves_the_error_alone),
      cmocka_unit_test(options_that_were_not_initialized_are_refused),
      cmocka_unit_test(options_of_a_newer_program_work_until_they_ask_for_something_new),
      cmocka_unit_test(init_stays_inside_the_callers_struct),
      cmocka_unit_test(numbers_out_of_range_are_named_with_their_range),
      cmocka_unit_test(files_alone_are_described),
#ifdef CEL_API_RUNS
      cmocka_unit_test(a_loaded_model_is_described),
      cmocka_unit_test(the_context_is_the_callers_choice),
#else
      cmocka_unit_test(without_an_engine_only_files_open),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
