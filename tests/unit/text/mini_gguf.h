// The tokenizer part of a GGUF file's metadata, read just well enough for tests of the tokenizer: a
// cel_gguf_vocab that points into the mapped file. Little-endian machines only; a file that is not what it
// should be ends the program.
#ifndef CEL_TEST_MINI_GGUF_H
#define CEL_TEST_MINI_GGUF_H

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/gguf_vocab.h"

typedef struct mini_gguf {
  cel_map map;
  cel_gguf_vocab vocab;
  cel_str *tokens, *merges;
  float *scores;
  int32_t *types;
} mini_gguf;

static inline const uint8_t *mini_need(const mini_gguf *g, const uint8_t *p, uint64_t n) {
  if (n > (uint64_t)(g->map.data + g->map.bytes - p)) {
    fprintf(stderr, "GGUF ends early\n");
    exit(2);
  }
  return p;
}
static inline uint64_t mini_u64(const mini_gguf *g, const uint8_t **p) {
  uint64_t v;
  memcpy(&v, mini_need(g, *p, 8), 8);
  *p += 8;
  return v;
}
static inline uint32_t mini_u32(const mini_gguf *g, const uint8_t **p) {
  uint32_t v;
  memcpy(&v, mini_need(g, *p, 4), 4);
  *p += 4;
  return v;
}
static inline cel_str mini_str(const mini_gguf *g, const uint8_t **p) {
  uint64_t n = mini_u64(g, p);
  cel_str s = {(const char *)mini_need(g, *p, n), (size_t)n};
  *p += n;
  return s;
}

enum { MINI_U8 = 0, MINI_BOOL = 7, MINI_STRING = 8, MINI_ARRAY = 9 };

static inline uint64_t mini_bytes_of(uint32_t type) {
  static const uint8_t bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return type < sizeof bytes ? bytes[type] : 0;
}

static inline void mini_array(mini_gguf *g, cel_str key, const uint8_t **p) {
  uint32_t type = mini_u32(g, p);
  uint64_t n = mini_u64(g, p);
  if (type == MINI_STRING) {
    cel_str *list = malloc((n + 1) * sizeof *list);
    for (uint64_t i = 0; i < n; i++) list[i] = mini_str(g, p);
    if (cel_str_is(key, "tokenizer.ggml.tokens")) {
      g->vocab.tokens = g->tokens = list;
      g->vocab.n_tokens = (int64_t)n;
    } else if (cel_str_is(key, "tokenizer.ggml.merges")) {
      g->vocab.merges = g->merges = list;
      g->vocab.n_merges = (int64_t)n;
    } else {
      free(list);
    }
    return;
  }
  uint64_t bytes = n * mini_bytes_of(type);
  mini_need(g, *p, bytes);
  void *copy = NULL;
  if (cel_str_is(key, "tokenizer.ggml.scores")) g->vocab.scores = g->scores = copy = malloc(bytes + 1);
  if (cel_str_is(key, "tokenizer.ggml.token_type")) g->vocab.types = g->types = copy = malloc(bytes + 1);
  if (copy) memcpy(copy, *p, bytes);
  *p += bytes;
}

static inline void mini_scalar(mini_gguf *g, cel_str key, uint32_t type, const uint8_t **p) {
  uint64_t bytes = mini_bytes_of(type);
  int32_t v = 0;
  memcpy(&v, mini_need(g, *p, bytes), bytes < 4 ? bytes : 4);
  *p += bytes;
  struct { const char *key; int32_t *to; } ids[] = {
      {"bos_token_id", &g->vocab.bos}, {"eos_token_id", &g->vocab.eos}, {"unknown_token_id", &g->vocab.unk},
      {"padding_token_id", &g->vocab.pad}, {"eot_token_id", &g->vocab.eot}, {"eom_token_id", &g->vocab.eom},
      {"add_bos_token", &g->vocab.add_bos}, {"add_eos_token", &g->vocab.add_eos},
      {"add_space_prefix", &g->vocab.add_space_prefix}};
  for (int i = 0; i < CEL_COUNT(ids); i++) {
    char name[64];
    snprintf(name, sizeof name, "tokenizer.ggml.%s", ids[i].key);
    if (cel_str_is(key, name)) *ids[i].to = v;
  }
}

static inline void mini_gguf_open(const char *path, mini_gguf *g) {
  cel_err err;
  *g = (mini_gguf){0};
  g->vocab.bos = g->vocab.eos = g->vocab.unk = g->vocab.pad = g->vocab.eot = g->vocab.eom = -1;
  g->vocab.add_bos = g->vocab.add_eos = g->vocab.add_space_prefix = -1;
  if (cel_map_open(path, &g->map, &err) != CEL_OK) {
    fprintf(stderr, "%s\n", err.text);
    exit(2);
  }
  const uint8_t *p = mini_need(g, g->map.data, 24) + 16;
  uint64_t n = mini_u64(g, &p);
  for (uint64_t i = 0; i < n; i++) {
    cel_str key = mini_str(g, &p);
    uint32_t type = mini_u32(g, &p);
    if (type == MINI_ARRAY) {
      mini_array(g, key, &p);
    } else if (type == MINI_STRING) {
      cel_str v = mini_str(g, &p);
      if (cel_str_is(key, "tokenizer.ggml.model")) g->vocab.model = v;
      if (cel_str_is(key, "tokenizer.ggml.pre")) g->vocab.pre = v;
    } else {
      mini_scalar(g, key, type, &p);
    }
  }
}

static inline void mini_gguf_close(mini_gguf *g) {
  free(g->tokens);
  free(g->merges);
  free(g->scores);
  free(g->types);
  cel_map_close(&g->map);
}

#endif
