// Other programs, run to their end.
#ifndef CEL_BASE_PROCESS_H
#define CEL_BASE_PROCESS_H

#include "base/status.h"
#include "base/str.h"

// Runs argv[0], a path, without a shell, and waits. argv ends with NULL; stdin is empty; `said` gets what it writes to stdout
// and stderr. *code: its exit status, or minus the number of the signal that ended it.
// Fails: CEL_IO when it cannot be started.
CEL_MUST_CHECK cel_status cel_process_run(const char *const *argv, cel_buf *said, int *code, cel_err *err);

// "NAME=VALUE" for all that is set, ended by NULL; lent as getenv lends.
char *const *cel_process_environment(void);

#endif
