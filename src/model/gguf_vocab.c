// tokenizer.ggml.* -> cel_gguf_vocab.
#include "base/half.h"
#include "model/gguf_convert.h"
#include "model/widen.h"

typedef struct reader {
  const cel_gguf *g;
  cel_arena *arena;
  cel_err *err;
} reader;

// The array `key` when it is there and its items are of `type`.
static cel_status find_array(const reader *r, const char *key, cel_gguf_type type, const cel_gguf_value **out) {
  const cel_gguf_value *v = cel_gguf_find(r->g, key);
  *out = v;
  if (!v || (v->type == CEL_GGUF_ARRAY && v->item_type == type)) return CEL_OK;
  return cel_fail(r->err, CEL_MALFORMED, "%s: metadata \"%s\" is of type %s%s%s, an array of %s is needed", r->g->file, key,
                  cel_gguf_type_name(v->type), v->type == CEL_GGUF_ARRAY ? " of " : "",
                  v->type == CEL_GGUF_ARRAY ? cel_gguf_type_name(v->item_type) : "", cel_gguf_type_name(type));
}

static cel_status read_strings(const reader *r, const char *key, const cel_str **out, int64_t *n) {
  const cel_gguf_value *v;
  CEL_TRY(find_array(r, key, CEL_GGUF_STRING, &v));
  if (!v) return CEL_OK;
  cel_str *list = CEL_NEW_ARRAY(r->arena, cel_str, v->count);
  if (!list) return cel_fail_oom(r->err, key);
  const uint8_t *at = v->at;
  for (int64_t i = 0; i < v->count; i++) list[i] = cel_gguf_string_at(&at);
  *out = list;
  *n = v->count;
  return CEL_OK;
}

static cel_status check_count(const reader *r, const char *key, int64_t n, int64_t tokens) {
  if (n == tokens) return CEL_OK;
  return cel_fail(r->err, CEL_MALFORMED, "%s: metadata \"%s\" has %lld items, tokenizer.ggml.tokens has %lld", r->g->file,
                  key, (long long)n, (long long)tokens);
}

static cel_status read_scores(const reader *r, cel_gguf_vocab *v) {
  const cel_gguf_value *a;
  const char *key = "tokenizer.ggml.scores";
  CEL_TRY(find_array(r, key, CEL_GGUF_F32, &a));
  if (!a) return CEL_OK;
  CEL_TRY(check_count(r, key, a->count, v->n_tokens));
  float *list = CEL_NEW_ARRAY(r->arena, float, a->count);
  if (!list) return cel_fail_oom(r->err, key);
  cel_widen_f32(a->at, list, a->count);
  v->scores = list;
  return CEL_OK;
}

static cel_status read_types(const reader *r, cel_gguf_vocab *v) {
  const cel_gguf_value *a;
  const char *key = "tokenizer.ggml.token_type";
  CEL_TRY(find_array(r, key, CEL_GGUF_I32, &a));
  if (!a) return CEL_OK;
  CEL_TRY(check_count(r, key, a->count, v->n_tokens));
  int32_t *list = CEL_NEW_ARRAY(r->arena, int32_t, a->count);
  if (!list) return cel_fail_oom(r->err, key);
  for (int64_t i = 0; i < a->count; i++) list[i] = (int32_t)cel_load_u32(a->at + 4 * i);
  v->types = list;
  return CEL_OK;
}

static cel_status read_charsmap(const reader *r, cel_gguf_vocab *v) {
  const cel_gguf_value *a;
  const char *key = "tokenizer.ggml.precompiled_charsmap";
  const cel_gguf_value *any = cel_gguf_find(r->g, key);
  bool signed_bytes = any && any->type == CEL_GGUF_ARRAY && any->item_type == CEL_GGUF_I8;
  CEL_TRY(find_array(r, key, signed_bytes ? CEL_GGUF_I8 : CEL_GGUF_U8, &a));
  if (a) v->charsmap = (cel_str){(const char *)a->at, (size_t)a->count};
  return CEL_OK;
}

// Absent, -1 and 2^32 - 1 all mean none. `strict`: an id outside the vocabulary is an error (a wrong end
// id would run on for ever); otherwise it counts as none, as padding ids of older files are.
static cel_status read_id(const reader *r, const char *key, bool strict, int64_t n_tokens, int32_t *out) {
  int64_t id = -1;
  *out = -1;
  CEL_TRY(cel_gguf_int(r->g, key, &id, NULL, r->err));
  if (id == -1 || id == UINT32_MAX) return CEL_OK;
  if (id >= 0 && id < n_tokens && id <= INT32_MAX) {
    *out = (int32_t)id;
    return CEL_OK;
  }
  if (!strict) return CEL_OK;
  return cel_fail(r->err, CEL_MALFORMED, "%s: metadata \"%s\" is %lld, the vocabulary has %lld tokens", r->g->file, key,
                  (long long)id, (long long)n_tokens);
}

