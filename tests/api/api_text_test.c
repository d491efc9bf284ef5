// Tokens, streams and chats of the public interface.
#include "support.h"

static void text_goes_to_ids_and_back(void **state) {
  (void)state;
  static const char text[] = "Hello world";
  mlxcel_model *m = open_files(LLAMA_GGUF);
  int32_t *ids;
  int64_t n;
  size_t bytes;
  char *back;
  OK(mlxcel_tokenize(m, text, strlen(text), 0, &ids, &n, ERR));
  static const int32_t want[] = {72, 101, 108, 108, 111, 32, 119, 111, 114, 108, 100};
  assert_int_equal(n, sizeof want / sizeof *want);
  assert_memory_equal(ids, want, sizeof want);
  OK(mlxcel_detokenize(m, ids, n, 0, &back, &bytes, ERR));
  assert_int_equal(bytes, strlen(text));
  assert_string_equal(back, text);
  mlxcel_free(back);
  OK(mlxcel_detokenize(m, NULL, 0, MLXCEL_SHOW_SPECIAL, &back, NULL, ERR));
  assert_string_equal(back, "");
  mlxcel_free(back);
  mlxcel_free(ids);
  OK(mlxcel_tokenize(m, NULL, 0, 0, &ids, &n, ERR));
  assert_int_equal(n, 0);
  mlxcel_free(ids);
  mlxcel_model_close(m);
}

static void what_text_functions_refuse(void **state) {
  (void)state;
  mlxcel_model *m = open_files(LLAMA_GGUF), *mute = open_files(LLAMA3);
  int32_t *ids = (int32_t *)(void *)1;
  int64_t n;
  char *text;
  mlxcel_detokenizer *d;
  FAILS(MLXCEL_UNSUPPORTED, "llama3 has no tokenizer", mlxcel_tokenize(mute, "a", 1, 0, &ids, &n, ERR));
  assert_null(ids);
  FAILS(MLXCEL_UNSUPPORTED, "no tokenizer", mlxcel_detokenize(mute, NULL, 0, 0, &text, NULL, ERR));
  FAILS(MLXCEL_UNSUPPORTED, "no tokenizer", mlxcel_detokenizer_open(mute, 0, &d, ERR));
  FAILS(MLXCEL_UNSUPPORTED, "no tokenizer", mlxcel_chat_tokenize(mute, "[]", NULL, &ids, &n, ERR));
  FAILS(MLXCEL_UNSUPPORTED, "no chat template", mlxcel_chat_render(m, "[]", NULL, &text, NULL, ERR));
  FAILS(MLXCEL_INVALID, "flags are 0x8", mlxcel_tokenize(m, "a", 1, 8, &ids, &n, ERR));
  FAILS(MLXCEL_INVALID, "flags are 0x1", mlxcel_detokenize(m, NULL, 0, MLXCEL_ADD_SPECIAL, &text, NULL, ERR));
  FAILS(MLXCEL_INVALID, "text is NULL", mlxcel_tokenize(m, NULL, 5, 0, &ids, &n, ERR));
  FAILS(MLXCEL_INVALID, "model is NULL", mlxcel_tokenize(NULL, "a", 1, 0, &ids, &n, ERR));
  FAILS(MLXCEL_INVALID, "n is NULL", mlxcel_tokenize(m, "a", 1, 0, &ids, NULL, ERR));
  FAILS(MLXCEL_INVALID, "ids is NULL", mlxcel_tokenize(m, "a", 1, 0, NULL, &n, ERR));
  FAILS(MLXCEL_INVALID, "ids is NULL", mlxcel_detokenize(m, NULL, 2, 0, &text, NULL, ERR));
  FAILS(MLXCEL_INVALID, "-2 token ids", mlxcel_detokenize(m, NULL, -2, 0, &text, NULL, ERR));
  FAILS(MLXCEL_INVALID, "text is NULL", mlxcel_detokenize(m, NULL, 0, 0, NULL, NULL, ERR));
  FAILS(MLXCEL_INVALID, "out is NULL", mlxcel_detokenizer_open(m, 0, NULL, ERR));
  FAILS(MLXCEL_INVALID, "detokenizer is NULL", mlxcel_detokenizer_push(NULL, 1, (const char **)&text, NULL, ERR));
  mlxcel_detokenizer_close(NULL);
  mlxcel_model_close(m);
  mlxcel_model_close(mute);
}

