#include "text/wordpiece.h"

void cel_wordpiece_scratch_deinit(cel_wordpiece_scratch *s) { cel_vocab_parts_deinit(&s->parts); }

// The tokens that begin with `head` but not with `other`, by what comes behind the head.
static bool index_behind(const cel_wordpiece *w, cel_arena *arena, cel_str head, cel_str other, cel_vocab *out,
                         cel_vocab_lengths *lengths) {
  if (head.n == 0 && other.n == 0) {
    *out = *w->vocab;
  } else {
    if (!cel_vocab_init(out, arena, w->vocab->n, w->vocab->base)) return false;
    for (int32_t e = 0; e < w->vocab->n; e++) {
      cel_str text = cel_vocab_text(w->vocab, e);
      if (!cel_str_starts(text, head) || (other.n && cel_str_starts(text, other))) continue;
      cel_vocab_put(out, (cel_str){text.p + head.n, text.n - head.n}, w->vocab->entries[e].id);
    }
  }
  return cel_vocab_lengths_of(out, arena, lengths);
}

bool cel_wordpiece_index(cel_wordpiece *w, cel_arena *arena) {
  return w->whole || (index_behind(w, arena, w->first, CEL_STR(""), &w->heads, &w->head_lengths) &&
                      index_behind(w, arena, w->prefix, w->first, &w->tails, &w->tail_lengths));
}

static cel_status put_unknown(const cel_wordpiece *w, cel_str piece, cel_ids *out, cel_err *err) {
  if (w->unk < 0) {
    return cel_fail(err, CEL_UNSUPPORTED, "the tokenizer has no token for \"%.*s\", and no unknown token",
                    CEL_STR_ARG(piece));
  }
  cel_ids_add(out, w->unk);
  return CEL_OK;
}

static int64_t count_chars(cel_str s) {
  int64_t n = 0;
  for (size_t i = 0; i < s.n; i++) n += ((unsigned char)s.p[i] & 0xC0) != 0x80;
  return n;
}

// The longest token at `at`: its bytes, 0 when there is none.
static size_t longest(const cel_wordpiece *w, const cel_wordpiece_scratch *s, cel_str piece, size_t at, int32_t *id) {
  const cel_vocab *v = at ? &w->tails : &w->heads;
  const cel_vocab_lengths *l = at ? &w->tail_lengths : &w->head_lengths;
  for (int32_t k = l->n; k-- > 0;) {
    size_t size = l->p[k];
    if (size > piece.n - at) continue;
    *id = cel_vocab_get_hashed(v, cel_vocab_part_hash(&s->parts, at, size), (cel_str){piece.p + at, size});
    if (*id >= 0 && !cel_vocab_bars(w->barred, *id)) return size;
  }
  return 0;
}

static cel_status encode_word(const cel_wordpiece *w, cel_str piece, cel_ids *out, cel_err *err) {
  int32_t id = cel_vocab_get(w->vocab, piece);
  if (id < 0 || cel_vocab_bars(w->barred, id)) return put_unknown(w, piece, out, err);
  cel_ids_add(out, id);
  return CEL_OK;
}

cel_status cel_wordpiece_encode(const cel_wordpiece *w, cel_wordpiece_scratch *s, cel_str piece, cel_ids *out,
                                cel_err *err) {
  if (w->whole) return encode_word(w, piece, out, err);
  if (!w->any_bytes && count_chars(piece) > w->most_chars) return put_unknown(w, piece, out, err);
  if (!cel_vocab_parts_of(&s->parts, piece)) return cel_fail_oom(err, "encoding a text");
  size_t before = out->n;
  for (size_t at = 0, size; at < piece.n; at += size) {
    int32_t id;
    size = longest(w, s, piece, at, &id);
    if (size) {
      cel_ids_add(out, id);
    } else if (w->any_bytes) {
      size = 1;
      CEL_TRY(put_unknown(w, (cel_str){piece.p + at, 1}, out, err));
    } else {
      out->n = before;
      return put_unknown(w, piece, out, err);
    }
  }
  return CEL_OK;
}
