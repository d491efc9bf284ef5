// The well-known patterns of byte-level tokenizers, written as scanners: linear in the text, no backtracking.
// They are chosen by the exact text of the pattern; every other pattern runs through text/regex.h.
#ifndef CEL_TEXT_SCAN_H
#define CEL_TEXT_SCAN_H

#include <stdbool.h>

#include "base/str.h"

typedef enum cel_scan_shape {
  CEL_SCAN_GPT2,    // contractions | ?letters | ?numbers | ?others | white space
  CEL_SCAN_LLAMA3,  // contractions in any case | [one other]letters | few numbers | ?others and line ends | white space
  // These leave gaps between their matches:
  CEL_SCAN_THREES,    // pieces of a run of digits, so cut that the last ones have three
  CEL_SCAN_TRAILING,  // white space at the end of a line
} cel_scan_shape;

typedef struct cel_scan {
  const char *pattern;
  cel_scan_shape shape;
  int numbers;        // at most so many in one piece (LLAMA3 shape); 0 = any count. THREES: 1 = \p{N}, 0 = \d
  bool contractions;  // 's 't 're 've 'm 'll 'd are pieces of their own
  bool long_s;        // (?i:'s) folds U+017F to s, [sS] does not
  bool marks;         // marks count as letters
  bool words;         // THREES: only runs that no word character follows
  bool places;        // THREES: the match is the place before three digits, not the digits
} cel_scan;

// The scanner of a pattern, NULL when it is not one of those known.
const cel_scan *cel_scan_find(cel_str pattern);
// The end of the piece that starts at s[i], i < n, in valid UTF-8. Always > i.
size_t cel_scan_next(const cel_scan *scan, const char *s, size_t n, size_t i);

// For patterns that leave gaps: the first match at or behind *from, which moves to where the next may be. *run is where
// the run of digits that has been counted ends; 0 at first.
bool cel_scan_leaves_gaps(const cel_scan *scan);
bool cel_scan_match(const cel_scan *scan, cel_str text, size_t *from, size_t *run, size_t *start, size_t *end);

extern const char cel_pattern_gpt2[];
extern const char cel_pattern_llama3[];
extern const char cel_pattern_qwen2[];
extern const char cel_pattern_qwen35[];
extern const char cel_pattern_threes[];

#endif