static void single_tokens_are_looked_up(void **state) {
  (void)state;
  mlxcel_model *m = open_files(LLAMA_GGUF), *mute = open_files(LLAMA3);
  size_t bytes = 99;
  assert_memory_equal(mlxcel_token_text(m, 72, &bytes), "H", 1);
  assert_int_equal(bytes, 1);
  assert_int_equal(mlxcel_token_find(m, "H", 1), 72);
  assert_int_equal(mlxcel_token_find(m, "no such token", 13), -1);
  assert_null(mlxcel_token_text(m, -1, &bytes));
  assert_int_equal(bytes, 0);
  assert_null(mlxcel_token_text(m, 1 << 30, NULL));
  assert_null(mlxcel_token_text(mute, 72, NULL));
  assert_null(mlxcel_token_text(NULL, 72, NULL));
  assert_false(mlxcel_token_is_special(m, 72));
  assert_true(mlxcel_token_is_special(m, mlxcel_token_bos(m)));
  assert_false(mlxcel_token_is_special(m, -1));
  assert_int_equal(mlxcel_token_bos(m), 1);
  assert_int_equal(mlxcel_token_bos(mute), 1);
  assert_int_equal(mlxcel_token_bos(NULL), -1);
  int32_t ends[4] = {-7, -7, -7, -7};
  assert_int_equal(mlxcel_token_ends(m, ends, 4), 1);
  assert_int_equal(ends[0], 2);
  assert_int_equal(ends[1], -7);
  assert_int_equal(mlxcel_token_ends(m, NULL, 0), 1);
  assert_int_equal(mlxcel_token_ends(NULL, ends, 4), 0);
  mlxcel_model_close(m);
  mlxcel_model_close(mute);
}

// The tokenizer has one token per byte.
static void a_stream_never_gives_half_a_character(void **state) {
  (void)state;
  mlxcel_model *m = open_files(LLAMA_GGUF);
  mlxcel_detokenizer *d;
  const char *text;
  size_t bytes;
  int32_t *ids;
  int64_t n;
  OK(mlxcel_tokenize(m, "\xe2\x82\xac", 3, 0, &ids, &n, ERR));
  assert_int_equal(n, 3);
  OK(mlxcel_detokenizer_open(m, 0, &d, ERR));
  mlxcel_model_close(m);  // the stream keeps it
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 2; i++) {
      OK(mlxcel_detokenizer_push(d, ids[i], &text, &bytes, ERR));
      assert_int_equal(bytes, 0);
      assert_string_equal(text, "");
    }
    OK(mlxcel_detokenizer_push(d, ids[2], &text, &bytes, ERR));
    assert_string_equal(text, "\xe2\x82\xac");
    OK(mlxcel_detokenizer_push(d, ids[0], &text, NULL, ERR));
    assert_string_equal(text, "");
    OK(mlxcel_detokenizer_finish(d, &text, &bytes, ERR));
    assert_string_equal(text, "\xef\xbf\xbd");
  }
  mlxcel_free(ids);
  mlxcel_detokenizer_close(d);
}

static const char plain[] =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}{% if tools %}[{{ tools | length }} tools]{% endif %}"
    "{% if mood %}({{ mood }}){% endif %}{% if add_generation_prompt %}<assistant>{% endif %}";
static const char messages[] = "[{\"role\":\"user\",\"content\":\"Hi \\u20ac\"}]";

