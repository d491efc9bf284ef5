// Filters on sequences. Where jinja2 gives a generator, so do these: it can be walked once and has no length.
#include "text/template/tmpl_filter.h"
#include "text/template/tmpl_text.h"

static cel_status f_length(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  int64_t n;
  CEL_TRY(cel_tlength(r, c->self, &n));
  *out = cel_tint(n);
  return CEL_OK;
}

static cel_status f_list(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  cel_tlist *l;
  CEL_TRY(cel_tcollect(r, c->self, &l));
  *out = cel_tseq(CEL_T_LIST, l);
  return CEL_OK;
}

static cel_status f_first(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  cel_twalk w;
  CEL_TRY(cel_twalk_begin(r, c->self, &w));
  CEL_TRY(cel_twalk_next(r, &w, out));
  if (!cel_tgiven(*out)) *out = cel_tundefined("there is no first item, the sequence is empty");
  return CEL_OK;
}

static cel_status f_last(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  cel_tlist *l;
  if (c->self.kind == CEL_T_ITER) return cel_tfail(r, "last does not work on %s; put list before it", cel_ttype(c->self));
  CEL_TRY(cel_tcollect(r, c->self, &l));
  *out = l->n ? l->at[l->n - 1] : cel_tundefined("there is no last item, the sequence is empty");
  return CEL_OK;
}

static cel_status f_join(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  cel_twalk w;
  cel_tval item, comma = cel_tgiven(c->arg[0]) ? c->arg[0] : cel_tstrz("");
  const cel_tval none = {.kind = CEL_T_MISSING};
  CEL_TRY(cel_tstr_of(r, comma, &comma));
  CEL_TRY(cel_twalk_begin(r, c->self, &w));
  CEL_TRY(cel_ttext_begin(r));
  for (bool first = true;; first = false) {
    CEL_TRY(cel_twalk_next(r, &w, &item));
    if (!cel_tgiven(item)) return cel_ttext_end(r, out);
    if (!first) CEL_TRY(cel_tput(r, comma.as.s, comma.n));
    CEL_TRY(cel_tget_path(r, item, c->arg[1], none, &item));
    CEL_TRY(cel_tput_str(r, item));
  }
}

static cel_status reversed(cel_trender *r, const cel_tlist *l, cel_tlist **out) {
  CEL_TRY(cel_tlist_new(r, l->n, out));
  for (int64_t i = 0; i < l->n; i++) (*out)->at[i] = l->at[l->n - 1 - i];
  return cel_tcharge(r, 16 * l->n);
}

static cel_status f_reverse(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  cel_tlist *l, *back;
  if (c->self.kind == CEL_T_STR) {
    const cel_tval part[3] = {{.kind = CEL_T_NONE}, {.kind = CEL_T_NONE}, cel_tint(-1)};
    return cel_tget_slice(r, c->self, part, out);
  }
  CEL_TRY(cel_tcollect(r, c->self, &l));
  CEL_TRY(reversed(r, l, &back));
  if (c->self.kind != CEL_T_ITER) return cel_titer_of(r, back, out);
  *out = cel_tseq(CEL_T_LIST, back);
  return CEL_OK;
}

static cel_status f_items(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  cel_tlist *l;
  cel_tval view = c->self;
  if (view.kind != CEL_T_DICT && view.kind != CEL_T_UNDEFINED) return cel_tfail(r, "items works on dicts, not on %s", cel_ttype(view));
  if (view.kind == CEL_T_DICT) view = (cel_tval){.kind = CEL_T_VIEW, .sub = CEL_TVIEW_ITEMS, .as.dict = view.as.dict};
  CEL_TRY(cel_tcollect(r, view, &l));
  return cel_titer_of(r, l, out);
}

// ---- sorting and grouping ----

static cel_status fold_case(cel_trender *r, cel_tval v, cel_tval *out) {
  cel_targs none = {0};
  bool unsafe;
  *out = v;
  if (v.kind != CEL_T_STR) return CEL_OK;
  return cel_tcall_row(r, cel_tfind_method(v, CEL_STR("lower"), &unsafe), v, &none, out);
}

