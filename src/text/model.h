// The model of a tokenizer: pieces of text become ids. One vocabulary, and one way to cut a piece into tokens.
// Threads: a cel_model is read-only once made; a cel_model_scratch belongs to one call chain.
#ifndef CEL_TEXT_MODEL_H
#define CEL_TEXT_MODEL_H

#include "text/bpe.h"
#include "text/piece_cache.h"
#include "text/unigram.h"
#include "text/wordpiece.h"

typedef enum cel_model_kind {
  CEL_MODEL_BPE,
  CEL_MODEL_UNIGRAM,
  CEL_MODEL_WORDPIECE,  // and WordLevel, and longest token first: see text/wordpiece.h
} cel_model_kind;

typedef struct cel_model {
  cel_model_kind kind;
  cel_vocab vocab;
  uint8_t *barred;  // [(ids + 7) / 8] special tokens: see cel_vocab_bars()
  cel_bpe bpe;
  cel_unigram unigram;
  cel_wordpiece words;
  // Where no token has a certain character before U+2581, no token ever crosses that place: a text may be cut
  // there, and long texts without a pre-tokenizer become words.
  bool cuts;
  uint8_t before_space[8192];  // bit (code point mod 2^16): some token has this character before U+2581
} cel_model;

typedef struct cel_model_scratch {  // zero-initialize
  cel_bpe_scratch bpe;
  cel_unigram_scratch unigram;
  cel_wordpiece_scratch words;
  cel_piece_cache *cache;
} cel_model_scratch;
void cel_model_scratch_deinit(cel_model_scratch *s);
// Remembers the pieces seen in this scratch. Failing to get memory is no error.
void cel_model_cache_on(cel_model_scratch *s);

// Fills what follows from the vocabulary, whose tokens, kind and settings are there. `lengths` and tables of the
// kind's own go to the arena.
CEL_MUST_CHECK bool cel_model_index(cel_model *m, cel_arena *arena);

// Appends the ids of one piece (valid UTF-8, under 2^28 bytes).
CEL_MUST_CHECK cel_status cel_model_encode(const cel_model *m, cel_model_scratch *s, cel_str piece, cel_ids *out,
                                           cel_err *err);

#endif
