// The weights of the walk become arguments, in the walk's order, each with the checkpoint's name. Shapes
// are checked here against the description, so that a wrong file is refused by its tensor's name.
#include <stdio.h>
#include <string.h>

#include "backend/xla/emit/emit_internal.h"

static void weight_arg_name(cel_emit *e, hlo arg, const char *name) {
  if (arg) cel_hlo_arg_attr_string(&e->b, arg, "mlxcel.weight", name);
}

static hlo argument(cel_emit *e, const char *name, cel_etype type, int rank, const int64_t *dims) {
  hlo arg = cel_hlo_arg(&e->b, NULL, cel_hlo_tensor(e->b.module, type, rank, dims));
  weight_arg_name(e, arg, name);
  return arg;
}

// MODULE.PART [rows, cols], with the experts in front of a stack.
static hlo part_argument(cel_emit *e, const cel_storage *s, const char *module, const char *part, cel_etype type,
                         int64_t cols) {
  char name[256];
  snprintf(name, sizeof name, "%s.%s", module, part);
  int64_t dims[3] = {s->experts, s->rows, cols};
  return s->experts > 0 ? argument(e, name, type, 3, dims) : argument(e, name, type, 2, dims + 1);
}

static cel_etype plain_type(const char *format) {
  return format[0] == 'B' ? CEL_ET_BF16 : !strcmp(format, "F16") ? CEL_ET_F16 : CEL_ET_F32;
}

static void matrix_arguments(cel_emit *e, cel_emit_weight *w, const char *module) {
  const cel_storage *s = &w->storage;
  if (s->group > 0) {
    w->w = part_argument(e, s, module, "weight", CEL_ET_UI32, s->cols * s->bits / 32);
    w->scales = part_argument(e, s, module, "scales", s->scale_type, s->cols / s->group);
    if (strcmp(s->format, "affine") != 0) return;  // MLX's floating modes have no biases
    w->biases = part_argument(e, s, module, "biases", s->scale_type, s->cols / s->group);
  } else if (s->row_bytes > 0) {
    w->w = part_argument(e, s, module, "weight", CEL_ET_UI8, s->row_bytes);
  } else {
    w->w = part_argument(e, s, module, "weight", plain_type(s->format), s->cols);
  }
}

// What a role's tensor must be.
typedef enum shape_kind {
  MATRIX,  // MODULE.weight [rows, cols] in whatever storage; rows -1: any number
  STACK,   // the same with the experts in front
  HEADS,   // the same with the query heads in front
  VECTOR,  // MODULE.weight, `rows` floats
  TENSOR,  // the name itself, `rows` floats
} shape_kind;
typedef struct role_shape {
  shape_kind kind;
  int64_t rows, cols;
  bool bias;
} role_shape;

static void shape_words(char *out, size_t n, int64_t experts, int64_t rows, int64_t cols) {
  char row_text[24] = "any", stack[24] = "";
  if (rows >= 0) snprintf(row_text, sizeof row_text, "%lld", (long long)rows);
  if (experts > 0) snprintf(stack, sizeof stack, "%lld, ", (long long)experts);
  snprintf(out, n, "[%s%s, %lld]", stack, row_text, (long long)cols);
}

static cel_status find_matrix(cel_emit *e, const char *module, role_shape want, cel_emit_weight *w, cel_err *err) {
  int64_t experts = want.kind == STACK ? e->arch->moe.n_experts : want.kind == HEADS ? e->arch->n_q : 0;
  CEL_TRY(e->source->matrix(e->source->context, module, &w->storage, err));
  const cel_storage *s = &w->storage;
  if ((want.rows >= 0 && s->rows != want.rows) || s->cols != want.cols || s->experts != experts) {
    char is[80], right[80];
    shape_words(is, sizeof is, s->experts, s->rows, s->cols);
    shape_words(right, sizeof right, experts, want.rows, want.cols);
    return cel_fail(err, CEL_MALFORMED, "%s.weight is %s, the config asks for %s", module, is, right);
  }
  w->present = true;
  matrix_arguments(e, w, module);
  return CEL_OK;
}

