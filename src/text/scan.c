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

const char cel_pattern_threes[] = "\\p{N}{1,3}(?=(?:\\p{N}{3})*(?!\\p{N}))";

static const cel_scan known[] = {
    {.pattern = cel_pattern_gpt2, .shape = CEL_SCAN_GPT2, .contractions = true},
    {.pattern = cel_pattern_llama3, .shape = CEL_SCAN_LLAMA3, .numbers = 3, .contractions = true, .long_s = true},
    {.pattern = CONTRACTIONS_2 LETTERS "|\\p{N}{1,3}" REST,
     .shape = CEL_SCAN_LLAMA3, .numbers = 3, .contractions = true},
    {.pattern = cel_pattern_qwen2, .shape = CEL_SCAN_LLAMA3, .numbers = 1, .contractions = true, .long_s = true},
    {.pattern = CONTRACTIONS_2 LETTERS "|\\p{N}" REST,
     .shape = CEL_SCAN_LLAMA3, .numbers = 1, .contractions = true},
    {.pattern = CONTRACTIONS_I LETTERS "|\\p{N}+" REST,
     .shape = CEL_SCAN_LLAMA3, .contractions = true, .long_s = true},
    {.pattern = cel_pattern_qwen35,
     .shape = CEL_SCAN_LLAMA3, .numbers = 1, .contractions = true, .long_s = true, .marks = true},
    {.pattern = "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}" REST, .shape = CEL_SCAN_LLAMA3, .numbers = 1},
    {.pattern = cel_pattern_threes, .shape = CEL_SCAN_THREES, .numbers = 1},
    {.pattern = "\\d{1,3}(?=(?:\\d{3})*\\b)", .shape = CEL_SCAN_THREES, .words = true},
    {.pattern = "(?=(\\d{3})+(?!\\d))", .shape = CEL_SCAN_THREES, .places = true},
    {.pattern = "\\s+$", .shape = CEL_SCAN_TRAILING},
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

// --- patterns with gaps -------------------------------------------------------------------------------

bool cel_scan_leaves_gaps(const cel_scan *scan) { return scan->shape >= CEL_SCAN_THREES; }

static bool is_digit(const cel_scan *scan, uint32_t c) {
  return scan->numbers ? cel_char_is_number(c) : cel_char_is_digit(c);
}

// A word character of the reference's expressions: see WORDS in regex.c.
static bool is_word(uint32_t c) {
  if (c == 0x200C || c == 0x200D) return false;
  return cel_char_is_word(c) || c == 0xB2 || c == 0xB3 || c == 0xB9 || (c >= 0xBC && c <= 0xBE);
}

static size_t skip_chars(cel_str text, size_t at, size_t n) {
  while (n-- > 0 && at < text.n) cel_char_next(text.p, &at);
  return at;
}

// The next run of digits at or behind `at` that counts: where it begins and ends, and how many digits it has. 0: none.
static size_t find_digits(const cel_scan *scan, cel_str text, size_t at, size_t *start, size_t *end) {
  size_t n = 0;
  while (at < text.n) {
    size_t i = at;
    uint32_t c = cel_char_next(text.p, &i);
    if (is_digit(scan, c)) {
      if (n++ == 0) *start = at;
      *end = i;
    } else if (n > 0) {
      if (!scan->words || !is_word(c)) break;
      n = 0;
    }
    at = i;
  }
  return n;
}

static bool match_threes(const cel_scan *scan, cel_str text, size_t *from, size_t *run, size_t *start, size_t *end) {
  size_t first = 3;
  *start = *from;
  while (*from >= *run) {
    size_t n = find_digits(scan, text, *from, start, run);
    if (n == 0) return false;
    *from = *run;
    if (scan->places && n < 3) continue;
    if (n % 3) first = n % 3;
    if (n % 3 && scan->places) *start = skip_chars(text, *start, first), first = 3;
    break;
  }
  *from = skip_chars(text, *start, first);
  *end = scan->places ? *start : *from;
  return true;
}

// The longest part of a run of white space that ends at the text's end or before a line end.
static bool match_trailing(cel_str text, size_t *from, size_t *start, size_t *end) {
  for (size_t at = *from; at < text.n;) {
    size_t i = at, last = 0;
    if (!cel_char_is_space(cel_char_next(text.p, &i))) {
      at = i;
      continue;
    }
    for (size_t k = i; i < text.n && cel_char_is_space(cel_char_next(text.p, &k)); i = k) {
      if (text.p[i] == '\n') last = i;
    }
    if (i == text.n) last = i;
    if (last) {
      *start = at;
      *end = *from = last;
      return true;
    }
    at = i;
  }
  *from = text.n;
  return false;
}

bool cel_scan_match(const cel_scan *scan, cel_str text, size_t *from, size_t *run, size_t *start, size_t *end) {
  if (scan->shape == CEL_SCAN_TRAILING) return match_trailing(text, from, start, end);
  return match_threes(scan, text, from, run, start, end);
}
