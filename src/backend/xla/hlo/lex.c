// Tokens of MLIR text (the "Lexical structure" of MLIR's language reference), with positions.
#include "backend/xla/hlo/lex.h"

#include <stdio.h>
#include <string.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool is_word_start(char c) { return is_letter(c) || c == '_'; }
static bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '$' || c == '.'; }
static bool is_suffix(char c) { return is_word(c) || c == '-'; }  // behind % @ ^ # !

static int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// ---- failures ----------------------------------------------------------------------------------

static cel_status fail_position(cel_lex *l, int line, int column, cel_status status, const char *fmt, va_list args) {
  char sentence[CEL_ERR_TEXT_BYTES];
  vsnprintf(sentence, sizeof sentence, fmt, args);
  return cel_fail(l->err, status, "%s:%d:%d: %s", l->name, line, column, sentence);
}

cel_status cel_lex_fail(cel_lex *l, cel_status status, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  status = fail_position(l, l->token_line, l->token_column, status, fmt, args);
  va_end(args);
  return status;
}

cel_status cel_lex_fail_at(cel_lex *l, const char *where, cel_status status, const char *fmt, ...) {
  int line = 1;
  const char *line_begin = l->begin;
  for (const char *p = l->begin; p < where; p++) {
    if (*p != '\n') continue;
    line++;
    line_begin = p + 1;
  }
  va_list args;
  va_start(args, fmt);
  status = fail_position(l, line, (int)(where - line_begin) + 1, status, fmt, args);
  va_end(args);
  return status;
}

cel_status cel_lex_expected(cel_lex *l, const char *what) {
  if (l->kind == CEL_TOK_END) return cel_lex_fail(l, CEL_MALFORMED, "found the end of the text, expected %s", what);
  char found[48];
  size_t n = l->text.n < 40 ? l->text.n : 40;
  for (size_t i = 0; i < n; i++) {
    char c = l->text.p[i];
    found[i] = (char)(c >= ' ' && c < 127 ? c : '?');
  }
  found[n] = 0;
  return cel_lex_fail(l, CEL_MALFORMED, "found '%s%s', expected %s", found, n < l->text.n ? "..." : "", what);
}

// ---- tokens ------------------------------------------------------------------------------------

// Moves p over white space and comments. NUL ends nothing here: it is a BAD token.
static void skip_space(cel_lex *l) {
  const char *p = l->p;
  for (; p < l->end; p++) {
    if (*p == '\n') {
      l->line++;
      l->line_begin = p + 1;
    } else if (*p == '/' && p + 1 < l->end && p[1] == '/') {
      const char *newline = memchr(p, '\n', (size_t)(l->end - p));
      p = newline ? newline - 1 : l->end - 1;
    } else if (*p != ' ' && *p != '\t' && *p != '\r') {
      break;
    }
  }
  l->p = p;
}

// A closing quote on the same line, or NULL.
static const char *string_end(const char *p, const char *end) {
  for (; p < end && *p != '\n'; p++) {
    if (*p == '"') return p + 1;
    if (*p == '\\' && p + 1 < end && p[1] != '\n') p++;
  }
  return NULL;
}

static int lex_string(cel_lex *l, const char *open, int kind) {
  const char *close = string_end(open + 1, l->end);
  l->p = close ? close : l->end;
  return close ? kind : CEL_TOK_BAD;
}

static int lex_number(cel_lex *l, const char *p) {
  int kind = CEL_TOK_INT;
  if (*p == '0' && p + 2 < l->end && p[1] == 'x' && hex_digit(p[2]) >= 0) {
    for (p += 2; p < l->end && hex_digit(*p) >= 0; p++) {
    }
    kind = CEL_TOK_HEX;
  } else {
    while (p < l->end && is_digit(*p)) p++;
    if (p < l->end && *p == '.') {
      kind = CEL_TOK_FLOAT;
      for (p++; p < l->end && is_digit(*p); p++) {
      }
      if (p < l->end && (*p == 'e' || *p == 'E')) {
        const char *e = p + 1;
        if (e < l->end && (*e == '-' || *e == '+')) e++;
        if (e < l->end && is_digit(*e)) {
          while (e < l->end && is_digit(*e)) e++;
          p = e;
        }
      }
    }
  }
  l->p = p;
  return kind;
}

