// General categories from utf8proc; ASCII answered from the code itself, since most text is ASCII.
#include "text/unicode.h"

#include <utf8proc.h>

static bool in(uint32_t c, uint32_t lo, uint32_t hi) { return c - lo <= hi - lo; }

// The property White_Space, PropList.txt.
bool cel_char_is_space(uint32_t c) {
  if (c < 0x80) return c == ' ' || in(c, 9, 13);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || in(c, 0x2000, 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

static cel_char_class by_category(uint32_t c) {
  switch (utf8proc_category((utf8proc_int32_t)c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO: return CEL_CHAR_LETTER;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO: return CEL_CHAR_NUMBER;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME: return CEL_CHAR_MARK;
    default: return CEL_CHAR_OTHER;
  }
}

cel_char_class cel_char_class_of(uint32_t c) {
  if (c < 0x80) {
    if (in(c | 32, 'a', 'z')) return CEL_CHAR_LETTER;
    if (in(c, '0', '9')) return CEL_CHAR_NUMBER;
    return cel_char_is_space(c) ? CEL_CHAR_SPACE : CEL_CHAR_OTHER;
  }
  return cel_char_is_space(c) ? CEL_CHAR_SPACE : by_category(c);
}

bool cel_char_is_number(uint32_t c) { return cel_char_class_of(c) == CEL_CHAR_NUMBER; }

bool cel_char_is_punctuation(uint32_t c) {
  if (c < 0x80) return in(c, '!', '/') || in(c, ':', '@') || in(c, '[', '`') || in(c, '{', '~');
  utf8proc_category_t k = utf8proc_category((utf8proc_int32_t)c);
  return k >= UTF8PROC_CATEGORY_PC && k <= UTF8PROC_CATEGORY_PO;
}

bool cel_char_is_word(uint32_t c) {
  if (c < 0x80) return in(c | 32, 'a', 'z') || in(c, '0', '9') || c == '_';
  if (c == 0x200C || c == 0x200D) return true;  // Join_Control
  if (in(c, 0x24B6, 0x24E9) || in(c, 0x1F130, 0x1F149) || in(c, 0x1F150, 0x1F169) || in(c, 0x1F170, 0x1F189)) {
    return true;  // circled and squared letters: symbols with the property Alphabetic
  }
  utf8proc_category_t k = utf8proc_category((utf8proc_int32_t)c);
  return (k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_ME) || k == UTF8PROC_CATEGORY_ND ||
         k == UTF8PROC_CATEGORY_NL || k == UTF8PROC_CATEGORY_PC;
}
