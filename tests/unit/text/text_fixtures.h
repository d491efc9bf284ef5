// What tests of text/ share: fixtures of tests/data/tokenizer, tokenizers made of them, and comparing.
#ifndef CEL_TEST_TEXT_FIXTURES_H
#define CEL_TEST_TEXT_FIXTURES_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "text/tokenizer.h"

static inline cel_json *load_json(const char *name) {
  char path[512];
  cel_err err = {0};
  cel_json *json;
  snprintf(path, sizeof path, CEL_TEST_DATA "/data/tokenizer/%s", name);
  if (cel_json_load(path, 1 << 28, &json, &err) != CEL_OK) fail_msg("%s", err.text);
  return json;
}

static inline cel_json *parse_json(const char *text) {
  cel_err err = {0};
  cel_json *json;
  if (cel_json_parse(cel_str_of(text), "test", &json, &err) != CEL_OK) fail_msg("%s", err.text);
  return json;
}

static inline cel_tokenizer *make_tokenizer(const cel_json *json, const char *name) {
  cel_err err = {0};
  cel_tokenizer *t;
  if (cel_tokenizer_from_json(json, NULL, name, &t, &err) != CEL_OK) fail_msg("%s", err.text);
  return t;
}

static inline cel_tokenizer *load_tokenizer(const char *file) {
  cel_json *json = load_json(file);
  cel_tokenizer *t = make_tokenizer(json, file);
  cel_json_decref(json);
  return t;
}

static inline cel_str json_text(const cel_json *v) { return (cel_str){cel_json_string_value(v), cel_json_string_length(v)}; }

static inline void ids_are(const char *what, cel_str text, const int32_t *ids, int64_t n, const int32_t *want,
                           size_t n_want) {
  bool same = n == (int64_t)n_want;
  for (size_t i = 0; same && i < n_want; i++) same = ids[i] == want[i];
  if (same) return;
  char got[1024] = "", right[1024] = "";
  for (int64_t i = 0; i < n && strlen(got) < 1000; i++)
    snprintf(got + strlen(got), sizeof got - strlen(got), "%d ", ids[i]);
  for (size_t i = 0; i < n_want && strlen(right) < 1000; i++)
    snprintf(right + strlen(right), sizeof right - strlen(right), "%d ", want[i]);
  fail_msg("%s: \"%.*s\" gives %s, right is %s", what, CEL_STR_ARG(text), got, right);
}

static inline void encodes(const cel_tokenizer *t, const char *what, cel_str text, cel_encode_options how,
                           const int32_t *want, size_t n_want) {
  cel_err err = {0};
  int32_t *ids;
  int64_t n;
  if (cel_encode(t, text, how, &ids, &n, &err) != CEL_OK) fail_msg("%s: %s", what, err.text);
  ids_are(what, text, ids, n, want, n_want);
  free(ids);
}

// Plain text, special tokens parsed, nothing added.
#define ENCODES(t, text, ...)                                                                            \
  encodes(t, __func__, CEL_STR(text), (cel_encode_options){.parse_special = true}, (int32_t[]){__VA_ARGS__}, \
          sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

// A JSON list of ids as an array; free() it.
static inline int32_t *json_ids(const cel_json *list, size_t *n) {
  *n = cel_json_array_size(list);
  int32_t *ids = malloc((*n + 1) * sizeof *ids);
  for (size_t i = 0; i < *n; i++) ids[i] = (int32_t)cel_json_integer_value(cel_json_array_get(list, i));
  return ids;
}

#endif
