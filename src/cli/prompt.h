// From the options to prompt ids.
#ifndef CEL_CLI_PROMPT_H
#define CEL_CLI_PROMPT_H

#include "cli/cli.h"

typedef struct cli_prompt {
  int32_t *ids;  // malloc'ed
  int64_t n;
} cli_prompt;

cel_status cli_prompt_make(const cli_options *o, const cel_lm *lm, cli_prompt *out, cel_err *err);
// Chat messages as ids: rendered with the model's template; a model without one gets a plain layout.
cel_status cli_prompt_chat(const cli_options *o, const cel_lm *lm, const cel_json *messages, cli_prompt *out, cel_err *err);
void cli_print_speed(const cel_lm *lm, const cel_reply *r);  // to standard error

#endif