static cel_status read_flag(const reader *r, const char *key, int *out) {
  bool value = false, found;
  CEL_TRY(cel_gguf_bool(r->g, key, &value, &found, r->err));
  *out = found ? value : -1;
  return CEL_OK;
}

// Converters leave end-of-turn out where the original config lists several end ids; then the token is
// known by its text, as the templates of these families write it.
static int32_t end_of_turn_by_text(const cel_gguf_vocab *v) {
  static const char *const texts[] = {"<|im_end|>", "<|eot_id|>", "<end_of_turn>", "<|end|>", "<|end_of_turn|>"};
  enum { CONTROL = 3, USER_DEFINED = 4 };
  for (int64_t i = 0; i < v->n_tokens && v->types; i++) {
    if (v->types[i] != CONTROL && v->types[i] != USER_DEFINED) continue;
    for (int k = 0; k < CEL_COUNT(texts); k++) {
      if (cel_str_is(v->tokens[i], texts[k])) return (int32_t)i;
    }
  }
  return -1;
}

static cel_status read_ids(const reader *r, cel_gguf_vocab *v) {
  int64_t n = v->n_tokens;
  CEL_TRY(read_id(r, "tokenizer.ggml.bos_token_id", true, n, &v->bos));
  CEL_TRY(read_id(r, "tokenizer.ggml.eos_token_id", true, n, &v->eos));
  CEL_TRY(read_id(r, "tokenizer.ggml.eot_token_id", true, n, &v->eot));
  CEL_TRY(read_id(r, "tokenizer.ggml.eom_token_id", true, n, &v->eom));
  CEL_TRY(read_id(r, "tokenizer.ggml.unknown_token_id", false, n, &v->unk));
  CEL_TRY(read_id(r, "tokenizer.ggml.padding_token_id", false, n, &v->pad));
  CEL_TRY(read_id(r, "tokenizer.ggml.seperator_token_id", false, n, &v->sep));  // spelled so in the format
  CEL_TRY(read_id(r, "tokenizer.ggml.cls_token_id", false, n, &v->cls));
  CEL_TRY(read_flag(r, "tokenizer.ggml.add_bos_token", &v->add_bos));
  CEL_TRY(read_flag(r, "tokenizer.ggml.add_eos_token", &v->add_eos));
  CEL_TRY(read_flag(r, "tokenizer.ggml.add_space_prefix", &v->add_space_prefix));
  CEL_TRY(read_flag(r, "tokenizer.ggml.remove_extra_whitespaces", &v->merge_spaces));
  CEL_TRY(read_flag(r, "tokenizer.ggml.normalizer.lowercase", &v->lowercase));
  CEL_TRY(read_flag(r, "tokenizer.ggml.normalizer.strip_accents", &v->strip_accents));
  if (v->eot < 0) v->eot = end_of_turn_by_text(v);
  return CEL_OK;
}

cel_status cel_gguf_read_vocab(const cel_gguf *g, cel_arena *arena, const cel_gguf_vocab **out, cel_err *err) {
  reader r = {g, arena, err};
  *out = NULL;
  if (!cel_gguf_find(g, "tokenizer.ggml.tokens")) return CEL_OK;
  cel_gguf_vocab *v = CEL_NEW(arena, cel_gguf_vocab);
  if (!v) return cel_fail_oom(err, "a vocabulary");
  v->model = v->pre = v->charsmap = CEL_STR("");
  CEL_TRY(cel_gguf_string(g, "tokenizer.ggml.model", &v->model, NULL, err));
  CEL_TRY(cel_gguf_string(g, "tokenizer.ggml.pre", &v->pre, NULL, err));
  CEL_TRY(read_strings(&r, "tokenizer.ggml.tokens", &v->tokens, &v->n_tokens));
  CEL_TRY(read_strings(&r, "tokenizer.ggml.merges", &v->merges, &v->n_merges));
  CEL_TRY(read_scores(&r, v));
  CEL_TRY(read_types(&r, v));
  CEL_TRY(read_charsmap(&r, v));
  CEL_TRY(read_ids(&r, v));
  *out = v;
  return CEL_OK;
}
