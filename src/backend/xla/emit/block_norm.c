// Norms over the last dimension, in f32. RMSNorm (Zhang and Sennrich 2019): x * rsqrt(mean(x^2) + eps) * (plus + w),
// plus is 1 for Gemma's stored form. LayerNorm (Ba et al. 2016): the mean taken off first, biased variance, weight and
// bias where the family has them.
#include "backend/xla/emit/emit_internal.h"

hlo cel_emit_along_last(cel_hlo_builder *b, hlo v, hlo like) {
  if (!v || !like) return NULL;
  int64_t map[1] = {like->type->rank - 1};
  return cel_hlo_broadcast(b, v, like->type->rank, like->type->dims, map);
}

hlo cel_emit_along_rows(cel_hlo_builder *b, hlo v, hlo like) {
  if (!v || !like) return NULL;
  static const int64_t map[CEL_HLO_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
  return cel_hlo_broadcast(b, v, like->type->rank, like->type->dims, map);
}

hlo cel_emit_row_mean(cel_hlo_builder *b, hlo x) {
  if (!x) return NULL;
  int64_t last = x->type->rank - 1;
  return cel_hlo_binary_scalar(b, CEL_HLO_DIVIDE, cel_hlo_reduce(b, CEL_HLO_ADD, x, &last, 1), (double)x->type->dims[last]);
}

// Of attention scores and of the final logits.
hlo cel_emit_softcap(cel_hlo_builder *b, hlo x, double cap) {
  if (cap <= 0) return x;
  x = cel_hlo_unary(b, CEL_HLO_TANH, cel_hlo_binary_scalar(b, CEL_HLO_DIVIDE, x, cap));
  return cel_hlo_binary_scalar(b, CEL_HLO_MULTIPLY, x, cap);
}

static const cel_hlo_func *decomposition(cel_emit *e, hlo x, hlo weight, double plus, double eps) {
  if (!x || !weight) return NULL;
  const cel_hlo_type *t = x->type;
  int last = t->rank - 1;
  cel_emit_scope scope;
  const cel_hlo_func *made = cel_emit_begin(e, &scope, "rms_norm", "rms_norm %d %lld %lld %g %a", last,
                                            (long long)cel_hlo_elements(t), (long long)t->dims[last], plus, eps);
  if (made) return made;
  cel_hlo_builder *b = &e->b;
  hlo in = cel_hlo_arg(b, "x", t), w = cel_hlo_arg(b, "weight", weight->type);
  hlo mean = cel_emit_row_mean(b, cel_hlo_binary(b, CEL_HLO_MULTIPLY, in, in));
  hlo root = cel_hlo_unary(b, CEL_HLO_RSQRT, cel_hlo_binary_scalar(b, CEL_HLO_ADD, mean, eps));
  hlo y = cel_hlo_binary(b, CEL_HLO_MULTIPLY, in, cel_emit_along_rows(b, root, in));
  if (plus != 0) w = cel_hlo_binary_scalar(b, CEL_HLO_ADD, w, plus);
  return cel_emit_end(e, &scope, cel_hlo_binary(b, CEL_HLO_MULTIPLY, y, cel_emit_along_last(b, w, y)));
}

// Of rank 1 along the last dimension, of rank 2 along the last two.
static hlo along(cel_hlo_builder *b, hlo v, hlo like) {
  if (!v || !like) return NULL;
  int64_t map[2] = {like->type->rank - 2, like->type->rank - 1};
  return cel_hlo_broadcast(b, v, like->type->rank, like->type->dims, map + (2 - v->type->rank));
}

static const cel_hlo_func *layer_decomposition(cel_emit *e, hlo x, hlo weight, hlo bias, double eps) {
  if (!x) return NULL;
  const cel_hlo_type *t = x->type;
  cel_emit_scope scope;
  const cel_hlo_func *made = cel_emit_begin(e, &scope, "layer_norm", "layer_norm %d %lld %lld %d %d %a", t->rank,
                                            (long long)cel_hlo_elements(t), (long long)t->dims[t->rank - 1],
                                            weight ? weight->type->rank : 0, bias != NULL, eps);
  if (made) return made;
  cel_hlo_builder *b = &e->b;
  hlo y = cel_hlo_arg(b, "x", t);
  hlo w = weight ? cel_hlo_arg(b, "weight", weight->type) : NULL, c = bias ? cel_hlo_arg(b, "bias", bias->type) : NULL;
  y = cel_hlo_binary(b, CEL_HLO_SUBTRACT, y, cel_emit_along_rows(b, cel_emit_row_mean(b, y), y));
  hlo variance = cel_emit_along_rows(b, cel_emit_row_mean(b, cel_hlo_binary(b, CEL_HLO_MULTIPLY, y, y)), y);
  hlo root = cel_hlo_unary(b, CEL_HLO_RSQRT, cel_hlo_binary_scalar(b, CEL_HLO_ADD, variance, eps));
  y = cel_hlo_binary(b, CEL_HLO_MULTIPLY, y, root);
  if (w) y = cel_hlo_binary(b, CEL_HLO_MULTIPLY, y, along(b, w, y));
  return cel_emit_end(e, &scope, c ? cel_hlo_binary(b, CEL_HLO_ADD, y, along(b, c, y)) : y);
}

hlo cel_emit_layer_norm(cel_emit *e, hlo x, hlo weight, hlo bias, double eps) {
  cel_hlo_attr *attrs[1] = {cel_hlo_new_float(&e->b, "eps", CEL_ET_F32, eps)};
  hlo operands[3] = {x, weight, bias};
  int n = 1 + (weight != NULL) + (bias != NULL);
  return cel_hlo_composite(&e->b, "mlxcel.layer_norm", operands, n, attrs, 1, layer_decomposition(e, x, weight, bias, eps));
}

hlo cel_emit_rms_norm(cel_emit *e, hlo x, hlo weight, double plus, double eps) {
  cel_hlo_builder *b = &e->b;
  const cel_hlo_func *f = decomposition(e, x, weight, plus, eps);
  cel_hlo_attr *attrs[2] = {cel_hlo_new_float(b, "eps", CEL_ET_F32, eps), cel_hlo_new_float(b, "plus", CEL_ET_F32, plus)};
  hlo operands[2] = {x, weight};
  return cel_hlo_composite(b, "mlxcel.rms_norm", operands, 2, attrs, 2, f);
}

hlo cel_emit_norm(cel_emit *e, cel_weight_role role, int layer, hlo x) {
  cel_hlo_builder *b = &e->b;
  const cel_emit_weight *w = cel_emit_weight_of(e, role, layer);
  double eps = e->arch->norm_eps;
  if (cel_norm_takes_mean(e->arch->norm)) {
    hlo weight = w->vector;
    if (e->arch->norm == CEL_NORM_LAYER_PLUS_ONE) weight = cel_hlo_binary_scalar(b, CEL_HLO_ADD, weight, 1);
    return cel_emit_layer_norm(e, x, weight, w->bias, eps);
  }
  return cel_emit_rms_norm(e, x, w->vector, e->arch->norm == CEL_NORM_RMS_PLUS_ONE ? 1 : 0, eps);
}
