#include "api/api.h"

static const mlxcel_chat_options defaults = {0};

void mlxcel_chat_options_init(mlxcel_chat_options *options, size_t struct_size) {
  cel_api_defaults(options, struct_size, &defaults, sizeof defaults);
}

static cel_status read_json(const char *text, const char *name, bool object, cel_json **out, cel_err *err) {
  if (!text) return CEL_OK;
  CEL_TRY(cel_json_parse(cel_str_of(text), name, out, err));
  if (object ? cel_json_is_object(*out) : cel_json_is_array(*out)) return CEL_OK;
  return cel_fail(err, CEL_INVALID, "%s must be %s", name, object ? "an object" : "an array");
}

static cel_status render(const mlxcel_model *m, const char *messages_json, const mlxcel_chat_options *given, cel_buf *out,
                         cel_err *err) {
  mlxcel_chat_options o = defaults;
  CEL_TRY(cel_api_read(&o, sizeof o, sizeof o, given, "mlxcel_chat_options", err));
  if (!m->info.has_chat_template) return cel_fail(err, CEL_UNSUPPORTED, "%s has no chat template", m->info.path);
  cel_json *messages = NULL, *tools = NULL, *variables = NULL;
  cel_status s = read_json(messages_json, "messages_json", false, &messages, err);
  if (s == CEL_OK) s = read_json(o.tools_json, "tools_json", false, &tools, err);
  if (s == CEL_OK) s = read_json(o.variables_json, "variables_json", true, &variables, err);
  if (s == CEL_OK) s = cel_lm_render(m->lm, messages, tools, variables, !o.no_generation_prompt, out, err);
  if (s == CEL_OK && out->failed) s = cel_fail_oom(err, "a prompt");
  cel_json_decref(messages);
  cel_json_decref(tools);
  cel_json_decref(variables);
  return s;
}

mlxcel_status mlxcel_chat_render(const mlxcel_model *model, const char *messages_json, const mlxcel_chat_options *options,
                                 char **text, size_t *bytes, mlxcel_error *error) {
  if (!text) return cel_api_null("text", error);
  *text = NULL;
  if (!model || !messages_json) return cel_api_null(model ? "messages_json" : "model", error);
  cel_err err = {0};
  cel_buf b = {0};
  cel_status s = render(model, messages_json, options, &b, &err);
  if (s == CEL_OK) s = cel_api_text(&b, text, bytes, &err);
  else cel_buf_deinit(&b);
  return cel_api_done(s, &err, error);
}

mlxcel_status mlxcel_chat_tokenize(const mlxcel_model *model, const char *messages_json, const mlxcel_chat_options *options,
                                   int32_t **ids, int64_t *n, mlxcel_error *error) {
  if (!ids || !n) return cel_api_null(ids ? "n" : "ids", error);
  *ids = NULL;
  *n = 0;
  if (!model || !messages_json) return cel_api_null(model ? "messages_json" : "model", error);
  cel_err err = {0};
  cel_buf b = {0};
  cel_status s = cel_api_need_tokenizer(model, &err);
  if (s == CEL_OK) s = render(model, messages_json, options, &b, &err);
  if (s == CEL_OK) s = cel_lm_encode(model->lm, cel_buf_str(&b), true, ids, n, &err);
  cel_buf_deinit(&b);
  return cel_api_done(s, &err, error);
}
