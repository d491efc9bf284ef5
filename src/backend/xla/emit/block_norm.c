// RMSNorm (Zhang and Sennrich 2019) over the last dimension: x * rsqrt(mean(x^2) + eps) * (plus + w), in f32.
// plus is 1 for Gemma's stored form.
#include "backend/xla/emit/emit_internal.h"

hlo cel_emit_along_last(cel_hlo_builder *b, hlo v, hlo like) {
  if (!v || !like) return NULL;
  int64_t map[1] = {like->type->rank - 1};
  return cel_hlo_broadcast(b, v, like->type->rank, like->type->dims, map);
}

// Of attention scores and of the final logits.
hlo cel_emit_softcap(cel_hlo_builder *b, hlo x, double cap) {
  if (cap <= 0) return x;
  x = cel_hlo_unary(b, CEL_HLO_TANH, cel_hlo_binary_scalar(b, CEL_HLO_DIVIDE, x, cap));
  return cel_hlo_binary_scalar(b, CEL_HLO_MULTIPLY, x, cap);
}

static const cel_hlo_func *decomposition(cel_emit *e, hlo x, hlo weight, double plus) {
  if (!x || !weight) return NULL;
  const cel_hlo_type *t = x->type;
  int last = t->rank - 1;
  cel_emit_scope scope;
  const cel_hlo_func *made = cel_emit_begin(e, &scope, "rms_norm", "rms_norm %d %lld %lld", last,
                                            (long long)cel_hlo_elements(t), (long long)t->dims[last]);
  if (made) return made;
  cel_hlo_builder *b = &e->b;
  hlo in = cel_hlo_arg(b, "x", t), w = cel_hlo_arg(b, "weight", weight->type);
  int64_t dim = last, map[CEL_HLO_MAX_RANK] = {0, 1, 2, 3, 4, 5, 6, 7};
  hlo sum = cel_hlo_reduce(b, CEL_HLO_ADD, cel_hlo_binary(b, CEL_HLO_MULTIPLY, in, in), &dim, 1);
  hlo mean = cel_hlo_binary_scalar(b, CEL_HLO_DIVIDE, sum, (double)t->dims[last]);
  hlo root = cel_hlo_unary(b, CEL_HLO_RSQRT, cel_hlo_binary_scalar(b, CEL_HLO_ADD, mean, e->arch->norm_eps));
  hlo y = cel_hlo_binary(b, CEL_HLO_MULTIPLY, in, cel_hlo_broadcast(b, root, t->rank, t->dims, map));
  if (plus != 0) w = cel_hlo_binary_scalar(b, CEL_HLO_ADD, w, plus);
  return cel_emit_end(e, &scope, cel_hlo_binary(b, CEL_HLO_MULTIPLY, y, cel_emit_along_last(b, w, y)));
}

hlo cel_emit_norm(cel_emit *e, cel_weight_role role, int layer, hlo x) {
  cel_hlo_builder *b = &e->b;
  hlo weight = cel_emit_weight_of(e, role, layer)->vector;
  double plus = e->arch->norm == CEL_NORM_RMS_PLUS_ONE ? 1 : 0;
  const cel_hlo_func *f = decomposition(e, x, weight, plus);
  cel_hlo_attr *attrs[2] = {cel_hlo_new_float(b, "eps", CEL_ET_F32, e->arch->norm_eps),
                            cel_hlo_new_float(b, "plus", CEL_ET_F32, plus)};
  hlo operands[2] = {x, weight};
  return cel_hlo_composite(b, "mlxcel.rms_norm", operands, 2, attrs, 2, f);
}
