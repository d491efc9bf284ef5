#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/json_private.h"

cel_status cel_json_load(const char *path, int64_t max_bytes, cel_json **out, cel_err *err) {
  char *text;
  int64_t bytes;
  *out = NULL;
  CEL_TRY(cel_read_file(path, max_bytes, &text, &bytes, err));
  return cel_json_parse_taking(text, (size_t)bytes, path, out, err);
}

const cel_json *cel_json_get(const cel_json *obj, const char *key) {
  const cel_json *v = cel_json_object_get(obj, key);
  return cel_json_is_null(v) ? NULL : v;
}

int64_t cel_json_int(const cel_json *obj, const char *key, int64_t otherwise) {
  const cel_json *v = cel_json_get(obj, key);
  if (cel_json_is_integer(v)) return cel_json_integer_value(v);
  if (cel_json_is_real(v)) {
    double x = cel_json_real_value(v);
    if (x == floor(x) && fabs(x) < 9e15) return (int64_t)x;
  }
  return otherwise;
}

double cel_json_num(const cel_json *obj, const char *key, double otherwise) {
  const cel_json *v = cel_json_get(obj, key);
  return cel_json_is_number(v) ? cel_json_number_value(v) : otherwise;
}

bool cel_json_bool(const cel_json *obj, const char *key, bool otherwise) {
  const cel_json *v = cel_json_get(obj, key);
  return cel_json_is_boolean(v) ? cel_json_is_true(v) : otherwise;
}

const char *cel_json_string(const cel_json *obj, const char *key, const char *otherwise) {
  const cel_json *v = cel_json_get(obj, key);
  const char *text = cel_json_string_value(v);
  return text && !memchr(text, 0, cel_json_string_length(v)) ? text : otherwise;
}
