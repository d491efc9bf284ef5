// JSON through jansson, with one way to fail: the message names the file and the place.
// Numbers keep their kind (integer or real). Duplicate keys are refused. Depth is bounded by jansson.
#ifndef CEL_BASE_JSON_H
#define CEL_BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/str.h"

typedef json_t cel_json;

// Parses one whole value. `name` is the file's name for messages. The caller owns *out (json_decref).
CEL_MUST_CHECK cel_status cel_json_parse(cel_str text, const char *name, cel_json **out, cel_err *err);
// Reads a file (at most max_bytes) and parses it.
CEL_MUST_CHECK cel_status cel_json_load(const char *path, int64_t max_bytes, cel_json **out, cel_err *err);

// Lookups that never fail; NULL and wrong kinds give the default. `obj` may be NULL.
const cel_json *cel_json_get(const cel_json *obj, const char *key);  // NULL when absent or null
int64_t cel_json_int(const cel_json *obj, const char *key, int64_t otherwise);  // a real with integer value counts
double cel_json_num(const cel_json *obj, const char *key, double otherwise);
bool cel_json_bool(const cel_json *obj, const char *key, bool otherwise);
const char *cel_json_string(const cel_json *obj, const char *key, const char *otherwise);  // borrowed

// Appends s as a JSON string with quotes; invalid UTF-8 becomes U+FFFD; non-ASCII is kept as it is.
void cel_json_add_string(cel_buf *b, cel_str s);
// Appends a number so that reading it gives the same double; NaN and infinities become null.
void cel_json_add_number(cel_buf *b, double x);

#endif
