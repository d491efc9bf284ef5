// The byte-pair model: a piece of text becomes characters, then neighbours are joined, best first, until no
// join is left. Two kinds of "best": the rank of a pair in a list of merges (tokenizer.json, GGUF "gpt2"),
// or the score of the token that results (SentencePiece; GGUF "llama").
// O(n log n) in the piece, no recursion. Threads: a cel_bpe is read-only; a cel_bpe_scratch belongs to one
// call chain.
#ifndef CEL_TEXT_BPE_H
#define CEL_TEXT_BPE_H

#include "base/status.h"
#include "text/spans.h"
#include "text/vocab.h"

typedef struct cel_bpe_merge {
  uint64_t pair;   // left id << 32 | right id
  int32_t rank, id;
} cel_bpe_merge;

typedef struct cel_bpe {
  cel_vocab vocab;
  cel_bpe_merge *merges;   // by rank: hash table, id < 0 = free
  uint32_t merges_mask;
  const int32_t *order;    // by score: [n_order] order of a token's score, 0 = best, equal scores share one
  int32_t n_order;
  int32_t unk;             // -1 when none
  bool fuse_unk, byte_fallback, ignore_merges;
  int32_t byte_ids[256];   // of <0x00>…<0xFF>, -1 when absent
  int32_t char_ids[512];   // of single characters below U+0200, -1 when absent
  cel_str prefix, suffix;  // continuing_subword_prefix, end_of_word_suffix
  bool cuts;               // a piece may be cut before U+2581: see next_cut()
  uint8_t before_space[8192];  // bit (code point mod 2^16): some token has this character before U+2581
} cel_bpe;

typedef struct cel_bpe_symbol {
  int32_t id, prev, next;  // neighbours, -1 at the ends
  uint32_t at, n;          // bytes of the piece; n = 0: joined into its left neighbour
} cel_bpe_symbol;
typedef struct cel_bpe_join {
  uint64_t key;            // rank << 32 | symbol: what comes first
  int32_t id;              // of the result
  uint32_t n;              // bytes of the result
} cel_bpe_join;

typedef struct cel_bpe_scratch {  // zero-initialize
  cel_bpe_symbol *symbols;
  size_t n_symbols, cap_symbols;
  cel_bpe_join *heap;
  size_t n_heap, cap_heap;
  uint64_t *hashes, *powers;  // by score: hash of the first i bytes, powers of the base
  size_t cap_hashes;
  cel_buf text;               // a character with its prefix or suffix
  struct cel_bpe_cache *cache;
} cel_bpe_scratch;
void cel_bpe_scratch_deinit(cel_bpe_scratch *s);

// Fills what follows from the vocabulary: byte_ids, char_ids, cuts. Call when vocab, prefix, suffix and
// ignore_merges are there.
void cel_bpe_index(cel_bpe *b);
// Room for n merges; then cel_bpe_add_merge, in order of rank. A pair that is there already: `replace` says
// which rank counts.
CEL_MUST_CHECK bool cel_bpe_merges_init(cel_bpe *b, cel_arena *arena, int64_t n);
void cel_bpe_add_merge(cel_bpe *b, int32_t left, int32_t right, int32_t rank, int32_t id, bool replace);
// From the scores of the tokens, [n] by id.
CEL_MUST_CHECK bool cel_bpe_set_scores(cel_bpe *b, cel_arena *arena, const float *scores, int32_t n);

// Remembers the pieces seen in this scratch; worth it for longer texts. Failing to get memory is no error.
void cel_bpe_cache_on(cel_bpe_scratch *s);
// Appends the ids of one piece (valid UTF-8, under 2^28 bytes).
CEL_MUST_CHECK cel_status cel_bpe_encode(const cel_bpe *b, cel_bpe_scratch *s, cel_str piece, cel_ids *out,
                                         cel_err *err);

#endif
