// Values as text, as Python's str, repr and json.dumps write them.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"
#include "text/template/tmpl_render.h"
#include "text/template/tmpl_text.h"

const char *cel_ttype(cel_tval v) {
  static const char *const names[] = {"missing", "Undefined", "NoneType",  "bool",     "int",  "float",    "str",
                                      "list",    "tuple",     "dict",      "dict",     "range", "generator", "function",
                                      "builtin_function_or_method", "Macro", "Namespace", "LoopContext", "Cycler", "Joiner"};
  if (v.kind == CEL_T_VIEW) {
    return v.sub == CEL_TVIEW_KEYS ? "dict_keys" : v.sub == CEL_TVIEW_VALUES ? "dict_values" : "dict_items";
  }
  return v.kind == CEL_T_STR && v.flag & CEL_TFLAG_SAFE ? "Markup" : names[v.kind];
}

// The shortest digits that read back as the same double, in Python's form: exponents below -4 and from 16 on.
void cel_tfloat_repr(double x, char out[32]) {
  if (isnan(x) || isinf(x)) {
    snprintf(out, 32, "%s", isnan(x) ? "nan" : x > 0 ? "inf" : "-inf");
    return;
  }
  char digits[32];
  int precision = 0;
  do snprintf(digits, sizeof digits, "%.*e", precision, x);
  while (strtod(digits, NULL) != x && ++precision < 17);
  cel_plain_point(digits);
  char *e = strchr(digits, 'e');
  int exponent = (int)strtol(e + 1, NULL, 10);
  if (exponent < -4 || exponent >= 16) {
    snprintf(out, 32, "%.*se%c%02d", (int)(e - digits), digits, exponent < 0 ? '-' : '+', abs(exponent));
    return;
  }
  int decimals = precision - exponent;
  snprintf(out, 32, "%.*f", decimals < 1 ? 1 : decimals, x);
  cel_plain_point(out);
}

// ---- repr ----

static cel_status put_char_repr(cel_trender *r, uint32_t cp, const char *p, size_t n, char quote) {
  char text[16];
  if (cp == (unsigned char)quote || cp == '\\') {
    snprintf(text, sizeof text, "\\%c", (int)cp);
  } else if (cp == '\n' || cp == '\r' || cp == '\t') {
    snprintf(text, sizeof text, "\\%c", cp == '\n' ? 'n' : cp == '\r' ? 'r' : 't');
  } else if (cp < 0x7F ? cp >= ' ' : cel_tis_printable(cp)) {
    return cel_tput(r, p, n);
  } else {
    snprintf(text, sizeof text, cp < 0x100 ? "\\x%02x" : cp < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)cp);
  }
  return cel_tputz(r, text);
}

static cel_status put_str_repr(cel_trender *r, cel_str s) {
  bool single = s.n && memchr(s.p, '\'', s.n), dbl = s.n && memchr(s.p, '"', s.n);
  char quote = single && !dbl ? '"' : '\'';
  CEL_TRY(cel_tput(r, &quote, 1));
  for (size_t i = 0; i < s.n;) {
    size_t n = cel_tchar_bytes(s.p + i);
    CEL_TRY(put_char_repr(r, cel_tchar(s.p + i), s.p + i, n, quote));
    i += n;
  }
  CEL_TRY(cel_tcharge(r, (int64_t)s.n));
  return cel_tput(r, &quote, 1);
}

static cel_status put_repr(cel_trender *r, cel_tval v, int depth);

static cel_status put_items_repr(cel_trender *r, const char *open, const cel_tlist *l, const char *close, int depth) {
  CEL_TRY(cel_tputz(r, open));
  for (int64_t i = 0; i < l->n; i++) {
    if (i) CEL_TRY(cel_tputz(r, ", "));
    CEL_TRY(put_repr(r, l->at[i], depth + 1));
  }
  return cel_tputz(r, close);
}

