// The methods of str.
#include <stdlib.h>

#include "text/template/tmpl_render.h"
#include "text/template/tmpl_text.h"

static cel_status finish(cel_trender *r, cel_buf *b, cel_tval *out) {
  cel_status s = b->failed                                      ? cel_fail_oom(r->err, "text of a template")
                 : (int64_t)b->n > r->limits.output_bytes ? cel_tfail_limit(r, "text of more than %lld bytes", (long long)r->limits.output_bytes)
                                                                : cel_tcopy_str(r, cel_buf_str(b), out);
  cel_buf_deinit(b);
  return s;
}

// ---- case ----

typedef enum mapping { MAP_UPPER, MAP_LOWER, MAP_CAPITALIZE, MAP_TITLE, MAP_SWAP } mapping;

static bool cased(uint32_t cp) { return cel_tis_lower(cp) || cel_tis_upper(cp) || cel_tis_title(cp); }

// A capital sigma at the end of a word has a lower case of its own.
static bool final_sigma(cel_str s, size_t i) {
  size_t n = cel_tchar_bytes(s.p + i);
  bool before = i > 0 && cel_tis_alpha(cel_tchar(cel_tchar_before(s.p + i)));
  bool after = i + n < s.n && cel_tis_alpha(cel_tchar(s.p + i + n));
  return before && !after;
}

static void put_lower(cel_buf *b, cel_str s, size_t i, uint32_t cp) {
  if (cp == 0x3A3 && final_sigma(s, i)) cel_tput_char(b, 0x3C2);
  else cel_tput_lower(b, cp);
}

static cel_status map_case(cel_trender *r, cel_tval v, mapping how, cel_tval *out) {
  cel_str s = cel_tview_str(v);
  cel_buf b = {0};
  bool word = false;  // inside a word, for titles
  CEL_TRY(cel_tcharge(r, (int64_t)s.n));
  for (size_t i = 0; i < s.n; i += cel_tchar_bytes(s.p + i)) {
    uint32_t cp = cel_tchar(s.p + i);
    bool first = how == MAP_CAPITALIZE ? i == 0 : !word;
    if (how == MAP_UPPER || (how == MAP_SWAP && cel_tis_lower(cp))) cel_tput_upper(&b, cp);
    else if (how == MAP_LOWER || how == MAP_SWAP) put_lower(&b, s, i, cp);
    else if (first) cel_tput_title(&b, cp);
    else put_lower(&b, s, i, cp);
    word = cased(cp);
  }
  return finish(r, &b, out);
}

static cel_status m_upper(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return map_case(r, c->self, MAP_UPPER, out); }
static cel_status m_lower(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return map_case(r, c->self, MAP_LOWER, out); }
static cel_status m_capitalize(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  return map_case(r, c->self, MAP_CAPITALIZE, out);
}
static cel_status m_title(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return map_case(r, c->self, MAP_TITLE, out); }
static cel_status m_swapcase(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  return map_case(r, c->self, MAP_SWAP, out);
}

// ---- stripping and padding ----

static bool in_set(cel_str chars, const char *p, size_t n) {
  for (size_t i = 0; i < chars.n; i += cel_tchar_bytes(chars.p + i)) {
    if (cel_tchar_bytes(chars.p + i) == n && memcmp(chars.p + i, p, n) == 0) return true;
  }
  return false;
}

static cel_status strip(cel_trender *r, const cel_tcallee *c, bool left, bool right, cel_tval *out) {
  cel_str s = cel_tview_str(c->self), chars;
  int64_t work = (int64_t)s.n;
  if (!cel_tgiven(c->arg[0]) || c->arg[0].kind == CEL_T_NONE) {
    *out = cel_tstr(cel_tstrip_space(s, left, right));
    return s.n < 64 ? CEL_OK : cel_tcharge(r, work);
  }
  CEL_TRY(cel_targ_str(r, c, 0, NULL, &chars));
  CEL_TRY(cel_tcharge(r, work + work / 8 * (int64_t)chars.n));
  while (left && s.n && in_set(chars, s.p, cel_tchar_bytes(s.p))) {
    size_t n = cel_tchar_bytes(s.p);
    s.p += n, s.n -= n;
  }
  while (right && s.n) {
    const char *last = cel_tchar_before(s.p + s.n);
    if (!in_set(chars, last, (size_t)(s.p + s.n - last))) break;
    s.n = (size_t)(last - s.p);
  }
  *out = cel_tstr(s);
  return CEL_OK;
}

