#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_private.h"

// ---- documents -------------------------------------------------------------------------------------------

cel_json_doc *cel_json_doc_new(size_t first_block) {
  cel_json_doc *d = calloc(1, sizeof *d);
  if (!d) return NULL;
  atomic_init(&d->refs, 1);
  d->arena.block_bytes = first_block;
  d->seed[0] = cel_seed(d);
  d->seed[1] = cel_seed(&d->seed);
  return d;
}

// Documents that are held fall with their holder; a chain of them is as long as its builder made it, so no recursion.
void cel_json_doc_unref(cel_json_doc *doc) {
  cel_json_doc *dead = NULL;
  for (;;) {
    if (doc && atomic_fetch_sub_explicit(&doc->refs, 1, memory_order_acq_rel) == 1) {
      doc->next_dead = dead;
      dead = doc;
    }
    if (!dead) return;
    if (dead->n_holds > 0) {
      doc = dead->holds[--dead->n_holds];
      continue;
    }
    cel_json_doc *next = dead->next_dead;
    cel_arena_deinit(&dead->arena);
    free(dead->text);
    free(dead->holds);
    free(dead);
    dead = next;
    doc = NULL;
  }
}

static bool hold(cel_json_doc *d, cel_json_doc *other, bool count_it) {
  if (!other || other == d) {
    if (other && !count_it) cel_json_doc_unref(other);  // the caller's count; the caller still has d's own
    return true;
  }
  if (d->n_holds && d->holds[d->n_holds - 1] == other) {
    if (!count_it) cel_json_doc_unref(other);
    return true;
  }
  if (d->n_holds == d->cap_holds) {
    size_t cap = d->cap_holds ? 2 * d->cap_holds : 4;
    void *more = realloc(d->holds, cap * sizeof *d->holds);
    if (!more) return false;
    d->holds = more;
    d->cap_holds = cap;
  }
  if (count_it) atomic_fetch_add_explicit(&other->refs, 1, memory_order_relaxed);
  d->holds[d->n_holds++] = other;
  return true;
}

cel_json *cel_json_doc_value(cel_json_doc *doc, cel_json_kind kind) {
  if (doc->n_spare == 0) {
    uint32_t n = doc->chunk < 64 ? 2 * doc->chunk + (doc->chunk == 0) : doc->chunk;
    doc->spare = CEL_NEW_ARRAY(&doc->arena, cel_json, n);
    if (!doc->spare) return NULL;
    doc->n_spare = doc->chunk = n;
  }
  cel_json *v = doc->spare++;
  doc->n_spare--;
  v->kind = kind;
  v->doc = doc;
  return v;
}

const char *cel_json_doc_text(cel_json_doc *doc, cel_str s) {
  return s.n < SIZE_MAX / 4 ? cel_arena_dup(&doc->arena, s.p, s.n) : NULL;
}

cel_json *cel_json_incref(cel_json *v) {
  if (v && v->doc) atomic_fetch_add_explicit(&v->doc->refs, 1, memory_order_relaxed);
  return v;
}

void cel_json_decref(cel_json *v) {
  if (v && v->doc) cel_json_doc_unref(v->doc);
}

// ---- looking ---------------------------------------------------------------------------------------------

cel_json_kind cel_json_typeof(const cel_json *v) { return v->kind; }

static bool is(const cel_json *v, cel_json_kind kind) { return v && v->kind == kind; }

bool cel_json_is_null(const cel_json *v) { return is(v, CEL_JSON_NULL); }
bool cel_json_is_true(const cel_json *v) { return is(v, CEL_JSON_TRUE); }
bool cel_json_is_false(const cel_json *v) { return is(v, CEL_JSON_FALSE); }
bool cel_json_is_boolean(const cel_json *v) { return is(v, CEL_JSON_TRUE) || is(v, CEL_JSON_FALSE); }
bool cel_json_is_integer(const cel_json *v) { return is(v, CEL_JSON_INTEGER); }
bool cel_json_is_real(const cel_json *v) { return is(v, CEL_JSON_REAL); }
bool cel_json_is_number(const cel_json *v) { return is(v, CEL_JSON_INTEGER) || is(v, CEL_JSON_REAL); }
bool cel_json_is_string(const cel_json *v) { return is(v, CEL_JSON_STRING); }
bool cel_json_is_array(const cel_json *v) { return is(v, CEL_JSON_ARRAY); }
bool cel_json_is_object(const cel_json *v) { return is(v, CEL_JSON_OBJECT); }

int64_t cel_json_integer_value(const cel_json *v) { return cel_json_is_integer(v) ? v->as.integer : 0; }
double cel_json_real_value(const cel_json *v) { return cel_json_is_real(v) ? v->as.real : 0; }
double cel_json_number_value(const cel_json *v) {
  return cel_json_is_integer(v) ? (double)v->as.integer : cel_json_real_value(v);
}
const char *cel_json_string_value(const cel_json *v) { return cel_json_is_string(v) ? v->as.text.p : NULL; }
size_t cel_json_string_length(const cel_json *v) { return cel_json_is_string(v) ? v->as.text.n : 0; }

