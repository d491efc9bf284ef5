// Attributes: making them and looking them up.
#include <stdlib.h>
#include <string.h>

#include "backend/xla/hlo/infer.h"

static cel_hlo_attr *make(cel_hlo_module *m, const char *name, cel_hlo_attr_kind kind) {
  cel_hlo_attr *a = CEL_NEW(&m->arena, cel_hlo_attr);
  if (!a) return NULL;
  a->kind = kind;
  if (name && !(a->name = cel_arena_dup(&m->arena, name, strlen(name)))) return NULL;
  return a;
}

static cel_hlo_attr *make_text(cel_hlo_module *m, const char *name, cel_hlo_attr_kind kind, cel_str text) {
  cel_hlo_attr *a = make(m, name, kind);
  if (!a || !(a->s = cel_arena_dup(&m->arena, text.p, text.n))) return NULL;
  a->n = (int64_t)text.n;
  return a;
}

cel_hlo_attr *cel_hlo_make_unit(cel_hlo_module *m, const char *name) { return make(m, name, CEL_HLO_ATTR_UNIT); }

cel_hlo_attr *cel_hlo_make_bool(cel_hlo_module *m, const char *name, bool value) {
  cel_hlo_attr *a = make(m, name, CEL_HLO_ATTR_BOOL);
  if (a) a->i = value;
  return a;
}

cel_hlo_attr *cel_hlo_make_int(cel_hlo_module *m, const char *name, cel_etype e, int64_t value) {
  cel_hlo_attr *a = make(m, name, CEL_HLO_ATTR_INT);
  if (!a || !(a->type = cel_hlo_scalar_type(m, e))) return NULL;
  a->i = value;
  return a;
}

cel_hlo_attr *cel_hlo_make_float(cel_hlo_module *m, const char *name, cel_etype e, double value) {
  cel_hlo_attr *a = make(m, name, CEL_HLO_ATTR_FLOAT);
  if (!a || !(a->type = cel_hlo_scalar_type(m, e))) return NULL;
  a->f = value;
  return a;
}

cel_hlo_attr *cel_hlo_make_string(cel_hlo_module *m, const char *name, cel_str value) {
  return make_text(m, name, CEL_HLO_ATTR_STRING, value);
}
cel_hlo_attr *cel_hlo_make_symbol(cel_hlo_module *m, const char *name, cel_str value) {
  return make_text(m, name, CEL_HLO_ATTR_SYMBOL, value);
}
cel_hlo_attr *cel_hlo_make_enum(cel_hlo_module *m, const char *name, cel_str word) {
  return make_text(m, name, CEL_HLO_ATTR_ENUM, word);
}
cel_hlo_attr *cel_hlo_make_raw(cel_hlo_module *m, const char *name, cel_str text) {
  return make_text(m, name, CEL_HLO_ATTR_RAW, text);
}

cel_hlo_attr *cel_hlo_make_ints(cel_hlo_module *m, const char *name, const int64_t *values, int64_t n) {
  cel_hlo_attr *a = make(m, name, CEL_HLO_ATTR_INTS);
  int64_t *copy = a ? CEL_NEW_ARRAY(&m->arena, int64_t, n) : NULL;
  if (!copy) return NULL;
  if (n) memcpy(copy, values, (size_t)n * sizeof *copy);
  a->ints = copy;
  a->n = n;
  return a;
}

static int by_name(const void *a, const void *b) {
  const cel_hlo_attr *x = *(cel_hlo_attr *const *)a, *y = *(cel_hlo_attr *const *)b;
  return strcmp(x->name ? x->name : "", y->name ? y->name : "");
}

static cel_hlo_attr *make_items(cel_hlo_module *m, const char *name, cel_hlo_attr_kind kind,
                                cel_hlo_attr *const *items, int64_t n) {
  cel_hlo_attr *a = make(m, name, kind);
  cel_hlo_attr **copy = a ? CEL_NEW_ARRAY(&m->arena, cel_hlo_attr *, n) : NULL;
  if (!copy) return NULL;
  for (int64_t i = 0; i < n; i++)
    if (!(copy[i] = items[i])) return NULL;
  if (kind == CEL_HLO_ATTR_DICT && n > 1) qsort(copy, (size_t)n, sizeof *copy, by_name);
  a->list = copy;
  a->n = n;
  return a;
}

