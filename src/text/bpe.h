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
  uint64_t pair;   // (left id << 32 | right id) + 1; 0 = free
  int32_t rank, id;
} cel_bpe_merge;

typedef struct cel_bpe {
  const cel_vocab *vocab;
  const uint8_t *barred;   // see cel_vocab_bars()
  cel_bpe_merge *merges;   // by rank: hash table
  uint32_t merges_mask;
  int merges_shift;        // a slot is what is left of a pair's hash behind it
  uint64_t merges_key;     // odd, this table's alone: no file can choose pairs that meet
  const int32_t *order;    // by score: [n_order] order of a token's score, 0 = best, equal scores share one
  int32_t n_order;
  int32_t unk;             // -1 when none
  bool fuse_unk, byte_fallback, ignore_merges;
  int32_t byte_ids[256];   // of <0x00>…<0xFF>, -1 when absent
  int32_t char_ids[512];   // of single characters below U+0200, -1 when absent
  cel_str prefix, suffix;  // continuing_subword_prefix, end_of_word_suffix
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
  cel_vocab_parts parts;  // by score
  cel_buf text;           // a character with its prefix or suffix
} cel_bpe_scratch;
void cel_bpe_scratch_deinit(cel_bpe_scratch *s);

// Fills what follows from the vocabulary: byte_ids, char_ids.
void cel_bpe_index(cel_bpe *b);
// The token of a single character, whose code point is cp; -1 when there is none.
static inline int32_t cel_bpe_char(const cel_bpe *b, uint32_t cp, cel_str text) {
  return cp < (uint32_t)CEL_COUNT(b->char_ids) ? b->char_ids[cp] : cel_vocab_get(b->vocab, text);
}
// Room for n merges; then cel_bpe_add_merge or cel_bpe_batch_add, in order of rank. A pair that is there already: `replace`
// says which rank counts.
CEL_MUST_CHECK bool cel_bpe_merges_init(cel_bpe *b, cel_arena *arena, int64_t n);
void cel_bpe_add_merge(cel_bpe *b, int32_t left, int32_t right, int32_t rank, int32_t id, bool replace);
// Merges as files list them, some at a time: the caller fills left and right, and gets the ids (-1: no such token).
// `skip` bytes of the right side are not part of the result.
typedef struct cel_bpe_batch {
  cel_str left[CEL_VOCAB_BATCH], right[CEL_VOCAB_BATCH];
  int32_t left_id[CEL_VOCAB_BATCH], right_id[CEL_VOCAB_BATCH], id[CEL_VOCAB_BATCH];
  int n;
  int32_t guess;
} cel_bpe_batch;
void cel_bpe_batch_find(cel_bpe_batch *batch, const cel_vocab *vocab, size_t skip);
// Adds those that have all three ids; ranks count from `rank`.
void cel_bpe_batch_add(cel_bpe *b, const cel_bpe_batch *batch, int32_t rank, bool replace);
// From the scores of the tokens, [n] by id.
CEL_MUST_CHECK bool cel_bpe_set_scores(cel_bpe *b, cel_arena *arena, const float *scores, int32_t n);

// Appends the ids of one piece (valid UTF-8, under 2^28 bytes).
CEL_MUST_CHECK cel_status cel_bpe_encode(const cel_bpe *b, cel_bpe_scratch *s, cel_str piece, cel_ids *out,
                                         cel_err *err);

#endif
