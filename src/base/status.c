#include "base/status.h"

#include <stdio.h>
#include <string.h>

// What a file or a request says may stand in a message: it must neither begin a line of its own nor steer a terminal.
static void make_one_line(char *text) {
  for (; *text; text++) {
    if ((unsigned char)*text < ' ' || *text == 0x7F) *text = *text == '\n' || *text == '\t' ? ' ' : '?';
  }
}

cel_status cel_failv(cel_err *err, cel_status status, const char *fmt, va_list args) {
  if (err) {
    err->status = status;
    vsnprintf(err->text, sizeof err->text, fmt, args);
    make_one_line(err->text);
  }
  return status;
}

cel_status cel_fail(cel_err *err, cel_status status, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  cel_failv(err, status, fmt, args);
  va_end(args);
  return status;
}

cel_status cel_err_prefix(cel_err *err, const char *fmt, ...) {
  if (!err) return CEL_INVALID;
  char old[CEL_ERR_TEXT_BYTES];
  memcpy(old, err->text, sizeof old);
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(err->text, sizeof err->text, fmt, args);
  va_end(args);
  if (n >= 0 && (size_t)n + 3 < sizeof err->text) {
    size_t room = sizeof err->text - (size_t)n - 3, tail = strlen(old);
    memcpy(err->text + n, ": ", 2);
    memcpy(err->text + n + 2, old, CEL_MIN(room, tail));
    err->text[(size_t)n + 2 + CEL_MIN(room, tail)] = 0;
  }
  make_one_line(err->text);
  return err->status;
}

cel_status cel_fail_oom(cel_err *err, const char *what) {
  return cel_fail(err, CEL_OOM, "out of memory while allocating %s", what);
}

const char *cel_status_word(cel_status status) {
  switch (status) {
#define CEL_STATUS(code, word, http) \
  case code:                         \
    return word;
#include "base/status.def"
#undef CEL_STATUS
  }
  return "unknown status";
}

int cel_status_http(cel_status status) {
  switch (status) {
#define CEL_STATUS(code, word, http) \
  case code:                         \
    return http;
#include "base/status.def"
#undef CEL_STATUS
  }
  return 500;
}
