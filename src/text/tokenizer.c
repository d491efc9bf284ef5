// A tokenizer's life, its questions, and cel_encode().
#include <stdlib.h>

#include "base/checked.h"
#include "text/tokenizer_impl.h"

cel_status cel_tokenizer_new(cel_tokenizer **out, cel_err *err) {
  cel_tokenizer *t = calloc(1, sizeof *t);
  *out = t;
  if (!t) return cel_fail_oom(err, "a tokenizer");
  cel_arena_init(&t->arena);
  t->bos = t->model.bpe.unk = t->model.unigram.unk = t->model.words.unk = -1;
  return CEL_OK;
}

void cel_tokenizer_free(cel_tokenizer *t) {
  if (!t) return;
  for (cel_regex_list *r = t->regexes; r; r = r->next) cel_regex_free(r->re);
  cel_arena_deinit(&t->arena);
  free(t);
}

cel_status cel_tokenizer_reserve(cel_tokenizer *t, int64_t size, cel_err *err) {
  t->tokens = CEL_NEW_ARRAY(&t->arena, cel_token, size);
  if (!t->tokens) return cel_fail_oom(err, "a tokenizer's vocabulary");
  t->size = size;
  return CEL_OK;
}

void cel_tokenizer_add_end(cel_tokenizer *t, int32_t id) {
  if (id < 0 || id >= t->size || t->n_ends == CEL_END_IDS_MOST) return;
  for (int i = 0; i < t->n_ends; i++) {
    if (t->ends[i] == id) return;
  }
  t->ends[t->n_ends++] = id;
}

cel_status cel_tokenizer_index(cel_tokenizer *t, cel_err *err) {
  t->model.barred = CEL_NEW_ARRAY(&t->arena, uint8_t, t->size / 8 + 1);
  if (!t->model.barred) return cel_fail_oom(err, "a tokenizer's vocabulary");
  for (int64_t id = 0; id < t->size; id++) {
    if (t->tokens[id].flags & CEL_TOKEN_SPECIAL) t->model.barred[id / 8] |= (uint8_t)(1 << id % 8);
  }
  return cel_model_index(&t->model, &t->arena) ? CEL_OK : cel_fail_oom(err, "a tokenizer's vocabulary");
}

static cel_status normalize_contents(cel_tokenizer *t, cel_err *err) {
  cel_regex_run regex = {0};
  cel_norm_run run = {.regex = &regex};
  cel_status s = CEL_OK;
  for (int32_t i = 0; s == CEL_OK && i < t->n_added; i++) {
    cel_added_token *a = &t->added_tokens[i];
    cel_str text;
    if (!a->normalized) continue;
    CEL_TRY_DONE(s, cel_norms_run(&t->norms, a->content, &run, &text, err));
    char *copy = cel_arena_dup(&t->arena, text.p, text.n);
    if (!copy) s = cel_fail_oom(err, "added tokens");
    a->content = (cel_str){copy, text.n};
    t->tokens[a->id].text = a->content;  // decoding gives the normalized form, as in the reference
  }
done:
  cel_norm_run_deinit(&run);
  cel_regex_run_deinit(&regex);
  return s;
}

cel_status cel_tokenizer_finish(cel_tokenizer *t, cel_err *err) {
  if (t->norms.n) CEL_TRY(normalize_contents(t, err));
  CEL_TRY(cel_added_build(&t->raw, &t->arena, t->added_tokens, t->n_added, false, err));
  CEL_TRY(cel_added_build(&t->normalized, &t->arena, t->added_tokens, t->n_added, true, err));
  return cel_tokens_fill_bytes(t, err);
}

int64_t cel_tokenizer_size(const cel_tokenizer *t) { return t->size; }
int32_t cel_tokenizer_bos(const cel_tokenizer *t) { return t->bos; }

static const cel_token *token_at(const cel_tokenizer *t, int32_t id) {
  return id >= 0 && id < t->size && (t->tokens[id].flags & CEL_TOKEN_KNOWN) ? &t->tokens[id] : NULL;
}

int32_t cel_tokenizer_find(const cel_tokenizer *t, cel_str token) {
  int32_t id = cel_vocab_get(&t->added_names, token);
  return id >= 0 ? id : cel_vocab_get(&t->model.vocab, token);
}

cel_str cel_tokenizer_bytes(const cel_tokenizer *t, int32_t id) {
  const cel_token *k = token_at(t, id);
  return k ? k->bytes : CEL_STR("");
}

bool cel_tokenizer_is_special(const cel_tokenizer *t, int32_t id) {
  const cel_token *k = token_at(t, id);
  return k && (k->flags & CEL_TOKEN_SPECIAL);
}

int cel_tokenizer_end_ids(const cel_tokenizer *t, int32_t *out, int most) {
  for (int i = 0; i < t->n_ends && i < most; i++) out[i] = t->ends[i];
  return t->n_ends;
}

// --- encode -------------------------------------------------------------------------------------------

typedef struct encoder {
  const cel_tokenizer *t;
  cel_encode_options how;
  cel_added_parts parts, inner;
  cel_buf valid;
  cel_norm_run normalizing;
  cel_pieces pieces;
  cel_model_scratch scratch;
  cel_regex_run regex;
  cel_ids ids;
} encoder;