static cel_status m_strip(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return strip(r, c, true, true, out); }
static cel_status m_lstrip(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return strip(r, c, true, false, out); }
static cel_status m_rstrip(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return strip(r, c, false, true, out); }

static cel_status pad(cel_trender *r, cel_tval s, int64_t left, int64_t right, cel_str fill, cel_tval *out) {
  if (left > r->limits.output_bytes || right > r->limits.output_bytes) {
    return cel_tfail_limit(r, "text of more than %lld bytes", (long long)r->limits.output_bytes);
  }
  CEL_TRY(cel_ttext_begin(r));
  for (int64_t i = 0; i < left; i++) CEL_TRY(cel_tput(r, fill.p, fill.n));
  CEL_TRY(cel_tput(r, s.as.s, s.n));
  for (int64_t i = 0; i < right; i++) CEL_TRY(cel_tput(r, fill.p, fill.n));
  CEL_TRY(cel_tcharge(r, 8 * (CEL_MAX(left, 0) + CEL_MAX(right, 0))));
  return cel_ttext_end(r, out);
}

static cel_status justify(cel_trender *r, const cel_tcallee *c, int where, cel_tval *out) {
  int64_t width, n;
  cel_str fill;
  CEL_TRY(cel_targ_int(r, c, 0, 0, &width));
  CEL_TRY(cel_targ_str(r, c, 1, " ", &fill));
  if (cel_tchars(fill) != 1) return cel_tfail(r, "the fill character must be one character");
  CEL_TRY(cel_tlength(r, c->self, &n));
  int64_t room = width > n ? width - n : 0, left = where < 0 ? 0 : room;
  if (where == 0) left = room / 2 + (room & width & 1);  // as CPython shares an odd rest
  return pad(r, c->self, left, room - left, fill, out);
}

static cel_status m_ljust(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return justify(r, c, -1, out); }
static cel_status m_rjust(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return justify(r, c, 1, out); }
static cel_status m_center(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return justify(r, c, 0, out); }

static cel_status m_zfill(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  int64_t width, n;
  cel_tval s = c->self, sign = cel_tstrz(""), digits;
  CEL_TRY(cel_targ_int(r, c, 0, 0, &width));
  CEL_TRY(cel_tlength(r, s, &n));
  if (s.n && (s.as.s[0] == '-' || s.as.s[0] == '+')) sign = cel_tstr((cel_str){s.as.s, 1}), s.as.s++, s.n--;
  CEL_TRY(pad(r, s, width - n, 0, CEL_STR("0"), &digits));
  return cel_tbinary(r, CEL_OP_ADD, sign, digits, out);
}

static cel_status m_expandtabs(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  int64_t size, column = 0;
  CEL_TRY(cel_targ_int(r, c, 0, 8, &size));
  CEL_TRY(cel_ttext_begin(r));
  for (uint32_t i = 0; i < c->self.n;) {
    uint32_t n = (uint32_t)cel_tchar_bytes(c->self.as.s + i);
    char ch = c->self.as.s[i];
    if (ch == '\t') {
      int64_t spaces = size > 0 ? size - column % size : 0;
      if (spaces > r->limits.output_bytes) return cel_tfail_limit(r, "text of more than %lld bytes", (long long)r->limits.output_bytes);
      for (int64_t k = 0; k < spaces; k++) CEL_TRY(cel_tput(r, " ", 1));
      CEL_TRY(cel_tcharge(r, 8 * spaces));
      column += spaces;
    } else {
      CEL_TRY(cel_tput(r, c->self.as.s + i, n));
      column = ch == '\n' || ch == '\r' ? 0 : column + 1;
    }
    i += n;
  }
  CEL_TRY(cel_tcharge(r, c->self.n));
  return cel_ttext_end(r, out);
}

// ---- searching ----

// [start, end) of the arguments from `i` on, in bytes.
static cel_status window(cel_trender *r, const cel_tcallee *c, int i, cel_str *out, size_t *offset) {
  cel_tval part[3] = {c->arg[i], c->arg[i + 1], {.kind = CEL_T_MISSING}}, piece;
  for (int k = 0; k < 2; k++) {
    if (cel_tgiven(part[k]) && part[k].kind != CEL_T_NONE && !cel_tis_int(part[k])) {
      return cel_tfail(r, "the bounds of a search are integers or None, not %s", cel_ttype(part[k]));
    }
  }
  CEL_TRY(cel_tget_slice(r, c->self, part, &piece));
  *out = cel_tview_str(piece);
  *offset = (size_t)(piece.as.s - c->self.as.s);
  return CEL_OK;
}

