// Values from a pattern.
#include <stdarg.h>
#include <string.h>

#include "base/json.h"

typedef struct pattern {
  const char *p;
  va_list args;
  bool failed;
} pattern;

static char next(pattern *f) {
  while (*f->p == ' ' || *f->p == ',' || *f->p == ':') f->p++;
  return *f->p ? *f->p++ : 0;
}

static cel_str text(pattern *f) {
  const char *z = va_arg(f->args, const char *);
  if (*f->p != '%') return z ? cel_str_of(z) : (cel_str){NULL, 0};
  f->p++;
  return (cel_str){z, va_arg(f->args, size_t)};
}

static cel_json *value(pattern *f, char c, int depth);

// Arguments go on being taken after a failure, so that those that are handed over are released.
static cel_json *members(pattern *f, char end, int depth) {
  cel_json *v = end == '}' ? cel_json_object() : cel_json_array();
  f->failed = f->failed || !v;
  for (char c = next(f); c && c != end; c = next(f)) {
    cel_str key = end == '}' ? text(f) : CEL_STR("");
    cel_json *item = value(f, end == '}' ? next(f) : c, depth + 1);
    int r = end == '}' ? cel_json_object_setn_new(v, key.p, key.n, item) : cel_json_array_append_new(v, item);
    f->failed = f->failed || r != 0;
  }
  return v;
}

static cel_json *value(pattern *f, char c, int depth) {
  if (depth > 16) return NULL;
  switch (c) {
    case '{': return members(f, '}', depth);
    case '[': return members(f, ']', depth);
    case 's': return cel_json_string_new(text(f));
    case 'i': return cel_json_integer(va_arg(f->args, int));
    case 'I': return cel_json_integer(va_arg(f->args, int64_t));
    case 'b': return cel_json_boolean(va_arg(f->args, int) != 0);
    case 'f': return cel_json_real(va_arg(f->args, double));
    case 'n': return cel_json_null();
    case 'o': return va_arg(f->args, cel_json *);
    default: return NULL;
  }
}

cel_json *cel_json_pack(const char *how, ...) {
  pattern f = {.p = how};
  va_start(f.args, how);
  cel_json *v = value(&f, next(&f), 0);
  va_end(f.args);
  if (!f.failed) return v;
  cel_json_decref(v);
  return NULL;
}