// The value at a path, lower case unless case_sensitive.
static cel_status sort_key(cel_trender *r, cel_tval item, cel_tval path, cel_tval otherwise, bool case_sensitive, cel_tval *out) {
  CEL_TRY(cel_tget_path(r, item, path, otherwise, out));
  return case_sensitive ? CEL_OK : fold_case(r, *out, out);
}

// The values at each of "a,b.c".
static cel_status sort_keys(cel_trender *r, cel_tval item, cel_tval paths, bool case_sensitive, cel_tval *out) {
  const cel_tval none = {.kind = CEL_T_MISSING};
  if (paths.kind != CEL_T_STR || !memchr(paths.as.s, ',', paths.n)) {
    return sort_key(r, item, paths, none, case_sensitive, out);
  }
  cel_tgrow keys = {0};
  cel_str rest = cel_tview_str(paths);
  for (bool more = true; more;) {
    const char *comma = rest.n ? memchr(rest.p, ',', rest.n) : NULL;
    cel_str part = {rest.p, comma ? (size_t)(comma - rest.p) : rest.n};
    cel_tval key;
    CEL_TRY(sort_key(r, item, cel_tstr(part), none, case_sensitive, &key));
    CEL_TRY(cel_tgrow_add(r, &keys, key));
    more = comma != NULL;
    if (more) rest.p += part.n + 1, rest.n -= part.n + 1;
  }
  return cel_tgrow_list(r, &keys, CEL_T_LIST, out);
}

static cel_status f_sort(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  cel_tlist *from, *to;
  bool reverse = cel_targ_true(r, c, 0), case_sensitive = cel_targ_true(r, c, 1);
  CEL_TRY(cel_tcollect(r, c->self, &from));
  CEL_TRY(cel_tlist_new(r, from->n, &to));
  cel_tval *keys = CEL_TNEW(r, cel_tval, from->n);
  if (!keys) return r->failed;
  for (int64_t i = 0; i < from->n; i++) {
    to->at[i] = from->at[i];
    CEL_TRY(sort_keys(r, from->at[i], c->arg[2], case_sensitive, &keys[i]));
  }
  CEL_TRY(cel_tsort(r, to->at, keys, to->n, reverse));
  *out = cel_tseq(CEL_T_LIST, to);
  return CEL_OK;
}

static cel_status f_dictsort(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  cel_str by;
  cel_tlist *from, *to;
  bool case_sensitive = cel_targ_true(r, c, 0), reverse = cel_targ_true(r, c, 2);
  CEL_TRY(cel_targ_str(r, c, 1, "key", &by));
  if (!cel_str_is(by, "key") && !cel_str_is(by, "value")) return cel_tfail(r, "dictsort: by is \"key\" or \"value\"");
  if (c->self.kind != CEL_T_DICT) return cel_tfail(r, "dictsort works on dicts, not on %s", cel_ttype(c->self));
  CEL_TRY(cel_tcollect(r, (cel_tval){.kind = CEL_T_VIEW, .sub = CEL_TVIEW_ITEMS, .as.dict = c->self.as.dict}, &from));
  CEL_TRY(cel_tlist_new(r, from->n, &to));
  cel_tval *keys = CEL_TNEW(r, cel_tval, from->n);
  if (!keys) return r->failed;
  for (int64_t i = 0; i < from->n; i++) {
    to->at[i] = from->at[i];
    keys[i] = from->at[i].as.list->at[cel_str_is(by, "value")];
    if (!case_sensitive) CEL_TRY(fold_case(r, keys[i], &keys[i]));
  }
  CEL_TRY(cel_tsort(r, to->at, keys, to->n, reverse));
  *out = cel_tseq(CEL_T_LIST, to);
  return CEL_OK;
}

