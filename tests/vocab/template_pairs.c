// Chat templates against what jinja2 made of them: one JSON file of
//   {"templates": {name: text}, "special": {...}, "chats": {name: arguments}, "expect": {template: {chat: text or null}}}
// where null says that jinja2 raises, and then we must fail as well. Prints a line for each template.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/template/template.h"

static cel_json *variables_of(const cel_json *chat, const cel_json *special) {
  cel_json *v;
  cel_err err = {0};
  bool prompt = cel_json_bool(chat, "prompt", true);
  if (cel_chat_variables(cel_json_get(chat, "messages"), cel_json_get(chat, "tools"), special,
                         cel_json_get(chat, "kwargs"), prompt, &v, &err) == CEL_OK) {
    return v;
  }
  fprintf(stderr, "template_pairs: %s\n", err.text);
  exit(2);
}

static void show(const char *name, const char *chat, const char *want, const char *got) {
  size_t at = 0;
  while (want && got && want[at] && want[at] == got[at]) at++;
  size_t from = at > 60 ? at - 60 : 0;
  printf("# %s, %s: differs at byte %zu\n#   right is ...%.160s\n#   we give  ...%.160s\n", name, chat, at,
         want ? want + from : "(an error)", got ? got + from : "(an error)");
}

static bool same(const char *name, const char *chat, const cel_template *t, const cel_json *variables,
                 const cel_json *want) {
  cel_buf out = {0};
  cel_err err = {0};
  bool rendered = t && cel_template_render(t, variables, NULL, &out, &err) == CEL_OK;
  bool text = cel_json_is_string(want);
  cel_str right = {text ? cel_json_string_value(want) : "", cel_json_string_length(want)};
  bool ok = rendered == text && (!text || cel_str_eq(cel_buf_str(&out), right));
  if (!ok) {
    show(name, chat, text ? right.p : NULL, rendered ? cel_buf_str(&out).p : NULL);
    if (!rendered) printf("#   %s\n", err.text);
  }
  cel_buf_deinit(&out);
  return ok;
}

static bool check(const char *name, const cel_json *source, const cel_json *all, const cel_json *expect) {
  cel_template *t = NULL;
  cel_err err = {0};
  cel_str text = {cel_json_string_value(source), cel_json_string_length(source)}, chat;
  if (!text.p || cel_template_compile(text, name, &t, &err) != CEL_OK) printf("# %s\n", err.text);
  int wrong = 0, n = 0, errors = 0;
  size_t k;
  cel_json *want;
  cel_json_object_foreach(expect, k, chat, want) {
    cel_json *v = variables_of(cel_json_get(cel_json_get(all, "chats"), chat.p), cel_json_get(all, "special"));
    wrong += !same(name, chat.p, t, v, want);
    errors += !cel_json_is_string(want);
    n++;
    cel_json_decref(v);
  }
  cel_template_free(t);
  bool ok = wrong == 0 && n >= 12;
  printf("%s - %s: %d conversations, %d of them raise\n", ok ? "ok" : "not ok", name, n, errors);
  return ok;
}

int main(int argc, char **argv) {
  cel_json *all;
  cel_err err = {0};
  if (argc != 2 || cel_json_load(argv[1], 1 << 28, &all, &err) != CEL_OK) {
    fprintf(stderr, "template_pairs: %s\n", argc == 2 ? err.text : "one file of expectations is needed");
    return 2;
  }
  const cel_json *expect = cel_json_get(all, "expect");
  size_t k;
  cel_str name;
  cel_json *row;
  int wrong = 0, n = 0;
  cel_json_object_foreach(expect, k, name, row) {
    wrong += !check(name.p, cel_json_get(cel_json_get(all, "templates"), name.p), all, row);
    n++;
  }
  cel_json_decref(all);
  return wrong || n == 0;
}
