// Where a folder keeps its chat template, first found: chat_template.jinja (with further ones in
// additional_chat_templates/), chat_template.json, tokenizer_config.json, as a text or as a list of named
// templates.
#include <stdlib.h>
#include <string.h>

#include "model/checkpoint_private.h"

enum { MAX_TEMPLATE = 16 << 20 };

// *out stays NULL when there is no such file.
static cel_status load_file(cel_checkpoint *c, const char *name, const char **out, cel_err *err) {
  char *text;
  int64_t bytes;
  const char *path = cel_checkpoint_path(c, name);
  if (!path) return cel_fail_oom(err, name);
  if (!cel_is_file(path)) return CEL_OK;
  CEL_TRY(cel_read_file(path, MAX_TEMPLATE, &text, &bytes, err));
  cel_status status = cel_checkpoint_text(c, (cel_str){text, (size_t)bytes}, path, out, err);
  free(text);
  return status;
}

static cel_status bad(const char *file, const char *problem, cel_err *err) {
  return cel_fail(err, CEL_MALFORMED, "%s: chat_template %s", file, problem);
}

static cel_status copy(cel_checkpoint *c, const cel_json *text, const char *file, const char **out, cel_err *err) {
  cel_str s = {cel_json_string_value(text), cel_json_string_length(text)};
  return cel_checkpoint_text(c, s, file, out, err);
}

// [{"name": "default", "template": "..."}, ...]: "default" (or the only one), and "tool_use".
static cel_status take_list(cel_checkpoint *c, const cel_json *list, const char *file, cel_err *err) {
  size_t n = cel_json_array_size(list);
  for (size_t i = 0; i < n; i++) {
    const cel_json *item = cel_json_array_get(list, i), *text = cel_json_object_get(item, "template");
    const char *name = cel_json_string(item, "name", NULL);
    if (!name || !cel_json_is_string(text)) return bad(file, "holds an item without the texts \"name\" and \"template\"", err);
    if (strcmp(name, "tool_use") == 0 && !c->chat_template_tools) {
      CEL_TRY(copy(c, text, file, &c->chat_template_tools, err));
    }
    if ((strcmp(name, "default") == 0 || n == 1) && !c->chat_template) {
      CEL_TRY(copy(c, text, file, &c->chat_template, err));
    }
  }
  return CEL_OK;
}

static cel_status take_value(cel_checkpoint *c, const cel_json *v, const char *file, cel_err *err) {
  if (cel_json_is_array(v)) return take_list(c, v, file, err);
  if (cel_json_is_string(v)) return copy(c, v, file, &c->chat_template, err);
  return bad(file, "is neither a text nor a list", err);
}

static cel_status load_json(cel_checkpoint *c, const char *path, cel_err *err) {
  cel_json *json;
  CEL_TRY(cel_json_load(path, MAX_TEMPLATE, &json, err));
  const cel_json *v = cel_json_get(json, "chat_template");
  cel_status status = v ? take_value(c, v, path, err) : bad(path, "is missing", err);
  cel_json_decref(json);
  return status;
}

cel_status cel_checkpoint_load_templates(cel_checkpoint *c, cel_err *err) {
  CEL_TRY(load_file(c, "chat_template.jinja", &c->chat_template, err));
  if (c->chat_template) {
    return load_file(c, "additional_chat_templates/tool_use.jinja", &c->chat_template_tools, err);
  }
  const char *json = cel_checkpoint_path(c, "chat_template.json");
  if (!json) return cel_fail_oom(err, "a path");
  if (cel_is_file(json)) return load_json(c, json, err);
  const cel_json *v = cel_json_get(c->tokenizer_config, "chat_template");
  return v ? take_value(c, v, cel_checkpoint_path(c, "tokenizer_config.json"), err) : CEL_OK;
}
