// Text as Python's str sees it: code points over UTF-8 bytes that are known to be valid.
#ifndef CEL_TEXT_TEMPLATE_TMPL_TEXT_H
#define CEL_TEXT_TEMPLATE_TMPL_TEXT_H

#include "base/str.h"

bool cel_tspace(uint32_t code_point);  // str.isspace, and \s of re
// Bytes of white space at the front and at the end.
size_t cel_tspace_head(cel_str s);
size_t cel_tspace_tail(cel_str s);
cel_str cel_tstrip_space(cel_str s, bool left, bool right);

static inline size_t cel_tchar_bytes(const char *p) {
  unsigned char c = (unsigned char)*p;
  return c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
}
uint32_t cel_tchar(const char *p);                // the code point at p
const char *cel_tchar_before(const char *p);      // start of the code point that ends at p
int64_t cel_tchars(cel_str s);                    // number of code points
size_t cel_tchar_offset(cel_str s, int64_t i);    // byte offset of code point i (clamped)

// Character classes as str.isalpha and its like have them.
bool cel_tis_alpha(uint32_t cp);
bool cel_tis_alnum(uint32_t cp);
bool cel_tis_decimal(uint32_t cp);
bool cel_tis_digit(uint32_t cp);
bool cel_tis_numeric(uint32_t cp);
bool cel_tis_lower(uint32_t cp);
bool cel_tis_upper(uint32_t cp);
bool cel_tis_title(uint32_t cp);
bool cel_tis_printable(uint32_t cp);
bool cel_tis_word(uint32_t cp);  // \w of re: alnum and "_"

// Appends the mapping of a code point; upper and title may give several.
void cel_tput_lower(cel_buf *b, uint32_t cp);
void cel_tput_upper(cel_buf *b, uint32_t cp);
void cel_tput_title(cel_buf *b, uint32_t cp);
void cel_tput_char(cel_buf *b, uint32_t cp);

#endif
