#include "text/template/tmpl_lex.h"

#include <stdlib.h>

#include "base/checked.h"
#include "base/number.h"
#include "text/template/tmpl_text.h"

enum { MAX_BRACKETS = 256, LARGEST_SOURCE = 1 << 20 };

typedef struct lexer {
  cel_arena *arena, *token_arena;
  const char *name;
  cel_err *err;
  const char *s;
  size_t n, pos;
  size_t marked, line_start;  // how far `line` is counted
  uint32_t line;
  bool line_starting;  // what was taken last ended with a newline
  char brackets[MAX_BRACKETS];
  int n_brackets;
  cel_ttoken *tokens;
  int64_t n_tokens, cap;
} lexer;

static void mark(lexer *lx, size_t pos) {
  for (; lx->marked < pos; lx->marked++) {
    if (lx->s[lx->marked] == '\n') lx->line++, lx->line_start = lx->marked + 1;
  }
}

static uint32_t column(const lexer *lx, size_t pos) { return pos < lx->line_start ? 1 : (uint32_t)(pos - lx->line_start) + 1; }

static cel_status lex_fail(lexer *lx, size_t pos, const char *what) {
  mark(lx, pos);
  return cel_fail(lx->err, CEL_MALFORMED, "%s:%u:%u: %s", lx->name, lx->line, column(lx, pos), what);
}

static cel_status add(lexer *lx, cel_ttoken_kind kind, size_t pos, cel_str text, cel_tval value) {
  if (lx->n_tokens == lx->cap) {
    int64_t cap = lx->cap ? lx->cap * 2 : 64;
    cel_ttoken *more = CEL_NEW_ARRAY(lx->token_arena, cel_ttoken, cap);
    if (!more) return cel_fail_oom(lx->err, "template tokens");
    if (lx->n_tokens) memcpy(more, lx->tokens, (size_t)lx->n_tokens * sizeof *more);
    lx->tokens = more, lx->cap = cap;
  }
  mark(lx, pos);
  lx->tokens[lx->n_tokens++] =
      (cel_ttoken){.kind = (uint8_t)kind, .line = lx->line, .column = column(lx, pos), .text = text, .value = value};
  return CEL_OK;
}

static bool at(const lexer *lx, size_t pos, const char *z) {
  size_t n = strlen(z);
  return lx->n - pos >= n && memcmp(lx->s + pos, z, n) == 0;
}

static size_t skip_space(const lexer *lx, size_t pos) {
  return pos + cel_tspace_head((cel_str){lx->s + pos, lx->n - pos});
}

// The end of a tag or comment at pos: "-X" takes white space along, "X" one newline if `trim`, "+X" nothing.
// Returns the place behind it, 0 when there is none here.
static size_t tag_end(const lexer *lx, size_t pos, const char *x, bool plus, bool trim) {
  size_t n = strlen(x);
  if (pos < lx->n && lx->s[pos] == '-' && at(lx, pos + 1, x)) return skip_space(lx, pos + 1 + n);
  if (plus && pos < lx->n && lx->s[pos] == '+' && at(lx, pos + 1, x)) return pos + 1 + n;
  if (!at(lx, pos, x)) return 0;
  pos += n;
  return trim && pos < lx->n && lx->s[pos] == '\n' ? pos + 1 : pos;
}

// "{%" at pos with the word in it: the place behind its end, else 0. raw_begin leaves the newline alone.
static size_t word_tag(const lexer *lx, size_t pos, const char *word, bool begin) {
  if (!at(lx, pos, "{%")) return 0;
  pos += 2;
  if (pos < lx->n && (lx->s[pos] == '-' || lx->s[pos] == '+')) pos++;
  pos = skip_space(lx, pos);
  if (!at(lx, pos, word)) return 0;
  pos = skip_space(lx, pos + strlen(word));
  return tag_end(lx, pos, "%}", !begin, !begin);
}

static void took(lexer *lx, size_t end) {
  lx->line_starting = end > 0 && lx->s[end - 1] == '\n';
  lx->pos = end;
}

// The text before a tag, stripped as the sign of the tag says.
static cel_status add_data(lexer *lx, size_t from, size_t to, char sign, bool may_lstrip) {
  cel_str text = {lx->s + from, to - from};
  if (sign == '-') {
    text = cel_tstrip_space(text, false, true);
  } else if (sign != '+' && may_lstrip) {
    size_t line = text.n;
    while (line > 0 && text.p[line - 1] != '\n') line--;
    cel_str last = {text.p + line, text.n - line};
    if ((line > 0 || lx->line_starting) && last.n && cel_tspace_head(last) == last.n) text.n = line;
  }
  return text.n ? add(lx, CEL_TK_DATA, from, text, (cel_tval){0}) : CEL_OK;
}

