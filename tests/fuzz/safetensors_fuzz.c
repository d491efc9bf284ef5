// links: cel_model
// Bytes as model.safetensors beside a config with quantization: listed, looked up as weights, and the first
// and last row of every weight widened.
#include <stdlib.h>
#include <string.h>

#include "model/checkpoint_private.h"
#include "model/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char config[] = "{\"quantization\": {\"group_size\": 64, \"bits\": 4, \"a\": {\"bits\": 8}, \"b\": "
                             "{\"group_size\": 32}}}";

static void check(bool holds) {
  if (!holds) abort();
}

static void check_inside(const cel_tensor *t, const uint8_t *data, size_t n) {
  const uint8_t *p = t->data;
  check(t->bytes >= 0 && p >= data && t->bytes <= (int64_t)n && p - data <= (int64_t)n - t->bytes);
}

static void use_weight(const cel_checkpoint *c, const char *module) {
  cel_weight w;
  cel_err err;
  if (cel_checkpoint_weight(c, module, &w, &err) != CEL_OK) return;
  check(w.rows > 0 && w.cols > 0);
  float *row = malloc((size_t)w.cols * sizeof *row);
  if (row) {
    cel_weight_row(&w, 0, row);
    cel_weight_row(&w, w.rows - 1, row);
  }
  free(row);
}

static cel_status open_bytes(cel_checkpoint *c, const uint8_t *data, size_t n, cel_err *err) {
  c->config = c->priv->config;
  CEL_TRY(cel_checkpoint_read_quantization(c, err));
  CEL_TRY(cel_safetensors_read(data, (int64_t)n, "fuzz", &c->priv->list, err));
  CEL_TRY(cel_tensor_list_sort(&c->priv->list, err));
  return cel_checkpoint_finish(c, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  cel_err err;
  cel_checkpoint *c = calloc(1, sizeof *c);
  check(c && (c->priv = calloc(1, sizeof *c->priv)));
  c->path = c->dir = "fuzz";
  c->priv->list.arena = &c->priv->arena;
  check(cel_json_parse(cel_str_of(config), "config", &c->priv->config, &err) == CEL_OK);
  cel_status s = open_bytes(c, data, n, &err);
  if (s == CEL_OK) {
    for (int64_t i = 0; i < c->n_tensors; i++) {
      check_inside(&c->tensors[i], data, n);
      check(cel_checkpoint_find(c, c->tensors[i].name) == &c->tensors[i]);
      if (c->priv->modules[i]) use_weight(c, c->priv->modules[i]);
    }
  } else {
    check(s != CEL_OOM && err.text[0] && !strchr(err.text, '\n'));
  }
  cel_checkpoint_close(c);
  return 0;
}
