// The vocabulary of a GGUF file, turned into the same lists of steps that a tokenizer.json has: byte-level BPE and
// joins by score here, the other models in gguf_models.c.
#include <stdlib.h>

#include "text/gguf_loader.h"
#include "text/gguf_pre.h"

static cel_status read_tokens(cel_gguf_loader *l, cel_err *err) {
  cel_tokenizer *t = l->t;
  const cel_gguf_vocab *v = l->v;
  bool escaped = cel_str_is(v->model, "rwkv");
  size_t bytes = 1;
  if (v->n_tokens < 1 || v->n_tokens > CEL_VOCAB_MOST || !v->tokens) {
    return cel_fail(err, CEL_MALFORMED, "%s: tokenizer.ggml.tokens has %lld entries, 1 to %d is right", l->b.name,
                    (long long)v->n_tokens, CEL_VOCAB_MOST);
  }
  for (int64_t i = 0; i < v->n_tokens; i++) bytes += v->tokens[i].n;
  if (bytes > UINT32_MAX)
    return cel_fail(err, CEL_UNSUPPORTED, "%s: tokens of %zu bytes in all, under 4 GiB are supported", l->b.name,
                    bytes);
  CEL_TRY(cel_tokenizer_reserve(t, v->n_tokens, err));
  char *text = cel_arena_alloc(&t->arena, bytes);
  if (!text || !cel_vocab_init(&t->model.vocab, &t->arena, v->n_tokens, text)) return cel_fail_oom(err, l->b.name);
  cel_str batch[CEL_VOCAB_BATCH];
  int32_t ids[CEL_VOCAB_BATCH];
  int n = 0;
  for (int64_t i = 0; i < v->n_tokens; i++) {
    cel_str token = {text, v->tokens[i].n};
    int type = cel_gguf_type_of(v, i);
    if (escaped) token.n = cel_gguf_unescape(v->tokens[i], text);
    else if (token.n) memcpy(text, v->tokens[i].p, token.n);
    text += token.n;
    t->tokens[i] = (cel_token){.text = token, .flags = CEL_TOKEN_KNOWN};
    if (type == CEL_GGUF_TOKEN_CONTROL || type == CEL_GGUF_TOKEN_UNKNOWN) t->tokens[i].flags |= CEL_TOKEN_SPECIAL;
    batch[n] = token;
    ids[n++] = (int32_t)i;
    if (n < CEL_VOCAB_BATCH && i + 1 < v->n_tokens) continue;
    cel_vocab_put_batch(&t->model.vocab, batch, ids, n, false);
    n = 0;
  }
  return cel_vocab_check(&t->model.vocab, l->b.name, err);
}

// Control, unknown and user-defined tokens are cut out of a text first.
static cel_status read_added(cel_gguf_loader *l, cel_err *err) {
  cel_tokenizer *t = l->t;
  int64_t n = 0;
  for (int64_t i = 0; i < t->size; i++) {
    int type = cel_gguf_type_of(l->v, i);
    n += type == CEL_GGUF_TOKEN_CONTROL || type == CEL_GGUF_TOKEN_UNKNOWN || type == CEL_GGUF_TOKEN_USER_DEFINED;
  }
  t->added_tokens = CEL_NEW_ARRAY(&t->arena, cel_added_token, n);
  if (!t->added_tokens) return cel_fail_oom(err, l->b.name);
  for (int64_t i = 0; i < t->size; i++) {
    int type = cel_gguf_type_of(l->v, i);
    if (type != CEL_GGUF_TOKEN_CONTROL && type != CEL_GGUF_TOKEN_UNKNOWN && type != CEL_GGUF_TOKEN_USER_DEFINED) continue;
    if (!t->tokens[i].text.n || !cel_utf8_valid(t->tokens[i].text.p, t->tokens[i].text.n)) continue;
    t->added_tokens[t->n_added++] =
        (cel_added_token){.content = t->tokens[i].text, .id = (int32_t)i, .special = type != CEL_GGUF_TOKEN_USER_DEFINED};
  }
  return CEL_OK;
}

