#include "arch/weight_shape.h"

#include <stdio.h>

static cel_weight_shape matrix(int64_t rows, int64_t cols, bool bias) { return (cel_weight_shape){CEL_WEIGHT_MATRIX, rows, cols, 0, bias}; }
static cel_weight_shape stack(int64_t n, int64_t rows, int64_t cols, bool bias) { return (cel_weight_shape){CEL_WEIGHT_STACK, rows, cols, n, bias}; }
static cel_weight_shape vector(int64_t n) { return (cel_weight_shape){CEL_WEIGHT_VECTOR, n, 0, 0, false}; }
static cel_weight_shape tensor(int64_t n) { return (cel_weight_shape){CEL_WEIGHT_TENSOR, n, 0, 0, false}; }
static cel_weight_shape norm(const cel_arch *a, int64_t n) { return (cel_weight_shape){CEL_WEIGHT_VECTOR, n, 0, 0, a->norm_bias}; }

static int64_t qk_norm_width(const cel_arch *a, int64_t heads) {
  return a->qk_norm == CEL_QK_NORM_HEAD ? a->head_dim : heads * a->head_dim;
}

static cel_weight_shape attention_shape(const cel_arch *a, cel_weight_role role) {
  int64_t q = (int64_t)a->n_q * a->head_dim, kv = (int64_t)a->n_kv * a->head_dim;
  const cel_mla *m = &a->mla;
  switch (role) {
    case CEL_W_Q: return matrix(q * (a->out_gate ? 2 : 1), a->hidden, a->qkv_bias && m->kv_rank == 0);
    case CEL_W_K:
    case CEL_W_V: return matrix(kv, a->hidden, a->qkv_bias);
    case CEL_W_QKV: return matrix(q + 2 * kv, a->hidden, a->qkv_bias);
    case CEL_W_O: return matrix(a->hidden, m->kv_rank > 0 ? (int64_t)a->n_q * m->v : q, a->o_bias);
    case CEL_W_Q_NORM: return vector(qk_norm_width(a, a->n_q));
    case CEL_W_K_NORM: return vector(qk_norm_width(a, a->n_kv));
    case CEL_W_SINKS: return tensor(a->n_q);
    case CEL_W_Q_A: return matrix(m->q_rank, a->hidden, a->qkv_bias);
    case CEL_W_Q_A_NORM: return vector(m->q_rank);
    case CEL_W_Q_B: return matrix(q, m->q_rank, false);
    case CEL_W_KV_A: return matrix(m->kv_rank + m->rope, a->hidden, a->qkv_bias);
    case CEL_W_KV_A_NORM: return vector(m->kv_rank);
    case CEL_W_KV_B: return matrix((int64_t)a->n_q * (m->nope + m->v), m->kv_rank, false);
    case CEL_W_EMBED_Q: return (cel_weight_shape){CEL_WEIGHT_HEADS, m->kv_rank, m->nope, a->n_q, false};
    case CEL_W_UNEMBED_OUT: return (cel_weight_shape){CEL_WEIGHT_HEADS, m->v, m->kv_rank, a->n_q, false};
    default: return norm(a, a->hidden);
  }
}

static cel_weight_shape feed_forward_shape(const cel_arch *a, cel_weight_role role, int64_t inter) {
  const cel_moe *m = &a->moe;
  int64_t h = a->hidden;
  switch (role) {
    case CEL_W_GATE:
    case CEL_W_UP: return matrix(inter, h, a->mlp_bias);
    case CEL_W_DOWN: return matrix(h, inter, a->mlp_bias);
    case CEL_W_ROUTER: return matrix(m->n_experts, h, m->router_bias);
    case CEL_W_ROUTER_CORRECTION: return tensor(m->n_experts);
    case CEL_W_EXPERT_GATE:
    case CEL_W_EXPERT_UP: return stack(m->n_experts, m->inter, h, m->expert_bias);
    case CEL_W_EXPERT_GATE_UP: return stack(m->n_experts, 2 * m->inter, h, m->expert_bias);
    case CEL_W_EXPERT_DOWN: return stack(m->n_experts, h, m->inter, m->expert_bias);
    case CEL_W_SHARED_GATE:
    case CEL_W_SHARED_UP: return matrix(m->shared_inter, h, a->mlp_bias);
    case CEL_W_SHARED_DOWN: return matrix(h, m->shared_inter, a->mlp_bias);
    case CEL_W_SHARED_SWITCH: return matrix(1, h, false);
    default: return norm(a, h);
  }
}

