// The lines of an HTTP reply's head that a download looks at. What a server says is input like any other: a number
// that is none counts as not said, a text is kept short and printable.
// Threads: pure functions on the caller's struct.
#ifndef CEL_MODEL_HUB_HEAD_H
#define CEL_MODEL_HUB_HEAD_H

#include <stdint.h>

#include "base/str.h"

typedef struct cel_http_head {
  int64_t content_length;           // -1: not said
  int64_t range_from, range_total;  // of Content-Range; -1: not said
  char error_code[48];              // X-Error-Code, "" when not said
  char message[240];                // X-Error-Message
} cel_http_head;

void cel_http_head_init(cel_http_head *h);
// One line, with or without its end; "HTTP/..." begins a new head (as behind 100 Continue).
void cel_http_head_line(cel_http_head *h, cel_str line);
// The first bytes of p[n] that fit, control characters as blanks, none at the end; NUL-terminated. size > 0.
void cel_http_copy_printable(char *out, size_t size, const char *p, size_t n);

#endif
