// Checkpoints that mix widths: what bits and groups a matrix has follows from its shapes, and the config must agree.
// The shapes are those of published models, so only the tensors' heads are here; nobody reads their bytes.
#define _XOPEN_SOURCE 700
#include "model_files.h"

#include "model/checkpoint_private.h"

typedef struct made {
  cel_checkpoint *c;
  cel_err err;
} made;

static void add(made *m, const char *name, cel_dtype type, int64_t rows, int64_t cols) {
  static const uint8_t nowhere[1];
  cel_tensor t = {.dtype = type, .rank = 2, .dims = {rows, cols}, .data = nowhere, .file = "w.safetensors"};
  t.bytes = rows * cols * cel_dtype_of(type)->block_bytes;
  assert_int_equal(cel_tensor_list_add(&m->c->priv->list, &t, cel_str_of(name), CEL_STR(""), &m->err), CEL_OK);
}

static cel_status look(const char *config, const char *module, int64_t rows, int64_t words, int64_t groups, cel_weight *w, cel_err *err) {
  static const char *const parts[] = {".weight", ".scales", ".biases"};
  made m = {.c = calloc(1, sizeof *m.c)};
  assert_non_null(m.c);
  assert_non_null(m.c->priv = calloc(1, sizeof *m.c->priv));
  cel_arena_init(&m.c->priv->arena);
  m.c->priv->list.arena = &m.c->priv->arena;
  m.c->path = m.c->dir = "m";
  for (int i = 0; i < 3; i++) {
    char name[200];
    snprintf(name, sizeof name, "%s%s", module, parts[i]);
    add(&m, name, i ? CEL_DT_BF16 : CEL_DT_U32, rows, i ? groups : words);
  }
  cel_status s = cel_json_parse(cel_str_of(config), "config.json", &m.c->priv->config, err);
  m.c->config = m.c->priv->config;
  if (s == CEL_OK) s = cel_checkpoint_read_quantization(m.c, err);
  if (s == CEL_OK) s = cel_tensor_list_sort(&m.c->priv->list, err);
  if (s == CEL_OK) s = cel_checkpoint_finish(m.c, err);
  if (s == CEL_OK) s = cel_checkpoint_weight(m.c, module, w, err);
  cel_checkpoint_close(m.c);
  return s;
}

static void is(const char *config, const char *module, int64_t rows, int64_t words, int64_t groups, int bits, int group) {
  cel_weight w;
  cel_err err = {0};
  if (look(config, module, rows, words, groups, &w, &err) != CEL_OK) fail_msg("%s: %s", config, err.text);
  if (w.bits != bits || w.group != group || w.cols != groups * group) {
    fail_msg("%s: %d bits in groups of %d, %lld columns", config, w.bits, w.group, (long long)w.cols);
  }
}

static void published_shapes_give_their_bits(void **state) {
  (void)state;
  const char *up = "model.layers.0.mlp.up_proj", *embed = "model.embed_tokens";
  is("{\"quantization\":{\"group_size\":128,\"bits\":6}}", up, 10240, 960, 40, 6, 128);
  is("{\"quantization\":{\"group_size\":64,\"bits\":8}}", embed, 262144, 704, 44, 8, 64);
  // The default is for the others; the override says what this one is, under any form of its path.
  is("{\"quantization\":{\"group_size\":64,\"bits\":4,\"model.embed_tokens\":{\"group_size\":64,\"bits\":8}}}", embed, 262144, 704, 44, 8, 64);
  is("{\"quantization\":{\"group_size\":64,\"bits\":4,\"embed_tokens\":{\"group_size\":64,\"bits\":8}}}", embed, 262144, 704, 44, 8, 64);
  is("{\"quantization\":{\"group_size\":64,\"bits\":4,\"language_model.model.embed_tokens\":{\"group_size\":64,\"bits\":8}}}", embed, 262144, 704, 44, 8, 64);
  is("{\"quantization\":{\"group_size\":64,\"bits\":4,\"model.embed_tokens\":{\"group_size\":64,\"bits\":8}}}", up, 10240, 320, 40, 4, 64);
}

static void a_config_that_contradicts_names_tensor_and_both_shapes(void **state) {
  (void)state;
  cel_weight w;
  cel_err err = {0};
  assert_int_equal(look("{\"quantization\":{\"group_size\":64,\"bits\":4}}", "model.embed_tokens", 262144, 704, 44, &w, &err), CEL_MALFORMED);
  assert_says(err.text, "model.embed_tokens.weight", "[262144, 704]", "[262144, 44]", "4 bits in groups of 64", NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(published_shapes_give_their_bits),
      cmocka_unit_test(a_config_that_contradicts_names_tensor_and_both_shapes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
