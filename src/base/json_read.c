// The reader: no recursion, so that nesting costs memory and not stack; one pass over the text, which the document owns.
// Keys and texts without escapes stay where they stand, a NUL written over the closing quote. What stands in arrays and
// objects still open waits on a stack and moves into the document when they close.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_private.h"
#include "base/number.h"

typedef struct waiting {
  const char *key;  // NULL in an array
  size_t n_key;
  const char *at;   // where the key stands in the text
  cel_json *value;
} waiting;

typedef struct level {
  bool object;
  size_t first;  // of its waiting entries
} level;

typedef struct reader {
  char *start, *p, *end;  // *end is a NUL
  const char *name;
  cel_json_doc *doc;
  waiting *stack;
  size_t n_stack, cap_stack;
  level *levels;
  size_t n_levels, cap_levels;
  const char *key, *key_at;  // of the member whose value comes next
  size_t n_key;
  cel_err *err;
} reader;

// ---- failing ---------------------------------------------------------------------------------------------

static cel_status bad(const reader *r, const char *at, const char *what) {
  long long line = 1, column = 1;
  for (const char *c = r->start; c < at; c++) {
    if (*c == '\n') line++, column = 1;
    else if (((unsigned char)*c & 0xC0) != 0x80) column++;
  }
  return cel_fail(r->err, CEL_MALFORMED, "%s: not valid JSON at line %lld, column %lld: %s", r->name, line, column, what);
}

static cel_status no_memory(const reader *r) { return cel_fail_oom(r->err, r->name); }

// ---- texts -----------------------------------------------------------------------------------------------

// Behind the opening quote: how long the text is as it is written, and whether it can be taken as it is.
static cel_status measure(reader *r, size_t *n, bool *plain) {
  const char *c = r->p;
  bool high = false;
  *plain = true;
  for (;; c++) {  // the NUL at the end is a control character
    unsigned char u = (unsigned char)*c;
    if (u == '"') break;
    if (u >= 0x80) high = true;
    else if (u < 0x20) break;
    if (u != '\\') continue;
    *plain = false;
    if (++c == r->end) break;
  }
  if (c >= r->end) return bad(r, r->end, "a text without its closing quote");
  if (*c != '"') return bad(r, c, "a control character inside a text");
  *n = (size_t)(c - r->p);
  if (!high || cel_utf8_valid(r->p, *n)) return CEL_OK;
  size_t i = 0, next = 0;
  while (next < *n && (cel_utf8_next(r->p, *n, &next) != 0xFFFD || cel_str_starts((cel_str){r->p + i, *n - i}, CEL_STR("\xEF\xBF\xBD")))) i = next;
  return bad(r, r->p + i, "a text that is not UTF-8");
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// The four digits at c; -1 when they are none. c[4] may be the closing quote, which is no digit.
static int32_t four_digits(const char *c) {
  int32_t v = 0;
  for (int i = 0; i < 4; i++) {
    int d = hex_digit(c[i]);
    if (d < 0) return -1;
    v = v * 16 + d;
  }
  return v;
}

// Behind "\u": one code point, from one escape or a pair. The text's closing quote lies ahead, so no digit is read past it.
static cel_status read_unicode(reader *r, const char **c, char **out) {
  const char *at = *c - 2;
  int32_t v = four_digits(*c), low = -1;
  if (v < 0) return bad(r, at, "\\u without four hexadecimal digits");
  *c += 4;
  if (v >= 0xDC00 && v < 0xE000) return bad(r, at, "the second half of a surrogate pair without the first");
  if (v >= 0xD800 && v < 0xDC00) {
    if ((*c)[0] == '\\' && (*c)[1] == 'u') low = four_digits(*c + 2);
    if (low < 0xDC00 || low >= 0xE000) return bad(r, at, "the first half of a surrogate pair without the second");
    *c += 6;
    v = 0x10000 + ((v - 0xD800) << 10) + (low - 0xDC00);
  }
  *out += cel_utf8_put(*out, (uint32_t)v);
  return CEL_OK;
}

// r->p[n] with escapes, into `out`, which has room for n bytes: no escape is shorter than what it stands for.
static cel_status unescape(reader *r, size_t n, char *out, size_t *n_out) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  const char *c = r->p, *stop = r->p + n;
  char *w = out;
  while (c < stop) {
    if (*c != '\\') {
      *w++ = *c++;
      continue;
    }
    const char *which = memchr(from, c[1], sizeof from - 1);
    c += 2;
    if (which) *w++ = to[which - from];
    else if (c[-1] == 'u') CEL_TRY(read_unicode(r, &c, &w));
    else return bad(r, c - 2, "an unknown escape");
  }
  *n_out = (size_t)(w - out);
  return CEL_OK;
}

