#include "text/model.h"

#include "text/unicode.h"

static const char space_mark[] = "\xE2\x96\x81";  // U+2581
enum { SPACE_MARK = 3 };                          // its bytes

void cel_model_scratch_deinit(cel_model_scratch *s) {
  cel_bpe_scratch_deinit(&s->bpe);
  cel_unigram_scratch_deinit(&s->unigram);
  cel_wordpiece_scratch_deinit(&s->words);
  cel_piece_cache_free(s->cache);
  *s = (cel_model_scratch){0};
}

void cel_model_cache_on(cel_model_scratch *s) {
  if (!s->cache) s->cache = cel_piece_cache_new();
}

// --- cuts ---------------------------------------------------------------------------------------------

static bool is_mark(cel_str s, size_t i) {
  return i + SPACE_MARK <= s.n && memcmp(s.p + i, space_mark, SPACE_MARK) == 0;
}

static void mark_places(cel_model *m, cel_str s) {
  const char *hit;
  for (size_t i = 1; i + SPACE_MARK <= s.n && (hit = memchr(s.p + i, space_mark[0], s.n - i)); i++) {
    i = (size_t)(hit - s.p);
    if (!is_mark(s, i)) continue;
    size_t at = cel_char_before(s.p, i);
    if (!cel_utf8_valid(s.p + at, i - at)) continue;  // no text has it
    uint32_t cp = cel_char_next(s.p, &at) & 0xFFFF;
    m->before_space[cp / 8] |= (uint8_t)(1 << cp % 8);
  }
}

static void index_cuts(cel_model *m) {
  const cel_bpe *b = &m->bpe;
  m->cuts = cel_vocab_get(&m->vocab, cel_str_of(space_mark)) >= 0;
  if (m->kind == CEL_MODEL_WORDPIECE) m->cuts = false;
  if (m->kind == CEL_MODEL_BPE && (b->ignore_merges || b->prefix.n || b->suffix.n)) m->cuts = false;
  for (int32_t e = 0; m->cuts && e < m->vocab.n; e++) {
    cel_str s = cel_vocab_text(&m->vocab, e);
    if (s.n > SPACE_MARK) mark_places(m, s);
  }
}

// The next place behind `from` where the piece may be cut: before a U+2581 when no token has the two characters
// around it. In a byte-pair model the character before must be a token as well: else the unknown token or bytes
// stand there, whose joins are other ones.
static size_t next_cut(const cel_model *m, cel_str piece, size_t from) {
  const char *hit;
  for (size_t i = from + 1; i < piece.n && (hit = memchr(piece.p + i, space_mark[0], piece.n - i)); i++) {
    i = (size_t)(hit - piece.p);
    if (!is_mark(piece, i)) continue;
    size_t at = cel_char_before(piece.p, i), k = at;
    uint32_t cp = cel_char_next(piece.p, &k);
    if (cp == 0x2581 || m->before_space[(cp & 0xFFFF) / 8] >> cp % 8 & 1) continue;
    if (m->kind != CEL_MODEL_BPE || cel_bpe_char(&m->bpe, cp, (cel_str){piece.p + at, i - at}) >= 0) return i;
  }
  return piece.n;
}

// --- encoding -----------------------------------------------------------------------------------------

bool cel_model_index(cel_model *m, cel_arena *arena) {
  m->bpe.vocab = m->unigram.vocab = m->words.vocab = &m->vocab;
  m->bpe.barred = m->unigram.barred = m->words.barred = m->barred;
  index_cuts(m);
  switch (m->kind) {
    case CEL_MODEL_BPE: cel_bpe_index(&m->bpe); return true;
    case CEL_MODEL_UNIGRAM: return cel_unigram_index(&m->unigram, arena);
    case CEL_MODEL_WORDPIECE: return cel_wordpiece_index(&m->words, arena);
  }
  return false;
}

static cel_status encode(const cel_model *m, cel_model_scratch *s, cel_str piece, cel_ids *out, cel_err *err) {
  switch (m->kind) {
    case CEL_MODEL_BPE: return cel_bpe_encode(&m->bpe, &s->bpe, piece, out, err);
    case CEL_MODEL_UNIGRAM: return cel_unigram_encode(&m->unigram, &s->unigram, piece, out, err);
    case CEL_MODEL_WORDPIECE: return cel_wordpiece_encode(&m->words, &s->words, piece, out, err);
  }
  return CEL_OK;
}

static cel_status encode_word(const cel_model *m, cel_model_scratch *s, cel_str piece, cel_ids *out, cel_err *err) {
  if (!s->cache || piece.n > CEL_PIECE_CACHE_LONGEST) return encode(m, s, piece, out, err);
  cel_piece_place place;
  if (cel_piece_cache_get(s->cache, piece, &place, out)) return CEL_OK;
  size_t before = out->n;
  CEL_TRY(encode(m, s, piece, out, err));
  if (!out->failed && out->p) cel_piece_cache_put(s->cache, place, piece, out->p + before, out->n - before);
  return CEL_OK;
}

cel_status cel_model_encode(const cel_model *m, cel_model_scratch *s, cel_str piece, cel_ids *out, cel_err *err) {
  for (size_t from = 0, to; from < piece.n; from = to) {
    to = m->cuts ? next_cut(m, piece, from) : piece.n;
    CEL_TRY(encode_word(m, s, (cel_str){piece.p + from, to - from}, out, err));
  }
  return out->failed ? cel_fail_oom(err, "encoding a text") : CEL_OK;
}
