// Grouped-query attention over a cache that holds many sequences: [layers, rows, kv heads, capacity, D].
// Decode reads one cache row per token (slots [N]); prefill reads one for all (slots is a scalar).
#include "backend/xla/emit/emit_internal.h"

// Where each new row of D values goes: [N, kv, 4] = (layer, slot, head, position), the indices of a scatter
// whose windows are the contiguous rows. (A scatter over dimensions with a window between them is legal too,
// but not every compiler takes it.)
static hlo write_indices(cel_hlo_builder *b, int64_t n, int64_t n_kv, hlo layer, hlo slots, hlo positions) {
  if (!slots || !positions) return NULL;
  int64_t column[3] = {n, n_kv, 1}, map[1] = {0};
  hlo parts[4] = {cel_hlo_broadcast(b, layer, 3, column, map), NULL, NULL, NULL};
  parts[1] = cel_hlo_broadcast(b, slots, 3, column, map);  // a scalar maps no dimension at all
  parts[2] = cel_hlo_iota(b, CEL_ET_I32, 3, column, 1);
  parts[3] = cel_hlo_broadcast(b, positions, 3, column, map);
  return cel_hlo_concat(b, parts, 4, 2);
}

// f16: what lies beyond becomes the largest number, since an infinite key would leave no score a number.
static hlo as_halves(cel_hlo_builder *b, hlo x) {
  const double most = 65504;
  x = cel_hlo_binary_scalar(b, CEL_HLO_MAXIMUM, cel_hlo_binary_scalar(b, CEL_HLO_MINIMUM, x, most), -most);
  return cel_hlo_convert(b, x, CEL_ET_F16);
}

// Groups of the last dimension as a dimension of their own, and back.
static hlo grouped(cel_hlo_builder *b, hlo x, int64_t group) {
  if (!x) return NULL;
  int64_t d[CEL_HLO_MAX_RANK];
  int last = x->type->rank - 1;
  for (int i = 0; i < last; i++) d[i] = x->type->dims[i];
  d[last] = x->type->dims[last] / group;
  d[last + 1] = group;
  return cel_hlo_reshape(b, x, last + 2, d);
}
static hlo joined(cel_hlo_builder *b, hlo x) {
  if (!x) return NULL;
  int64_t d[CEL_HLO_MAX_RANK];
  int last = x->type->rank - 2;
  for (int i = 0; i < last; i++) d[i] = x->type->dims[i];
  d[last] = x->type->dims[last] * x->type->dims[last + 1];
  return cel_hlo_reshape(b, x, last + 1, d);
}

// [N, kv, D] to whole numbers with their steps behind them, [N, kv, wider]: of one step, or of a step for each group of bytes.
static hlo as_steps(cel_hlo_builder *b, hlo x, cel_etype type) {
  const bool groups = type == CEL_ET_I8;
  const int64_t last = groups ? 3 : 2, *d = x->type->dims, pairs[3] = {d[0], d[1], 2};
  const double levels = groups ? CEL_KEPT_I8_STEPS : CEL_KEPT_I16_STEPS;
  if (groups) x = grouped(b, x, cel_kept_group_i8((int)d[2]));
  hlo most = cel_hlo_reduce(b, CEL_HLO_MAXIMUM, cel_hlo_unary(b, CEL_HLO_ABS, x), &last, 1);
  most = cel_hlo_binary_scalar(b, CEL_HLO_MAXIMUM, most, (double)CEL_KEPT_LEAST);
  hlo step = cel_hlo_binary_scalar(b, CEL_HLO_MULTIPLY, most, (double)(1.0f / (float)levels));
  hlo n = cel_hlo_unary(b, CEL_HLO_ROUND_NEAREST_EVEN, cel_hlo_binary(b, CEL_HLO_DIVIDE, x, cel_emit_along_rows(b, step, x)));
  n = cel_hlo_binary_scalar(b, CEL_HLO_MAXIMUM, cel_hlo_binary_scalar(b, CEL_HLO_MINIMUM, n, levels), -levels);
  n = cel_hlo_convert(b, n, type);
  step = cel_hlo_bitcast(b, step, type);
  hlo parts[2] = {groups ? joined(b, n) : n, groups ? joined(b, step) : cel_hlo_reshape(b, step, 3, pairs)};
  return cel_hlo_concat(b, parts, 2, 2);
}