// At the opening quote.
static cel_status read_text(reader *r, cel_str *out) {
  size_t n;
  bool plain;
  r->p++;
  CEL_TRY(measure(r, &n, &plain));
  *out = (cel_str){r->p, n};
  if (!plain) {
    char *copy = cel_arena_alloc(&r->doc->arena, n + 1);
    if (!copy) return no_memory(r);
    CEL_TRY(unescape(r, n, copy, &out->n));
    copy[out->n] = 0;
    out->p = copy;
  }
  r->p[n] = 0;
  r->p += n + 1;
  return CEL_OK;
}

// ---- numbers and words -----------------------------------------------------------------------------------

static size_t run_of_digits(const reader *r, const char *c) {
  size_t n = 0;
  while (c + n < r->end && c[n] >= '0' && c[n] <= '9') n++;
  return n;
}

static cel_status take_integer(reader *r, cel_str text, cel_json **out) {
  bool negative = text.p[0] == '-';
  uint64_t v = 0, most = (uint64_t)INT64_MAX + negative;
  for (size_t i = negative; i < text.n; i++) {
    unsigned d = (unsigned)(text.p[i] - '0');
    if (v > (most - d) / 10) return bad(r, text.p, "an integer of more than 64 bits");
    v = v * 10 + d;
  }
  if (!(*out = cel_json_doc_value(r->doc, CEL_JSON_INTEGER))) return no_memory(r);
  (*out)->as.integer = negative ? (v ? -(int64_t)(v - 1) - 1 : 0) : (int64_t)v;
  return CEL_OK;
}

static cel_status take_real(reader *r, cel_str text, cel_json **out) {
  double x;
  if (!cel_parse_double(text, &x)) return no_memory(r);  // its form has been checked
  if (x - x != 0) return bad(r, text.p, "a number beyond the range of double");
  if (!(*out = cel_json_doc_value(r->doc, CEL_JSON_REAL))) return no_memory(r);
  (*out)->as.real = x;
  return CEL_OK;
}

static cel_status read_number(reader *r, cel_json **out) {
  char *start = r->p, *c = start;
  bool real = false;
  if (*c == '-') c++;
  size_t n = run_of_digits(r, c);
  if (n == 0) return bad(r, start, "a value is expected");
  if (n > 1 && *c == '0') return bad(r, start, "a number with a leading zero");
  c += n;
  if (c < r->end && *c == '.') {
    real = true;
    n = run_of_digits(r, ++c);
    if (n == 0) return bad(r, start, "a number without digits behind its point");
    c += n;
  }
  if (c < r->end && (*c == 'e' || *c == 'E')) {
    real = true;
    c++;
    if (c < r->end && (*c == '+' || *c == '-')) c++;
    n = run_of_digits(r, c);
    if (n == 0) return bad(r, start, "a number without digits in its exponent");
    c += n;
  }
  r->p = c;
  cel_str text = {start, (size_t)(c - start)};
  return real ? take_real(r, text, out) : take_integer(r, text, out);
}

static cel_status read_word(reader *r, cel_json **out) {
  static const char *const words[] = {"null", "false", "true"};
  for (int i = 0; i < CEL_COUNT(words); i++) {
    cel_str word = cel_str_of(words[i]);
    if (!cel_str_starts((cel_str){r->p, (size_t)(r->end - r->p)}, word)) continue;
    r->p += word.n;
    *out = i == 0 ? cel_json_null() : cel_json_boolean(i == 2);
    return CEL_OK;
  }
  return bad(r, r->p, "a value is expected");
}

// ---- arrays and objects ----------------------------------------------------------------------------------

