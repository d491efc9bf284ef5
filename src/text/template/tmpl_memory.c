// Memory, limits and failures of a render; dicts; text being built.
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "text/template/tmpl_render.h"

enum { SMALL_DICT = 8 };  // searched one by one

static cel_status fail_at(cel_trender *r, cel_status status, const char *fmt, va_list args) {
  char what[CEL_ERR_TEXT_BYTES];
  vsnprintf(what, sizeof what, fmt, args);
  uint32_t line = r->at ? r->at->line : 1, column = r->at ? r->at->column : 1;
  return cel_fail(r->err, status, "%.100s:%u:%u: %.800s", r->t->name, line, column, what);
}

cel_status cel_tfail(cel_trender *r, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  cel_status s = fail_at(r, CEL_MALFORMED, fmt, args);
  va_end(args);
  return s;
}

cel_status cel_tfail_limit(cel_trender *r, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  cel_status s = fail_at(r, CEL_TOO_LONG, fmt, args);
  va_end(args);
  return s;
}

cel_status cel_tfail_undefined(cel_trender *r, cel_tval v) { return cel_tfail(r, "%.*s", CEL_STR_ARG(cel_tview_str(v))); }

cel_status cel_tcharge(cel_trender *r, int64_t n) {
  r->steps += 1 + n / 64;
  if (r->steps <= r->limits.steps) return CEL_OK;
  return cel_tfail_limit(r, "the template takes more than %lld steps", (long long)r->limits.steps);
}

cel_status cel_tenter(cel_trender *r) {
  if (++r->depth <= r->limits.depth) return CEL_OK;
  return cel_tfail_limit(r, "nested deeper than %d (expressions, statements and macros)", r->limits.depth);
}

static bool take_memory(cel_trender *r, int64_t bytes) {
  if (bytes > r->limits.memory_bytes - r->memory) {
    r->failed = cel_tfail_limit(r, "the template's values need more than %lld bytes", (long long)r->limits.memory_bytes);
    return false;
  }
  r->memory += bytes;
  return true;
}

void *cel_talloc(cel_trender *r, int64_t n, size_t each) {
  if (n < 0 || (uint64_t)n > (uint64_t)INT64_MAX / 2 / each) n = INT64_MAX / 2 / (int64_t)each;
  if (!take_memory(r, (n * (int64_t)each + 15) & ~(int64_t)15)) return NULL;
  void *p = cel_arena_alloc(&r->arena, (size_t)n * each);
  if (!p) r->failed = cel_fail_oom(r->err, "a value of a template");
  return p;
}

cel_status cel_tlist_new(cel_trender *r, int64_t n, cel_tlist **out) {
  cel_tlist *l = CEL_TNEW(r, cel_tlist, 1);
  if (!l) return r->failed;
  l->n = n;
  l->at = CEL_TNEW(r, cel_tval, n);
  *out = l;
  return l->at ? CEL_OK : r->failed;
}

cel_status cel_tcopy_str(cel_trender *r, cel_str s, cel_tval *out) {
  char *p = CEL_TNEW(r, char, (int64_t)s.n);
  if (!p) return r->failed;
  if (s.n) memcpy(p, s.p, s.n);
  *out = cel_tstr((cel_str){p, s.n});
  return cel_tcharge(r, (int64_t)s.n);
}

cel_status cel_tprintf_str(cel_trender *r, cel_tval *out, const char *fmt, ...) {
  char text[512];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  return cel_tcopy_str(r, cel_str_of(text), out);
}

cel_status cel_tgrow_add(cel_trender *r, cel_tgrow *g, cel_tval v) {
  if (g->n == g->cap) {
    int64_t cap = g->cap ? g->cap * 2 : 8;
    cel_tval *more = CEL_TNEW(r, cel_tval, cap);
    if (!more) return r->failed;
    if (g->n) memcpy(more, g->at, (size_t)g->n * sizeof *more);
    g->at = more, g->cap = cap;
  }
  g->at[g->n++] = v;
  return CEL_OK;
}

cel_status cel_tgrow_list(cel_trender *r, const cel_tgrow *g, cel_tkind kind, cel_tval *out) {
  cel_tlist *l = CEL_TNEW(r, cel_tlist, 1);
  if (!l) return r->failed;
  l->n = g->n, l->at = g->at;
  *out = cel_tseq(kind, l);
  return CEL_OK;
}

cel_status cel_titer_of(cel_trender *r, cel_tlist *list, cel_tval *out) {
  cel_titems *it = CEL_TNEW(r, cel_titems, 1);
  if (!it) return r->failed;
  it->list = list;
  *out = (cel_tval){.kind = CEL_T_ITER, .as.iter = it};
  return CEL_OK;
}

// ---- JSON to values ----

