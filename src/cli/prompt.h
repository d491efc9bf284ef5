// From the options to prompt ids.
#ifndef CEL_CLI_PROMPT_H
#define CEL_CLI_PROMPT_H

#include "cli/cli.h"

typedef struct cli_prompt {
  int32_t *ids;  // malloc'ed
  int64_t n;
} cli_prompt;

// EXIT_OK, or says which options of the prompt and its length contradict each other.
int cli_prompt_check(const cli_options *o);
cel_status cli_prompt_make(const cli_options *o, const cel_lm *lm, cli_prompt *out, cel_err *err);
// Chat messages as ids: rendered with the model's template; a model without one gets a plain layout.
cel_status cli_prompt_chat(const cli_options *o, const cel_lm *lm, const cel_json *messages, cli_prompt *out, cel_err *err);
void cli_warn_no_template(const cel_lm *lm);
// Appends {"role", "content"}. `what` names the text in messages: it must be UTF-8.
cel_status cli_add_message(cel_json *list, const char *role, cel_str text, const char *what, cel_err *err);
void cli_print_speed(const cel_lm *lm, const cel_reply *r);  // to standard error

#endif