// New keys or values as the cache keeps them, and back to f32: d of each vector.
static hlo as_kept(cel_hlo_builder *b, hlo x, cel_etype type) {
  if (!x || type == CEL_ET_F32) return x;
  return type == CEL_ET_F16 ? as_halves(b, x) : as_steps(b, x, type);
}
static hlo as_floats(cel_hlo_builder *b, hlo x, int64_t d) {
  if (!x || (x->type->etype != CEL_ET_I16 && x->type->etype != CEL_ET_I8)) return cel_hlo_convert(b, x, CEL_ET_F32);
  const bool groups = x->type->etype == CEL_ET_I8;
  const int last = x->type->rank - 1;
  hlo step = cel_hlo_slice_dim(b, x, last, d, x->type->dims[last], 1);
  step = cel_hlo_bitcast(b, groups ? grouped(b, step, 4) : step, CEL_ET_F32);
  x = cel_hlo_convert(b, cel_hlo_slice_dim(b, x, last, 0, d, 1), CEL_ET_F32);
  if (groups) x = grouped(b, x, cel_kept_group_i8((int)d));
  x = cel_hlo_binary(b, CEL_HLO_MULTIPLY, x, cel_emit_along_rows(b, step, x));
  return groups ? joined(b, x) : x;
}

static const cel_hlo_func *append_decomposition(cel_emit *e, hlo cache, hlo fresh) {
  if (!cache || !fresh) return NULL;
  cel_emit_scope scope;
  const cel_hlo_func *made = cel_emit_begin(e, &scope, "kv_append", "kv_append %lld %lld", (long long)cache->type->dims[2],
                                            (long long)cache->type->dims[4]);
  if (made) return made;
  cel_hlo_builder *b = &e->b;
  hlo c = cel_hlo_arg(b, "cache", cache->type), x = cel_hlo_arg(b, "new", fresh->type);
  hlo slots = cel_hlo_arg(b, "slots", e->slots->type), positions = cel_hlo_arg(b, "positions", e->positions->type);
  hlo layer = cel_hlo_arg(b, "layer", cel_hlo_tensor(b->module, CEL_ET_I32, 0, NULL));
  if (e->slots->type->rank == 1 && e->n > 1) {
    cel_emit_repeat_first(b, cache->type->dims[1], &slots, (hlo *[]){&positions, &x}, 2);
  }
  x = as_kept(b, x, cache->type->etype);
  cel_hlo_scatter_dims dims = {.n_window = 1, .window = {2}, .n_inserted = 4, .inserted = {0, 1, 2, 3},
                               .n_index_map = 4, .index_map = {0, 1, 2, 3}, .index_vector_dim = 2};
  hlo y = cel_hlo_scatter(b, c, write_indices(b, e->n, cache->type->dims[2], layer, slots, positions), x, &dims, false);
  return cel_emit_end(e, &scope, y);
}

void cel_emit_append(cel_emit *e, cel_state state, hlo entry, hlo fresh) {
  hlo cache = e->state[state];
  hlo operands[5] = {cache, fresh, e->slots, e->positions, entry};
  e->state[state] =
      cel_hlo_composite(&e->b, "mlxcel.kv_append", operands, 5, NULL, 0, append_decomposition(e, cache, fresh));
}

// Keys or values of one layer for the tokens, in f32: decode [N, kv, C, D], prefill [kv, C, D].
static hlo cache_rows(cel_hlo_builder *b, hlo cache, hlo layer, hlo slots, bool per_token, int64_t width) {
  if (!cache) return NULL;
  const int64_t *d = cache->type->dims;
  hlo zero = cel_hlo_scalar(b, CEL_ET_I32, 0);
  hlo starts[5] = {layer, per_token ? zero : slots, zero, zero, zero};
  int64_t sizes[5] = {1, per_token ? d[1] : 1, d[2], d[3], d[4]};
  hlo part = cel_hlo_dynamic_slice(b, cache, starts, sizes);
  part = per_token ? cel_hlo_take_rows(b, cel_hlo_reshape(b, part, 4, d + 1), slots) : cel_hlo_reshape(b, part, 3, d + 2);
  return as_floats(b, part, width);
}

