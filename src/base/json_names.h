// The names that callers not yet renamed use. To be removed with the last of them.
#ifndef CEL_BASE_JSON_NAMES_H
#define CEL_BASE_JSON_NAMES_H

#include <stdio.h>
#include <stdlib.h>

typedef cel_json json_t;
typedef int64_t json_int_t;

#define json_typeof cel_json_typeof
#define json_is_null cel_json_is_null
#define json_is_true cel_json_is_true
#define json_is_false cel_json_is_false
#define json_is_boolean cel_json_is_boolean
#define json_is_integer cel_json_is_integer
#define json_is_real cel_json_is_real
#define json_is_number cel_json_is_number
#define json_is_string cel_json_is_string
#define json_is_array cel_json_is_array
#define json_is_object cel_json_is_object
#define json_integer_value cel_json_integer_value
#define json_real_value cel_json_real_value
#define json_number_value cel_json_number_value
#define json_string_value cel_json_string_value
#define json_string_length cel_json_string_length
#define json_array_size cel_json_array_size
#define json_array_get cel_json_array_get
#define json_object_size cel_json_object_size
#define json_object_get cel_json_object_get
#define json_object_getn cel_json_object_getn
#define json_equal cel_json_equal
#define json_null cel_json_null
#define json_boolean cel_json_boolean
#define json_integer cel_json_integer
#define json_real cel_json_real
#define json_string(z) cel_json_string_new(cel_str_of(z))
#define json_stringn(p, n) cel_json_string_new((cel_str){(p), (n)})
#define json_array cel_json_array
#define json_object cel_json_object
#define json_deep_copy cel_json_deep_copy
#define json_incref cel_json_incref
#define json_decref cel_json_decref
#define json_array_append_new cel_json_array_append_new
#define json_array_remove cel_json_array_remove
#define json_object_set cel_json_object_set
#define json_object_set_new cel_json_object_set_new
#define json_object_setn cel_json_object_setn
#define json_object_setn_new cel_json_object_setn_new
#define json_pack cel_json_pack
#define JSON_ENCODE_ANY 0
#define JSON_PRESERVE_ORDER 0
#define JSON_COMPACT 0
#define JSON_ENSURE_ASCII 64
#define JSON_INDENT(n) (n)
static inline char *json_dumps(const cel_json *v, int flags) {
  cel_buf b = {0};
  cel_json_write(&b, v, (cel_json_style){.indent = flags & 31, .ascii = (flags & JSON_ENSURE_ASCII) != 0});
  return cel_buf_take(&b);
}
#define json_array_foreach cel_json_array_foreach
#define json_object_foreach(v, name, item)                                                                              \
  for (size_t name##_at = 0; name##_at < cel_json_object_size(v) &&                                                     \
       ((name) = cel_json_object_key((v), name##_at).p, (void)(name), (item) = cel_json_object_value((v), name##_at)) != NULL; name##_at++)

#endif