static cel_status f_unique(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  const cel_tval none = {.kind = CEL_T_MISSING};
  cel_tgrow kept = {0};
  cel_tdict *known;
  cel_twalk w;
  cel_tval item, key, before;
  CEL_TRY(cel_tdict_new(r, 0, &known));
  CEL_TRY(cel_twalk_begin(r, c->self, &w));
  for (;;) {
    CEL_TRY(cel_twalk_next(r, &w, &item));
    if (!cel_tgiven(item)) break;
    CEL_TRY(sort_key(r, item, c->arg[1], none, cel_targ_true(r, c, 0), &key));
    CEL_TRY(cel_tdict_get(r, known, key, &before));
    if (cel_tgiven(before)) continue;
    CEL_TRY(cel_tdict_set(r, known, key, cel_tnone()));
    CEL_TRY(cel_tgrow_add(r, &kept, item));
  }
  CEL_TRY(cel_tgrow_list(r, &kept, CEL_T_LIST, &item));
  return cel_titer_of(r, item.as.list, out);
}

static cel_status extreme(cel_trender *r, const cel_tcallee *c, bool max, cel_tval *out) {
  const cel_tval none = {.kind = CEL_T_MISSING};
  cel_twalk w;
  cel_tval item, key, best_key = none;
  int order;
  *out = cel_tundefined("there is nothing to choose from, the sequence is empty");
  CEL_TRY(cel_twalk_begin(r, c->self, &w));
  for (;;) {
    CEL_TRY(cel_twalk_next(r, &w, &item));
    if (!cel_tgiven(item)) return CEL_OK;
    CEL_TRY(sort_key(r, item, c->arg[1], none, cel_targ_true(r, c, 0), &key));
    if (cel_tgiven(best_key)) {
      CEL_TRY(max ? cel_torder(r, best_key, key, ">", &order) : cel_torder(r, key, best_key, "<", &order));
      if (order >= 0) continue;
    }
    *out = item, best_key = key;
  }
}

static cel_status f_min(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return extreme(r, c, false, out); }
static cel_status f_max(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return extreme(r, c, true, out); }

static cel_status f_sum(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  const cel_tval none = {.kind = CEL_T_MISSING};
  cel_twalk w;
  cel_tval item;
  *out = cel_tgiven(c->arg[1]) ? c->arg[1] : cel_tint(0);
  if (out->kind == CEL_T_STR) return cel_tfail(r, "sum does not add strings; use join");
  CEL_TRY(cel_twalk_begin(r, c->self, &w));
  for (;;) {
    CEL_TRY(cel_twalk_next(r, &w, &item));
    if (!cel_tgiven(item)) return CEL_OK;
    CEL_TRY(cel_tget_path(r, item, c->arg[0], none, &item));
    CEL_TRY(cel_tbinary(r, CEL_OP_ADD, *out, item, out));
  }
}

static cel_status add_group(cel_trender *r, cel_tgrow *groups, cel_tval key, const cel_tgrow *members) {
  cel_tlist *pair;
  cel_tval list;
  CEL_TRY(cel_tgrow_list(r, members, CEL_T_LIST, &list));
  CEL_TRY(cel_tlist_new(r, 2, &pair));
  pair->at[0] = key, pair->at[1] = list;
  cel_tval group = cel_tseq(CEL_T_TUPLE, pair);
  group.flag = CEL_TFLAG_GROUP;
  return cel_tgrow_add(r, groups, group);
}

static cel_status f_groupby(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  cel_tlist *from;
  cel_tgrow groups = {0}, members = {0};
  bool case_sensitive = cel_targ_true(r, c, 2), same;
  CEL_TRY(cel_tcollect(r, c->self, &from));
  cel_tval *sorted = CEL_TNEW(r, cel_tval, from->n), *keys = CEL_TNEW(r, cel_tval, from->n), key, last = {.kind = CEL_T_MISSING};
  if (!sorted || !keys) return r->failed;
  for (int64_t i = 0; i < from->n; i++) {
    sorted[i] = from->at[i];
    CEL_TRY(sort_key(r, from->at[i], c->arg[0], c->arg[1], case_sensitive, &keys[i]));
  }
  CEL_TRY(cel_tsort(r, sorted, keys, from->n, false));
  for (int64_t i = 0; i < from->n; i++) {
    CEL_TRY(sort_key(r, sorted[i], c->arg[0], c->arg[1], case_sensitive, &key));
    same = false;
    if (i) CEL_TRY(cel_tequal(r, key, last, &same));
    last = key;
    if (!same && i) {
      CEL_TRY(cel_tget_path(r, members.at[0], c->arg[0], c->arg[1], &key));
      CEL_TRY(add_group(r, &groups, key, &members));
      members = (cel_tgrow){0};
    }
    CEL_TRY(cel_tgrow_add(r, &members, sorted[i]));
  }
  if (members.n) {
    CEL_TRY(cel_tget_path(r, members.at[0], c->arg[0], c->arg[1], &key));
    CEL_TRY(add_group(r, &groups, key, &members));
  }
  return cel_tgrow_list(r, &groups, CEL_T_LIST, out);
}

