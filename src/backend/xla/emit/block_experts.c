// Products with the experts a router chose: composites, and what they mean. Few tokens take the chosen matrices out of
// the stack; many go through all of them, and a one-hot matrix [N, k, E] picks, which is exact.
#include "backend/xla/emit/emit_internal.h"

typedef struct args {  // a decomposition's, in the composite's order
  hlo x, ids, weights, w, scales, biases, bias;
} args;

static hlo arg_like(cel_hlo_builder *b, const char *name, hlo v) { return v ? cel_hlo_arg(b, name, v->type) : NULL; }

static args arguments(cel_hlo_builder *b, const cel_emit_weight *w, hlo x, hlo ids, hlo weights, hlo bias) {
  args a = {.x = arg_like(b, "x", x), .ids = arg_like(b, "ids", ids), .weights = arg_like(b, "weights", weights)};
  a.w = arg_like(b, "weight", w->w);
  a.scales = arg_like(b, "scales", w->scales);
  a.biases = arg_like(b, "biases", w->biases);
  a.bias = arg_like(b, "bias", bias);
  return a;
}

// A bias as stored, [E * rows], to f32 [E, rows].
static hlo bias_rows(cel_hlo_builder *b, const cel_storage *s, hlo bias) {
  int64_t dims[2] = {s->experts, s->rows};
  return bias ? cel_hlo_reshape(b, cel_hlo_convert(b, bias, CEL_ET_F32), 2, dims) : NULL;
}

// [n, rows, words] -> [n * rows, words], as block_dequant.c takes it.
static hlo as_rows(cel_hlo_builder *b, hlo x) {
  if (!x) return NULL;
  int64_t flat[2] = {x->type->dims[0] * x->type->dims[1], x->type->dims[2]};
  return cel_hlo_reshape(b, x, 2, flat);
}

// n matrices of a stack in f32: [n, rows, cols].
static hlo widen(cel_hlo_builder *b, const cel_storage *s, hlo w, hlo scales, hlo biases, int64_t n) {
  int64_t dims[3] = {n, s->rows, s->cols};
  hlo wide = cel_emit_dequantize(b, s, as_rows(b, w), as_rows(b, scales), as_rows(b, biases), n * s->rows);
  return cel_hlo_reshape(b, wide, 3, dims);
}

static hlo take(cel_hlo_builder *b, hlo x, hlo ids) { return x ? cel_hlo_take_rows(b, x, ids) : NULL; }

static hlo flat_ids(cel_hlo_builder *b, hlo ids) {
  if (!ids) return NULL;
  int64_t n = cel_hlo_elements(ids->type);
  return cel_hlo_reshape(b, ids, 1, &n);
}

static hlo chosen_matrices(cel_hlo_builder *b, const cel_storage *s, const args *a) {
  hlo ids = flat_ids(b, a->ids);
  if (!ids) return NULL;
  return widen(b, s, take(b, a->w, ids), take(b, a->scales, ids), take(b, a->biases, ids), ids->type->dims[0]);
}

static hlo one_hot(cel_hlo_builder *b, hlo ids, int64_t experts) {  // f32 [N, k, E], ids clamped
  if (!ids) return NULL;
  const int64_t *d = ids->type->dims;
  int64_t grid[3] = {d[0], d[1], experts}, map[2] = {0, 1};
  hlo lowest = cel_hlo_binary_scalar(b, CEL_HLO_MAXIMUM, ids, 0);
  hlo id = cel_hlo_binary_scalar(b, CEL_HLO_MINIMUM, lowest, (double)(experts - 1));
  hlo is = cel_hlo_compare(b, "EQ", cel_hlo_broadcast(b, id, 3, grid, map), cel_hlo_iota(b, CEL_ET_I32, 3, grid, 2));
  return cel_hlo_convert(b, is, CEL_ET_F32);
}

