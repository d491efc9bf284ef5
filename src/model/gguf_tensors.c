// GGUF tensor infos -> canonical tensors.
#include "model/gguf_convert.h"
#include "model/names.h"

// Families with norms before and after both halves of a block.
static bool has_sandwich_norms(const cel_gguf *g) {
  const cel_gguf_value *v = cel_gguf_find(g, "general.architecture");
  if (!v || v->type != CEL_GGUF_STRING) return false;
  const uint8_t *at = v->at;
  cel_str arch = cel_gguf_string_at(&at);
  return cel_str_is(arch, "gemma2") || cel_str_is(arch, "gemma3");
}

cel_status cel_gguf_tensors(const cel_gguf *g, cel_tensor_list *out, cel_err *err) {
  bool sandwich = has_sandwich_norms(g);
  for (int64_t i = 0; i < g->n_tensors; i++) {
    const cel_gguf_tensor *from = &g->tensors[i];
    char name[512];
    if (!cel_name_from_gguf(from->name, sandwich, name, sizeof name)) {
      return cel_fail(err, CEL_MALFORMED, "%s: tensor \"%s\": a name of %zu bytes; at most %zu are read", g->file,
                      cel_show(from->name).text, from->name.n, sizeof name - 64);
    }
    cel_tensor t = {.dtype = from->dtype, .rank = from->rank, .data = g->data + from->offset, .bytes = from->bytes,
                    .file = g->file};
    for (int k = 0; k < t.rank; k++) t.dims[k] = from->dims[t.rank - 1 - k];
    CEL_TRY(cel_tensor_list_add(out, &t, CEL_STR(""), cel_str_of(name), err));
  }
  return CEL_OK;
}

cel_status cel_gguf_check_kind(const cel_gguf *g, cel_err *err) {
  cel_str type = CEL_STR("model");
  CEL_TRY(cel_gguf_string(g, "general.type", &type, NULL, err));
  if (cel_str_is(type, "model")) return CEL_OK;
  return cel_fail(err, CEL_UNSUPPORTED, "%s: general.type is \"%s\"; only whole models are read", g->file,
                  cel_show(type).text);
}
