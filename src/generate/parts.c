#include "generate/parts.h"

#include <string.h>

static const char probe[] = "mlxcel-probe";

bool cel_messages_have_parts(const cel_json *messages) {
  size_t i;
  cel_json *m;
  cel_json_array_foreach(messages, i, m) {
    if (cel_json_is_array(cel_json_object_get(m, "content"))) return true;
  }
  return false;
}

static bool is_developer(const cel_json *m) { return !strcmp(cel_json_string(m, "role", ""), "developer"); }

bool cel_messages_have_developer(const cel_json *messages) {
  size_t i;
  cel_json *m;
  cel_json_array_foreach(messages, i, m) {
    if (is_developer(m)) return true;
  }
  return false;
}

// What the template makes of the messages, which are taken over; nothing when it refuses them.
static cel_status show(const cel_template *t, const cel_json *special_tokens, cel_json *messages, cel_buf *out, cel_err *err) {
  cel_json *variables = NULL;
  cel_err refusal = {0};
  cel_status s = messages ? cel_chat_variables(messages, NULL, special_tokens, NULL, true, &variables, &refusal) : CEL_OOM;
  if (s == CEL_OK) s = cel_template_render(t, variables, NULL, out, &refusal);
  if (s == CEL_OK && out->failed) s = CEL_OOM;
  cel_json_decref(variables);
  cel_json_decref(messages);
  if (s == CEL_OOM) return cel_fail_oom(err, "the messages");
  if (s != CEL_OK) cel_buf_clear(out);
  return CEL_OK;
}

static bool holds(const cel_buf *b, const char *text) { return b->n && strstr(b->p, text); }

// The text must come out, and nothing of the list around it.
cel_status cel_template_takes_parts(const cel_template *t, const cel_json *special_tokens, bool *takes, cel_err *err) {
  cel_buf out = {0};
  cel_json *messages = cel_json_pack("[{s:s,s:[{s:s,s:s}]}]", "role", "user", "content", "type", "text", "text", probe);
  cel_status s = show(t, special_tokens, messages, &out, err);
  *takes = s == CEL_OK && holds(&out, probe) && !holds(&out, "'type'") && !holds(&out, "\"type\"");
  cel_buf_deinit(&out);
  return s;
}

cel_status cel_template_takes_developer(const cel_template *t, const cel_json *special_tokens, bool *takes, cel_err *err) {
  cel_buf out = {0};
  cel_json *messages = cel_json_pack("[{s:s,s:s},{s:s,s:s}]", "role", "developer", "content", probe, "role", "user", "content", "x");
  cel_status s = show(t, special_tokens, messages, &out, err);
  *takes = s == CEL_OK && holds(&out, probe);
  cel_buf_deinit(&out);
  return s;
}

static cel_status join(const cel_json *parts, size_t message, cel_buf *out, cel_err *err) {
  size_t k;
  cel_json *part;
  cel_json_array_foreach(parts, k, part) {
    const cel_json *text = cel_json_object_get(part, "text");
    const char *type = cel_json_string(part, "type", "text");
    if (!cel_json_is_string(text) || strcmp(type, "text") != 0) {
      return cel_fail(err, CEL_UNSUPPORTED, "messages[%zu].content[%zu] is of type %.40s: this model reads text only", message, k,
                      cel_json_is_object(part) ? type : "no object");
    }
    cel_buf_add(out, cel_json_string_value(text), cel_json_string_length(text));
  }
  return out->failed ? cel_fail_oom(err, "the messages") : CEL_OK;
}

static cel_status join_message(cel_json *m, size_t i, cel_err *err) {
  const cel_json *content = cel_json_object_get(m, "content");
  if (!cel_json_is_array(content)) return CEL_OK;
  cel_buf text = {0};
  cel_status s = join(content, i, &text, err);
  if (s == CEL_OK && cel_json_object_set_new(m, "content", cel_json_string_new((cel_str){text.p ? text.p : "", text.n})) != 0) {
    s = cel_fail_oom(err, "the messages");
  }
  cel_buf_deinit(&text);
  return s;
}

// A copy of the messages, each changed by `change`.
static cel_status changed(const cel_json *messages, cel_status change(cel_json *m, size_t i, cel_err *err), cel_json **out,
                          cel_err *err) {
  *out = cel_json_deep_copy(messages);
  cel_status s = *out ? CEL_OK : cel_fail_oom(err, "the messages");
  size_t i;
  cel_json *m;
  cel_json_array_foreach(*out, i, m) {
    if (s == CEL_OK) s = change(m, i, err);
  }
  if (s == CEL_OK) return s;
  cel_json_decref(*out);
  *out = NULL;
  return s;
}

cel_status cel_messages_join_parts(const cel_json *messages, cel_json **out, cel_err *err) {
  return changed(messages, join_message, out, err);
}

static cel_status make_system(cel_json *m, size_t i, cel_err *err) {
  (void)i;
  if (!is_developer(m)) return CEL_OK;
  return cel_json_object_set_new(m, "role", cel_json_string_new(CEL_STR("system"))) == 0 ? CEL_OK : cel_fail_oom(err, "the messages");
}

cel_status cel_messages_without_developer(const cel_json *messages, cel_json **out, cel_err *err) {
  return changed(messages, make_system, out, err);
}