// A vector argument; where it is stored in 16 bits the walk widens it once.
static cel_status find_vector(cel_emit *e, const char *name, int64_t want, hlo *out, cel_err *err) {
  cel_etype type;
  int64_t n;
  CEL_TRY(e->source->vector(e->source->context, name, &type, &n, err));
  if (n != want) {
    return cel_fail(err, CEL_MALFORMED, "%s has %lld values, the config asks for %lld", name, (long long)n, (long long)want);
  }
  *out = argument(e, name, type, 1, &n);
  return CEL_OK;
}

static role_shape matrix(int64_t rows, int64_t cols, bool bias) { return (role_shape){MATRIX, rows, cols, bias}; }
static role_shape stack(int64_t rows, int64_t cols, bool bias) { return (role_shape){STACK, rows, cols, bias}; }
static role_shape vector(int64_t n) { return (role_shape){VECTOR, n, 0, false}; }
static role_shape tensor(int64_t n) { return (role_shape){TENSOR, n, 0, false}; }
static role_shape norm(const cel_arch *a, int64_t n) { return (role_shape){VECTOR, n, 0, a->norm_bias}; }

static int64_t qk_norm_width(const cel_arch *a, int64_t heads) {
  return a->qk_norm == CEL_QK_NORM_HEAD ? a->head_dim : heads * a->head_dim;
}

static role_shape attention_shape(const cel_arch *a, cel_weight_role role) {
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
    case CEL_W_EMBED_Q: return (role_shape){HEADS, m->kv_rank, m->nope, false};
    case CEL_W_UNEMBED_OUT: return (role_shape){HEADS, m->v, m->kv_rank, false};
    default: return norm(a, a->hidden);
  }
}

static role_shape feed_forward_shape(const cel_arch *a, cel_weight_role role, int64_t inter) {
  const cel_moe *m = &a->moe;
  int64_t h = a->hidden;
  switch (role) {
    case CEL_W_GATE:
    case CEL_W_UP: return matrix(inter, h, a->mlp_bias);
    case CEL_W_DOWN: return matrix(h, inter, a->mlp_bias);
    case CEL_W_ROUTER: return matrix(m->n_experts, h, m->router_bias);
    case CEL_W_ROUTER_CORRECTION: return tensor(m->n_experts);
    case CEL_W_EXPERT_GATE:
    case CEL_W_EXPERT_UP: return stack(m->inter, h, m->expert_bias);
    case CEL_W_EXPERT_GATE_UP: return stack(2 * m->inter, h, m->expert_bias);
    case CEL_W_EXPERT_DOWN: return stack(h, m->inter, m->expert_bias);
    case CEL_W_SHARED_GATE:
    case CEL_W_SHARED_UP: return matrix(m->shared_inter, h, a->mlp_bias);
    case CEL_W_SHARED_DOWN: return matrix(h, m->shared_inter, a->mlp_bias);
    case CEL_W_SHARED_SWITCH: return matrix(1, h, false);
    default: return norm(a, h);
  }
}

