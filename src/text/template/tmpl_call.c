// Calling: the ways arguments reach builtins, and the global functions.
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <time.h>

#include "text/template/tmpl_render.h"

enum { MAX_RANGE = 100000 };  // as jinja2's sandbox has it

// ---- binding ----

// The next name of a parameter list; false at its end.
static bool next_param(const char **p, cel_str *name, bool *optional) {
  while (**p == ' ') (*p)++;
  if (!**p) return false;
  const char *start = *p;
  while (**p && **p != ' ') (*p)++;
  *name = (cel_str){start, (size_t)(*p - start)};
  *optional = start[name->n - 1] == '?';
  name->n -= *optional;
  return true;
}

static cel_status bind_keyword(cel_trender *r, const char *what, const char *params, const cel_tpair *kw, cel_tval *out) {
  cel_str name;
  bool optional;
  for (int i = 0; next_param(&params, &name, &optional); i++) {
    if (!cel_str_eq(name, cel_tview_str(kw->key))) continue;
    if (cel_tgiven(out[i])) return cel_tfail(r, "%s: \"%.*s\" is given twice", what, CEL_STR_ARG(name));
    out[i] = kw->value;
    return CEL_OK;
  }
  return cel_tfail(r, "%s: there is no argument \"%.*s\"", what, CEL_STR_ARG(cel_tview_str(kw->key)));
}

cel_status cel_tbind(cel_trender *r, const char *what, const char *params, const cel_targs *args,
                     cel_tval out[CEL_T_MAX_PARAMS]) {
  bool by_place = *params == '/', optional;
  const char *p = params + by_place;
  int n = 0;
  cel_str name;
  for (const char *q = p; next_param(&q, &name, &optional); n++) {
    out[n] = n < args->n ? args->pos[n] : (cel_tval){.kind = CEL_T_MISSING};
  }
  if (args->n > n) return cel_tfail(r, "%s takes %d arguments at most, %d were given", what, n, args->n);
  if (by_place && args->n_kw) return cel_tfail(r, "%s takes no arguments by name", what);
  for (int i = 0; i < args->n_kw; i++) CEL_TRY(bind_keyword(r, what, p, &args->kw[i], out));
  n = 0;
  for (const char *q = p; next_param(&q, &name, &optional); n++) {
    if (!optional && !cel_tgiven(out[n])) return cel_tfail(r, "%s needs \"%.*s\"", what, CEL_STR_ARG(name));
  }
  return CEL_OK;
}

cel_status cel_tcall_row(cel_trender *r, const struct cel_tmethod_row *row, cel_tval self, const cel_targs *args,
                         cel_tval *out) {
  cel_tcallee c = {.self = self, .args = args};
  if (*row->params != '*') CEL_TRY(cel_tbind(r, row->name, row->params, args, c.arg));
  return row->call(r, &c, out);
}

cel_status cel_targ_int(cel_trender *r, const cel_tcallee *c, int i, int64_t otherwise, int64_t *out) {
  cel_tval v = c->arg[i];
  *out = otherwise;
  if (!cel_tgiven(v)) return CEL_OK;
  if (v.kind == CEL_T_UNDEFINED) return cel_tfail_undefined(r, v);
  if (!cel_tis_int(v)) return cel_tfail(r, "an integer is needed as argument %d, not %s", i + 1, cel_ttype(v));
  *out = cel_tint_of(v);
  return CEL_OK;
}

cel_status cel_targ_str(cel_trender *r, const cel_tcallee *c, int i, const char *otherwise, cel_str *out) {
  cel_tval v = c->arg[i];
  if (!cel_tgiven(v) && otherwise) {
    *out = cel_str_of(otherwise);
    return CEL_OK;
  }
  if (v.kind != CEL_T_STR) return cel_tfail(r, "a string is needed as argument %d, not %s", i + 1, cel_ttype(v));
  *out = cel_tview_str(v);
  return CEL_OK;
}

bool cel_targ_true(cel_trender *r, const cel_tcallee *c, int i) { return cel_ttruth(r, c->arg[i]); }

// ---- global functions ----

static cel_status fn_range(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  int64_t a[3] = {0, 0, 1};
  for (int i = 0; i < 3; i++) CEL_TRY(cel_targ_int(r, c, i, a[i], &a[i]));
  if (!cel_tgiven(c->arg[1])) a[1] = a[0], a[0] = 0;
  for (int i = 0; i < 3; i++) {
    if (a[i] > INT64_MAX / 8 || a[i] < INT64_MIN / 8) return cel_tfail_limit(r, "range() with numbers beyond 60 bits");
  }
  if (a[2] == 0) return cel_tfail(r, "the step of range() is 0");
  int64_t span = a[2] > 0 ? a[1] - a[0] : a[0] - a[1], n = span <= 0 ? 0 : (span - 1) / llabs(a[2]) + 1;
  if (n > MAX_RANGE) return cel_tfail_limit(r, "a range of %lld numbers, %d are allowed", (long long)n, MAX_RANGE);
  cel_trange *g = CEL_TNEW(r, cel_trange, 1);
  if (!g) return r->failed;
  *g = (cel_trange){a[0], a[2], n};
  *out = (cel_tval){.kind = CEL_T_RANGE, .as.range = g};
  return CEL_OK;
}

