// Filters on text and single values; those on sequences are in tmpl_filter_seq.c.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"
#include "text/template/tmpl_filter.h"
#include "text/template/tmpl_text.h"

static cel_status method_filter(cel_trender *r, const cel_tcallee *c, const char *method, cel_tval *out) {
  cel_tval s;
  cel_targs none = {0};
  bool unsafe;
  CEL_TRY(cel_tstr_of(r, c->self, &s));
  return cel_tcall_row(r, cel_tfind_method(s, cel_str_of(method), &unsafe), s, &none, out);
}

static cel_status f_upper(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return method_filter(r, c, "upper", out); }
static cel_status f_lower(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return method_filter(r, c, "lower", out); }
static cel_status f_capitalize(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  return method_filter(r, c, "capitalize", out);
}

static cel_status str_method(cel_trender *r, cel_tval self, const char *method, const cel_tval *args, int n, cel_tval *out) {
  cel_tval s, copy[4];
  bool unsafe;
  for (int i = 0; i < n; i++) copy[i] = args[i];
  cel_targs a = {.pos = copy, .n = n};
  CEL_TRY(cel_tstr_of(r, self, &s));
  return cel_tcall_row(r, cel_tfind_method(s, cel_str_of(method), &unsafe), s, &a, out);
}

static cel_status f_trim(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  return str_method(r, c->self, "strip", c->arg, cel_tgiven(c->arg[0]), out);
}

static cel_status f_center(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  int64_t width;
  CEL_TRY(cel_targ_int(r, c, 0, 80, &width));
  cel_tval arg = cel_tint(width);
  return str_method(r, c->self, "center", &arg, 1, out);
}

static cel_status f_replace(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  cel_tval a[3];
  bool counted = cel_tgiven(c->arg[2]) && c->arg[2].kind != CEL_T_NONE;
  CEL_TRY(cel_tstr_of(r, c->arg[0], &a[0]));
  CEL_TRY(cel_tstr_of(r, c->arg[1], &a[1]));
  a[2] = c->arg[2];
  return str_method(r, c->self, "replace", a, counted ? 3 : 2, out);
}

// Upper case behind white space and any of - ( { [ <, lower case elsewhere: not what str.title does.
static cel_status f_title(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  cel_tval s;
  cel_buf b = {0};
  bool start = true;
  CEL_TRY(cel_tstr_of(r, c->self, &s));
  CEL_TRY(cel_tcharge(r, s.n));
  CEL_TRY(cel_ttext_begin(r));
  for (uint32_t i = 0; i < s.n; i += (uint32_t)cel_tchar_bytes(s.as.s + i)) {
    uint32_t cp = cel_tchar(s.as.s + i);
    if (start) {
      cel_tput_upper(&b, cp);
    } else {
      cel_tput_lower(&b, cp);
    }
    start = cel_tspace(cp) || (cp < 0x80 && cp && strchr("-({[<", (int)cp));
  }
  cel_status status = b.failed ? cel_fail_oom(r->err, "text of a template") : cel_tput(r, b.p ? b.p : "", b.n);
  cel_buf_deinit(&b);
  CEL_TRY(status);
  return cel_ttext_end(r, out);
}

static cel_status f_string(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return cel_tstr_of(r, c->self, out); }

static cel_status f_safe(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  CEL_TRY(cel_tstr_of(r, c->self, out));
  out->flag |= CEL_TFLAG_SAFE;
  return CEL_OK;
}

static cel_status escape(cel_trender *r, cel_tval v, cel_tval *out) {
  cel_tval empty = cel_tstrz("");
  empty.flag = CEL_TFLAG_SAFE;
  return cel_tbinary(r, CEL_OP_ADD, empty, v, out);  // safe text escapes what joins it
}

static cel_status f_escape(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  CEL_TRY(cel_tstr_of(r, c->self, out));
  return out->flag & CEL_TFLAG_SAFE ? CEL_OK : escape(r, *out, out);
}

