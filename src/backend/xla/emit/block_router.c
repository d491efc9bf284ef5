// Which experts a token goes to, and with what weights (text-architectures §2.2).
#include <math.h>

#include "backend/xla/emit/emit_internal.h"

static hlo row_reduce(cel_hlo_builder *b, cel_hlo_opcode op, hlo x) {
  int64_t last = 1;
  return cel_hlo_reduce(b, op, x, &last, 1);
}

// ---- choosing --------------------------------------------------------------------------------------

// One after the other: the largest, its first place, and that place out of the race.
static const cel_hlo_func *top_k_decomposition(cel_emit *e, hlo x, int64_t k) {
  if (!x) return NULL;
  cel_emit_scope scope;
  const int64_t *d = x->type->dims;
  const cel_hlo_func *made =
      cel_emit_begin(e, &scope, "top_k", "top_k %lld %lld %lld", (long long)d[0], (long long)d[1], (long long)k);
  if (made) return made;
  cel_hlo_builder *b = &e->b;
  hlo left = cel_hlo_arg(b, "x", x->type), places = cel_hlo_iota(b, CEL_ET_I32, 2, d, 1), out[64] = {0};
  hlo nowhere = cel_hlo_splat(b, CEL_ET_I32, 2, d, (double)(d[1] - 1)),
      lowest = cel_hlo_splat(b, CEL_ET_F32, 2, d, -INFINITY);
  int64_t column[2] = {d[0], 1};
  for (int64_t j = 0; j < k; j++) {
    hlo is_most = cel_hlo_compare(b, "EQ", left, cel_emit_along_rows(b, row_reduce(b, CEL_HLO_MAXIMUM, left), left));
    hlo first = row_reduce(b, CEL_HLO_MINIMUM, cel_hlo_select(b, is_most, places, nowhere));
    out[j] = cel_hlo_reshape(b, first, 2, column);
    left = cel_hlo_select(b, cel_hlo_compare(b, "EQ", places, cel_emit_along_rows(b, first, left)), lowest, left);
  }
  return cel_emit_end(e, &scope, k > 1 ? cel_hlo_concat(b, out, (int)k, 1) : out[0]);
}

hlo cel_emit_top_k(cel_emit *e, hlo x, int64_t k) {
  cel_hlo_builder *b = &e->b;
  if (k < 1 || k > 64)
    cel_hlo_refuse(b, CEL_UNSUPPORTED, "%lld experts for each token; 1 to 64 are supported", (long long)k);
  if (b->err.status != CEL_OK) return NULL;
  cel_hlo_attr *attrs[1] = {cel_hlo_new_int(b, "k", CEL_ET_I64, k)};
  return cel_hlo_composite(b, "mlxcel.top_k", &x, 1, attrs, 1, top_k_decomposition(e, x, k));
}

hlo cel_emit_pick(cel_hlo_builder *b, hlo x, hlo ids) {
  if (!x || !ids) return NULL;
  int64_t place[3] = {ids->type->dims[0], ids->type->dims[1], 1};
  hlo parts[2] = {cel_hlo_iota(b, CEL_ET_I32, 3, place, 0), cel_hlo_reshape(b, ids, 3, place)};
  cel_hlo_gather_dims dims = {.n_collapsed = 2, .collapsed = {0, 1}, .n_index_map = 2, .index_map = {0, 1},
                              .index_vector_dim = 2, .slice_sizes = {1, 1}};
  return cel_hlo_gather(b, x, cel_hlo_concat(b, parts, 2, 2), &dims);
}

// The best of each group of columns, or the sum of its two best: [N, E] -> [N, G].
static hlo group_scores(cel_emit *e, hlo x, int64_t groups, bool two) {
  if (!x) return NULL;
  cel_hlo_builder *b = &e->b;
  int64_t n = x->type->dims[0], flat[2] = {n * groups, x->type->dims[1] / groups}, dims[2] = {n, groups};
  x = cel_hlo_reshape(b, x, 2, flat);
  hlo best = two ? row_reduce(b, CEL_HLO_ADD, cel_emit_pick(b, x, cel_emit_top_k(e, x, 2)))
                 : row_reduce(b, CEL_HLO_MAXIMUM, x);
  return cel_hlo_reshape(b, best, 2, dims);
}

// Scores with those outside the best groups at `lost`.
static hlo within_groups(cel_emit *e, hlo x, bool two, double lost) {
  const cel_moe *m = &e->arch->moe;
  if (!x || m->n_group <= 1 || m->topk_group >= m->n_group) return x;
  cel_hlo_builder *b = &e->b;
  hlo best = cel_emit_top_k(e, group_scores(e, x, m->n_group, two), m->topk_group);
  if (!best) return NULL;
  int64_t n = x->type->dims[0], grid[3] = {n, m->topk_group, m->n_group}, map[2] = {0, 1}, middle = 1;
  hlo is = cel_hlo_compare(b, "EQ", cel_hlo_broadcast(b, best, 3, grid, map), cel_hlo_iota(b, CEL_ET_I32, 3, grid, 2));
  hlo kept = cel_hlo_reduce(b, CEL_HLO_OR, is, &middle, 1);
  int64_t groups[3] = {n, m->n_group, x->type->dims[1] / m->n_group};
  kept = cel_hlo_reshape(b, cel_hlo_broadcast(b, kept, 3, groups, map), 2, x->type->dims);
  return cel_hlo_select(b, kept, x, cel_hlo_splat(b, CEL_ET_F32, 2, x->type->dims, lost));
}