// scores [.., C] -> the same with keys outside (position - window, position] at the lowest f32.
static hlo masked(cel_emit *e, hlo scores, hlo positions, int token_dim, int64_t window) {
  if (!scores || !positions) return NULL;
  cel_hlo_builder *b = &e->b;
  const cel_hlo_type *t = scores->type;
  int64_t map[1] = {token_dim};
  hlo key = cel_hlo_iota(b, CEL_ET_I32, t->rank, t->dims, t->rank - 1);
  hlo query = cel_hlo_broadcast(b, positions, t->rank, t->dims, map);
  hlo seen = cel_hlo_compare(b, "LE", key, query);
  if (window > 0) {
    hlo oldest = cel_hlo_binary_scalar(b, CEL_HLO_SUBTRACT, query, (double)window);
    seen = cel_hlo_binary(b, CEL_HLO_AND, seen, cel_hlo_compare(b, "GT", key, oldest));
  }
  return cel_hlo_select(b, seen, scores, cel_hlo_splat(b, CEL_ET_F32, t->rank, t->dims, -3.4028234663852886e38));
}

hlo cel_emit_softmax(cel_hlo_builder *b, hlo x, hlo sink) {
  if (!x) return NULL;
  int64_t last = x->type->rank - 1;
  hlo top = cel_hlo_reduce(b, CEL_HLO_MAXIMUM, x, &last, 1);
  if (sink) top = cel_hlo_binary(b, CEL_HLO_MAXIMUM, top, sink);
  hlo below = cel_hlo_binary(b, CEL_HLO_SUBTRACT, x, cel_emit_along_rows(b, top, x));
  hlo p = cel_hlo_unary(b, CEL_HLO_EXPONENTIAL, below), sum = cel_hlo_reduce(b, CEL_HLO_ADD, p, &last, 1);
  if (sink) sum = cel_hlo_binary(b, CEL_HLO_ADD, sum, cel_hlo_unary(b, CEL_HLO_EXPONENTIAL, cel_hlo_binary(b, CEL_HLO_SUBTRACT, sink, top)));
  return cel_hlo_binary(b, CEL_HLO_DIVIDE, p, cel_emit_along_rows(b, sum, x));
}

// [heads] to the shape of scores [N, kv, group, C] or [kv, N, group, C] without C.
static hlo sink_of_scores(cel_emit *e, hlo sinks, hlo scores, bool per_token) {
  if (!sinks || !scores) return NULL;
  int64_t pairs[2] = {e->arch->n_kv, e->arch->n_q / e->arch->n_kv}, map[2] = {per_token, 2};
  return cel_hlo_broadcast(&e->b, cel_hlo_reshape(&e->b, sinks, 2, pairs), 3, scores->type->dims, map);
}

