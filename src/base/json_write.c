#include <math.h>

#include "base/json.h"
#include "base/number.h"

static void escape(cel_buf *b, uint32_t code) {
  if (code < 0x10000) {
    cel_buf_printf(b, "\\u%04x", code);
  } else {
    code -= 0x10000;
    cel_buf_printf(b, "\\u%04x\\u%04x", 0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF));
  }
}

static void add_string(cel_buf *b, cel_str s, bool ascii) {
  cel_buf_addc(b, '"');
  for (size_t i = 0; i < s.n;) {
    unsigned char c = (unsigned char)s.p[i];
    if (c == '"' || c == '\\') {
      cel_buf_addc(b, '\\');
      cel_buf_addc(b, (char)c);
      i++;
    } else if (c == '\n' || c == '\r' || c == '\t') {
      cel_buf_addz(b, c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t");
      i++;
    } else if (c < 0x20 || c == 0x7F) {
      cel_buf_printf(b, "\\u%04x", c);
      i++;
    } else if (c < 0x80) {
      cel_buf_addc(b, (char)c);
      i++;
    } else {
      char utf8[4];
      uint32_t code = cel_utf8_next(s.p, s.n, &i);
      if (ascii) escape(b, code);
      else cel_buf_add(b, utf8, (size_t)cel_utf8_put(utf8, code));
    }
  }
  cel_buf_addc(b, '"');
}

void cel_json_add_string(cel_buf *b, cel_str s) { add_string(b, s, false); }

// `least` digits where that is enough for the same double, or more.
static void add_number(cel_buf *b, double x, int least, int most) {
  char text[CEL_NUMBER_BYTES];
  double back;
  if (!isfinite(x)) {
    cel_buf_addz(b, "null");
    return;
  }
  for (int digits = least; digits <= most; digits++) {
    int n = cel_print_double(text, x, digits);
    if (digits < most && (!cel_parse_double((cel_str){text, (size_t)n}, &back) || back != x)) continue;
    break;
  }
  cel_buf_addz(b, text);
}

void cel_json_add_number(cel_buf *b, double x) { add_number(b, x, 6, 17); }

// Must not read back as an integer.
static void add_real(cel_buf *b, double x, int digits) {
  size_t start = b->n;
  add_number(b, x, digits ? digits : 6, digits ? digits : 17);
  for (size_t i = start; i < b->n; i++) {
    if (b->p[i] == '.' || b->p[i] == 'e' || b->p[i] == 'n') return;
  }
  cel_buf_addz(b, ".0");
}

static void new_line(cel_buf *b, cel_json_style style, int depth) {
  if (!style.indent) return;
  cel_buf_addc(b, '\n');
  for (int i = 0; i < depth * style.indent; i++) cel_buf_addc(b, ' ');
}

static void write_value(cel_buf *b, const cel_json *v, cel_json_style style, int depth);

static void write_array(cel_buf *b, const cel_json *v, cel_json_style style, int depth) {
  size_t n = cel_json_array_size(v);
  cel_buf_addc(b, '[');
  for (size_t i = 0; i < n; i++) {
    if (i) cel_buf_addc(b, ',');
    new_line(b, style, depth + 1);
    write_value(b, cel_json_array_get(v, i), style, depth + 1);
  }
  if (n) new_line(b, style, depth);
  cel_buf_addc(b, ']');
}

static void write_object(cel_buf *b, const cel_json *v, cel_json_style style, int depth) {
  size_t n = cel_json_object_size(v);
  cel_buf_addc(b, '{');
  for (size_t i = 0; i < n; i++) {
    if (i) cel_buf_addc(b, ',');
    new_line(b, style, depth + 1);
    add_string(b, cel_json_object_key(v, i), style.ascii);
    cel_buf_addz(b, style.indent ? ": " : ":");
    write_value(b, cel_json_object_value(v, i), style, depth + 1);
  }
  if (n) new_line(b, style, depth);
  cel_buf_addc(b, '}');
}

static void write_value(cel_buf *b, const cel_json *v, cel_json_style style, int depth) {
  switch (cel_json_typeof(v)) {
    case CEL_JSON_NULL: cel_buf_addz(b, "null"); break;
    case CEL_JSON_FALSE: cel_buf_addz(b, "false"); break;
    case CEL_JSON_TRUE: cel_buf_addz(b, "true"); break;
    case CEL_JSON_INTEGER: cel_buf_printf(b, "%lld", (long long)cel_json_integer_value(v)); break;
    case CEL_JSON_REAL: add_real(b, cel_json_real_value(v), style.real_digits); break;
    case CEL_JSON_STRING:
      add_string(b, (cel_str){cel_json_string_value(v), cel_json_string_length(v)}, style.ascii);
      break;
    case CEL_JSON_ARRAY: write_array(b, v, style, depth); break;
    case CEL_JSON_OBJECT: write_object(b, v, style, depth); break;
  }
}

void cel_json_write(cel_buf *b, const cel_json *v, cel_json_style style) { write_value(b, v, style, 0); }