// ---- the rules -------------------------------------------------------------------------------------

static hlo corrected(cel_emit *e, int layer, hlo x) {
  hlo by = cel_emit_weight_of(e, CEL_W_ROUTER_CORRECTION, layer)->vector;
  return by ? cel_hlo_binary(&e->b, CEL_HLO_ADD, x, cel_emit_along_last(&e->b, by, x)) : x;
}

// R5: an expert's weight is a softmax over those whose logit is near its own. The first sees all, the second all but
// the first.
static cel_chosen sparsemixer(cel_emit *e, hlo s) {
  cel_hlo_builder *b = &e->b;
  cel_chosen c = {.ids = cel_emit_top_k(e, s, 2)};
  hlo picked = cel_emit_pick(b, s, c.ids), parts[2];
  if (!picked || !s) return c;
  const int64_t *d = s->type->dims, flat[1] = {d[0]}, column[2] = {d[0], 1};
  hlo zero = cel_hlo_splat(b, CEL_ET_F32, 2, d, 0);
  for (int i = 0; i < 2; i++) {
    hlo most = cel_emit_along_rows(b, cel_hlo_reshape(b, cel_hlo_slice_dim(b, picked, 1, i, i + 1, 1), 1, flat), s);
    hlo size = cel_hlo_binary(b, CEL_HLO_MAXIMUM, cel_hlo_unary(b, CEL_HLO_ABS, s), most);
    hlo below = cel_hlo_binary(b, CEL_HLO_DIVIDE, cel_hlo_binary(b, CEL_HLO_SUBTRACT, most, s), size);
    hlo far = cel_hlo_compare(b, "GT", below, cel_hlo_splat(b, CEL_ET_F32, 2, d, 2 * e->arch->moe.jitter));
    hlo z = cel_hlo_unary(b, CEL_HLO_EXPONENTIAL, cel_hlo_binary(b, CEL_HLO_SUBTRACT, s, most));
    z = cel_hlo_select(b, far, zero, z);
    if (i == 1) {
      hlo first = cel_emit_along_rows(b, cel_hlo_reshape(b, cel_hlo_slice_dim(b, c.ids, 1, 0, 1, 1), 1, flat), s);
      z = cel_hlo_select(b, cel_hlo_compare(b, "EQ", cel_hlo_iota(b, CEL_ET_I32, 2, d, 1), first), zero, z);
    }
    parts[i] = cel_hlo_reshape(b, row_reduce(b, CEL_HLO_ADD, z), 2, column);
  }
  hlo sums = cel_hlo_concat(b, parts, 2, 1);
  c.weights = sums ? cel_hlo_binary(b, CEL_HLO_DIVIDE, cel_hlo_splat(b, CEL_ET_F32, 2, sums->type->dims, 1), sums)
                   : NULL;
  return c;
}

static cel_chosen choose(cel_emit *e, int layer, hlo logits) {
  cel_hlo_builder *b = &e->b;
  int64_t k = e->arch->moe.top_k;
  cel_chosen c = {0};
  hlo p;
  switch (e->arch->moe.router) {
    case CEL_ROUTER_SOFTMAX:
      p = cel_emit_softmax(b, logits, NULL);
      c.ids = cel_emit_top_k(e, within_groups(e, p, false, 0), k);
      c.weights = cel_emit_pick(b, p, c.ids);
      break;
    case CEL_ROUTER_TOPK_SOFTMAX:
      c.ids = cel_emit_top_k(e, logits, k);
      c.weights = cel_emit_softmax(b, cel_emit_pick(b, logits, c.ids), NULL);
      break;
    case CEL_ROUTER_SIGMOID:
      p = cel_hlo_unary(b, CEL_HLO_LOGISTIC, logits);
      c.ids = cel_emit_top_k(e, within_groups(e, corrected(e, layer, p), true, -INFINITY), k);
      c.weights = cel_emit_pick(b, p, c.ids);
      break;
    case CEL_ROUTER_SPARSEMIXER:
      return sparsemixer(e, logits);
    case CEL_ROUTER_SOFTMAX_BIASED:
      p = cel_emit_softmax(b, logits, NULL);
      c.ids = cel_emit_top_k(e, corrected(e, layer, p), k);
      c.weights = cel_emit_pick(b, p, c.ids);
      break;
  }
  return c;
}

cel_chosen cel_emit_route(cel_emit *e, int layer, hlo h) {
  cel_hlo_builder *b = &e->b;
  const cel_moe *m = &e->arch->moe;
  cel_chosen c = choose(e, layer, cel_emit_tap(e, layer, "moe_router", cel_emit_linear(e, CEL_W_ROUTER, layer, h)));
  if (m->renorm) {
    hlo sum = row_reduce(b, CEL_HLO_ADD, c.weights);
    if (m->renorm_add != 0) sum = cel_hlo_binary_scalar(b, CEL_HLO_ADD, sum, m->renorm_add);
    if (m->renorm_min != 0) sum = cel_hlo_binary_scalar(b, CEL_HLO_MAXIMUM, sum, m->renorm_min);
    c.weights = cel_hlo_binary(b, CEL_HLO_DIVIDE, c.weights, cel_emit_along_rows(b, sum, c.weights));
  }
  if (m->scale != 1) c.weights = cel_hlo_binary_scalar(b, CEL_HLO_MULTIPLY, c.weights, m->scale);
  cel_emit_tap(e, layer, "moe_ids", c.ids);
  cel_emit_tap(e, layer, "moe_weights", c.weights);
  return c;
}
