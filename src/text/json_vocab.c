// model.vocab and added_tokens of a tokenizer.json.
#include "text/json_loader.h"

static cel_status check_id(const cel_json_loader *l, const cel_json *v, cel_str token, int64_t highest,
                           const char *where, cel_err *err) {
  int64_t id = cel_json_integer_value(v);
  if (cel_json_is_integer(v) && id >= 0 && id <= highest) return CEL_OK;
  return cel_fail(err, CEL_MALFORMED, "%s: %s: the id of \"%.*s\" must be a number from 0 to %lld", l->b.name, where,
                  CEL_STR_ARG(token), (long long)highest);
}

// Row i of a list: [text, score].
static cel_status check_row(const cel_json_loader *l, const cel_json *row, size_t i, cel_err *err) {
  if (cel_json_array_size(row) == 2 && cel_json_is_string(cel_json_array_get(row, 0)) && cel_json_is_number(cel_json_array_get(row, 1))) {
    return CEL_OK;
  }
  return cel_fail(err, CEL_MALFORMED, "%s: model.vocab[%zu] must be [token, score]", l->b.name, i);
}

typedef struct sizes {
  int64_t ids;   // highest id + 1, and room for the added tokens behind it
  size_t bytes;  // of all texts
} sizes;

static cel_status measure_object(const cel_json_loader *l, const cel_json *vocab, int64_t highest, sizes *out,
                                 cel_err *err) {
  size_t i;
  cel_str text;
  cel_json *v;
  cel_json_object_foreach(vocab, i, text, v) {
    CEL_TRY(check_id(l, v, text, highest, "model.vocab", err));
    out->ids = CEL_MAX(out->ids, cel_json_integer_value(v) + 1);
    out->bytes += text.n;
  }
  return CEL_OK;
}

static cel_status measure_list(const cel_json_loader *l, const cel_json *vocab, sizes *out, cel_err *err) {
  size_t n = cel_json_array_size(vocab);
  for (size_t i = 0; i < n; i++) {
    const cel_json *row = cel_json_array_get(vocab, i);
    CEL_TRY(check_row(l, row, i, err));
    out->bytes += cel_json_string_length(cel_json_array_get(row, 0));
  }
  out->ids = (int64_t)n;
  return CEL_OK;
}

static cel_status measure_added(const cel_json_loader *l, const cel_json *added, int64_t highest, sizes *out,
                                cel_err *err) {
  for (size_t i = 0; i < cel_json_array_size(added); i++) {
    const cel_json *a = cel_json_array_get(added, i), *content = cel_json_get(a, "content");
    if (!cel_json_is_string(content)) {
      return cel_fail(err, CEL_MALFORMED, "%s: added_tokens[%zu] needs a string \"content\"", l->b.name, i);
    }
    CEL_TRY(check_id(l, cel_json_get(a, "id"), cel_json_text(content), highest, "added_tokens", err));
    out->bytes += cel_json_string_length(content);
  }
  out->ids += (int64_t)cel_json_array_size(added);
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
  if (id < 0) id = *highest >= t->n_model ? *highest + 1 : t->n_model;
  *highest = CEL_MAX(*highest, id);
  return id;
}

static cel_status read_added(cel_json_loader *l, const cel_json *added, char **text, cel_err *err) {
  cel_tokenizer *t = l->t;
  int64_t n = (int64_t)cel_json_array_size(added);
  t->added_tokens = CEL_NEW_ARRAY(&t->arena, cel_added_token, n);
  if (!t->added_tokens || !cel_vocab_init(&t->added_names, &t->arena, n, *text)) return cel_fail_oom(err, l->b.name);
  int32_t highest = -1;
  for (int64_t i = 0; i < n; i++) {
    const cel_json *a = cel_json_array_get(added, (size_t)i);
    cel_str content = keep(text, cel_json_text(cel_json_get(a, "content")));
    if (content.n == 0) continue;
    int32_t id = added_id(t, content, &highest);
    cel_added_token *out = &t->added_tokens[t->n_added++];
    *out = (cel_added_token){.content = content,
                             .id = id,
                             .single_word = cel_json_bool(a, "single_word", false),
                             .lstrip = cel_json_bool(a, "lstrip", false),
                             .rstrip = cel_json_bool(a, "rstrip", false),
                             .special = cel_json_bool(a, "special", false)};
    out->normalized = cel_json_bool(a, "normalized", !out->special);
    t->tokens[id].text = content;
    t->tokens[id].flags |= CEL_TOKEN_KNOWN | (out->special ? CEL_TOKEN_SPECIAL : 0);
    cel_vocab_put(&t->added_names, content, id);
  }
  return cel_vocab_check(&t->added_names, l->b.name, err);
}

