#include "base/log.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

static cel_log_sink *the_sink;  // written once at start-up
static void *the_context;
static cel_log_level the_most;

void cel_log_set(cel_log_sink *sink, void *context, cel_log_level most) {
  the_sink = sink;
  the_context = context;
  the_most = most;
}

void cel_log(cel_log_level level, const char *fmt, ...) {
  if (!the_sink || level > the_most) return;
  char text[1024];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  the_sink(the_context, level, text);
}