static cel_status lex_comment(lexer *lx, size_t begin) {
  for (size_t p = lx->pos; p < lx->n; p++) {
    size_t end = lx->s[p] == '#' || lx->s[p] == '-' || lx->s[p] == '+' ? tag_end(lx, p, "#}", true, true) : 0;
    if (!end) continue;
    took(lx, end);
    return CEL_OK;
  }
  return lex_fail(lx, begin, "this comment has no end, \"#}\" is missing");
}

static cel_status lex_raw(lexer *lx, size_t begin) {
  size_t from = lx->pos;
  for (size_t p = from; p < lx->n; p++) {
    size_t end = lx->s[p] == '{' ? word_tag(lx, p, "endraw", false) : 0;
    if (!end) continue;
    CEL_TRY(add_data(lx, from, p, lx->s[p + 2], true));
    took(lx, end);
    return CEL_OK;
  }
  return lex_fail(lx, begin, "this raw block has no end, \"{% endraw %}\" is missing");
}

// ---- inside tags ----

static bool word_char(const lexer *lx, size_t pos) { return pos < lx->n && cel_tis_word(cel_tchar(lx->s + pos)); }
static bool digit(const lexer *lx, size_t pos) { return pos < lx->n && lx->s[pos] >= '0' && lx->s[pos] <= '9'; }

// Digits with single underscores between them.
static size_t digits(const lexer *lx, size_t pos) {
  while (digit(lx, pos) || (pos < lx->n && lx->s[pos] == '_' && digit(lx, pos + 1))) pos++;
  return pos;
}

static size_t float_end(const lexer *lx, size_t pos) {
  if (pos > 0 && lx->s[pos - 1] == '.') return 0;
  size_t whole = digits(lx, pos), end = whole;
  bool is_float = false;
  if (end < lx->n && lx->s[end] == '.' && digit(lx, end + 1)) end = digits(lx, end + 1), is_float = true;
  if (end < lx->n && (lx->s[end] | 32) == 'e') {
    size_t e = end + 1;
    if (e < lx->n && (lx->s[e] == '+' || lx->s[e] == '-')) e++;
    if (digit(lx, e)) end = digits(lx, e), is_float = true;
  }
  return is_float ? end : 0;
}

static int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 32;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

static cel_status lex_integer(lexer *lx) {
  size_t p = lx->pos;
  int base = 10;
  if (lx->s[p] == '0' && p + 1 < lx->n) {
    char x = lx->s[p + 1] | 32;
    int b = x == 'x' ? 16 : x == 'o' ? 8 : x == 'b' ? 2 : 10;
    size_t first = p + 2 + (p + 2 < lx->n && lx->s[p + 2] == '_');
    if (b != 10 && first < lx->n && digit_value(lx->s[first]) < b) base = b, p = first;
  }
  bool zero = base == 10 && lx->s[p] == '0';  // only zeros may follow
  int64_t value = 0;
  for (; p < lx->n; p++) {
    if (lx->s[p] == '_' && p + 1 < lx->n && digit_value(lx->s[p + 1]) < base) continue;
    int d = digit_value(lx->s[p]);
    if (d >= base || (zero && d != 0)) break;
    if (!cel_mul_i64(value, base, &value) || !cel_add_i64(value, d, &value)) {
      return lex_fail(lx, lx->pos, "this integer needs more than 64 bits");
    }
  }
  size_t begin = lx->pos;
  took(lx, p);
  return add(lx, CEL_TK_INT, begin, (cel_str){lx->s + begin, p - begin}, cel_tint(value));
}

static cel_status lex_float(lexer *lx, size_t end) {
  char text[512];
  size_t n = 0, begin = lx->pos;
  for (size_t p = begin; p < end; p++) {
    if (lx->s[p] == '_') continue;
    if (n + 1 == sizeof text) return lex_fail(lx, begin, "this number has more than 511 digits");
    text[n++] = lx->s[p];
  }
  double x;
  took(lx, end);
  if (!cel_parse_double((cel_str){text, n}, &x)) return lex_fail(lx, begin, "this number cannot be read");
  return add(lx, CEL_TK_FLOAT, begin, (cel_str){lx->s + begin, end - begin}, cel_tfloat(x));
}

