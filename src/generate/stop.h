// Stop strings over a stream of text: what may be the head of a stop is held back until it is clear.
#ifndef CEL_GENERATE_STOP_H
#define CEL_GENERATE_STOP_H

#include <stdbool.h>

#include "base/str.h"

typedef struct cel_stop {
  const cel_str *strings;  // [n], borrowed, none empty
  int n;
  cel_buf held;
  bool hit;
} cel_stop;

void cel_stop_init(cel_stop *s, const cel_str *strings, int n);
void cel_stop_deinit(cel_stop *s);
// Takes more text; appends to `out` what is certain to lie before any stop. After a hit (the earliest match;
// the longest of those at one place is irrelevant, both end there) nothing comes out any more.
void cel_stop_push(cel_stop *s, cel_str text, cel_buf *out);
// The stream has ended: what was held is plain text, up to a stop that stands whole in it (then `hit` is set).
void cel_stop_finish(cel_stop *s, cel_buf *out);

#endif
