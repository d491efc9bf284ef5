// What a character is, as the patterns of pre-tokenizers ask it: letter, number, mark, white space,
// punctuation, part of a word. General categories come from utf8proc.
#ifndef CEL_TEXT_UNICODE_H
#define CEL_TEXT_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum cel_char_class {
  CEL_CHAR_OTHER,
  CEL_CHAR_LETTER,  // \p{L}
  CEL_CHAR_NUMBER,  // \p{N}
  CEL_CHAR_SPACE,   // \s: the property White_Space
  CEL_CHAR_MARK,    // \p{M}
} cel_char_class;

cel_char_class cel_char_class_of(uint32_t cp);
bool cel_char_is_space(uint32_t cp);
bool cel_char_is_number(uint32_t cp);
bool cel_char_is_digit(uint32_t cp);  // \p{Nd}
// As the reference's normalizers and its BERT know them, by the categories of Unicode 8: what came later does
// not count.
bool cel_char_is_punctuation(uint32_t cp);  // \p{P} and the ASCII punctuation
bool cel_char_is_nonspacing(uint32_t cp);   // \p{Mn}
bool cel_char_is_mark(uint32_t cp);         // \p{M}
bool cel_char_is_hidden(uint32_t cp);       // \p{Cc}, \p{Cf}, \p{Co}
bool cel_char_is_word(uint32_t cp);         // \w: letters, marks, decimal and letter numbers, connectors

// Decodes a character of text that is known to be valid UTF-8 (i < n) and moves *i behind it.
static inline uint32_t cel_char_next(const char *s, size_t *i) {
  const unsigned char *u = (const unsigned char *)s + *i;
  if (u[0] < 0x80) return *i += 1, u[0];
  if (u[0] < 0xE0) return *i += 2, (u[0] & 0x1Fu) << 6 | (u[1] & 0x3Fu);
  if (u[0] < 0xF0) return *i += 3, (u[0] & 0x0Fu) << 12 | (u[1] & 0x3Fu) << 6 | (u[2] & 0x3Fu);
  return *i += 4, (u[0] & 0x07u) << 18 | (u[1] & 0x3Fu) << 12 | (u[2] & 0x3Fu) << 6 | (u[3] & 0x3Fu);
}
// The start of the character that ends at s[i) (i > 0), in valid UTF-8.
static inline size_t cel_char_before(const char *s, size_t i) {
  do i--;
  while (i > 0 && ((unsigned char)s[i] & 0xC0) == 0x80);
  return i;
}

#endif
