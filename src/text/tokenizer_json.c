// tokenizer.json (Hugging Face tokenizers) and what tokenizer_config.json adds to it.
#include <stdlib.h>

#include "text/tokenizer_impl.h"

typedef struct loader {
  cel_tokenizer *t;
  cel_text_build b;
  const cel_json *model, *config;
} loader;

static cel_str str_of(const cel_json *v) { return (cel_str){json_string_value(v), json_string_length(v)}; }

// --- vocabulary ---------------------------------------------------------------------------------------

static cel_status check_id(const loader *l, const cel_json *v, cel_str token, int64_t highest, const char *where,
                           cel_err *err) {
  json_int_t id = json_integer_value(v);
  if (json_is_integer(v) && id >= 0 && id <= highest) return CEL_OK;
  return cel_fail(err, CEL_MALFORMED, "%s: %s: the id of \"%.*s\" must be a number from 0 to %lld", l->b.name, where,
                  CEL_STR_ARG(token), (long long)highest);
}

static cel_status added_list(const loader *l, const cel_json *root, const cel_json **out, cel_err *err) {
  *out = cel_json_get(root, "added_tokens");
  if (!*out || json_is_array(*out)) return CEL_OK;
  return cel_fail(err, CEL_MALFORMED, "%s: added_tokens must be a list", l->b.name);
}

// Room for the ids of model.vocab and of added tokens behind them, every id checked; the bytes of all texts.
static cel_status measure(const loader *l, const cel_json *vocab, const cel_json *added, int64_t *size, size_t *bytes,
                          cel_err *err) {
  int64_t highest = cel_highest_id((int64_t)json_object_size(vocab) + (int64_t)json_array_size(added));
  const char *key;
  json_t *v;
  *size = 0;
  *bytes = 1;
  json_object_foreach((json_t *)vocab, key, v) {
    cel_str text = cel_str_of(key);
    CEL_TRY(check_id(l, v, text, highest, "model.vocab", err));
    *size = CEL_MAX(*size, json_integer_value(v) + 1);
    *bytes += text.n;
  }
  for (size_t i = 0; i < json_array_size(added); i++) {
    const cel_json *a = json_array_get(added, i), *content = cel_json_get(a, "content");
    if (!json_is_string(content)) {
      return cel_fail(err, CEL_MALFORMED, "%s: added_tokens[%zu] needs a string \"content\"", l->b.name, i);
    }
    CEL_TRY(check_id(l, cel_json_get(a, "id"), str_of(content), highest, "added_tokens", err));
    *bytes += json_string_length(content);
  }
  *size += (int64_t)json_array_size(added);
  return CEL_OK;
}

static cel_str keep(char **text, cel_str s) {
  cel_str kept = {*text, s.n};
  if (s.n) memcpy(*text, s.p, s.n);
  *text += s.n;
  return kept;
}

// The id of an added token: the model's where it has the content; else the next one behind the model's count and
// the added tokens so far. The id in the file says the same in every file that was written whole.
static int32_t added_id(const cel_tokenizer *t, cel_str content, int32_t *highest) {
  int32_t id = cel_tokenizer_find(t, content);
  if (id < 0) id = *highest >= t->model.vocab.n ? *highest + 1 : t->model.vocab.n;
  *highest = CEL_MAX(*highest, id);
  return id;
}

static cel_status read_added(loader *l, const cel_json *added, char **text, cel_err *err) {
  cel_tokenizer *t = l->t;
  int64_t n = (int64_t)json_array_size(added);
  t->added_tokens = CEL_NEW_ARRAY(&t->arena, cel_added_token, n);
  if (!t->added_tokens || !cel_vocab_init(&t->added_names, &t->arena, n, *text)) return cel_fail_oom(err, l->b.name);
  int32_t highest = -1;
  for (int64_t i = 0; i < n; i++) {
    const cel_json *a = json_array_get(added, (size_t)i);
    cel_str content = keep(text, str_of(cel_json_get(a, "content")));
    if (content.n == 0) continue;
    int32_t id = added_id(t, content, &highest);
    cel_added_token *out = &t->added_tokens[t->n_added++];
    *out = (cel_added_token){.content = content, .id = id,
                             .single_word = cel_json_bool(a, "single_word", false),
                             .lstrip = cel_json_bool(a, "lstrip", false),
                             .rstrip = cel_json_bool(a, "rstrip", false),
                             .special = cel_json_bool(a, "special", false)};
    out->normalized = cel_json_bool(a, "normalized", !out->special);
    t->tokens[id].text = content;
    t->tokens[id].flags |= CEL_TOKEN_KNOWN | (out->special ? CEL_TOKEN_SPECIAL : 0);
    cel_vocab_put(&t->added_names, content, id);
  }
  return CEL_OK;
}

