// Metadata of one architecture looked up, and keys of the config put.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/gguf_reading.h"

cel_status cel_gguf_put_int(cel_gguf_maker *m, const char *key, int64_t v) {
  return cel_gguf_put(m->config, key, cel_json_integer(v), m->err);
}

cel_status cel_gguf_put_bool(cel_gguf_maker *m, const char *key, bool v) {
  return cel_gguf_put(m->config, key, cel_json_boolean(v), m->err);
}

cel_status cel_gguf_put_word(cel_gguf_maker *m, const char *key, const char *v) {
  return cel_gguf_put(m->config, key, cel_json_string_of(v), m->err);
}

cel_status cel_gguf_put_null(cel_gguf_maker *m, const char *key) {
  return cel_gguf_put(m->config, key, cel_json_null(), m->err);
}

cel_status cel_gguf_put_num(cel_gguf_maker *m, cel_json *obj, const char *key, double v) {
  if (isfinite(v)) return cel_gguf_put(obj, key, cel_json_real(v), m->err);
  return cel_fail(m->err, CEL_MALFORMED, "%s: metadata \"%s\" is not a finite number", m->g->file, m->key);
}

const char *cel_gguf_key(cel_gguf_maker *m, const char *suffix) {
  snprintf(m->key, sizeof m->key, "%s.%s", m->arch->arch, suffix);
  return m->key;
}

static cel_status bad_size(cel_gguf_maker *m, int64_t v) {
  return cel_fail(m->err, CEL_MALFORMED, "%s: metadata \"%s\" is %lld, a positive 32-bit number is needed", m->g->file,
                  m->key, (long long)v);
}

static cel_status no_list(cel_gguf_maker *m, const cel_gguf_value *v) {
  return cel_fail(m->err, CEL_MALFORMED, "%s: metadata \"%s\" is an array of %lld %s, integers are needed", m->g->file,
                  m->key, (long long)v->count, cel_gguf_type_name(v->item_type));
}

int64_t cel_gguf_item(const cel_gguf_value *list, int64_t i) {
  return cel_gguf_int_at(list->item_type, list->at + i * cel_gguf_type_bytes(list->item_type));
}

// All items of a per-layer array, when they are equal.
static cel_status equal_items(cel_gguf_maker *m, const cel_gguf_value *v, int64_t *out) {
  if (!cel_gguf_is_int(v->item_type) || v->count < 1) return no_list(m, v);
  *out = cel_gguf_item(v, 0);
  for (int64_t i = 1; i < v->count; i++) {
    if (cel_gguf_item(v, i) == *out) continue;
    return cel_fail(m->err, CEL_UNSUPPORTED, "%s: metadata \"%s\" differs from layer to layer; only one value for all is "
                    "supported", m->g->file, m->key);
  }
  return CEL_OK;
}

cel_status cel_gguf_size(cel_gguf_maker *m, const char *suffix, int64_t *out) {
  const cel_gguf_value *v = cel_gguf_find(m->g, cel_gguf_key(m, suffix));
  *out = 0;
  if (!v) return CEL_OK;
  if (v->type == CEL_GGUF_ARRAY) {
    CEL_TRY(equal_items(m, v, out));
  } else {
    CEL_TRY(cel_gguf_int(m->g, m->key, out, NULL, m->err));
  }
  return *out >= 0 && *out <= INT32_MAX ? CEL_OK : bad_size(m, *out);
}

cel_status cel_gguf_require_size(cel_gguf_maker *m, const char *suffix, const char *key, int64_t *out) {
  CEL_TRY(cel_gguf_size(m, suffix, out));
  if (*out > 0) return key ? cel_gguf_put_int(m, key, *out) : CEL_OK;
  if (cel_gguf_find(m->g, m->key)) return bad_size(m, *out);
  return cel_fail(m->err, CEL_MALFORMED, "%s: metadata \"%s\" is missing", m->g->file, m->key);
}

cel_status cel_gguf_real(cel_gguf_maker *m, const char *suffix, double *out, bool *found) {
  return cel_gguf_num(m->g, cel_gguf_key(m, suffix), out, found, m->err);
}

cel_status cel_gguf_per_layer(cel_gguf_maker *m, const char *suffix, const cel_gguf_value **out) {
  const cel_gguf_value *v = cel_gguf_find(m->g, cel_gguf_key(m, suffix));
  *out = NULL;
  if (!v || v->type != CEL_GGUF_ARRAY) return CEL_OK;
  if (!cel_gguf_is_int(v->item_type) && v->item_type != CEL_GGUF_BOOL) return no_list(m, v);
  if (v->count < m->s.layers) {
    return cel_fail(m->err, CEL_MALFORMED, "%s: metadata \"%s\" has %lld items, the model %lld layers", m->g->file, m->key,
                    (long long)v->count, (long long)m->s.layers);
  }
  *out = v;
  return CEL_OK;
}

cel_status cel_gguf_copy_size(cel_gguf_maker *m, const char *suffix, const char *key) {
  int64_t v;
  CEL_TRY(cel_gguf_size(m, suffix, &v));
  return v ? cel_gguf_put_int(m, key, v) : CEL_OK;
}

cel_status cel_gguf_copy_real(cel_gguf_maker *m, cel_json *obj, const char *suffix, const char *key) {
  double v;
  bool found;
  CEL_TRY(cel_gguf_real(m, suffix, &v, &found));
  return found ? cel_gguf_put_num(m, obj, key, v) : CEL_OK;
}

cel_status cel_gguf_copy_bool(cel_gguf_maker *m, const char *suffix, const char *key) {
  bool v, found;
  CEL_TRY(cel_gguf_bool(m->g, cel_gguf_key(m, suffix), &v, &found, m->err));
  return found ? cel_gguf_put_bool(m, key, v) : CEL_OK;
}

const cel_tensor *cel_gguf_tensor_of(const cel_gguf_maker *m, const char *canonical) {
  return cel_tensor_list_find(m->list->items, m->list->n, canonical);
}

bool cel_gguf_in_layers(const cel_gguf_maker *m, const char *tail) {
  for (int64_t i = 0; i < m->s.layers && i < m->list->n; i++) {  // a layer without tensors is refused elsewhere
    char name[160];
    snprintf(name, sizeof name, "model.layers.%lld.%s", (long long)i, tail);
    if (cel_gguf_tensor_of(m, name)) return true;
  }
  return false;
}
