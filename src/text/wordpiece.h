// Models that look a piece up instead of joining it: WordPiece (BERT: the longest token first, later ones written
// with a prefix; a word that can not be cut is unknown as a whole), WordLevel (the piece is a token or unknown),
// and longest token first over a whole text (RWKV).
// Time: bytes of the piece times the lengths tokens have; no recursion.
// Threads: a cel_wordpiece is read-only; a scratch belongs to one call chain.
#ifndef CEL_TEXT_WORDPIECE_H
#define CEL_TEXT_WORDPIECE_H

#include "base/status.h"
#include "text/spans.h"
#include "text/vocab.h"

typedef struct cel_wordpiece {
  const cel_vocab *vocab;
  const uint8_t *barred;   // see cel_vocab_bars()
  int32_t unk;             // -1 when none: an unknown word is an error then
  bool whole;              // WordLevel
  bool any_bytes;          // RWKV: tokens are bytes, an unknown byte does not spoil what stands around it
  int64_t most_chars;      // a longer word is unknown
  cel_str first;           // what is written before the first token of a word (GGUF: U+2581)
  cel_str prefix;          // what is written before every other one ("##"; GGUF: nothing)
  cel_vocab heads, tails;  // the texts of tokens behind `first` and behind `prefix`
  cel_vocab_lengths head_lengths, tail_lengths;
} cel_wordpiece;

typedef struct cel_wordpiece_scratch {  // zero-initialize
  cel_vocab_parts parts;
} cel_wordpiece_scratch;
void cel_wordpiece_scratch_deinit(cel_wordpiece_scratch *s);

// From vocab, first and prefix: heads, tails and their lengths.
CEL_MUST_CHECK bool cel_wordpiece_index(cel_wordpiece *w, cel_arena *arena);
// Appends the ids of one piece (valid UTF-8, under 2^28 bytes).
CEL_MUST_CHECK cel_status cel_wordpiece_encode(const cel_wordpiece *w, cel_wordpiece_scratch *s, cel_str piece,
                                               cel_ids *out, cel_err *err);

#endif