size_t cel_json_array_size(const cel_json *v) { return cel_json_is_array(v) ? v->as.array.n : 0; }
cel_json *cel_json_array_get(const cel_json *v, size_t i) { return i < cel_json_array_size(v) ? v->as.array.at[i] : NULL; }
size_t cel_json_object_size(const cel_json *v) { return cel_json_is_object(v) ? v->as.object.n : 0; }
cel_str cel_json_object_key(const cel_json *v, size_t i) {
  return i < cel_json_object_size(v) ? (cel_str){v->as.object.in->at[i].key, v->as.object.in->at[i].n} : (cel_str){"", 0};
}
cel_json *cel_json_object_value(const cel_json *v, size_t i) { return i < cel_json_object_size(v) ? v->as.object.in->at[i].value : NULL; }

static bool equal_objects(const cel_json *a, const cel_json *b) {
  if (a->as.object.n != b->as.object.n) return false;
  for (uint32_t i = 0; i < a->as.object.n; i++) {
    const cel_json_member *m = &a->as.object.in->at[i];
    if (!cel_json_equal(m->value, cel_json_object_getn(b, m->key, m->n))) return false;
  }
  return true;
}

static bool equal_arrays(const cel_json *a, const cel_json *b) {
  if (a->as.array.n != b->as.array.n) return false;
  for (size_t i = 0; i < a->as.array.n; i++) {
    if (!cel_json_equal(a->as.array.at[i], b->as.array.at[i])) return false;
  }
  return true;
}

bool cel_json_equal(const cel_json *a, const cel_json *b) {
  if (!a || !b || a->kind != b->kind) return false;
  switch (a->kind) {
    case CEL_JSON_INTEGER: return a->as.integer == b->as.integer;
    case CEL_JSON_REAL: return a->as.real == b->as.real;
    case CEL_JSON_STRING: return cel_str_eq(a->as.text, b->as.text);
    case CEL_JSON_ARRAY: return equal_arrays(a, b);
    case CEL_JSON_OBJECT: return equal_objects(a, b);
    default: return true;
  }
}

// ---- building --------------------------------------------------------------------------------------------

enum { SMALL_BLOCK = 64 };  // a document that is one value

static cel_json *alone(cel_json_kind kind) {
  cel_json_doc *doc = cel_json_doc_new(SMALL_BLOCK);
  cel_json *v = doc ? cel_json_doc_value(doc, kind) : NULL;
  if (!v && doc) cel_json_doc_unref(doc);
  return v;
}

// Nobody writes to these three: what has no document is neither counted nor changed.
static cel_json *constant(cel_json_kind kind) {
  static const cel_json values[] = {{.kind = CEL_JSON_NULL}, {.kind = CEL_JSON_FALSE}, {.kind = CEL_JSON_TRUE}};
  union {
    const cel_json *in;
    cel_json *out;
  } u = {&values[kind]};
  return u.out;
}

cel_json *cel_json_null(void) { return constant(CEL_JSON_NULL); }
cel_json *cel_json_boolean(bool v) { return constant(v ? CEL_JSON_TRUE : CEL_JSON_FALSE); }

cel_json *cel_json_integer(int64_t i) {
  cel_json *v = alone(CEL_JSON_INTEGER);
  if (v) v->as.integer = i;
  return v;
}

cel_json *cel_json_real(double x) {
  cel_json *v = isfinite(x) ? alone(CEL_JSON_REAL) : NULL;
  if (v) v->as.real = x;
  return v;
}

cel_json *cel_json_string_new(cel_str s) {
  cel_json *v = s.p && cel_utf8_valid(s.p, s.n) ? alone(CEL_JSON_STRING) : NULL;
  if (!v) return NULL;
  v->as.text = (cel_str){cel_json_doc_text(v->doc, s), s.n};
  if (v->as.text.p) return v;
  cel_json_decref(v);
  return NULL;
}

cel_json *cel_json_string_of(const char *z) { return z ? cel_json_string_new(cel_str_of(z)) : NULL; }

cel_json *cel_json_array(void) { return alone(CEL_JSON_ARRAY); }
cel_json *cel_json_object(void) { return alone(CEL_JSON_OBJECT); }

// Room for one more, in the document; what was outgrown stays there unused, no more than what is used.
static bool grow_array(cel_json *to) {
  uint32_t n = to->as.array.n, cap = to->as.array.cap;
  if (n < cap) return true;
  if (cap > UINT32_MAX / 4) return false;
  cap = cap ? 2 * cap : 4;
  cel_json **more = CEL_NEW_ARRAY(&to->doc->arena, cel_json *, cap);
  if (!more) return false;
  if (n) memcpy(more, to->as.array.at, n * sizeof *more);
  to->as.array.at = more;
  to->as.array.cap = cap;
  return true;
}

static bool grow_object(cel_json *to) {
  const cel_json_members *in = to->as.object.in;
  if (in && to->as.object.n < in->cap) return true;
  return cel_json_members_grow(to, in ? 2 * (size_t)in->cap : 4);
}

static int append(cel_json *to, cel_json *value, bool count_it) {
  if (!cel_json_is_array(to) || !value || !grow_array(to)) return -1;
  if (!hold(to->doc, value->doc, count_it)) return -1;
  to->as.array.at[to->as.array.n++] = value;
  return 0;
}