static void chats_are_rendered(void **state) {
  (void)state;
  mlxcel_model *m = open_files(chat_folder(plain));
  char *text;
  size_t bytes;
  assert_true(mlxcel_model_describe(m)->has_chat_template);
  OK(mlxcel_chat_render(m, messages, NULL, &text, &bytes, ERR));
  assert_string_equal(text, "<user>Hi \xe2\x82\xac\n<assistant>");
  assert_int_equal(bytes, strlen(text));
  mlxcel_free(text);

  mlxcel_chat_options o;
  mlxcel_chat_options_init(&o, sizeof o);
  o.no_generation_prompt = true;
  o.tools_json = "[{\"type\":\"function\"}]";
  o.variables_json = "{\"mood\":\"calm\"}";
  OK(mlxcel_chat_render(m, messages, &o, &text, NULL, ERR));
  assert_string_equal(text, "<user>Hi \xe2\x82\xac\n[1 tools](calm)");

  int32_t *ids, *again;
  int64_t n, n_again;
  OK(mlxcel_chat_tokenize(m, messages, &o, &ids, &n, ERR));
  OK(mlxcel_tokenize(m, text, strlen(text), MLXCEL_PARSE_SPECIAL, &again, &n_again, ERR));
  assert_true(n > 0 && n == n_again);
  assert_memory_equal(ids, again, (size_t)n * sizeof *ids);
  mlxcel_free(ids);
  mlxcel_free(again);
  mlxcel_free(text);
  mlxcel_model_close(m);
  folder_remove();
}

static void bad_chats_are_refused(void **state) {
  (void)state;
  mlxcel_model *m = open_files(chat_folder(plain));
  char *text;
  mlxcel_chat_options o;
  FAILS(MLXCEL_MALFORMED, "messages_json", mlxcel_chat_render(m, "[{", NULL, &text, NULL, ERR));
  assert_null(text);
  FAILS(MLXCEL_INVALID, "messages_json must be an array", mlxcel_chat_render(m, "{}", NULL, &text, NULL, ERR));
  FAILS(MLXCEL_INVALID, "messages_json is NULL", mlxcel_chat_render(m, NULL, NULL, &text, NULL, ERR));
  mlxcel_chat_options_init(&o, sizeof o);
  o.tools_json = "[7";
  FAILS(MLXCEL_MALFORMED, "tools_json", mlxcel_chat_render(m, messages, &o, &text, NULL, ERR));
  o.tools_json = "{}";
  FAILS(MLXCEL_INVALID, "tools_json must be an array", mlxcel_chat_render(m, messages, &o, &text, NULL, ERR));
  o.tools_json = NULL;
  o.variables_json = "[]";
  FAILS(MLXCEL_INVALID, "variables_json must be an object", mlxcel_chat_render(m, messages, &o, &text, NULL, ERR));
  o.struct_size = 3;
  FAILS(MLXCEL_INVALID, "mlxcel_chat_options.struct_size is 3", mlxcel_chat_render(m, messages, &o, &text, NULL, ERR));
  mlxcel_model_close(m);
  folder_remove();
}

static void a_template_speaks_for_itself(void **state) {
  (void)state;
  char *text;
  mlxcel_model *m = open_files(chat_folder("{{ raise_exception('roles must alternate') }}"));
  FAILS(MLXCEL_INVALID, "roles must alternate", mlxcel_chat_render(m, messages, NULL, &text, NULL, ERR));
  mlxcel_model_close(m);
  folder_remove();
  m = open_files(chat_folder("\n{% if %}"));
  assert_true(mlxcel_model_describe(m)->has_chat_template);
  FAILS(MLXCEL_MALFORMED, ":2:", mlxcel_chat_render(m, messages, NULL, &text, NULL, ERR));
  mlxcel_model_close(m);
  folder_remove();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(text_goes_to_ids_and_back),    cmocka_unit_test(what_text_functions_refuse),
      cmocka_unit_test(single_tokens_are_looked_up),  cmocka_unit_test(a_stream_never_gives_half_a_character),
      cmocka_unit_test(chats_are_rendered),           cmocka_unit_test(bad_chats_are_refused),
      cmocka_unit_test(a_template_speaks_for_itself),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
