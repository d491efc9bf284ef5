// Attributes, items and slices, with jinja2's two orders of looking: a dot tries the attribute first, brackets the
// item first.
#include <stdlib.h>

#include "text/template/tmpl_render.h"
#include "text/template/tmpl_text.h"

static const cel_tval missing = {.kind = CEL_T_MISSING};

// Attributes of values that are no methods. MISSING when there is none of the name.
static cel_status plain_attribute(cel_trender *r, cel_tval v, cel_str name, cel_tval *out) {
  *out = missing;
  switch (v.kind) {
    case CEL_T_NAMESPACE: *out = cel_tdict_get_str(v.as.dict, name); return CEL_OK;
    case CEL_T_LOOP: return cel_tloop_attr(r, v.as.loop, name, out);
    case CEL_T_TUPLE:
      if (v.flag & CEL_TFLAG_GROUP && cel_str_is(name, "grouper")) *out = v.as.list->at[0];
      if (v.flag & CEL_TFLAG_GROUP && cel_str_is(name, "list")) *out = v.as.list->at[1];
      return CEL_OK;
    case CEL_T_CYCLER:
      if (cel_str_is(name, "current")) *out = v.as.cycle->items->at[v.as.cycle->next];
      return CEL_OK;
    case CEL_T_MACRO:
      if (cel_str_is(name, "name")) *out = cel_tstr(v.as.macro->node->name);
      if (cel_str_is(name, "caller")) *out = cel_tbool(v.as.macro->node->uses_caller);
      if (cel_str_is(name, "catch_kwargs")) *out = cel_tbool(v.as.macro->node->uses_kwargs);
      if (cel_str_is(name, "catch_varargs")) *out = cel_tbool(v.as.macro->node->uses_varargs);
      return CEL_OK;
    case CEL_T_INT:
    case CEL_T_BOOL:
      if (cel_str_is(name, "real") || cel_str_is(name, "numerator")) *out = cel_tint(cel_tint_of(v));
      if (cel_str_is(name, "imag")) *out = cel_tint(0);
      if (cel_str_is(name, "denominator")) *out = cel_tint(1);
      return CEL_OK;
    case CEL_T_RANGE:
      if (cel_str_is(name, "start")) *out = cel_tint(v.as.range->start);
      if (cel_str_is(name, "step")) *out = cel_tint(v.as.range->step);
      if (cel_str_is(name, "stop")) *out = cel_tint(v.as.range->start + v.as.range->n * v.as.range->step);
      return CEL_OK;
    default: return CEL_OK;
  }
}

static cel_status method_attribute(cel_trender *r, cel_tval v, cel_str name, cel_tval *out) {
  bool unsafe = false;
  const struct cel_tmethod_row *row = cel_tfind_method(v, name, &unsafe);
  *out = missing;
  if (unsafe) {
    *out = cel_tundefined("the method changes its value, which a template may not");
    out->flag |= CEL_TFLAG_UNSAFE;
    return CEL_OK;
  }
  if (!row) return CEL_OK;
  cel_tmethod *m = CEL_TNEW(r, cel_tmethod, 1);
  if (!m) return r->failed;
  *m = (cel_tmethod){v, row};
  *out = (cel_tval){.kind = CEL_T_METHOD, .as.method = m};
  return CEL_OK;
}

static cel_status attribute(cel_trender *r, cel_tval v, cel_str name, cel_tval *out) {
  CEL_TRY(plain_attribute(r, v, name, out));
  if (!cel_tgiven(*out)) CEL_TRY(method_attribute(r, v, name, out));
  return CEL_OK;
}

// Every Python object has attributes like __class__, which the sandbox closes.
static bool internal_name(cel_str name) {
  return cel_str_starts(name, CEL_STR("__")) && cel_str_ends(name, CEL_STR("__")) && name.n > 4;
}

static cel_status no_attribute(cel_trender *r, cel_tval v, cel_str name, cel_tval *out) {
  if (internal_name(name)) return cel_tfail(r, "access to attribute \"%.*s\" of %s is unsafe", CEL_STR_ARG(name), cel_ttype(v));
  CEL_TRY(cel_tprintf_str(r, out, "%s has no attribute \"%.*s\"", cel_ttype(v), CEL_STR_ARG(name)));
  *out = (cel_tval){.kind = CEL_T_UNDEFINED, .n = out->n, .as.s = out->as.s};
  return CEL_OK;
}

