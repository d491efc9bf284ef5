// The well-known patterns of byte-level tokenizers, written as scanners: linear in the text, no backtracking.
// They are chosen by the exact text of the pattern; every other pattern runs through text/regex.h.
#ifndef CEL_TEXT_SCAN_H
#define CEL_TEXT_SCAN_H

#include "base/str.h"

typedef enum cel_scan_shape {
  CEL_SCAN_GPT2,    // contractions | ?letters | ?numbers | ?others | white space
  CEL_SCAN_LLAMA3,  // contractions in any case | [one other]letters | few numbers | ?others and line ends | white space
} cel_scan_shape;

typedef struct cel_scan {
  const char *pattern;
  cel_scan_shape shape;
  int numbers;        // at most so many in one piece (LLAMA3 shape); 0 = any count
  bool contractions;  // 's 't 're 've 'm 'll 'd are pieces of their own
  bool long_s;        // (?i:'s) folds U+017F to s, [sS] does not
  bool marks;         // marks count as letters
} cel_scan;

// The scanner of a pattern, NULL when it is not one of those known.
const cel_scan *cel_scan_find(cel_str pattern);
// The end of the piece that starts at s[i], i < n, in valid UTF-8. Always > i.
size_t cel_scan_next(const cel_scan *scan, const char *s, size_t n, size_t i);

extern const char cel_pattern_gpt2[];
extern const char cel_pattern_llama3[];
extern const char cel_pattern_qwen2[];
extern const char cel_pattern_qwen35[];

#endif
