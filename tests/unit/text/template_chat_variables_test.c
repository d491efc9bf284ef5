// The variables of a chat template, as transformers passes them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "text/template/template.h"

static cel_json *parse(const char *text) {
  cel_json *j = NULL;
  cel_err err;
  if (text && cel_json_parse(cel_str_of(text), "test", &j, &err) != CEL_OK) fail_msg("%s", err.text);
  return j;
}

static cel_status build(const char *messages, const char *tools, const char *special, const char *kwargs, cel_json **out, cel_err *err) {
  cel_json *m = parse(messages), *t = parse(tools), *s = parse(special), *k = parse(kwargs);
  cel_status status = cel_chat_variables(m, t, s, k, true, out, err);
  cel_json_decref(m);
  cel_json_decref(t);
  cel_json_decref(s);
  cel_json_decref(k);
  return status;
}

static void gives(const char *messages, const char *tools, const char *special, const char *kwargs, const char *want) {
  cel_json *v;
  cel_err err;
  if (build(messages, tools, special, kwargs, &v, &err) != CEL_OK) fail_msg("%s", err.text);
  cel_buf text = {0};
  cel_json_write(&text, v, (cel_json_style){0});
  assert_string_equal(text.p, want);
  cel_buf_deinit(&text);
  cel_json_decref(v);
}

static void absent_things_are_none_and_null_keys_are_dropped(void **state) {
  (void)state;
  gives("[{\"role\":\"user\",\"content\":null,\"name\":null}]", NULL, NULL, NULL,
        "{\"documents\":null,\"messages\":[{\"role\":\"user\"}],\"tools\":null,\"add_generation_prompt\":true}");
  gives("[{\"role\":\"user\",\"x\":{\"y\":null}}]", "null", "null", "null",
        "{\"documents\":null,\"messages\":[{\"role\":\"user\",\"x\":{\"y\":null}}],\"tools\":null,\"add_generation_prompt\":true}");
}

static void kwargs_win_over_special_tokens(void **state) {
  (void)state;
  gives("[{\"role\":\"a\"}]", "[{\"n\":1}]", "{\"bos_token\":\"<s>\",\"eos_token\":\"E\"}", "{\"eos_token\":\"K\",\"documents\":[],\"z\":1}",
        "{\"documents\":[],\"bos_token\":\"<s>\",\"eos_token\":\"K\",\"z\":1,\"messages\":[{\"role\":\"a\"}],\"tools\":[{\"n\":1}],"
        "\"add_generation_prompt\":true}");
}

static void reasoning_goes_by_all_its_names(void **state) {
  (void)state;
  gives("[{\"role\":\"a\",\"reasoning\":\"r\",\"content\":\"c\"},{\"role\":\"b\",\"thinking\":\"t\",\"reasoning_content\":null}]", NULL, NULL, NULL,
        "{\"documents\":null,\"messages\":[{\"thinking\":\"r\",\"role\":\"a\",\"reasoning\":\"r\",\"content\":\"c\",\"reasoning_content\":\"r\"},"
        "{\"thinking\":\"t\",\"role\":\"b\",\"reasoning_content\":\"t\"}],\"tools\":null,\"add_generation_prompt\":true}");
}

static void the_callers_messages_stay_as_they_are(void **state) {
  (void)state;
  cel_json *m = parse("[{\"role\":\"a\",\"content\":null}]"), *v;
  cel_err err;
  assert_int_equal(cel_chat_variables(m, NULL, NULL, NULL, false, &v, &err), CEL_OK);
  assert_true(cel_json_is_null(cel_json_object_get(cel_json_array_get(m, 0), "content")));
  assert_true(cel_json_is_false(cel_json_object_get(v, "add_generation_prompt")));
  cel_json_decref(v);
  cel_json_decref(m);
}

static void wrong_kinds_are_refused_by_name(void **state) {
  (void)state;
  static const struct {
    const char *messages, *tools, *special, *kwargs, *word;
  } bad[] = {
      {"[]", NULL, NULL, NULL, "messages"},
      {"{}", NULL, NULL, NULL, "messages"},
      {"[{\"role\":\"a\"},5]", NULL, NULL, NULL, "messages[1]"},
      {"[{}]", "{}", NULL, NULL, "tools"},
      {"[{}]", "[1]", NULL, NULL, "tools[0]"},
      {"[{}]", NULL, "[]", NULL, "special"},
      {"[{}]", NULL, NULL, "[]", "arguments"},
      {"[{}]", NULL, NULL, "{\"messages\":1}", "\"messages\""},
  };
  for (int i = 0; i < CEL_COUNT(bad); i++) {
    cel_json *v;
    cel_err err;
    assert_int_equal(build(bad[i].messages, bad[i].tools, bad[i].special, bad[i].kwargs, &v, &err), CEL_INVALID);
    if (!strstr(err.text, bad[i].word)) fail_msg("%s", err.text);
    assert_null(v);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(absent_things_are_none_and_null_keys_are_dropped),
      cmocka_unit_test(kwargs_win_over_special_tokens),
      cmocka_unit_test(reasoning_goes_by_all_its_names),
      cmocka_unit_test(the_callers_messages_stay_as_they_are),
      cmocka_unit_test(wrong_kinds_are_refused_by_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
