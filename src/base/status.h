// How a function fails: a small enum comes back, the sentence goes into a cel_err the caller owns.
//
//   static cel_status open_header(..., cel_err *err) {
//     if (n < 8) return cel_fail(err, CEL_MALFORMED, "%s: %zu bytes, a header needs 8", path, n);
//     CEL_TRY(read_counts(..., err));
//     return CEL_OK;
//   }
//
// A text names the file, the field, the value found and what would be right. It never ends in a
// newline. Threads: a cel_err belongs to one call chain at a time.
#ifndef CEL_BASE_STATUS_H
#define CEL_BASE_STATUS_H

#include <stdarg.h>

#include "base/macros.h"

typedef enum cel_status {
#define CEL_STATUS(code, word, http) code,
#include "base/status.def"
#undef CEL_STATUS
} cel_status;

enum { CEL_ERR_TEXT_BYTES = 1024 };

typedef struct cel_err {
  cel_status status;
  char text[CEL_ERR_TEXT_BYTES];  // a whole sentence or "", one line without control characters, always NUL-terminated
} cel_err;

// Writes the sentence (cut at CEL_ERR_TEXT_BYTES) and returns `status`. `err` may be NULL: then only
// the status is returned.
cel_status cel_fail(cel_err *err, cel_status status, const char *fmt, ...) CEL_PRINTF(3, 4);
cel_status cel_failv(cel_err *err, cel_status status, const char *fmt, va_list args) CEL_PRINTF(3, 0);

// Puts "prefix: " in front of the text that is there; returns err->status. For adding the file name
// to a message made by code that knew only the bytes.
cel_status cel_err_prefix(cel_err *err, const char *fmt, ...) CEL_PRINTF(2, 3);

// "out of memory" with what was being allocated; returns CEL_OOM.
cel_status cel_fail_oom(cel_err *err, const char *what);

// The word of a status ("malformed input"), and the HTTP code a server maps it to.
const char *cel_status_word(cel_status status);
int cel_status_http(cel_status status);

#define CEL_TRY(call)                       \
  do {                                      \
    cel_status cel_try_status = (call);     \
    if (cel_try_status != CEL_OK) return cel_try_status; \
  } while (0)

// The same where there is something to undo: stores into `status` and jumps to `done:`.
#define CEL_TRY_DONE(status, call)          \
  do {                                      \
    (status) = (call);                      \
    if ((status) != CEL_OK) goto done;      \
  } while (0)

#endif
