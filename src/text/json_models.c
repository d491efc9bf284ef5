// The "model" of a tokenizer.json: BPE, Unigram, WordPiece, WordLevel.
#include "text/json_loader.h"

// --- BPE ----------------------------------------------------------------------------------------------

// Row i of model.merges: ["a", "b"] or "a b".
static cel_status merge_parts(const cel_json_loader *l, const cel_json *row, size_t i, cel_str *a, cel_str *b,
                              cel_err *err) {
  const cel_json *left = cel_json_array_get(row, 0), *right = cel_json_array_get(row, 1);
  if (cel_json_array_size(row) == 2 && cel_json_is_string(left) && cel_json_is_string(right)) {
    *a = cel_json_text(left);
    *b = cel_json_text(right);
    return CEL_OK;
  }
  cel_str s = cel_json_is_string(row) ? cel_json_text(row) : CEL_STR("");
  const char *space = s.n ? memchr(s.p, ' ', s.n) : NULL;
  size_t at = space ? (size_t)(space - s.p) : 0;
  if (!space || memchr(space + 1, ' ', s.n - at - 1)) {
    return cel_fail(err, CEL_MALFORMED, "%s: model.merges[%zu] must be \"left right\" or [\"left\", \"right\"]",
                    l->b.name, i);
  }
  *a = (cel_str){s.p, at};
  *b = (cel_str){space + 1, s.n - at - 1};
  return CEL_OK;
}

// The token that is missing is head + tail.
static cel_status merge_unknown(const cel_json_loader *l, size_t i, cel_str head, cel_str tail, cel_err *err) {
  return cel_fail(err, CEL_MALFORMED,
                  "%s: model.merges[%zu] needs the token \"%.*s%.*s\", which model.vocab does not have", l->b.name, i,
                  CEL_STR_ARG(head), CEL_STR_ARG(tail));
}

static cel_status check_merges(const cel_json_loader *l, const cel_bpe_batch *b, size_t first, size_t skip,
                               cel_err *err) {
  for (int k = 0; k < b->n; k++) {
    size_t i = first + (size_t)k, behind = CEL_MIN(skip, b->right[k].n);
    if (b->left_id[k] < 0) return merge_unknown(l, i, b->left[k], CEL_STR(""), err);
    if (b->right_id[k] < 0) return merge_unknown(l, i, b->right[k], CEL_STR(""), err);
    if (b->id[k] < 0) {
      return merge_unknown(l, i, b->left[k], (cel_str){b->right[k].p + behind, b->right[k].n - behind}, err);
    }
  }
  return CEL_OK;
}

static cel_status read_merges(cel_json_loader *l, cel_err *err) {
  const cel_json *merges = cel_json_get(l->model, "merges");
  if (!cel_json_is_array(merges)) return cel_fail(err, CEL_MALFORMED, "%s: model.merges must be a list", l->b.name);
  size_t n = cel_json_array_size(merges), skip = l->t->model.bpe.prefix.n;
  if (!cel_bpe_merges_init(&l->t->model.bpe, &l->t->arena, (int64_t)n)) return cel_fail_oom(err, l->b.name);
  cel_bpe_batch batch = {.guess = 0};
  for (size_t i = 0; i < n; i += (size_t)batch.n) {
    batch.n = (int)CEL_MIN(n - i, (size_t)CEL_VOCAB_BATCH);
    for (int k = 0; k < batch.n; k++) {
      size_t row = i + (size_t)k;
      CEL_TRY(merge_parts(l, cel_json_array_get(merges, row), row, &batch.left[k], &batch.right[k], err));
    }
    cel_bpe_batch_find(&batch, &l->t->model.vocab, skip);
    CEL_TRY(check_merges(l, &batch, i, skip, err));
    cel_bpe_batch_add(&l->t->model.bpe, &batch, (int32_t)i, true);
  }
  return CEL_OK;
}

static cel_status read_affix(cel_json_loader *l, const char *key, cel_str *out, cel_err *err) {
  enum { MOST = 64 };
  const cel_json *v = cel_json_get(l->model, key);
  *out = CEL_STR("");
  if (!v) return CEL_OK;
  CEL_TRY(cel_step_string(&l->b, l->model, key, "model", out, err));
  if (out->n <= MOST) return CEL_OK;
  return cel_fail(err, CEL_UNSUPPORTED, "%s: model.%s has %zu bytes, at most %d are supported", l->b.name, key, out->n,
                  MOST);
}

// The token that `key` of the model names, -1 when it names none.
static int32_t named_token(const cel_json_loader *l, const char *key) {
  const cel_json *v = cel_json_get(l->model, key);
  return cel_json_is_string(v) ? cel_vocab_get(&l->t->model.vocab, cel_json_text(v)) : -1;
}