static cel_status from_array(cel_trender *r, const cel_json *j, int depth, cel_tval *out) {
  cel_tlist *l;
  CEL_TRY(cel_tlist_new(r, (int64_t)cel_json_array_size(j), &l));
  for (int64_t i = 0; i < l->n; i++) CEL_TRY(cel_tfrom_json(r, cel_json_array_get(j, (size_t)i), depth + 1, &l->at[i]));
  *out = cel_tseq(CEL_T_LIST, l);
  return CEL_OK;
}

static cel_status from_object(cel_trender *r, const cel_json *j, int depth, cel_tval *out) {
  cel_tdict *d;
  CEL_TRY(cel_tdict_new(r, (int64_t)cel_json_object_size(j), &d));
  size_t i;
  cel_str name;
  cel_json *member;
  cel_json_object_foreach(j, i, name, member) {
    cel_tval key = cel_tstr(name), value;
    CEL_TRY(cel_tfrom_json(r, member, depth + 1, &value));
    CEL_TRY(cel_tdict_set(r, d, key, value));
  }
  *out = cel_tdictv(d);
  return CEL_OK;
}

cel_status cel_tfrom_json(cel_trender *r, const cel_json *j, int depth, cel_tval *out) {
  if (depth > CEL_T_DATA_DEPTH) return cel_tfail_limit(r, "the variables are nested deeper than %d", CEL_T_DATA_DEPTH);
  switch (cel_json_typeof(j)) {
    case CEL_JSON_OBJECT: return from_object(r, j, depth, out);
    case CEL_JSON_ARRAY: return from_array(r, j, depth, out);
    case CEL_JSON_STRING:
      if (cel_json_string_length(j) > UINT32_MAX / 2) return cel_tfail_limit(r, "a string of 2 GiB or more");
      *out = cel_tstr((cel_str){cel_json_string_value(j), cel_json_string_length(j)});
      return CEL_OK;
    case CEL_JSON_INTEGER: *out = cel_tint(cel_json_integer_value(j)); return CEL_OK;
    case CEL_JSON_REAL: *out = cel_tfloat(cel_json_real_value(j)); return CEL_OK;
    case CEL_JSON_TRUE:
    case CEL_JSON_FALSE: *out = cel_tbool(cel_json_is_true(j)); return CEL_OK;
    case CEL_JSON_NULL: break;
  }
  *out = cel_tnone();
  return CEL_OK;
}

// ---- dicts ----

bool cel_thashable(cel_tval v) {
  if (v.kind == CEL_T_LIST || v.kind == CEL_T_DICT) return false;
  if (v.kind != CEL_T_TUPLE) return true;
  for (int64_t i = 0; i < v.as.list->n; i++) {
    cel_tval item = v.as.list->at[i];
    if (item.kind == CEL_T_TUPLE || !cel_thashable(item)) return false;  // one level is enough for keys
  }
  return true;
}

static uint64_t mix(uint64_t h, uint64_t x) {
  h = (h ^ x) * 0x9E3779B97F4A7C15u;
  return h ^ (h >> 29);
}

// Equal keys have equal hashes: numbers of one value whatever their type.
static uint64_t hash_value(cel_tval v) {
  uint64_t h = 1469598103934665603u;
  switch (v.kind) {
    case CEL_T_STR:
      for (uint32_t i = 0; i < v.n; i++) h = (h ^ (unsigned char)v.as.s[i]) * 1099511628211u;
      return h ^ (h >> 32);
    case CEL_T_BOOL:
    case CEL_T_INT: return mix(h, (uint64_t)cel_tint_of(v));
    case CEL_T_FLOAT:
      if (v.as.f == floor(v.as.f) && fabs(v.as.f) < 9e18) return mix(h, (uint64_t)(int64_t)v.as.f);
      memcpy(&h, &v.as.f, sizeof h);
      return mix(h, 7);
    case CEL_T_TUPLE:
      for (int64_t i = 0; i < v.as.list->n; i++) h = mix(h, hash_value(v.as.list->at[i]));
      return h;
    default: return mix(h, v.kind);
  }
}

cel_status cel_tdict_new(cel_trender *r, int64_t room, cel_tdict **out) {
  cel_tdict *d = CEL_TNEW(r, cel_tdict, 1);
  if (!d) return r->failed;
  d->cap = room;
  d->at = CEL_TNEW(r, cel_tpair, room);
  *out = d;
  return d->at ? CEL_OK : r->failed;
}

static void index_put(cel_tdict *d, int64_t i) {
  uint32_t at = (uint32_t)hash_value(d->at[i].key) & (d->n_index - 1);
  while (d->index[at]) at = (at + 1) & (d->n_index - 1);
  d->index[at] = (uint32_t)i + 1;
}

static cel_status rebuild_index(cel_trender *r, cel_tdict *d) {
  uint32_t size = 32;
  while ((int64_t)size < d->cap * 2) size *= 2;
  d->index = CEL_TNEW(r, uint32_t, size);
  if (!d->index) return r->failed;
  d->n_index = size;
  for (int64_t i = 0; i < d->n; i++) index_put(d, i);
  return CEL_OK;
}