// What dict(...) and namespace(...) begin with: a mapping or pairs, then names.
static cel_status fill_dict(cel_trender *r, const char *what, const cel_targs *args, cel_tdict *d) {
  if (args->n > 1) return cel_tfail(r, "%s() takes one argument without name at most", what);
  if (args->n && args->pos[0].kind == CEL_T_DICT) {
    const cel_tdict *from = args->pos[0].as.dict;
    for (int64_t i = 0; i < from->n; i++) CEL_TRY(cel_tdict_set(r, d, from->at[i].key, from->at[i].value));
  } else if (args->n) {
    cel_tlist *pairs, *pair;
    CEL_TRY(cel_tcollect(r, args->pos[0], &pairs));
    for (int64_t i = 0; i < pairs->n; i++) {
      CEL_TRY(cel_tcollect(r, pairs->at[i], &pair));
      if (pair->n != 2) return cel_tfail(r, "%s(): item %lld has %lld parts, 2 are needed", what, (long long)i, (long long)pair->n);
      CEL_TRY(cel_tdict_set(r, d, pair->at[0], pair->at[1]));
    }
  }
  for (int i = 0; i < args->n_kw; i++) CEL_TRY(cel_tdict_set(r, d, args->kw[i].key, args->kw[i].value));
  return CEL_OK;
}

static cel_status fn_dict(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  cel_tdict *d;
  CEL_TRY(cel_tdict_new(r, c->args->n_kw, &d));
  *out = cel_tdictv(d);
  return fill_dict(r, "dict", c->args, d);
}

static cel_status fn_namespace(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  cel_tdict *d;
  CEL_TRY(cel_tdict_new(r, c->args->n_kw, &d));
  CEL_TRY(fill_dict(r, "namespace", c->args, d));
  for (int64_t i = 0; i < d->n; i++) {
    if (d->at[i].key.kind == CEL_T_STR && d->at[i].key.n && d->at[i].key.as.s[0] == '_') {
      return cel_tfail(r, "attributes of a namespace may not begin with \"_\"");
    }
  }
  *out = (cel_tval){.kind = CEL_T_NAMESPACE, .as.dict = d};
  return CEL_OK;
}

static cel_status new_cycle(cel_trender *r, cel_tkind kind, const cel_tval *items, int n, cel_tval *out) {
  cel_tcycle *cycle = CEL_TNEW(r, cel_tcycle, 1);
  if (!cycle) return r->failed;
  CEL_TRY(cel_tlist_new(r, n, &cycle->items));
  for (int i = 0; i < n; i++) cycle->items->at[i] = items[i];
  *out = (cel_tval){.kind = (uint8_t)kind, .as.cycle = cycle};
  return CEL_OK;
}

static cel_status fn_cycler(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  if (!c->args->n || c->args->n_kw) return cel_tfail(r, "cycler() needs values to choose from");
  return new_cycle(r, CEL_T_CYCLER, c->args->pos, c->args->n, out);
}

static cel_status fn_joiner(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  cel_tval comma = cel_tgiven(c->arg[0]) ? c->arg[0] : cel_tstrz(", ");
  return new_cycle(r, CEL_T_JOINER, &comma, 1, out);
}

static cel_status fn_raise_exception(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  CEL_TRY(cel_tstr_of(r, c->arg[0], out));
  return cel_fail(r->err, CEL_INVALID, "%.*s", (int)CEL_MIN(out->n, CEL_ERR_TEXT_BYTES - 1), out->as.s);
}

static cel_status fn_strftime_now(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  char text[1024], *format;
  cel_str f;
  struct tm local;
  time_t now = time(NULL);
  CEL_TRY(cel_targ_str(r, c, 0, NULL, &f));
  if (f.n > 200 || memchr(f.p, 0, f.n)) return cel_tfail_limit(r, "strftime_now: a format of more than 200 bytes");
  if (!localtime_r(&now, &local)) return cel_tfail(r, "strftime_now: the clock cannot be read");
  format = cel_arena_dup(&r->arena, f.p, f.n);
  if (!format) return cel_fail_oom(r->err, "a value of a template");
  size_t n = strftime(text, sizeof text, format, &local);
  return cel_tcopy_str(r, (cel_str){text, n}, out);
}

static cel_status fn_lipsum(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  (void)c, (void)out;
  return cel_tfail(r, "lipsum() makes random text, which a template may not here");
}

static const struct cel_tmethod_row functions[] = {
    {"range", "/a b? c?", fn_range},
    {"dict", "*", fn_dict},
    {"namespace", "*", fn_namespace},
    {"cycler", "*", fn_cycler},
    {"joiner", "sep?", fn_joiner},
    {"raise_exception", "message", fn_raise_exception},
    {"strftime_now", "format", fn_strftime_now},
    {"lipsum", "*", fn_lipsum},
};

cel_tval cel_tglobal(cel_str name) {
  for (int i = 0; i < CEL_COUNT(functions); i++) {
    if (cel_str_is(name, functions[i].name)) return (cel_tval){.kind = CEL_T_FUNCTION, .sub = (uint16_t)i};
  }
  return (cel_tval){.kind = CEL_T_MISSING};
}

static cel_status call_joiner(cel_tcycle *j, cel_tval *out) {
  *out = j->next++ ? j->items->at[0] : cel_tstrz("");
  return CEL_OK;
}

cel_status cel_tcall(cel_trender *r, cel_tval callee, const cel_targs *args, cel_tval *out) {
  switch (callee.kind) {
    case CEL_T_FUNCTION: return cel_tcall_row(r, &functions[callee.sub], callee, args, out);
    case CEL_T_METHOD: return cel_tcall_row(r, callee.as.method->row, callee.as.method->self, args, out);
    case CEL_T_MACRO: return cel_tcall_macro(r, callee.as.macro, args, out);
    case CEL_T_LOOP: return cel_tcall_loop(r, callee.as.loop, args, out);
    case CEL_T_JOINER: return call_joiner(callee.as.cycle, out);
    case CEL_T_UNDEFINED: return cel_tfail_undefined(r, callee);
    default: return cel_tfail(r, "%s cannot be called", cel_ttype(callee));
  }
}