static cel_status f_forceescape(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  CEL_TRY(cel_tstr_of(r, c->self, out));
  out->flag = 0;
  return escape(r, *out, out);
}

static cel_status f_default(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  bool absent = c->self.kind == CEL_T_UNDEFINED || (cel_targ_true(r, c, 1) && !cel_ttruth(r, c->self));
  *out = !absent ? c->self : cel_tgiven(c->arg[0]) ? c->arg[0] : cel_tstrz("");
  return CEL_OK;
}

// ---- indent ----

static cel_status f_indent(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  cel_tval s = c->self, lines, pad = cel_tgiven(c->arg[0]) ? c->arg[0] : cel_tint(4), joined, none[1];
  bool first = cel_targ_true(r, c, 1), blank = cel_targ_true(r, c, 2);
  if (pad.kind != CEL_T_STR) CEL_TRY(cel_tbinary(r, CEL_OP_MUL, cel_tstrz(" "), pad, &pad));
  CEL_TRY(cel_tbinary(r, CEL_OP_ADD, s, cel_tstrz("\n"), &joined));
  CEL_TRY(str_method(r, joined, "splitlines", none, 0, &lines));
  const cel_tlist *l = lines.as.list;
  CEL_TRY(cel_ttext_begin(r));
  for (int64_t i = 0; i < l->n; i++) {
    if (i) CEL_TRY(cel_tput(r, "\n", 1));
    if (i ? blank || l->at[i].n > 0 : first) CEL_TRY(cel_tput(r, pad.as.s, pad.n));
    CEL_TRY(cel_tput(r, l->at[i].as.s, l->at[i].n));
  }
  return cel_ttext_end(r, out);
}

// ---- numbers ----

// Python's int(): a sign, digits with single underscores, white space around.
static bool parse_int(cel_str s, int64_t base, int64_t *out) {
  s = cel_tstrip_space(s, true, true);
  bool minus = s.n && s.p[0] == '-', digit_before = false;
  if (s.n && (s.p[0] == '-' || s.p[0] == '+')) s.p++, s.n--;
  char x = s.n > 1 && s.p[0] == '0' ? s.p[1] | 32 : 0;
  int64_t prefix = x == 'x' ? 16 : x == 'o' ? 8 : x == 'b' ? 2 : 0;
  if (prefix && (base == prefix || base == 0)) {
    base = prefix, s.p += 2, s.n -= 2;
    digit_before = true;  // "0x_1" is allowed
  } else if (base == 0) {
    base = 10;
  }
  uint64_t value = 0, most = (uint64_t)INT64_MAX + minus;
  if (!s.n || s.p[s.n - 1] == '_') return false;
  for (size_t i = 0; i < s.n; i++) {
    char c = s.p[i];
    if (c == '_' && digit_before) {
      digit_before = false;
      continue;
    }
    int d = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'z' ? (c | 32) - 'a' + 10 : 99;
    if (d >= base || value > (most - (uint64_t)d) / (uint64_t)base) return false;
    value = value * (uint64_t)base + (uint64_t)d;
    digit_before = true;
  }
  *out = minus ? (int64_t)(0 - value) : (int64_t)value;
  return true;
}

static bool parse_word(cel_str s, double *out) {
  static const struct { const char *word; double value; } words[] = {{"inf", INFINITY}, {"infinity", INFINITY}, {"nan", NAN}};
  bool minus = s.n && s.p[0] == '-';
  if (s.n && (minus || s.p[0] == '+')) s = (cel_str){s.p + 1, s.n - 1};
  for (int i = 0; i < CEL_COUNT(words); i++) {
    size_t k = 0;
    if (strlen(words[i].word) != s.n) continue;
    while (k < s.n && (s.p[k] | 32) == words[i].word[k]) k++;
    *out = minus ? -words[i].value : words[i].value;
    if (k == s.n) return true;
  }
  return false;
}