static cel_status find_place(cel_trender *r, const cel_tdict *d, cel_tval key, int64_t *place) {
  bool same;
  *place = -1;
  uint32_t at = d->index ? (uint32_t)hash_value(key) & (d->n_index - 1) : 0;
  for (int64_t i = 0; i < d->n; i++) {
    int64_t candidate = i;
    if (d->index) {
      if (!d->index[at]) return CEL_OK;
      candidate = (int64_t)d->index[at] - 1;
      at = (at + 1) & (d->n_index - 1);
    }
    CEL_TRY(cel_tequal(r, d->at[candidate].key, key, &same));
    if (same) {
      *place = candidate;
      return CEL_OK;
    }
  }
  return CEL_OK;
}

static cel_status grow_dict(cel_trender *r, cel_tdict *d) {
  int64_t cap = d->cap < 4 ? 4 : d->cap * 2;
  cel_tpair *more = CEL_TNEW(r, cel_tpair, cap);
  if (!more) return r->failed;
  if (d->n) memcpy(more, d->at, (size_t)d->n * sizeof *more);
  d->at = more, d->cap = cap;
  d->index = NULL;
  return CEL_OK;
}

cel_status cel_tdict_set(cel_trender *r, cel_tdict *d, cel_tval key, cel_tval value) {
  int64_t place;
  if (!cel_thashable(key)) return cel_tfail(r, "a %s cannot be the key of a dict", cel_ttype(key));
  CEL_TRY(find_place(r, d, key, &place));
  if (place >= 0) {
    d->at[place].value = value;
    return CEL_OK;
  }
  if (d->n == d->cap) CEL_TRY(grow_dict(r, d));
  d->at[d->n++] = (cel_tpair){key, value};
  if (d->index) {
    index_put(d, d->n - 1);
  } else if (d->n > SMALL_DICT) {
    CEL_TRY(rebuild_index(r, d));
  }
  return CEL_OK;
}

cel_status cel_tdict_get(cel_trender *r, const cel_tdict *d, cel_tval key, cel_tval *out) {
  int64_t place;
  if (!cel_thashable(key)) return cel_tfail(r, "a %s cannot be the key of a dict", cel_ttype(key));
  CEL_TRY(find_place(r, d, key, &place));
  *out = place < 0 ? (cel_tval){.kind = CEL_T_MISSING} : d->at[place].value;
  return CEL_OK;
}

cel_tval cel_tdict_get_str(const cel_tdict *d, cel_str key) {
  cel_tval k = cel_tstr(key);
  uint32_t at = d->index ? (uint32_t)hash_value(k) & (d->n_index - 1) : 0;
  for (int64_t i = 0; i < d->n; i++) {
    int64_t candidate = i;
    if (d->index) {
      if (!d->index[at]) break;
      candidate = (int64_t)d->index[at] - 1;
      at = (at + 1) & (d->n_index - 1);
    }
    const cel_tpair *p = &d->at[candidate];
    if (p->key.kind == CEL_T_STR && cel_str_eq(cel_tview_str(p->key), key)) return p->value;
  }
  return (cel_tval){.kind = CEL_T_MISSING};
}

// ---- text ----

cel_status cel_ttext_begin(cel_trender *r) {
  cel_ttext *t = r->free_texts;
  if (t) {
    r->free_texts = t->below;
    cel_buf_clear(&t->b);
  } else {
    t = calloc(1, sizeof *t);
    if (!t) return cel_fail_oom(r->err, "text of a template");
  }
  t->below = r->out;
  r->out = t;
  return CEL_OK;
}

cel_status cel_ttext_end(cel_trender *r, cel_tval *out) {
  cel_ttext *t = r->out;
  if (t->b.failed) return cel_fail_oom(r->err, "text of a template");
  CEL_TRY(cel_tcopy_str(r, cel_buf_str(&t->b), out));
  r->out = t->below;
  t->below = r->free_texts;
  r->free_texts = t;
  if (t->b.cap > 1 << 16) cel_buf_deinit(&t->b);
  return CEL_OK;
}

cel_status cel_tput(cel_trender *r, const char *p, size_t n) {
  cel_buf *b = &r->out->b;
  if ((int64_t)n > r->limits.output_bytes - (int64_t)b->n) {
    return cel_tfail_limit(r, "text of more than %lld bytes", (long long)r->limits.output_bytes);
  }
  if (r->out->below && !take_memory(r, (int64_t)n)) return r->failed;  // text inside text counts as a value
  cel_buf_add(b, p, n);
  if (b->failed) return cel_fail_oom(r->err, "text of a template");
  return n < 64 ? CEL_OK : cel_tcharge(r, (int64_t)n);
}

cel_status cel_tputz(cel_trender *r, const char *z) { return cel_tput(r, z, strlen(z)); }
