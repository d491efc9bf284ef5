// Regular expressions of tokenizer files: written for Oniguruma (Ruby syntax), run by PCRE2 with its own
// limits, so that no text can exhaust the stack.
// Threads: a cel_regex is read-only; a cel_regex_run belongs to one call chain.
#ifndef CEL_TEXT_REGEX_H
#define CEL_TEXT_REGEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/str.h"

typedef struct cel_regex cel_regex;
typedef struct cel_regex_run {  // zero-initialize; memory of the matcher, reused from match to match
  void *data, *context, *stack;
  uint32_t calls;
  double began_ms;    // processor time of the thread
  size_t moved;       // bytes that matches have moved on by
} cel_regex_run;

// `where` names the field for messages ("tokenizer.json: pre_tokenizer.pattern").
CEL_MUST_CHECK cel_status cel_regex_new(cel_str pattern, const char *where, cel_regex **out, cel_err *err);
void cel_regex_free(cel_regex *re);
void cel_regex_run_deinit(cel_regex_run *run);
// Time counts from the next match on: between texts that have other work in between.
void cel_regex_run_restart(cel_regex_run *run);

// Fails with CEL_TOO_LONG when a match, or many of them together, take more time than any pattern that is meant for texts.
// The first match that starts at or after `from` in valid UTF-8. *found says whether there is one.
CEL_MUST_CHECK cel_status cel_regex_find(const cel_regex *re, cel_regex_run *run, cel_str text, size_t from,
                                         bool *found, size_t *start, size_t *end, cel_err *err);

#endif
