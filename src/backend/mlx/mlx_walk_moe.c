// Mixtures of experts: each token's router chooses k gated MLPs of E; their outputs are summed with the router's weights.
#include "backend/mlx/mlx_walk.h"

// x [N, 1 or k, in] through the chosen matrices of a stack: [N, k, out], biases added.
static arr experts(cel_mlx_walk *w, cel_weight_role role, int layer, arr x, arr ids) {
  const cel_mlx_weight *p = cel_mlx_weight_of(w->m, role, layer);
  if (!x) return NULL;
  int64_t n = w->n, k = w->arch->moe.top_k, row[4] = {n, cel_mlx_dim(x, 1), 1, p->cols};
  arr y = cel_mlx_expert_linear(w->c, cel_mlx_reshape(w->c, x, 4, row), &p->matrix, ids);
  y = cel_mlx_shape3(w, y, n, k, p->rows);
  if (p->global_scale) {
    arr scale = cel_mlx_cast(w->c, cel_mlx_take(w->c, p->global_scale, ids, 0), w->type);
    y = cel_mlx_mul(w, y, cel_mlx_shape3(w, scale, n, k, 1));
  }
  bool summed_later = w->m->rank > 0 && cel_mlx_is_partial(role);  // one process adds the bias
  return p->bias && !summed_later ? cel_mlx_add(w, y, cel_mlx_take(w->c, p->bias, ids, 0)) : y;
}

// gpt-oss: (up + 1) * gate * sigmoid(alpha * gate), gate cut off above, up on both sides.
static arr clamped_act(cel_mlx_walk *w, const cel_moe *m, arr gate, arr up) {
  gate = cel_mlx_scalar_op(w->c, CEL_MLX_MIN, gate, m->clamp);
  up = cel_mlx_scalar_op(w->c, CEL_MLX_MAX, cel_mlx_scalar_op(w->c, CEL_MLX_MIN, up, m->clamp), -m->clamp);
  arr glu = cel_mlx_mul(w, gate, cel_mlx_sigmoid(w, cel_mlx_by(w, gate, m->alpha)));
  return cel_mlx_mul(w, glu, cel_mlx_plus(w, up, 1));
}

static void gate_and_up(cel_mlx_walk *w, int layer, arr x, arr ids, arr *gate, arr *up) {
  int64_t inter = w->arch->moe.inter;
  if (!cel_mlx_weight_of(w->m, CEL_W_EXPERT_GATE_UP, layer)->present) {
    *gate = experts(w, CEL_W_EXPERT_GATE, layer, x, ids);
    *up = experts(w, CEL_W_EXPERT_UP, layer, x, ids);
    return;
  }
  arr both = experts(w, CEL_W_EXPERT_GATE_UP, layer, x, ids);
  bool i = w->arch->moe.interleaved;
  *gate = cel_mlx_slice(w->c, both, 2, 0, i ? 2 * inter : inter, i ? 2 : 1);
  *up = cel_mlx_slice(w->c, both, 2, i ? 1 : inter, 2 * inter, i ? 2 : 1);
}

static arr shared(cel_mlx_walk *w, int layer, arr h) {
  arr y = cel_mlx_gated(w, CEL_W_SHARED_GATE, CEL_W_SHARED_UP, CEL_W_SHARED_DOWN, layer, h);
  if (w->arch->moe.shared == CEL_SHARED_PLAIN) return y;
  return cel_mlx_mul(w, y, cel_mlx_sigmoid(w, cel_mlx_product(w, CEL_W_SHARED_SWITCH, layer, h)));
}

arr cel_mlx_moe(cel_mlx_walk *w, int layer, arr h) {
  const cel_moe *m = &w->arch->moe;
  cel_mlx_chosen c = cel_mlx_route(w, layer, h);
  arr gate, up;
  gate_and_up(w, layer, cel_mlx_shape3(w, h, w->n, 1, w->arch->hidden), c.ids, &gate, &up);
  arr a = m->clamp > 0 ? clamped_act(w, m, gate, up) : cel_mlx_gated_act(w, gate, up);
  arr y = experts(w, CEL_W_EXPERT_DOWN, layer, a, c.ids);
  y = cel_mlx_mul(w, y, cel_mlx_shape3(w, c.weights, w->n, m->top_k, 1));
  y = cel_mlx_cast(w->c, cel_mlx_reduce(w->c, CEL_MLX_SUM, y, 1, false), w->type);
  if (w->m->n_ranks > 1) y = cel_mlx_all_sum(w->c, y);
  return m->shared != CEL_SHARED_NONE ? cel_mlx_add(w, y, shared(w, layer, h)) : y;
}