static cel_status read_vocab(loader *l, const cel_json *root, cel_err *err) {
  cel_tokenizer *t = l->t;
  const cel_json *vocab = cel_json_get(l->model, "vocab"), *added;
  int64_t size;
  size_t bytes;
  if (!json_is_object(vocab))
    return cel_fail(err, CEL_MALFORMED, "%s: model.vocab must be an object of token: id", l->b.name);
  CEL_TRY(added_list(l, root, &added, err));
  CEL_TRY(measure(l, vocab, added, &size, &bytes, err));
  if (bytes > UINT32_MAX)
    return cel_fail(err, CEL_UNSUPPORTED, "%s: tokens of %zu bytes in all, under 4 GiB are supported", l->b.name,
                    bytes);
  CEL_TRY(cel_tokenizer_reserve(t, size, err));
  char *text = cel_arena_alloc(&t->arena, bytes);
  if (!text || !cel_vocab_init(&t->model.vocab, &t->arena, (int64_t)json_object_size(vocab), text)) {
    return cel_fail_oom(err, l->b.name);
  }
  const char *key;
  json_t *v;
  json_object_foreach((json_t *)vocab, key, v) {
    int32_t id = (int32_t)json_integer_value(v);
    cel_str token = keep(&text, cel_str_of(key));
    cel_vocab_put(&t->model.vocab, token, id);
    t->tokens[id] = (cel_token){.text = token, .flags = CEL_TOKEN_KNOWN};
  }
  CEL_TRY(read_added(l, added, &text, err));
  while (t->size > 0 && !(t->tokens[t->size - 1].flags & CEL_TOKEN_KNOWN)) t->size--;
  return CEL_OK;
}

// --- BPE ----------------------------------------------------------------------------------------------

