// The methods of the other types.
#include <math.h>

#include "text/template/tmpl_filter.h"

static cel_status view(const cel_tcallee *c, cel_tview which, cel_tval *out) {
  *out = (cel_tval){.kind = CEL_T_VIEW, .sub = (uint16_t)which, .as.dict = c->self.as.dict};
  return CEL_OK;
}

static cel_status m_keys(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  (void)r;
  return view(c, CEL_TVIEW_KEYS, out);
}
static cel_status m_values(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  (void)r;
  return view(c, CEL_TVIEW_VALUES, out);
}
static cel_status m_items(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  (void)r;
  return view(c, CEL_TVIEW_ITEMS, out);
}

static cel_status m_get(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  CEL_TRY(cel_tdict_get(r, c->self.as.dict, c->arg[0], out));
  if (!cel_tgiven(*out)) *out = cel_tgiven(c->arg[1]) ? c->arg[1] : cel_tnone();
  return CEL_OK;
}

static cel_status m_copy(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  (void)r;
  *out = c->self;  // nothing can change it
  return CEL_OK;
}

static const struct cel_tmethod_row dict_methods[] = {
    {"keys", "/", m_keys}, {"values", "/", m_values}, {"items", "/", m_items},
    {"get", "/key default?", m_get}, {"copy", "/", m_copy}, {NULL, NULL, NULL},
};

// ---- lists, tuples, ranges ----

static cel_status m_count(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  cel_twalk w;
  cel_tval item;
  int64_t n = 0;
  bool same;
  CEL_TRY(cel_twalk_begin(r, c->self, &w));
  for (;;) {
    CEL_TRY(cel_twalk_next(r, &w, &item));
    if (!cel_tgiven(item)) break;
    CEL_TRY(cel_tequal(r, item, c->arg[0], &same));
    n += same;
  }
  *out = cel_tint(n);
  return CEL_OK;
}

static cel_status m_index(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  int64_t n, start, stop;
  cel_tval item;
  bool same;
  CEL_TRY(cel_tlength(r, c->self, &n));
  CEL_TRY(cel_targ_int(r, c, 1, 0, &start));
  CEL_TRY(cel_targ_int(r, c, 2, n, &stop));
  if (start < 0) start = CEL_MAX(start + n, 0);
  if (stop < 0) stop += n;
  for (int64_t i = start; i < CEL_MIN(stop, n); i++) {
    CEL_TRY(cel_tget_item(r, c->self, cel_tint(i), &item));
    CEL_TRY(cel_tequal(r, item, c->arg[0], &same));
    if (!same) continue;
    *out = cel_tint(i);
    return CEL_OK;
  }
  return cel_tfail(r, "the value is not in the %s", cel_ttype(c->self));
}

static const struct cel_tmethod_row list_methods[] = {
    {"count", "/value", m_count}, {"index", "/value start? stop?", m_index}, {"copy", "/", m_copy}, {NULL, NULL, NULL},
};
static const struct cel_tmethod_row tuple_methods[] = {
    {"count", "/value", m_count}, {"index", "/value start? stop?", m_index}, {NULL, NULL, NULL},
};

// ---- numbers ----

static cel_status m_is_integer(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  (void)r;
  *out = cel_tbool(isfinite(c->self.as.f) && c->self.as.f == floor(c->self.as.f));
  return CEL_OK;
}

static cel_status m_bit_length(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  (void)r;
  int64_t n = 0, i = cel_tint_of(c->self);
  for (uint64_t x = i < 0 ? 0 - (uint64_t)i : (uint64_t)i; x; x >>= 1) n++;
  *out = cel_tint(n);
  return CEL_OK;
}

static const struct cel_tmethod_row float_methods[] = {{"is_integer", "/", m_is_integer}, {NULL, NULL, NULL}};
static const struct cel_tmethod_row int_methods[] = {{"bit_length", "/", m_bit_length}, {NULL, NULL, NULL}};

// ---- cyclers ----

static cel_status m_next(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  (void)r;
  cel_tcycle *y = c->self.as.cycle;
  *out = y->items->at[y->next];
  y->next = (y->next + 1) % y->items->n;
  return CEL_OK;
}

static cel_status m_reset(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  (void)r;
  c->self.as.cycle->next = 0;
  *out = cel_tnone();
  return CEL_OK;
}

static const struct cel_tmethod_row cycler_methods[] = {{"next", "/", m_next}, {"reset", "/", m_reset}, {NULL, NULL, NULL}};

// What the immutable sandbox closes.
static const char *const changing_dict[] = {"clear", "pop", "popitem", "setdefault", "update", NULL};
static const char *const changing_list[] = {"append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove", NULL};

const struct cel_tmethod_row *cel_tfind_method(cel_tval v, cel_str name, bool *unsafe) {
  const char *const *changing = v.kind == CEL_T_DICT ? changing_dict : v.kind == CEL_T_LIST ? changing_list : NULL;
  *unsafe = false;
  for (; changing && *changing; changing++) *unsafe |= cel_str_is(name, *changing);
  switch (v.kind) {
    case CEL_T_STR: return cel_tfind_row(cel_tstr_methods, name);
    case CEL_T_DICT: return cel_tfind_row(dict_methods, name);
    case CEL_T_LIST: return cel_tfind_row(list_methods, name);
    case CEL_T_TUPLE:
    case CEL_T_RANGE: return cel_tfind_row(tuple_methods, name);
    case CEL_T_FLOAT: return cel_tfind_row(float_methods, name);
    case CEL_T_INT:
    case CEL_T_BOOL: return cel_tfind_row(int_methods, name);
    case CEL_T_CYCLER: return cel_tfind_row(cycler_methods, name);
    default: return NULL;
  }
}