static cel_status find_last(cel_trender *r, cel_str s, cel_str needle, int64_t *out) {
  *out = -1;
  CEL_TRY(cel_tcharge(r, (int64_t)s.n));
  for (int64_t at = (int64_t)s.n - (int64_t)needle.n; at >= 0; at--) {
    if (needle.n && s.p[at] != needle.p[0]) continue;
    CEL_TRY(cel_tcharge(r, (int64_t)needle.n));
    if (needle.n && memcmp(s.p + at, needle.p, needle.n) != 0) continue;
    *out = at;
    break;
  }
  return CEL_OK;
}

static cel_status search(cel_trender *r, const cel_tcallee *c, bool last, bool must, cel_tval *out) {
  cel_str needle, s;
  size_t offset;
  int64_t at, length, start = 0;
  CEL_TRY(cel_targ_str(r, c, 0, NULL, &needle));
  CEL_TRY(window(r, c, 1, &s, &offset));
  CEL_TRY(cel_tlength(r, c->self, &length));
  if (cel_tgiven(c->arg[1]) && cel_tis_int(c->arg[1])) start = cel_tint_of(c->arg[1]);
  CEL_TRY(last ? find_last(r, s, needle, &at) : cel_tfind(r, s, needle, 0, &at));
  if (start > length) at = -1;  // beyond the end not even "" is found
  if (at < 0 && must) return cel_tfail(r, "the substring was not found");
  *out = cel_tint(at < 0 ? -1 : cel_tchars((cel_str){c->self.as.s, offset + (size_t)at}));
  return cel_tcharge(r, c->self.n);
}

static cel_status m_find(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return search(r, c, false, false, out); }
static cel_status m_rfind(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return search(r, c, true, false, out); }
static cel_status m_index(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return search(r, c, false, true, out); }
static cel_status m_rindex(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return search(r, c, true, true, out); }

static cel_status m_count(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  cel_str needle, s;
  size_t offset;
  int64_t at = 0, n = 0;
  CEL_TRY(cel_targ_str(r, c, 0, NULL, &needle));
  CEL_TRY(window(r, c, 1, &s, &offset));
  if (!needle.n) {
    *out = cel_tint(cel_tchars(s) + 1);
    return cel_tcharge(r, (int64_t)s.n);
  }
  for (size_t from = 0;; from = (size_t)at + needle.n, n++) {
    CEL_TRY(cel_tfind(r, s, needle, from, &at));
    if (at < 0) break;
  }
  *out = cel_tint(n);
  return CEL_OK;
}

static cel_status affix(cel_trender *r, const cel_tcallee *c, bool start, cel_tval *out) {
  cel_str s;
  size_t offset;
  int64_t length;
  bool yes = false;
  CEL_TRY(window(r, c, 1, &s, &offset));
  CEL_TRY(cel_tlength(r, c->self, &length));
  bool beyond = cel_tgiven(c->arg[1]) && cel_tis_int(c->arg[1]) && cel_tint_of(c->arg[1]) > length;  // not even "" is there
  cel_tval a = c->arg[0];
  const cel_tval *options = a.kind == CEL_T_TUPLE ? a.as.list->at : &a;
  int64_t n = a.kind == CEL_T_TUPLE ? a.as.list->n : 1;
  for (int64_t i = 0; i < n && !yes; i++) {
    if (options[i].kind != CEL_T_STR) return cel_tfail(r, "a string or a tuple of strings is needed, not %s", cel_ttype(options[i]));
    cel_str o = cel_tview_str(options[i]);
    CEL_TRY(cel_tcharge(r, (int64_t)o.n));
    yes = !beyond && (start ? cel_str_starts(s, o) : cel_str_ends(s, o));
  }
  *out = cel_tbool(yes);
  return CEL_OK;
}

static cel_status m_startswith(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return affix(r, c, true, out); }
static cel_status m_endswith(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return affix(r, c, false, out); }

static cel_status m_removeprefix(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  cel_str s = cel_tview_str(c->self), head;
  CEL_TRY(cel_targ_str(r, c, 0, NULL, &head));
  if (cel_str_starts(s, head)) s.p += head.n, s.n -= head.n;
  *out = cel_tstr(s);
  return CEL_OK;
}

static cel_status m_removesuffix(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  cel_str s = cel_tview_str(c->self), tail;
  CEL_TRY(cel_targ_str(r, c, 0, NULL, &tail));
  if (cel_str_ends(s, tail)) s.n -= tail.n;
  *out = cel_tstr(s);
  return CEL_OK;
}