static int hex(const char *p, size_t room, int n, uint32_t *out) {
  *out = 0;
  if (room < (size_t)n) return 0;
  for (int i = 0; i < n; i++) {
    int d = digit_value(p[i]);
    if (d > 15) return 0;
    *out = *out << 4 | (uint32_t)d;
  }
  return n;
}

// One escape at p (behind the backslash): appends and returns the bytes taken, 0 when it is malformed.
static size_t unescape(cel_buf *b, const char *p, size_t room) {
  static const char plain[] = "\\\\''\"\"a\ab\bf\fn\nr\rt\tv\v";
  for (size_t i = 0; i + 1 < sizeof plain; i += 2) {
    if (*p == plain[i]) {
      cel_buf_addc(b, plain[i + 1]);
      return 1;
    }
  }
  if (*p == '\n') return 1;
  uint32_t cp = 0;
  if (*p >= '0' && *p <= '7') {
    size_t n = 0;
    while (n < 3 && n < room && p[n] >= '0' && p[n] <= '7') cp = cp * 8 + (uint32_t)(p[n++] - '0');
    cel_tput_char(b, cp);
    return n;
  }
  if (*p == 'x' || *p == 'u' || *p == 'U') {
    int n = hex(p + 1, room - 1, *p == 'x' ? 2 : *p == 'u' ? 4 : 8, &cp);
    if (!n || cp > 0x10FFFF || (cp >= 0xD800 && cp <= 0xDFFF)) return 0;
    cel_tput_char(b, cp);
    return (size_t)n + 1;
  }
  if (*p == 'N') return 0;
  cel_buf_addc(b, '\\');  // unknown ones stay as they are
  if ((unsigned char)*p < 0x80) {
    cel_buf_addc(b, *p);
    return 1;
  }
  cp = cel_tchar(p);  // Python's codec sees an ASCII spelling of it here, whose backslash is escaped by ours
  cel_buf_printf(b, cp < 0x100 ? "x%02x" : cp < 0x10000 ? "u%04x" : "U%08x", cp);
  return cel_tchar_bytes(p);
}

static cel_status lex_string(lexer *lx) {
  size_t begin = lx->pos, p = begin + 1;
  char quote = lx->s[begin];
  cel_buf b = {0};
  while (p < lx->n && lx->s[p] != quote) {
    if (lx->s[p] != '\\') {
      cel_buf_addc(&b, lx->s[p++]);
      continue;
    }
    size_t n = p + 1 < lx->n ? unescape(&b, lx->s + p + 1, lx->n - p - 1) : 0;
    if (!n) {
      cel_buf_deinit(&b);
      return lex_fail(lx, p, "this escape is not understood (of \\N{...} and lone surrogates none is)");
    }
    p += 1 + n;
  }
  if (p >= lx->n) {
    cel_buf_deinit(&b);
    return lex_fail(lx, begin, "this string has no end");
  }
  cel_str text = {cel_arena_dup(lx->arena, b.p ? b.p : "", b.n), b.n};
  bool failed = b.failed || !text.p;
  cel_buf_deinit(&b);
  if (failed) return cel_fail_oom(lx->err, "a string of a template");
  took(lx, p + 1);
  return add(lx, CEL_TK_STRING, begin, text, cel_tstr(text));
}

static cel_status lex_name(lexer *lx) {
  size_t begin = lx->pos, p = begin;
  while (word_char(lx, p)) p += cel_tchar_bytes(lx->s + p);
  took(lx, p);
  return add(lx, CEL_TK_NAME, begin, (cel_str){lx->s + begin, p - begin}, (cel_tval){0});
}

static cel_status balance(lexer *lx, char c) {
  if (c == '(' || c == '[' || c == '{') {
    if (lx->n_brackets == MAX_BRACKETS) return lex_fail(lx, lx->pos, "more than 256 brackets inside one another");
    lx->brackets[lx->n_brackets++] = c == '(' ? ')' : c == '[' ? ']' : '}';
  } else if (c == ')' || c == ']' || c == '}') {
    if (!lx->n_brackets) return lex_fail(lx, lx->pos, "this closing bracket has no opening one");
    if (lx->brackets[--lx->n_brackets] != c) return lex_fail(lx, lx->pos, "this bracket does not close the last one");
  }
  return CEL_OK;
}

