// One callback for messages; the library itself never prints. Levels say how often each may speak:
// error: once, at the edge; warn: once per cause; notice: a choice made for the user, once per load; info: once per load;
// debug: once per request.
// Threads: the sink is set once at start-up, before other threads exist; cel_log may be called by any.
#ifndef CEL_BASE_LOG_H
#define CEL_BASE_LOG_H

#include "base/macros.h"

typedef enum cel_log_level { CEL_LOG_ERROR, CEL_LOG_WARN, CEL_LOG_NOTICE, CEL_LOG_INFO, CEL_LOG_DEBUG } cel_log_level;
typedef void cel_log_sink(void *context, cel_log_level level, const char *text);

void cel_log_set(cel_log_sink *sink, void *context, cel_log_level most);  // sink NULL: silent (the default)
void cel_log(cel_log_level level, const char *fmt, ...) CEL_PRINTF(2, 3);

#endif
