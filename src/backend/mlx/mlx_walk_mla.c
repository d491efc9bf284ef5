// Multi-head latent attention in its absorbed form (the emitter's block_mla.c says what that is): the row holds, per token,
// one head of [latent | rotated key], whose leading columns are the value, too.
#include "backend/mlx/mlx_walk.h"

// Rows [first, first + rows) of each head's span of kv_b, as a stack [heads, rows, c].
static cel_mlx_matrix part_of(cel_mlx_walk *w, const cel_mlx_weight *kv_b, int64_t first, int64_t rows) {
  const cel_arch *a = w->arch;
  cel_mlx_matrix p = kv_b->matrix;
  arr *fields[3] = {&p.w, &p.scales, &p.biases};
  for (int i = 0; i < 3; i++) {
    if (!*fields[i]) continue;
    arr by_head = cel_mlx_shape3(w, *fields[i], a->n_q, a->mla.nope + a->mla.v, cel_mlx_dim(*fields[i], 1));
    *fields[i] = cel_mlx_slice(w->c, by_head, 1, first, first + rows, 1);
    if (p.scales) *fields[i] = cel_mlx_contiguous(w->c, *fields[i]);
  }
  return p;
}

static arr absorb_keys(cel_mlx_walk *w, int layer, arr q) {  // [heads, N, dn] -> [heads, N, c]
  const cel_mlx_weight *kv_b = cel_mlx_weight_of(w->m, CEL_W_KV_B, layer);
  if (!kv_b->present) return cel_mlx_linear(w->c, q, &cel_mlx_weight_of(w->m, CEL_W_EMBED_Q, layer)->matrix, true);
  cel_mlx_matrix keys = part_of(w, kv_b, 0, w->arch->mla.nope);
  return cel_mlx_linear(w->c, q, &keys, false);
}

static arr absorb_values(cel_mlx_walk *w, int layer, arr latent) {  // [heads, N, c] -> [heads, N, dv]
  const cel_mlx_weight *kv_b = cel_mlx_weight_of(w->m, CEL_W_KV_B, layer);
  if (!kv_b->present) return cel_mlx_linear(w->c, latent, &cel_mlx_weight_of(w->m, CEL_W_UNEMBED_OUT, layer)->matrix, true);
  cel_mlx_matrix values = part_of(w, kv_b, w->arch->mla.nope, w->arch->mla.v);
  return cel_mlx_linear(w->c, latent, &values, true);
}

// The norms of the ranks have the class default's eps, whatever the config says.
static arr inner_norm(cel_mlx_walk *w, cel_weight_role role, int layer, arr x) { return cel_mlx_rms(w, role, layer, x, 1e-6); }

static arr queries(cel_mlx_walk *w, int layer, arr h) {  // [heads, N, c + dr]
  const cel_arch *a = w->arch;
  const cel_mla *m = &a->mla;
  arr q = m->q_rank == 0 ? cel_mlx_product(w, CEL_W_Q, layer, h)
                         : cel_mlx_product(w, CEL_W_Q_B, layer, inner_norm(w, CEL_W_Q_A_NORM, layer, cel_mlx_product(w, CEL_W_Q_A, layer, h)));
  q = cel_mlx_swap(w->c, cel_mlx_shape3(w, q, w->n, a->n_q, m->nope + m->rope), 0, 1);
  arr parts[2] = {absorb_keys(w, layer, cel_mlx_slice(w->c, q, 2, 0, m->nope, 1)),
                  cel_mlx_rotate(w, a->layers[layer].rope, cel_mlx_slice(w->c, q, 2, m->nope, m->nope + m->rope, 1))};
  return cel_mlx_concat(w->c, parts, 2, 2);
}

static arr row_of(cel_mlx_walk *w, int layer, arr h) {  // [1, N, c + dr]
  const cel_mla *m = &w->arch->mla;
  arr kv = cel_mlx_product(w, CEL_W_KV_A, layer, h);
  arr latent = inner_norm(w, CEL_W_KV_A_NORM, layer, cel_mlx_slice(w->c, kv, 1, 0, m->kv_rank, 1));
  arr key = cel_mlx_shape3(w, cel_mlx_slice(w->c, kv, 1, m->kv_rank, m->kv_rank + m->rope, 1), 1, w->n, m->rope);
  arr parts[2] = {cel_mlx_shape3(w, latent, 1, w->n, m->kv_rank), cel_mlx_rotate(w, w->arch->layers[layer].rope, key)};
  return cel_mlx_concat(w->c, parts, 2, 2);
}

arr cel_mlx_latent(cel_mlx_walk *w, int layer, arr h) {
  const cel_arch *a = w->arch;
  arr q = queries(w, layer, h);
  cel_mlx_append(w, a->layers[layer].state, false, row_of(w, layer, h));
  arr y = cel_mlx_attend(w, layer, q);
  y = cel_mlx_swap(w->c, cel_mlx_shape3(w, y, w->n, a->n_q, a->mla.kv_rank), 0, 1);
  y = cel_mlx_swap(w->c, absorb_values(w, layer, y), 0, 1);
  return cel_mlx_product(w, CEL_W_O, layer, cel_mlx_shape2(w, y, w->n, (int64_t)a->n_q * a->mla.v));
}
