// From the normed hidden rows to queries, keys and values as the cache takes them: projections, their norms, clipping
// and rotation, in the order the family has them.
#include "backend/xla/emit/emit_internal.h"

static hlo heads(cel_emit *e, hlo x, int64_t n_heads) {
  int64_t dims[3] = {e->n, n_heads, e->arch->head_dim};
  return cel_hlo_reshape(&e->b, x, 3, dims);
}

// Each head with an RMS of its own, x [N, heads, D]; or one RMS over all of them.
static hlo rms(cel_emit *e, hlo x, hlo weight, bool flat) {
  if (!x) return NULL;
  double plus = e->arch->norm == CEL_NORM_RMS_PLUS_ONE ? 1 : 0;
  int64_t n_heads = x->type->dims[1], dims[2] = {e->n, n_heads * e->arch->head_dim};
  if (!flat) return cel_emit_rms_norm(e, x, weight, plus, e->arch->norm_eps);
  return heads(e, cel_emit_rms_norm(e, cel_hlo_reshape(&e->b, x, 2, dims), weight, plus, e->arch->norm_eps), n_heads);
}

// Layer norm over D with a weight row per head.
static hlo layer_norm_by_head(cel_emit *e, hlo x, hlo weight) {
  if (!x) return NULL;
  return cel_emit_layer_norm(e, x, cel_hlo_reshape(&e->b, weight, 2, x->type->dims + 1), NULL, e->arch->norm_eps);
}

static hlo qk_norm(cel_emit *e, cel_weight_role role, int layer, hlo x) {
  hlo weight = cel_emit_weight_of(e, role, layer)->vector;
  switch (e->arch->qk_norm) {
    case CEL_QK_NORM_NONE: return x;
    case CEL_QK_NORM_HEAD: return rms(e, x, weight, false);
    case CEL_QK_NORM_FLAT: return rms(e, x, weight, true);
    case CEL_QK_NORM_HEAD_LAYER: return layer_norm_by_head(e, x, weight);
  }
  return x;
}

static hlo v_norm(cel_emit *e, hlo x) {
  int64_t d = e->arch->head_dim;
  return rms(e, x, cel_hlo_splat(&e->b, CEL_ET_F32, 1, &d, 1), false);
}

static hlo clip(cel_emit *e, hlo x) {
  double most = e->arch->clip_qkv;
  if (most == 0) return x;
  x = cel_hlo_binary_scalar(&e->b, CEL_HLO_MINIMUM, x, most);
  return cel_hlo_binary_scalar(&e->b, CEL_HLO_MAXIMUM, x, -most);
}

// InternLM2: the rows of one product are, for each kv head, its query heads, then its key, then its value.
static void grouped(cel_emit *e, int layer, hlo h, cel_qkv *out) {
  const cel_arch *a = e->arch;
  cel_hlo_builder *b = &e->b;
  int64_t group = a->n_q / a->n_kv, dims[4] = {e->n, a->n_kv, group + 2, a->head_dim};
  hlo x = cel_hlo_reshape(b, cel_emit_linear(e, CEL_W_QKV, layer, h), 4, dims);
  out->q = heads(e, cel_hlo_slice_dim(b, x, 2, 0, group, 1), a->n_q);
  out->k = heads(e, cel_hlo_slice_dim(b, x, 2, group, group + 1, 1), a->n_kv);
  out->v = heads(e, cel_hlo_slice_dim(b, x, 2, group + 1, group + 2, 1), a->n_kv);
}

// Qwen3-Next: the rows of q's product are, for each head, its query, then the gate of its output.
static void gated(cel_emit *e, int layer, hlo h, cel_qkv *out) {
  const cel_arch *a = e->arch;
  cel_hlo_builder *b = &e->b;
  int64_t d = a->head_dim, dims[3] = {e->n, a->n_q, 2 * d}, flat[2] = {e->n, a->n_q * d};
  hlo x = cel_hlo_reshape(b, cel_emit_linear(e, CEL_W_Q, layer, h), 3, dims);
  out->q = cel_hlo_slice_dim(b, x, 2, 0, d, 1);
  out->gate = cel_hlo_reshape(b, cel_hlo_slice_dim(b, x, 2, d, 2 * d, 1), 2, flat);
}

static void separate(cel_emit *e, int layer, hlo h, cel_qkv *out) {
  const cel_arch *a = e->arch;
  if (a->out_gate) gated(e, layer, h, out);
  else out->q = heads(e, cel_emit_linear(e, CEL_W_Q, layer, h), a->n_q);
  if (a->layers[layer].kv_shared) return;
  out->k = heads(e, cel_emit_linear(e, CEL_W_K, layer, h), a->n_kv);
  out->v = heads(e, cel_emit_linear(e, CEL_W_V, layer, h), a->n_kv);
}

static hlo finish(cel_emit *e, cel_weight_role norm, int layer, hlo x) {
  bool late = e->arch->qk_norm_after_rope;
  int table = e->arch->layers[layer].rope;
  if (!x) return NULL;
  if (!late) x = qk_norm(e, norm, layer, x);
  x = cel_emit_rope(e, table, clip(e, x));
  return late ? qk_norm(e, norm, layer, x) : x;
}

cel_qkv cel_emit_qkv(cel_emit *e, int layer, hlo h) {
  cel_qkv out = {0};
  if (e->arch->names[CEL_W_QKV]) grouped(e, layer, h, &out);
  else separate(e, layer, h, &out);
  cel_emit_tap(e, layer, "q_proj", out.q);
  cel_emit_tap(e, layer, "k_proj", out.k);
  cel_emit_tap(e, layer, "v_proj", out.v);
  out.q = finish(e, CEL_W_Q_NORM, layer, out.q);
  out.k = cel_emit_tap(e, layer, "k", finish(e, CEL_W_K_NORM, layer, out.k));
  if (out.v) out.v = cel_emit_tap(e, layer, "v", clip(e, e->arch->v_norm ? v_norm(e, out.v) : out.v));
  if (e->q_scale && out.q) {
    int64_t map[1] = {0};
    out.q = cel_hlo_binary(&e->b, CEL_HLO_MULTIPLY, out.q, cel_hlo_broadcast(&e->b, e->q_scale, 3, out.q->type->dims, map));
  }
  cel_emit_tap(e, layer, "q", out.q);
  return out;
}
