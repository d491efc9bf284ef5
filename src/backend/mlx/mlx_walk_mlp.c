// The dense feed-forward: down(act(gate x) * (up x)), or down(act(up x)).
#include "backend/mlx/mlx_walk.h"

// x/2 * (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
static arr gelu_tanh(cel_mlx_walk *w, arr x) {
  arr cube = cel_mlx_mul(w, cel_mlx_mul(w, x, x), x);
  arr inner = cel_mlx_by(w, cel_mlx_add(w, x, cel_mlx_by(w, cube, 0.044715)), 0.7978845608028654);
  return cel_mlx_mul(w, cel_mlx_by(w, x, 0.5), cel_mlx_plus(w, cel_mlx_unary_op(w->c, CEL_MLX_TANH, inner), 1));
}

static arr gelu_erf(cel_mlx_walk *w, arr x) {
  arr e = cel_mlx_unary_op(w->c, CEL_MLX_ERF, cel_mlx_by(w, x, 0.7071067811865476));
  return cel_mlx_mul(w, cel_mlx_by(w, x, 0.5), cel_mlx_plus(w, e, 1));
}

static arr activate(cel_mlx_walk *w, arr x) {
  switch (w->arch->act) {
    case CEL_ACT_SILU: return cel_mlx_silu(w, x);
    case CEL_ACT_GELU_TANH: return gelu_tanh(w, x);
    case CEL_ACT_GELU_ERF: return gelu_erf(w, x);
    case CEL_ACT_RELU: return cel_mlx_scalar_op(w->c, CEL_MLX_MAX, x, 0);
    case CEL_ACT_RELU2:
      x = cel_mlx_scalar_op(w->c, CEL_MLX_MAX, x, 0);
      return cel_mlx_mul(w, x, x);
    case CEL_ACT_XIELU: break;
  }
  cel_mlx_refuse(w->c, CEL_UNSUPPORTED, "the activation xielu has numbers of its own in every layer, which only plain MLPs have");
  return NULL;
}

arr cel_mlx_gated_act(cel_mlx_walk *w, arr gate, arr up) { return cel_mlx_mul(w, activate(w, gate), up); }

arr cel_mlx_gated(cel_mlx_walk *w, cel_weight_role gate, cel_weight_role up, cel_weight_role down, int layer, arr h) {
  arr g = cel_mlx_product(w, gate, layer, h), u = cel_mlx_product(w, up, layer, h);
  return cel_mlx_product(w, down, layer, cel_mlx_gated_act(w, g, u));
}

static arr number(cel_mlx_walk *w, cel_weight_role role, int layer) { return cel_mlx_weight_of(w->m, role, layer)->vector; }

static arr softplus(cel_mlx_walk *w, arr x) { return cel_mlx_unary_op(w->c, CEL_MLX_LOG1P, cel_mlx_unary_op(w->c, CEL_MLX_EXP, x)); }

// xIELU, with P = softplus(alpha_p) and N = beta + softplus(alpha_n):
// x > 0: P x^2 + beta x, otherwise N (e^min(x, eps) - 1 - x) + beta x. In f32.
static arr xielu(cel_mlx_walk *w, int layer, arr x) {
  x = cel_mlx_f32(w, x);
  arr beta = number(w, CEL_W_ACT_BETA, layer), up = softplus(w, number(w, CEL_W_ACT_ALPHA_P, layer));
  arr down = cel_mlx_add(w, beta, softplus(w, number(w, CEL_W_ACT_ALPHA_N, layer)));
  arr least = cel_mlx_binary_op(w->c, CEL_MLX_MIN, x, number(w, CEL_W_ACT_EPS, layer));
  arr left = cel_mlx_sub(w, cel_mlx_plus(w, cel_mlx_unary_op(w->c, CEL_MLX_EXP, least), -1), x);
  arr right = cel_mlx_mul(w, cel_mlx_mul(w, up, x), x);
  arr y = cel_mlx_where(w->c, cel_mlx_scalar_op(w->c, CEL_MLX_GT, x, 0), right, cel_mlx_mul(w, down, left));
  return cel_mlx_cast(w->c, cel_mlx_add(w, y, cel_mlx_mul(w, beta, x)), w->type);
}

arr cel_mlx_mlp(cel_mlx_walk *w, int layer, arr h) {
  if (w->arch->layers[layer].ffn == CEL_FFN_GATED) return cel_mlx_gated(w, CEL_W_GATE, CEL_W_UP, CEL_W_DOWN, layer, h);
  arr x = cel_mlx_product(w, CEL_W_UP, layer, h);
  x = w->arch->act == CEL_ACT_XIELU ? xielu(w, layer, x) : activate(w, x);
  return cel_mlx_product(w, CEL_W_DOWN, layer, x);
}
