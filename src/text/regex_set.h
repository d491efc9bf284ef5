// Character sets of Oniguruma that Perl's syntax has no words for: sets in sets, [a[bc]], and what several have in
// common, [\p{L}&&[^\p{Han}]]. For regex.c alone.
#ifndef CEL_TEXT_REGEX_SET_H
#define CEL_TEXT_REGEX_SET_H

#include <stdbool.h>

#include "base/status.h"
#include "base/str.h"

// Does the set that begins at p[i] = '[' need one of these?
bool cel_regex_set_is_compound(cel_str p, size_t i);
// Appends an expression that matches the same single characters; *i moves behind the set. `put_escape` writes what stands
// for the escape \c inside a set, or returns false when it is kept.
CEL_MUST_CHECK cel_status cel_regex_put_set(cel_str p, size_t *i, bool (*put_escape)(cel_buf *out, char c, bool in_class),
                                            const char *where, cel_buf *out, cel_err *err);

#endif
