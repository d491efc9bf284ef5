// Products with stored weights, an adapter beside them, and the embedding lookup.
#include "backend/mlx/mlx_walk.h"

arr cel_mlx_product(cel_mlx_walk *w, cel_weight_role role, int layer, arr x) {
  const cel_mlx_weight *p = cel_mlx_weight_of(w->m, role, layer);
  arr y = cel_mlx_linear(w->c, x, &p->matrix, true);
  if (p->low.w) y = cel_mlx_add(w, y, cel_mlx_linear(w->c, cel_mlx_linear(w->c, x, &p->low, true), &p->high, true));
  if (w->m->n_ranks > 1 && cel_mlx_is_partial(role)) y = cel_mlx_all_sum(w->c, y);
  return p->bias ? cel_mlx_add(w, y, p->bias) : y;
}

arr cel_mlx_lookup(cel_mlx_walk *w, cel_weight_role role, arr ids) {
  const cel_mlx_matrix *table = &cel_mlx_weight_of(w->m, role, -1)->matrix;
  cel_mlx_matrix rows = *table;
  rows.w = cel_mlx_take(w->c, table->w, ids, 0);
  if (!table->scales) return cel_mlx_cast(w->c, rows.w, w->type);
  rows.scales = cel_mlx_take(w->c, table->scales, ids, 0);
  if (table->biases) rows.biases = cel_mlx_take(w->c, table->biases, ids, 0);
  return cel_mlx_dequantize(w->c, &rows, w->type);
}