static role_shape recurrent_shape(const cel_arch *a, cel_weight_role role) {
  const cel_delta *d = &a->delta;
  int64_t h = a->hidden, keys = (int64_t)d->n_k * d->d_k, values = (int64_t)d->n_v * d->d_v;
  switch (role) {
    case CEL_W_CONV_IN: return matrix(3 * h, h, a->conv.bias);
    case CEL_W_CONV: return (role_shape){VECTOR, h * a->conv.kernel, 0, a->conv.bias};  // [H, 1, taps] or [H, taps, 1]
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

static role_shape gemma3n_shape(const cel_arch *a, cel_weight_role role) {
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

static role_shape shape_of(const cel_arch *a, cel_weight_role role, int layer) {
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

static bool has_matrix(cel_emit *e, cel_weight_role role, int layer) {
  char module[200];
  cel_storage unused;
  cel_err err = {0};
  if (!cel_arch_weight_name(e->arch, role, layer, module, sizeof module)) return false;
  return e->source->matrix(e->source->context, module, &unused, &err) != CEL_NOT_FOUND;
}

// Files keep the experts' gate and up apart or in one, and latent attention's second matrix in one or (MLX) apart.
static bool in_file(cel_emit *e, cel_weight_role role, int layer) {
  switch (role) {
    case CEL_W_EXPERT_GATE:
    case CEL_W_EXPERT_UP: return !has_matrix(e, CEL_W_EXPERT_GATE_UP, layer);
    case CEL_W_EXPERT_GATE_UP: return has_matrix(e, CEL_W_EXPERT_GATE_UP, layer);
    case CEL_W_KV_B: return !has_matrix(e, CEL_W_EMBED_Q, layer);
    case CEL_W_EMBED_Q:
    case CEL_W_UNEMBED_OUT: return has_matrix(e, CEL_W_EMBED_Q, layer);
    default: return true;
  }
}

static cel_status find_global_scale(cel_emit *e, const char *module, cel_emit_weight *w, cel_err *err) {
  char name[256];
  snprintf(name, sizeof name, "%s.global_scale", module);
  cel_status s = find_vector(e, name, w->storage.experts, &w->global_scale, err);
  return s == CEL_NOT_FOUND ? CEL_OK : s;
}

static cel_status one(cel_emit *e, cel_weight_role role, int layer, cel_err *err) {
  if (!wanted(e->arch, role, layer) || !in_file(e, role, layer)) return CEL_OK;
  cel_emit_weight *w = cel_emit_weight_of(e, role, layer);
  char module[200], name[256];
  if (!cel_arch_weight_name(e->arch, role, layer, module, sizeof module)) {
    return cel_fail(err, CEL_INVALID, "the name of weight %d is too long", (int)role);
  }
  role_shape s = shape_of(e->arch, role, layer);
  if (s.kind == TENSOR) return find_vector(e, module, s.rows, &w->vector, err);
  if (s.kind == VECTOR) {
    snprintf(name, sizeof name, "%s.weight", module);
    CEL_TRY(find_vector(e, name, s.rows, &w->vector, err));
  } else {
    CEL_TRY(find_matrix(e, module, s, w, err));
  }
  int64_t n = s.kind == VECTOR ? s.rows : w->storage.rows * CEL_MAX(w->storage.experts, 1);
  if (s.kind == STACK && !strcmp(w->storage.format, "nvfp4")) CEL_TRY(find_global_scale(e, module, w, err));
  if (role == CEL_W_CONV) n = e->arch->hidden;  // one per channel, not per tap
  snprintf(name, sizeof name, "%s.bias", module);
  return s.bias ? find_vector(e, name, n, &w->bias, err) : CEL_OK;
}

// The embedding and the head may be one tensor (text-architectures §1.7): where one of the two files is
// missing the other serves for both.
static cel_status embedding_and_head(cel_emit *e, cel_err *err) {
  cel_err missing = {0};
  cel_emit_weight *embed = cel_emit_weight_of(e, CEL_W_EMBED, -1), *head = cel_emit_weight_of(e, CEL_W_HEAD, -1);
  cel_status s = one(e, CEL_W_EMBED, -1, err);
  if (s != CEL_OK && s != CEL_NOT_FOUND) return s;
  if (e->options.logits != CEL_LOGITS_NONE || !embed->present) {
    cel_status t = one(e, CEL_W_HEAD, -1, &missing);
    if (t != CEL_OK && t != CEL_NOT_FOUND) {
      if (err) *err = missing;
      return t;
    }
  }
  if (!embed->present && !head->present) return s;
  if (!embed->present) *embed = *head;
  if (!head->present) *head = *embed;
  return CEL_OK;
}

static cel_status all(cel_emit *e, cel_err *err) {
  CEL_TRY(embedding_and_head(e, err));
  for (int role = CEL_W_PLE_EMBED; role <= CEL_W_PLE_NORM; role++) CEL_TRY(one(e, (cel_weight_role)role, -1, err));
  for (int layer = 0; layer < e->arch->n_layers; layer++) {
    for (int role = CEL_W_FIRST_OF_LAYER; role < CEL_W_COUNT; role++) {
      CEL_TRY(one(e, (cel_weight_role)role, layer, err));
    }
  }
  return e->options.logits == CEL_LOGITS_NONE ? CEL_OK : one(e, CEL_W_FINAL_NORM, -1, err);
}

void cel_emit_weight_arguments(cel_emit *e) {
  cel_err err = {0};
  if (all(e, &err) != CEL_OK) cel_hlo_refuse(&e->b, err.status, "%s", err.text);
}
