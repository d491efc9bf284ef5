// Lookups in GGUF metadata that cel_gguf_read has already checked.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "model/gguf.h"
#include "model/tensor_list.h"
#include "model/widen.h"

static const struct { const char *name; int bytes; } types[CEL_GGUF_TYPES] = {
  [CEL_GGUF_U8] = {"u8", 1},     [CEL_GGUF_I8] = {"i8", 1},         [CEL_GGUF_U16] = {"u16", 2},
  [CEL_GGUF_I16] = {"i16", 2},   [CEL_GGUF_U32] = {"u32", 4},       [CEL_GGUF_I32] = {"i32", 4},
  [CEL_GGUF_F32] = {"f32", 4},   [CEL_GGUF_BOOL] = {"bool", 1},     [CEL_GGUF_STRING] = {"string", 0},
  [CEL_GGUF_ARRAY] = {"array", 0}, [CEL_GGUF_U64] = {"u64", 8},     [CEL_GGUF_I64] = {"i64", 8},
  [CEL_GGUF_F64] = {"f64", 8},
};

int cel_gguf_type_bytes(cel_gguf_type type) { return types[type].bytes; }
const char *cel_gguf_type_name(cel_gguf_type type) { return types[type].name; }

bool cel_gguf_is_int(cel_gguf_type type) {
  return types[type].bytes && type != CEL_GGUF_F32 && type != CEL_GGUF_F64 && type != CEL_GGUF_BOOL;
}

// u64 values above INT64_MAX come out as INT64_MAX: out of range for every field that is read.
int64_t cel_gguf_int_at(cel_gguf_type type, const uint8_t *at) {
  switch (type) {
    case CEL_GGUF_U8:
    case CEL_GGUF_BOOL: return at[0];
    case CEL_GGUF_I8: return (int8_t)at[0];
    case CEL_GGUF_U16: return cel_load_u16(at);
    case CEL_GGUF_I16: return (int16_t)cel_load_u16(at);
    case CEL_GGUF_U32: return cel_load_u32(at);
    case CEL_GGUF_I32: return (int32_t)cel_load_u32(at);
    case CEL_GGUF_U64: return cel_load_u64(at) > INT64_MAX ? INT64_MAX : (int64_t)cel_load_u64(at);
    case CEL_GGUF_I64: return (int64_t)cel_load_u64(at);
    default: return 0;
  }
}

cel_str cel_gguf_string_at(const uint8_t **at) {
  cel_str s = {(const char *)*at + 8, (size_t)cel_load_u64(*at)};
  *at += 8 + s.n;
  return s;
}

typedef struct wanted { const char *key; size_t n; } wanted;

static int against_key(const void *a, const void *b) {
  const wanted *w = a;
  const cel_gguf_value *v = b;
  int order = memcmp(w->key, v->key.p, CEL_MIN(w->n, v->key.n));
  return order ? order : w->n < v->key.n ? -1 : w->n > v->key.n;
}

const cel_gguf_value *cel_gguf_find(const cel_gguf *g, const char *key) {
  wanted w = {key, strlen(key)};
  return g->n_values ? bsearch(&w, g->values, (size_t)g->n_values, sizeof *g->values, against_key) : NULL;
}

static const cel_gguf_value *look(const cel_gguf *g, const char *key, bool *found) {
  const cel_gguf_value *v = cel_gguf_find(g, key);
  if (found) *found = v != NULL;
  return v;
}

static cel_status wrong_kind(const cel_gguf *g, const cel_gguf_value *v, const char *right, cel_err *err) {
  return cel_fail(err, CEL_MALFORMED, "%s: metadata \"%s\" is of type %s, %s is needed", g->file, cel_show(v->key).text,
                  types[v->type].name, right);
}

cel_status cel_gguf_int(const cel_gguf *g, const char *key, int64_t *out, bool *found, cel_err *err) {
  const cel_gguf_value *v = look(g, key, found);
  if (!v) return CEL_OK;
  if (!cel_gguf_is_int(v->type)) return wrong_kind(g, v, "an integer", err);
  *out = cel_gguf_int_at(v->type, v->at);
  return CEL_OK;
}

static double shortest(float x) {
  char text[40];
  for (int digits = 6; digits <= 9; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, (double)x);
    if (strtof(text, NULL) == x) return strtod(text, NULL);
  }
  return (double)x;  // NaN
}

cel_status cel_gguf_num(const cel_gguf *g, const char *key, double *out, bool *found, cel_err *err) {
  const cel_gguf_value *v = look(g, key, found);
  if (!v) return CEL_OK;
  if (v->type == CEL_GGUF_F32) {
    *out = shortest(cel_f32_from_bits(cel_load_u32(v->at)));
  } else if (v->type == CEL_GGUF_F64) {
    memcpy(out, v->at, sizeof *out);
  } else if (cel_gguf_is_int(v->type)) {
    *out = (double)cel_gguf_int_at(v->type, v->at);
  } else {
    return wrong_kind(g, v, "a number", err);
  }
  return CEL_OK;
}

cel_status cel_gguf_bool(const cel_gguf *g, const char *key, bool *out, bool *found, cel_err *err) {
  const cel_gguf_value *v = look(g, key, found);
  if (!v) return CEL_OK;
  if (v->type != CEL_GGUF_BOOL) return wrong_kind(g, v, "a boolean", err);
  *out = v->at[0] != 0;
  return CEL_OK;
}

cel_status cel_gguf_string(const cel_gguf *g, const char *key, cel_str *out, bool *found, cel_err *err) {
  const cel_gguf_value *v = look(g, key, found);
  if (!v) return CEL_OK;
  if (v->type != CEL_GGUF_STRING) return wrong_kind(g, v, "a string", err);
  const uint8_t *at = v->at;
  *out = cel_gguf_string_at(&at);
  return CEL_OK;
}