// ---- map, select and their kin ----

static cel_status f_map(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  const cel_targs *a = c->args;
  cel_tval path = {.kind = CEL_T_MISSING}, otherwise = path, item;
  cel_tgrow mapped = {0};
  cel_twalk w;
  cel_targs rest = *a;
  for (int i = 0; a->n == 0 && i < a->n_kw; i++) {
    cel_str name = cel_tview_str(a->kw[i].key);
    if (cel_str_is(name, "attribute")) path = a->kw[i].value;
    else if (cel_str_is(name, "default")) otherwise = a->kw[i].value;
    else return cel_tfail(r, "map: there is no argument \"%.*s\"", CEL_STR_ARG(name));
  }
  if (cel_ttruth(r, c->self) && !cel_tgiven(path)) {
    if (!a->n) return cel_tfail(r, "map needs the name of a filter, or attribute=");
    if (a->pos[0].kind != CEL_T_STR) return cel_tfail(r, "map: the filter is named by a string");
    rest.pos++, rest.n--;
  }
  CEL_TRY(cel_ttruth(r, c->self) ? cel_twalk_begin(r, c->self, &w) : cel_twalk_begin(r, cel_tundefined(""), &w));
  for (;;) {
    CEL_TRY(cel_twalk_next(r, &w, &item));
    if (!cel_tgiven(item)) break;
    if (cel_tgiven(path)) {
      CEL_TRY(cel_tget_path(r, item, path, otherwise, &item));
    } else {
      CEL_TRY(cel_tenter(r));
      CEL_TRY(cel_tfilter(r, cel_tview_str(a->pos[0]), item, &rest, &item));
      cel_tleave(r);
    }
    CEL_TRY(cel_tgrow_add(r, &mapped, item));
  }
  CEL_TRY(cel_tgrow_list(r, &mapped, CEL_T_LIST, &item));
  return cel_titer_of(r, item.as.list, out);
}

static cel_status choose(cel_trender *r, const cel_tcallee *c, bool by_attribute, bool want, cel_tval *out) {
  cel_targs rest = *c->args;
  cel_tval path = {.kind = CEL_T_MISSING}, test = path, item, v;
  const cel_tval none = {.kind = CEL_T_MISSING};
  cel_tgrow kept = {0};
  cel_twalk w;
  bool yes, any = cel_ttruth(r, c->self);
  if (by_attribute && any) {
    if (!rest.n) return cel_tfail(r, "the name of the attribute is missing");
    path = rest.pos[0];
    rest.pos++, rest.n--;
  }
  if (any && rest.n) {
    test = rest.pos[0];
    if (test.kind != CEL_T_STR) return cel_tfail(r, "the test is named by a string, not by %s", cel_ttype(test));
    rest.pos++, rest.n--;
  }
  CEL_TRY(any ? cel_twalk_begin(r, c->self, &w) : cel_twalk_begin(r, cel_tundefined(""), &w));
  for (;;) {
    CEL_TRY(cel_twalk_next(r, &w, &item));
    if (!cel_tgiven(item)) break;
    CEL_TRY(cel_tget_path(r, item, path, none, &v));
    yes = cel_ttruth(r, v);
    if (cel_tgiven(test)) CEL_TRY(cel_ttest(r, cel_tview_str(test), v, &rest, &yes));
    if (yes == want) CEL_TRY(cel_tgrow_add(r, &kept, item));
  }
  CEL_TRY(cel_tgrow_list(r, &kept, CEL_T_LIST, &item));
  return cel_titer_of(r, item.as.list, out);
}