static bool room(void **at, size_t n, size_t *cap, size_t size) {
  if (n < *cap) return true;
  size_t more = *cap ? 2 * *cap : 16;
  void *p = more < SIZE_MAX / 2 / size ? realloc(*at, more * size) : NULL;
  if (!p) return false;
  *at = p;
  *cap = more;
  return true;
}

static cel_status open_level(reader *r) {
  void *at = r->levels;
  if (r->n_levels == CEL_JSON_DEPTH_MOST) {
    char what[64];
    snprintf(what, sizeof what, "more than %d arrays and objects in one another", CEL_JSON_DEPTH_MOST);
    return bad(r, r->p, what);
  }
  // The key this array or object is for waits, without its value, below its entries.
  void *waits = r->stack;
  if (!room(&waits, r->n_stack, &r->cap_stack, sizeof *r->stack)) return no_memory(r);
  r->stack = waits;
  r->stack[r->n_stack++] = (waiting){r->key, r->n_key, r->key_at, NULL};
  if (!room(&at, r->n_levels, &r->cap_levels, sizeof *r->levels)) return no_memory(r);
  r->levels = at;
  r->levels[r->n_levels++] = (level){*r->p == '{', r->n_stack};
  r->p++;
  r->key = NULL;
  return CEL_OK;
}

static cel_status fill_array(reader *r, const waiting *w, size_t n, cel_json *v) {
  v->as.array.at = CEL_NEW_ARRAY(&r->doc->arena, cel_json *, n);
  if (!v->as.array.at) return no_memory(r);
  for (size_t i = 0; i < n; i++) v->as.array.at[i] = w[i].value;
  v->as.array.n = v->as.array.cap = (uint32_t)n;
  return CEL_OK;
}

static cel_status twice(reader *r, const waiting *w) {
  char key[61], what[128];
  size_t n = CEL_MIN(w->n_key, sizeof key - 1);
  while (n > 0 && (w->key[n] & 0xC0) == 0x80) n--;  // no half character
  for (size_t i = 0; i < n; i++) key[i] = (unsigned char)w->key[i] < ' ' || w->key[i] == 127 ? '?' : w->key[i];
  key[n] = 0;
  snprintf(what, sizeof what, "duplicate key \"%s\"%s", key, n < w->n_key ? "..." : "");
  return bad(r, w->at, what);
}

static cel_status fill_object(reader *r, const waiting *w, size_t n, cel_json *v) {
  if (n && !cel_json_members_grow(v, n)) return no_memory(r);
  for (uint32_t i = 0; i < n; i++) {
    v->as.object.in->at[i] = (cel_json_member){.key = w[i].key, .n = (uint32_t)w[i].n_key, .value = w[i].value};
  }
  uint32_t stopped;
  int found = cel_json_index_all(v, (uint32_t)n, &stopped);
  if (found) return found < 0 ? no_memory(r) : twice(r, &w[stopped]);
  return CEL_OK;
}

static cel_status close_level(reader *r, cel_json **out) {
  level l = r->levels[--r->n_levels];
  size_t n = r->n_stack - l.first;
  cel_json *v = cel_json_doc_value(r->doc, l.object ? CEL_JSON_OBJECT : CEL_JSON_ARRAY);
  if (!v) return no_memory(r);
  const waiting *w = r->stack + l.first;
  CEL_TRY(l.object ? fill_object(r, w, n, v) : fill_array(r, w, n, v));
  r->n_stack = l.first - 1;
  const waiting *outer = &r->stack[r->n_stack];
  r->key = outer->key, r->n_key = outer->n_key, r->key_at = outer->at;
  r->p++;
  *out = v;
  return CEL_OK;
}

// ---- the whole -------------------------------------------------------------------------------------------

static void skip_blanks(reader *r) {
  while (*r->p == ' ' || *r->p == '\n' || *r->p == '\t' || *r->p == '\r') r->p++;
}

static char next_char(const reader *r) { return *r->p; }

// "key" and its colon.
static cel_status read_key(reader *r) {
  cel_str key;
  if (next_char(r) != '"') return bad(r, r->p, "a key in quotes is expected");
  r->key_at = r->p;
  CEL_TRY(read_text(r, &key));
  r->key = key.p, r->n_key = key.n;
  skip_blanks(r);
  if (next_char(r) != ':') return bad(r, r->p, "':' is expected");
  r->p++;
  skip_blanks(r);
  return CEL_OK;
}

