// GGUF files made in tests, and what is made of them.
#ifndef TESTS_UNIT_MODEL_GGUF_RESULT_H
#define TESTS_UNIT_MODEL_GGUF_RESULT_H

#include "model_files.h"

#include "model/gguf_convert.h"

typedef struct result {
  cel_arena arena;
  cel_buf bytes;
  cel_gguf g;
  cel_tensor_list list;
  const cel_gguf_vocab *vocab;
  cel_json *config, *generation, *tokenizer;
  cel_err err;
  cel_status status;
} result;

static inline cel_status convert(result *r) {
  CEL_TRY(cel_gguf_read((const uint8_t *)r->bytes.p, (int64_t)r->bytes.n, "x.gguf", &r->arena, &r->g, &r->err));
  CEL_TRY(cel_gguf_check_kind(&r->g, &r->err));
  CEL_TRY(cel_gguf_tensors(&r->g, &r->list, &r->err));
  CEL_TRY(cel_tensor_list_sort(&r->list, &r->err));
  CEL_TRY(cel_gguf_read_vocab(&r->g, &r->arena, &r->vocab, &r->err));
  CEL_TRY(cel_gguf_config(&r->g, &r->list, r->vocab, &r->config, &r->err));
  CEL_TRY(cel_gguf_generation_config(&r->g, r->vocab, &r->generation, &r->err));
  return cel_gguf_tokenizer_config(r->vocab, &r->tokenizer, &r->err);
}

static inline void run(result *r, gguf_maker *m) {
  *r = (result){.bytes = gguf_done(m)};
  cel_arena_init(&r->arena);
  r->list.arena = &r->arena;
  r->status = convert(r);
}

static inline void run_well(result *r, gguf_maker *m) {
  run(r, m);
  if (r->status != CEL_OK) fail_msg("refused: %s", r->err.text);
}

static inline void result_free(result *r) {
  cel_json_decref(r->config);
  cel_json_decref(r->generation);
  cel_json_decref(r->tokenizer);
  cel_tensor_list_deinit(&r->list);
  cel_arena_deinit(&r->arena);
  cel_buf_deinit(&r->bytes);
}

static inline void refuses(gguf_maker *m, cel_status status, const char *a, const char *b) {
  result r;
  run(&r, m);
  assert_int_equal(r.status, status);
  assert_says(r.err.text, "x.gguf: ", a, b, NULL);
  result_free(&r);
}

static inline void num(gguf_maker *m, const char *arch, const char *suffix, uint32_t v) {
  char key[100];
  snprintf(key, sizeof key, "%s.%s", arch, suffix);
  kv_u32(m, key, v);
}
static inline void real(gguf_maker *m, const char *arch, const char *suffix, float v) {
  char key[100];
  snprintf(key, sizeof key, "%s.%s", arch, suffix);
  kv_f32(m, key, v);
}

// What every text model says: 2 layers, width 8, 4 heads of which 2 hold keys.
static inline gguf_maker model_of(const char *arch, uint32_t layers) {
  gguf_maker m = {0};
  kv_text(&m, "general.architecture", arch);
  num(&m, arch, "block_count", layers);
  num(&m, arch, "context_length", 128);
  num(&m, arch, "embedding_length", 8);
  num(&m, arch, "feed_forward_length", 12);
  num(&m, arch, "attention.head_count", 4);
  num(&m, arch, "attention.head_count_kv", 2);
  real(&m, arch, "attention.layer_norm_rms_epsilon", 1e-6f);
  tensor_f32(&m, "token_embd.weight", 8, 16);
  return m;
}

static inline void says_int(const cel_json *c, const char *key, int64_t want) {
  if (!cel_json_get(c, key)) fail_msg("%s is missing", key);
  assert_int_equal(cel_json_int(c, key, want + 1), want);
}
static inline void says_num(const cel_json *c, const char *key, double want) {
  if (!cel_json_get(c, key)) fail_msg("%s is missing", key);
  if (cel_json_num(c, key, 0) != want) fail_msg("%s is %.17g, not %.17g", key, cel_json_num(c, key, 0), want);
}
static inline void says_bool(const cel_json *c, const char *key, bool want) {
  assert_true(cel_json_is_boolean(cel_json_get(c, key)));
  assert_int_equal(cel_json_bool(c, key, !want), want);
}
static inline void says_text(const cel_json *c, const char *key, const char *want) {
  assert_string_equal(cel_json_string(c, key, "(missing)"), want);
}

#endif