static void encoder_deinit(encoder *e) {
  cel_added_parts_deinit(&e->parts);
  cel_added_parts_deinit(&e->inner);
  cel_buf_deinit(&e->valid);
  cel_norm_run_deinit(&e->normalizing);
  cel_pieces_deinit(&e->pieces);
  cel_model_scratch_deinit(&e->scratch);
  cel_regex_run_deinit(&e->regex);
  cel_ids_deinit(&e->ids);
}

// The text with U+FFFD in place of what is not UTF-8.
static cel_status make_valid(cel_str *text, cel_buf *out, cel_err *err) {
  if (cel_utf8_valid(text->p, text->n)) return CEL_OK;
  for (size_t i = 0; i < text->n;) {
    char c[4];
    cel_buf_add(out, c, (size_t)cel_utf8_put(c, cel_utf8_next(text->p, text->n, &i)));
  }
  *text = cel_buf_str(out);
  return out->failed ? cel_fail_oom(err, "encoding a text") : CEL_OK;
}

// A stretch of normalized text without added tokens.
static cel_status encode_stretch(encoder *e, cel_str text, bool at_start, cel_err *err) {
  cel_pieces *p = &e->pieces;
  cel_buf_clear(&p->text);
  cel_buf_adds(&p->text, text);
  if (p->text.failed) return cel_fail_oom(err, "encoding a text");
  p->regex = &e->regex;
  p->at_start = at_start;
  CEL_TRY(cel_pres_run(&e->t->pres, p, err));
  for (size_t i = 0; i < p->spans.n; i++) {
    cel_str piece = {p->text.p + p->spans.p[i].at, p->spans.p[i].n};
    CEL_TRY(cel_model_encode(&e->t->model, &e->scratch, piece, &e->ids, err));
  }
  return CEL_OK;
}

static cel_status encode_text(encoder *e, cel_str text, bool at_start, cel_err *err) {
  CEL_TRY(cel_norms_run(&e->t->norms, text, &e->normalizing, &text, err));
  at_start = at_start && !e->normalizing.moved;
  if (!e->t->normalized.nodes) return encode_stretch(e, text, at_start, err);
  CEL_TRY(cel_added_split(&e->t->normalized, text, e->how.parse_special, &e->inner, err));
  for (size_t i = 0; i < e->inner.n; i++) {
    cel_added_part part = e->inner.p[i];
    if (part.id >= 0) {
      cel_ids_add(&e->ids, part.id);
    } else {
      CEL_TRY(encode_stretch(e, (cel_str){text.p + part.at, part.n}, at_start && part.at == 0, err));
    }
  }
  return CEL_OK;
}

static cel_status encode_parts(encoder *e, cel_str text, cel_err *err) {
  CEL_TRY(cel_added_split(&e->t->raw, text, e->how.parse_special, &e->parts, err));
  for (size_t i = 0; i < e->parts.n; i++) {
    cel_added_part part = e->parts.p[i];
    if (part.id >= 0) {
      cel_ids_add(&e->ids, part.id);
    } else {
      CEL_TRY(encode_text(e, (cel_str){text.p + part.at, part.n}, part.at == 0, err));
    }
  }
  return e->ids.failed ? cel_fail_oom(err, "encoding a text") : CEL_OK;
}

static cel_status add_special(encoder *e, cel_err *err) {
  for (int i = 0; i < e->t->posts.n; i++) {
    const cel_post *post = &e->t->posts.step[i];
    cel_ids next = {0};
    for (int k = 0; k < post->n; k++) {
      if (post->ids[k] != CEL_POST_TEXT) {
        cel_ids_add(&next, post->ids[k]);
      } else if (e->ids.n && cel_ids_reserve(&next, e->ids.n)) {
        memcpy(next.p + next.n, e->ids.p, e->ids.n * sizeof *next.p);
        next.n += e->ids.n;
      }
    }
    cel_ids_deinit(&e->ids);
    e->ids = next;
    if (next.failed) return cel_fail_oom(err, "encoding a text");
  }
  return CEL_OK;
}

cel_status cel_encode(const cel_tokenizer *t, cel_str text, cel_encode_options how, int32_t **ids, int64_t *n,
                      cel_err *err) {
  enum { CACHE_FROM = 2048 };  // bytes from which remembering pieces pays
  *ids = NULL;
  *n = 0;
  if (text.n > CEL_TEXT_MOST) {
    return cel_fail(err, CEL_TOO_LONG, "a text of %zu bytes to encode, at most %d are supported", text.n,
                    CEL_TEXT_MOST);
  }
  encoder e = {.t = t, .how = how};
  e.normalizing.regex = &e.regex;
  cel_status s;
  if (text.n >= CACHE_FROM) cel_model_cache_on(&e.scratch);
  CEL_TRY_DONE(s, make_valid(&text, &e.valid, err));
  CEL_TRY_DONE(s, encode_parts(&e, text, err));
  if (how.add_special) CEL_TRY_DONE(s, add_special(&e, err));
  if (!cel_ids_reserve(&e.ids, 1)) CEL_TRY_DONE(s, cel_fail_oom(err, "encoding a text"));
  *ids = e.ids.p;
  *n = (int64_t)e.ids.n;
  e.ids = (cel_ids){0};
done:
  encoder_deinit(&e);
  return s;
}