static cel_status m_replace(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  cel_str s = cel_tview_str(c->self), old, new;
  int64_t most, at;
  size_t from = 0;
  CEL_TRY(cel_targ_str(r, c, 0, NULL, &old));
  CEL_TRY(cel_targ_str(r, c, 1, NULL, &new));
  CEL_TRY(cel_targ_int(r, c, 2, -1, &most));
  if (most < 0) most = INT64_MAX;
  CEL_TRY(cel_ttext_begin(r));
  while (most > 0 && from <= s.n) {
    CEL_TRY(cel_tfind(r, s, old, from, &at));
    if (at < 0) break;
    CEL_TRY(cel_tput(r, s.p + from, (size_t)at - from));
    CEL_TRY(cel_tput(r, new.p, new.n));
    from = (size_t)at + old.n;
    most--;
    if (old.n) continue;
    if (from >= s.n) break;  // "" stands before every character and at the end
    size_t n = cel_tchar_bytes(s.p + from);
    CEL_TRY(cel_tput(r, s.p + from, n));
    from += n;
  }
  CEL_TRY(cel_tput(r, s.p + from, s.n - from));
  return cel_ttext_end(r, out);
}

// ---- splitting and joining ----

static cel_status add_piece(cel_trender *r, cel_tgrow *g, const char *from, const char *to) {
  return cel_tgrow_add(r, g, cel_tstr((cel_str){from, (size_t)(to - from)}));
}

static cel_status split_space(cel_trender *r, cel_str s, int64_t most, cel_tgrow *g) {
  for (;;) {
    s = cel_tstrip_space(s, true, false);
    if (!s.n) return CEL_OK;
    if (most-- <= 0) return add_piece(r, g, s.p, s.p + s.n);
    size_t n = 0;
    while (n < s.n && !cel_tspace(cel_tchar(s.p + n))) n += cel_tchar_bytes(s.p + n);
    CEL_TRY(add_piece(r, g, s.p, s.p + n));
    s.p += n, s.n -= n;
  }
}

static cel_status rsplit_space(cel_trender *r, cel_str s, int64_t most, cel_tgrow *g) {
  for (;;) {
    s = cel_tstrip_space(s, false, true);
    if (!s.n) return CEL_OK;
    if (most-- <= 0) return add_piece(r, g, s.p, s.p + s.n);
    const char *end = s.p + s.n, *p = end;
    while (p > s.p && !cel_tspace(cel_tchar(cel_tchar_before(p)))) p = cel_tchar_before(p);
    CEL_TRY(add_piece(r, g, p, end));
    s.n = (size_t)(p - s.p);
  }
}

static cel_status split_at(cel_trender *r, cel_str s, cel_str sep, int64_t most, cel_tgrow *g) {
  int64_t at;
  size_t from = 0;
  for (; most > 0; most--) {
    CEL_TRY(cel_tfind(r, s, sep, from, &at));
    if (at < 0) break;
    CEL_TRY(add_piece(r, g, s.p + from, s.p + at));
    from = (size_t)at + sep.n;
  }
  return add_piece(r, g, s.p + from, s.p + s.n);
}

static cel_status rsplit_at(cel_trender *r, cel_str s, cel_str sep, int64_t most, cel_tgrow *g) {
  for (; most > 0; most--) {
    int64_t at;
    CEL_TRY(find_last(r, s, sep, &at));
    if (at < 0) break;
    CEL_TRY(add_piece(r, g, s.p + at + sep.n, s.p + s.n));
    s.n = (size_t)at;
  }
  return add_piece(r, g, s.p, s.p + s.n);
}

static cel_status split(cel_trender *r, const cel_tcallee *c, bool right, cel_tval *out) {
  cel_str s = cel_tview_str(c->self), sep;
  cel_tgrow g = {0};
  int64_t most;
  CEL_TRY(cel_targ_int(r, c, 1, -1, &most));
  if (most < 0) most = INT64_MAX;
  CEL_TRY(cel_tcharge(r, (int64_t)s.n));
  if (!cel_tgiven(c->arg[0]) || c->arg[0].kind == CEL_T_NONE) {
    CEL_TRY(right ? rsplit_space(r, s, most, &g) : split_space(r, s, most, &g));
  } else {
    CEL_TRY(cel_targ_str(r, c, 0, NULL, &sep));
    if (!sep.n) return cel_tfail(r, "split: the separator is empty");
    CEL_TRY(right ? rsplit_at(r, s, sep, most, &g) : split_at(r, s, sep, most, &g));
  }
  for (int64_t i = 0; right && i < g.n / 2; i++) {  // rsplit found them from the end
    cel_tval t = g.at[i];
    g.at[i] = g.at[g.n - 1 - i], g.at[g.n - 1 - i] = t;
  }
  return cel_tgrow_list(r, &g, CEL_T_LIST, out);
}

