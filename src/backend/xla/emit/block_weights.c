// The weights of the walk become arguments, in the walk's order, each with the checkpoint's name. Shapes
// are checked here against the description, so that a wrong file is refused by its tensor's name.
#include <stdio.h>
#include <string.h>

#include "backend/xla/emit/emit_internal.h"

static void weight_arg_name(cel_emit *e, hlo arg, const char *name) {
  if (arg) cel_hlo_arg_attr_string(&e->b, arg, "mlxcel.weight", name);
}

static hlo argument(cel_emit *e, const char *name, cel_etype type, int64_t rows, int64_t cols) {
  int64_t dims[2] = {rows, cols};
  hlo arg = cel_hlo_arg(&e->b, NULL, cel_hlo_tensor(e->b.module, type, cols < 0 ? 1 : 2, dims));
  weight_arg_name(e, arg, name);
  return arg;
}

static cel_etype plain_type(const char *format) {
  return format[0] == 'B' ? CEL_ET_BF16 : !strcmp(format, "F16") ? CEL_ET_F16 : CEL_ET_F32;
}

static void matrix_arguments(cel_emit *e, cel_emit_weight *w, const char *module) {
  const cel_storage *s = &w->storage;
  char name[256];
  snprintf(name, sizeof name, "%s.weight", module);
  if (s->group > 0) {
    w->w = argument(e, name, CEL_ET_UI32, s->rows, s->cols * s->bits / 32);
    snprintf(name, sizeof name, "%s.scales", module);
    w->scales = argument(e, name, s->scale_type, s->rows, s->cols / s->group);
    if (strcmp(s->format, "affine") != 0) return;  // MLX's floating modes have no biases
    snprintf(name, sizeof name, "%s.biases", module);
    w->biases = argument(e, name, s->scale_type, s->rows, s->cols / s->group);
  } else if (s->row_bytes > 0) {
    w->w = argument(e, name, CEL_ET_UI8, s->rows, s->row_bytes);
  } else {
    w->w = argument(e, name, plain_type(s->format), s->rows, s->cols);
  }
}

static cel_status find_matrix(cel_emit *e, const char *module, int64_t rows, int64_t cols, cel_emit_weight *w,
                              cel_err *err) {
  cel_status s = e->source->matrix(e->source->context, module, &w->storage, err);
  if (s != CEL_OK) return s;
  if ((rows >= 0 && w->storage.rows != rows) || w->storage.cols != cols) {
    char want[32] = "any";
    if (rows >= 0) snprintf(want, sizeof want, "%lld", (long long)rows);
    return cel_fail(err, CEL_MALFORMED, "%s.weight is [%lld, %lld], the config asks for [%s, %lld]", module,
                    (long long)w->storage.rows, (long long)w->storage.cols, want, (long long)cols);
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
  *out = argument(e, name, type, n, -1);
  return CEL_OK;
}

typedef enum shape_kind { MATRIX, VECTOR } shape_kind;
typedef struct role_shape {
  shape_kind kind;
  int64_t rows, cols;
  bool bias;
} role_shape;

static role_shape shape_of(const cel_arch *a, cel_weight_role role) {
  int64_t q = (int64_t)a->n_q * a->head_dim, kv = (int64_t)a->n_kv * a->head_dim;
  switch (role) {
    case CEL_W_EMBED:
    case CEL_W_HEAD:
      return (role_shape){MATRIX, -1, a->hidden, false};
    case CEL_W_Q:
      return (role_shape){MATRIX, q, a->hidden, a->qkv_bias};
    case CEL_W_K:
    case CEL_W_V:
      return (role_shape){MATRIX, kv, a->hidden, a->qkv_bias};
    case CEL_W_O:
      return (role_shape){MATRIX, a->hidden, q, a->o_bias};
    case CEL_W_GATE:
    case CEL_W_UP:
      return (role_shape){MATRIX, a->inter, a->hidden, a->mlp_bias};
    case CEL_W_DOWN:
      return (role_shape){MATRIX, a->hidden, a->inter, a->mlp_bias};
    case CEL_W_Q_NORM:
    case CEL_W_K_NORM:
      return (role_shape){VECTOR, a->head_dim, 0, false};
    default:
      return (role_shape){VECTOR, a->hidden, 0, false};
  }
}

static bool wanted(const cel_arch *a, cel_weight_role role) {
  if (!a->names[role]) return false;
  if (role == CEL_W_Q_NORM || role == CEL_W_K_NORM) return a->qk_norm != CEL_QK_NORM_NONE;
  if (role == CEL_W_ATTN_POST_NORM || role == CEL_W_MLP_POST_NORM) return a->placement == CEL_PRE_POST_NORM;
  return true;
}

static cel_status one(cel_emit *e, cel_weight_role role, int layer, cel_err *err) {
  if (!wanted(e->arch, role)) return CEL_OK;
  cel_emit_weight *w = cel_emit_weight_of(e, role, layer);
  char module[200], name[256];
  if (!cel_arch_weight_name(e->arch, role, layer, module, sizeof module)) {
    return cel_fail(err, CEL_INVALID, "the name of weight %d is too long", (int)role);
  }
  role_shape s = shape_of(e->arch, role);
  if (s.kind == VECTOR) {
    snprintf(name, sizeof name, "%s.weight", module);
    return find_vector(e, name, s.rows, &w->vector, err);
  }
  CEL_TRY(find_matrix(e, module, s.rows, s.cols, w, err));
  snprintf(name, sizeof name, "%s.bias", module);
  return s.bias ? find_vector(e, name, w->storage.rows, &w->bias, err) : CEL_OK;
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