// Python's float(): decimal digits, exponent, inf, nan.
static bool parse_float(cel_str s, double *out) {
  char text[512];
  size_t n = 0;
  s = cel_tstrip_space(s, true, true);
  for (size_t i = 0; i < s.n; i++) {
    char c = s.p[i];
    if (c == '_' && i > 0 && i + 1 < s.n && s.p[i - 1] >= '0' && s.p[i - 1] <= '9' && s.p[i + 1] >= '0' && s.p[i + 1] <= '9') {
      continue;
    }
    if (c <= ' ' || (c | 32) == 'x' || c == '(' || n + 1 == sizeof text) return false;  // no hexadecimal, no nan(...)
    text[n++] = c;
  }
  return cel_parse_double((cel_str){text, n}, out) || parse_word((cel_str){text, n}, out);
}

static cel_status float_to_int(cel_trender *r, double x, int64_t otherwise, cel_tval *out) {
  if (isnan(x) || isinf(x)) {
    *out = cel_tint(otherwise);
    return CEL_OK;
  }
  if (fabs(x) >= 9223372036854775808.0) return cel_tfail_limit(r, "an integer that needs more than 64 bits");
  *out = cel_tint((int64_t)x);
  return CEL_OK;
}

static cel_status f_int(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  int64_t base, whole;
  double x;
  *out = cel_tgiven(c->arg[0]) ? c->arg[0] : cel_tint(0);
  CEL_TRY(cel_targ_int(r, c, 1, 10, &base));
  if (c->self.kind == CEL_T_UNDEFINED) return cel_tfail_undefined(r, c->self);
  if (cel_tis_int(c->self)) {
    *out = cel_tint(cel_tint_of(c->self));
  } else if (c->self.kind == CEL_T_FLOAT) {
    if (isinf(c->self.as.f) || isnan(c->self.as.f)) return CEL_OK;
    return float_to_int(r, c->self.as.f, 0, out);
  } else if (c->self.kind == CEL_T_STR) {
    if (base >= 0 && base <= 36 && base != 1 && parse_int(cel_tview_str(c->self), base, &whole)) {
      *out = cel_tint(whole);
    } else if (parse_float(cel_tview_str(c->self), &x) && !isinf(x) && !isnan(x)) {
      return float_to_int(r, x, 0, out);
    }
  }
  return CEL_OK;
}

static cel_status f_float(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  double x;
  *out = cel_tgiven(c->arg[0]) ? c->arg[0] : cel_tfloat(0);
  if (c->self.kind == CEL_T_UNDEFINED) return cel_tfail_undefined(r, c->self);
  if (cel_tis_number(c->self)) *out = cel_tfloat(cel_tfloat_of(c->self));
  if (c->self.kind == CEL_T_STR && parse_float(cel_tview_str(c->self), &x)) *out = cel_tfloat(x);
  return CEL_OK;
}

static cel_status f_abs(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  if (c->self.kind == CEL_T_FLOAT) {
    *out = cel_tfloat(fabs(c->self.as.f));
    return CEL_OK;
  }
  if (cel_tis_int(c->self) && cel_tint_of(c->self) >= 0) {
    *out = cel_tint(cel_tint_of(c->self));
    return CEL_OK;
  }
  if (!cel_tis_number(c->self)) return cel_tfail(r, "abs does not work on %s", cel_ttype(c->self));
  return cel_tnegate(r, c->self, out);
}

// Rounds half to even on the decimal digits, as Python's round() of a float does.
static double round_digits(double x, int64_t digits) {
  char text[400];
  if (isnan(x) || isinf(x) || digits > 300) return x;
  if (digits >= 0) {
    snprintf(text, sizeof text, "%.*f", (int)digits, x);
    return strtod(text, NULL);
  }
  if (digits < -308) return copysign(0, x);
  double unit = pow(10, (double)-digits), q = x / unit, whole = nearbyint(q);
  return whole * unit;
}

