// Tensors of a folder that GGUF keeps as lists in its metadata, a number for each layer.
#include "base/macros.h"
#include "model/write/conversion_private.h"

static const struct { cel_weight_role role; const char *key; } lists[] = {
  {CEL_W_ACT_ALPHA_P, "xielu.alpha_p"}, {CEL_W_ACT_ALPHA_N, "xielu.alpha_n"}, {CEL_W_ACT_BETA, "xielu.beta"}, {CEL_W_ACT_EPS, "xielu.eps"},
};

bool cel_conversion_in_metadata(cel_weight_role role) {
  for (int i = 0; i < CEL_COUNT(lists); i++) {
    if (lists[i].role == role) return true;
  }
  return false;
}

static cel_status read_number(const cel_conversion *v, cel_weight_role role, int layer, float *out, cel_err *err) {
  char name[200];
  cel_weight w;
  bool skip;
  const cel_tensor *t = cel_arch_weight_name(&v->arch, role, layer, name, sizeof name) ? cel_checkpoint_find(v->c, name) : NULL;
  if (!t) return cel_fail(err, CEL_NOT_FOUND, "%s: tensor \"%s\" is missing", v->c->path, name);
  CEL_TRY(cel_write_plan_source(v->c, t, &w, &skip, err));
  if (!skip && w.rows == 1 && w.cols == 1 && cel_dtype_of(t->dtype)->widen) return cel_weight_row(&w, 0, out), CEL_OK;
  return cel_fail(err, CEL_MALFORMED, "%s: tensor \"%s\" is %s %s; one number is needed", t->file, name, cel_dtype_of(t->dtype)->name,
                  cel_show_dims(t->dims, t->rank).text);
}

cel_status cel_conversion_put_metadata(cel_conversion *v, cel_err *err) {
  const cel_arch *a = &v->arch;
  float *values = CEL_NEW_ARRAY(&v->arena, float, a->n_layers);
  if (!values) return cel_fail_oom(err, "GGUF metadata");
  for (int k = 0; k < CEL_COUNT(lists); k++) {
    if (!a->names[lists[k].role]) continue;
    for (int i = 0; i < a->n_layers; i++) CEL_TRY(read_number(v, lists[k].role, i, &values[i], err));
    cel_gguf_add_f32s(&v->head, lists[k].key, values, a->n_layers);
  }
  return CEL_OK;
}