int cel_json_array_append_new(cel_json *to, cel_json *value) {
  if (append(to, value, false) == 0) return 0;
  cel_json_decref(value);
  return -1;
}

int cel_json_array_remove(cel_json *from, size_t i) {
  size_t n = cel_json_array_size(from);
  if (i >= n) return -1;
  memmove(from->as.array.at + i, from->as.array.at + i + 1, (n - i - 1) * sizeof *from->as.array.at);
  from->as.array.n--;
  return 0;
}

static cel_json_member *member_of(cel_json *o, cel_str key) {
  for (uint32_t i = 0; i < o->as.object.n; i++) {
    cel_json_member *m = &o->as.object.in->at[i];
    if (cel_str_eq((cel_str){m->key, m->n}, key)) return m;
  }
  return NULL;
}

static int add_member(cel_json *to, cel_str key, cel_json *value, bool count_it) {
  if (key.n > CEL_JSON_BYTES_MOST || !grow_object(to)) return -1;
  cel_json_member *m = &to->as.object.in->at[to->as.object.n];
  *m = (cel_json_member){.key = cel_json_doc_text(to->doc, key), .n = (uint32_t)key.n, .value = value};
  if (!m->key || !hold(to->doc, value->doc, true)) return -1;
  if (cel_json_index_add(to, to->as.object.n) != 0) return -1;
  to->as.object.n++;
  if (!count_it) cel_json_decref(value);
  return 0;
}

static int set(cel_json *to, cel_str key, cel_json *value, bool count_it) {
  if (!cel_json_is_object(to) || !key.p || !value || !cel_utf8_valid(key.p, key.n)) return -1;
  if (!cel_json_object_getn(to, key.p, key.n)) return add_member(to, key, value, count_it);
  if (!hold(to->doc, value->doc, count_it)) return -1;
  member_of(to, key)->value = value;
  return 0;
}

int cel_json_object_setn(cel_json *to, const char *key, size_t n, cel_json *value) { return set(to, (cel_str){key, n}, value, true); }

int cel_json_object_setn_new(cel_json *to, const char *key, size_t n, cel_json *value) {
  if (set(to, (cel_str){key, n}, value, false) == 0) return 0;
  cel_json_decref(value);
  return -1;
}

int cel_json_object_set(cel_json *to, const char *key, cel_json *value) { return cel_json_object_setn(to, key, key ? strlen(key) : 0, value); }
int cel_json_object_set_new(cel_json *to, const char *key, cel_json *value) {
  return cel_json_object_setn_new(to, key, key ? strlen(key) : 0, value);
}

// ---- copying ---------------------------------------------------------------------------------------------

static cel_json *copy_into(cel_json_doc *doc, const cel_json *v);

static bool copy_members(cel_json_doc *doc, const cel_json *v, cel_json *to) {
  uint32_t n = v->as.object.n;
  if (n && !cel_json_members_grow(to, n)) return false;
  for (uint32_t i = 0; i < n; i++) {
    const cel_json_member *m = &v->as.object.in->at[i];
    cel_json_member *c = &to->as.object.in->at[i];
    *c = (cel_json_member){.key = cel_json_doc_text(doc, (cel_str){m->key, m->n}), .n = m->n, .value = copy_into(doc, m->value)};
    if (!c->key || !c->value || cel_json_index_add(to, i) != 0) return false;
    to->as.object.n++;
  }
  return true;
}

static bool copy_items(cel_json_doc *doc, const cel_json *v, cel_json *to) {
  uint32_t n = v->as.array.n;
  to->as.array.at = CEL_NEW_ARRAY(&doc->arena, cel_json *, n);
  if (!to->as.array.at) return false;
  to->as.array.cap = n;
  for (uint32_t i = 0; i < n; i++) {
    if (!(to->as.array.at[i] = copy_into(doc, v->as.array.at[i]))) return false;
    to->as.array.n++;
  }
  return true;
}

// As deep as what was read (CEL_JSON_DEPTH_MOST) or built.
static cel_json *copy_into(cel_json_doc *doc, const cel_json *v) {
  if (!v->doc) return constant(v->kind);
  cel_json *to = cel_json_doc_value(doc, v->kind);
  if (!to) return NULL;
  switch (v->kind) {
    case CEL_JSON_STRING:
      to->as.text = (cel_str){cel_json_doc_text(doc, v->as.text), v->as.text.n};
      return to->as.text.p ? to : NULL;
    case CEL_JSON_ARRAY: return copy_items(doc, v, to) ? to : NULL;
    case CEL_JSON_OBJECT: return copy_members(doc, v, to) ? to : NULL;
    default: to->as = v->as; return to;
  }
}

cel_json *cel_json_deep_copy(const cel_json *v) {
  cel_json_doc *doc = v ? cel_json_doc_new(SMALL_BLOCK) : NULL;
  if (!doc) return NULL;
  cel_json *copy = copy_into(doc, v);
  if (!copy || !copy->doc) cel_json_doc_unref(doc);
  return copy;
}