// Row i of model.merges: ["a", "b"] or "a b".
static cel_status merge_parts(const loader *l, const cel_json *row, size_t i, cel_str *a, cel_str *b, cel_err *err) {
  const cel_json *left = json_array_get(row, 0), *right = json_array_get(row, 1);
  if (json_array_size(row) == 2 && json_is_string(left) && json_is_string(right)) {
    *a = str_of(left);
    *b = str_of(right);
    return CEL_OK;
  }
  cel_str s = json_is_string(row) ? str_of(row) : CEL_STR("");
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

static cel_status merge_unknown(const loader *l, size_t i, cel_str token, cel_err *err) {
  return cel_fail(err, CEL_MALFORMED, "%s: model.merges[%zu] needs the token \"%.*s\", which model.vocab does not have",
                  l->b.name, i, CEL_STR_ARG(token));
}

static cel_status read_merge(loader *l, const cel_json *row, size_t i, cel_buf *joined, cel_err *err) {
  cel_bpe *m = &l->t->model;
  cel_str a, b;
  CEL_TRY(merge_parts(l, row, i, &a, &b, err));
  int32_t left = cel_vocab_get(&m->vocab, a), right = cel_vocab_get(&m->vocab, b);
  if (left < 0) return merge_unknown(l, i, a, err);
  if (right < 0) return merge_unknown(l, i, b, err);
  size_t skip = CEL_MIN(m->prefix.n, b.n);
  cel_buf_clear(joined);
  cel_buf_adds(joined, a);
  cel_buf_add(joined, b.p + skip, b.n - skip);
  if (joined->failed) return cel_fail_oom(err, l->b.name);
  int32_t id = cel_vocab_get(&m->vocab, cel_buf_str(joined));
  if (id < 0) return merge_unknown(l, i, cel_buf_str(joined), err);
  cel_bpe_add_merge(m, left, right, (int32_t)i, id, true);
  return CEL_OK;
}

static cel_status read_merges(loader *l, cel_err *err) {
  const cel_json *merges = cel_json_get(l->model, "merges");
  if (!json_is_array(merges)) return cel_fail(err, CEL_MALFORMED, "%s: model.merges must be a list", l->b.name);
  size_t n = json_array_size(merges);
  if (!cel_bpe_merges_init(&l->t->model, &l->t->arena, (int64_t)n)) return cel_fail_oom(err, l->b.name);
  cel_buf joined = {0};
  cel_status s = CEL_OK;
  for (size_t i = 0; s == CEL_OK && i < n; i++) s = read_merge(l, json_array_get(merges, i), i, &joined, err);
  cel_buf_deinit(&joined);
  return s;
}

static cel_status read_affix(loader *l, const char *key, cel_str *out, cel_err *err) {
  enum { MOST = 64 };
  const cel_json *v = cel_json_get(l->model, key);
  *out = CEL_STR("");
  if (!v) return CEL_OK;
  CEL_TRY(cel_step_string(&l->b, l->model, key, "model", out, err));
  if (out->n <= MOST) return CEL_OK;
  return cel_fail(err, CEL_UNSUPPORTED, "%s: model.%s has %zu bytes, at most %d are supported", l->b.name, key, out->n,
                  MOST);
}

static cel_status read_bpe(loader *l, const cel_json *root, cel_err *err) {
  cel_bpe *m = &l->t->model;
  if (cel_json_num(l->model, "dropout", 0) != 0) {
    return cel_fail(err, CEL_UNSUPPORTED, "%s: model.dropout makes encoding random; null or 0 is supported", l->b.name);
  }
  CEL_TRY(read_affix(l, "continuing_subword_prefix", &m->prefix, err));
  CEL_TRY(read_affix(l, "end_of_word_suffix", &m->suffix, err));
  CEL_TRY(read_vocab(l, root, err));
  CEL_TRY(read_merges(l, err));
  const cel_json *unk = cel_json_get(l->model, "unk_token");
  if (json_is_string(unk)) m->unk = cel_vocab_get(&m->vocab, str_of(unk));
  m->fuse_unk = cel_json_bool(l->model, "fuse_unk", false);
  m->byte_fallback = cel_json_bool(l->model, "byte_fallback", false);
  m->ignore_merges = cel_json_bool(l->model, "ignore_merges", false);
  cel_bpe_index(m);
  return CEL_OK;
}

static const struct {
  const char *type;
  cel_status (*read)(loader *l, const cel_json *root, cel_err *err);
} models[] = {{"BPE", read_bpe}};

static cel_status read_model(loader *l, const cel_json *root, cel_err *err) {
  l->model = cel_json_get(root, "model");
  if (!json_is_object(l->model)) {
    return cel_fail(err, CEL_MALFORMED, "%s: no object \"model\": this is not a tokenizer.json", l->b.name);
  }
  const char *type = cel_json_string(l->model, "type", cel_json_get(l->model, "merges") ? "BPE" : "");
  for (int i = 0; i < CEL_COUNT(models); i++) {
    if (strcmp(type, models[i].type) == 0) return models[i].read(l, root, err);
  }
  return cel_fail(err, CEL_UNSUPPORTED, "%s: model type \"%.60s\" is not supported; supported is BPE", l->b.name, type);
}

// --- steps --------------------------------------------------------------------------------------------

static cel_status read_steps(loader *l, const cel_json *root, cel_err *err) {
  cel_tokenizer *t = l->t;
  const cel_json *norm = cel_json_get(root, "normalizer"), *pre = cel_json_get(root, "pre_tokenizer");
  const cel_json *post = cel_json_get(root, "post_processor"), *decoder = cel_json_get(root, "decoder");
  if (norm) CEL_TRY(cel_norms_read(&l->b, norm, &t->norms, err));
  if (pre) CEL_TRY(cel_pres_read(&l->b, pre, &t->pres, err));
  if (post) CEL_TRY(cel_posts_read(&l->b, post, &t->posts, err));
  if (decoder) CEL_TRY(cel_decode_steps_read(&l->b, decoder, &t->decoder, err));
  t->decoder.joined_by_space = !decoder;
  for (int i = 0; i < t->posts.n; i++) {
    for (int k = 0; k < t->posts.step[i].n; k++) {
      int32_t id = t->posts.step[i].ids[k];
      if (id == CEL_POST_TEXT || (id < t->size && (t->tokens[id].flags & CEL_TOKEN_KNOWN))) continue;
      return cel_fail(err, CEL_MALFORMED, "%s: post_processor adds id %d, which no token has", l->b.name, (int)id);
    }
  }
  return CEL_OK;
}

// A special token of tokenizer_config.json: "text" or {"content": "text"}; -1 when absent or no token.
static int32_t config_token(const loader *l, const char *key) {
  const cel_json *v = cel_json_get(l->config, key);
  if (json_is_object(v)) v = cel_json_get(v, "content");
  return json_is_string(v) ? cel_tokenizer_find(l->t, str_of(v)) : -1;
}

// What tokenizer_config.json adds: which token begins a text and which ends it. Its add_bos_token and
// add_eos_token do not count beside a tokenizer.json, whose post-processor says what is added (as in
// transformers 5).
static void apply_config(loader *l) {
  cel_tokenizer *t = l->t;
  int32_t bos = config_token(l, "bos_token");
  if (t->posts.n && t->posts.step[0].n && t->posts.step[0].ids[0] != CEL_POST_TEXT) t->bos = t->posts.step[0].ids[0];
  if (bos >= 0) t->bos = bos;
  cel_tokenizer_add_end(t, config_token(l, "eos_token"));
}

cel_status cel_tokenizer_from_json(const cel_json *json, const cel_json *config, const char *name, cel_tokenizer **out,
                                   cel_err *err) {
  CEL_TRY(cel_tokenizer_new(out, err));
  cel_tokenizer *t = *out;
  loader l = {.t = t, .b = {&t->arena, &t->regexes, name}, .config = config};
  cel_status s;
  CEL_TRY_DONE(s, read_model(&l, json, err));
  CEL_TRY_DONE(s, read_steps(&l, json, err));
  apply_config(&l);
  CEL_TRY_DONE(s, cel_tokenizer_finish(t, err));
done:
  if (s != CEL_OK) {
    cel_tokenizer_free(t);
    *out = NULL;
  }
  return s;
}
