// Added tokens: contents that are cut out of a text before anything else looks at it. All of them are
// searched at once, in time linear in the text, leftmost first and of those the longest.
// Threads: read-only once built.
#ifndef CEL_TEXT_ADDED_H
#define CEL_TEXT_ADDED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "text/spans.h"

typedef struct cel_added_token {
  cel_str content;   // what is searched
  int32_t id;
  bool single_word;  // not next to a word character
  bool lstrip, rstrip;  // takes the white space on that side with it
  bool normalized;   // searched in the normalized text, by its normalized content
  bool special;
} cel_added_token;

// The automaton of Aho and Corasick over the contents read backwards: running over the text from its end, the
// state at i tells which contents start at i.
typedef struct cel_added_node {
  int32_t child, sibling;  // first child, next child of the same parent; 0 = none (the root is no child)
  int32_t fail;
  int32_t longest;         // token number + 1 of the longest content that starts here, 0 = none
  unsigned char byte;
} cel_added_node;

typedef struct cel_added {
  const cel_added_token *tokens;  // borrowed
  cel_added_node *nodes;          // nodes[0] is the root
  int32_t *root;                  // [256] its children
  int32_t n_nodes;
} cel_added;

// Takes the tokens [n] whose `normalized` is as asked; empty contents are left out.
CEL_MUST_CHECK cel_status cel_added_build(cel_added *a, cel_arena *arena, const cel_added_token *tokens, int32_t n,
                                          bool normalized, cel_err *err);

typedef struct cel_added_part {
  size_t at, n;
  int32_t id;  // -1: text between tokens
} cel_added_part;
typedef struct cel_added_parts {
  cel_added_part *p;
  size_t n, cap;
  cel_spans hits;  // scratch
  bool failed;
} cel_added_parts;
void cel_added_parts_deinit(cel_added_parts *p);

// Cuts a text into tokens and what lies between. `with_special` = false leaves special tokens in the text.
CEL_MUST_CHECK cel_status cel_added_split(const cel_added *a, cel_str text, bool with_special, cel_added_parts *out,
                                          cel_err *err);

#endif
