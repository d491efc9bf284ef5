// The unigram model of SentencePiece: of all ways to cut a piece into tokens, the one whose scores add up to
// most (Viterbi; Kudo 2018). A character that begins no token of its own length counts as unknown, at the lowest
// score less ten.
// Time: characters of the piece times the lengths that tokens with the same start have; no recursion.
// Threads: a cel_unigram is read-only; a scratch belongs to one call chain.
#ifndef CEL_TEXT_UNIGRAM_H
#define CEL_TEXT_UNIGRAM_H

#include "base/status.h"
#include "text/spans.h"
#include "text/vocab.h"

enum { CEL_UNIGRAM_STARTS = 1 << 14 };
// Bytes of the longest token: one that fits at every character of a text is compared at each.
enum { CEL_UNIGRAM_LONGEST = 4096 };

typedef struct cel_unigram {
  const cel_vocab *vocab;
  const uint8_t *barred;  // see cel_vocab_bars()
  const double *scores;   // [n_scores] by id; NaN: the token is never chosen
  int32_t n_scores;
  int32_t unk;  // -1 when none: an unknown character is an error then
  double unk_score;
  bool byte_fallback;
  int32_t byte_ids[256];  // of <0x00>…<0xFF>, -1 when absent
  cel_vocab_lengths lengths;
  int32_t n_short;           // how many of the lengths are under 4 bytes
  const int32_t *n_lengths;  // [CEL_UNIGRAM_STARTS] by the first 4 bytes: how many lengths are worth trying
} cel_unigram;

typedef struct cel_unigram_best {  // the best way to cut the text up to here
  double score;
  int32_t id;
  uint32_t start;  // where its last token begins; UINT32_MAX: there is none
} cel_unigram_best;

typedef struct cel_unigram_scratch {  // zero-initialize
  cel_vocab_parts parts;
  cel_unigram_best *best;
  size_t cap;
  cel_ids back;  // where the tokens of the best way begin, last one first
} cel_unigram_scratch;
void cel_unigram_scratch_deinit(cel_unigram_scratch *s);

// From vocab, scores, unk and byte_fallback: everything else.
CEL_MUST_CHECK bool cel_unigram_index(cel_unigram *u, cel_arena *arena);
// Appends the ids of one piece (valid UTF-8, under 2^28 bytes).
CEL_MUST_CHECK cel_status cel_unigram_encode(const cel_unigram *u, cel_unigram_scratch *s, cel_str piece, cel_ids *out,
                                             cel_err *err);

#endif