static cel_status merge_parts(const cel_gguf_loader *l, int64_t i, cel_str *left, cel_str *right, cel_err *err) {
  cel_str row = l->v->merges[i];  // a token may begin with a space: the separator is the first one behind that
  const char *space = row.n > 1 ? memchr(row.p + 1, ' ', row.n - 1) : NULL;
  if (!space) {
    return cel_fail(err, CEL_MALFORMED, "%s: tokenizer.ggml.merges[%lld] is \"%.*s\", \"left right\" is right",
                    l->b.name, (long long)i, CEL_STR_ARG(row));
  }
  size_t at = (size_t)(space - row.p);
  *left = (cel_str){row.p, at};
  *right = (cel_str){space + 1, row.n - at - 1};
  return CEL_OK;
}

// A merge names two tokens and the token they make. One that does not can not be used, and is left out.
static cel_status read_merges(cel_gguf_loader *l, cel_err *err) {
  cel_bpe *m = &l->t->model.bpe;
  const cel_gguf_vocab *v = l->v;
  if (v->n_merges < 0 || (v->n_merges > 0 && !v->merges) || !cel_bpe_merges_init(m, &l->t->arena, v->n_merges)) {
    return cel_fail(err, CEL_MALFORMED, "%s: tokenizer.ggml.merges: %lld entries can not be read", l->b.name,
                    (long long)v->n_merges);
  }
  cel_bpe_batch batch = {.guess = 0};
  for (int64_t i = 0; i < v->n_merges; i += batch.n) {
    batch.n = (int)CEL_MIN(v->n_merges - i, (int64_t)CEL_VOCAB_BATCH);
    for (int k = 0; k < batch.n; k++) CEL_TRY(merge_parts(l, i + k, &batch.left[k], &batch.right[k], err));
    cel_bpe_batch_find(&batch, &l->t->model.vocab, 0);
    cel_bpe_batch_add(m, &batch, (int32_t)i, false);
  }
  return CEL_OK;
}

cel_status cel_gguf_plain_decoder(cel_gguf_loader *l, bool strip, cel_err *err) {
  cel_decode_steps *d = &l->t->decoder;
  cel_decode_step replace = {.kind = CEL_DECODE_REPLACE, .with = CEL_STR(" ")};
  CEL_TRY(cel_pattern_literal(&l->b, CEL_STR(CEL_SPACE_MARK), l->b.name, &replace.find, err));
  CEL_TRY(cel_decode_add(&l->b, d, &replace, err));
  CEL_TRY(cel_decode_add(&l->b, d, &(cel_decode_step){.kind = CEL_DECODE_BYTE_FALLBACK}, err));
  CEL_TRY(cel_decode_add(&l->b, d, &(cel_decode_step){.kind = CEL_DECODE_FUSE}, err));
  if (!strip) return CEL_OK;
  return cel_decode_add(&l->b, d, &(cel_decode_step){.kind = CEL_DECODE_STRIP, .with = CEL_STR(" "), .start = 1}, err);
}

// As tiktoken has it: the rank of a join is the id of its token. For vocabularies that come without merges.
static cel_status join_by_id(cel_gguf_loader *l, cel_err *err) {
  enum { EXACT = 1 << 24 };  // integers that a float holds
  int64_t n = l->t->size;
  float *scores = n <= EXACT ? malloc((size_t)n * sizeof *scores) : NULL;
  if (!scores) return cel_fail_oom(err, l->b.name);
  for (int64_t i = 0; i < n; i++) scores[i] = -(float)i;
  bool ok = cel_bpe_set_scores(&l->t->model.bpe, &l->t->arena, scores, (int32_t)n);
  free(scores);
  return ok ? CEL_OK : cel_fail_oom(err, l->b.name);
}