static cel_status m_split(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return split(r, c, false, out); }
static cel_status m_rsplit(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return split(r, c, true, out); }

static bool line_break(uint32_t cp) {
  return (cp >= 10 && cp <= 13) || (cp >= 0x1C && cp <= 0x1E) || cp == 0x85 || cp == 0x2028 || cp == 0x2029;
}

static cel_status m_splitlines(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  cel_str s = cel_tview_str(c->self);
  bool keep = cel_targ_true(r, c, 0);
  cel_tgrow g = {0};
  size_t start = 0;
  for (size_t i = 0; i < s.n;) {
    size_t n = cel_tchar_bytes(s.p + i);
    if (!line_break(cel_tchar(s.p + i))) {
      i += n;
      continue;
    }
    if (s.p[i] == '\r' && i + 1 < s.n && s.p[i + 1] == '\n') n = 2;
    CEL_TRY(add_piece(r, &g, s.p + start, s.p + i + (keep ? n : 0)));
    i += n, start = i;
  }
  if (start < s.n) CEL_TRY(add_piece(r, &g, s.p + start, s.p + s.n));
  CEL_TRY(cel_tcharge(r, (int64_t)s.n));
  return cel_tgrow_list(r, &g, CEL_T_LIST, out);
}

static cel_status partition(cel_trender *r, const cel_tcallee *c, bool right, cel_tval *out) {
  cel_str s = cel_tview_str(c->self), sep;
  int64_t at;
  cel_tlist *l;
  CEL_TRY(cel_targ_str(r, c, 0, NULL, &sep));
  if (!sep.n) return cel_tfail(r, "partition: the separator is empty");
  CEL_TRY(right ? find_last(r, s, sep, &at) : cel_tfind(r, s, sep, 0, &at));
  CEL_TRY(cel_tlist_new(r, 3, &l));
  for (int i = 0; i < 3; i++) l->at[i] = cel_tstrz("");
  if (at < 0) {
    l->at[right ? 2 : 0] = c->self;
  } else {
    l->at[0] = cel_tstr((cel_str){s.p, (size_t)at});
    l->at[1] = c->arg[0];
    l->at[2] = cel_tstr((cel_str){s.p + at + sep.n, s.n - (size_t)at - sep.n});
  }
  *out = cel_tseq(CEL_T_TUPLE, l);
  return CEL_OK;
}

static cel_status m_partition(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return partition(r, c, false, out); }
static cel_status m_rpartition(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return partition(r, c, true, out); }

static cel_status m_join(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  cel_twalk w;
  cel_tval item;
  CEL_TRY(cel_twalk_begin(r, c->arg[0], &w));
  CEL_TRY(cel_ttext_begin(r));
  for (bool first = true;; first = false) {
    CEL_TRY(cel_twalk_next(r, &w, &item));
    if (!cel_tgiven(item)) return cel_ttext_end(r, out);
    if (item.kind != CEL_T_STR) return cel_tfail(r, "str.join needs strings, found %s", cel_ttype(item));
    if (!first) CEL_TRY(cel_tput(r, c->self.as.s, c->self.n));
    CEL_TRY(cel_tput(r, item.as.s, item.n));
  }
}

static cel_status m_format(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  return cel_tformat(r, cel_tview_str(c->self), c->args, out);
}

// ---- classes ----

static cel_status all_chars(cel_trender *r, const cel_tcallee *c, bool (*is)(uint32_t), bool when_empty, cel_tval *out) {
  bool yes = c->self.n ? true : when_empty;
  for (uint32_t i = 0; yes && i < c->self.n; i += (uint32_t)cel_tchar_bytes(c->self.as.s + i)) yes = is(cel_tchar(c->self.as.s + i));
  *out = cel_tbool(yes);
  return cel_tcharge(r, c->self.n);
}

