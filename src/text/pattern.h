// What a step looks for: a literal, a regular expression, or a well-known pattern with its own scanner.
// Threads: read-only; a cel_find belongs to one call chain.
#ifndef CEL_TEXT_PATTERN_H
#define CEL_TEXT_PATTERN_H

#include "base/arena.h"
#include "base/json.h"
#include "text/regex.h"
#include "text/scan.h"

// What the steps of a tokenizer are made from and kept in.
typedef struct cel_regex_list {
  cel_regex *re;
  struct cel_regex_list *next;
} cel_regex_list;

typedef struct cel_text_build {
  cel_arena *arena;
  cel_regex_list **regexes;  // every compiled expression goes here, for the one who frees the tokenizer
  const char *name;          // of the file, for messages
} cel_text_build;

typedef struct cel_pattern {
  cel_str literal;      // with `fail`: its failure function (Knuth, Morris, Pratt), [n + 1]
  const int32_t *fail;  // NULL: not a literal
  const cel_regex *re;
  const cel_scan *scan;
} cel_pattern;

CEL_MUST_CHECK cel_status cel_pattern_literal(cel_text_build *b, cel_str text, const char *where, cel_pattern *out,
                                              cel_err *err);
CEL_MUST_CHECK cel_status cel_pattern_regex(cel_text_build *b, cel_str text, const char *where, cel_pattern *out,
                                            cel_err *err);
// {"String": "..."} or {"Regex": "..."}.
CEL_MUST_CHECK cel_status cel_pattern_read(cel_text_build *b, const cel_json *json, const char *where,
                                           cel_pattern *out, cel_err *err);

// Goes over the matches from left to right; they do not overlap, and an empty one does not follow another
// match directly.
typedef struct cel_find {
  const cel_pattern *pattern;
  cel_regex_run *run;
  cel_str text;
  size_t from, last_end, digits;  // digits: see cel_scan_match
  bool any;
  size_t start, end;  // of the match found
} cel_find;

CEL_MUST_CHECK cel_status cel_find_next(cel_find *f, bool *found, cel_err *err);

// One step of the literal's automaton: the length matched after byte c when `state` bytes were matched.
int32_t cel_pattern_step(const cel_pattern *p, int32_t state, char c);

#endif