static cel_status read_bpe(cel_gguf_loader *l, cel_str name, cel_err *err) {
  cel_tokenizer *t = l->t;
  const cel_gguf_pre *pre = cel_gguf_pre_find(name);
  if (!pre) {
    cel_buf names = {0};
    cel_gguf_pre_list(&names);
    cel_status s = cel_fail(err, CEL_UNSUPPORTED, "%s: tokenizer.ggml.pre \"%.*s\" is not known; known are %s",
                            l->b.name, CEL_STR_ARG(name), names.p ? names.p : "");
    cel_buf_deinit(&names);
    return s;
  }
  t->model.bpe.ignore_merges = pre->ignore_merges;
  t->model.bpe.byte_fallback = pre->plain;
  l->add_bos = pre->add_bos;
  l->fixed = pre->plain && pre->add_bos;
  CEL_TRY(l->v->n_merges == 0 && cel_str_is(name, "kimi-k2") ? join_by_id(l, err) : read_merges(l, err));
  for (int i = 0; i < CEL_GGUF_PRE_REGEXES && pre->regexes[i]; i++) {
    CEL_TRY(cel_pre_split(&l->b, &t->pres, cel_str_of(pre->regexes[i]), err));
  }
  if (pre->plain) {
    CEL_TRY(cel_norm_replace_spaces(&l->b, &t->norms, CEL_STR(CEL_SPACE_MARK), err));
    return cel_gguf_plain_decoder(l, false, err);
  }
  CEL_TRY(cel_pre_byte_level(&l->b, &t->pres, err));
  return cel_decode_add(&l->b, &t->decoder, &(cel_decode_step){.kind = CEL_DECODE_BYTE_LEVEL}, err);
}

static cel_status read_gpt2(cel_gguf_loader *l, cel_err *err) {
  return read_bpe(l, l->v->pre.n ? l->v->pre : CEL_STR("default"), err);
}

static cel_status read_gemma4(cel_gguf_loader *l, cel_err *err) {
  return read_bpe(l, CEL_STR("gemma4"), err);
}

// Words between white space, joined by merges; no byte-level text.
static cel_status read_whitespace(cel_gguf_loader *l, cel_err *err) {
  cel_tokenizer *t = l->t;
  t->model.bpe.byte_fallback = true;
  t->decoder.joined_by_space = true;
  if (l->v->lowercase == 1) CEL_TRY(cel_norm_lowercase(&l->b, &t->norms, err));
  CEL_TRY(cel_pre_spaces(&l->b, &t->pres, err));
  return read_merges(l, err);
}

static cel_status read_llama(cel_gguf_loader *l, cel_err *err) {
  cel_tokenizer *t = l->t;
  bool prefix = l->v->add_space_prefix != 0;
  l->add_bos = true;
  t->model.bpe.unk = l->v->unk;  // byte-level models have none: a byte without a token gives nothing
  if (!cel_bpe_set_scores(&t->model.bpe, &t->arena, l->v->scores, (int32_t)t->size)) return cel_fail_oom(err, l->b.name);
  if (prefix) CEL_TRY(cel_norm_prepend(&l->b, &t->norms, CEL_STR(CEL_SPACE_MARK), err));
  CEL_TRY(cel_norm_replace_spaces(&l->b, &t->norms, CEL_STR(CEL_SPACE_MARK), err));
  return cel_gguf_plain_decoder(l, prefix, err);
}

static const struct {
  const char *model;
  cel_status (*read)(cel_gguf_loader *l, cel_err *err);
} models[] = {{"gpt2", read_gpt2},         {"llama", read_llama},     {"gemma4", read_gemma4},
              {"bert", cel_gguf_read_bert}, {"t5", cel_gguf_read_t5}, {"rwkv", cel_gguf_read_rwkv},
              {"whitespace", read_whitespace}};

static cel_status read_model(cel_gguf_loader *l, cel_err *err) {
  for (int i = 0; i < CEL_COUNT(models); i++) {
    if (cel_str_is(l->v->model, models[i].model)) return models[i].read(l, err);
  }
  return cel_fail(err, CEL_UNSUPPORTED,
                  "%s: tokenizer.ggml.model \"%.*s\" is not supported; supported are gpt2, llama, gemma4, bert, t5, "
                  "rwkv, whitespace",
                  l->b.name, CEL_STR_ARG(l->v->model));
}

