// Python's two ways of formatting text: "..." % values, and "...".format(values).
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"
#include "text/template/tmpl_render.h"
#include "text/template/tmpl_text.h"

enum { MAX_WIDTH = 1 << 20, MAX_PRECISION = 300 };

// One conversion: flags, width and so on, of either language.
typedef struct spec {
  cel_str fill;
  char align;  // '<' '>' '=' '^', 0: by type
  char sign;   // '+' ' ' or 0
  bool alternate, zero, comma, underscore;
  int64_t width, precision;  // -1: none
  char type;   // 0: none
} spec;

static cel_status put_padded(cel_trender *r, const spec *s, cel_str head, cel_str body, bool number) {
  int64_t room = s->width - cel_tchars(head) - cel_tchars(body), left = 0;
  char align = s->align ? s->align : number ? '>' : '<';
  if (room < 0) room = 0;
  if (align == '>') left = room;
  if (align == '^') left = room / 2;
  for (int64_t i = 0; i < left; i++) CEL_TRY(cel_tput(r, s->fill.p, s->fill.n));
  CEL_TRY(cel_tput(r, head.p, head.n));
  for (int64_t i = 0; align == '=' && i < room; i++) CEL_TRY(cel_tput(r, s->fill.p, s->fill.n));
  CEL_TRY(cel_tput(r, body.p, body.n));
  for (int64_t i = 0; align != '=' && i < room - left; i++) CEL_TRY(cel_tput(r, s->fill.p, s->fill.n));
  return cel_tcharge(r, room * 8);
}

static cel_status put_text(cel_trender *r, const spec *s, cel_str text) {
  if (s->precision >= 0) text.n = cel_tchar_offset(text, s->precision);
  return put_padded(r, s, CEL_STR(""), text, false);
}

// Puts separators into the whole part of digits.
static void group_digits(char *text, size_t size, char separator) {
  size_t whole = 0, n = strlen(text);
  while (isdigit((unsigned char)text[whole])) whole++;
  for (size_t at = whole; at > 3 && n + 2 < size;) {
    at -= 3;
    memmove(text + at + 1, text + at, n - at + 1);
    text[at] = separator;
    n++;
  }
}

static cel_status put_number(cel_trender *r, const spec *s, bool minus, char *digits, size_t size) {
  char head[4] = "";
  if (minus || s->sign) snprintf(head, sizeof head, "%c", minus ? '-' : s->sign);
  if (s->comma || s->underscore) group_digits(digits, size, s->comma ? ',' : '_');
  spec p = *s;
  if (s->zero && !s->align) p.align = '=', p.fill = CEL_STR("0");
  return put_padded(r, &p, cel_str_of(head), cel_str_of(digits), true);
}

static cel_status put_integer(cel_trender *r, const spec *s, int64_t value) {
  char digits[128], *p = digits + 70;
  uint64_t x = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  unsigned base = s->type == 'x' || s->type == 'X' ? 16 : s->type == 'o' ? 8 : s->type == 'b' ? 2 : 10;
  const char *names = s->type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
  *p = 0;
  do *--p = names[x % base];
  while ((x /= base) > 0);
  char out[160];
  snprintf(out, sizeof out, "%s%s", !s->alternate || base == 10 ? "" : base == 2 ? "0b" : base == 8 ? "0o" : s->type == 'X' ? "0X" : "0x", p);
  return put_number(r, s, value < 0, out, sizeof out);
}

