// Multi-head latent attention (DeepSeek-V2, section 2.1) in its absorbed form. The cache holds one row per token, [latent
// c | rotated key dr], that all heads share. With kv_b's rows of a head being [Wk; Wv] on the latent:
//   score = (q_nope Wk) . latent + q_rope . key       so q is [q_nope Wk | q_rope], c + dr wide, and the row the key;
//   out   = Wv (sum of p * latent)                    so the row's first c columns are the value.
// Neither Wk nor Wv meets a cached token.
#include "backend/xla/emit/emit_internal.h"

// Which rows of each head's span of a weight [heads * per_head, cols].
typedef struct part {
  int64_t per_head, first, rows;
  bool transposed;  // x times the rows, not the rows times x
} part;

// v [heads * per_head, X] -> the part's rows [heads * rows, X].
static hlo rows_of(cel_hlo_builder *b, hlo v, int64_t heads, const part *p) {
  if (!v || p->rows == p->per_head) return v;
  int64_t by_head[3] = {heads, p->per_head, v->type->dims[1]}, flat[2] = {heads * p->rows, v->type->dims[1]};
  v = cel_hlo_slice_dim(b, cel_hlo_reshape(b, v, 3, by_head), 1, p->first, p->first + p->rows, 1);
  return cel_hlo_reshape(b, v, 2, flat);
}

static hlo arg_like(cel_hlo_builder *b, const char *name, hlo v) { return v ? cel_hlo_arg(b, name, v->type) : NULL; }

static const cel_hlo_func *decomposition(cel_emit *e, const cel_emit_weight *w, const part *p, hlo x) {
  if (!x) return NULL;
  cel_hlo_builder *b = &e->b;
  const cel_storage *s = &w->storage;
  int64_t heads = x->type->dims[1], cols = s->cols;
  cel_emit_scope scope;
  const cel_hlo_func *made = cel_emit_begin(e, &scope, "head_linear", "head_linear %s %d %d %d %lld %lld %lld %lld %d", s->format,
                                            s->bits, s->group, (int)s->scale_type, (long long)p->per_head, (long long)p->first,
                                            (long long)p->rows, (long long)cols, p->transposed);
  if (made) return made;
  hlo in = arg_like(b, "x", x), packed = arg_like(b, "weight", w->w);
  hlo scales = arg_like(b, "scales", w->scales), biases = arg_like(b, "biases", w->biases);
  packed = rows_of(b, packed, heads, p);
  scales = rows_of(b, scales, heads, p);
  biases = rows_of(b, biases, heads, p);
  int64_t by_head[3] = {heads, p->rows, cols};
  hlo wide = cel_hlo_reshape(b, cel_emit_dequantize(b, s, packed, scales, biases, heads * p->rows), 3, by_head);
  cel_hlo_dot_dims dims = {.n_batch = 1, .lhs_batch = {1}, .rhs_batch = {0}, .n_contract = 1, .lhs_contract = {2},
                           .rhs_contract = {p->transposed ? 1 : 2}};
  static const int64_t token_first[3] = {1, 0, 2};  // [heads, N, out]
  return cel_emit_end(e, &scope, cel_hlo_transpose(b, cel_hlo_dot(b, in, wide, &dims, CEL_ET_F32), token_first));
}

static hlo head_linear(cel_emit *e, const cel_emit_weight *w, part p, hlo x) {
  cel_hlo_builder *b = &e->b;
  const cel_hlo_func *f = decomposition(e, w, &p, x);
  hlo operands[4] = {x};
  cel_hlo_attr *attrs[6];
  int n = 1 + cel_emit_weight_operands(w, operands + 1), n_attrs = cel_emit_storage_attrs(b, &w->storage, attrs);
  attrs[n_attrs++] = cel_hlo_new_int(b, "per_head", CEL_ET_I64, p.per_head);
  attrs[n_attrs++] = cel_hlo_new_int(b, "first", CEL_ET_I64, p.first);
  attrs[n_attrs++] = cel_hlo_new_bool(b, "transposed", p.transposed);
  return cel_hlo_composite(b, "mlxcel.head_linear", operands, n, attrs, n_attrs, f);
}

static hlo flat_rows(cel_hlo_builder *b, hlo v) {
  if (!v) return NULL;
  int64_t flat[2] = {v->type->dims[0] * v->type->dims[1], v->type->dims[2]};
  return cel_hlo_reshape(b, v, 2, flat);
}

// MLX keeps Wk (transposed) and Wv as two stacks of a matrix per head: the same rows one behind the other.
static hlo stack_linear(cel_emit *e, cel_weight_role role, int layer, hlo x) {
  cel_hlo_builder *b = &e->b;
  cel_emit_weight w = *cel_emit_weight_of(e, role, layer);
  w.w = flat_rows(b, w.w);
  w.scales = flat_rows(b, w.scales);
  w.biases = flat_rows(b, w.biases);
  return head_linear(e, &w, (part){.per_head = w.storage.rows, .rows = w.storage.rows}, x);
}

