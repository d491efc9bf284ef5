// A config with a quantization block over matrices whose shapes the input chooses. 12 bytes for each of two modules
// (rows, words, groups, types: see take), then config.json. What is accepted must fit its bytes: every row is widened.
// links: cel_model
#include <stdlib.h>
#include <string.h>

#include "model/checkpoint_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { HEAD = 12, MODULES = 2 };
static const char *const modules[MODULES] = {"model.embed_tokens", "model.layers.0.mlp.up_proj"};
static const cel_dtype types[] = {CEL_DT_F32, CEL_DT_F16, CEL_DT_BF16, CEL_DT_U8, CEL_DT_U32, CEL_DT_F64, CEL_DT_I32, CEL_DT_BOOL};

static void check(bool holds) {
  if (!holds) abort();
}

typedef struct made {
  cel_checkpoint *c;
  void *blocks[3 * MODULES];
  int n_blocks;
} made;

static cel_status add(made *m, const char *module, const char *part, cel_dtype type, const int64_t *dims, int rank, cel_err *err) {
  const cel_dtype_traits *t = cel_dtype_of(type);
  cel_tensor x = {.dtype = type, .rank = rank, .file = "fuzz", .bytes = t->block_bytes};
  for (int i = 0; i < rank; i++) x.bytes *= x.dims[i] = dims[i];
  void *block = malloc((size_t)x.bytes + 1);  // of its size, so that reading on is seen
  check(block != NULL);
  memset(block, 0x3C, (size_t)x.bytes);
  m->blocks[m->n_blocks++] = block;
  x.data = block;
  return cel_tensor_list_add(&m->c->priv->list, &x, cel_str_of(module), cel_str_of(part), err);
}

// rows, rows of the scales, columns of words, of scales and of biases; types; which parts are there
static cel_status take(made *m, const char *module, const uint8_t *p, cel_err *err) {
  int64_t rows = p[0] % 8, words = p[1] | (p[2] & 1) << 8, groups = p[3] % 65, scale_rows = p[4] < 200 ? rows : p[4] % 8;
  int rank = p[5] < 200 ? 2 : 1 + p[5] % 3;
  CEL_TRY(add(m, module, ".weight", types[p[6] % 8], (int64_t[]){rows, words, 2}, rank, err));
  if (p[7] < 240) CEL_TRY(add(m, module, ".scales", types[p[8] % 8], (int64_t[]){scale_rows, groups, 2}, rank, err));
  if (p[9] < 160) CEL_TRY(add(m, module, ".biases", types[p[10] % 8], (int64_t[]){scale_rows, p[11] < 200 ? groups : p[11] % 65, 2}, rank, err));
  return CEL_OK;
}

static void use_weight(const cel_checkpoint *c, const char *module) {
  cel_weight w;
  cel_err err = {0};
  if (cel_checkpoint_weight(c, module, &w, &err) != CEL_OK) {
    check(err.text[0] && !strchr(err.text, '\n'));
    return;
  }
  check(w.rows > 0 && w.cols > 0 && w.cols < 1 << 20);
  float *row = malloc((size_t)w.cols * sizeof *row);
  check(row != NULL);
  for (int64_t r = 0; r < w.rows; r++) cel_weight_row(&w, r, row);
  free(row);
}

static cel_status open_bytes(made *m, const uint8_t *data, size_t n, cel_err *err) {
  cel_checkpoint *c = m->c;
  size_t head = (size_t)HEAD * MODULES;
  CEL_TRY(cel_json_parse((cel_str){(const char *)data + head, n - head}, "config.json", &c->priv->config, err));
  c->config = c->priv->config;
  CEL_TRY(cel_checkpoint_read_quantization(c, err));
  for (int i = 0; i < MODULES; i++) CEL_TRY(take(m, modules[i], data + (size_t)i * HEAD, err));
  CEL_TRY(cel_tensor_list_sort(&c->priv->list, err));
  return cel_checkpoint_finish(c, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  if (n < (size_t)HEAD * MODULES) return 0;
  made m = {.c = calloc(1, sizeof *m.c)};
  cel_err err = {0};
  check(m.c && (m.c->priv = calloc(1, sizeof *m.c->priv)));
  m.c->path = m.c->dir = "fuzz";
  m.c->priv->list.arena = &m.c->priv->arena;
  if (open_bytes(&m, data, n, &err) == CEL_OK) {
    for (int i = 0; i < MODULES; i++) use_weight(m.c, modules[i]);
  } else {
    check(err.text[0] && !strchr(err.text, '\n'));
  }
  cel_checkpoint_close(m.c);
  for (int i = 0; i < m.n_blocks; i++) free(m.blocks[i]);
  return 0;
}
