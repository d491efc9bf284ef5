#include <stdlib.h>

#include "api/api.h"

static cel_status check_flags(uint32_t flags, uint32_t known, cel_err *err) {
  if (!(flags & ~known)) return CEL_OK;
  return cel_fail(err, CEL_INVALID, "flags are 0x%x, this call knows 0x%x", (unsigned)flags, (unsigned)known);
}

static cel_status check_text(const char *text, size_t bytes, cel_err *err) {
  return bytes && !text ? cel_fail(err, CEL_INVALID, "text is NULL, bytes is %zu", bytes) : CEL_OK;
}

static cel_status tokenize(const mlxcel_model *m, cel_str text, uint32_t flags, int32_t **ids, int64_t *n, cel_err *err) {
  CEL_TRY(check_text(text.p, text.n, err));
  CEL_TRY(check_flags(flags, MLXCEL_ADD_SPECIAL | MLXCEL_PARSE_SPECIAL, err));
  CEL_TRY(cel_api_need_tokenizer(m, err));
  cel_encode_options how = {.add_special = flags & MLXCEL_ADD_SPECIAL, .parse_special = flags & MLXCEL_PARSE_SPECIAL};
  return cel_encode(m->lm->tokenizer, text.p ? text : CEL_STR(""), how, ids, n, err);
}

mlxcel_status mlxcel_tokenize(const mlxcel_model *model, const char *text, size_t bytes, uint32_t flags, int32_t **ids,
                              int64_t *n, mlxcel_error *error) {
  if (!ids || !n) return cel_api_null(ids ? "n" : "ids", error);
  *ids = NULL;
  *n = 0;
  if (!model) return cel_api_null("model", error);
  cel_err err = {0};
  return cel_api_done(tokenize(model, (cel_str){text, bytes}, flags, ids, n, &err), &err, error);
}

static cel_status detokenize(const mlxcel_model *m, const int32_t *ids, int64_t n, uint32_t flags, char **text,
                             size_t *bytes, cel_err *err) {
  CEL_TRY(cel_api_ids(ids, n, err));
  CEL_TRY(check_flags(flags, MLXCEL_SHOW_SPECIAL, err));
  CEL_TRY(cel_api_need_tokenizer(m, err));
  cel_buf b = {0};
  cel_status s = cel_decode(m->lm->tokenizer, ids, n, !(flags & MLXCEL_SHOW_SPECIAL), &b, err);
  if (s == CEL_OK) return cel_api_text(&b, text, bytes, err);
  cel_buf_deinit(&b);
  return s;
}

mlxcel_status mlxcel_detokenize(const mlxcel_model *model, const int32_t *ids, int64_t n, uint32_t flags, char **text,
                                size_t *bytes, mlxcel_error *error) {
  if (!text) return cel_api_null("text", error);
  *text = NULL;
  if (!model) return cel_api_null("model", error);
  cel_err err = {0};
  return cel_api_done(detokenize(model, ids, n, flags, text, bytes, &err), &err, error);
}

// ---- one token ---------------------------------------------------------------------------------------

static const cel_tokenizer *tokenizer(const mlxcel_model *m) { return m ? m->lm->tokenizer : NULL; }

static bool known(const cel_tokenizer *t, int32_t id) { return t && id >= 0 && id < cel_tokenizer_size(t); }

const char *mlxcel_token_text(const mlxcel_model *model, int32_t id, size_t *bytes) {
  const cel_tokenizer *t = tokenizer(model);
  cel_str s = known(t, id) ? cel_tokenizer_bytes(t, id) : (cel_str){0};
  if (bytes) *bytes = s.n;
  return s.n ? s.p : NULL;
}

int32_t mlxcel_token_find(const mlxcel_model *model, const char *text, size_t bytes) {
  const cel_tokenizer *t = tokenizer(model);
  return t && text ? cel_tokenizer_find(t, (cel_str){text, bytes}) : -1;
}

bool mlxcel_token_is_special(const mlxcel_model *model, int32_t id) {
  const cel_tokenizer *t = tokenizer(model);
  return known(t, id) && cel_tokenizer_is_special(t, id);
}