cel_status cel_tget_attr(cel_trender *r, cel_tval v, cel_str name, cel_tval *out) {
  if (v.kind == CEL_T_UNDEFINED) return cel_tfail_undefined(r, v);
  CEL_TRY(attribute(r, v, name, out));
  if (cel_tgiven(*out)) return CEL_OK;
  if (v.kind == CEL_T_DICT) {
    *out = cel_tdict_get_str(v.as.dict, name);
    if (cel_tgiven(*out)) return CEL_OK;
  }
  return no_attribute(r, v, name, out);
}

static cel_status no_item(cel_trender *r, cel_tval v, cel_tval key, cel_tval *out) {
  if (cel_tis_int(key)) {
    CEL_TRY(cel_tprintf_str(r, out, "%s has no item %lld", cel_ttype(v), (long long)cel_tint_of(key)));
  } else {
    CEL_TRY(cel_tprintf_str(r, out, "%s has no item of this key, which is a %s", cel_ttype(v), cel_ttype(key)));
  }
  *out = (cel_tval){.kind = CEL_T_UNDEFINED, .n = out->n, .as.s = out->as.s};
  return CEL_OK;
}

static cel_status item_at(cel_trender *r, cel_tval v, int64_t i, cel_tval *out) {
  int64_t n;
  CEL_TRY(cel_tlength(r, v, &n));
  if (i < 0) i += n;
  *out = missing;
  if (i < 0 || i >= n) return CEL_OK;
  if (v.kind == CEL_T_STR) {
    size_t at = v.n == n ? (size_t)i : cel_tchar_offset(cel_tview_str(v), i);
    *out = cel_tstr((cel_str){v.as.s + at, cel_tchar_bytes(v.as.s + at)});
    return cel_tcharge(r, i);
  }
  *out = v.kind == CEL_T_RANGE ? cel_tint(v.as.range->start + i * v.as.range->step) : v.as.list->at[i];
  return CEL_OK;
}

cel_status cel_tget_item(cel_trender *r, cel_tval v, cel_tval key, cel_tval *out) {
  if (v.kind == CEL_T_UNDEFINED) return cel_tfail_undefined(r, v);
  *out = missing;
  if (v.kind == CEL_T_DICT) {
    if (cel_thashable(key)) CEL_TRY(cel_tdict_get(r, v.as.dict, key, out));
  } else if ((v.kind == CEL_T_STR || cel_tis_seq(v) || v.kind == CEL_T_RANGE) && cel_tis_int(key)) {
    CEL_TRY(item_at(r, v, cel_tint_of(key), out));
  }
  if (cel_tgiven(*out)) return CEL_OK;
  if (key.kind != CEL_T_STR) return no_item(r, v, key, out);
  CEL_TRY(attribute(r, v, cel_tview_str(key), out));
  return cel_tgiven(*out) ? CEL_OK : no_attribute(r, v, cel_tview_str(key), out);
}

// ---- slices ----

static cel_status slice_number(cel_trender *r, cel_tval v, int64_t otherwise, int64_t *out) {
  *out = otherwise;
  if (!cel_tgiven(v) || v.kind == CEL_T_NONE) return CEL_OK;
  if (v.kind == CEL_T_UNDEFINED) return cel_tfail_undefined(r, v);
  if (!cel_tis_int(v)) return cel_tfail(r, "the parts of a slice are integers or None, not %s", cel_ttype(v));
  *out = cel_tint_of(v);
  return CEL_OK;
}

static int64_t clamp_index(int64_t i, int64_t n, int64_t low, int64_t high) {
  if (i < 0) i = i < -n ? low : i + n;
  return i < low ? low : i > high ? high : i;
}

// First index and number of items of [start:stop:step] of n.
static cel_status slice_range(cel_trender *r, const cel_tval part[3], int64_t n, cel_trange *out) {
  int64_t start, stop, step;
  CEL_TRY(slice_number(r, part[2], 1, &step));
  if (step == 0) return cel_tfail(r, "the step of a slice is 0");
  if (step < -INT32_MAX) step = -INT32_MAX;
  if (step > INT32_MAX) step = INT32_MAX;
  bool down = step < 0;
  int64_t low = down ? -1 : 0, high = down ? n - 1 : n;
  CEL_TRY(slice_number(r, part[0], down ? INT64_MAX : 0, &start));
  start = clamp_index(start, n, low, high);
  CEL_TRY(slice_number(r, part[1], down ? INT64_MIN : INT64_MAX, &stop));
  stop = clamp_index(stop, n, low, high);
  int64_t span = down ? start - stop : stop - start;
  *out = (cel_trange){start, step, span <= 0 ? 0 : (span - 1) / llabs(step) + 1};
  return CEL_OK;
}

