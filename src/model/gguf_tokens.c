// Token ids and the sampling that a GGUF file recommends, in the words of generation_config.json and
// tokenizer_config.json.
#include <math.h>
#include <string.h>

#include "model/gguf_convert.h"

cel_status cel_gguf_put(cel_json *obj, const char *key, cel_json *value, cel_err *err) {
  if (value && cel_json_object_set_new(obj, key, value) == 0) return CEL_OK;
  return cel_fail_oom(err, "a config");
}

// eos, eot and eom without repetition: one number, a list, or null when there is none.
static cel_json *end_ids(const cel_gguf_vocab *v) {
  int32_t from[3] = {v->eos, v->eot, v->eom}, ids[3];
  int n = 0;
  for (int i = 0; i < 3; i++) {
    bool seen = from[i] < 0;
    for (int k = 0; k < n; k++) seen |= ids[k] == from[i];
    if (!seen) ids[n++] = from[i];
  }
  if (n <= 1) return n ? cel_json_integer(ids[0]) : cel_json_null();
  cel_json *list = cel_json_array();
  for (int i = 0; i < n; i++) {
    if (list && cel_json_array_append_new(list, cel_json_integer(ids[i])) != 0) cel_json_decref(list), list = NULL;
  }
  return list;
}

cel_status cel_gguf_put_ids(cel_json *obj, const cel_gguf_vocab *v, cel_err *err) {
  if (v->bos >= 0) CEL_TRY(cel_gguf_put(obj, "bos_token_id", cel_json_integer(v->bos), err));
  if (v->pad >= 0) CEL_TRY(cel_gguf_put(obj, "pad_token_id", cel_json_integer(v->pad), err));
  return cel_gguf_put(obj, "eos_token_id", end_ids(v), err);
}

static cel_status put_sampling(const cel_gguf *g, cel_json *obj, const char *from, const char *key, cel_err *err) {
  double v;
  bool found;
  CEL_TRY(cel_gguf_num(g, from, &v, &found, err));
  if (!found) return CEL_OK;
  if (!isfinite(v)) return cel_fail(err, CEL_MALFORMED, "%s: metadata \"%s\" is not a finite number", g->file, from);
  bool whole = strcmp(key, "top_k") == 0 && v == floor(v) && fabs(v) < 1e9;
  return cel_gguf_put(obj, key, whole ? cel_json_integer((int64_t)v) : cel_json_real(v), err);
}

static cel_status fill_generation(const cel_gguf *g, const cel_gguf_vocab *vocab, cel_json *obj, cel_err *err) {
  static const struct { const char *from, *key; } sampling[] = {
    {"general.sampling.temp", "temperature"}, {"general.sampling.top_k", "top_k"},
    {"general.sampling.top_p", "top_p"},      {"general.sampling.min_p", "min_p"},
    {"general.sampling.penalty_repeat", "repetition_penalty"},
  };
  for (int i = 0; i < CEL_COUNT(sampling); i++) {
    CEL_TRY(put_sampling(g, obj, sampling[i].from, sampling[i].key, err));
  }
  return vocab ? cel_gguf_put_ids(obj, vocab, err) : CEL_OK;
}

cel_status cel_gguf_generation_config(const cel_gguf *g, const cel_gguf_vocab *vocab, cel_json **out, cel_err *err) {
  cel_json *obj = cel_json_object();
  *out = NULL;
  if (!obj) return cel_fail_oom(err, "a config");
  cel_status status = fill_generation(g, vocab, obj, err);
  if (status != CEL_OK || cel_json_object_size(obj) == 0) {
    cel_json_decref(obj);
    return status;
  }
  *out = obj;
  return CEL_OK;
}

// A token's text, when it is one that JSON can hold.
static cel_status put_token(cel_json *obj, const char *key, const cel_gguf_vocab *v, int32_t id, cel_err *err) {
  if (id < 0 || !cel_utf8_valid(v->tokens[id].p, v->tokens[id].n)) return CEL_OK;
  return cel_gguf_put(obj, key, cel_json_string_new((cel_str){v->tokens[id].p, v->tokens[id].n}), err);
}

static cel_status fill_tokenizer(cel_json *obj, const cel_gguf_vocab *v, cel_err *err) {
  CEL_TRY(put_token(obj, "bos_token", v, v->bos, err));
  CEL_TRY(put_token(obj, "eos_token", v, v->eos, err));
  CEL_TRY(put_token(obj, "unk_token", v, v->unk, err));
  CEL_TRY(put_token(obj, "pad_token", v, v->pad, err));
  if (v->add_bos >= 0) CEL_TRY(cel_gguf_put(obj, "add_bos_token", cel_json_boolean(v->add_bos), err));
  if (v->add_eos >= 0) CEL_TRY(cel_gguf_put(obj, "add_eos_token", cel_json_boolean(v->add_eos), err));
  return CEL_OK;
}

cel_status cel_gguf_tokenizer_config(const cel_gguf_vocab *vocab, cel_json **out, cel_err *err) {
  *out = NULL;
  if (!vocab) return CEL_OK;
  cel_json *obj = cel_json_object();
  if (!obj) return cel_fail_oom(err, "a config");
  cel_status status = fill_tokenizer(obj, vocab, err);
  if (status != CEL_OK) {
    cel_json_decref(obj);
    return status;
  }
  *out = obj;
  return CEL_OK;
}