static void fill_object(cel_tokenizer *t, const cel_json *vocab, char **text) {
  cel_str batch[CEL_VOCAB_BATCH];
  int32_t ids[CEL_VOCAB_BATCH];
  size_t all = cel_json_object_size(vocab);
  for (size_t i = 0; i < all;) {
    int n = 0;
    for (; n < CEL_VOCAB_BATCH && i < all; n++, i++) {
      batch[n] = keep(text, cel_json_object_key(vocab, i));
      ids[n] = (int32_t)cel_json_integer_value(cel_json_object_value(vocab, i));
      t->tokens[ids[n]] = (cel_token){.text = batch[n], .flags = CEL_TOKEN_KNOWN};
    }
    cel_vocab_put_batch(&t->model.vocab, batch, ids, n, false);
  }
}

// Of equal texts the last one counts.
static void fill_list(cel_tokenizer *t, const cel_json *vocab, char **text, double *scores) {
  cel_str batch[CEL_VOCAB_BATCH];
  int32_t ids[CEL_VOCAB_BATCH];
  size_t all = cel_json_array_size(vocab);
  for (size_t i = 0; i < all;) {
    int n = 0;
    for (; n < CEL_VOCAB_BATCH && i < all; n++, i++) {
      const cel_json *row = cel_json_array_get(vocab, i);
      batch[n] = keep(text, cel_json_text(cel_json_array_get(row, 0)));
      ids[n] = (int32_t)i;
      t->tokens[i] = (cel_token){.text = batch[n], .flags = CEL_TOKEN_KNOWN};
      scores[i] = cel_json_number_value(cel_json_array_get(row, 1));
    }
    cel_vocab_put_batch(&t->model.vocab, batch, ids, n, true);
  }
}

static cel_status fill(cel_json_loader *l, const cel_json *vocab, bool list, const cel_json *added, sizes size,
                       double **scores, cel_err *err) {
  cel_tokenizer *t = l->t;
  CEL_TRY(cel_tokenizer_reserve(t, size.ids, err));
  char *text = cel_arena_alloc(&t->arena, size.bytes);
  if (!text || !cel_vocab_init(&t->model.vocab, &t->arena, t->n_model, text)) return cel_fail_oom(err, l->b.name);
  if (list) {
    *scores = CEL_NEW_ARRAY(&t->arena, double, t->n_model);
    if (!*scores) return cel_fail_oom(err, l->b.name);
    fill_list(t, vocab, &text, *scores);
  } else {
    fill_object(t, vocab, &text);
  }
  CEL_TRY(cel_vocab_check(&t->model.vocab, l->b.name, err));
  CEL_TRY(read_added(l, added, &text, err));
  while (t->size > 0 && !(t->tokens[t->size - 1].flags & CEL_TOKEN_KNOWN)) t->size--;
  return CEL_OK;
}

cel_status cel_json_read_vocab(cel_json_loader *l, bool list, double **scores, cel_err *err) {
  const cel_json *vocab = cel_json_get(l->model, "vocab"), *added = cel_json_get(l->root, "added_tokens");
  if (list ? !cel_json_is_array(vocab) : !cel_json_is_object(vocab)) {
    return cel_fail(err, CEL_MALFORMED, "%s: model.vocab must be %s", l->b.name,
                    list ? "a list of [token, score]" : "an object of token: id");
  }
  if (added && !cel_json_is_array(added)) {
    return cel_fail(err, CEL_MALFORMED, "%s: added_tokens must be a list", l->b.name);
  }
  int64_t n = (int64_t)(list ? cel_json_array_size(vocab) : cel_json_object_size(vocab));
  if (n > CEL_VOCAB_MOST) {
    return cel_fail(err, CEL_UNSUPPORTED, "%s: model.vocab has %lld tokens, at most %d are supported", l->b.name,
                    (long long)n, CEL_VOCAB_MOST);
  }
  int64_t highest = cel_highest_id(n + (int64_t)cel_json_array_size(added));
  sizes size = {.bytes = 1};
  CEL_TRY(list ? measure_list(l, vocab, &size, err) : measure_object(l, vocab, highest, &size, err));
  CEL_TRY(measure_added(l, added, highest, &size, err));
  if (size.bytes > UINT32_MAX) {
    return cel_fail(err, CEL_UNSUPPORTED, "%s: tokens of %zu bytes in all, under 4 GiB are supported", l->b.name,
                    size.bytes);
  }
  l->t->n_model = (int32_t)n;
  return fill(l, vocab, list, added, size, scores, err);
}
