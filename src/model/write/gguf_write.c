#include "model/write/gguf_write.h"

#include <stdlib.h>

#include "base/checked.h"
#include "base/half.h"
#include "model/tensor_list.h"

enum { DEFAULT_ALIGNMENT = 32 };

// ---- values -------------------------------------------------------------------------------------------

static void put_u(cel_buf *b, uint64_t v, int bytes) {
  char word[8];
  for (int i = 0; i < bytes; i++) word[i] = (char)(v >> 8 * i & 255);
  cel_buf_add(b, word, (size_t)bytes);
}

static void put_text(cel_buf *b, cel_str s) {
  put_u(b, s.n, 8);
  cel_buf_adds(b, s);
}

static void begin(cel_gguf_head *h, cel_str key, cel_gguf_type type) {
  put_text(&h->values, key);
  put_u(&h->values, (uint64_t)type, 4);
  h->n++;
}

static void begin_list(cel_gguf_head *h, const char *key, cel_gguf_type items, int64_t n) {
  begin(h, cel_str_of(key), CEL_GGUF_ARRAY);
  put_u(&h->values, (uint64_t)items, 4);
  put_u(&h->values, (uint64_t)n, 8);
}

void cel_gguf_head_deinit(cel_gguf_head *h) {
  cel_buf_deinit(&h->values);
  h->n = 0;
}

void cel_gguf_add_u32(cel_gguf_head *h, const char *key, uint32_t v) {
  begin(h, cel_str_of(key), CEL_GGUF_U32);
  put_u(&h->values, v, 4);
}

void cel_gguf_add_i32(cel_gguf_head *h, const char *key, int32_t v) {
  begin(h, cel_str_of(key), CEL_GGUF_I32);
  put_u(&h->values, (uint32_t)v, 4);
}

void cel_gguf_add_f32(cel_gguf_head *h, const char *key, double v) {
  begin(h, cel_str_of(key), CEL_GGUF_F32);
  put_u(&h->values, cel_f32_bits((float)v), 4);
}

void cel_gguf_add_bool(cel_gguf_head *h, const char *key, bool v) {
  begin(h, cel_str_of(key), CEL_GGUF_BOOL);
  put_u(&h->values, v, 1);
}

void cel_gguf_add_string(cel_gguf_head *h, const char *key, cel_str v) {
  begin(h, cel_str_of(key), CEL_GGUF_STRING);
  put_text(&h->values, v);
}

void cel_gguf_add_strings(cel_gguf_head *h, const char *key, const cel_str *list, int64_t n) {
  begin_list(h, key, CEL_GGUF_STRING, n);
  for (int64_t i = 0; i < n; i++) put_text(&h->values, list[i]);
}

void cel_gguf_add_f32s(cel_gguf_head *h, const char *key, const float *list, int64_t n) {
  begin_list(h, key, CEL_GGUF_F32, n);
  for (int64_t i = 0; i < n; i++) put_u(&h->values, cel_f32_bits(list[i]), 4);
}

void cel_gguf_add_i32s(cel_gguf_head *h, const char *key, const int32_t *list, int64_t n) {
  begin_list(h, key, CEL_GGUF_I32, n);
  for (int64_t i = 0; i < n; i++) put_u(&h->values, (uint32_t)list[i], 4);
}

static void add_bytes(cel_gguf_head *h, const char *key, cel_str bytes) {
  begin_list(h, key, CEL_GGUF_U8, (int64_t)bytes.n);
  cel_buf_adds(&h->values, bytes);
}

void cel_gguf_add_bools(cel_gguf_head *h, const char *key, const bool *list, int64_t n) {
  begin_list(h, key, CEL_GGUF_BOOL, n);
  for (int64_t i = 0; i < n; i++) put_u(&h->values, list[i], 1);
}

// Where a checked value ends.
static const uint8_t *skip(const uint8_t *at, cel_gguf_type type, int64_t n) {
  int size = cel_gguf_type_bytes(type);
  if (size) return at + n * size;
  for (int64_t i = 0; i < n; i++) {
    if (type == CEL_GGUF_STRING) {
      cel_gguf_string_at(&at);
      continue;
    }
    cel_gguf_type inner = (cel_gguf_type)cel_gguf_int_at(CEL_GGUF_U32, at);
    at = skip(at + 12, inner, cel_gguf_int_at(CEL_GGUF_U64, at + 4));
  }
  return at;
}

void cel_gguf_add_value(cel_gguf_head *h, const cel_gguf_value *v) {
  bool list = v->type == CEL_GGUF_ARRAY;
  begin(h, v->key, v->type);
  if (list) put_u(&h->values, (uint64_t)v->item_type, 4), put_u(&h->values, (uint64_t)v->count, 8);
  const uint8_t *end = skip(v->at, list ? v->item_type : v->type, v->count);
  cel_buf_add(&h->values, (const char *)v->at, (size_t)(end - v->at));
}

