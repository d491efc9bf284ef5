#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"

cel_status cel_json_parse(cel_str text, const char *name, cel_json **out, cel_err *err) {
  json_error_t e;
  *out = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &e);
  if (*out) return CEL_OK;
  // When jansson runs out of memory its reader just stops: no code, no place, no text.
  if (!e.text[0] || json_error_code(&e) == json_error_out_of_memory) return cel_fail_oom(err, name);
  return cel_fail(err, CEL_MALFORMED, "%s: not valid JSON at line %d, column %d: %s", name, e.line, e.column, e.text);
}

cel_status cel_json_load(const char *path, int64_t max_bytes, cel_json **out, cel_err *err) {
  char *text;
  int64_t bytes;
  *out = NULL;
  CEL_TRY(cel_read_file(path, max_bytes, &text, &bytes, err));
  cel_status s = cel_json_parse((cel_str){text, (size_t)bytes}, path, out, err);
  free(text);
  return s;
}

const cel_json *cel_json_get(const cel_json *obj, const char *key) {
  const cel_json *v = json_object_get(obj, key);
  return json_is_null(v) ? NULL : v;
}

int64_t cel_json_int(const cel_json *obj, const char *key, int64_t otherwise) {
  const cel_json *v = cel_json_get(obj, key);
  if (json_is_integer(v)) return json_integer_value(v);
  if (json_is_real(v)) {
    double x = json_real_value(v);
    if (x == floor(x) && fabs(x) < 9e15) return (int64_t)x;
  }
  return otherwise;
}

double cel_json_num(const cel_json *obj, const char *key, double otherwise) {
  const cel_json *v = cel_json_get(obj, key);
  return json_is_number(v) ? json_number_value(v) : otherwise;
}

bool cel_json_bool(const cel_json *obj, const char *key, bool otherwise) {
  const cel_json *v = cel_json_get(obj, key);
  return json_is_boolean(v) ? json_is_true(v) : otherwise;
}

const char *cel_json_string(const cel_json *obj, const char *key, const char *otherwise) {
  const cel_json *v = cel_json_get(obj, key);
  return json_is_string(v) ? json_string_value(v) : otherwise;
}

void cel_json_add_string(cel_buf *b, cel_str s) {
  cel_buf_addc(b, '"');
  for (size_t i = 0; i < s.n;) {
    unsigned char c = (unsigned char)s.p[i];
    if (c == '"' || c == '\\') {
      cel_buf_addc(b, '\\');
      cel_buf_addc(b, (char)c);
      i++;
    } else if (c == '\n' || c == '\r' || c == '\t') {
      cel_buf_addz(b, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
      i++;
    } else if (c < 0x20 || c == 0x7F) {
      cel_buf_printf(b, "\\u%04x", c);
      i++;
    } else {
      char utf8[4];
      uint32_t cp = cel_utf8_next(s.p, s.n, &i);
      cel_buf_add(b, utf8, (size_t)cel_utf8_put(utf8, cp));
    }
  }
  cel_buf_addc(b, '"');
}

void cel_json_add_number(cel_buf *b, double x) {
  if (!isfinite(x)) {
    cel_buf_addz(b, "null");
    return;
  }
  char text[32];
  for (int digits = 6; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, x);
    if (strtod(text, NULL) == x) break;
  }
  cel_buf_addz(b, text);
}
