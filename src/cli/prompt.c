#include "cli/prompt.h"

#include <stdlib.h>

static cel_status read_kwargs(const cli_options *o, cel_json **out, cel_err *err) {
  *out = NULL;
  if (!o->kwargs) return CEL_OK;
  CEL_TRY(cel_json_parse(cel_str_of(o->kwargs), "--kwargs", out, err));
  if (json_is_object(*out)) return CEL_OK;
  json_decref(*out);
  *out = NULL;
  return cel_fail(err, CEL_INVALID, "--kwargs takes a JSON object");
}

// "User: ...\nAssistant:" for models that were never taught a layout.
static void plain_layout(const cel_json *messages, cel_buf *out) {
  size_t i;
  json_t *m;
  json_array_foreach(messages, i, m) {
    const char *role = cel_json_string(m, "role", "user");
    cel_buf_printf(out, "%s: %s\n", role[0] == 'a' ? "Assistant" : role[0] == 's' ? "System" : "User",
                   cel_json_string(m, "content", ""));
  }
  cel_buf_addz(out, "Assistant:");
}

cel_status cli_prompt_chat(const cli_options *o, const cel_lm *lm, const cel_json *messages, cli_prompt *out, cel_err *err) {
  cel_buf text = {0};
  cel_json *kwargs = NULL, *tools = NULL;
  bool rendered = lm->chat != NULL;
  cel_status s = read_kwargs(o, &kwargs, err);
  if (s == CEL_OK && o->tools) s = cli_read_json_file(o->tools, &tools, err);
  if (s == CEL_OK && rendered) s = cel_lm_render(lm, messages, tools, kwargs, true, &text, err);
  if (s == CEL_OK && !rendered) {
    fputs("warning: this model has no chat template; using a plain User/Assistant layout\n", stderr);
    plain_layout(messages, &text);
  }
  if (s == CEL_OK && text.failed) s = cel_fail_oom(err, "the prompt");
  if (s == CEL_OK) s = cel_lm_encode(lm, cel_buf_str(&text), rendered, &out->ids, &out->n, err);
  json_decref(kwargs);
  json_decref(tools);
  cel_buf_deinit(&text);
  return s;
}

static cel_status one_message(const cli_options *o, cel_json **out, cel_err *err) {
  *out = json_array();
  int failed = !*out;
  if (o->system && !failed) failed = json_array_append_new(*out, json_pack("{s:s,s:s}", "role", "system", "content", o->system));
  if (!failed) failed = json_array_append_new(*out, json_pack("{s:s,s:s}", "role", "user", "content", o->prompt));
  if (!failed) return CEL_OK;
  json_decref(*out);
  return cel_fail(err, CEL_INVALID, "the prompt is not valid UTF-8");
}

cel_status cli_prompt_make(const cli_options *o, const cel_lm *lm, cli_prompt *out, cel_err *err) {
  *out = (cli_prompt){0};
  if (o->ids) return cli_parse_ids(o->ids, &out->ids, &out->n, err);
  if (o->prompt && o->no_chat_template) return cel_lm_encode(lm, cel_str_of(o->prompt), false, &out->ids, &out->n, err);
  cel_json *messages;
  CEL_TRY(o->messages ? cli_read_json_file(o->messages, &messages, err) : one_message(o, &messages, err));
  cel_status s = cli_prompt_chat(o, lm, messages, out, err);
  json_decref(messages);
  return s;
}
