// The gated delta net (Yang et al. 2024, as Qwen3-Next has it): a convolution over q, k and v, then a state S [d_k, d_v]
// per value head that forgets by e^g and learns the value it did not foresee:
//   S <- e^g S;  d = beta (v - S^T k);  S <- S + k d^T;  o = S^T q
#include <math.h>

#include "backend/xla/emit/emit_internal.h"

typedef struct delta_rule {  // of n tokens side by side, heads all value heads
  hlo q, k, v;               // [n, heads, width]
  hlo g, beta;               // [n, heads]
} delta_rule;

// x [n, heads] or [n, heads, width] as [n, heads, d_k, d_v], where `map` says.
static hlo spread(cel_hlo_builder *b, hlo x, hlo state, const int64_t *map) {
  return x && state ? cel_hlo_broadcast(b, x, 4, state->type->dims, map) : NULL;
}

// One token in each of n sequences; state [n, heads, d_k, d_v] becomes the new one.
static hlo turn(cel_hlo_builder *b, const delta_rule *r, hlo *state) {
  if (!r->v || !*state) return NULL;
  static const int64_t scalars[2] = {0, 1}, keys[3] = {0, 1, 2}, values[3] = {0, 1, 3};
  cel_hlo_dot_dims dims = {.n_batch = 2, .lhs_batch = {0, 1}, .rhs_batch = {0, 1}, .n_contract = 1, .lhs_contract = {2}, .rhs_contract = {2}};
  hlo kept = cel_hlo_binary(b, CEL_HLO_MULTIPLY, *state, spread(b, cel_hlo_unary(b, CEL_HLO_EXPONENTIAL, r->g), *state, scalars));
  hlo foreseen = cel_hlo_dot(b, kept, r->k, &dims, CEL_ET_F32);
  hlo strength = cel_hlo_broadcast(b, r->beta, 3, r->v->type->dims, scalars);
  hlo learned = cel_hlo_binary(b, CEL_HLO_MULTIPLY, cel_hlo_binary(b, CEL_HLO_SUBTRACT, r->v, foreseen), strength);
  hlo product = cel_hlo_binary(b, CEL_HLO_MULTIPLY, spread(b, r->k, *state, keys), spread(b, learned, *state, values));
  *state = cel_hlo_binary(b, CEL_HLO_ADD, kept, product);
  return cel_hlo_dot(b, *state, r->q, &dims, CEL_ET_F32);
}

// Token `at` of x [N, ...]: [1, ...].
static hlo token(cel_hlo_builder *b, hlo x, hlo at) {
  if (!x) return NULL;
  hlo zero = cel_hlo_scalar(b, CEL_ET_I32, 0), starts[3] = {at, zero, zero};
  int64_t sizes[3] = {1, x->type->dims[1], x->type->dims[2]};
  return cel_hlo_dynamic_slice(b, x, starts, sizes);
}

// N tokens of one sequence, one after the other; state [1, heads, d_k, d_v].
static hlo in_order(cel_hlo_builder *b, const delta_rule *r, hlo *state) {
  if (!r->v) return NULL;
  hlo carried[7] = {*state, r->q, r->k, r->v, r->g, r->beta, cel_hlo_splat(b, CEL_ET_F32, 3, r->v->type->dims, 0)};
  cel_hlo_loop l;
  hlo i = cel_hlo_loop_begin(b, &l, r->v->type->dims[0], carried, 7), next[7];
  for (int k = 0; k < 7; k++) next[k] = l.carried[k];
  delta_rule one = {token(b, next[1], i), token(b, next[2], i), token(b, next[3], i), token(b, next[4], i), token(b, next[5], i)};
  hlo o = turn(b, &one, &next[0]), zero = cel_hlo_scalar(b, CEL_ET_I32, 0), starts[3] = {i, zero, zero};
  next[6] = cel_hlo_dynamic_update_slice(b, next[6], o, starts);
  cel_hlo_loop_end(b, &l, next);
  *state = l.carried[0];
  return l.carried[6];
}

// A key head serves n_v / n_k value heads that follow each other.
static hlo repeat_heads(cel_hlo_builder *b, hlo x, int64_t heads) {
  if (!x || x->type->dims[1] == heads) return x;
  const int64_t *d = x->type->dims;
  int64_t wide[4] = {d[0], d[1], heads / d[1], d[2]}, flat[3] = {d[0], heads, d[2]}, map[3] = {0, 1, 3};
  return cel_hlo_reshape(b, cel_hlo_broadcast(b, x, 4, wide, map), 3, flat);
}

// Or those that are n_k apart: after this each value head has a key head of its own.
static hlo tile_heads(cel_emit *e, hlo x) {
  const cel_delta *a = &e->arch->delta;
  if (!x || !a->tiled || a->n_k == a->n_v) return x;
  const int64_t *d = x->type->dims;
  int64_t wide[4] = {d[0], a->n_v / a->n_k, d[1], d[2]}, flat[3] = {d[0], a->n_v, d[2]}, map[3] = {0, 2, 3};
  return cel_hlo_reshape(&e->b, cel_hlo_broadcast(&e->b, x, 4, wide, map), 3, flat);
}