static cel_status put_float(cel_trender *r, const spec *s, double x) {
  char digits[MAX_PRECISION + 420];
  int precision = s->precision < 0 ? 6 : (int)s->precision;
  bool minus = signbit(x) && !isnan(x), upper = s->type && isupper((unsigned char)s->type);
  double a = minus ? -x : x;
  char type = s->type ? (char)tolower((unsigned char)s->type) : 0;
  if (isnan(a) || isinf(a)) {
    snprintf(digits, sizeof digits, "%s", isnan(a) ? upper ? "NAN" : "nan" : upper ? "INF" : "inf");
  } else if (type == 'e') {
    snprintf(digits, sizeof digits, upper ? "%.*E" : "%.*e", precision, a);
  } else if (type == 'f' || type == '%') {
    snprintf(digits, sizeof digits, type == '%' ? "%.*f%%" : "%.*f", precision, type == '%' ? a * 100 : a);
  } else if (type == 'g' || (type == 'n') || (!type && s->precision >= 0)) {
    snprintf(digits, sizeof digits, upper ? "%.*G" : "%.*g", precision ? precision : 1, a);
    cel_plain_point(digits);
    if (!type && !strpbrk(digits, ".e")) strncat(digits, ".0", sizeof digits - strlen(digits) - 1);
  } else {
    char text[32];
    cel_tfloat_repr(a, text);
    snprintf(digits, sizeof digits, "%s", text);
  }
  cel_plain_point(digits);
  return put_number(r, s, minus, digits, sizeof digits);
}

static cel_status check_spec(cel_trender *r, const spec *s) {
  if (s->width > MAX_WIDTH) return cel_tfail_limit(r, "a format width over %d", MAX_WIDTH);
  if (s->precision > MAX_PRECISION && s->type && strchr("eEfFgG%", s->type)) {
    return cel_tfail_limit(r, "a format precision over %d", MAX_PRECISION);
  }
  return CEL_OK;
}

// ---- percent ----

typedef struct percent {
  cel_str format;
  size_t i;
  cel_tval args;  // a tuple, a dict, or one value
  int64_t used;
} percent;

static cel_status next_arg(cel_trender *r, percent *p, cel_tval *out) {
  bool tuple = p->args.kind == CEL_T_TUPLE;
  if (tuple ? p->used >= p->args.as.list->n : p->used > 0) return cel_tfail(r, "not enough values for the format");
  *out = tuple ? p->args.as.list->at[p->used] : p->args;
  p->used++;
  return CEL_OK;
}

static bool more(const percent *p) { return p->i < p->format.n; }
static char here(const percent *p) { return more(p) ? p->format.p[p->i] : 0; }

static cel_status percent_key(cel_trender *r, percent *p, cel_tval *out) {
  size_t start = ++p->i;
  while (more(p) && here(p) != ')') p->i++;
  if (!more(p)) return cel_tfail(r, "a key in the format has no \")\"");
  cel_str key = {p->format.p + start, p->i++ - start};
  if (p->args.kind != CEL_T_DICT) return cel_tfail(r, "a format with keys needs a dict");
  *out = cel_tdict_get_str(p->args.as.dict, key);
  return cel_tgiven(*out) ? CEL_OK : cel_tfail(r, "the dict has no key \"%.*s\"", CEL_STR_ARG(key));
}

static cel_status percent_count(cel_trender *r, percent *p, int64_t *out) {
  cel_tval v;
  if (here(p) == '*') {
    p->i++;
    CEL_TRY(next_arg(r, p, &v));
    if (!cel_tis_int(v)) return cel_tfail(r, "* in a format needs an integer");
    *out = cel_tint_of(v);
    return *out < -MAX_WIDTH || *out > MAX_WIDTH ? cel_tfail_limit(r, "a format width over %d", MAX_WIDTH) : CEL_OK;
  }
  for (*out = 0; more(p) && isdigit((unsigned char)here(p)) && *out <= MAX_WIDTH; p->i++) *out = *out * 10 + (here(p) - '0');
  return CEL_OK;
}

static void percent_flags(percent *p, spec *s) {
  for (; more(p); p->i++) {
    switch (here(p)) {
      case '-': s->align = '<'; break;
      case '+': s->sign = '+'; break;
      case ' ': s->sign = s->sign ? s->sign : ' '; break;
      case '#': s->alternate = true; break;
      case '0': s->zero = true; break;
      default: return;
    }
  }
}

static cel_status percent_text(cel_trender *r, spec *s, cel_tval v) {
  cel_tval text;
  if (s->type == 's') {
    CEL_TRY(cel_tstr_of(r, v, &text));
  } else {
    CEL_TRY(cel_ttext_begin(r));
    CEL_TRY(cel_tput_repr(r, v));
    CEL_TRY(cel_ttext_end(r, &text));
  }
  s->align = s->align ? s->align : '>';
  return put_text(r, s, cel_tview_str(text));
}