// One value, or the beginning of an array or object (*out = NULL).
static cel_status read_value(reader *r, cel_json **out) {
  *out = NULL;
  if (r->p == r->end) return bad(r, r->p, "the text ends where a value is expected");
  char c = *r->p;
  if (c == '[' || c == '{') return open_level(r);
  if (c == '-' || (c >= '0' && c <= '9')) return read_number(r, out);
  if (c != '"') return read_word(r, out);
  cel_str text;
  CEL_TRY(read_text(r, &text));
  *out = cel_json_doc_value(r->doc, CEL_JSON_STRING);
  if (!*out) return no_memory(r);
  (*out)->as.text = text;
  return CEL_OK;
}

static cel_status keep(reader *r, cel_json *v) {
  void *at = r->stack;
  if (!room(&at, r->n_stack, &r->cap_stack, sizeof *r->stack)) return no_memory(r);
  r->stack = at;
  r->stack[r->n_stack++] = (waiting){r->key, r->n_key, r->key_at, v};
  return CEL_OK;
}

// Behind a value: as many ends as stand there. *more: another value of the innermost level comes next.
static cel_status read_ends(reader *r, cel_json **v, bool *more) {
  for (;;) {
    skip_blanks(r);
    if (r->n_levels == 0) {
      *more = false;
      return r->p == r->end ? CEL_OK : bad(r, r->p, "the end of the text is expected");
    }
    CEL_TRY(keep(r, *v));
    bool object = r->levels[r->n_levels - 1].object;
    char c = next_char(r);
    if (c == ',') break;
    if (c != (object ? '}' : ']')) return bad(r, r->p, object ? "',' or '}' is expected" : "',' or ']' is expected");
    CEL_TRY(close_level(r, v));
  }
  r->p++;
  skip_blanks(r);
  *more = true;
  return r->levels[r->n_levels - 1].object ? read_key(r) : CEL_OK;
}

// Behind '[' or '{': an end at once, or the first value.
static cel_status read_first(reader *r, cel_json **v) {
  skip_blanks(r);
  bool object = r->levels[r->n_levels - 1].object;
  if (next_char(r) == (object ? '}' : ']')) return close_level(r, v);
  return object ? read_key(r) : CEL_OK;
}

static cel_status read_all(reader *r, cel_json **out) {
  bool more = true;
  skip_blanks(r);
  while (more) {
    cel_json *v;
    CEL_TRY(read_value(r, &v));
    if (!v) CEL_TRY(read_first(r, &v));
    if (!v) continue;
    CEL_TRY(read_ends(r, &v, &more));
    *out = v;
  }
  return CEL_OK;
}

cel_status cel_json_parse_taking(char *text, size_t n, const char *name, cel_json **out, cel_err *err) {
  *out = NULL;
  reader r = {.start = text, .p = text, .end = text + n, .name = name, .err = err};
  if (n <= CEL_JSON_BYTES_MOST) r.doc = cel_json_doc_new(CEL_MIN(n + 256, (size_t)65536));
  if (!r.doc) {
    free(text);
    if (n > CEL_JSON_BYTES_MOST) return cel_fail(err, CEL_TOO_LONG, "%s: %zu bytes of JSON, at most %zu are read", name, n, CEL_JSON_BYTES_MOST);
    return no_memory(&r);
  }
  r.doc->text = text;
  cel_json *v = NULL;
  cel_status s = read_all(&r, &v);
  free(r.stack);
  free(r.levels);
  if (s != CEL_OK || !v->doc) cel_json_doc_unref(r.doc);  // null, true and false by themselves need none
  if (s == CEL_OK) *out = v;
  return s;
}

cel_status cel_json_parse(cel_str text, const char *name, cel_json **out, cel_err *err) {
  *out = NULL;
  char *copy = text.n < SIZE_MAX ? malloc(text.n + 1) : NULL;
  if (!copy) return cel_fail_oom(err, name);
  if (text.n) memcpy(copy, text.p, text.n);
  copy[text.n] = 0;
  return cel_json_parse_taking(copy, text.n, name, out, err);
}