static cel_status check_id(const cel_gguf_loader *l, const char *key, int32_t id, cel_err *err) {
  if (id >= -1 && id < l->v->n_tokens) return CEL_OK;
  return cel_fail(err, CEL_MALFORMED, "%s: tokenizer.ggml.%s is %d, but there are %lld tokens", l->b.name, key, (int)id,
                  (long long)l->v->n_tokens);
}

static cel_status check_ids(const cel_gguf_loader *l, cel_err *err) {
  const cel_gguf_vocab *v = l->v;
  CEL_TRY(check_id(l, "bos_token_id", v->bos, err));
  CEL_TRY(check_id(l, "eos_token_id", v->eos, err));
  CEL_TRY(check_id(l, "unknown_token_id", v->unk, err));
  if (cel_str_is(v->model, "bert")) {
    CEL_TRY(check_id(l, "seperator_token_id", v->sep, err));
    CEL_TRY(check_id(l, "cls_token_id", v->cls, err));
  }
  CEL_TRY(check_id(l, "eot_token_id", v->eot, err));
  return check_id(l, "eom_token_id", v->eom, err);
}

// Files made before these keys existed: the end of a turn goes by what the tokens are called.
static void add_known_ends(cel_gguf_loader *l) {
  static const char *const turn_ends[] = {"<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>",
                                          "<|end_of_text|>", "<|eom_id|>", "<turn|>"};
  for (int i = 0; i < CEL_COUNT(turn_ends); i++) {
    int32_t id = cel_vocab_get(&l->t->model.vocab, cel_str_of(turn_ends[i]));
    if (id >= 0 && cel_gguf_type_of(l->v, id) == CEL_GGUF_TOKEN_CONTROL) cel_tokenizer_add_end(l->t, id);
  }
}

static cel_status add_ends_and_bos(cel_gguf_loader *l, cel_err *err) {
  cel_tokenizer *t = l->t;
  const cel_gguf_vocab *v = l->v;
  cel_tokenizer_add_end(t, v->eos);
  cel_tokenizer_add_end(t, v->eot);
  cel_tokenizer_add_end(t, v->eom);
  if (v->eot < 0) add_known_ends(l);
  t->bos = l->bos;
  if (v->add_bos >= 0 && !l->fixed) l->add_bos = v->add_bos;
  if (v->add_eos >= 0 && !l->fixed) l->add_end = v->add_eos;
  int32_t *ids = CEL_NEW_ARRAY(&t->arena, int32_t, 3);
  if (!ids) return cel_fail_oom(err, l->b.name);
  int n = 0;
  if (l->add_bos && l->bos >= 0) ids[n++] = l->bos;
  ids[n++] = CEL_POST_TEXT;
  if (l->add_end && l->end >= 0) ids[n++] = l->end;
  t->posts.step[t->posts.n++] = (cel_post){ids, n};
  return CEL_OK;
}

cel_status cel_tokenizer_from_gguf(const cel_gguf_vocab *vocab, const char *name, cel_tokenizer **out, cel_err *err) {
  CEL_TRY(cel_tokenizer_new(out, err));
  cel_tokenizer *t = *out;
  cel_gguf_loader l = {.t = t, .b = {&t->arena, &t->regexes, name}, .v = vocab, .bos = vocab->bos, .end = vocab->eos};
  cel_status s;
  CEL_TRY_DONE(s, check_ids(&l, err));
  CEL_TRY_DONE(s, read_tokens(&l, err));
  CEL_TRY_DONE(s, read_model(&l, err));
  CEL_TRY_DONE(s, cel_tokenizer_index(t, err));
  CEL_TRY_DONE(s, read_added(&l, err));
  CEL_TRY_DONE(s, add_ends_and_bos(&l, err));
  CEL_TRY_DONE(s, cel_tokenizer_finish(t, err));
done:
  if (s != CEL_OK) {
    cel_tokenizer_free(t);
    *out = NULL;
  }
  return s;
}
