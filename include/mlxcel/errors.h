// How a function fails: it returns a status, and the sentence goes into an mlxcel_error of the caller.
//
//   mlxcel_error error;
//   if (mlxcel_model_open("owner/name", NULL, &model, &error) != MLXCEL_OK) fprintf(stderr, "%s\n", error.text);
//
// The last argument of every function that can fail is such a pointer; NULL means that the sentence is not wanted.
// On success the error is left as it was. When a call fails, nothing has changed and every out-parameter that hands
// over memory is NULL, unless the function says otherwise.
// Threads: an mlxcel_error belongs to one call at a time.
#ifndef MLXCEL_ERRORS_H
#define MLXCEL_ERRORS_H

#include <mlxcel/export.h>

#ifdef __cplusplus
extern "C" {
#endif

// Numbers never change; more may be added. A program should take one it does not know as a failure.
typedef enum mlxcel_status {
  MLXCEL_OK = 0,
  MLXCEL_INVALID = 1,      // an argument is wrong: the caller can do better
  MLXCEL_MALFORMED = 2,    // a file or text breaks the rules of its format
  MLXCEL_UNSUPPORTED = 3,  // well formed, but this version or this model cannot do it
  MLXCEL_NOT_FOUND = 4,    // no such model or file
  MLXCEL_TOO_LONG = 5,     // over a limit; the sentence names both numbers
  MLXCEL_BUSY = 6,         // max_sessions are open
  MLXCEL_CANCELLED = 7,    // the caller asked for it
  MLXCEL_IO = 8,           // the system could not read or write
  MLXCEL_OOM = 9,          // no memory
  MLXCEL_ENGINE = 10,      // the computation failed
} mlxcel_status;

enum { MLXCEL_ERROR_TEXT_BYTES = 1024 };

// Its size never changes.
typedef struct mlxcel_error {
  mlxcel_status status;
  char text[MLXCEL_ERROR_TEXT_BYTES];  // one sentence in UTF-8, without a newline, NUL-terminated
} mlxcel_error;

// "malformed input" and the like, for logs. Static; never NULL.
MLXCEL_API const char *mlxcel_status_word(mlxcel_status status);

#ifdef __cplusplus
}
#endif
#endif