// % @ ^ # ! and the name behind; a lone sigil is BAD.
static int lex_sigil(cel_lex *l, const char *p, int kind) {
  const char *name = p + 1;
  if (*p == '@' && name < l->end && *name == '"') return lex_string(l, name, kind);
  const char *q = name;
  if (q < l->end && is_digit(*q)) {
    while (q < l->end && is_digit(*q)) q++;
  } else {
    while (q < l->end && is_suffix(*q) && !(*q == '-' && q + 1 < l->end && q[1] == '>')) q++;
  }
  l->p = q;
  return q > name ? kind : CEL_TOK_BAD;
}

static int lex_token(cel_lex *l, const char *p) {
  char c = *p, next = (char)(p + 1 < l->end ? p[1] : 0);
  if (is_word_start(c)) {
    while (p < l->end && is_word(*p)) p++;
    l->p = p;
    return CEL_TOK_WORD;
  }
  if (is_digit(c)) return lex_number(l, p);
  switch (c) {
    case '%': return lex_sigil(l, p, CEL_TOK_VALUE);
    case '@': return lex_sigil(l, p, CEL_TOK_SYMBOL);
    case '^': return lex_sigil(l, p, CEL_TOK_BLOCK);
    case '#': return lex_sigil(l, p, CEL_TOK_HASH);
    case '!': return lex_sigil(l, p, CEL_TOK_BANG);
    case '"': return lex_string(l, p, CEL_TOK_STRING);
    case '-':
      if (next != '>') break;
      l->p = p + 2;
      return CEL_TOK_ARROW;
    case ':':
      if (next != ':') break;
      l->p = p + 2;
      return CEL_TOK_SCOPE;
    case '{':
      if (next != '-' || p + 2 >= l->end || p[2] != '#') break;
      l->p = p + 3;
      return CEL_TOK_RESOURCES;
    default: break;
  }
  l->p = p + 1;
  return c && strchr("(){}[]<>,:=-+*/?|", c) ? c : CEL_TOK_BAD;
}

void cel_lex_next(cel_lex *l) {
  skip_space(l);
  const char *p = l->p;
  l->token_line = l->line;
  l->token_column = (int)(p - l->line_begin) + 1;
  l->kind = p < l->end ? lex_token(l, p) : CEL_TOK_END;
  l->text = (cel_str){p, (size_t)(l->p - p)};
}

void cel_lex_init(cel_lex *l, cel_str text, const char *name, cel_err *err) {
  *l = (cel_lex){.name = name, .begin = text.p, .end = text.p + text.n, .p = text.p, .line_begin = text.p,
                 .line = 1, .err = err};
  cel_lex_next(l);
}

bool cel_lex_take_word(cel_lex *l, const char *word) {
  if (!cel_lex_word(l, word)) return false;
  cel_lex_next(l);
  return true;
}

cel_status cel_lex_need(cel_lex *l, int kind, const char *what) {
  if (l->kind != kind) return cel_lex_expected(l, what);
  cel_lex_next(l);
  return CEL_OK;
}

cel_status cel_lex_need_word(cel_lex *l, const char *word) {
  char what[64];
  if (cel_lex_take_word(l, word)) return CEL_OK;
  snprintf(what, sizeof what, "'%s'", word);
  return cel_lex_expected(l, what);
}

char cel_lex_peek(cel_lex *l) {
  cel_lex ahead = *l;
  skip_space(&ahead);
  return (char)(ahead.p < ahead.end ? *ahead.p : 0);
}

// ---- strings -----------------------------------------------------------------------------------

cel_status cel_lex_string(cel_lex *l, cel_str quoted, cel_buf *out) {
  const char *p = quoted.p, *end = quoted.p + quoted.n - 1;  // end: the closing quote
  if (*p == '@') p++;
  for (p++; p < end; p++) {
    if (*p != '\\') {
      const char *q = p;
      while (q < end && *q != '\\') q++;
      cel_buf_add(out, p, (size_t)(q - p));
      p = q - 1;
      continue;
    }
    char c = p[1];
    if (c == '"' || c == '\\') {
      cel_buf_addc(out, c);
      p++;
    } else if (c == 'n' || c == 't') {
      cel_buf_addc(out, (char)(c == 'n' ? '\n' : '\t'));
      p++;
    } else if (p + 2 < end && hex_digit(c) >= 0 && hex_digit(p[2]) >= 0) {
      cel_buf_addc(out, (char)(hex_digit(c) * 16 + hex_digit(p[2])));
      p += 2;
    } else {
      return cel_lex_fail_at(l, p, CEL_MALFORMED, "a string has \\ before something else than \\ \" n t or two "
                             "hexadecimal digits");
    }
  }
  return out->failed ? cel_fail_oom(l->err, "a string") : CEL_OK;
}