static const cel_hlo_func *attention_decomposition(cel_emit *e, int64_t window, hlo q, hlo kcache, int64_t width, hlo sinks) {
  if (!q || !kcache) return NULL;
  const cel_arch *a = e->arch;
  cel_emit_scope scope;
  const cel_hlo_func *made = cel_emit_begin(e, &scope, "attention", "attention %lld", (long long)window);
  if (made) return made;
  cel_hlo_builder *b = &e->b;
  bool per_token = e->slots->type->rank == 1;
  hlo x = cel_hlo_arg(b, "q", q->type);
  hlo k = cel_hlo_arg(b, "kcache", kcache->type), v = cel_hlo_arg(b, "vcache", kcache->type);
  hlo slots = cel_hlo_arg(b, "slots", e->slots->type), positions = cel_hlo_arg(b, "positions", e->positions->type);
  hlo layer = cel_hlo_arg(b, "layer", cel_hlo_tensor(b->module, CEL_ET_I32, 0, NULL));
  if (sinks) sinks = cel_hlo_arg(b, "sinks", sinks->type);
  k = cache_rows(b, k, layer, slots, per_token, q->type->dims[2]);
  v = cache_rows(b, v, layer, slots, per_token, q->type->dims[2]);
  if (v && width < q->type->dims[2]) v = cel_hlo_slice_dim(b, v, v->type->rank - 1, 0, width, 1);
  int64_t n = e->n, grouped[4] = {n, a->n_kv, a->n_q / a->n_kv, q->type->dims[2]}, flat[3] = {n, a->n_q, width};
  x = cel_hlo_reshape(b, x, 4, grouped);
  // Decode scores [N, kv, group, C]; prefill [kv, N, group, C].
  cel_hlo_dot_dims qk = per_token ? (cel_hlo_dot_dims){.n_batch = 2, .lhs_batch = {0, 1}, .rhs_batch = {0, 1}, .n_contract = 1, .lhs_contract = {3}, .rhs_contract = {3}}
                                  : (cel_hlo_dot_dims){.n_batch = 1, .lhs_batch = {1}, .rhs_batch = {0}, .n_contract = 1, .lhs_contract = {3}, .rhs_contract = {2}};
  hlo s = cel_hlo_binary_scalar(b, CEL_HLO_MULTIPLY, cel_hlo_dot(b, x, k, &qk, CEL_ET_F32), a->attn_scale);
  s = cel_emit_softcap(b, s, a->attn_softcap);
  hlo p = cel_emit_softmax(b, masked(e, s, positions, per_token ? 0 : 1, window), sink_of_scores(e, sinks, s, per_token));
  cel_hlo_dot_dims pv = per_token ? (cel_hlo_dot_dims){.n_batch = 2, .lhs_batch = {0, 1}, .rhs_batch = {0, 1}, .n_contract = 1, .lhs_contract = {3}, .rhs_contract = {2}}
                                  : (cel_hlo_dot_dims){.n_batch = 1, .lhs_batch = {0}, .rhs_batch = {0}, .n_contract = 1, .lhs_contract = {3}, .rhs_contract = {1}};
  hlo y = cel_hlo_dot(b, p, v, &pv, CEL_ET_F32);
  static const int64_t token_first[4] = {1, 0, 2, 3};
  if (!per_token) y = cel_hlo_transpose(b, y, token_first);
  return cel_emit_end(e, &scope, cel_hlo_reshape(b, y, 3, flat));
}

hlo cel_emit_attend(cel_emit *e, int layer, hlo entry, hlo q, hlo keys, hlo values, int64_t width) {
  const cel_arch *a = e->arch;
  const cel_layer *l = &a->layers[layer];
  cel_hlo_builder *b = &e->b;
  int64_t window = l->attention == CEL_ATTENTION_SLIDING ? a->window : 0;
  hlo sinks = cel_emit_weight_of(e, CEL_W_SINKS, layer)->vector;
  hlo operands[7] = {q, keys, values, e->slots, e->positions, entry, sinks};
  cel_hlo_attr *attrs[3] = {cel_hlo_new_float(b, "scale", CEL_ET_F32, a->attn_scale),
                            cel_hlo_new_float(b, "softcap", CEL_ET_F32, a->attn_softcap),
                            cel_hlo_new_int(b, "window", CEL_ET_I64, window)};
  return cel_hlo_composite(b, "mlxcel.attention", operands, sinks ? 7 : 6, attrs, 3,
                           attention_decomposition(e, window, q, keys, width, sinks));
}

hlo cel_emit_attention(cel_emit *e, int layer, hlo h) {
  const cel_arch *a = e->arch;
  const cel_layer *l = &a->layers[layer];
  cel_hlo_builder *b = &e->b;
  cel_hlo_path(b, "layers.%d.attn", layer);
  cel_qkv x = cel_emit_qkv(e, layer, h);
  hlo entry = cel_hlo_scalar(b, CEL_ET_I32, l->state);
  if (!l->kv_shared) {
    cel_emit_append(e, CEL_STATE_KEYS, entry, x.k);
    cel_emit_append(e, CEL_STATE_VALUES, entry, x.v);
  }
  hlo y = cel_emit_attend(e, layer, entry, x.q, e->state[CEL_STATE_KEYS], e->state[CEL_STATE_VALUES], a->head_dim);
  int64_t flat[2] = {e->n, (int64_t)a->n_q * a->head_dim};
  y = cel_emit_tap(e, layer, "attn", cel_hlo_reshape(b, y, 2, flat));
  if (x.gate) y = cel_hlo_binary(b, CEL_HLO_MULTIPLY, y, cel_hlo_unary(b, CEL_HLO_LOGISTIC, x.gate));
  return cel_emit_linear(e, CEL_W_O, layer, y);
}
