// GGUF vocabularies that are not joined from pairs: "bert" (WordPiece), "t5" (Unigram), "rwkv" (longest token first).
#include <math.h>

#include "text/gguf_loader.h"

// An id of the file, else the one that the format takes for granted, when there are so many tokens.
static int32_t id_or(const cel_gguf_loader *l, int32_t id, int32_t usual) {
  if (id >= 0) return id;
  return usual < l->v->n_tokens ? usual : -1;
}

// Tokens that begin a word are written with U+2581 before them, others as they are.
cel_status cel_gguf_read_bert(cel_gguf_loader *l, cel_err *err) {
  enum { CLS = 101, SEP = 102, UNKNOWN = 100, LONGEST_WORD = 100 };  // as in bert-base-uncased
  cel_tokenizer *t = l->t;
  const cel_gguf_vocab *v = l->v;
  bool lowercase = v->lowercase != 0, strip = v->strip_accents >= 0 ? v->strip_accents == 1 : lowercase;
  t->model.kind = CEL_MODEL_WORDPIECE;
  t->model.words =
      (cel_wordpiece){.unk = id_or(l, v->unk, UNKNOWN), .first = CEL_STR(CEL_SPACE_MARK), .most_chars = LONGEST_WORD};
  l->bos = id_or(l, v->cls >= 0 ? v->cls : v->bos, CLS);
  l->end = id_or(l, v->sep, SEP);
  l->add_bos = l->add_end = l->fixed = true;
  CEL_TRY(cel_norm_bert(&l->b, &t->norms, lowercase, strip, err));
  CEL_TRY(cel_pre_bert(&l->b, &t->pres, err));
  return cel_decode_add(
      &l->b, &t->decoder,
      &(cel_decode_step){.kind = CEL_DECODE_WORDPIECE, .with = CEL_STR(CEL_SPACE_MARK), .cleanup = true}, err);
}

static cel_status read_scores(cel_gguf_loader *l, cel_err *err) {
  cel_unigram *u = &l->t->model.unigram;
  const cel_gguf_vocab *v = l->v;
  if (!v->scores) {
    return cel_fail(err, CEL_MALFORMED, "%s: tokenizer.ggml.scores is missing, and a model \"t5\" needs it", l->b.name);
  }
  if (l->t->model.vocab.longest > CEL_UNIGRAM_LONGEST) {
    return cel_fail(err, CEL_UNSUPPORTED, "%s: tokenizer.ggml.tokens has one of %zu bytes, at most %d are supported",
                    l->b.name, l->t->model.vocab.longest, CEL_UNIGRAM_LONGEST);
  }
  double *scores = CEL_NEW_ARRAY(&l->t->arena, double, v->n_tokens);
  if (!scores) return cel_fail_oom(err, l->b.name);
  for (int64_t i = 0; i < v->n_tokens; i++) {
    int type = cel_gguf_type_of(v, i);
    bool chosen = type == CEL_GGUF_TOKEN_NORMAL || type == CEL_GGUF_TOKEN_USER_DEFINED || type == CEL_GGUF_TOKEN_UNUSED;
    scores[i] = chosen ? (double)v->scores[i] : (double)NAN;
    if (type == CEL_GGUF_TOKEN_BYTE) u->byte_fallback = true;
  }
  u->scores = scores;
  u->n_scores = (int32_t)v->n_tokens;
  return CEL_OK;
}

cel_status cel_gguf_read_t5(cel_gguf_loader *l, cel_err *err) {
  enum { UNKNOWN = 2, END = 1 };
  cel_tokenizer *t = l->t;
  const cel_gguf_vocab *v = l->v;
  bool merge = v->merge_spaces == 1, prefix = v->add_space_prefix == 1 || merge;
  t->model.kind = CEL_MODEL_UNIGRAM;
  t->model.unigram = (cel_unigram){.unk = id_or(l, v->unk, UNKNOWN)};
  CEL_TRY(read_scores(l, err));
  l->end = id_or(l, v->eos, END);
  l->add_end = true;
  if (v->charsmap.n) CEL_TRY(cel_norm_charsmap(&l->b, &t->norms, v->charsmap, err));
  if (merge) CEL_TRY(cel_norm_merge_spaces(&l->b, &t->norms, err));
  if (prefix) CEL_TRY(cel_norm_prepend(&l->b, &t->norms, CEL_STR(CEL_SPACE_MARK), err));
  CEL_TRY(cel_norm_replace_spaces(&l->b, &t->norms, CEL_STR(CEL_SPACE_MARK), err));
  return cel_gguf_plain_decoder(l, prefix, err);
}

cel_status cel_gguf_read_rwkv(cel_gguf_loader *l, cel_err *err) {
  (void)err;
  l->t->model.kind = CEL_MODEL_WORDPIECE;
  l->t->model.words = (cel_wordpiece){.unk = l->v->unk, .any_bytes = true};
  return CEL_OK;
}

static int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 32;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

size_t cel_gguf_unescape(cel_str text, char *out) {
  size_t n = 0;
  for (size_t i = 0; i < text.n; i++) {
    char c = text.p[i];
    if (c != '\\' || i + 1 == text.n) {
      out[n++] = c;
      continue;
    }
    c = text.p[++i];
    int high = c == 'x' && i + 2 < text.n ? hex(text.p[i + 1]) : -1, low = high < 0 ? -1 : hex(text.p[i + 2]);
    if (low >= 0) {
      out[n++] = (char)(high << 4 | low);
      i += 2;
    } else {
      out[n++] = c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c;
    }
  }
  return n;
}
