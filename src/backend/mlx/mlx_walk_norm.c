// Norms over the last dimension. The 1 of weights stored as 1 + w is added when they are loaded.
#include "backend/mlx/mlx_walk.h"

arr cel_mlx_softcap(cel_mlx_walk *w, arr x, double cap) {
  if (cap <= 0) return x;
  return cel_mlx_by(w, cel_mlx_unary_op(w->c, CEL_MLX_TANH, cel_mlx_scalar_op(w->c, CEL_MLX_DIV, x, cap)), cap);
}

arr cel_mlx_rms(cel_mlx_walk *w, cel_weight_role role, int layer, arr x, double eps) {
  return cel_mlx_rms_norm(w->c, x, cel_mlx_weight_of(w->m, role, layer)->vector, eps);
}

arr cel_mlx_norm(cel_mlx_walk *w, cel_weight_role role, int layer, arr x) {
  const cel_mlx_weight *p = cel_mlx_weight_of(w->m, role, layer);
  double eps = w->arch->norm_eps;
  if (cel_norm_takes_mean(w->arch->norm)) return cel_mlx_layer_norm(w->c, x, p->vector, p->bias, eps);
  return cel_mlx_rms_norm(w->c, x, p->vector, eps);
}