static cel_status f_select(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return choose(r, c, false, true, out); }
static cel_status f_reject(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return choose(r, c, false, false, out); }
static cel_status f_selectattr(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return choose(r, c, true, true, out); }
static cel_status f_rejectattr(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return choose(r, c, true, false, out); }

// ---- batch and slice ----

static cel_status f_batch(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  int64_t size;
  cel_tlist *l;
  cel_tgrow rows = {0}, row = {0};
  cel_tval v, fill = c->arg[1];
  CEL_TRY(cel_targ_int(r, c, 0, 0, &size));
  CEL_TRY(cel_tcollect(r, c->self, &l));
  for (int64_t i = 0; i < l->n; i++) {
    if (row.n == size && (row.n || size)) {
      CEL_TRY(cel_tgrow_list(r, &row, CEL_T_LIST, &v));
      CEL_TRY(cel_tgrow_add(r, &rows, v));
      row = (cel_tgrow){0};
    } else if (size == 0 && !row.n) {  // an empty first row, as jinja2 gives
      CEL_TRY(cel_tgrow_list(r, &row, CEL_T_LIST, &v));
      CEL_TRY(cel_tgrow_add(r, &rows, v));
    }
    CEL_TRY(cel_tgrow_add(r, &row, l->at[i]));
  }
  bool filled = cel_tgiven(fill) && fill.kind != CEL_T_NONE;
  while (row.n && filled && row.n < size) CEL_TRY(cel_tgrow_add(r, &row, fill));
  if (row.n) {
    CEL_TRY(cel_tgrow_list(r, &row, CEL_T_LIST, &v));
    CEL_TRY(cel_tgrow_add(r, &rows, v));
  }
  CEL_TRY(cel_tgrow_list(r, &rows, CEL_T_LIST, &v));
  return cel_titer_of(r, v.as.list, out);
}

static cel_status f_slice(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  int64_t slices;
  cel_tlist *l, *rows;
  cel_tval fill = c->arg[1];
  bool filled = cel_tgiven(fill) && fill.kind != CEL_T_NONE;
  CEL_TRY(cel_targ_int(r, c, 0, 0, &slices));
  CEL_TRY(cel_tcollect(r, c->self, &l));
  if (slices == 0) return cel_tfail(r, "slice: division by zero");
  if (slices < 0) slices = 0;
  CEL_TRY(cel_tlist_new(r, slices, &rows));
  int64_t each = slices ? l->n / slices : 0, extra = slices ? l->n % slices : 0, from = 0;
  for (int64_t i = 0; i < slices; i++) {
    int64_t n = each + (i < extra);
    cel_tlist *row;
    CEL_TRY(cel_tlist_new(r, n + (filled && i >= extra), &row));
    for (int64_t k = 0; k < row->n; k++) row->at[k] = k < n ? l->at[from + k] : fill;
    rows->at[i] = cel_tseq(CEL_T_LIST, row);
    from += n;
    CEL_TRY(cel_tcharge(r, 16 * n));
  }
  return cel_titer_of(r, rows, out);
}

const struct cel_tmethod_row cel_tseq_filters[] = {
    {"batch", "linecount fill_with?", f_batch},
    {"count", "", f_length},
    {"dictsort", "case_sensitive? by? reverse?", f_dictsort},
    {"first", "", f_first},
    {"groupby", "attribute default? case_sensitive?", f_groupby},
    {"items", "", f_items},
    {"join", "d? attribute?", f_join},
    {"last", "", f_last},
    {"length", "", f_length},
    {"list", "", f_list},
    {"map", "*", f_map},
    {"max", "case_sensitive? attribute?", f_max},
    {"min", "case_sensitive? attribute?", f_min},
    {"reject", "*", f_reject},
    {"rejectattr", "*", f_rejectattr},
    {"reverse", "", f_reverse},
    {"select", "*", f_select},
    {"selectattr", "*", f_selectattr},
    {"slice", "slices fill_with?", f_slice},
    {"sort", "reverse? case_sensitive? attribute?", f_sort},
    {"sum", "attribute? start?", f_sum},
    {"unique", "case_sensitive? attribute?", f_unique},
    {NULL, NULL, NULL},
};
