#include "generate/parts.h"

#include <string.h>

bool cel_messages_have_parts(const cel_json *messages) {
  size_t i;
  json_t *m;
  json_array_foreach(messages, i, m) {
    if (json_is_array(json_object_get(m, "content"))) return true;
  }
  return false;
}

// Asked by showing it one: the text must come out, and nothing of the list around it.
bool cel_template_takes_parts(const cel_template *t, const cel_json *special_tokens) {
  static const char probe[] = "mlxcel-probe";
  cel_json *messages = json_pack("[{s:s,s:[{s:s,s:s}]}]", "role", "user", "content", "type", "text", "text", probe);
  cel_json *variables = NULL;
  cel_buf out = {0};
  cel_status s = messages ? cel_chat_variables(messages, NULL, special_tokens, NULL, true, &variables, NULL) : CEL_OOM;
  if (s == CEL_OK) s = cel_template_render(t, variables, NULL, &out, NULL);
  bool takes = s == CEL_OK && out.p && strstr(out.p, probe) && !strstr(out.p, "'type'") && !strstr(out.p, "\"type\"");
  cel_buf_deinit(&out);
  json_decref(variables);
  json_decref(messages);
  return takes;
}

static cel_status join(const cel_json *parts, size_t message, cel_buf *out, cel_err *err) {
  size_t k;
  json_t *part;
  json_array_foreach(parts, k, part) {
    const cel_json *text = json_object_get(part, "text");
    const char *type = cel_json_string(part, "type", "text");
    if (!json_is_string(text) || strcmp(type, "text") != 0) {
      return cel_fail(err, CEL_UNSUPPORTED, "messages[%zu].content[%zu] is of type %.40s: this model reads text only", message, k,
                      json_is_object(part) ? type : "no object");
    }
    cel_buf_add(out, json_string_value(text), json_string_length(text));
  }
  return out->failed ? cel_fail_oom(err, "the messages") : CEL_OK;
}

static cel_status join_message(cel_json *m, size_t i, cel_err *err) {
  const cel_json *content = json_object_get(m, "content");
  if (!json_is_array(content)) return CEL_OK;
  cel_buf text = {0};
  cel_status s = join(content, i, &text, err);
  if (s == CEL_OK && json_object_set_new(m, "content", json_stringn(text.p ? text.p : "", text.n)) != 0) {
    s = cel_fail_oom(err, "the messages");
  }
  cel_buf_deinit(&text);
  return s;
}

cel_status cel_messages_join_parts(const cel_json *messages, cel_json **out, cel_err *err) {
  *out = json_deep_copy(messages);
  cel_status s = *out ? CEL_OK : cel_fail_oom(err, "the messages");
  size_t i;
  json_t *m;
  json_array_foreach(*out, i, m) {
    if (s == CEL_OK) s = join_message(m, i, err);
  }
  if (s == CEL_OK) return s;
  json_decref(*out);
  *out = NULL;
  return s;
}