static hlo times_weights(cel_hlo_builder *b, hlo x, hlo weights) {  // [N, k, n] by [N, k]
  if (!x || !weights) return NULL;
  int64_t map[2] = {0, 1};
  return cel_hlo_binary(b, CEL_HLO_MULTIPLY, x, cel_hlo_broadcast(b, weights, 3, x->type->dims, map));
}

// [N * k, in] through a matrix each -> [N, k, out], biases added.
static hlo through_chosen(cel_hlo_builder *b, const cel_storage *s, const args *a, hlo rows) {
  if (!a->ids) return NULL;
  int64_t dims[3] = {a->ids->type->dims[0], a->ids->type->dims[1], s->rows};
  cel_hlo_dot_dims each = {.n_batch = 1, .n_contract = 1, .lhs_contract = {1}, .rhs_contract = {2}};
  hlo y = cel_hlo_reshape(b, cel_hlo_dot(b, rows, chosen_matrices(b, s, a), &each, CEL_ET_F32), 3, dims);
  if (!a->bias) return y;
  return cel_hlo_binary(b, CEL_HLO_ADD, y,
                        cel_hlo_reshape(b, take(b, bias_rows(b, s, a->bias), flat_ids(b, a->ids)), 3, dims));
}

static bool few(const cel_storage *s, hlo ids) { return ids && cel_hlo_elements(ids->type) <= s->experts; }

// Everything through everything, then the chosen: [N, E, out] -> [N, k, out].
static hlo linear_of_all(cel_hlo_builder *b, const cel_storage *s, const args *a) {
  cel_hlo_dot_dims all = {.n_contract = 1, .lhs_contract = {1}, .rhs_contract = {2}};
  cel_hlo_dot_dims pick = {.n_batch = 1, .n_contract = 1, .lhs_contract = {2}, .rhs_contract = {1}};
  hlo y = cel_hlo_dot(b, a->x, widen(b, s, a->w, a->scales, a->biases, s->experts), &all, CEL_ET_F32);
  int64_t map[2] = {1, 2};
  if (a->bias && y)
    y = cel_hlo_binary(b, CEL_HLO_ADD, y, cel_hlo_broadcast(b, bias_rows(b, s, a->bias), 3, y->type->dims, map));
  return cel_hlo_dot(b, one_hot(b, a->ids, s->experts), y, &pick, CEL_ET_F32);
}

// The inputs at their experts' places, [N, E, in], contracted over experts and columns together. Biases are taken by
// row: as a product of the one-hot matrix with the weights IREE 3.13 computes them wrongly.
static hlo combine_of_all(cel_hlo_builder *b, const cel_storage *s, const args *a) {
  hlo hot = one_hot(b, a->ids, s->experts);
  cel_hlo_dot_dims place = {.n_batch = 1, .n_contract = 1, .lhs_contract = {1}, .rhs_contract = {1}};
  cel_hlo_dot_dims both = {.n_contract = 2, .lhs_contract = {1, 2}, .rhs_contract = {0, 2}};
  hlo x = cel_hlo_dot(b, hot, times_weights(b, a->x, a->weights), &place, CEL_ET_F32);
  hlo y = cel_hlo_dot(b, x, widen(b, s, a->w, a->scales, a->biases, s->experts), &both, CEL_ET_F32);
  if (!a->bias || !a->ids) return y;
  int64_t dims[3] = {a->ids->type->dims[0], a->ids->type->dims[1], s->rows}, k_dim = 1;
  hlo bias = cel_hlo_reshape(b, take(b, bias_rows(b, s, a->bias), flat_ids(b, a->ids)), 3, dims);
  return cel_hlo_binary(b, CEL_HLO_ADD, y,
                        cel_hlo_reduce(b, CEL_HLO_ADD, times_weights(b, bias, a->weights), &k_dim, 1));
}