void cel_gguf_add_vocab(cel_gguf_head *h, const cel_gguf_vocab *v) {
  const struct { const char *key; int32_t id; } ids[] = {
    {"tokenizer.ggml.bos_token_id", v->bos},     {"tokenizer.ggml.eos_token_id", v->eos},
    {"tokenizer.ggml.unknown_token_id", v->unk}, {"tokenizer.ggml.padding_token_id", v->pad},
    {"tokenizer.ggml.eot_token_id", v->eot},     {"tokenizer.ggml.eom_token_id", v->eom},
    {"tokenizer.ggml.seperator_token_id", v->sep}, {"tokenizer.ggml.cls_token_id", v->cls},  // spelled so in the format
  };
  const struct { const char *key; int value; } flags[] = {
    {"tokenizer.ggml.add_bos_token", v->add_bos}, {"tokenizer.ggml.add_eos_token", v->add_eos},
    {"tokenizer.ggml.add_space_prefix", v->add_space_prefix}, {"tokenizer.ggml.remove_extra_whitespaces", v->merge_spaces},
    {"tokenizer.ggml.normalizer.lowercase", v->lowercase}, {"tokenizer.ggml.normalizer.strip_accents", v->strip_accents},
  };
  cel_gguf_add_string(h, "tokenizer.ggml.model", v->model);
  if (v->pre.n) cel_gguf_add_string(h, "tokenizer.ggml.pre", v->pre);
  cel_gguf_add_strings(h, "tokenizer.ggml.tokens", v->tokens, v->n_tokens);
  if (v->scores) cel_gguf_add_f32s(h, "tokenizer.ggml.scores", v->scores, v->n_tokens);
  if (v->types) cel_gguf_add_i32s(h, "tokenizer.ggml.token_type", v->types, v->n_tokens);
  if (v->merges) cel_gguf_add_strings(h, "tokenizer.ggml.merges", v->merges, v->n_merges);
  for (int i = 0; i < CEL_COUNT(ids); i++) {
    if (ids[i].id >= 0) cel_gguf_add_u32(h, ids[i].key, (uint32_t)ids[i].id);
  }
  for (int i = 0; i < CEL_COUNT(flags); i++) {
    if (flags[i].value >= 0) cel_gguf_add_bool(h, flags[i].key, flags[i].value);
  }
  if (v->charsmap.n) add_bytes(h, "tokenizer.ggml.precompiled_charsmap", v->charsmap);
}

// ---- the file -----------------------------------------------------------------------------------------

static cel_status add_info(cel_buf *b, const cel_piece *p, cel_err *err) {
  int rank = p->rank ? p->rank : 1;  // a scalar has no rank here
  int type = cel_dtype_of(p->dtype)->gguf_type;
  if (type < 0 || rank > CEL_GGUF_MAX_RANK || p->bytes == 0) {
    return cel_fail(err, CEL_UNSUPPORTED, "tensor \"%s\" (%s %s) cannot be in a GGUF file: it has types F64 F32 F16 BF16, I8 to I64 "
                    "and blocks, up to %d dimensions, none of them 0", cel_show(cel_str_of(p->name)).text,
                    cel_dtype_of(p->dtype)->name, cel_show_dims(p->dims, p->rank).text, (int)CEL_GGUF_MAX_RANK);
  }
  put_text(b, cel_str_of(p->name));
  put_u(b, (uint64_t)rank, 4);
  for (int i = rank - 1; i >= 0; i--) put_u(b, p->rank ? (uint64_t)p->dims[i] : 1, 8);  // innermost first
  put_u(b, (uint64_t)type, 4);
  put_u(b, (uint64_t)p->offset, 8);
  return CEL_OK;
}

static cel_status set_offsets(cel_write_plan *p, int64_t alignment, int64_t *end, cel_err *err) {
  *end = 0;
  for (int64_t i = 0; i < p->n; i++) {
    for (int k = 0; k < p->moves[i].n_pieces; k++) {
      cel_piece *piece = &p->moves[i].pieces[k];
      if (!cel_align_i64(*end, alignment, &piece->offset) || !cel_add_i64(piece->offset, piece->bytes, end)) {
        return cel_fail(err, CEL_UNSUPPORTED, "more bytes than a file can have");
      }
    }
  }
  return cel_align_i64(*end, alignment, end) ? CEL_OK : cel_fail(err, CEL_UNSUPPORTED, "more bytes than a file can have");
}

static cel_status make_head(const cel_write_plan *p, const cel_gguf_head *h, int64_t alignment, cel_buf *b, cel_err *err) {
  int64_t pieces = 0;
  for (int64_t i = 0; i < p->n; i++) pieces += p->moves[i].n_pieces;
  cel_buf_addz(b, "GGUF");
  put_u(b, 3, 4);
  put_u(b, (uint64_t)pieces, 8);
  put_u(b, (uint64_t)h->n, 8);
  cel_buf_adds(b, cel_buf_str(&h->values));
  for (int64_t i = 0; i < p->n; i++) {
    for (int k = 0; k < p->moves[i].n_pieces; k++) CEL_TRY(add_info(b, &p->moves[i].pieces[k], err));
  }
  while (b->n % (size_t)alignment != 0 && !b->failed) cel_buf_addc(b, 0);
  return b->failed || h->values.failed ? cel_fail_oom(err, "a GGUF header") : CEL_OK;
}

cel_status cel_gguf_head_bytes(const cel_gguf_head *h, cel_buf *out, cel_err *err) {
  return make_head(&(cel_write_plan){0}, h, DEFAULT_ALIGNMENT, out, err);
}

cel_status cel_gguf_begin(cel_write_plan *p, const cel_gguf_head *h, cel_out *out, int *file, cel_err *err) {
  int64_t end, alignment = h->alignment ? h->alignment : DEFAULT_ALIGNMENT;
  cel_buf head = {0};
  p->n_files = 1;
  CEL_TRY(set_offsets(p, alignment, &end, err));
  cel_status s = make_head(p, h, alignment, &head, err);
  if (s == CEL_OK) s = cel_out_add(out, NULL, (int64_t)head.n + end, file, err);
  if (s == CEL_OK) s = cel_out_put(out, *file, 0, head.p, (int64_t)head.n, err);
  for (int64_t i = 0; i < p->n; i++) {
    for (int k = 0; k < p->moves[i].n_pieces; k++) p->moves[i].pieces[k].offset += (int64_t)head.n;
  }
  cel_buf_deinit(&head);
  return s;
}