static hlo absorb_keys(cel_emit *e, int layer, hlo q) {  // [N, heads, dn] -> [N, heads, c]
  const cel_mla *m = &e->arch->mla;
  const cel_emit_weight *w = cel_emit_weight_of(e, CEL_W_KV_B, layer);
  if (!w->present) return stack_linear(e, CEL_W_EMBED_Q, layer, q);
  return head_linear(e, w, (part){.per_head = m->nope + m->v, .rows = m->nope, .transposed = true}, q);
}

static hlo absorb_values(cel_emit *e, int layer, hlo latent) {  // [N, heads, c] -> [N, heads, dv]
  const cel_mla *m = &e->arch->mla;
  const cel_emit_weight *w = cel_emit_weight_of(e, CEL_W_KV_B, layer);
  if (!w->present) return stack_linear(e, CEL_W_UNEMBED_OUT, layer, latent);
  return head_linear(e, w, (part){.per_head = m->nope + m->v, .first = m->nope, .rows = m->v}, latent);
}

// The norms of the ranks have the class default's eps, whatever the config says.
static hlo inner_norm(cel_emit *e, cel_weight_role role, int layer, hlo x) {
  return cel_emit_rms_norm(e, x, cel_emit_weight_of(e, role, layer)->vector, 0, 1e-6);
}

static hlo queries(cel_emit *e, int layer, hlo h) {  // [N, heads, c + dr]
  const cel_arch *a = e->arch;
  const cel_mla *m = &a->mla;
  cel_hlo_builder *b = &e->b;
  hlo q = m->q_rank == 0 ? cel_emit_linear(e, CEL_W_Q, layer, h)
                         : cel_emit_linear(e, CEL_W_Q_B, layer, inner_norm(e, CEL_W_Q_A_NORM, layer, cel_emit_linear(e, CEL_W_Q_A, layer, h)));
  int64_t by_head[3] = {e->n, a->n_q, m->nope + m->rope};
  q = cel_hlo_reshape(b, q, 3, by_head);
  hlo nope = cel_hlo_slice_dim(b, q, 2, 0, m->nope, 1), rope = cel_hlo_slice_dim(b, q, 2, m->nope, by_head[2], 1);
  cel_emit_tap(e, layer, "q_nope", nope);
  hlo parts[2] = {absorb_keys(e, layer, nope), cel_emit_tap(e, layer, "q_rope", cel_emit_rope(e, a->layers[layer].rope, rope))};
  return cel_emit_tap(e, layer, "q", cel_hlo_concat(b, parts, 2, 2));
}

static hlo cache_row(cel_emit *e, int layer, hlo h) {  // [N, 1, c + dr]
  const cel_mla *m = &e->arch->mla;
  cel_hlo_builder *b = &e->b;
  hlo kv = cel_emit_linear(e, CEL_W_KV_A, layer, h);
  hlo latent = inner_norm(e, CEL_W_KV_A_NORM, layer, cel_hlo_slice_dim(b, kv, 1, 0, m->kv_rank, 1));
  cel_emit_tap(e, layer, "latent", latent);
  hlo key = cel_hlo_slice_dim(b, kv, 1, m->kv_rank, m->kv_rank + m->rope, 1);
  int64_t latent_dims[3] = {e->n, 1, m->kv_rank}, key_dims[3] = {e->n, 1, m->rope};
  hlo parts[2] = {cel_hlo_reshape(b, latent, 3, latent_dims),
                  cel_emit_rope(e, e->arch->layers[layer].rope, cel_hlo_reshape(b, key, 3, key_dims))};
  cel_emit_tap(e, layer, "k_rope", parts[1]);
  return cel_hlo_concat(b, parts, 2, 2);
}

hlo cel_emit_mla(cel_emit *e, int layer, hlo h) {
  const cel_arch *a = e->arch;
  cel_hlo_builder *b = &e->b;
  cel_hlo_path(b, "layers.%d.attn", layer);
  hlo q = queries(e, layer, h);
  hlo entry = cel_hlo_scalar(b, CEL_ET_I32, a->layers[layer].state);
  cel_emit_append(e, CEL_STATE_KEYS, entry, cache_row(e, layer, h));
  hlo rows = e->state[CEL_STATE_KEYS];
  hlo y = absorb_values(e, layer, cel_emit_attend(e, layer, entry, q, rows, rows, a->mla.kv_rank));
  int64_t flat[2] = {e->n, (int64_t)a->n_q * a->mla.v};
  return cel_emit_linear(e, CEL_W_O, layer, cel_emit_tap(e, layer, "attn", cel_hlo_reshape(b, y, 2, flat)));
}