static cel_weight_shape recurrent_shape(const cel_arch *a, cel_weight_role role) {
  const cel_delta *d = &a->delta;
  int64_t h = a->hidden, keys = (int64_t)d->n_k * d->d_k, values = (int64_t)d->n_v * d->d_v;
  switch (role) {
    case CEL_W_CONV_IN: return matrix(3 * h, h, a->conv.bias);
    case CEL_W_CONV: return (cel_weight_shape){CEL_WEIGHT_VECTOR, h * a->conv.kernel, 0, 0, a->conv.bias};  // [H, 1, taps] or [H, taps, 1]
    case CEL_W_CONV_OUT: return matrix(h, h, a->conv.bias);
    case CEL_W_DELTA_QKVZ: return matrix(2 * keys + 2 * values, h, false);
    case CEL_W_DELTA_BA: return matrix(2 * (int64_t)d->n_v, h, false);
    case CEL_W_DELTA_QKV: return matrix(2 * keys + values, h, false);
    case CEL_W_DELTA_Z: return matrix(values, h, false);
    case CEL_W_DELTA_B:
    case CEL_W_DELTA_A: return matrix(d->n_v, h, false);
    case CEL_W_DELTA_CONV: return vector((2 * keys + values) * d->kernel);
    case CEL_W_DELTA_A_LOG:
    case CEL_W_DELTA_DT_BIAS: return tensor(d->n_v);
    case CEL_W_DELTA_NORM: return vector(d->d_v);
    default: return matrix(h, values, false);  // DELTA_OUT
  }
}

static cel_weight_shape gemma3n_shape(const cel_arch *a, cel_weight_role role) {
  const cel_gemma3n *g = &a->gemma3n;
  int64_t h = a->hidden, all_layers = a->n_layers * g->ple, planes = g->planes;
  switch (role) {
    case CEL_W_PLE_EMBED: return matrix(-1, all_layers, false);
    case CEL_W_PLE_PROJECTION: return matrix(all_layers, h, false);
    case CEL_W_PLE_NORM: return vector(g->ple);
    case CEL_W_LAUREL_LEFT: return matrix(g->laurel, h, false);
    case CEL_W_LAUREL_RIGHT: return matrix(h, g->laurel, false);
    case CEL_W_ALTUP_PROJECTION:
    case CEL_W_ALTUP_UNEMBED: return matrix(h, h, false);
    case CEL_W_ALTUP_ROUTER: return matrix(planes, h, false);
    case CEL_W_ALTUP_PREDICT: return matrix(planes * planes, planes, false);
    case CEL_W_ALTUP_CORRECT: return matrix(planes, planes, false);
    case CEL_W_ALTUP_SCALE: return tensor(h);
    case CEL_W_PLE_GATE: return matrix(g->ple, h, false);
    case CEL_W_PLE_UP: return matrix(h, g->ple, false);
    default: return vector(h);  // norms
  }
}

static bool is_gemma3n(cel_weight_role role) {
  return (role >= CEL_W_PLE_EMBED && role <= CEL_W_PLE_NORM) || (role >= CEL_W_LAUREL_LEFT && role <= CEL_W_PLE_POST_NORM);
}

static bool is_act(cel_weight_role role) { return role >= CEL_W_ACT_ALPHA_P && role <= CEL_W_ACT_EPS; }