static const cel_hlo_func *decomposition(cel_emit *e, const delta_rule *r, hlo state) {
  if (!r->q || !r->k || !r->v || !r->g || !r->beta || !state || !e->slots) return NULL;
  cel_emit_scope scope;
  const cel_hlo_func *made = cel_emit_begin(e, &scope, "gated_delta", "gated_delta");
  if (made) return made;
  cel_hlo_builder *b = &e->b;
  int64_t heads = e->arch->delta.n_v;
  delta_rule in = {cel_hlo_arg(b, "q", r->q->type), cel_hlo_arg(b, "k", r->k->type), cel_hlo_arg(b, "v", r->v->type),
                   cel_hlo_arg(b, "g", r->g->type), cel_hlo_arg(b, "beta", r->beta->type)};
  hlo old = cel_hlo_arg(b, "state", state->type), slots = cel_hlo_arg(b, "slots", e->slots->type);
  hlo entry = cel_hlo_arg(b, "layer", cel_hlo_tensor(b->module, CEL_ET_I32, 0, NULL));
  in.q = repeat_heads(b, in.q, heads);
  in.k = repeat_heads(b, in.k, heads);
  hlo rows = cel_emit_state_rows(b, old, entry, slots);
  hlo results[2] = {e->slots->type->rank == 1 ? turn(b, &in, &rows) : in_order(b, &in, &rows), NULL};
  results[1] = cel_emit_state_write(b, old, entry, slots, rows);
  return cel_emit_end_many(e, &scope, results, 2);
}

static hlo delta(cel_emit *e, int layer, const delta_rule *r) {
  cel_hlo_builder *b = &e->b;
  hlo old = e->state[CEL_STATE_DELTA], entry = cel_hlo_scalar(b, CEL_ET_I32, e->arch->layers[layer].state);
  hlo operands[8] = {r->q, r->k, r->v, r->g, r->beta, old, e->slots, entry};
  hlo o = cel_hlo_composite(b, "mlxcel.gated_delta", operands, 8, NULL, 0, decomposition(e, r, old));
  if (o) e->state[CEL_STATE_DELTA] = &o->def->results[1];
  return o;
}

// ---- from the layer's projections --------------------------------------------------------------------

// x / sqrt(sum x^2 + 1e-6) times `factor`, over each head's width: the RMS norm of eps 1e-6 / width and a constant weight.
static hlo unit_length(cel_emit *e, hlo x, double factor) {
  if (!x) return NULL;
  int64_t width = x->type->dims[2];
  hlo weight = cel_hlo_splat(&e->b, CEL_ET_F32, 1, &width, factor / sqrt((double)width));
  return cel_emit_rms_norm(e, x, weight, 0, 1e-6 / (double)width);
}

// Columns [from, to) of each group of x [N, groups, width], as [N, heads, (to - from) * groups / heads].
static hlo part(cel_hlo_builder *b, hlo x, int64_t from, int64_t to, int64_t heads) {
  if (!x) return NULL;
  int64_t dims[3] = {x->type->dims[0], heads, (to - from) * x->type->dims[1] / heads};
  return cel_hlo_reshape(b, cel_hlo_slice_dim(b, x, 2, from, to, 1), 3, dims);
}

static hlo groups(cel_emit *e, hlo x, int64_t n) {
  if (!x) return NULL;
  int64_t dims[3] = {x->type->dims[0], n, x->type->dims[1] / n};
  return cel_hlo_reshape(&e->b, x, 3, dims);
}

static hlo flat(cel_hlo_builder *b, hlo x) {
  if (!x) return NULL;
  int64_t dims[2] = {x->type->dims[0], cel_hlo_elements(x->type) / x->type->dims[0]};
  return cel_hlo_reshape(b, x, 2, dims);
}

static hlo silu(cel_hlo_builder *b, hlo x) {
  return cel_hlo_binary(b, CEL_HLO_MULTIPLY, x, cel_hlo_unary(b, CEL_HLO_LOGISTIC, x));
}

// g = -exp(A_log) softplus(a + dt_bias), softplus(x) = max(x, 0) + ln(1 + e^-|x|).
static hlo forgetting(cel_emit *e, int layer, hlo a) {
  cel_hlo_builder *b = &e->b;
  hlo rate = cel_emit_weight_of(e, CEL_W_DELTA_A_LOG, layer)->vector, shift = cel_emit_weight_of(e, CEL_W_DELTA_DT_BIAS, layer)->vector;
  rate = cel_hlo_unary(b, CEL_HLO_NEGATE, cel_hlo_unary(b, CEL_HLO_EXPONENTIAL, rate));
  a = cel_hlo_binary(b, CEL_HLO_ADD, a, cel_emit_along_last(b, shift, a));
  hlo small = cel_hlo_unary(b, CEL_HLO_EXPONENTIAL, cel_hlo_unary(b, CEL_HLO_NEGATE, cel_hlo_unary(b, CEL_HLO_ABS, a)));
  hlo soft = cel_hlo_binary(b, CEL_HLO_ADD, cel_hlo_binary_scalar(b, CEL_HLO_MAXIMUM, a, 0), cel_hlo_unary(b, CEL_HLO_LOG_PLUS_ONE, small));
  return cel_hlo_binary(b, CEL_HLO_MULTIPLY, soft, cel_emit_along_last(b, rate, soft));
}