cel_hlo_attr *cel_hlo_make_list(cel_hlo_module *m, const char *name, cel_hlo_attr *const *items, int64_t n) {
  return make_items(m, name, CEL_HLO_ATTR_LIST, items, n);
}
cel_hlo_attr *cel_hlo_make_dict(cel_hlo_module *m, const char *name, cel_hlo_attr *const *items, int64_t n) {
  return make_items(m, name, CEL_HLO_ATTR_DICT, items, n);
}

cel_hlo_attr *cel_hlo_make_type(cel_hlo_module *m, const char *name, const cel_hlo_type *type) {
  cel_hlo_attr *a = make(m, name, CEL_HLO_ATTR_TYPE);
  if (a) a->type = type;
  return a;
}

// Whether the n elements of `size` bytes each have the bits of the first.
static bool all_equal(const unsigned char *data, int64_t n, size_t size) {
  return n > 0 && memcmp(data, data + size, (size_t)(n - 1) * size) == 0;
}

cel_hlo_attr *cel_hlo_make_dense(cel_hlo_module *m, const char *name, const cel_hlo_type *type, const void *data,
                                 bool splat) {
  cel_hlo_attr *a = make(m, name, CEL_HLO_ATTR_DENSE);
  if (!a) return NULL;
  int64_t n = cel_hlo_elements(type);
  size_t size = (size_t)cel_etype_bytes(type->etype);
  a->type = type;
  a->splat = n > 0 && (splat || all_equal(data, n, size));
  size_t bytes = a->splat ? size : (size_t)n * size;
  void *copy = cel_arena_alloc(&m->arena, bytes);
  if (!copy) return NULL;
  if (bytes) memcpy(copy, data, bytes);
  a->data = copy;
  return a;
}

// ---- looking -----------------------------------------------------------------------------------

const cel_hlo_attr *cel_hlo_find_attr(const cel_hlo_op *op, const char *name) {
  for (int i = 0; i < op->n_attrs; i++)
    if (op->attrs[i]->name && strcmp(op->attrs[i]->name, name) == 0) return op->attrs[i];
  return NULL;
}

const cel_hlo_attr *cel_hlo_dict_get(const cel_hlo_attr *dict, const char *name) {
  if (!dict || dict->kind != CEL_HLO_ATTR_DICT) return NULL;
  for (int64_t i = 0; i < dict->n; i++)
    if (dict->list[i]->name && strcmp(dict->list[i]->name, name) == 0) return dict->list[i];
  return NULL;
}

int64_t cel_hlo_attr_int(const cel_hlo_op *op, const char *name, int64_t otherwise) {
  const cel_hlo_attr *a = cel_hlo_find_attr(op, name);
  return a && (a->kind == CEL_HLO_ATTR_INT || a->kind == CEL_HLO_ATTR_BOOL) ? a->i : otherwise;
}

int64_t cel_hlo_dense_int(const cel_hlo_attr *dense, int64_t i) {
  int64_t bytes = cel_etype_bytes(dense->type->etype), v = 0;
  const unsigned char *p = (const unsigned char *)dense->data + (dense->splat ? 0 : i * bytes);
  if (bytes > 8) return 0;
  uint64_t u = 0;
  for (int64_t k = bytes; k-- > 0;) u = u << 8 | p[k];
  if (cel_etype_class(dense->type->etype) == 'S' && bytes < 8 && u >> (8 * bytes - 1))
    u |= ~(uint64_t)0 << (8 * bytes);
  memcpy(&v, &u, sizeof v);
  return v;
}

int cel_hlo_attr_ints(const cel_hlo_op *op, const char *name, int64_t *out, int most, int otherwise) {
  const cel_hlo_attr *a = cel_hlo_find_attr(op, name);
  if (!a) return otherwise;
  if (a->kind == CEL_HLO_ATTR_INTS) {
    for (int64_t i = 0; i < a->n && i < most; i++) out[i] = a->ints[i];
    return a->n > INT32_MAX ? INT32_MAX : (int)a->n;
  }
  if (a->kind != CEL_HLO_ATTR_DENSE || a->type->kind != CEL_HLO_KIND_TENSOR) return otherwise;
  char class = cel_etype_class(a->type->etype);
  if (class == 'F' || class == 'C') return otherwise;
  int64_t n = cel_hlo_elements(a->type);
  for (int64_t i = 0; i < n && i < most; i++) out[i] = cel_hlo_dense_int(a, i);
  return n > INT32_MAX ? INT32_MAX : (int)n;
}
