// Version, errors, and structs that may come from programs older or newer than this library.
#include <stdlib.h>

#include "api/api.h"

#define STRING2(x) #x
#define STRING(x) STRING2(x)

// The header's numbers, CMake's version, and the statuses inside and outside are the same.
static const char version[] = STRING(MLXCEL_VERSION_MAJOR) "." STRING(MLXCEL_VERSION_MINOR) "." STRING(MLXCEL_VERSION_PATCH);
_Static_assert(MLXCEL_VERSION_MAJOR == CEL_VERSION_MAJOR && MLXCEL_VERSION_MINOR == CEL_VERSION_MINOR &&
                   MLXCEL_VERSION_PATCH == CEL_VERSION_PATCH,
               "include/mlxcel/version.h and CMakeLists.txt name different versions");
#define SAME(word) _Static_assert((int)MLXCEL_##word == (int)CEL_##word, #word)
SAME(OK);
SAME(INVALID);
SAME(MALFORMED);
SAME(UNSUPPORTED);
SAME(NOT_FOUND);
SAME(TOO_LONG);
SAME(BUSY);
SAME(CANCELLED);
SAME(IO);
SAME(OOM);
SAME(ENGINE);
_Static_assert((int)MLXCEL_ERROR_TEXT_BYTES == (int)CEL_ERR_TEXT_BYTES, "texts are copied whole");

const char *mlxcel_version(void) { return version; }

const char *mlxcel_status_word(mlxcel_status status) {
  int code = (int)status;
  if (code < MLXCEL_OK || code > MLXCEL_ENGINE) return "unknown status";
  return cel_status_word((cel_status)code);
}

void mlxcel_free(void *memory) { free(memory); }

mlxcel_status cel_api_done(cel_status s, const cel_err *err, mlxcel_error *error) {
  if (s != CEL_OK && error) {
    error->status = (mlxcel_status)s;
    memcpy(error->text, err->text, sizeof error->text);
  }
  return (mlxcel_status)s;
}

mlxcel_status cel_api_null(const char *what, mlxcel_error *error) {
  cel_err err = {0};
  return cel_api_done(cel_fail(&err, CEL_INVALID, "%s is NULL", what), &err, error);
}

cel_status cel_api_text(cel_buf *from, char **text, size_t *bytes, cel_err *err) {
  size_t n = from->n;
  cel_buf_add(from, "", 1);  // there is memory to hand over, even for no text
  char *p = cel_buf_take(from);
  if (!p) {
    cel_buf_deinit(from);
    return cel_fail_oom(err, "a text");
  }
  *text = p;
  if (bytes) *bytes = n;
  return CEL_OK;
}

cel_status cel_api_ids(const int32_t *ids, int64_t n, cel_err *err) {
  if (n < 0) return cel_fail(err, CEL_INVALID, "%lld token ids", (long long)n);
  return n && !ids ? cel_fail(err, CEL_INVALID, "ids is NULL, n is %lld", (long long)n) : CEL_OK;
}

// ---- options -----------------------------------------------------------------------------------------

void cel_api_defaults(void *given, size_t given_bytes, const void *defaults, size_t bytes) {
  if (!given || given_bytes < sizeof(size_t)) return;
  memset(given, 0, given_bytes);
  memcpy(given, defaults, CEL_MIN(given_bytes, bytes));
  memcpy(given, &given_bytes, sizeof given_bytes);
}

cel_status cel_api_read(void *own, size_t bytes, size_t least, const void *given, const char *what, cel_err *err) {
  enum { BYTES_MOST = 4096 };
  size_t size;
  if (!given) return CEL_OK;
  memcpy(&size, given, sizeof size);
  if (size < least || size > BYTES_MOST) {
    return cel_fail(err, CEL_INVALID, "%s.struct_size is %zu, this version has %zu: fill the struct with %s_init", what, size, bytes, what);
  }
  const char *p = given;
  for (size_t i = bytes; i < size; i++) {
    if (p[i]) return cel_fail(err, CEL_UNSUPPORTED, "%s has a field set that mlxcel %s does not know", what, version);
  }
  memcpy(own, given, CEL_MIN(size, bytes));
  return CEL_OK;
}

cel_status cel_api_range(const char *field, int64_t value, int64_t low, int64_t high, cel_err *err) {
  if (value >= low && value <= high) return CEL_OK;
  return cel_fail(err, CEL_INVALID, "%s is %lld, allowed is %lld to %lld", field, (long long)value, (long long)low, (long long)high);
}