static cel_status f_round(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  int64_t digits;
  cel_str method;
  CEL_TRY(cel_targ_int(r, c, 0, 0, &digits));
  CEL_TRY(cel_targ_str(r, c, 1, "common", &method));
  bool up = cel_str_is(method, "ceil"), down = cel_str_is(method, "floor");
  if (!up && !down && !cel_str_is(method, "common")) return cel_tfail(r, "round: the method is common, ceil or floor");
  if (c->self.kind == CEL_T_UNDEFINED) return cel_tfail_undefined(r, c->self);
  if (!cel_tis_number(c->self)) return cel_tfail(r, "round does not work on %s", cel_ttype(c->self));
  if (!up && !down) {
    if (c->self.kind == CEL_T_FLOAT) {
      *out = cel_tfloat(round_digits(c->self.as.f, digits));
    } else if (digits >= 0) {
      *out = cel_tint(cel_tint_of(c->self));
    } else {
      return cel_tfail(r, "round: an integer with negative precision is not supported");
    }
    return CEL_OK;
  }
  double unit = pow(10, (double)digits), x = cel_tfloat_of(c->self) * unit;
  *out = cel_tfloat((up ? ceil(x) : floor(x)) / unit);
  return CEL_OK;
}

// ---- JSON ----

static cel_status json_indent(cel_trender *r, cel_tval v, cel_tjson_style *style) {
  if (!cel_tgiven(v) || v.kind == CEL_T_NONE) return CEL_OK;
  style->has_indent = true;
  if (v.kind == CEL_T_STR) {
    style->indent = cel_tview_str(v);
    return CEL_OK;
  }
  if (!cel_tis_int(v)) return cel_tfail(r, "tojson: indent is an integer or a string, not %s", cel_ttype(v));
  cel_tval pad;
  CEL_TRY(cel_tbinary(r, CEL_OP_MUL, cel_tstrz(" "), cel_tint(cel_tint_of(v)), &pad));
  style->indent = cel_tview_str(pad);
  return CEL_OK;
}

static cel_status f_tojson(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  cel_tjson_style style = {.item = CEL_STR(", "), .key = CEL_STR(": "), .ascii = cel_targ_true(r, c, 0), .sort = cel_targ_true(r, c, 3)};
  CEL_TRY(json_indent(r, c->arg[1], &style));
  if (style.has_indent) style.item = CEL_STR(",");
  if (cel_tgiven(c->arg[2]) && c->arg[2].kind != CEL_T_NONE) {
    cel_tlist *l;
    CEL_TRY(cel_tcollect(r, c->arg[2], &l));
    if (l->n != 2 || l->at[0].kind != CEL_T_STR || l->at[1].kind != CEL_T_STR) {
      return cel_tfail(r, "tojson: separators are two strings");
    }
    style.item = cel_tview_str(l->at[0]), style.key = cel_tview_str(l->at[1]);
  }
  CEL_TRY(cel_ttext_begin(r));
  CEL_TRY(cel_tput_json(r, c->self, &style));
  return cel_ttext_end(r, out);
}

// ---- other text ----

static cel_status f_format(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  cel_tval s, args;
  CEL_TRY(cel_tstr_of(r, c->self, &s));
  if (c->args->n && c->args->n_kw) return cel_tfail(r, "format takes arguments by place or by name, not both");
  if (c->args->n_kw) {
    cel_tdict *d;
    CEL_TRY(cel_tdict_new(r, c->args->n_kw, &d));
    for (int i = 0; i < c->args->n_kw; i++) CEL_TRY(cel_tdict_set(r, d, c->args->kw[i].key, c->args->kw[i].value));
    args = cel_tdictv(d);
  } else {
    cel_tlist *l;
    CEL_TRY(cel_tlist_new(r, c->args->n, &l));
    for (int i = 0; i < c->args->n; i++) l->at[i] = c->args->pos[i];
    args = cel_tseq(CEL_T_TUPLE, l);
  }
  return cel_tpercent(r, cel_tview_str(s), args, out);
}

