// General categories from utf8proc; ASCII answered from the code itself, since most text is ASCII.
#include "text/unicode.h"

#include <utf8proc.h>

#include "base/macros.h"

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

bool cel_char_is_digit(uint32_t c) {
  return c < 0x80 ? in(c, '0', '9') : utf8proc_category((utf8proc_int32_t)c) == UTF8PROC_CATEGORY_ND;
}

bool cel_char_is_number(uint32_t c) { return cel_char_class_of(c) == CEL_CHAR_NUMBER; }

// What became a mark or punctuation after Unicode 8. A range may span characters of other classes.
typedef struct range {
  uint32_t first, last;
} range;
static const range late_nonspacing[] = {
    {0x7FD, 0x7FD}, {0x898, 0x8E1}, {0x9FE, 0x9FE}, {0xAFA, 0xAFF}, {0xB55, 0xB55}, {0xC04, 0xC3C}, {0xD00, 0xD00},
    {0xD3B, 0xD3C}, {0xD81, 0xD81}, {0xEBA, 0xEBA}, {0x180F, 0x1886}, {0x1ABF, 0x1ACE}, {0x1DF6, 0x1DFB},
    {0xA82C, 0xA82C}, {0xA8C5, 0xA8C5}, {0xA8FF, 0xA8FF}, {0xA9BD, 0xA9BD}, {0x10D24, 0x10F85}, {0x11070, 0x11074},
    {0x110C2, 0x110C2}, {0x111C9, 0x111C9}, {0x111CF, 0x111CF}, {0x1123E, 0x1123E}, {0x1133B, 0x1133B},
    {0x11438, 0x1145E}, {0x1182F, 0x11EF4}, {0x16F4F, 0x16F4F}, {0x16FE4, 0x16FE4}, {0x1CF00, 0x1CF46},
    {0x1E000, 0x1E2EF}, {0x1E944, 0x1E94A},
};
static const range late_marks[] = {
    {0x7FD, 0x7FD}, {0x898, 0x8D3}, {0x9FE, 0x9FE}, {0xAFA, 0xAFF}, {0xB55, 0xB55}, {0xC04, 0xC3C}, {0xD00, 0xD00},
    {0xD3B, 0xD3C}, {0xD81, 0xD81}, {0xEBA, 0xEBA}, {0x1715, 0x1715}, {0x180F, 0x180F}, {0x1ABF, 0x1ACE},
    {0x1CF7, 0x1CF7}, {0x1DF6, 0x1DFA}, {0xA82C, 0xA82C}, {0xA8FF, 0xA8FF}, {0x10D24, 0x10F85}, {0x11070, 0x11074},
    {0x110C2, 0x110C2}, {0x11145, 0x11146}, {0x111C9, 0x111C9}, {0x111CE, 0x111CF}, {0x1133B, 0x1133B},
    {0x1145E, 0x1145E}, {0x1182C, 0x11A99}, {0x11D31, 0x11EF6}, {0x16F4F, 0x16F4F}, {0x16F7F, 0x16F87},
    {0x16FE4, 0x16FF1}, {0x1CF00, 0x1CF46}, {0x1E130, 0x1E2EF},
};
static const range late_punctuation[] = {
    {0x61D, 0x61D}, {0x9FD, 0xA76}, {0xC77, 0xC84}, {0x1B7D, 0x1B7E}, {0x2E43, 0x2E5D}, {0x10EAD, 0x10F89},
    {0x1144B, 0x1145D}, {0x11660, 0x116B9}, {0x1183B, 0x11FFF}, {0x12FF1, 0x12FF2}, {0x16E97, 0x16FE2},
    {0x1E95E, 0x1E95F},
};

static bool within(const range *list, int n, uint32_t c) {
  for (int i = 0; i < n && list[i].first <= c; i++) {
    if (c <= list[i].last) return true;
  }
  return false;
}

bool cel_char_is_punctuation(uint32_t c) {
  if (c < 0x80) return in(c, '!', '/') || in(c, ':', '@') || in(c, '[', '`') || in(c, '{', '~');
  if (c == 0x166D || c == 0x111C9) return true;
  utf8proc_category_t k = utf8proc_category((utf8proc_int32_t)c);
  return k >= UTF8PROC_CATEGORY_PC && k <= UTF8PROC_CATEGORY_PO &&
         !within(late_punctuation, CEL_COUNT(late_punctuation), c);
}

bool cel_char_is_nonspacing(uint32_t c) {
  if (c < 0x300) return false;
  if (c == 0x1734) return true;
  return utf8proc_category((utf8proc_int32_t)c) == UTF8PROC_CATEGORY_MN &&
         !within(late_nonspacing, CEL_COUNT(late_nonspacing), c);
}

bool cel_char_is_mark(uint32_t c) {
  if (c < 0x300) return false;
  if (c == 0x1CF2 || c == 0x1CF3) return true;
  utf8proc_category_t k = utf8proc_category((utf8proc_int32_t)c);
  return k >= UTF8PROC_CATEGORY_MN && k <= UTF8PROC_CATEGORY_ME && !within(late_marks, CEL_COUNT(late_marks), c);
}

bool cel_char_is_hidden(uint32_t c) {
  if (c < 0x80) return c < 0x20 || c == 0x7F;
  if (in(c, 0x890, 0x891) || c == 0x8E2 || c == 0x110CD || in(c, 0x13430, 0x1343F)) return false;  // later than 8
  utf8proc_category_t k = utf8proc_category((utf8proc_int32_t)c);
  return k == UTF8PROC_CATEGORY_CC || k == UTF8PROC_CATEGORY_CF || k == UTF8PROC_CATEGORY_CO;
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
