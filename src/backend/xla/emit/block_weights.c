// The weights of the walk become arguments, in the walk's order, each with the checkpoint's name. Shapes
// are checked here against the description, so that a wrong file is refused by its tensor's name.
#include <stdio.h>
#include <string.h>

#include "arch/weight_shape.h"
#include "backend/xla/emit/emit_internal.h"

static void weight_arg_name(cel_emit *e, hlo arg, const char *name) {
  if (arg) cel_hlo_arg_attr_string(&e->b, arg, "mlxcel.weight", name);
}

static hlo argument(cel_emit *e, const char *name, cel_etype type, int rank, const int64_t *dims) {
  hlo arg = cel_hlo_arg(&e->b, NULL, cel_hlo_tensor(e->b.module, type, rank, dims));
  weight_arg_name(e, arg, name);
  cel_emit_shard_weight(e, arg);
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

static cel_status find_matrix(cel_emit *e, const char *module, cel_weight_shape want, cel_emit_weight *w, cel_err *err) {
  CEL_TRY(e->source->matrix(e->source->context, module, &w->storage, err));
  const cel_storage *s = &w->storage;
  CEL_TRY(cel_weight_shape_check(&want, module, s->experts, s->rows, s->cols, err));
  w->present = true;
  matrix_arguments(e, w, module);
  return CEL_OK;
}

static cel_status find_vector(cel_emit *e, const char *name, int64_t want, hlo *out, cel_err *err);

// lora_A [r, in], lora_B [out, r] and the scale, where the checkpoint has an adapter for the module.
static cel_status find_adapter(cel_emit *e, const char *module, cel_emit_weight *w, cel_err *err) {
  char low[240], high[240], scale[240];
  cel_storage s;
  cel_err none;
  snprintf(low, sizeof low, "%s.lora_A", module);
  if (e->source->matrix(e->source->context, low, &s, &none) == CEL_NOT_FOUND) return CEL_OK;
  snprintf(high, sizeof high, "%s.lora_B", module);
  snprintf(scale, sizeof scale, "%s.lora_scale", module);
  cel_emit_weight *pair = CEL_NEW_ARRAY(&e->b.module->arena, cel_emit_weight, 2);
  if (!pair) return cel_fail_oom(err, module);
  CEL_TRY(find_matrix(e, low, (cel_weight_shape){.kind = CEL_WEIGHT_MATRIX, .rows = -1, .cols = w->storage.cols}, &pair[0], err));
  cel_weight_shape wide = {.kind = CEL_WEIGHT_MATRIX, .rows = w->storage.rows, .cols = pair[0].storage.rows};
  CEL_TRY(find_matrix(e, high, wide, &pair[1], err));
  CEL_TRY(find_vector(e, scale, 1, &w->adapter_scale, err));
  w->low = &pair[0];
  w->high = &pair[1];
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

static bool has_matrix(void *context, const char *module) {
  cel_emit *e = context;
  cel_storage unused;
  cel_err err = {0};
  return e->source->matrix(e->source->context, module, &unused, &err) != CEL_NOT_FOUND;
}

static cel_status find_global_scale(cel_emit *e, const char *module, cel_emit_weight *w, cel_err *err) {
  char name[256];
  snprintf(name, sizeof name, "%s.global_scale", module);
  cel_status s = find_vector(e, name, w->storage.experts, &w->global_scale, err);
  return s == CEL_NOT_FOUND ? CEL_OK : s;
}

static cel_status one(cel_emit *e, cel_weight_role role, int layer, cel_err *err) {
  if (!cel_arch_weight_wanted(e->arch, role, layer, has_matrix, e)) return CEL_OK;
  cel_emit_weight *w = cel_emit_weight_of(e, role, layer);
  e->placing = role;
  char module[200], name[256];
  if (!cel_arch_weight_name(e->arch, role, layer, module, sizeof module)) {
    return cel_fail(err, CEL_INVALID, "the name of weight %d is too long", (int)role);
  }
  cel_weight_shape s = cel_arch_weight_shape(e->arch, role, layer);
  if (s.kind == CEL_WEIGHT_TENSOR) return find_vector(e, module, s.rows, &w->vector, err);
  if (s.kind == CEL_WEIGHT_VECTOR) {
    snprintf(name, sizeof name, "%s.weight", module);
    CEL_TRY(find_vector(e, name, s.rows, &w->vector, err));
  } else {
    CEL_TRY(find_matrix(e, module, s, w, err));
    if (cel_arch_is_linear(role)) CEL_TRY(find_adapter(e, module, w, err));
  }
  int64_t n = s.kind == CEL_WEIGHT_VECTOR ? s.rows : w->storage.rows * CEL_MAX(w->storage.experts, 1);
  if (s.kind == CEL_WEIGHT_STACK && !strcmp(w->storage.format, "nvfp4")) CEL_TRY(find_global_scale(e, module, w, err));
  if (role == CEL_W_CONV) n = e->arch->hidden;  // one per channel, not per tap
  snprintf(name, sizeof name, "%s.bias", module);
  return s.bias ? find_vector(e, name, n, &w->bias, err) : CEL_OK;
}

static cel_status take(void *e, cel_weight_role role, int layer, cel_err *err) { return one(e, role, layer, err); }

static bool has(void *e, cel_weight_role role) { return cel_emit_weight_of(e, role, -1)->present; }

static void share(void *e, cel_weight_role from, cel_weight_role to) {
  *cel_emit_weight_of(e, to, -1) = *cel_emit_weight_of(e, from, -1);
}

void cel_emit_weight_arguments(cel_emit *e) {
  static const cel_weight_taker taker = {take, has, share};
  bool logits = e->options.logits != CEL_LOGITS_NONE;
  cel_err err = {0};
  if (cel_arch_take_weights(e->arch, logits, &taker, e, &err) != CEL_OK) cel_hlo_refuse(&e->b, err.status, "%s", err.text);
}