static cel_status f_wordcount(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  cel_tval s;
  int64_t n = 0;
  bool inside = false;
  CEL_TRY(cel_tstr_of(r, c->self, &s));
  CEL_TRY(cel_tcharge(r, s.n));
  for (uint32_t i = 0; i < s.n; i += (uint32_t)cel_tchar_bytes(s.as.s + i)) {
    bool word = cel_tis_word(cel_tchar(s.as.s + i));
    n += word && !inside;
    inside = word;
  }
  *out = cel_tint(n);
  return CEL_OK;
}

static cel_status put_quoted(cel_trender *r, cel_tval v, bool query) {
  cel_tval s;
  CEL_TRY(cel_tstr_of(r, v, &s));
  for (uint32_t i = 0; i < s.n; i++) {
    unsigned char c = (unsigned char)s.as.s[i];
    bool plain = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || (c && strchr("_.-~", c)) || (c == '/' && !query);
    char text[4];
    snprintf(text, sizeof text, plain ? "%c" : query && c == ' ' ? "+" : "%%%02X", c);
    CEL_TRY(cel_tputz(r, text));
  }
  return cel_tcharge(r, s.n);
}

static cel_status f_urlencode(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  CEL_TRY(cel_ttext_begin(r));
  if (c->self.kind == CEL_T_STR || !cel_titerable(c->self)) {
    CEL_TRY(put_quoted(r, c->self, false));
    return cel_ttext_end(r, out);
  }
  cel_tval items = c->self;
  cel_tlist *l, *pair;
  if (items.kind == CEL_T_DICT) items = (cel_tval){.kind = CEL_T_VIEW, .sub = CEL_TVIEW_ITEMS, .as.dict = items.as.dict};
  CEL_TRY(cel_tcollect(r, items, &l));
  for (int64_t i = 0; i < l->n; i++) {
    CEL_TRY(cel_tcollect(r, l->at[i], &pair));
    if (pair->n != 2) return cel_tfail(r, "urlencode needs pairs");
    if (i) CEL_TRY(cel_tputz(r, "&"));
    CEL_TRY(put_quoted(r, pair->at[0], true));
    CEL_TRY(cel_tputz(r, "="));
    CEL_TRY(put_quoted(r, pair->at[1], true));
  }
  return cel_ttext_end(r, out);
}

static cel_status f_truncate(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  int64_t length, leeway, n;
  cel_str end;
  cel_tval s, cut[3] = {{.kind = CEL_T_MISSING}, {.kind = CEL_T_MISSING}, {.kind = CEL_T_MISSING}};
  CEL_TRY(cel_targ_int(r, c, 0, 255, &length));
  CEL_TRY(cel_targ_str(r, c, 2, "...", &end));
  CEL_TRY(cel_targ_int(r, c, 3, 5, &leeway));
  CEL_TRY(cel_tlength(r, c->self, &n));
  s = c->self;
  if (s.kind != CEL_T_STR) return cel_tfail(r, "truncate works on strings, not on %s", cel_ttype(s));
  if (length < cel_tchars(end) || leeway < 0) return cel_tfail(r, "truncate: the length is less than its ending has");
  *out = s;
  if (n <= length || n - length <= leeway) return CEL_OK;
  cut[1] = cel_tint(length - cel_tchars(end));
  CEL_TRY(cel_tget_slice(r, s, cut, &s));
  if (!cel_targ_true(r, c, 1)) {
    for (uint32_t i = s.n; i-- > 0;) {
      if (s.as.s[i] != ' ') continue;
      s.n = i;
      break;
    }
  }
  return cel_tbinary(r, CEL_OP_ADD, s, cel_tstr(end), out);
}

