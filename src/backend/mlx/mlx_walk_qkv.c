// From the normed hidden rows to queries, keys and values: projections, their norms, clipping and rotation, in the order
// the family has them.
#include "backend/mlx/mlx_walk.h"

static arr heads(cel_mlx_walk *w, arr x, int64_t n_heads) { return cel_mlx_shape3(w, x, w->n, n_heads, w->arch->head_dim); }

// x [..., D], or with one norm for the whole projection [N, heads, D].
static arr qk_norm(cel_mlx_walk *w, cel_weight_role role, int layer, arr x) {
  arr weight = cel_mlx_weight_of(w->m, role, layer)->vector;
  double eps = w->arch->norm_eps;
  if (!x) return NULL;
  int64_t n_heads = cel_mlx_dim(x, 1), d = w->arch->head_dim;
  switch (w->arch->qk_norm) {
    case CEL_QK_NORM_NONE: return x;
    case CEL_QK_NORM_HEAD: return cel_mlx_rms_norm(w->c, x, weight, eps);
    case CEL_QK_NORM_FLAT: return heads(w, cel_mlx_rms_norm(w->c, cel_mlx_shape2(w, x, w->n, n_heads * d), weight, eps), n_heads);
    case CEL_QK_NORM_HEAD_LAYER:
      return cel_mlx_mul(w, cel_mlx_layer_norm(w->c, x, NULL, NULL, eps), cel_mlx_shape2(w, weight, n_heads, d));
  }
  return x;
}

static arr clip(cel_mlx_walk *w, arr x) {
  double most = w->arch->clip_qkv;
  if (most == 0) return x;
  return cel_mlx_scalar_op(w->c, CEL_MLX_MAX, cel_mlx_scalar_op(w->c, CEL_MLX_MIN, x, most), -most);
}

// InternLM2: the rows of one product are, for each kv head, its query heads, then its key, then its value.
static void grouped(cel_mlx_walk *w, int layer, arr h, cel_mlx_qkv *out) {
  const cel_arch *a = w->arch;
  int64_t group = a->n_q / a->n_kv, dims[4] = {w->n, a->n_kv, group + 2, a->head_dim};
  arr x = cel_mlx_reshape(w->c, cel_mlx_product(w, CEL_W_QKV, layer, h), 4, dims);
  out->q = heads(w, cel_mlx_slice(w->c, x, 2, 0, group, 1), a->n_q);
  out->k = heads(w, cel_mlx_slice(w->c, x, 2, group, group + 1, 1), a->n_kv);
  out->v = heads(w, cel_mlx_slice(w->c, x, 2, group + 1, group + 2, 1), a->n_kv);
}

// Qwen3-Next: the rows of q's product are, for each head, its query, then the gate of its output.
static void gated(cel_mlx_walk *w, int layer, arr h, cel_mlx_qkv *out) {
  const cel_arch *a = w->arch;
  int64_t d = a->head_dim;
  arr x = cel_mlx_shape3(w, cel_mlx_product(w, CEL_W_Q, layer, h), w->n, a->n_q, 2 * d);
  out->q = cel_mlx_slice(w->c, x, 2, 0, d, 1);
  out->gate = cel_mlx_shape2(w, cel_mlx_slice(w->c, x, 2, d, 2 * d, 1), w->n, a->n_q * d);
}

static void separate(cel_mlx_walk *w, int layer, arr h, cel_mlx_qkv *out) {
  const cel_arch *a = w->arch;
  if (a->out_gate) gated(w, layer, h, out);
  else out->q = heads(w, cel_mlx_product(w, CEL_W_Q, layer, h), a->n_q);
  if (a->layers[layer].kv_shared) return;
  out->k = heads(w, cel_mlx_product(w, CEL_W_K, layer, h), a->n_kv);
  out->v = heads(w, cel_mlx_product(w, CEL_W_V, layer, h), a->n_kv);
}

static arr head_first(cel_mlx_walk *w, arr x) { return x ? cel_mlx_swap(w->c, x, 0, 1) : NULL; }

// A norm behind the rotation is one over each head: which of the two comes first in the dimensions does not matter to it.
static arr finish(cel_mlx_walk *w, cel_weight_role norm, int layer, arr x) {
  bool late = w->arch->qk_norm_after_rope;
  if (!x) return NULL;
  if (!late) x = qk_norm(w, norm, layer, x);
  x = cel_mlx_rotate(w, w->arch->layers[layer].rope, head_first(w, clip(w, x)));
  return late ? qk_norm(w, norm, layer, x) : x;
}

cel_mlx_qkv cel_mlx_project(cel_mlx_walk *w, int layer, arr h) {
  cel_mlx_qkv out = {0};
  if (w->arch->qk_norm_after_rope && w->arch->qk_norm != CEL_QK_NORM_HEAD) {
    cel_mlx_refuse(w->c, CEL_UNSUPPORTED, "a norm behind the rotation that is not one for each head");
  }
  if (w->arch->names[CEL_W_QKV]) grouped(w, layer, h, &out);
  else separate(w, layer, h, &out);
  out.q = finish(w, CEL_W_Q_NORM, layer, out.q);
  out.k = finish(w, CEL_W_K_NORM, layer, out.k);
  if (out.v && w->arch->v_norm) out.v = cel_mlx_rms_norm(w->c, out.v, NULL, w->arch->norm_eps);
  if (out.v) out.v = head_first(w, clip(w, out.v));
  if (w->q_scale) out.q = cel_mlx_cast(w->c, cel_mlx_mul(w, out.q, w->q_scale), w->type);
  return out;
}