static cel_status put_dict_repr(cel_trender *r, const char *open, const cel_tdict *d, const char *close, int depth) {
  CEL_TRY(cel_tputz(r, open));
  for (int64_t i = 0; i < d->n; i++) {
    if (i) CEL_TRY(cel_tputz(r, ", "));
    CEL_TRY(put_repr(r, d->at[i].key, depth + 1));
    CEL_TRY(cel_tputz(r, ": "));
    CEL_TRY(put_repr(r, d->at[i].value, depth + 1));
  }
  return cel_tputz(r, close);
}

static cel_status put_view_repr(cel_trender *r, cel_tval v, int depth) {
  const cel_tdict *d = v.as.dict;
  CEL_TRY(cel_tputz(r, cel_ttype(v)));
  CEL_TRY(cel_tputz(r, "(["));
  for (int64_t i = 0; i < d->n; i++) {
    if (i) CEL_TRY(cel_tputz(r, ", "));
    if (v.sub == CEL_TVIEW_ITEMS) CEL_TRY(cel_tputz(r, "("));
    if (v.sub != CEL_TVIEW_VALUES) CEL_TRY(put_repr(r, d->at[i].key, depth + 1));
    if (v.sub == CEL_TVIEW_ITEMS) CEL_TRY(cel_tputz(r, ", "));
    if (v.sub != CEL_TVIEW_KEYS) CEL_TRY(put_repr(r, d->at[i].value, depth + 1));
    if (v.sub == CEL_TVIEW_ITEMS) CEL_TRY(cel_tputz(r, ")"));
  }
  return cel_tputz(r, "])");
}

static cel_status put_scalar(cel_trender *r, cel_tval v) {
  char text[96];
  switch (v.kind) {
    case CEL_T_NONE: return cel_tputz(r, "None");
    case CEL_T_BOOL: return cel_tputz(r, v.as.b ? "True" : "False");
    case CEL_T_INT: snprintf(text, sizeof text, "%lld", (long long)v.as.i); break;
    case CEL_T_FLOAT: cel_tfloat_repr(v.as.f, text); break;
    case CEL_T_RANGE: {
      const cel_trange *g = v.as.range;
      long long start = g->start, stop = g->start + g->n * g->step, step = g->step;
      if (step == 1) {
        snprintf(text, sizeof text, "range(%lld, %lld)", start, stop);
      } else {
        snprintf(text, sizeof text, "range(%lld, %lld, %lld)", start, stop, step);
      }
      break;
    }
    default: snprintf(text, sizeof text, "<%s object>", cel_ttype(v)); break;  // Python prints an address here
  }
  return cel_tputz(r, text);
}

static cel_status put_loop(cel_trender *r, cel_tloop *loop) {
  int64_t n;
  char text[64];
  CEL_TRY(cel_tloop_length(r, loop, &n));
  snprintf(text, sizeof text, "<LoopContext %lld/%lld>", (long long)loop->index0 + 1, (long long)n);
  return cel_tputz(r, text);
}

static cel_status put_repr(cel_trender *r, cel_tval v, int depth) {
  if (depth > CEL_T_DATA_DEPTH) return cel_tfail_limit(r, "a value nested deeper than %d", CEL_T_DATA_DEPTH);
  CEL_TRY(cel_tcharge(r, 1));
  switch (v.kind) {
    case CEL_T_UNDEFINED: return cel_tputz(r, "Undefined");
    case CEL_T_STR:
      if (!(v.flag & CEL_TFLAG_SAFE)) return put_str_repr(r, cel_tview_str(v));
      CEL_TRY(cel_tputz(r, "Markup("));
      CEL_TRY(put_str_repr(r, cel_tview_str(v)));
      return cel_tputz(r, ")");
    case CEL_T_LIST: return put_items_repr(r, "[", v.as.list, "]", depth);
    case CEL_T_TUPLE: return put_items_repr(r, "(", v.as.list, v.as.list->n == 1 ? ",)" : ")", depth);
    case CEL_T_DICT: return put_dict_repr(r, "{", v.as.dict, "}", depth);
    case CEL_T_NAMESPACE: return put_dict_repr(r, "<Namespace {", v.as.dict, "}>", depth);
    case CEL_T_VIEW: return put_view_repr(r, v, depth);
    case CEL_T_LOOP: return put_loop(r, v.as.loop);
    default: return put_scalar(r, v);
  }
}

