// Chat templates: the Jinja language as transformers compiles it (jinja2 immutable sandbox, trim_blocks,
// lstrip_blocks, loop controls, its own tojson, raise_exception, strftime_now, generation blocks).
// Values are exchanged as JSON.
// Threads: a compiled template is read-only; renders may run side by side.
#ifndef CEL_TEXT_TEMPLATE_TEMPLATE_H
#define CEL_TEXT_TEMPLATE_TEMPLATE_H

#include <stdint.h>

#include "base/json.h"
#include "base/status.h"
#include "base/str.h"

typedef struct cel_template cel_template;

// Errors carry NAME:line:column.
CEL_MUST_CHECK cel_status cel_template_compile(cel_str source, const char *name, cel_template **out, cel_err *err);
void cel_template_free(cel_template *t);

typedef struct cel_template_limits {
  int64_t steps;         // evaluated nodes and loop turns
  int64_t output_bytes;  // of the result, and of any string on the way
  int64_t memory_bytes;  // of all values alive or dead in this render
  int depth;             // of nesting: expressions, macros, includes
} cel_template_limits;
extern const cel_template_limits cel_template_default_limits;

// Renders with the members of `variables` (an object) as globals. A raise_exception in the template is
// CEL_INVALID with the template's own message; a limit is CEL_TOO_LONG by name; the rest is CEL_MALFORMED.
CEL_MUST_CHECK cel_status cel_template_render(const cel_template *t, const cel_json *variables,
                                              const cel_template_limits *limits /* NULL: default */, cel_buf *out,
                                              cel_err *err);

// What transformers' apply_chat_template passes: messages, tools (None when NULL), documents (None),
// add_generation_prompt, bos_token/eos_token/..., and extra kwargs. Null-valued keys of messages are dropped
// as it does. Returns a new object (json_decref). `special_tokens`: object of name -> text, may be NULL.
CEL_MUST_CHECK cel_status cel_chat_variables(const cel_json *messages, const cel_json *tools,
                                             const cel_json *special_tokens, const cel_json *kwargs,
                                             bool add_generation_prompt, cel_json **out, cel_err *err);

#endif