typedef struct projections {
  hlo qkv;   // [N, q of all key heads, k of all, v of all value heads]
  hlo z;     // [N, value heads, d_v]
  hlo b, a;  // [N, value heads]
} projections;

// in_proj_qkvz has, per key head, q [d_k], k [d_k], v and z [r d_v] of its r value heads; in_proj_ba b [r] and a [r].
static projections grouped(cel_emit *e, int layer, hlo h) {
  cel_hlo_builder *b = &e->b;
  const cel_delta *d = &e->arch->delta;
  int64_t ratio = d->n_v / d->n_k, keys = d->d_k, values = ratio * d->d_v;
  hlo x = groups(e, cel_emit_linear(e, CEL_W_DELTA_QKVZ, layer, h), d->n_k), ba = groups(e, cel_emit_linear(e, CEL_W_DELTA_BA, layer, h), d->n_k);
  hlo parts[3] = {flat(b, part(b, x, 0, keys, d->n_k)), flat(b, part(b, x, keys, 2 * keys, d->n_k)),
                  flat(b, part(b, x, 2 * keys, 2 * keys + values, d->n_v))};
  return (projections){.qkv = cel_hlo_concat(b, parts, 3, 1), .z = part(b, x, 2 * keys + values, 2 * keys + 2 * values, d->n_v),
                       .b = flat(b, part(b, ba, 0, ratio, d->n_v)), .a = flat(b, part(b, ba, ratio, 2 * ratio, d->n_v))};
}

static projections separate(cel_emit *e, int layer, hlo h) {
  hlo qkv = cel_emit_linear(e, CEL_W_DELTA_QKV, layer, h), z = cel_emit_linear(e, CEL_W_DELTA_Z, layer, h);
  hlo beta = cel_emit_linear(e, CEL_W_DELTA_B, layer, h), a = cel_emit_linear(e, CEL_W_DELTA_A, layer, h);
  return (projections){qkv, groups(e, z, e->arch->delta.n_v), beta, a};
}

// What the rule takes; the convolution goes over q, k and v, then SiLU.
static delta_rule prepare(cel_emit *e, int layer, const projections *p) {
  cel_hlo_builder *b = &e->b;
  const cel_delta *d = &e->arch->delta;
  hlo mixed = silu(b, cel_emit_short_conv(e, layer, p->qkv, cel_emit_weight_of(e, CEL_W_DELTA_CONV, layer)->vector));
  cel_emit_tap(e, layer, "delta_conv", mixed);
  int64_t k0 = (int64_t)d->n_k * d->d_k, v0 = 2 * k0;
  delta_rule r;
  r.q = tile_heads(e, unit_length(e, groups(e, cel_hlo_slice_dim(b, mixed, 1, 0, k0, 1), d->n_k), 1 / sqrt((double)d->d_k)));
  r.k = tile_heads(e, unit_length(e, groups(e, cel_hlo_slice_dim(b, mixed, 1, k0, v0, 1), d->n_k), 1));
  r.v = groups(e, cel_hlo_slice_dim(b, mixed, 1, v0, v0 + (int64_t)d->n_v * d->d_v, 1), d->n_v);
  r.beta = cel_hlo_unary(b, CEL_HLO_LOGISTIC, p->b);
  r.g = forgetting(e, layer, p->a);
  cel_emit_tap(e, layer, "delta_beta", r.beta);
  cel_emit_tap(e, layer, "delta_decay", r.g);
  return r;
}

hlo cel_emit_delta(cel_emit *e, int layer, hlo h) {
  cel_hlo_builder *b = &e->b;
  cel_hlo_path(b, "layers.%d.delta", layer);
  projections p = e->arch->names[CEL_W_DELTA_QKV] ? separate(e, layer, h) : grouped(e, layer, h);
  delta_rule r = prepare(e, layer, &p);
  hlo y = cel_emit_tap(e, layer, "delta", delta(e, layer, &r));
  hlo o = cel_emit_rms_norm(e, y, cel_emit_weight_of(e, CEL_W_DELTA_NORM, layer)->vector, 0, e->arch->norm_eps);
  return cel_emit_linear(e, CEL_W_DELTA_OUT, layer, flat(b, cel_hlo_binary(b, CEL_HLO_MULTIPLY, o, silu(b, p.z))));
}
