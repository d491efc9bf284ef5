// The GGUF container, versions 2 and 3: typed metadata, tensor infos, aligned data. Reading checks every
// count and size against what is left of the file before anything is allocated or followed; what the
// metadata means is gguf_config.c's and gguf_vocab.c's matter.
#ifndef CEL_MODEL_GGUF_H
#define CEL_MODEL_GGUF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"
#include "model/dtype.h"

typedef enum cel_gguf_type {  // numbers of the format
  CEL_GGUF_U8, CEL_GGUF_I8, CEL_GGUF_U16, CEL_GGUF_I16, CEL_GGUF_U32, CEL_GGUF_I32, CEL_GGUF_F32, CEL_GGUF_BOOL,
  CEL_GGUF_STRING, CEL_GGUF_ARRAY, CEL_GGUF_U64, CEL_GGUF_I64, CEL_GGUF_F64,
  CEL_GGUF_TYPES
} cel_gguf_type;

typedef struct cel_gguf_value {
  cel_str key;
  cel_gguf_type type;
  cel_gguf_type item_type;  // ARRAY only
  int64_t count;            // ARRAY: items; otherwise 1
  const uint8_t *at;        // scalars: the value; STRING: its length word; ARRAY: the first item. Unaligned
} cel_gguf_value;

enum { CEL_GGUF_MAX_RANK = 4 };

typedef struct cel_gguf_tensor {
  cel_str name;
  cel_dtype dtype;
  int rank;
  int64_t dims[CEL_GGUF_MAX_RANK];  // as in the file: innermost first
  int64_t offset, bytes;            // offset from the file's start
} cel_gguf_tensor;

typedef struct cel_gguf {
  const char *file;  // for messages; lives as long
  const uint8_t *data;
  int version;
  const cel_gguf_value *values;  // sorted by key
  int64_t n_values;
  const cel_gguf_tensor *tensors;  // as in the file
  int64_t n_tensors;
} cel_gguf;

// Reads the header of a whole file in memory. *out borrows `data` and `file`, and its lists live in `arena`.
CEL_MUST_CHECK cel_status cel_gguf_read(const uint8_t *data, int64_t bytes, const char *file, cel_arena *arena,
                                        cel_gguf *out, cel_err *err);

const cel_gguf_value *cel_gguf_find(const cel_gguf *g, const char *key);  // NULL when absent

// Typed lookups. An absent key leaves *out as it is and is no error; *found (may be NULL) tells. A value of
// the wrong kind is an error that names key and type. Any integer type does for int, any number for num.
CEL_MUST_CHECK cel_status cel_gguf_int(const cel_gguf *g, const char *key, int64_t *out, bool *found, cel_err *err);
// f32 values become the double of their shortest decimal text (1e-5, not 9.99999974738e-06), which is the
// number that the file's maker had.
CEL_MUST_CHECK cel_status cel_gguf_num(const cel_gguf *g, const char *key, double *out, bool *found, cel_err *err);
CEL_MUST_CHECK cel_status cel_gguf_bool(const cel_gguf *g, const char *key, bool *out, bool *found, cel_err *err);
CEL_MUST_CHECK cel_status cel_gguf_string(const cel_gguf *g, const char *key, cel_str *out, bool *found, cel_err *err);
// Item i of an array of integers or booleans; the caller has checked the item type with cel_gguf_is_int.
int64_t cel_gguf_int_at(cel_gguf_type type, const uint8_t *at);
bool cel_gguf_is_int(cel_gguf_type type);
int cel_gguf_type_bytes(cel_gguf_type type);  // 0 for STRING and ARRAY
const char *cel_gguf_type_name(cel_gguf_type type);
// The string at *at, which moves behind it. Only for places that cel_gguf_read has checked.
cel_str cel_gguf_string_at(const uint8_t **at);

#endif
