#include "text/template/tmpl_text.h"

#include <utf8proc.h>

bool cel_tspace(uint32_t cp) {
  if (cp < 0x80) return cp == ' ' || (cp >= 9 && cp <= 13) || (cp >= 0x1C && cp <= 0x1F);
  return cp == 0x85 || cp == 0xA0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200A) || cp == 0x2028 ||
         cp == 0x2029 || cp == 0x202F || cp == 0x205F || cp == 0x3000;
}

uint32_t cel_tchar(const char *p) {
  size_t i = 0;
  return cel_utf8_next(p, cel_tchar_bytes(p), &i);
}

const char *cel_tchar_before(const char *p) {
  do p--;
  while (((unsigned char)*p & 0xC0) == 0x80);
  return p;
}

size_t cel_tspace_head(cel_str s) {
  size_t i = 0;
  while (i < s.n && cel_tspace(cel_tchar(s.p + i))) i += cel_tchar_bytes(s.p + i);
  return i;
}

size_t cel_tspace_tail(cel_str s) {
  const char *end = s.p + s.n;
  while (end > s.p) {
    const char *before = cel_tchar_before(end);
    if (!cel_tspace(cel_tchar(before))) break;
    end = before;
  }
  return (size_t)(s.p + s.n - end);
}

cel_str cel_tstrip_space(cel_str s, bool left, bool right) {
  size_t head = left ? cel_tspace_head(s) : 0;
  s.p += head, s.n -= head;
  if (right) s.n -= cel_tspace_tail(s);
  return s;
}

int64_t cel_tchars(cel_str s) {
  int64_t n = 0;
  for (size_t i = 0; i < s.n; i++) n += ((unsigned char)s.p[i] & 0xC0) != 0x80;
  return n;
}

size_t cel_tchar_offset(cel_str s, int64_t i) {
  size_t at = 0;
  for (; i > 0 && at < s.n; i--) at += cel_tchar_bytes(s.p + at);
  return at;
}

static utf8proc_category_t category(uint32_t cp) { return utf8proc_category((utf8proc_int32_t)cp); }

bool cel_tis_alpha(uint32_t cp) {
  utf8proc_category_t c = category(cp);
  return c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO;
}

bool cel_tis_decimal(uint32_t cp) { return category(cp) == UTF8PROC_CATEGORY_ND; }

// Superscripts, subscripts and circled digits: the digits that are no decimals.
static bool odd_digit(uint32_t cp) {
  return cp == 0xB2 || cp == 0xB3 || cp == 0xB9 || cp == 0x2070 || (cp >= 0x2074 && cp <= 0x2079) ||
         (cp >= 0x2080 && cp <= 0x2089) || (cp >= 0x2460 && cp <= 0x2468) || (cp >= 0x2474 && cp <= 0x247C) ||
         (cp >= 0x2488 && cp <= 0x2490) || cp == 0x24EA || (cp >= 0x24F5 && cp <= 0x24FD) || cp == 0x24FF ||
         (cp >= 0x2776 && cp <= 0x277E) || (cp >= 0x2780 && cp <= 0x2788) || (cp >= 0x278A && cp <= 0x2792);
}

bool cel_tis_digit(uint32_t cp) { return cel_tis_decimal(cp) || odd_digit(cp); }

bool cel_tis_numeric(uint32_t cp) {
  utf8proc_category_t c = category(cp);
  return c == UTF8PROC_CATEGORY_ND || c == UTF8PROC_CATEGORY_NL || c == UTF8PROC_CATEGORY_NO;
}

bool cel_tis_alnum(uint32_t cp) { return cel_tis_alpha(cp) || cel_tis_numeric(cp); }
bool cel_tis_word(uint32_t cp) { return cp == '_' || cel_tis_alnum(cp); }
bool cel_tis_lower(uint32_t cp) { return utf8proc_islower((utf8proc_int32_t)cp) != 0; }
bool cel_tis_upper(uint32_t cp) { return utf8proc_isupper((utf8proc_int32_t)cp) != 0; }
bool cel_tis_title(uint32_t cp) { return category(cp) == UTF8PROC_CATEGORY_LT; }

bool cel_tis_printable(uint32_t cp) {
  if (cp == ' ') return true;
  utf8proc_category_t c = category(cp);
  return !(c == UTF8PROC_CATEGORY_CN || c >= UTF8PROC_CATEGORY_ZS);  // separators, controls, private, surrogates
}

void cel_tput_char(cel_buf *b, uint32_t cp) {
  char utf8[4];
  cel_buf_add(b, utf8, (size_t)cel_utf8_put(utf8, cp));
}

// Unicode's SpecialCasing where one letter becomes several, for those in use.
static const struct {
  uint32_t from;
  const char *upper, *title;
} special[] = {
    {0xDF, "SS", "Ss"},     {0x149, "\u02BCN", "\u02BCN"}, {0x1F0, "J\u030C", "J\u030C"}, {0xFB00, "FF", "Ff"},
    {0xFB01, "FI", "Fi"},   {0xFB02, "FL", "Fl"},          {0xFB03, "FFI", "Ffi"},        {0xFB04, "FFL", "Ffl"},
    {0xFB05, "ST", "St"},   {0xFB06, "ST", "St"},          {0x587, "\u0535\u0552", "\u0535\u0582"},
    {0x390, "\u0399\u0308\u0301", "\u0399\u0308\u0301"},   {0x3B0, "\u03A5\u0308\u0301", "\u03A5\u0308\u0301"},
};

static const char *special_case(uint32_t cp, bool title) {
  for (int i = 0; cp >= 0x80 && i < CEL_COUNT(special); i++) {
    if (special[i].from == cp) return title ? special[i].title : special[i].upper;
  }
  return NULL;
}

void cel_tput_lower(cel_buf *b, uint32_t cp) {
  if (cp == 0x130) {  // I with a dot above
    cel_buf_addz(b, "i\u0307");
  } else {
    cel_tput_char(b, (uint32_t)utf8proc_tolower((utf8proc_int32_t)cp));
  }
}

void cel_tput_upper(cel_buf *b, uint32_t cp) {
  const char *s = special_case(cp, false);
  if (s) {
    cel_buf_addz(b, s);
  } else {
    cel_tput_char(b, (uint32_t)utf8proc_toupper((utf8proc_int32_t)cp));
  }
}

void cel_tput_title(cel_buf *b, uint32_t cp) {
  const char *s = special_case(cp, true);
  if (s) {
    cel_buf_addz(b, s);
  } else {
    cel_tput_char(b, (uint32_t)utf8proc_totitle((utf8proc_int32_t)cp));
  }
}
