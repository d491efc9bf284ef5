// GGUF tensor infos -> canonical tensors.
#include "model/gguf_reading.h"

cel_status cel_gguf_tensors(const cel_gguf *g, cel_tensor_list *out, cel_err *err) {
  const cel_gguf_arch *arch = cel_gguf_find_arch(g);
  for (int64_t i = 0; i < g->n_tensors; i++) {
    const cel_gguf_tensor *from = &g->tensors[i];
    char name[512];
    if (!cel_name_from_gguf(from->name, arch ? arch->names : NULL, name, sizeof name)) {
      return cel_fail(err, CEL_MALFORMED, "%s: tensor \"%s\": a name of %zu bytes; at most %zu are read", g->file,
                      cel_show(from->name).text, from->name.n, sizeof name - 64);
    }
    cel_tensor t = {.dtype = from->dtype, .rank = from->rank, .data = g->data + from->offset, .bytes = from->bytes,
                    .file = g->file};
    for (int k = 0; k < t.rank; k++) t.dims[k] = from->dims[t.rank - 1 - k];
    CEL_TRY(cel_tensor_list_add(out, &t, CEL_STR(""), cel_str_of(name), err));
  }
  return arch && arch->tensors ? arch->tensors(g, out, err) : CEL_OK;
}

cel_status cel_gguf_check_kind(const cel_gguf *g, cel_err *err) {
  cel_str type = CEL_STR("model");
  CEL_TRY(cel_gguf_string(g, "general.type", &type, NULL, err));
  if (cel_str_is(type, "model")) return CEL_OK;
  return cel_fail(err, CEL_UNSUPPORTED, "%s: general.type is \"%s\"; only whole models are read", g->file,
                  cel_show(type).text);
}
