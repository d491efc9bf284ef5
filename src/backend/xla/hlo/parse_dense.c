// dense<...> : tensor<...>. The literal comes before its type, so its text is set aside first and read once the
// type is known. A literal never takes more memory than its text: lists hold what is written, one number or
// one element of a blob stays one element (a splat).
#include <string.h>

#include "backend/xla/hlo/parse.h"

typedef struct dense {
  cel_parse *p;
  const cel_hlo_type *type;
  const char *q, *end;     // what is left of the literal
  cel_etype e;
  int size;                // bytes of an element
  int64_t elements, done;  // of the type; written to `out`
  char *out;
} dense;

static cel_status bad(dense *d, const char *where, const char *what) {
  char type[96];
  cel_hlo_type_text(d->type, type, sizeof type);
  return cel_lex_fail_at(&d->p->lex, where, CEL_MALFORMED, "a literal of type %s %s", type, what);
}

static void skip_space(dense *d) {
  const char *q = d->q;
  for (; q < d->end; q++) {
    if (*q == '/') {  // a comment: nothing else with '/' gets here
      const char *newline = memchr(q, '\n', (size_t)(d->end - q));
      q = newline ? newline : d->end - 1;
    } else if (*q != ' ' && *q != '\n' && *q != '\t' && *q != '\r') {
      break;
    }
  }
  d->q = q;
}

static char look(dense *d) {
  skip_space(d);
  return (char)(d->q < d->end ? *d->q : 0);
}

// ---- one element -------------------------------------------------------------------------------

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// The span of a number without its sign, and whether it is INT, HEX or FLOAT; empty when there is none.
static int scan_number(dense *d, cel_str *span) {
  const char *q = d->q, *end = d->end;
  int kind = CEL_TOK_INT;
  while (q < end && is_digit(*q)) q++;
  if (q == d->q + 1 && *d->q == '0' && q + 1 < end && *q == 'x' && is_hex(q[1])) {
    for (q++; q < end && is_hex(*q); q++) {
    }
    kind = CEL_TOK_HEX;
  } else if (q > d->q && q < end && *q == '.') {
    kind = CEL_TOK_FLOAT;
    for (q++; q < end && is_digit(*q); q++) {
    }
    if (q < end && (*q == 'e' || *q == 'E')) {
      const char *x = q + 1;
      if (x < end && (*x == '-' || *x == '+')) x++;
      if (x < end && is_digit(*x)) {
        while (x < end && is_digit(*x)) x++;
        q = x;
      }
    }
  }
  *span = (cel_str){d->q, (size_t)(q - d->q)};
  d->q = q;
  return kind;
}

static void put_bits(uint64_t bits, int bytes, char *out) {
  for (int i = 0; i < bytes; i++) out[i] = (char)(bits >> (8 * i) & 0xFF);
}

// A float of type e: a decimal, or its bits as a hexadecimal number.
static cel_status float_element(dense *d, cel_etype e, char *out) {
  char first = look(d);
  const char *start = d->q;
  bool negative = first == '-';
  if (negative) d->q++;
  cel_str span;
  int kind = scan_number(d, &span), bytes = cel_etype_bytes(e);
  uint64_t bits;
  double value;
  if (span.n == 0) return bad(d, start, "needs a number here");
  if (kind == CEL_TOK_INT) return bad(d, start, "needs a decimal point in its numbers (1.0, not 1)");
  if (kind == CEL_TOK_HEX) {
    if (negative || !cel_parse_uint(span, &bits) || (bytes < 8 && bits >> (8 * bytes)))
      return bad(d, start, "cannot hold this bit pattern");
    put_bits(bits, bytes, out);
    return CEL_OK;
  }
  if (!cel_parse_double(span, &value)) return bad(d, start, "has a number there is no memory for");
  if (!cel_hlo_element_from_double(e, negative ? -value : value, out)) return bad(d, start, "cannot hold this number");
  return CEL_OK;
}

static cel_status int_element(dense *d, char *out) {
  char first = look(d);
  const char *start = d->q;
  bool negative = first == '-';
  if (negative) d->q++;
  cel_str span;
  int kind = scan_number(d, &span);
  uint64_t magnitude;
  int64_t value;
  if (span.n == 0) return bad(d, start, "needs an integer here");
  if (kind == CEL_TOK_FLOAT) return bad(d, start, "has a decimal point in a number");
  if (!cel_parse_uint(span, &magnitude) || !cel_parse_fits(d->e, negative, magnitude, &value) ||
      !cel_hlo_element_from_int(d->e, value, out))
    return bad(d, start, "cannot hold this number");
  return CEL_OK;
}

