// A conversation as the commands read it: {"messages": ..., "tools": ..., "kwargs": ...} as JSON, optionally a NUL and
// then a template. Lists of parts are joined, the variables made, and three templates rendered.
// links: cel_generate
#include <stdlib.h>
#include <string.h>

#include "generate/parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char *const templates[] = {
    "{% for m in messages %}<|{{ m.role }}|>{{ m['content'] | trim }}{% for c in m.tool_calls %}{{ c.function.name }}"
    "{{ c.function.arguments | tojson }}{% endfor %}{% endfor %}{% if tools %}{{ tools | tojson(indent=2) }}{% endif %}"
    "{{ bos_token }}{% if add_generation_prompt %}<|assistant|>{% endif %}",
    "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}{% if p.type == 'text' %}"
    "{{ p.text }}{% endif %}{% endfor %}{% endif %}{{ m.reasoning_content }}{{ m }}{% endfor %}",
};

static void check(bool holds) {
  if (!holds) abort();
}

static void render(const cel_template *t, const cel_json *variables) {
  const cel_template_limits limits = {.steps = 20000, .output_bytes = 1 << 16, .memory_bytes = 1 << 20, .depth = 60};
  cel_buf out = {0};
  cel_err err = {0};
  cel_status s = cel_template_render(t, variables, &limits, &out, &err);
  check(s == CEL_OK ? cel_utf8_valid(out.p ? out.p : "", out.n) && out.n <= 1 << 16 : err.text[0] != 0);
  cel_buf_deinit(&out);
}

static void use(const cel_template *t, const cel_json *chat) {
  const cel_json *messages = cel_json_get(chat, "messages");
  cel_json *special = NULL, *joined = NULL, *renamed = NULL, *variables = NULL;
  cel_err err = {0};
  bool takes = true;
  check(cel_json_parse(CEL_STR("{\"bos_token\": \"<s>\"}"), "special", &special, &err) == CEL_OK);
  if (cel_messages_have_parts(messages)) {
    check(cel_template_takes_parts(t, special, &takes, &err) == CEL_OK);
    if (!takes && cel_messages_join_parts(messages, &joined, &err) != CEL_OK) check(err.text[0] != 0);
    if (joined) messages = joined;
  }
  if (cel_messages_have_developer(messages)) {
    check(cel_template_takes_developer(t, special, &takes, &err) == CEL_OK);
    check(cel_messages_without_developer(messages, &renamed, &err) == CEL_OK && !cel_messages_have_developer(renamed));
    if (!takes) messages = renamed;
  }
  if (cel_chat_variables(messages, cel_json_get(chat, "tools"), special, cel_json_get(chat, "kwargs"), true, &variables, &err) == CEL_OK) {
    render(t, variables);
  } else {
    check(err.text[0] != 0);
  }
  cel_json_decref(special);
  cel_json_decref(joined);
  cel_json_decref(renamed);
  cel_json_decref(variables);
}

static void through(cel_str source, const cel_json *chat) {
  cel_template *t = NULL;
  cel_err err = {0};
  if (cel_template_compile(source, "t", &t, &err) == CEL_OK) use(t, chat);
  cel_template_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  const uint8_t *nul = n ? memchr(data, 0, n) : NULL;
  size_t end = nul ? (size_t)(nul - data) : n;
  cel_json *chat = NULL;
  cel_err err = {0};
  if (cel_json_parse((cel_str){(const char *)data, end}, "chat", &chat, &err) == CEL_OK) {
    for (int i = 0; i < CEL_COUNT(templates); i++) through(cel_str_of(templates[i]), chat);
    if (nul) through((cel_str){(const char *)nul + 1, n - end - 1}, chat);
  } else {
    check(err.text[0] && !strchr(err.text, '\n'));
  }
  cel_json_decref(chat);
  return 0;
}