static cel_status percent_char(cel_trender *r, spec *s, cel_tval v) {
  char utf8[4];
  s->align = s->align ? s->align : '>';
  if (v.kind == CEL_T_STR && cel_tchars(cel_tview_str(v)) == 1) return put_text(r, s, cel_tview_str(v));
  if (!cel_tis_int(v)) return cel_tfail(r, "%%c needs an integer or one character");
  int64_t cp = cel_tint_of(v);
  if (cp < 0 || cp > 0x10FFFF || (cp >= 0xD800 && cp <= 0xDFFF)) return cel_tfail(r, "%%c: %lld is no character", (long long)cp);
  return put_text(r, s, (cel_str){utf8, (size_t)cel_utf8_put(utf8, (uint32_t)cp)});
}

static cel_status percent_value(cel_trender *r, spec *s, cel_tval v) {
  if (s->width < 0) s->width = -s->width, s->align = '<';
  CEL_TRY(check_spec(r, s));
  if (v.kind == CEL_T_UNDEFINED && s->type != 's' && s->type != 'r') return cel_tfail_undefined(r, v);
  switch (s->type) {
    case 's':
    case 'r':
    case 'a': return percent_text(r, s, v);
    case 'c': return percent_char(r, s, v);
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'o':
      if (v.kind == CEL_T_FLOAT && strchr("diu", s->type) && fabs(v.as.f) < 9e18) v = cel_tint((int64_t)v.as.f);
      if (!cel_tis_int(v)) return cel_tfail(r, "%%%c needs an integer, not %s", s->type, cel_ttype(v));
      return put_integer(r, s, cel_tint_of(v));
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
      if (!cel_tis_number(v)) return cel_tfail(r, "%%%c needs a number, not %s", s->type, cel_ttype(v));
      return put_float(r, s, cel_tfloat_of(v));
    default: return cel_tfail(r, "\"%%%c\" is no conversion", s->type >= ' ' && s->type < 127 ? s->type : '?');
  }
}

static cel_status percent_one(cel_trender *r, percent *p) {
  spec s = {.fill = CEL_STR(" "), .precision = -1};
  cel_tval v = {.kind = CEL_T_MISSING};
  if (here(p) == '(') CEL_TRY(percent_key(r, p, &v));
  percent_flags(p, &s);
  CEL_TRY(percent_count(r, p, &s.width));
  if (here(p) == '.') {
    p->i++;
    CEL_TRY(percent_count(r, p, &s.precision));
  }
  while (more(p) && strchr("hlL", here(p))) p->i++;
  if (!more(p)) return cel_tfail(r, "the format ends within a conversion");
  s.type = here(p);
  p->i++;
  if (s.type == '%') return cel_tput(r, "%", 1);
  if (!cel_tgiven(v)) CEL_TRY(next_arg(r, p, &v));
  return percent_value(r, &s, v);
}

cel_status cel_tpercent(cel_trender *r, cel_str format, cel_tval args, cel_tval *out) {
  percent p = {.format = format, .args = args};
  CEL_TRY(cel_ttext_begin(r));
  while (more(&p)) {
    const char *from = format.p + p.i, *sign = memchr(from, '%', format.n - p.i);
    size_t n = sign ? (size_t)(sign - from) : format.n - p.i;
    CEL_TRY(cel_tput(r, from, n));
    p.i += n;
    if (!sign) break;
    p.i++;
    CEL_TRY(cel_tcharge(r, 1));
    CEL_TRY(percent_one(r, &p));
  }
  bool rest = args.kind == CEL_T_TUPLE ? p.used < args.as.list->n : p.used == 0 && args.kind != CEL_T_DICT && args.kind != CEL_T_LIST;
  if (rest) return cel_tfail(r, "not all values were used by the format");
  return cel_ttext_end(r, out);
}

// ---- str.format ----