static cel_status slice_str(cel_trender *r, cel_tval v, int64_t chars, const cel_trange *g, cel_tval *out) {
  cel_str s = cel_tview_str(v);
  CEL_TRY(cel_tcharge(r, (int64_t)s.n));
  if (g->step == 1) {  // a view of the same bytes
    size_t at = cel_tchar_offset(s, g->start);
    size_t n = cel_tchar_offset((cel_str){s.p + at, s.n - at}, g->n);
    *out = cel_tstr((cel_str){s.p + at, n});
    return CEL_OK;
  }
  uint32_t *offset = CEL_TNEW(r, uint32_t, chars + 1);  // byte offset of each character
  char *p = CEL_TNEW(r, char, (int64_t)s.n);
  if (!offset || !p) return r->failed;
  size_t at = 0, n = 0;
  for (int64_t i = 0; i < chars; i++, at += cel_tchar_bytes(s.p + at)) offset[i] = (uint32_t)at;
  offset[chars] = (uint32_t)s.n;
  for (int64_t k = 0, i = g->start; k < g->n; k++, i += g->step) {
    memcpy(p + n, s.p + offset[i], offset[i + 1] - offset[i]);
    n += offset[i + 1] - offset[i];
  }
  *out = cel_tstr((cel_str){p, n});
  return CEL_OK;
}

cel_status cel_tget_slice(cel_trender *r, cel_tval v, const cel_tval part[3], cel_tval *out) {
  int64_t n;
  cel_trange g;
  if (v.kind == CEL_T_UNDEFINED) return cel_tfail_undefined(r, v);
  if (v.kind != CEL_T_STR && !cel_tis_seq(v) && v.kind != CEL_T_RANGE) {
    return no_item(r, v, (cel_tval){.kind = CEL_T_NONE}, out);
  }
  CEL_TRY(cel_tlength(r, v, &n));
  CEL_TRY(slice_range(r, part, n, &g));
  if (v.kind == CEL_T_STR) return slice_str(r, v, n, &g, out);
  if (v.kind == CEL_T_RANGE) {
    cel_trange *sub = CEL_TNEW(r, cel_trange, 1);
    if (!sub) return r->failed;
    *sub = (cel_trange){v.as.range->start + g.start * v.as.range->step, g.step * v.as.range->step, g.n};
    *out = (cel_tval){.kind = CEL_T_RANGE, .as.range = sub};
    return CEL_OK;
  }
  cel_tlist *l;
  if (g.step == 1) {  // shares the items
    l = CEL_TNEW(r, cel_tlist, 1);
    if (!l) return r->failed;
    l->n = g.n, l->at = v.as.list->at + g.start;
  } else {
    CEL_TRY(cel_tlist_new(r, g.n, &l));
    CEL_TRY(cel_tcharge(r, g.n * 16));
    for (int64_t i = 0; i < g.n; i++) l->at[i] = v.as.list->at[g.start + i * g.step];
  }
  *out = cel_tseq((cel_tkind)v.kind, l);
  return CEL_OK;
}

// ---- paths ----

static bool all_digits(cel_str s) {
  for (size_t i = 0; i < s.n; i++) {
    if (s.p[i] < '0' || s.p[i] > '9') return false;
  }
  return s.n > 0 && s.n < 18;
}

static int64_t to_int(cel_str s) {
  int64_t x = 0;
  for (size_t i = 0; i < s.n; i++) x = x * 10 + (s.p[i] - '0');
  return x;
}

cel_status cel_tget_path(cel_trender *r, cel_tval v, cel_tval path, cel_tval otherwise, cel_tval *out) {
  *out = v;
  if (!cel_tgiven(path) || path.kind == CEL_T_NONE) return CEL_OK;
  bool done = path.kind != CEL_T_STR;
  cel_str rest = done ? CEL_STR("") : cel_tview_str(path);
  cel_tval key = path;
  do {
    if (!done || path.kind == CEL_T_STR) {
      const char *dot = rest.n ? memchr(rest.p, '.', rest.n) : NULL;
      cel_str part = {rest.p, dot ? (size_t)(dot - rest.p) : rest.n};
      done = !dot;
      if (dot) rest.p += part.n + 1, rest.n -= part.n + 1;
      key = all_digits(part) ? cel_tint(to_int(part)) : cel_tstr(part);
    }
    CEL_TRY(cel_tget_item(r, *out, key, out));
    if (out->kind == CEL_T_UNDEFINED && cel_tgiven(otherwise) && otherwise.kind != CEL_T_NONE) *out = otherwise;
  } while (!done);
  return CEL_OK;
}
