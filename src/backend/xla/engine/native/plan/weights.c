// What a composite's weight operands are to the kernels: a format, and bytes where they are bound.
#include <string.h>

#include "backend/xla/engine/native/plan/plan.h"

const cel_hlo_attr *cel_plan_attribute(const cel_hlo_op *op, const char *name) {
  const cel_hlo_attr *dict = cel_hlo_find_attr(op, "composite_attributes");
  return dict ? cel_hlo_dict_get(dict, name) : NULL;
}

static int64_t int_of(const cel_hlo_op *op, const char *name) {
  const cel_hlo_attr *a = cel_plan_attribute(op, name);
  return a && a->kind == CEL_HLO_ATTR_INT ? a->i : 0;
}

static bool is_float(cel_etype t) { return t == CEL_ET_F32 || t == CEL_ET_F16 || t == CEL_ET_BF16; }

static int64_t last_dim(const cel_hlo_type *t) { return t->dims[t->rank - 1]; }

// t is w but for its last dimension, which is `cols`.
static bool beside(const cel_hlo_type *w, const cel_hlo_type *t, int64_t cols) {
  if (t->rank != w->rank || last_dim(t) != cols) return false;
  for (int i = 0; i + 1 < t->rank; i++) {
    if (t->dims[i] != w->dims[i]) return false;
  }
  return true;
}

// MLX: words, scales and biases of the sizes that bits and group ask for, and bits and group that kernels know.
static bool fits_words(const cel_hlo_op *op, int first, int n, cel_linear_format f, int64_t cols) {
  bool affine = f == CEL_LIN_AFFINE, any_group = affine || f == CEL_LIN_FP8;
  if (n != (affine ? 3 : 2)) return false;
  const cel_hlo_type *w = op->operands[first]->type, *s = op->operands[first + 1]->type;
  int64_t bits = int_of(op, "bits"), group = int_of(op, "group");
  if (w->etype != CEL_ET_UI32 || bits < 2 || bits > 8 || bits == 7) return false;
  if (any_group && group != 32 && group != 64 && group != 128) return false;
  if (!affine && bits != (f == CEL_LIN_MLX_MXFP8 || f == CEL_LIN_FP8 ? 8 : 4)) return false;
  if (!any_group && group != (f == CEL_LIN_MLX_NVFP4 ? 16 : 32)) return false;
  if (cols % 32 || cols % group || last_dim(w) != cols / 32 * bits || !beside(w, s, cols / group)) return false;
  if (!affine) return s->etype == (f == CEL_LIN_FP8 ? CEL_ET_F32 : CEL_ET_UI8);
  const cel_hlo_type *b = op->operands[first + 2]->type;
  return is_float(s->etype) && b->etype == s->etype && beside(w, b, cols / group);
}

bool cel_plan_weight_format(const cel_hlo_op *op, int first, int n, int64_t cols, cel_linear_format *out) {
  const cel_hlo_attr *name = cel_plan_attribute(op, "format");
  const cel_hlo_type *w = n > 0 ? op->operands[first]->type : NULL;
  if (!w || w->rank < 2 || w->rank > 3 || !name || name->kind != CEL_HLO_ATTR_STRING) return false;
  for (int i = 0; i < CEL_LIN_FORMATS; i++) {
    const cel_linear_traits *t = cel_linear_traits_of((cel_linear_format)i);
    if (strcmp(name->s, t->name) != 0) continue;
    *out = (cel_linear_format)i;
    if (!t->block) return fits_words(op, first, n, *out, cols);
    if (n != 1 || cols % t->block) return false;
    if (t->block > 1) return w->etype == CEL_ET_UI8 && last_dim(w) == cols / t->block * t->block_bytes;
    cel_etype type = i == CEL_LIN_F16 ? CEL_ET_F16 : i == CEL_LIN_BF16 ? CEL_ET_BF16 : CEL_ET_F32;
    return w->etype == type && last_dim(w) == cols;
  }
  return false;
}

bool cel_plan_weight(const cel_plan *p, const cel_node *node, int first, int n, int64_t cols, cel_linear *out) {
  const cel_hlo_op *op = node->op;
  cel_linear_format format;
  if (!cel_plan_weight_format(op, first, n, cols, &format)) return false;
  const cel_hlo_type *w = op->operands[first]->type;
  *out = (cel_linear){.format = format, .precision = p->precision, .rows = w->dims[w->rank - 2], .cols = cols,
                      .w_row_bytes = last_dim(w) * cel_etype_bytes(w->etype)};
  if (cel_linear_traits_of(format)->block) return true;
  cel_etype scale = op->operands[first + 1]->type->etype;
  out->scale_type = scale == CEL_ET_F16 ? CEL_LIN_F16 : scale == CEL_ET_BF16 ? CEL_LIN_BF16 : CEL_LIN_F32;
  out->bits = (int)int_of(op, "bits");
  out->group = (int)int_of(op, "group");
  return true;
}

const uint8_t *cel_plan_bytes(const cel_plan *p, int slot) {
  const cel_slot *s = &p->slots[cel_plan_root(p, slot)];
  if (s->kind == CEL_SLOT_PARAM) return p->weights[s->index];
  return s->kind == CEL_SLOT_CONST && !s->splat ? s->data : NULL;
}
