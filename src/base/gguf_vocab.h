// What a GGUF file says about its tokenizer, passed from the file's reader (model/) to the tokenizer
// (text/), which do not know each other.
#ifndef CEL_BASE_GGUF_VOCAB_H
#define CEL_BASE_GGUF_VOCAB_H

#include <stdint.h>

#include "base/str.h"

// Every pointer is borrowed; a checkpoint keeps them alive until it is closed, and a tokenizer copies what
// it keeps.
typedef struct cel_gguf_vocab {
  cel_str model;            // "gpt2", "llama", "bert", "t5", ...
  cel_str pre;              // "smollm", "llama-bpe", "qwen2", "default", ...; empty when absent
  const cel_str *tokens;    // [n_tokens]
  const float *scores;      // [n_tokens] or NULL
  const int32_t *types;     // [n_tokens] or NULL: 1 normal 2 unknown 3 control 4 user-defined 5 unused 6 byte
  int64_t n_tokens;
  const cel_str *merges;    // [n_merges] "left right"
  int64_t n_merges;
  int32_t bos, eos, unk, pad, eot, eom;  // -1 when absent
  int add_bos, add_eos, add_space_prefix;  // 0, 1, or -1 when absent
  // Used by "bert" and "t5".
  cel_str charsmap;         // SentencePiece's precompiled normalizer; empty when absent
  int32_t sep, cls;         // -1 when absent
  int merge_spaces, lowercase, strip_accents;  // 0, 1, or -1 when absent
} cel_gguf_vocab;

#endif