cel_weight_shape cel_arch_weight_shape(const cel_arch *a, cel_weight_role role, int layer) {
  if (role == CEL_W_EMBED) return matrix(-1, a->hidden, false);
  if (role == CEL_W_HEAD) return matrix(-1, a->hidden, a->head_bias);
  if (role >= CEL_W_CONV_IN && role <= CEL_W_DELTA_OUT) return recurrent_shape(a, role);
  if (is_act(role)) return tensor(1);
  if (is_gemma3n(role)) return gemma3n_shape(a, role);
  if (role >= CEL_W_GATE && role <= CEL_W_SHARED_SWITCH) return feed_forward_shape(a, role, a->layers[layer].inter);
  return attention_shape(a, role);
}

// Does this layer have the weight, given that the family names it?
static bool attention_wants(const cel_arch *a, cel_weight_role role, const cel_layer *l) {
  bool mla = a->mla.kv_rank > 0;
  switch (role) {
    case CEL_W_Q: return !a->names[CEL_W_QKV] && a->mla.q_rank == 0;
    case CEL_W_K:
    case CEL_W_V: return !a->names[CEL_W_QKV] && !mla && !l->kv_shared;
    case CEL_W_Q_NORM: return a->qk_norm != CEL_QK_NORM_NONE;
    case CEL_W_K_NORM: return a->qk_norm != CEL_QK_NORM_NONE && !l->kv_shared;
    case CEL_W_SINKS: return a->sinks;
    case CEL_W_Q_A:
    case CEL_W_Q_A_NORM:
    case CEL_W_Q_B: return a->mla.q_rank > 0;
    default: return true;
  }
}

static bool feed_forward_wants(const cel_arch *a, cel_weight_role role, const cel_layer *l) {
  const cel_moe *m = &a->moe;
  bool moe = l->ffn == CEL_FFN_MOE;
  switch (role) {
    case CEL_W_GATE: return l->ffn == CEL_FFN_GATED;
    case CEL_W_UP:
    case CEL_W_DOWN: return !moe;
    case CEL_W_ROUTER_CORRECTION: return moe && m->correction_bias;
    case CEL_W_SHARED_GATE:
    case CEL_W_SHARED_UP:
    case CEL_W_SHARED_DOWN: return moe && m->shared != CEL_SHARED_NONE;
    case CEL_W_SHARED_SWITCH: return moe && m->shared == CEL_SHARED_GATED;
    default: return moe;
  }
}

static bool norm_wanted(const cel_arch *a, cel_weight_role role) {
  cel_placement p = a->placement;
  if (a->norm == CEL_NORM_LAYER_PLAIN) return false;
  switch (role) {
    case CEL_W_ATTN_NORM: return p != CEL_POST_NORM;
    case CEL_W_MLP_NORM: return p != CEL_POST_NORM && p != CEL_PARALLEL;
    case CEL_W_ATTN_POST_NORM:
    case CEL_W_MLP_POST_NORM: return p == CEL_PRE_POST_NORM || p == CEL_POST_NORM;
    default: return true;
  }
}

static bool wanted(const cel_arch *a, cel_weight_role role, int layer) {
  if (!a->names[role]) return false;
  if (layer < 0) return role != CEL_W_FINAL_NORM || norm_wanted(a, role);
  const cel_layer *l = &a->layers[layer];
  if (role == CEL_W_ATTN_NORM || role == CEL_W_ATTN_POST_NORM || role == CEL_W_MLP_NORM || role == CEL_W_MLP_POST_NORM)
    return norm_wanted(a, role);
  if (role >= CEL_W_Q && role <= CEL_W_UNEMBED_OUT) return l->mixer == CEL_MIXER_ATTENTION && attention_wants(a, role, l);
  if (role >= CEL_W_CONV_IN && role <= CEL_W_CONV_OUT) return l->mixer == CEL_MIXER_CONV;
  if (role >= CEL_W_DELTA_QKVZ && role <= CEL_W_DELTA_OUT) return l->mixer == CEL_MIXER_DELTA;
  if (is_act(role)) return a->act == CEL_ACT_XIELU;
  if (role == CEL_W_ALTUP_PROJECTION || role == CEL_W_ALTUP_UNEMBED) return layer < a->gemma3n.planes - 1;
  if (role == CEL_W_ALTUP_SCALE) return a->gemma3n.scale_corrected;
  if (role >= CEL_W_GATE && role <= CEL_W_SHARED_SWITCH) return feed_forward_wants(a, role, l);
  return true;
}