static cel_status read_bpe(cel_json_loader *l, cel_err *err) {
  cel_bpe *m = &l->t->model.bpe;
  l->t->model.kind = CEL_MODEL_BPE;
  if (cel_json_num(l->model, "dropout", 0) != 0) {
    return cel_fail(err, CEL_UNSUPPORTED, "%s: model.dropout makes encoding random; null or 0 is supported", l->b.name);
  }
  CEL_TRY(read_affix(l, "continuing_subword_prefix", &m->prefix, err));
  CEL_TRY(read_affix(l, "end_of_word_suffix", &m->suffix, err));
  CEL_TRY(cel_json_read_vocab(l, false, NULL, err));
  CEL_TRY(read_merges(l, err));
  m->unk = named_token(l, "unk_token");
  m->fuse_unk = cel_json_bool(l->model, "fuse_unk", false);
  m->byte_fallback = cel_json_bool(l->model, "byte_fallback", false);
  m->ignore_merges = cel_json_bool(l->model, "ignore_merges", false);
  return CEL_OK;
}

// --- Unigram ------------------------------------------------------------------------------------------

static cel_status read_unigram(cel_json_loader *l, cel_err *err) {
  cel_tokenizer *t = l->t;
  cel_unigram *u = &t->model.unigram;
  t->model.kind = CEL_MODEL_UNIGRAM;
  double *scores;
  CEL_TRY(cel_json_read_vocab(l, true, &scores, err));
  u->scores = scores;
  u->n_scores = t->n_model;
  if (t->model.vocab.longest > CEL_UNIGRAM_LONGEST) {
    return cel_fail(err, CEL_UNSUPPORTED, "%s: model.vocab has a token of %zu bytes, at most %d are supported",
                    l->b.name, t->model.vocab.longest, CEL_UNIGRAM_LONGEST);
  }
  const cel_json *unk = cel_json_get(l->model, "unk_id");
  if (unk) {
    int64_t id = cel_json_integer_value(unk);
    if (!cel_json_is_integer(unk) || id < 0 || id >= t->n_model) {
      return cel_fail(err, CEL_MALFORMED, "%s: model.unk_id must be the number of a token, 0 to %d", l->b.name,
                      (int)t->n_model - 1);
    }
    u->unk = (int32_t)id;
  }
  u->byte_fallback = cel_json_bool(l->model, "byte_fallback", false);
  return CEL_OK;
}

// --- WordPiece, WordLevel -----------------------------------------------------------------------------

static cel_status read_wordpiece(cel_json_loader *l, cel_err *err) {
  cel_wordpiece *w = &l->t->model.words;
  l->t->model.kind = CEL_MODEL_WORDPIECE;
  w->prefix = CEL_STR("##");
  if (cel_json_get(l->model, "continuing_subword_prefix")) {
    CEL_TRY(read_affix(l, "continuing_subword_prefix", &w->prefix, err));
  }
  w->most_chars = cel_json_int(l->model, "max_input_chars_per_word", 100);
  CEL_TRY(cel_json_read_vocab(l, false, NULL, err));
  w->unk = cel_vocab_get(&l->t->model.vocab, cel_str_of(cel_json_string(l->model, "unk_token", "[UNK]")));
  return CEL_OK;
}

static cel_status read_wordlevel(cel_json_loader *l, cel_err *err) {
  cel_wordpiece *w = &l->t->model.words;
  l->t->model.kind = CEL_MODEL_WORDPIECE;
  w->whole = true;
  CEL_TRY(cel_json_read_vocab(l, false, NULL, err));
  w->unk = named_token(l, "unk_token");
  return CEL_OK;
}

// --- by type ------------------------------------------------------------------------------------------

static const struct {
  const char *type;
  cel_status (*read)(cel_json_loader *l, cel_err *err);
} models[] = {
    {"BPE", read_bpe}, {"Unigram", read_unigram}, {"WordPiece", read_wordpiece}, {"WordLevel", read_wordlevel}};

// Files of the first versions have no type: the fields tell.
static const char *guess_type(const cel_json *model) {
  if (cel_json_get(model, "merges")) return "BPE";
  if (cel_json_is_array(cel_json_get(model, "vocab"))) return "Unigram";
  if (cel_json_get(model, "max_input_chars_per_word")) return "WordPiece";
  return cel_json_get(model, "unk_token") ? "WordLevel" : "";
}

cel_status cel_json_read_model(cel_json_loader *l, cel_err *err) {
  l->model = cel_json_get(l->root, "model");
  if (!cel_json_is_object(l->model)) {
    return cel_fail(err, CEL_MALFORMED, "%s: no object \"model\": this is not a tokenizer.json", l->b.name);
  }
  const char *type = cel_json_string(l->model, "type", guess_type(l->model));
  for (int i = 0; i < CEL_COUNT(models); i++) {
    if (strcmp(type, models[i].type) == 0) return models[i].read(l, err);
  }
  return cel_fail(err, CEL_UNSUPPORTED,
                  "%s: model type \"%.60s\" is not supported; supported are BPE, Unigram, WordPiece, WordLevel",
                  l->b.name, type);
}
