// mlxcel template: what a chat template makes of messages.
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/cli.h"

static cel_status render_file(const cli_options *o, const cel_json *messages, const cel_json *tools, const cel_json *kwargs,
                              cel_buf *out, cel_err *err) {
  char *source;
  int64_t n;
  CEL_TRY(cel_read_file(o->template_file, 16 << 20, &source, &n, err));
  cel_template *t = NULL;
  cel_json *variables = NULL;
  cel_status s = cel_template_compile((cel_str){source, (size_t)n}, o->template_file, &t, err);
  if (s == CEL_OK) s = cel_chat_variables(messages, tools, NULL, kwargs, !o->no_generation_prompt, &variables, err);
  if (s == CEL_OK) s = cel_template_render(t, variables, NULL, out, err);
  cel_json_decref(variables);
  cel_template_free(t);
  free(source);
  return s;
}

static cel_status render_model(const cli_options *o, const cel_json *messages, const cel_json *tools, const cel_json *kwargs,
                               cel_buf *out, cel_err *err) {
  cel_lm *lm;
  CEL_TRY(cli_open_files(o, &lm, err));
  cel_status s = cel_lm_render(lm, messages, tools, kwargs, !o->no_generation_prompt, out, err);
  cel_lm_close(lm);
  return s;
}

int cmd_template(const cli_options *o) {
  if (!o->model == !o->template_file) return cli_usage("give the template with one of -m MODEL and --template FILE");
  if (!o->messages) return cli_usage("give the conversation with --messages FILE");
  cel_err err = {0};
  cel_json *messages = NULL, *tools = NULL, *kwargs = NULL;
  cel_buf out = {0};
  cel_status s = cli_read_json_file(o->messages, &messages, &err);
  if (s == CEL_OK && o->tools) s = cli_read_json_file(o->tools, &tools, &err);
  if (s == CEL_OK && o->kwargs) s = cel_json_parse(cel_str_of(o->kwargs), "--kwargs", &kwargs, &err);
  if (s == CEL_OK) s = o->template_file ? render_file(o, messages, tools, kwargs, &out, &err)
                                        : render_model(o, messages, tools, kwargs, &out, &err);
  cel_json_decref(messages);
  cel_json_decref(tools);
  cel_json_decref(kwargs);
  if (s == CEL_OK) return cli_print(&out, &err);
  cel_buf_deinit(&out);
  return cli_fail(&err);
}
