// Which experts a token goes to, and with what weights (text-architectures §2.2); in f32 throughout.
#include <math.h>

#include "backend/mlx/mlx_walk.h"

// Where the k largest of each row are, the largest first, of equal ones the lower index: u32 [N, k].
static arr top_k(cel_mlx_walk *w, arr x, int64_t k) {
  return cel_mlx_slice(w->c, cel_mlx_argsort(w->c, cel_mlx_unary_op(w->c, CEL_MLX_NEGATE, x)), 1, 0, k, 1);
}

static arr pick(cel_mlx_walk *w, arr x, arr ids) { return cel_mlx_take_along(w->c, x, ids, 1); }

static arr constant(cel_mlx_walk *w, float x) { return cel_mlx_copy(w->c, CEL_MLX_F32, 0, NULL, &x); }

// The best of each group of columns, or the sum of its two best: [N, E] -> [N, G].
static arr group_scores(cel_mlx_walk *w, arr x, int64_t groups, bool two) {
  int64_t size = w->arch->moe.n_experts / groups;
  if (!two) return cel_mlx_reduce(w->c, CEL_MLX_MOST, cel_mlx_shape3(w, x, w->n, groups, size), 2, false);
  arr flat = cel_mlx_shape2(w, x, w->n * groups, size);
  arr best = cel_mlx_reduce(w->c, CEL_MLX_SUM, pick(w, flat, top_k(w, flat, 2)), 1, false);
  return cel_mlx_shape2(w, best, w->n, groups);
}

// Scores with those outside the best groups at `lost`.
static arr within_groups(cel_mlx_walk *w, arr x, bool two, float lost) {
  const cel_moe *m = &w->arch->moe;
  if (m->n_group <= 1 || m->topk_group >= m->n_group) return x;
  arr best = cel_mlx_cast(w->c, top_k(w, group_scores(w, x, m->n_group, two), m->topk_group), CEL_MLX_I32);
  arr all = cel_mlx_shape3(w, cel_mlx_iota(w->c, 0, m->n_group), 1, 1, m->n_group);
  arr is = cel_mlx_binary_op(w->c, CEL_MLX_EQ, cel_mlx_shape3(w, best, w->n, m->topk_group, 1), all);
  arr kept = cel_mlx_shape3(w, cel_mlx_reduce(w->c, CEL_MLX_ANY, is, 1, false), w->n, m->n_group, 1);
  arr scores = cel_mlx_shape3(w, x, w->n, m->n_group, m->n_experts / m->n_group);
  return cel_mlx_shape2(w, cel_mlx_where(w->c, kept, scores, constant(w, lost)), w->n, m->n_experts);
}

static arr corrected(cel_mlx_walk *w, int layer, arr x) {
  arr by = cel_mlx_weight_of(w->m, CEL_W_ROUTER_CORRECTION, layer)->vector;
  return by ? cel_mlx_add(w, x, by) : x;
}

// R5: an expert's weight is a softmax over those whose logit is near its own. The first sees all, the second all but
// the first.
static cel_mlx_chosen sparsemixer(cel_mlx_walk *w, arr s) {
  cel_mlx_chosen c = {.ids = top_k(w, s, 2)};
  arr picked = pick(w, s, c.ids), sums[2], zero = constant(w, 0);
  for (int i = 0; i < 2; i++) {
    arr most = cel_mlx_slice(w->c, picked, 1, i, i + 1, 1);
    arr size = cel_mlx_binary_op(w->c, CEL_MLX_MAX, cel_mlx_unary_op(w->c, CEL_MLX_ABS, s), most);
    arr far = cel_mlx_scalar_op(w->c, CEL_MLX_GT, cel_mlx_div(w, cel_mlx_sub(w, most, s), size), 2 * w->arch->moe.jitter);
    arr z = cel_mlx_where(w->c, far, zero, cel_mlx_unary_op(w->c, CEL_MLX_EXP, cel_mlx_sub(w, s, most)));
    if (i == 1) {
      arr all = cel_mlx_shape2(w, cel_mlx_iota(w->c, 0, w->arch->moe.n_experts), 1, w->arch->moe.n_experts);
      arr first = cel_mlx_cast(w->c, cel_mlx_slice(w->c, c.ids, 1, 0, 1, 1), CEL_MLX_I32);
      z = cel_mlx_where(w->c, cel_mlx_binary_op(w->c, CEL_MLX_EQ, all, first), zero, z);
    }
    sums[i] = cel_mlx_reduce(w->c, CEL_MLX_SUM, z, 1, true);
  }
  c.weights = cel_mlx_div(w, constant(w, 1), cel_mlx_concat(w->c, sums, 2, 1));
  return c;
}

static cel_mlx_chosen choose(cel_mlx_walk *w, int layer, arr logits) {
  int64_t k = w->arch->moe.top_k;
  cel_mlx_chosen c = {0};
  arr p = NULL;
  switch (w->arch->moe.router) {
    case CEL_ROUTER_SOFTMAX:
      p = cel_mlx_softmax(w->c, logits);
      c.ids = top_k(w, within_groups(w, p, false, 0), k);
      break;
    case CEL_ROUTER_TOPK_SOFTMAX:
      c.ids = top_k(w, logits, k);
      c.weights = cel_mlx_softmax(w->c, pick(w, logits, c.ids));
      return c;
    case CEL_ROUTER_SIGMOID:
      p = cel_mlx_sigmoid(w, logits);
      c.ids = top_k(w, within_groups(w, corrected(w, layer, p), true, -INFINITY), k);
      break;
    case CEL_ROUTER_SPARSEMIXER:
      return sparsemixer(w, logits);
    case CEL_ROUTER_SOFTMAX_BIASED:
      p = cel_mlx_softmax(w->c, logits);
      c.ids = top_k(w, corrected(w, layer, p), k);
      break;
  }
  c.weights = pick(w, p, c.ids);
  return c;
}

cel_mlx_chosen cel_mlx_route(cel_mlx_walk *w, int layer, arr h) {
  const cel_moe *m = &w->arch->moe;
  cel_mlx_chosen c = choose(w, layer, cel_mlx_f32(w, cel_mlx_product(w, CEL_W_ROUTER, layer, h)));
  if (m->renorm) {
    arr sum = cel_mlx_reduce(w->c, CEL_MLX_SUM, c.weights, 1, true);
    if (m->renorm_add != 0) sum = cel_mlx_plus(w, sum, m->renorm_add);
    if (m->renorm_min != 0) sum = cel_mlx_scalar_op(w->c, CEL_MLX_MAX, sum, m->renorm_min);
    c.weights = cel_mlx_div(w, c.weights, sum);
  }
  if (m->scale != 1) c.weights = cel_mlx_by(w, c.weights, m->scale);
  return c;
}