static bool is_ascii(uint32_t cp) { return cp < 0x80; }
static cel_status m_isalpha(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return all_chars(r, c, cel_tis_alpha, false, out); }
static cel_status m_isalnum(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return all_chars(r, c, cel_tis_alnum, false, out); }
static cel_status m_isdigit(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return all_chars(r, c, cel_tis_digit, false, out); }
static cel_status m_isdecimal(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return all_chars(r, c, cel_tis_decimal, false, out); }
static cel_status m_isnumeric(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return all_chars(r, c, cel_tis_numeric, false, out); }
static cel_status m_isspace(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return all_chars(r, c, cel_tspace, false, out); }
static cel_status m_isascii(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return all_chars(r, c, is_ascii, true, out); }
static cel_status m_isprintable(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return all_chars(r, c, cel_tis_printable, true, out); }

static cel_status m_isidentifier(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  CEL_TRY(all_chars(r, c, cel_tis_word, false, out));
  if (c->self.n && cel_tis_numeric(cel_tchar(c->self.as.s))) *out = cel_tbool(false);
  return CEL_OK;
}

// Has cased characters, and all of them are of one case.
static cel_status one_case(cel_trender *r, const cel_tcallee *c, bool upper, cel_tval *out) {
  bool any = false, other = false;
  for (uint32_t i = 0; i < c->self.n; i += (uint32_t)cel_tchar_bytes(c->self.as.s + i)) {
    uint32_t cp = cel_tchar(c->self.as.s + i);
    bool wanted = upper ? cel_tis_upper(cp) : cel_tis_lower(cp);
    any |= wanted;
    other |= !wanted && cased(cp);
  }
  *out = cel_tbool(any && !other);
  return cel_tcharge(r, c->self.n);
}

static cel_status m_islower(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return one_case(r, c, false, out); }
static cel_status m_isupper(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return one_case(r, c, true, out); }

static cel_status m_istitle(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  bool any = false, bad = false, word = false;
  for (uint32_t i = 0; i < c->self.n; i += (uint32_t)cel_tchar_bytes(c->self.as.s + i)) {
    uint32_t cp = cel_tchar(c->self.as.s + i);
    bool up = cel_tis_upper(cp) || cel_tis_title(cp), low = cel_tis_lower(cp);
    bad |= (up && word) || (low && !word);
    any |= up || low;
    word = up || low;
  }
  *out = cel_tbool(any && !bad);
  return cel_tcharge(r, c->self.n);
}

const struct cel_tmethod_row cel_tstr_methods[] = {
    {"capitalize", "/", m_capitalize},
    {"casefold", "/", m_lower},
    {"center", "/width fillchar?", m_center},
    {"count", "/sub start? end?", m_count},
    {"endswith", "/suffix start? end?", m_endswith},
    {"expandtabs", "tabsize?", m_expandtabs},
    {"find", "/sub start? end?", m_find},
    {"format", "*", m_format},
    {"index", "/sub start? end?", m_index},
    {"isalnum", "/", m_isalnum},
    {"isalpha", "/", m_isalpha},
    {"isascii", "/", m_isascii},
    {"isdecimal", "/", m_isdecimal},
    {"isdigit", "/", m_isdigit},
    {"isidentifier", "/", m_isidentifier},
    {"islower", "/", m_islower},
    {"isnumeric", "/", m_isnumeric},
    {"isprintable", "/", m_isprintable},
    {"isspace", "/", m_isspace},
    {"istitle", "/", m_istitle},
    {"isupper", "/", m_isupper},
    {"join", "/iterable", m_join},
    {"ljust", "/width fillchar?", m_ljust},
    {"lower", "/", m_lower},
    {"lstrip", "/chars?", m_lstrip},
    {"partition", "/sep", m_partition},
    {"removeprefix", "/prefix", m_removeprefix},
    {"removesuffix", "/suffix", m_removesuffix},
    {"replace", "/old new count?", m_replace},
    {"rfind", "/sub start? end?", m_rfind},
    {"rindex", "/sub start? end?", m_rindex},
    {"rjust", "/width fillchar?", m_rjust},
    {"rpartition", "/sep", m_rpartition},
    {"rsplit", "sep? maxsplit?", m_rsplit},
    {"rstrip", "/chars?", m_rstrip},
    {"split", "sep? maxsplit?", m_split},
    {"splitlines", "keepends?", m_splitlines},
    {"startswith", "/prefix start? end?", m_startswith},
    {"strip", "/chars?", m_strip},
    {"swapcase", "/", m_swapcase},
    {"title", "/", m_title},
    {"upper", "/", m_upper},
    {"zfill", "/width", m_zfill},
    {NULL, NULL, NULL},
};