cel_status cel_tput_repr(cel_trender *r, cel_tval v) { return put_repr(r, v, 0); }

cel_status cel_tput_str(cel_trender *r, cel_tval v) {
  if (v.kind == CEL_T_STR) return cel_tput(r, v.as.s, v.n);
  if (v.kind == CEL_T_UNDEFINED) return CEL_OK;
  return put_repr(r, v, 0);
}

cel_status cel_tstr_of(cel_trender *r, cel_tval v, cel_tval *out) {
  if (v.kind == CEL_T_STR) {
    *out = v;
    return CEL_OK;
  }
  CEL_TRY(cel_ttext_begin(r));
  CEL_TRY(cel_tput_str(r, v));
  return cel_ttext_end(r, out);
}

// ---- JSON ----

static cel_status put_json_str(cel_trender *r, cel_str s, bool ascii) {
  static const char named[] = "\"\"\\\\\bb\ff\nn\rr\tt";
  size_t plain = 0;  // start of what can go out as it is
  char text[16];
  CEL_TRY(cel_tput(r, "\"", 1));
  for (size_t i = 0; i < s.n;) {
    unsigned char c = (unsigned char)s.p[i];
    size_t n = cel_tchar_bytes(s.p + i);
    if (c >= 0x20 && c != '"' && c != '\\' && (c < 0x80 || !ascii)) {
      i += n;
      continue;
    }
    CEL_TRY(cel_tput(r, s.p + plain, i - plain));
    const char *name = NULL;
    for (size_t k = 0; k + 1 < sizeof named; k += 2) name = (unsigned char)named[k] == c ? &named[k + 1] : name;
    uint32_t cp = cel_tchar(s.p + i);
    if (name) {
      snprintf(text, sizeof text, "\\%c", *name);
    } else if (cp < 0x10000) {
      snprintf(text, sizeof text, "\\u%04x", (unsigned)cp);
    } else {
      snprintf(text, sizeof text, "\\u%04x\\u%04x", (unsigned)(0xD7C0 + (cp >> 10)), (unsigned)(0xDC00 | (cp & 0x3FF)));
    }
    CEL_TRY(cel_tputz(r, text));
    i += n, plain = i;
  }
  CEL_TRY(cel_tput(r, s.p + plain, s.n - plain));
  return cel_tput(r, "\"", 1);
}

static cel_status put_json_number(cel_trender *r, cel_tval v) {
  char text[64];
  if (v.kind == CEL_T_INT) {
    snprintf(text, sizeof text, "%lld", (long long)v.as.i);
  } else if (isnan(v.as.f) || isinf(v.as.f)) {
    snprintf(text, sizeof text, "%s", isnan(v.as.f) ? "NaN" : v.as.f > 0 ? "Infinity" : "-Infinity");
  } else {
    cel_tfloat_repr(v.as.f, text);
  }
  return cel_tputz(r, text);
}

static cel_status put_json(cel_trender *r, cel_tval v, const cel_tjson_style *style, int depth);

static cel_status json_newline(cel_trender *r, const cel_tjson_style *style, int depth) {
  if (!style->has_indent) return CEL_OK;
  CEL_TRY(cel_tput(r, "\n", 1));
  for (int i = 0; i < depth; i++) CEL_TRY(cel_tput(r, style->indent.p, style->indent.n));
  return CEL_OK;
}