// ---- raw text ----------------------------------------------------------------------------------

static char closing(char open) {
  switch (open) {
    case '<': return '>';
    case '(': return ')';
    case '[': return ']';
    case '{': return '}';
    default: return 0;
  }
}

// What cel_lex_raw copies at l->p: a string, or one character, or a blank for white space.
static cel_status raw_piece(cel_lex *l, cel_buf *out) {
  const char *p = l->p;
  skip_space(l);
  if (l->p != p) {
    cel_buf_addc(out, ' ');
    return CEL_OK;
  }
  const char *close = p + 1;
  if (*p == '"' && !(close = string_end(p + 1, l->end)))
    return cel_lex_fail_at(l, p, CEL_MALFORMED, "a string does not end on its line");
  if (memchr(p, 0, (size_t)(close - p))) return cel_lex_fail_at(l, p, CEL_MALFORMED, "a zero byte in an attribute");
  cel_buf_add(out, p, (size_t)(close - p));
  l->p = close;
  return CEL_OK;
}

cel_status cel_lex_raw(cel_lex *l, cel_buf *out) {
  const char *start = l->text.p;
  char stack[CEL_LEX_MAX_DEPTH];
  int depth = 0;
  stack[depth++] = closing(*start);
  cel_buf_addc(out, *start);
  while (depth > 0) {
    if (l->p >= l->end)
      return cel_lex_fail_at(l, start, CEL_MALFORMED, "'%c' has no matching '%c'", *start, closing(*start));
    char c = *l->p;
    if (c == '-' && l->p + 1 < l->end && l->p[1] == '>') {
      cel_buf_add(out, "->", 2);
      l->p += 2;
      continue;
    }
    if (closing(c)) {
      if (depth == CEL_LEX_MAX_DEPTH)
        return cel_lex_fail_at(l, l->p, CEL_UNSUPPORTED, "brackets nest deeper than %d", CEL_LEX_MAX_DEPTH);
      stack[depth++] = closing(c);
    } else if (c == '>' || c == ')' || c == ']' || c == '}') {
      if (c != stack[depth - 1])
        return cel_lex_fail_at(l, l->p, CEL_MALFORMED, "found '%c', expected '%c'", c, stack[depth - 1]);
      depth--;
    }
    CEL_TRY(raw_piece(l, out));
  }
  if (out->failed) return cel_fail_oom(l->err, "an attribute");
  cel_lex_next(l);
  return CEL_OK;
}

cel_status cel_lex_body(cel_lex *l, cel_str *body) {
  const char *start = l->p, *p = start;
  for (; p < l->end && *p != '>'; p++) {
    if (*p == '\n') {
      l->line++;
      l->line_begin = p + 1;
    } else if (*p == '"') {
      const char *close = memchr(p + 1, '"', (size_t)(l->end - p - 1));
      if (!close || memchr(p, '\n', (size_t)(close - p)))
        return cel_lex_fail_at(l, p, CEL_MALFORMED, "a string does not end on its line");
      p = close;
    } else if (*p == '/') {
      l->p = p;
      skip_space(l);
      if (l->p == p) return cel_lex_fail_at(l, p, CEL_MALFORMED, "found '/' in a literal");
      p = l->p - 1;
    }
  }
  if (p >= l->end) return cel_lex_fail(l, CEL_MALFORMED, "'<' has no matching '>'");
  *body = (cel_str){start, (size_t)(p - start)};
  l->p = p + 1;
  cel_lex_next(l);
  return CEL_OK;
}

cel_status cel_lex_dims(cel_lex *l, int64_t *dims, int most, int *rank) {
  *rank = 0;
  for (;;) {
    skip_space(l);
    if (l->p >= l->end || !is_digit(*l->p)) return CEL_OK;
    const char *start = l->p;
    int64_t n = 0;
    for (; l->p < l->end && is_digit(*l->p); l->p++) {
      if (n > (INT64_MAX - 9) / 10) return cel_lex_fail_at(l, start, CEL_MALFORMED, "a dimension is over 2^63");
      n = n * 10 + (*l->p - '0');
    }
    skip_space(l);
    if (l->p >= l->end || *l->p != 'x')
      return cel_lex_fail_at(l, l->p, CEL_MALFORMED, "expected 'x' behind the dimension %lld", (long long)n);
    l->p++;
    if (*rank < most) dims[*rank] = n;
    (*rank)++;
  }
}