static bool parse_spec(cel_str f, spec *s) {
  size_t i = 0, first = f.n ? cel_tchar_bytes(f.p) : 0;
  if (f.n > first && strchr("<>=^", f.p[first]) && f.p[first]) {
    s->fill = (cel_str){f.p, first}, s->align = f.p[first], i = first + 1;
  } else if (f.n && strchr("<>=^", f.p[0]) && f.p[0]) {
    s->align = f.p[0], i = 1;
  }
  if (i < f.n && (f.p[i] == '+' || f.p[i] == ' ' || f.p[i] == '-')) {
    s->sign = f.p[i] == '-' ? 0 : f.p[i];
    i++;
  }
  if (i < f.n && f.p[i] == '#') s->alternate = true, i++;
  if (i < f.n && f.p[i] == '0') s->zero = true, i++;
  for (; i < f.n && isdigit((unsigned char)f.p[i]) && s->width <= MAX_WIDTH; i++) s->width = s->width * 10 + (f.p[i] - '0');
  if (i < f.n && (f.p[i] == ',' || f.p[i] == '_')) s->comma = f.p[i] == ',', s->underscore = f.p[i] == '_', i++;
  if (i < f.n && f.p[i] == '.') {
    if (++i >= f.n || !isdigit((unsigned char)f.p[i])) return false;
    for (s->precision = 0; i < f.n && isdigit((unsigned char)f.p[i]) && s->precision <= MAX_WIDTH; i++) {
      s->precision = s->precision * 10 + (f.p[i] - '0');
    }
  }
  if (i < f.n && (unsigned char)f.p[i] < 0x80) s->type = f.p[i++];
  return i == f.n;
}

static cel_status format_value(cel_trender *r, cel_tval v, cel_str format) {
  spec s = {.fill = CEL_STR(" "), .precision = -1};
  if (!format.n) return cel_tput_str(r, v);
  if (!parse_spec(format, &s)) return cel_tfail(r, "\"%.*s\" is no format", CEL_STR_ARG(format));
  CEL_TRY(check_spec(r, &s));
  if (v.kind == CEL_T_STR) {
    if ((s.type && s.type != 's') || s.sign || s.comma || s.underscore || s.align == '=' || s.alternate) {
      return cel_tfail(r, "\"%.*s\" is no format for a string", CEL_STR_ARG(format));
    }
    if (s.zero && !s.align) s.fill = CEL_STR("0");
    return put_text(r, &s, cel_tview_str(v));
  }
  bool integer_type = s.type && strchr("bcdoxXn", s.type), float_type = s.type && strchr("eEfFgGn%", s.type);
  if (cel_tis_int(v) && (!s.type || integer_type) && s.type != 'c') {
    if (s.precision >= 0) return cel_tfail(r, "an integer has no precision in a format");
    return put_integer(r, &s, cel_tint_of(v));
  }
  if (cel_tis_number(v) && (float_type || (v.kind == CEL_T_FLOAT && !s.type))) return put_float(r, &s, cel_tfloat_of(v));
  return cel_tfail(r, "\"%.*s\" is no format for %s", CEL_STR_ARG(format), cel_ttype(v));
}

typedef struct fields {
  const cel_targs *args;
  int automatic;  // the next {}; -1 once numbers were used
} fields;

static bool field_number(cel_str s, int64_t *out) {
  *out = 0;
  for (size_t i = 0; i < s.n; i++) {
    if (!isdigit((unsigned char)s.p[i]) || *out > INT32_MAX) return false;
    *out = *out * 10 + (s.p[i] - '0');
  }
  return s.n > 0;
}

static cel_status first_part(cel_trender *r, fields *f, cel_str name, cel_tval *out) {
  int64_t i = f->automatic;
  bool number = field_number(name, &i);
  if (!name.n) {
    if (f->automatic < 0) return cel_tfail(r, "{} and {0} do not mix in a format");
    i = f->automatic++;
  } else if (number) {
    if (f->automatic > 0) return cel_tfail(r, "{} and {0} do not mix in a format");
    f->automatic = -1;
  } else {
    for (int k = 0; k < f->args->n_kw; k++) {
      if (!cel_str_eq(cel_tview_str(f->args->kw[k].key), name)) continue;
      *out = f->args->kw[k].value;
      return CEL_OK;
    }
    return cel_tfail(r, "the format names \"%.*s\", which is not given", CEL_STR_ARG(name));
  }
  if (i >= f->args->n) return cel_tfail(r, "the format asks for value %lld of %d", (long long)i, f->args->n);
  *out = f->args->pos[i];
  return CEL_OK;
}