static const cel_hlo_func *decomposition(cel_emit *e, const cel_emit_weight *w, hlo x, hlo ids, hlo weights, hlo bias) {
  if (!x || !ids) return NULL;
  const cel_storage *s = &w->storage;
  const int64_t *d = ids->type->dims;
  const char *name = weights ? "expert_combine" : "expert_linear";
  cel_emit_scope scope;
  const cel_hlo_func *made = cel_emit_begin(e, &scope, name, "%s %s %d %d %d %lld %lld %lld %lld %lld %d", name,
                                            s->format, s->bits, s->group, (int)s->scale_type, (long long)d[0],
                                            (long long)d[1], (long long)s->experts, (long long)s->rows,
                                            (long long)s->cols, bias != NULL);
  if (made) return made;
  cel_hlo_builder *b = &e->b;
  args a = arguments(b, w, x, ids, weights, bias);
  int64_t grid[3] = {d[0], d[1], s->cols}, rows[2] = {d[0] * d[1], s->cols}, map[2] = {0, 2}, k_dim = 1;
  if (!few(s, ids)) return cel_emit_end(e, &scope, weights ? combine_of_all(b, s, &a) : linear_of_all(b, s, &a));
  hlo in = weights ? a.x : cel_hlo_broadcast(b, a.x, 3, grid, map);
  hlo y = through_chosen(b, s, &a, cel_hlo_reshape(b, in, 2, rows));
  if (weights) y = cel_hlo_reduce(b, CEL_HLO_ADD, times_weights(b, y, a.weights), &k_dim, 1);
  return cel_emit_end(e, &scope, y);
}

// ---- the composites --------------------------------------------------------------------------------

static hlo composite(cel_emit *e, const cel_emit_weight *w, hlo x, hlo ids, hlo weights, hlo bias) {
  cel_hlo_builder *b = &e->b;
  const cel_hlo_func *f = decomposition(e, w, x, ids, weights, bias);
  hlo operands[7] = {x, ids};
  cel_hlo_attr *attrs[4];
  int n = 2;
  if (weights) operands[n++] = weights;
  n += cel_emit_weight_operands(w, operands + n);
  if (bias) operands[n++] = bias;
  int n_attrs = cel_emit_storage_attrs(b, &w->storage, attrs);
  attrs[n_attrs++] = cel_hlo_new_bool(b, "biased", bias != NULL);
  return cel_hlo_composite(b, weights ? "mlxcel.expert_combine" : "mlxcel.expert_linear", operands, n, attrs, n_attrs,
                           f);
}

// Each chosen expert's scale, [N, k].
static hlo scales_of(cel_emit *e, const cel_emit_weight *w, hlo ids) {
  if (!ids) return NULL;
  hlo scale = cel_hlo_binary_scalar(&e->b, CEL_HLO_DIVIDE, w->global_scale, 448 * 6);
  return cel_hlo_reshape(&e->b, cel_hlo_take_rows(&e->b, scale, flat_ids(&e->b, ids)), 2, ids->type->dims);
}

hlo cel_emit_expert_linear(cel_emit *e, cel_weight_role role, int layer, hlo x, hlo ids) {
  const cel_emit_weight *w = cel_emit_weight_of(e, role, layer);
  cel_hlo_builder *b = &e->b;
  if (!w->global_scale) return composite(e, w, x, ids, NULL, w->bias);
  hlo y = times_weights(b, composite(e, w, x, ids, NULL, NULL), scales_of(e, w, ids));
  if (!w->bias || !y) return y;
  return cel_hlo_binary(
      b, CEL_HLO_ADD, y,
      cel_hlo_reshape(b, take(b, bias_rows(b, &w->storage, w->bias), flat_ids(b, ids)), 3, y->type->dims));
}

hlo cel_emit_expert_combine(cel_emit *e, cel_weight_role role, int layer, hlo a, cel_chosen c) {
  const cel_emit_weight *w = cel_emit_weight_of(e, role, layer);
  if (w->global_scale) a = times_weights(&e->b, a, scales_of(e, w, c.ids));
  return composite(e, w, a, c.ids, c.weights, w->bias);
}
