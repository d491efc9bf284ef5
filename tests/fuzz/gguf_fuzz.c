// links: cel_model
// Bytes as a GGUF file: read, converted, and everything that came out touched.
#include <stdlib.h>
#include <string.h>

#include "model/gguf_convert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check(bool holds) {
  if (!holds) abort();
}

static unsigned touch(cel_str s) {
  unsigned sum = 0;
  for (size_t i = 0; i < s.n; i++) sum += (unsigned char)s.p[i];
  return sum;
}

static void use_vocab(const cel_gguf_vocab *v) {
  volatile unsigned sum = touch(v->model) + touch(v->pre);
  for (int64_t i = 0; i < v->n_tokens; i++) {
    sum += touch(v->tokens[i]) + (v->scores ? v->scores[i] > 0 : 0) + (v->types ? v->types[i] == 3 : 0);
  }
  for (int64_t i = 0; i < v->n_merges; i++) sum += touch(v->merges[i]);
  (void)sum;  // volatile: the reads stay
  const int32_t ids[] = {v->bos, v->eos, v->unk, v->pad, v->eot, v->eom};
  for (int i = 0; i < 6; i++) check(ids[i] >= -1 && ids[i] < v->n_tokens);
}

static void use_tensor(const cel_tensor *t, const uint8_t *data, size_t n) {
  const uint8_t *p = t->data;
  const cel_dtype_traits *traits = cel_dtype_of(t->dtype);
  check(t->bytes > 0 && p >= data && t->bytes <= (int64_t)n && p - data <= (int64_t)n - t->bytes);
  int64_t cols = t->dims[t->rank - 1], row_bytes = cols / traits->block * traits->block_bytes;
  check(cols > 0 && t->bytes % row_bytes == 0);
  if (!traits->widen) return;
  float *row = malloc((size_t)cols * sizeof *row);
  if (row) traits->widen(p + t->bytes - row_bytes, row, cols);
  free(row);
}

typedef struct made {
  cel_arena arena;
  cel_gguf g;
  cel_tensor_list list;
  const cel_gguf_vocab *vocab;
  cel_json *config, *generation, *tokenizer;
} made;

static cel_status convert(made *m, const uint8_t *data, size_t n, cel_err *err) {
  CEL_TRY(cel_gguf_read(data, (int64_t)n, "fuzz", &m->arena, &m->g, err));
  CEL_TRY(cel_gguf_check_kind(&m->g, err));
  CEL_TRY(cel_gguf_tensors(&m->g, &m->list, err));
  CEL_TRY(cel_tensor_list_sort(&m->list, err));
  for (int64_t i = 0; i < m->list.n; i++) use_tensor(&m->list.items[i], data, n);
  CEL_TRY(cel_gguf_read_vocab(&m->g, &m->arena, &m->vocab, err));
  if (m->vocab) use_vocab(m->vocab);
  CEL_TRY(cel_gguf_config(&m->g, &m->list, m->vocab, &m->config, err));
  check(cel_json_is_object(m->config));
  CEL_TRY(cel_gguf_generation_config(&m->g, m->vocab, &m->generation, err));
  return cel_gguf_tokenizer_config(m->vocab, &m->tokenizer, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  made m = {.list.arena = &m.arena};
  cel_err err = {0};
  cel_status s = convert(&m, data, n, &err);
  if (s != CEL_OK) check(s != CEL_OOM && err.text[0] && !strchr(err.text, '\n'));
  check(m.arena.total_bytes < 16 * n + (1 << 16));  // nothing is taken for what the bytes only claim
  cel_json_decref(m.config);
  cel_json_decref(m.generation);
  cel_json_decref(m.tokenizer);
  cel_tensor_list_deinit(&m.list);
  cel_arena_deinit(&m.arena);
  return 0;
}