// "name.attr[key]"
static cel_status field_value(cel_trender *r, fields *f, cel_str name, cel_tval *out) {
  size_t n = 0;
  while (n < name.n && name.p[n] != '.' && name.p[n] != '[') n++;
  CEL_TRY(first_part(r, f, (cel_str){name.p, n}, out));
  while (n < name.n) {
    bool dot = name.p[n] == '.';
    size_t start = ++n;
    int64_t i;
    while (n < name.n && (dot ? name.p[n] != '.' && name.p[n] != '[' : name.p[n] != ']')) n++;
    cel_str part = {name.p + start, n - start};
    if (!part.n || (!dot && n == name.n)) return cel_tfail(r, "a field of the format is malformed");
    n += !dot;
    if (dot) CEL_TRY(cel_tget_attr(r, *out, part, out));
    else CEL_TRY(cel_tget_item(r, *out, field_number(part, &i) ? cel_tint(i) : cel_tstr(part), out));
    if (!dot && n < name.n && name.p[n] != '.' && name.p[n] != '[') return cel_tfail(r, "a field of the format is malformed");
  }
  return CEL_OK;
}

static cel_status put_field(cel_trender *r, fields *f, cel_str field) {
  size_t name = 0;
  while (name < field.n && field.p[name] != '!' && field.p[name] != ':') name++;
  cel_tval v;
  size_t at = name;
  char conversion = 0;
  CEL_TRY(field_value(r, f, (cel_str){field.p, name}, &v));
  if (at < field.n && field.p[at] == '!') {
    if (at + 1 >= field.n || !strchr("sra", field.p[at + 1])) return cel_tfail(r, "a conversion in a format is !s, !r or !a");
    conversion = field.p[at + 1];
    at += 2;
    if (at < field.n && field.p[at] != ':') return cel_tfail(r, "\":\" is expected behind a conversion in a format");
  }
  cel_str format = at < field.n ? (cel_str){field.p + at + 1, field.n - at - 1} : CEL_STR("");
  if (format.n && memchr(format.p, '{', format.n)) return cel_tfail(r, "fields inside the format of a field are not supported");
  if (conversion == 's') CEL_TRY(cel_tstr_of(r, v, &v));
  if (conversion == 'r' || conversion == 'a') {
    CEL_TRY(cel_ttext_begin(r));
    CEL_TRY(cel_tput_repr(r, v));
    CEL_TRY(cel_ttext_end(r, &v));
  }
  return format_value(r, v, format);
}

cel_status cel_tformat(cel_trender *r, cel_str s, const cel_targs *args, cel_tval *out) {
  fields f = {.args = args};
  CEL_TRY(cel_ttext_begin(r));
  for (size_t i = 0; i < s.n;) {
    char c = s.p[i];
    if ((c == '{' || c == '}') && i + 1 < s.n && s.p[i + 1] == c) {
      CEL_TRY(cel_tput(r, &c, 1));
      i += 2;
    } else if (c == '{') {
      size_t end = i + 1;
      int depth = 1;
      for (; end < s.n; end++) {
        depth += s.p[end] == '{' ? 1 : s.p[end] == '}' ? -1 : 0;
        if (!depth) break;
      }
      if (end >= s.n) return cel_tfail(r, "a \"{\" in the format has no \"}\"");
      CEL_TRY(cel_tcharge(r, 1));
      CEL_TRY(put_field(r, &f, (cel_str){s.p + i + 1, end - i - 1}));
      i = end + 1;
    } else if (c == '}') {
      return cel_tfail(r, "a \"}\" in the format has no \"{\"");
    } else {
      CEL_TRY(cel_tput(r, &c, 1));
      i++;
    }
  }
  CEL_TRY(cel_tcharge(r, (int64_t)s.n));
  return cel_ttext_end(r, out);
}
