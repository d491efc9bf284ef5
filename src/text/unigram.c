#include "text/unigram.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "text/unicode.h"

#define UNKNOWN_PENALTY 10.0  // as in SentencePiece
enum { START = 4 };

void cel_unigram_scratch_deinit(cel_unigram_scratch *s) {
  cel_vocab_parts_deinit(&s->parts);
  free(s->best);
  cel_ids_deinit(&s->back);
  *s = (cel_unigram_scratch){0};
}

// The place in a table by the first START bytes.
static uint32_t start_of(const char *p) {
  uint32_t w = (uint32_t)(unsigned char)p[0] | (uint32_t)(unsigned char)p[1] << 8 |
               (uint32_t)(unsigned char)p[2] << 16 | (uint32_t)(unsigned char)p[3] << 24;
  w *= UINT32_C(0x9E3779B1);
  return w >> 18;  // CEL_UNIGRAM_STARTS values
}

// The number of the length n among the lengths.
static int32_t length_number(const cel_vocab_lengths *l, size_t n) {
  int32_t low = 0, high = l->n - 1;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (l->p[middle] < n)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

bool cel_unigram_index(cel_unigram *u, cel_arena *arena) {
  int32_t *counts = CEL_NEW_ARRAY(arena, int32_t, CEL_UNIGRAM_STARTS);
  if (!counts || !cel_vocab_lengths_of(u->vocab, arena, &u->lengths)) return false;
  u->n_short = 0;
  while (u->n_short < u->lengths.n && u->lengths.p[u->n_short] < START) u->n_short++;
  for (int i = 0; i < CEL_UNIGRAM_STARTS; i++) counts[i] = u->n_short;
  double lowest = INFINITY;
  for (int32_t i = 0; i < u->n_scores; i++) lowest = u->scores[i] < lowest ? u->scores[i] : lowest;
  u->unk_score = lowest - UNKNOWN_PENALTY;
  for (int32_t e = 0; e < u->vocab->n; e++) {
    cel_str text = cel_vocab_text(u->vocab, e);
    if (text.n < START) continue;
    int32_t *count = &counts[start_of(text.p)];
    *count = CEL_MAX(*count, length_number(&u->lengths, text.n) + 1);
  }
  u->n_lengths = counts;
  for (int i = 0; i < 256; i++) {
    char name[8];
    snprintf(name, sizeof name, "<0x%02X>", (unsigned)i);
    u->byte_ids[i] = cel_vocab_get(u->vocab, cel_str_of(name));
  }
  return true;
}

static bool prepare(cel_unigram_scratch *s, cel_str piece) {
  if (s->cap < piece.n + 1) {
    size_t cap = CEL_MAX(s->cap * 2, piece.n + 64);
    void *p = realloc(s->best, cap * sizeof *s->best);
    if (!p) return false;
    s->best = p;
    s->cap = cap;
  }
  for (size_t i = 1; i <= piece.n; i++) s->best[i].start = UINT32_MAX;
  s->best[0] = (cel_unigram_best){0};
  return cel_vocab_parts_of(&s->parts, piece);
}

static void offer(cel_unigram_best *at, double score, int32_t id, size_t start) {
  if (at->start == UINT32_MAX || score > at->score) *at = (cel_unigram_best){score, id, (uint32_t)start};
}

// Offers every token that begins at `start`; says whether one of them has just the `one` bytes of the character.
static bool offer_tokens(const cel_unigram *u, cel_unigram_scratch *s, cel_str piece, size_t start, size_t one) {
  bool single = false;
  size_t left = piece.n - start;
  double score = s->best[start].score;
  int32_t n = left >= START ? u->n_lengths[start_of(piece.p + start)] : u->n_short;
  for (int32_t k = 0; k < n && u->lengths.p[k] <= left; k++) {
    size_t size = u->lengths.p[k];
    if (size < left && ((unsigned char)piece.p[start + size] & 0xC0) == 0x80) continue;  // inside a character
    int32_t id =
        cel_vocab_get_hashed(u->vocab, cel_vocab_part_hash(&s->parts, start, size), (cel_str){piece.p + start, size});
    if (id < 0 || id >= u->n_scores || isnan(u->scores[id]) || cel_vocab_bars(u->barred, id)) continue;
    offer(&s->best[start + size], score + u->scores[id], id, start);
    single = single || size == one;
  }
  return single;
}

// Bytes [at, at + n) that no token covers: a token all the same when they are its text (the model only asks for
// single characters), else their bytes, else the unknown token.
static void put_unknown(const cel_unigram *u, cel_str text, cel_ids *out) {
  int32_t id = cel_vocab_get(u->vocab, text);
  if (id >= 0 && (id == u->unk || !cel_vocab_bars(u->barred, id))) {
    cel_ids_add(out, id);
    return;
  }
  bool all = u->byte_fallback;
  for (size_t i = 0; all && i < text.n; i++) all = u->byte_ids[(unsigned char)text.p[i]] >= 0;
  if (!all) cel_ids_add(out, u->unk);
  for (size_t i = 0; all && i < text.n; i++) cel_ids_add(out, u->byte_ids[(unsigned char)text.p[i]]);
}

// The tokens of the best way, first to last. Unknown ones that follow each other are one.
static void put_best(const cel_unigram *u, cel_unigram_scratch *s, cel_str piece, cel_ids *out) {
  s->back.n = 0;
  for (size_t end = piece.n; end > 0; end = s->best[end].start) cel_ids_add(&s->back, (int32_t)end);
  size_t at = 0, unknown = SIZE_MAX;  // where a run of unknown ones began
  for (size_t i = s->back.n; i-- > 0;) {
    size_t end = (size_t)s->back.p[i];
    int32_t id = s->best[end].id;
    if (id == u->unk) {
      if (unknown == SIZE_MAX) unknown = at;
    } else {
      if (unknown != SIZE_MAX) put_unknown(u, (cel_str){piece.p + unknown, at - unknown}, out);
      unknown = SIZE_MAX;
      cel_ids_add(out, id);
    }
    at = end;
  }
  if (unknown != SIZE_MAX) put_unknown(u, (cel_str){piece.p + unknown, at - unknown}, out);
}

cel_status cel_unigram_encode(const cel_unigram *u, cel_unigram_scratch *s, cel_str piece, cel_ids *out, cel_err *err) {
  if (!prepare(s, piece)) return cel_fail_oom(err, "encoding a text");
  for (size_t start = 0, next; start < piece.n; start = next) {
    next = start;
    uint32_t cp = cel_char_next(piece.p, &next);
    if (offer_tokens(u, s, piece, start, next - start)) continue;
    if (u->unk < 0) {
      return cel_fail(err, CEL_UNSUPPORTED, "the tokenizer has no token for U+%04X, and no unknown token",
                      (unsigned)cp);
    }
    offer(&s->best[next], s->best[start].score + u->unk_score, u->unk, start);
  }
  put_best(u, s, piece, out);
  return s->back.failed || out->failed ? cel_fail_oom(err, "encoding a text") : CEL_OK;
}
