// The named pre-tokenizers of GGUF ("tokenizer.ggml.pre") for byte-level vocabularies: which expressions cut
// a text, one after the other, and what the name says besides.
#ifndef CEL_TEXT_GGUF_PRE_H
#define CEL_TEXT_GGUF_PRE_H

#include "base/str.h"

enum { CEL_GGUF_PRE_REGEXES = 6 };

typedef struct cel_gguf_pre {
  const char *names;  // separated by single spaces
  bool ignore_merges, add_bos;
  bool plain;         // not byte-level: characters as they are, spaces as U+2581, bytes as <0xHH>
  const char *regexes[CEL_GGUF_PRE_REGEXES];
} cel_gguf_pre;

// NULL when there is no such name.
const cel_gguf_pre *cel_gguf_pre_find(cel_str name);
// The other way round: the first name that stands for exactly these expressions. False when there is none.
bool cel_gguf_pre_match(const cel_str *regexes, int n, bool ignore_merges, bool plain, cel_str *name);
// Appends all names, separated by ", ".
void cel_gguf_pre_list(cel_buf *out);

#endif