static bool has(const cel_arch *a, cel_weight_role role, int layer, cel_has_matrix *has_matrix, void *context) {
  char module[200];
  return cel_arch_weight_name(a, role, layer, module, sizeof module) && has_matrix(context, module);
}

bool cel_arch_weight_wanted(const cel_arch *a, cel_weight_role role, int layer, cel_has_matrix *has_matrix, void *context) {
  if (!wanted(a, role, layer)) return false;
  switch (role) {
    case CEL_W_EXPERT_GATE:
    case CEL_W_EXPERT_UP: return !has(a, CEL_W_EXPERT_GATE_UP, layer, has_matrix, context);
    case CEL_W_EXPERT_GATE_UP: return has(a, CEL_W_EXPERT_GATE_UP, layer, has_matrix, context);
    case CEL_W_KV_B: return !has(a, CEL_W_EMBED_Q, layer, has_matrix, context);
    case CEL_W_EMBED_Q:
    case CEL_W_UNEMBED_OUT: return has(a, CEL_W_EMBED_Q, layer, has_matrix, context);
    default: return true;
  }
}

// The embedding and the head may be one tensor (text-architectures §1.7): where the file lacks one of them, the other serves
// for both.
static cel_status take_embedding_and_head(bool logits, const cel_weight_taker *t, void *context, cel_err *err) {
  cel_err missing = {0};
  cel_status s = t->take(context, CEL_W_EMBED, -1, err);
  if (s != CEL_OK && s != CEL_NOT_FOUND) return s;
  if (logits || !t->has(context, CEL_W_EMBED)) {
    cel_status head = t->take(context, CEL_W_HEAD, -1, &missing);
    if (head != CEL_OK && head != CEL_NOT_FOUND) {
      if (err) *err = missing;
      return head;
    }
  }
  bool embed = t->has(context, CEL_W_EMBED), head = t->has(context, CEL_W_HEAD);
  if (!embed && !head) return s;
  if (!embed) t->share(context, CEL_W_HEAD, CEL_W_EMBED);
  if (!head) t->share(context, CEL_W_EMBED, CEL_W_HEAD);
  return CEL_OK;
}

cel_status cel_arch_take_weights(const cel_arch *a, bool logits, const cel_weight_taker *t, void *context, cel_err *err) {
  CEL_TRY(take_embedding_and_head(logits, t, context, err));
  for (int role = CEL_W_PLE_EMBED; role <= CEL_W_PLE_NORM; role++) CEL_TRY(t->take(context, (cel_weight_role)role, -1, err));
  for (int layer = 0; layer < a->n_layers; layer++) {
    for (int role = CEL_W_FIRST_OF_LAYER; role < CEL_W_COUNT; role++) {
      CEL_TRY(t->take(context, (cel_weight_role)role, layer, err));
    }
  }
  return logits ? t->take(context, CEL_W_FINAL_NORM, -1, err) : CEL_OK;
}

static void shape_words(char *out, size_t n, int64_t matrices, int64_t rows, int64_t cols) {
  char row_text[24] = "any", stack[24] = "";
  if (rows >= 0) snprintf(row_text, sizeof row_text, "%lld", (long long)rows);
  if (matrices > 0) snprintf(stack, sizeof stack, "%lld, ", (long long)matrices);
  snprintf(out, n, "[%s%s, %lld]", stack, row_text, (long long)cols);
}

cel_status cel_weight_shape_check(const cel_weight_shape *want, const char *module, int64_t stack, int64_t rows, int64_t cols,
                                  cel_err *err) {
  if ((want->rows < 0 || rows == want->rows) && cols == want->cols && stack == want->stack) return CEL_OK;
  char is[80], right[80];
  shape_words(is, sizeof is, stack, rows, cols);
  shape_words(right, sizeof right, want->stack, want->rows, want->cols);
  return cel_fail(err, CEL_MALFORMED, "%s.weight is %s, the config asks for %s", module, is, right);
}
