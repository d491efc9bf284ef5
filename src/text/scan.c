// Each scanner follows the alternatives of its pattern from left to right.
#include "text/scan.h"

#include "text/unicode.h"

#define CONTRACTIONS_I "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define CONTRACTIONS_2 "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
#define LETTERS "|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define REST "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define GPT2 "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

const char cel_pattern_gpt2[] = GPT2;
const char cel_pattern_llama3[] = CONTRACTIONS_I LETTERS "|\\p{N}{1,3}" REST;
const char cel_pattern_qwen2[] = CONTRACTIONS_I LETTERS "|\\p{N}" REST;
const char cel_pattern_qwen35[] = CONTRACTIONS_I
    "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

static const cel_scan known[] = {
    {cel_pattern_gpt2, CEL_SCAN_GPT2, 0, true, false, false},
    {cel_pattern_llama3, CEL_SCAN_LLAMA3, 3, true, true, false},
    {CONTRACTIONS_2 LETTERS "|\\p{N}{1,3}" REST, CEL_SCAN_LLAMA3, 3, true, false, false},
    {cel_pattern_qwen2, CEL_SCAN_LLAMA3, 1, true, true, false},
    {CONTRACTIONS_2 LETTERS "|\\p{N}" REST, CEL_SCAN_LLAMA3, 1, true, false, false},
    {CONTRACTIONS_I LETTERS "|\\p{N}+" REST, CEL_SCAN_LLAMA3, 0, true, true, false},
    {cel_pattern_qwen35, CEL_SCAN_LLAMA3, 1, true, true, true},
    {"[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}" REST, CEL_SCAN_LLAMA3, 1, false, false, false},
};

const cel_scan *cel_scan_find(cel_str pattern) {
  for (int i = 0; i < CEL_COUNT(known); i++) {
    if (cel_str_is(pattern, known[i].pattern)) return &known[i];
  }
  return NULL;
}

// Class of the character at s[i] and where it ends; at the end of the text nothing matches any class.
enum { NOTHING = -1 };
static int class_at(const cel_scan *scan, const char *s, size_t n, size_t i, size_t *next) {
  *next = i;
  if (i >= n) return NOTHING;
  cel_char_class c = cel_char_class_of(cel_char_next(s, next));
  if (c == CEL_CHAR_MARK && !scan->marks) c = CEL_CHAR_OTHER;
  return c;
}

// A letter of the wanted kind: with `marks` a mark counts as a letter.
static bool is(int got, cel_char_class want) {
  return got == (int)want || (want == CEL_CHAR_LETTER && got == CEL_CHAR_MARK);
}

// The end of a run of one class from s[i), at most `most` characters (0 = any).
static size_t run(const cel_scan *scan, const char *s, size_t n, size_t i, cel_char_class want, int most) {
  size_t next;
  for (int k = 0; (most == 0 || k < most) && is(class_at(scan, s, n, i, &next), want); i = next) k += most != 0;
  return i;
}

// s[i] is an apostrophe: the end of the contraction, 0 when there is none.
static size_t contraction(const cel_scan *scan, const char *s, size_t n, size_t i) {
  bool fold = scan->shape == CEL_SCAN_LLAMA3;
  if (i + 1 >= n) return 0;
  if (scan->long_s && i + 2 < n && memcmp(s + i + 1, "\xC5\xBF", 2) == 0) return i + 3;
  char a = (char)(fold ? s[i + 1] | 32 : s[i + 1]);
  if (a == 's' || a == 't' || a == 'm' || a == 'd') return i + 2;
  if (i + 2 >= n) return 0;
  char b = (char)(fold ? s[i + 2] | 32 : s[i + 2]);
  return (a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l') ? i + 3 : 0;
}

// \s+(?!\S)|\s+ : the whole run at the end of the text, all but the last character before something else.
static size_t spaces(const cel_scan *scan, const char *s, size_t n, size_t i) {
  size_t end = run(scan, s, n, i, CEL_CHAR_SPACE, 0);
  if (end == n) return end;
  size_t last = cel_char_before(s, end);
  return last > i ? last : end;
}

// \s*[\r\n]+ : behind the last line end of the run of white space; 0 when it has none.
static size_t lines(const cel_scan *scan, const char *s, size_t n, size_t i) {
  size_t end = run(scan, s, n, i, CEL_CHAR_SPACE, 0);
  while (end > i && s[end - 1] != '\n' && s[end - 1] != '\r') end--;
  return end > i ? end : 0;
}

static size_t next_gpt2(const cel_scan *scan, const char *s, size_t n, size_t i) {
  size_t end = s[i] == '\'' ? contraction(scan, s, n, i) : 0, next;
  if (end) return end;
  int c = class_at(scan, s, n, s[i] == ' ' ? i + 1 : i, &next);
  if (c == NOTHING || c == CEL_CHAR_SPACE) return spaces(scan, s, n, i);
  return run(scan, s, n, next, (cel_char_class)c, 0);
}

static size_t next_llama3(const cel_scan *scan, const char *s, size_t n, size_t i) {
  size_t end = s[i] == '\'' && scan->contractions ? contraction(scan, s, n, i) : 0, next, after;
  if (end) return end;
  int c = class_at(scan, s, n, i, &next);
  if (is(c, CEL_CHAR_LETTER)) return run(scan, s, n, next, CEL_CHAR_LETTER, 0);
  bool head = c != CEL_CHAR_NUMBER && s[i] != '\r' && s[i] != '\n';
  if (head && is(class_at(scan, s, n, next, &after), CEL_CHAR_LETTER)) {
    return run(scan, s, n, after, CEL_CHAR_LETTER, 0);
  }
  if (c == CEL_CHAR_NUMBER) return run(scan, s, n, i, CEL_CHAR_NUMBER, scan->numbers);
  size_t from = s[i] == ' ' ? next : i;
  end = run(scan, s, n, from, CEL_CHAR_OTHER, 0);
  if (end > from) {
    while (end < n && (s[end] == '\r' || s[end] == '\n')) end++;
    return end;
  }
  end = lines(scan, s, n, i);
  return end ? end : spaces(scan, s, n, i);
}

size_t cel_scan_next(const cel_scan *scan, const char *s, size_t n, size_t i) {
  return scan->shape == CEL_SCAN_GPT2 ? next_gpt2(scan, s, n, i) : next_llama3(scan, s, n, i);
}
