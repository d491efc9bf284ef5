#include "cli/prompt.h"

#include <stdlib.h>

#include "generate/parts.h"

static cel_status read_kwargs(const cli_options *o, cel_json **out, cel_err *err) {
  *out = NULL;
  if (!o->kwargs) return CEL_OK;
  CEL_TRY(cel_json_parse(cel_str_of(o->kwargs), "--kwargs", out, err));
  if (cel_json_is_object(*out)) return CEL_OK;
  cel_json_decref(*out);
  *out = NULL;
  return cel_fail(err, CEL_INVALID, "--kwargs takes a JSON object");
}

int cli_prompt_check(const cli_options *o) {
  const char *raw = o->ids ? "--ids" : o->no_chat_template ? "--no-chat-template" : NULL;
  const char *chat = o->system ? "--system" : o->tools ? "--tools" : o->kwargs ? "--kwargs" : NULL;
  if (raw && chat) return cli_usage("%s is for a chat template; %s uses none", chat, raw);
  if (o->messages && o->no_chat_template) return cli_usage("--messages needs the chat template: leave out --no-chat-template");
  if (o->messages && o->system) return cli_usage("put the system message into the file of --messages, or use -p");
  if (o->max_tokens < -1) return cli_usage("-n takes a number of tokens, or -1 for no limit but the context");
  for (int i = 0; i < o->stop.n; i++) {
    if (!*o->stop.items[i]) return cli_usage("--stop takes a text that is not empty");
  }
  return EXIT_OK;
}

// "User: ...\nAssistant:" for models that were never taught a layout.
static cel_status plain_message(const cel_json *m, size_t i, cel_buf *out, cel_err *err) {
  const char *role = cel_json_string(m, "role", NULL);
  const cel_json *content = cel_json_get(m, "content");
  if (!role) return cel_fail(err, CEL_INVALID, "messages[%zu] has no role", i);
  if (!cel_json_is_string(content)) return cel_fail(err, CEL_INVALID, "messages[%zu].content is no text", i);
  cel_buf_addz(out, role[0] == 'a' ? "Assistant: " : role[0] == 's' || role[0] == 'd' ? "System: " : "User: ");
  cel_buf_add(out, cel_json_string_value(content), cel_json_string_length(content));
  cel_buf_addc(out, '\n');
  return CEL_OK;
}

static cel_status plain_layout(const cel_json *messages, cel_buf *out, cel_err *err) {
  if (!cel_json_is_array(messages) || !cel_json_array_size(messages)) {
    return cel_fail(err, CEL_INVALID, "messages must be a list with at least one message");
  }
  cel_json *joined;
  CEL_TRY(cel_messages_join_parts(messages, &joined, err));
  cel_status s = CEL_OK;
  size_t i;
  cel_json *m;
  cel_json_array_foreach(joined, i, m) {
    if (s == CEL_OK) s = plain_message(m, i, out, err);
  }
  cel_json_decref(joined);
  cel_buf_addz(out, "Assistant:");
  return s;
}

cel_status cli_prompt_chat(const cli_options *o, const cel_lm *lm, const cel_json *messages, cli_prompt *out, cel_err *err) {
  cel_buf text = {0};
  cel_json *kwargs = NULL, *tools = NULL;
  bool rendered = lm->chat || lm->chat_err.status != CEL_OK;
  cel_status s = read_kwargs(o, &kwargs, err);
  if (s == CEL_OK && o->tools) s = cli_read_json_file(o->tools, &tools, err);
  if (s == CEL_OK) s = rendered ? cel_lm_render(lm, messages, tools, kwargs, true, &text, err) : plain_layout(messages, &text, err);
  if (s == CEL_OK && text.failed) s = cel_fail_oom(err, "the prompt");
  if (s == CEL_OK) s = cel_lm_encode(lm, cel_buf_str(&text), rendered, &out->ids, &out->n, err);
  cel_json_decref(kwargs);
  cel_json_decref(tools);
  cel_buf_deinit(&text);
  return s;
}

void cli_warn_no_template(const cel_lm *lm) {
  if (lm->chat || lm->chat_err.status != CEL_OK) return;
  fputs("warning: this model has no chat template; using a plain User/Assistant layout\n", stderr);
}

cel_status cli_add_message(cel_json *list, const char *role, cel_str text, const char *what, cel_err *err) {
  if (!cel_utf8_valid(text.p, text.n)) return cel_fail(err, CEL_INVALID, "%s is not valid UTF-8", what);
  cel_json *m = cel_json_pack("{s:s,s:s%}", "role", role, "content", text.p, text.n);
  return m && cel_json_array_append_new(list, m) == 0 ? CEL_OK : cel_fail_oom(err, what);
}

static cel_status one_message(const cli_options *o, cel_json **out, cel_err *err) {
  *out = cel_json_array();
  cel_status s = *out ? CEL_OK : cel_fail_oom(err, "the prompt");
  if (s == CEL_OK && o->system) s = cli_add_message(*out, "system", cel_str_of(o->system), "--system", err);
  if (s == CEL_OK) s = cli_add_message(*out, "user", cel_str_of(o->prompt), "the prompt", err);
  if (s == CEL_OK) return s;
  cel_json_decref(*out);
  *out = NULL;
  return s;
}

cel_status cli_prompt_make(const cli_options *o, const cel_lm *lm, cli_prompt *out, cel_err *err) {
  *out = (cli_prompt){0};
  if (o->ids) return cli_parse_ids(o->ids, &out->ids, &out->n, err);
  if (o->prompt && o->no_chat_template) return cel_lm_encode(lm, cel_str_of(o->prompt), false, &out->ids, &out->n, err);
  cel_json *messages;
  CEL_TRY(o->messages ? cli_read_json_file(o->messages, &messages, err) : one_message(o, &messages, err));
  cli_warn_no_template(lm);
  cel_status s = cli_prompt_chat(o, lm, messages, out, err);
  cel_json_decref(messages);
  return s;
}
