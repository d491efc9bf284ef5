// JSON: a strict reader (RFC 8259; duplicate keys are refused, a NUL inside texts and keys is kept), values to look at
// and to build, and a writer. Whatever fails for want of memory says so; nothing aborts.
//
// A value belongs to a document: what one cel_json_parse read, or the one value a builder made. A document is counted;
// cel_json_incref and _decref on any value of it count for the whole, and it is freed at once when nobody holds it. A value put
// into another document's array or object keeps its own document alive as long as that one lives (also when it is taken
// out again), so what is built must not be made to contain itself.
// Numbers keep their kind: integers are those of int64_t, the others double. Members keep their order.
//
// Threads: a document may be read, counted and put elsewhere by any number; it is changed by one while no other looks.
#ifndef CEL_BASE_JSON_H
#define CEL_BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/str.h"

typedef struct cel_json cel_json;

typedef enum cel_json_kind {
  CEL_JSON_NULL, CEL_JSON_FALSE, CEL_JSON_TRUE, CEL_JSON_INTEGER, CEL_JSON_REAL, CEL_JSON_STRING, CEL_JSON_ARRAY, CEL_JSON_OBJECT,
} cel_json_kind;

enum { CEL_JSON_DEPTH_MOST = 1000 };  // arrays and objects in one another that are read

// ---- reading ---------------------------------------------------------------------------------------------

// Parses one whole value. `name` is the file's name for messages. The caller owns *out (cel_json_decref).
//   Fails: CEL_MALFORMED with line and column (in characters, from 1), CEL_OOM
CEL_MUST_CHECK cel_status cel_json_parse(cel_str text, const char *name, cel_json **out, cel_err *err);
// Reads a file (at most max_bytes) and parses it.
CEL_MUST_CHECK cel_status cel_json_load(const char *path, int64_t max_bytes, cel_json **out, cel_err *err);

// Lookups that never fail; NULL and wrong kinds give the default. `obj` may be NULL.
const cel_json *cel_json_get(const cel_json *obj, const char *key);  // NULL when absent or null
int64_t cel_json_int(const cel_json *obj, const char *key, int64_t otherwise);  // a real with integer value counts
double cel_json_num(const cel_json *obj, const char *key, double otherwise);
bool cel_json_bool(const cel_json *obj, const char *key, bool otherwise);
// Borrowed. A text with a NUL inside does not fit a C string and gives the default.
const char *cel_json_string(const cel_json *obj, const char *key, const char *otherwise);

// ---- looking; a NULL value is of no kind and empty -------------------------------------------------------

cel_json_kind cel_json_typeof(const cel_json *v);  // v is not NULL
bool cel_json_is_null(const cel_json *v);
bool cel_json_is_true(const cel_json *v);
bool cel_json_is_false(const cel_json *v);
bool cel_json_is_boolean(const cel_json *v);
bool cel_json_is_integer(const cel_json *v);
bool cel_json_is_real(const cel_json *v);
bool cel_json_is_number(const cel_json *v);
bool cel_json_is_string(const cel_json *v);
bool cel_json_is_array(const cel_json *v);
bool cel_json_is_object(const cel_json *v);

int64_t cel_json_integer_value(const cel_json *v);   // 0 for other kinds
double cel_json_real_value(const cel_json *v);       // 0 for other kinds
double cel_json_number_value(const cel_json *v);     // of either kind
const char *cel_json_string_value(const cel_json *v);  // NUL-terminated, NULL for other kinds
size_t cel_json_string_length(const cel_json *v);      // bytes, NULs inside included

size_t cel_json_array_size(const cel_json *v);
cel_json *cel_json_array_get(const cel_json *v, size_t i);  // borrowed; NULL out of range
size_t cel_json_object_size(const cel_json *v);
cel_json *cel_json_object_get(const cel_json *v, const char *key);  // borrowed; NULL when absent
cel_json *cel_json_object_getn(const cel_json *v, const char *key, size_t n);
// Member i in the order of the file, i < size. The key is NUL-terminated and may hold NULs.
cel_str cel_json_object_key(const cel_json *v, size_t i);
cel_json *cel_json_object_value(const cel_json *v, size_t i);

// `k` a size_t, `item` a cel_json *.
#define cel_json_array_foreach(v, k, item) \
  for ((k) = 0; (k) < cel_json_array_size(v) && ((item) = cel_json_array_get((v), (k))) != NULL; (k)++)
// `k` a size_t, `name` a cel_str, `item` a cel_json *.
#define cel_json_object_foreach(v, k, name, item)                                                                   \
  for ((k) = 0; (k) < cel_json_object_size(v) &&                                                                    \
                ((name) = cel_json_object_key((v), (k)), (void)(name), (item) = cel_json_object_value((v), (k))) != NULL;         \
       (k)++)

bool cel_json_equal(const cel_json *a, const cel_json *b);  // integers and reals are different

// ---- building; NULL when memory is out -------------------------------------------------------------------

cel_json *cel_json_null(void);
cel_json *cel_json_boolean(bool v);
cel_json *cel_json_integer(int64_t v);
cel_json *cel_json_real(double v);  // NULL for what JSON cannot say (NaN, infinities)
cel_json *cel_json_string_new(cel_str s);  // NULL, too, when s is not UTF-8
cel_json *cel_json_string_of(const char *z);  // NULL, too, for NULL
cel_json *cel_json_array(void);
cel_json *cel_json_object(void);
cel_json *cel_json_deep_copy(const cel_json *v);

// From a pattern: {} and [] around, per value s (const char *, or s% with a size_t behind it), i (int), I (int64_t),
// b (int), f (double), n (null), o (a value, whose count is taken over, in any case); a key is like s. Blanks, commas and
// colons are for the reader. NULL as well when a text is not UTF-8 or a value NULL.
//   cel_json_pack("{s:s, s:[i,i]}", "name", name, "size", 3, 4)
cel_json *cel_json_pack(const char *how, ...);

// Count a document; both take NULL. A document whose count falls to 0 is freed.
cel_json *cel_json_incref(cel_json *v);
void cel_json_decref(cel_json *v);

// 0, or -1 when memory is out, a value is NULL or the container is of another kind; then nothing has changed. Those with
// _new take the caller's count of `value` over, in any case.
int cel_json_array_append_new(cel_json *to, cel_json *value);
int cel_json_array_remove(cel_json *from, size_t i);
int cel_json_object_set(cel_json *to, const char *key, cel_json *value);  // replaces what is there
int cel_json_object_set_new(cel_json *to, const char *key, cel_json *value);
int cel_json_object_setn(cel_json *to, const char *key, size_t n, cel_json *value);
int cel_json_object_setn_new(cel_json *to, const char *key, size_t n, cel_json *value);

// ---- writing ---------------------------------------------------------------------------------------------

typedef struct cel_json_style {
  int indent;       // spaces per level; 0: one line, without blanks
  bool ascii;       // other characters as \u escapes
  int real_digits;  // of reals, 1 to 17; 0: as many as reading them back needs
} cel_json_style;

// Appends v. Memory: see cel_buf.
void cel_json_write(cel_buf *b, const cel_json *v, cel_json_style style);
// Appends s as a JSON string with quotes; invalid UTF-8 becomes U+FFFD; non-ASCII is kept as it is.
void cel_json_add_string(cel_buf *b, cel_str s);
// Appends a number so that reading it gives the same double; NaN and infinities become null.
void cel_json_add_number(cel_buf *b, double x);

#endif