static cel_status put_json_list(cel_trender *r, const cel_tlist *l, const cel_tjson_style *style, int depth) {
  if (!l->n) return cel_tputz(r, "[]");
  CEL_TRY(cel_tputz(r, "["));
  for (int64_t i = 0; i < l->n; i++) {
    if (i) CEL_TRY(cel_tput(r, style->item.p, style->item.n));
    CEL_TRY(json_newline(r, style, depth + 1));
    CEL_TRY(put_json(r, l->at[i], style, depth + 1));
  }
  CEL_TRY(json_newline(r, style, depth));
  return cel_tputz(r, "]");
}

static cel_status put_json_key(cel_trender *r, cel_tval key, bool ascii) {
  if (key.kind == CEL_T_STR) return put_json_str(r, cel_tview_str(key), ascii);
  CEL_TRY(cel_tput(r, "\"", 1));
  switch (key.kind) {
    case CEL_T_NONE: CEL_TRY(cel_tputz(r, "null")); break;
    case CEL_T_BOOL: CEL_TRY(cel_tputz(r, key.as.b ? "true" : "false")); break;
    case CEL_T_INT:
    case CEL_T_FLOAT: CEL_TRY(put_json_number(r, key)); break;
    default: return cel_tfail(r, "tojson: a key is a %s; str, int, float, bool and None can be", cel_ttype(key));
  }
  return cel_tput(r, "\"", 1);
}

static cel_status sorted_pairs(cel_trender *r, const cel_tdict *d, cel_tval **order) {
  cel_tval *places = CEL_TNEW(r, cel_tval, d->n), *keys = CEL_TNEW(r, cel_tval, d->n);
  if (!places || !keys) return r->failed;
  for (int64_t i = 0; i < d->n; i++) places[i] = cel_tint(i), keys[i] = d->at[i].key;
  *order = places;
  return cel_tsort(r, places, keys, d->n, false);
}

static cel_status put_json_dict(cel_trender *r, const cel_tdict *d, const cel_tjson_style *style, int depth) {
  cel_tval *order = NULL;
  if (!d->n) return cel_tputz(r, "{}");
  if (style->sort) CEL_TRY(sorted_pairs(r, d, &order));
  CEL_TRY(cel_tputz(r, "{"));
  for (int64_t i = 0; i < d->n; i++) {
    const cel_tpair *p = &d->at[order ? order[i].as.i : i];
    if (i) CEL_TRY(cel_tput(r, style->item.p, style->item.n));
    CEL_TRY(json_newline(r, style, depth + 1));
    CEL_TRY(put_json_key(r, p->key, style->ascii));
    CEL_TRY(cel_tput(r, style->key.p, style->key.n));
    CEL_TRY(put_json(r, p->value, style, depth + 1));
  }
  CEL_TRY(json_newline(r, style, depth));
  return cel_tputz(r, "}");
}

static cel_status put_json(cel_trender *r, cel_tval v, const cel_tjson_style *style, int depth) {
  if (depth > CEL_T_DATA_DEPTH) return cel_tfail_limit(r, "tojson: a value nested deeper than %d", CEL_T_DATA_DEPTH);
  CEL_TRY(cel_tcharge(r, 1));
  switch (v.kind) {
    case CEL_T_NONE: return cel_tputz(r, "null");
    case CEL_T_BOOL: return cel_tputz(r, v.as.b ? "true" : "false");
    case CEL_T_INT:
    case CEL_T_FLOAT: return put_json_number(r, v);
    case CEL_T_STR: return put_json_str(r, cel_tview_str(v), style->ascii);
    case CEL_T_LIST:
    case CEL_T_TUPLE: return put_json_list(r, v.as.list, style, depth);
    case CEL_T_DICT: return put_json_dict(r, v.as.dict, style, depth);
    default: return cel_tfail(r, "tojson: a %s cannot be written as JSON", cel_ttype(v));
  }
}

cel_status cel_tput_json(cel_trender *r, cel_tval v, const cel_tjson_style *style) { return put_json(r, v, style, 0); }