static bool word_here(dense *d, const char *word) {
  size_t n = strlen(word);
  if ((size_t)(d->end - d->q) < n || memcmp(d->q, word, n) != 0) return false;
  d->q += n;
  return true;
}

static cel_status pred_element(dense *d, char *out) {
  skip_space(d);
  if (word_here(d, "true")) *out = 1;
  else if (word_here(d, "false")) *out = 0;
  else return int_element(d, out);
  return CEL_OK;
}

static cel_status complex_element(dense *d, char *out) {
  cel_etype part = d->e == CEL_ET_C64 ? CEL_ET_F32 : CEL_ET_F64;
  if (look(d) != '(') return bad(d, d->q, "needs (real, imaginary) here");
  d->q++;
  CEL_TRY(float_element(d, part, out));
  if (look(d) != ',') return bad(d, d->q, "needs ',' between real and imaginary part");
  d->q++;
  CEL_TRY(float_element(d, part, out + d->size / 2));
  if (look(d) != ')') return bad(d, d->q, "needs ')' behind the imaginary part");
  d->q++;
  return CEL_OK;
}

static cel_status element(dense *d, char *out) {
  switch (cel_etype_class(d->e)) {
    case 'F': return float_element(d, d->e, out);
    case 'P': return pred_element(d, out);
    case 'C': return complex_element(d, out);
    default: return int_element(d, out);
  }
}

// ---- nested lists ------------------------------------------------------------------------------

static cel_status wrong_length(dense *d, const char *where, int depth, int64_t found) {
  return cel_lex_fail_at(&d->p->lex, where, CEL_MALFORMED,
                         "a list of %lld elements, the type has %lld in dimension %d", (long long)found,
                         (long long)d->type->dims[depth - 1], depth - 1);
}

// At '['. Depth and the length of every list must be those of the type.
static cel_status lists(dense *d) {
  int rank = d->type->rank, depth = 0;
  int64_t count[CEL_HLO_MAX_RANK + 1] = {0};
  bool fresh = true;  // an element may come: behind '[' or ','
  do {
    char c = look(d);
    if (c == ']') {
      if (count[depth] != d->type->dims[depth - 1]) return wrong_length(d, d->q, depth, count[depth]);
      if (fresh && count[depth] > 0) return bad(d, d->q, "has ',' before ']'");
      d->q++;
      count[--depth]++;
      fresh = false;
    } else if (c == ',' && depth > 0 && !fresh) {
      d->q++;
      fresh = true;
    } else if (!fresh) {
      return bad(d, d->q, "needs ',' or ']' here");
    } else if (c == '[') {
      if (depth == rank) return bad(d, d->q, "has more brackets than dimensions");
      d->q++;
      count[++depth] = 0;
    } else {
      if (depth != rank) return bad(d, d->q, "has fewer brackets than dimensions");
      if (d->done == d->elements) return bad(d, d->q, "has too many elements");
      CEL_TRY(element(d, d->out + d->done++ * d->size));
      count[depth]++;
      fresh = false;
    }
  } while (depth > 0);
  return CEL_OK;
}

// ---- blobs -------------------------------------------------------------------------------------

static int nibble(char c) {
  if (is_digit(c)) return c - '0';
  int letter = (c | 32) - 'a';
  return letter >= 0 && letter < 6 ? letter + 10 : -1;
}

static cel_status unhex(dense *d, const char *q, int64_t n, unsigned char *out) {
  for (int64_t i = 0; i < n; i++) {
    int high = nibble(q[2 * i]), low = nibble(q[2 * i + 1]);
    if ((high | low) < 0) return bad(d, q + 2 * i, "has something else than hexadecimal digits in its string");
    out[i] = (unsigned char)(high << 4 | low);
  }
  return CEL_OK;
}

// Types under a byte: i1 to 0 or 1, the others to their sign- or zero-extended value.
static void narrow(dense *d, unsigned char *data, int64_t n) {
  int bits = cel_etype_bits(d->e);
  if (bits >= 8) return;
  for (int64_t i = 0; i < n; i++) {
    unsigned v = data[i] & ((1u << bits) - 1);
    if (cel_etype_class(d->e) == 'P') v = data[i] != 0;
    else if (cel_etype_class(d->e) == 'S' && v >> (bits - 1)) v |= 0xFFu << bits;
    data[i] = (unsigned char)(v & 0xFF);
  }
}

// i1 with eight elements to a byte, lowest bit first: spreads them from the last on, in place.
static void unpack_bits(unsigned char *data, int64_t n) {
  for (int64_t i = n; i-- > 0;) data[i] = data[i >> 3] >> (i & 7) & 1;
}

