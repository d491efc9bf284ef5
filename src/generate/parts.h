// Conversations that a template cannot take as they are: contents in parts ([{"type": "text", "text": ...}, ...]), the role
// "developer".
#ifndef CEL_GENERATE_PARTS_H
#define CEL_GENERATE_PARTS_H

#include <stdbool.h>

#include "text/template/template.h"

// Does any message have such a content? Anything else in the place of messages: no.
bool cel_messages_have_parts(const cel_json *messages);
bool cel_messages_have_developer(const cel_json *messages);

// Can the template walk through parts, or would it print them as they are (or fail)? Asked by showing it one.
//   Fails: CEL_OOM. That the template refuses is an answer.
CEL_MUST_CHECK cel_status cel_template_takes_parts(const cel_template *t, const cel_json *special_tokens, bool *takes, cel_err *err);
// Does it show what a developer says, or refuse the role or leave it out?
CEL_MUST_CHECK cel_status cel_template_takes_developer(const cel_template *t, const cel_json *special_tokens, bool *takes, cel_err *err);

// A copy in which the texts of such lists are joined as they are. A part that is no text is refused by name.
CEL_MUST_CHECK cel_status cel_messages_join_parts(const cel_json *messages, cel_json **out, cel_err *err);
// A copy in which the developer is the system.
CEL_MUST_CHECK cel_status cel_messages_without_developer(const cel_json *messages, cel_json **out, cel_err *err);

#endif
