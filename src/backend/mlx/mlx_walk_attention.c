// Grouped-query attention over what the rows hold, the tokens of this walk included; span by span.
#include "backend/mlx/mlx_walk.h"

// Which keys a query sees, [N, keys]: those up to itself, and of a window its newest.
static arr mask_of(cel_mlx_walk *w, cel_mlx_span *s, int64_t first, int64_t window) {
  arr *made = &s->mask[window > 0];
  if (*made) return *made;
  int64_t end = s->from + s->n;
  arr query = cel_mlx_shape2(w, cel_mlx_iota(w->c, s->from, end), s->n, 1);
  arr key = cel_mlx_shape2(w, cel_mlx_iota(w->c, first, end), 1, end - first);
  *made = cel_mlx_binary_op(w->c, CEL_MLX_LE, key, query);
  if (window == 0) return *made;
  arr young = cel_mlx_binary_op(w->c, CEL_MLX_GT, key, cel_mlx_plus(w, query, -(double)window));
  return *made = cel_mlx_binary_op(w->c, CEL_MLX_AND, *made, young);
}

// Scores held to a soft cap: no fused form has that. q [n_q, N, D], k and v [1, kv, L, .] -> [1, n_q, N, width].
static arr capped(cel_mlx_walk *w, arr q, arr k, arr v, arr mask) {
  const cel_arch *a = w->arch;
  int64_t kv = a->n_kv, group = a->n_q / kv, n = cel_mlx_dim(q, 1), grouped[4] = {kv, group, n, cel_mlx_dim(q, 2)};
  int64_t l = cel_mlx_dim(k, 2), kd[4] = {kv, 1, l, cel_mlx_dim(k, 3)}, vd[4] = {kv, 1, l, cel_mlx_dim(v, 3)};
  int64_t flat[4] = {1, a->n_q, n, vd[3]};
  q = cel_mlx_by(w, cel_mlx_reshape(w->c, q, 4, grouped), a->attn_scale);
  arr s = cel_mlx_matmul(w->c, q, cel_mlx_swap(w->c, cel_mlx_reshape(w->c, k, 4, kd), 2, 3));
  s = cel_mlx_softcap(w, cel_mlx_f32(w, s), a->attn_softcap);
  if (mask) {
    static const float lowest = -3.4028234663852886e38f;
    s = cel_mlx_where(w->c, mask, s, cel_mlx_copy(w->c, CEL_MLX_F32, 0, NULL, &lowest));
  }
  arr p = cel_mlx_cast(w->c, cel_mlx_softmax(w->c, s), w->type);
  return cel_mlx_reshape(w->c, cel_mlx_matmul(w->c, p, cel_mlx_reshape(w->c, v, 4, vd)), 4, flat);
}

typedef struct attention {
  int layer;
  arr q;  // [n_q, N, D], of all spans
} attention;

static arr attend(cel_mlx_walk *w, cel_mlx_span *s, void *context) {  // [n, n_q * width]
  const attention *x = context;
  const cel_arch *a = w->arch;
  const cel_layer *l = &a->layers[x->layer];
  arr q = cel_mlx_part(w, s, x->q, 1), keys = s->row->keys[l->state];
  arr values = a->mla.kv_rank > 0 ? cel_mlx_slice(w->c, keys, 3, 0, a->mla.kv_rank, 1) : s->row->values[l->state], y;
  if (!q || !keys || !values) return NULL;
  int64_t window = l->attention == CEL_ATTENTION_SLIDING ? a->window : 0, end = s->from + s->n;
  int64_t first = window > 0 ? CEL_MAX(0, s->from + 1 - window) : 0, four[4] = {1, a->n_q, s->n, cel_mlx_dim(q, 2)};
  if (end <= window) window = 0;  // all are seen
  arr k = cel_mlx_slice(w->c, keys, 2, first, end, 1), v = cel_mlx_slice(w->c, values, 2, first, end, 1);
  arr sinks = cel_mlx_weight_of(w->m, CEL_W_SINKS, x->layer)->vector;
  bool masked = s->n > 1;  // one query sees all keys that are left
  if (a->attn_softcap > 0) {
    if (sinks) cel_mlx_refuse(w->c, CEL_UNSUPPORTED, "attention with both sinks and a soft cap");
    y = capped(w, q, k, v, masked ? mask_of(w, s, first, window) : NULL);
  } else {
    bool causal = masked && window == 0;
    y = cel_mlx_attention(w->c, cel_mlx_reshape(w->c, q, 4, four), k, v, a->attn_scale, causal,
                          masked && !causal ? mask_of(w, s, first, window) : NULL, sinks);
  }
  if (!y) return NULL;
  return cel_mlx_shape2(w, cel_mlx_swap(w->c, y, 1, 2), s->n, a->n_q * cel_mlx_dim(y, 3));
}

arr cel_mlx_attend(cel_mlx_walk *w, int layer, arr q) {
  attention x = {layer, q};
  return cel_mlx_each_span(w, attend, &x);
}

arr cel_mlx_attend_layer(cel_mlx_walk *w, int layer, arr h) {
  const cel_layer *l = &w->arch->layers[layer];
  cel_mlx_qkv x = cel_mlx_project(w, layer, h);
  if (!l->kv_shared) {
    cel_mlx_append(w, l->state, false, x.k);
    cel_mlx_append(w, l->state, true, x.v);
  }
  arr y = cel_mlx_attend(w, layer, x.q);
  if (x.gate) y = cel_mlx_mul(w, y, cel_mlx_sigmoid(w, x.gate));
  return cel_mlx_product(w, CEL_W_O, layer, y);
}