static cel_status f_filesizeformat(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  static const char *const prefixes = "kMGTPEZY";
  cel_tval v;
  bool binary = cel_targ_true(r, c, 0);
  cel_tcallee number = {.self = c->self, .args = c->args};
  CEL_TRY(f_float(r, &number, &v));
  double base = binary ? 1024 : 1000, x = v.as.f, unit = base;
  if (x == 1) return cel_tprintf_str(r, out, "1 Byte");
  char size[400];
  if (x < base) return cel_tprintf_str(r, out, "%.0f Bytes", trunc(x));
  int i = 0;
  while (i < 7 && x >= unit * base) unit *= base, i++;
  char prefix = binary && i == 0 ? 'K' : prefixes[i];
  snprintf(size, sizeof size, "%.1f", base * x / pow(base, i + 2));  // rounded where the reference rounds
  cel_plain_point(size);
  return cel_tprintf_str(r, out, "%s %c%s", size, prefix, binary ? "iB" : "B");
}

static cel_status f_attr(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  cel_str name;
  CEL_TRY(cel_targ_str(r, c, 0, NULL, &name));
  if (c->self.kind == CEL_T_UNDEFINED) return cel_tfail_undefined(r, c->self);
  if (c->self.kind != CEL_T_DICT) return cel_tget_attr(r, c->self, name, out);
  cel_tdict *empty;  // attributes alone, no items
  bool unsafe;
  if (cel_tfind_method(c->self, name, &unsafe) || unsafe) return cel_tget_attr(r, c->self, name, out);
  CEL_TRY(cel_tdict_new(r, 0, &empty));
  return cel_tget_attr(r, cel_tdictv(empty), name, out);
}

static cel_status f_refused(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  (void)c, (void)out;
  return cel_tfail(r, "this filter is not supported (of random, pprint, striptags, urlize, wordwrap and xmlattr none is)");
}

static const struct cel_tmethod_row text_filters[] = {
    {"abs", "", f_abs},
    {"attr", "name", f_attr},
    {"capitalize", "", f_capitalize},
    {"center", "width?", f_center},
    {"d", "default_value? boolean?", f_default},
    {"default", "default_value? boolean?", f_default},
    {"e", "", f_escape},
    {"escape", "", f_escape},
    {"filesizeformat", "binary?", f_filesizeformat},
    {"float", "default?", f_float},
    {"forceescape", "", f_forceescape},
    {"format", "*", f_format},
    {"indent", "width? first? blank?", f_indent},
    {"int", "default? base?", f_int},
    {"lower", "", f_lower},
    {"pprint", "*", f_refused},
    {"random", "*", f_refused},
    {"replace", "old new count?", f_replace},
    {"round", "precision? method?", f_round},
    {"safe", "", f_safe},
    {"string", "", f_string},
    {"striptags", "*", f_refused},
    {"title", "", f_title},
    {"tojson", "ensure_ascii? indent? separators? sort_keys?", f_tojson},
    {"trim", "chars?", f_trim},
    {"truncate", "length? killwords? end? leeway?", f_truncate},
    {"upper", "", f_upper},
    {"urlencode", "", f_urlencode},
    {"urlize", "*", f_refused},
    {"wordcount", "", f_wordcount},
    {"wordwrap", "*", f_refused},
    {"xmlattr", "*", f_refused},
    {NULL, NULL, NULL},
};

const struct cel_tmethod_row *cel_tfind_row(const struct cel_tmethod_row *rows, cel_str name) {
  for (; rows->name; rows++) {
    if (cel_str_is(name, rows->name)) return rows;
  }
  return NULL;
}

static const struct cel_tmethod_row *find_filter(cel_str name) {
  const struct cel_tmethod_row *row = cel_tfind_row(text_filters, name);
  return row ? row : cel_tfind_row(cel_tseq_filters, name);
}

bool cel_tfilter_exists(cel_str name) { return find_filter(name) != NULL; }

cel_status cel_tfilter(cel_trender *r, cel_str name, cel_tval v, const cel_targs *args, cel_tval *out) {
  const struct cel_tmethod_row *row = find_filter(name);
  return row ? cel_tcall_row(r, row, v, args, out) : cel_tfail(r, "there is no filter \"%.*s\"", CEL_STR_ARG(name));
}