int32_t mlxcel_token_bos(const mlxcel_model *model) {
  if (!model) return -1;
  const cel_tokenizer *t = tokenizer(model);
  return t ? cel_tokenizer_bos(t) : model->lm->arch.bos;
}

int32_t mlxcel_token_ends(const mlxcel_model *model, int32_t *out, int32_t most) {
  if (!model) return 0;
  for (int32_t i = 0; out && i < most && i < model->lm->n_end_ids; i++) out[i] = model->lm->end_ids[i];
  return model->lm->n_end_ids;
}

// ---- a stream of tokens --------------------------------------------------------------------------------

struct mlxcel_detokenizer {
  mlxcel_model *model;
  bool skip_special;
  cel_detokenizer *stream;
  cel_buf text;
};

static cel_status open_stream(mlxcel_model *m, uint32_t flags, mlxcel_detokenizer **out, cel_err *err) {
  CEL_TRY(check_flags(flags, MLXCEL_SHOW_SPECIAL, err));
  CEL_TRY(cel_api_need_tokenizer(m, err));
  mlxcel_detokenizer *d = calloc(1, sizeof *d);
  if (!d) return cel_fail_oom(err, "a detokenizer");
  d->skip_special = !(flags & MLXCEL_SHOW_SPECIAL);
  cel_status s = cel_detokenizer_new(m->lm->tokenizer, d->skip_special, &d->stream, err);
  if (s != CEL_OK) {
    free(d);
    return s;
  }
  d->model = cel_api_hold(m);
  *out = d;
  return CEL_OK;
}

mlxcel_status mlxcel_detokenizer_open(mlxcel_model *model, uint32_t flags, mlxcel_detokenizer **out, mlxcel_error *error) {
  if (!out) return cel_api_null("out", error);
  *out = NULL;
  if (!model) return cel_api_null("model", error);
  cel_err err = {0};
  return cel_api_done(open_stream(model, flags, out, &err), &err, error);
}

void mlxcel_detokenizer_close(mlxcel_detokenizer *d) {
  if (!d) return;
  cel_detokenizer_free(d->stream);
  cel_buf_deinit(&d->text);
  cel_api_drop(d->model);
  free(d);
}

static cel_status lend(mlxcel_detokenizer *d, const char **text, size_t *bytes, cel_err *err) {
  if (d->text.failed) {
    cel_buf_deinit(&d->text);
    d->text = (cel_buf){0};
    return cel_fail_oom(err, "a text");
  }
  *text = cel_buf_str(&d->text).p;
  if (bytes) *bytes = d->text.n;
  return CEL_OK;
}

mlxcel_status mlxcel_detokenizer_push(mlxcel_detokenizer *detokenizer, int32_t id, const char **text, size_t *bytes,
                                      mlxcel_error *error) {
  if (!detokenizer || !text) return cel_api_null(detokenizer ? "text" : "detokenizer", error);
  cel_err err = {0};
  cel_buf_clear(&detokenizer->text);
  cel_detokenizer_push(detokenizer->stream, id, &detokenizer->text);
  return cel_api_done(lend(detokenizer, text, bytes, &err), &err, error);
}

mlxcel_status mlxcel_detokenizer_finish(mlxcel_detokenizer *detokenizer, const char **text, size_t *bytes,
                                        mlxcel_error *error) {
  if (!detokenizer || !text) return cel_api_null(detokenizer ? "text" : "detokenizer", error);
  cel_err err = {0};
  mlxcel_detokenizer *d = detokenizer;
  cel_detokenizer *next;  // a stream has one end
  cel_status s = cel_detokenizer_new(d->model->lm->tokenizer, d->skip_special, &next, &err);
  if (s == CEL_OK) {
    cel_buf_clear(&d->text);
    cel_detokenizer_finish(d->stream, &d->text);
    cel_detokenizer_free(d->stream);
    d->stream = next;
    s = lend(d, text, bytes, &err);
  }
  return cel_api_done(s, &err, error);
}