// "0x...": little-endian elements in order, or one element for all. MLIR has written i1 both as one byte
// each and packed; the length tells which.
static cel_status blob(dense *d, bool *splat) {
  const char *start = d->q, *q = start + 1;
  const char *close = memchr(q, '"', (size_t)(d->end - q));
  if (!close || close - q < 2 || q[0] != '0' || q[1] != 'x' || (close - q) % 2)
    return cel_lex_fail_at(&d->p->lex, start, CEL_MALFORMED,
                           "the string of a literal needs the form \"0x...\" with two digits to a byte");
  int64_t n = (close - q - 2) / 2, whole = cel_hlo_bytes(d->type);
  bool is_pred = d->e == CEL_ET_PRED;
  bool packed = is_pred && n == (d->elements + 7) / 8 && n != whole;
  cel_buf *text = &d->p->text;
  cel_buf_clear(text);
  if (!cel_buf_reserve(text, (size_t)(packed ? d->elements : n) + 1)) return cel_parse_oom(d->p);
  d->out = text->p;
  unsigned char *data = (unsigned char *)text->p;
  CEL_TRY(unhex(d, q + 2, n, data));
  d->q = close + 1;
  if (packed && !(n == 1 && (data[0] == 0 || data[0] == 0xFF))) {
    unpack_bits(data, d->elements);
    return CEL_OK;
  }
  if (n != whole && n != d->size)
    return cel_lex_fail_at(&d->p->lex, start, CEL_MALFORMED, "a string of %lld bytes, the type needs %lld or %d",
                           (long long)n, (long long)whole, d->size);
  *splat = n != whole;
  narrow(d, data, *splat ? 1 : d->elements);
  return CEL_OK;
}

// ---- the whole ---------------------------------------------------------------------------------

static cel_status list_literal(dense *d) {
  int64_t text_bytes = d->end - d->q;
  if (d->elements > text_bytes) return bad(d, d->q, "has too few elements");
  cel_buf *text = &d->p->text;
  cel_buf_clear(text);
  if (!cel_buf_reserve(text, (size_t)(d->elements * d->size) + 1)) return cel_parse_oom(d->p);
  d->out = text->p;
  return lists(d);
}

static cel_status literal(dense *d, bool *splat) {
  char one[16];
  *splat = false;
  d->out = one;
  char c = look(d);
  if (c == 0) {
    if (d->elements) return bad(d, d->q, "has no elements");
  } else if (c == '[') {
    CEL_TRY(list_literal(d));
  } else if (c == '"') {
    CEL_TRY(blob(d, splat));
  } else {
    *splat = true;
    CEL_TRY(element(d, one));
    cel_buf_clear(&d->p->text);
    cel_buf_add(&d->p->text, one, (size_t)d->size);
    d->out = d->p->text.p;
    if (d->p->text.failed) return cel_parse_oom(d->p);
  }
  return look(d) ? bad(d, d->q, "ends before this") : CEL_OK;
}

// `at`: the lexer at '<'.
static cel_status keep_raw(cel_parse *p, const char *name, cel_lex *at, cel_hlo_attr **out) {
  cel_buf_clear(&p->text);
  cel_buf_addz(&p->text, "dense");
  CEL_TRY(cel_lex_raw(at, &p->text));
  cel_buf_addz(&p->text, " : ");
  CEL_TRY(cel_parse_verbatim(p));
  *out = cel_hlo_make_raw(p->m, name, cel_buf_str(&p->text));
  return *out ? CEL_OK : cel_parse_oom(p);
}

cel_status cel_parse_dense(cel_parse *p, const char *name, bool strict, cel_hlo_attr **out) {
  cel_lex open = p->lex;
  if (open.kind != '<') return cel_lex_expected(&p->lex, "'<' behind dense");
  cel_str body;
  CEL_TRY(cel_lex_body(&p->lex, &body));
  CEL_TRY(cel_lex_need(&p->lex, ':', "':' and a type behind a dense literal"));
  cel_lex at_type = p->lex;
  const cel_hlo_type *type;
  cel_status status = cel_parse_type(p, &type);
  if (status == CEL_UNSUPPORTED && !strict) {
    p->lex = at_type;
    return keep_raw(p, name, &open, out);
  }
  if (status != CEL_OK) return status;
  if (type->kind != CEL_HLO_KIND_TENSOR)
    return cel_lex_fail_at(&p->lex, at_type.text.p, CEL_MALFORMED, "a dense literal needs a tensor type");
  dense d = {.p = p, .type = type, .q = body.p, .end = body.p + body.n, .e = type->etype,
             .size = cel_etype_bytes(type->etype), .elements = cel_hlo_elements(type)};
  bool splat;
  CEL_TRY(literal(&d, &splat));
  *out = cel_hlo_make_dense(p->m, name, type, d.out, splat);
  return *out ? CEL_OK : cel_parse_oom(p);
}