static cel_status lex_operator(lexer *lx) {
  static const char *const two[] = {"//", "**", "==", "!=", ">=", "<="};
  size_t n = 0;
  for (int i = 0; i < CEL_COUNT(two); i++) n = at(lx, lx->pos, two[i]) ? 2 : n;
  char c = lx->s[lx->pos];
  if (!n && c && strchr("+-/*%~[](){}><=.:|,;", c)) n = 1;
  if (!n) return lex_fail(lx, lx->pos, "this character means nothing here");
  if (n == 1) CEL_TRY(balance(lx, c));
  size_t begin = lx->pos;
  took(lx, begin + n);
  return add(lx, CEL_TK_OP, begin, (cel_str){lx->s + begin, n}, (cel_tval){0});
}

static cel_status lex_tag(lexer *lx, bool print) {
  lx->n_brackets = 0;
  while (lx->pos < lx->n) {
    size_t end = lx->n_brackets ? 0 : tag_end(lx, lx->pos, print ? "}}" : "%}", !print, !print);
    if (end) {
      size_t begin = lx->pos;
      took(lx, end);
      return add(lx, print ? CEL_TK_PRINT_END : CEL_TK_BLOCK_END, begin, (cel_str){lx->s + begin, 2}, (cel_tval){0});
    }
    size_t space = skip_space(lx, lx->pos);
    char c = lx->s[lx->pos];
    if (space > lx->pos) {
      took(lx, space);
    } else if (c >= '0' && c <= '9') {
      end = float_end(lx, lx->pos);
      CEL_TRY(end ? lex_float(lx, end) : lex_integer(lx));
    } else if (word_char(lx, lx->pos)) {
      CEL_TRY(lex_name(lx));
    } else if (c == '"' || c == '\'') {
      CEL_TRY(lex_string(lx));
    } else {
      CEL_TRY(lex_operator(lx));
    }
  }
  return CEL_OK;  // the parser says what is missing
}

// Text up to the next tag, and the tag.
static cel_status lex_some(lexer *lx) {
  size_t from = lx->pos, p = from;
  while (p < lx->n && !(lx->s[p] == '{' && p + 1 < lx->n && strchr("{%#", lx->s[p + 1]) && lx->s[p + 1])) p++;
  if (p == lx->n) {
    lx->pos = p;
    return add(lx, CEL_TK_DATA, from, (cel_str){lx->s + from, p - from}, (cel_tval){0});
  }
  char what = lx->s[p + 1], sign = p + 2 < lx->n ? lx->s[p + 2] : 0;
  CEL_TRY(add_data(lx, from, p, sign, what != '{'));
  size_t raw = word_tag(lx, p, "raw", true);
  if (raw) {
    took(lx, raw);
    return lex_raw(lx, p);
  }
  took(lx, p + 2 + (sign == '-' || sign == '+'));
  if (what == '#') return lex_comment(lx, p);
  CEL_TRY(add(lx, what == '{' ? CEL_TK_PRINT_BEGIN : CEL_TK_BLOCK_BEGIN, p, (cel_str){lx->s + p, 2}, (cel_tval){0}));
  return lex_tag(lx, what == '{');
}

// "\r\n" and "\r" become "\n"; one at the very end goes.
static cel_status normalize(lexer *lx, cel_str source) {
  char *s = cel_arena_alloc(lx->arena, source.n + 1);
  if (!s) return cel_fail_oom(lx->err, "a template");
  size_t n = 0;
  for (size_t i = 0; i < source.n; i++) {
    s[n++] = source.p[i] == '\r' ? '\n' : source.p[i];
    if (source.p[i] == '\r' && i + 1 < source.n && source.p[i + 1] == '\n') i++;
  }
  if (n && s[n - 1] == '\n') n--;
  s[n] = 0;
  lx->s = s, lx->n = n;
  return CEL_OK;
}

cel_status cel_tlex(cel_arena *arena, cel_arena *token_arena, cel_str source, const char *name, cel_ttoken **tokens,
                    int64_t *n, cel_err *err) {
  lexer lx = {.arena = arena, .token_arena = token_arena, .name = name, .err = err, .line = 1, .line_starting = true};
  if (source.n > LARGEST_SOURCE) {
    return cel_fail(err, CEL_TOO_LONG, "%s: %zu bytes, a template may have %d", name, source.n, LARGEST_SOURCE);
  }
  if (!cel_utf8_valid(source.p, source.n)) return cel_fail(err, CEL_MALFORMED, "%s: not valid UTF-8", name);
  CEL_TRY(normalize(&lx, source));
  while (lx.pos < lx.n) CEL_TRY(lex_some(&lx));
  CEL_TRY(add(&lx, CEL_TK_EOF, lx.n, CEL_STR(""), (cel_tval){0}));
  *tokens = lx.tokens, *n = lx.n_tokens;
  return CEL_OK;
}
