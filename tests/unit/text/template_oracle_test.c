// What jinja2 makes of our templates (tests/oracle/make_template_vectors.py) against what we make of them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "text/template/template.h"

static cel_json *load(const char *name) {
  cel_json *j;
  cel_err err;
  char path[512];
  snprintf(path, sizeof path, "%s/data/template/%s", CEL_TEST_DATA, name);
  if (cel_json_load(path, 1 << 20, &j, &err) != CEL_OK) fail_msg("%s", err.text);
  return j;
}

// Compares one rendering; `want` NULL: it must fail. Returns whether it is as wanted.
static bool same(const char *label, const cel_json *source, const cel_json *variables, const cel_json *want) {
  cel_template *t = NULL;
  cel_buf out = {0};
  cel_err err = {0};
  cel_str text = {cel_json_string_value(source), cel_json_string_length(source)};
  cel_status s = cel_template_compile(text, "t", &t, &err);
  if (s == CEL_OK) s = cel_template_render(t, variables, NULL, &out, &err);
  cel_template_free(t);
  bool ok = cel_json_is_string(want) ? s == CEL_OK && cel_str_eq(cel_buf_str(&out), (cel_str){cel_json_string_value(want), cel_json_string_length(want)})
                                 : s != CEL_OK && err.text[0];
  if (!ok) {
    print_error("%s\n  template: %.300s\n  want: %s\n  got:  %s\n", label, text.p, cel_json_is_string(want) ? cel_json_string_value(want) : "(an error)",
                s == CEL_OK ? out.p ? out.p : "" : err.text);
  }
  cel_buf_deinit(&out);
  return ok;
}

static void every_feature_renders_as_in_jinja2(void **state) {
  (void)state;
  cel_json *all = load("features.json");
  const cel_json *cases = cel_json_object_get(all, "cases");
  int wrong = 0, n = (int)cel_json_array_size(cases);
  assert_true(n > 200);
  for (int i = 0; i < n; i++) {
    const cel_json *c = cel_json_array_get(cases, (size_t)i);
    wrong += !same("features.json", cel_json_object_get(c, "t"), cel_json_object_get(all, "v"), cel_json_object_get(c, "o"));
  }
  assert_int_equal(wrong, 0);
  cel_json_decref(all);
}

static cel_json *variables_of(const cel_json *chat, const cel_json *special) {
  cel_json *v;
  cel_err err;
  const cel_json *prompt = cel_json_object_get(chat, "prompt");
  if (cel_chat_variables(cel_json_object_get(chat, "messages"), cel_json_object_get(chat, "tools"), special, cel_json_object_get(chat, "kwargs"),
                         !prompt || cel_json_is_true(prompt), &v, &err) != CEL_OK) {
    fail_msg("%s", err.text);
  }
  return v;
}

static void every_chat_renders_as_with_transformers(void **state) {
  (void)state;
  cel_json *all = load("chats.json");
  cel_json *expect = cel_json_object_get(all, "expect");
  cel_str template_name, chat_name;
  size_t t, c;
  cel_json *row, *want;
  int wrong = 0, n = 0;
  cel_json_object_foreach(expect, t, template_name, row) {
    cel_json_object_foreach(row, c, chat_name, want) {
      cel_json *v = variables_of(cel_json_object_get(cel_json_object_get(all, "chats"), chat_name.p), cel_json_object_get(all, "special"));
      char label[128];
      snprintf(label, sizeof label, "%s, %s", template_name.p, chat_name.p);
      wrong += !same(label, cel_json_object_get(cel_json_object_get(all, "templates"), template_name.p), v, want);
      cel_json_decref(v);
      n++;
    }
  }
  assert_true(n >= 60);
  assert_int_equal(wrong, 0);
  cel_json_decref(all);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_feature_renders_as_in_jinja2),
      cmocka_unit_test(every_chat_renders_as_with_transformers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
