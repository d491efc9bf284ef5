// The checkpoint's tensors as arrays. What lies in the mapping as MLX takes it is lent: plain matrices of the model's type,
// packed words. The rest is made once: other types, scales and biases of another type, experts that the file keeps apart,
// GGUF blocks.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/weight_shape.h"
#include "backend/mlx/mlx_model.h"
#include "base/checked.h"

static bool mlx_type(cel_dtype t, cel_mlx_type *out) {
  switch (t) {
    case CEL_DT_F32: *out = CEL_MLX_F32; return true;
    case CEL_DT_F16: *out = CEL_MLX_F16; return true;
    case CEL_DT_BF16: *out = CEL_MLX_BF16; return true;
    case CEL_DT_U32: *out = CEL_MLX_U32; return true;
    case CEL_DT_U8: *out = CEL_MLX_U8; return true;
    default: return false;
  }
}

// Computes x and keeps it, so that no graph hangs on a weight. NULL on an error.
static cel_status settle(cel_mlx_model *m, arr x, arr *out, cel_err *err) {
  *out = cel_mlx_keep(m->c, x);
  cel_mlx_end_scope(m->c);
  cel_status s = cel_mlx_eval(m->c, out, 1, true, err);
  if (s == CEL_OK) return s;
  cel_mlx_release(m->c, *out);
  *out = NULL;
  return s;
}

static bool lies_well(const cel_tensor *t) {
  int size = cel_dtype_of(t->dtype)->block_bytes;
  return !t->parts && (uintptr_t)t->data % (uintptr_t)size == 0;
}

// A tensor of a type MLX has, with the dimensions of the file (a swapped one's are turned back).
static arr as_it_is(cel_mlx_model *m, const cel_tensor *t, cel_mlx_type type, bool *lent) {
  *lent = lies_well(t);
  if (*lent && t->swapped) {
    int64_t dims[3] = {t->dims[0], t->dims[2], t->dims[1]};
    return cel_mlx_swap(m->c, cel_mlx_lend(m->c, type, 3, dims, t->data), 1, 2);
  }
  if (*lent) return cel_mlx_lend(m->c, type, t->rank, t->dims, t->data);
  void *copy = malloc((size_t)t->bytes + 1);
  if (!copy) {
    cel_mlx_refuse(m->c, CEL_OOM, "%s: out of memory for a copy of %lld bytes", t->name, (long long)t->bytes);
    return NULL;
  }
  cel_tensor_copy(t, copy);
  return cel_mlx_own(m->c, type, t->rank, t->dims, copy);
}

static void count(cel_mlx_model *m, int64_t bytes, bool lent) { *(lent ? &m->mapped_bytes : &m->copied_bytes) += bytes; }

// In the type asked for; words and bytes as they are.
static cel_status array_of(cel_mlx_model *m, const cel_tensor *t, cel_mlx_type want, arr *out, cel_err *err) {
  cel_mlx_type type = CEL_MLX_F32;
  if (!mlx_type(t->dtype, &type)) {
    return cel_fail(err, CEL_UNSUPPORTED, "%s: %s is stored as %s, which MLX has no form of", t->file, t->name, cel_dtype_of(t->dtype)->name);
  }
  bool lent, same = type == want || type == CEL_MLX_U32 || type == CEL_MLX_U8;
  arr x = as_it_is(m, t, type, &lent);
  if (!same) x = cel_mlx_cast(m->c, x, want);
  count(m, same ? t->bytes : want == CEL_MLX_F32 ? 2 * t->bytes : type == CEL_MLX_F32 ? t->bytes / 2 : t->bytes, lent && same);
  return settle(m, x, out, err);
}

// ---- matrices --------------------------------------------------------------------------------------------

static void leading_dims(const cel_weight *w, int64_t last, int64_t *dims, int *rank) {
  *rank = 0;
  if (w->experts) dims[(*rank)++] = w->experts;
  dims[(*rank)++] = w->rows;
  dims[(*rank)++] = last;
}

static arr own(cel_mlx_model *m, cel_mlx_type type, const cel_weight *w, int64_t last, void *data) {
  int64_t dims[3];
  int rank;
  leading_dims(w, last, dims, &rank);
  return cel_mlx_own(m->c, type, rank, dims, data);
}

static cel_status repacked(cel_mlx_model *m, const cel_weight *w, cel_mlx_matrix *out, cel_err *err) {
  cel_mlx_repacked r;
  CEL_TRY(cel_mlx_repack(w, &r, err));
  bool affine = r.biases != NULL;
  int64_t groups = w->cols / r.group, rows = w->rows * CEL_MAX(w->experts, 1);
  arr words = own(m, CEL_MLX_U32, w, groups * r.bits, r.words);
  arr scales = own(m, affine ? CEL_MLX_F32 : CEL_MLX_U8, w, groups, r.scales);
  arr biases = affine ? own(m, CEL_MLX_F32, w, groups, r.biases) : NULL;
  *out = (cel_mlx_matrix){.mode = r.mode, .bits = r.bits, .group = r.group};
  count(m, rows * groups * (r.bits * 4 + (affine ? 8 : 1)), false);
  // Kept before the scope ends with the first evaluation.
  out->w = cel_mlx_keep(m->c, words);
  out->scales = cel_mlx_keep(m->c, affine ? cel_mlx_cast(m->c, scales, m->type) : scales);
  if (affine) out->biases = cel_mlx_keep(m->c, cel_mlx_cast(m->c, biases, m->type));
  cel_mlx_end_scope(m->c);
  return cel_mlx_eval(m->c, (arr[]){out->w, out->scales, out->biases}, 3, true, err);
}

// Any storage the widening table knows, in the model's type.
static cel_status widened(cel_mlx_model *m, const cel_weight *w, cel_mlx_matrix *out, cel_err *err) {
  int64_t rows = w->rows * CEL_MAX(w->experts, 1), n;
  if (!cel_mul_i64(rows, w->cols, &n) || n > INT64_MAX / 8) return cel_fail_oom(err, w->name);
  float *wide = malloc((size_t)n * sizeof *wide + 1);
  if (!wide) return cel_fail_oom(err, w->name);
  for (int64_t r = 0; r < rows; r++) cel_weight_row(w, r, wide + r * w->cols);
  count(m, n * (m->type == CEL_MLX_F32 ? 4 : 2), false);
  return settle(m, cel_mlx_cast(m->c, own(m, CEL_MLX_F32, w, w->cols, wide), m->type), &out->w, err);
}

static cel_status packed(cel_mlx_model *m, const cel_weight *w, cel_mlx_matrix *out, cel_err *err) {
  *out = (cel_mlx_matrix){.mode = w->mode, .bits = w->bits, .group = w->group};
  CEL_TRY(array_of(m, w->tensor, CEL_MLX_U32, &out->w, err));
  CEL_TRY(array_of(m, w->scales, m->type, &out->scales, err));
  return w->biases ? array_of(m, w->biases, m->type, &out->biases, err) : CEL_OK;
}

static cel_status find_matrix(cel_mlx_model *m, const char *module, const cel_weight_shape *want, cel_mlx_weight *out, cel_err *err) {
  cel_weight w;
  cel_mlx_type type;
  CEL_TRY(cel_checkpoint_weight(m->checkpoint, module, &w, err));
  CEL_TRY(cel_weight_shape_check(want, module, w.experts, w.rows, w.cols, err));
  out->present = true;
  out->stack = w.experts;
  out->rows = w.rows;
  out->cols = w.cols;
  bool fp8 = w.scales && !strcmp(w.mode, "fp8");  // MLX has no such form
  if (w.scales && !fp8) return packed(m, &w, &out->matrix, err);
  if (fp8) return widened(m, &w, &out->matrix, err);
  if (mlx_type(w.tensor->dtype, &type)) return array_of(m, w.tensor, m->type, &out->matrix.w, err);
  if (cel_mlx_can_repack(w.tensor->dtype)) return repacked(m, &w, &out->matrix, err);
  return widened(m, &w, &out->matrix, err);
}

// ---- vectors ---------------------------------------------------------------------------------------------

static cel_status find_vector(cel_mlx_model *m, const char *name, int64_t want, cel_mlx_type type, arr *out, cel_err *err) {
  const cel_tensor *t;
  int64_t n;
  CEL_TRY(cel_checkpoint_floats(m->checkpoint, name, &t, &n, err));
  if (n != want) {
    return cel_fail(err, CEL_MALFORMED, "%s has %lld values, the config asks for %lld", name, (long long)n, (long long)want);
  }
  arr x;
  CEL_TRY(array_of(m, t, type, &x, err));
  *out = x;
  if (t->rank == 1) return CEL_OK;
  cel_status s = settle(m, cel_mlx_reshape(m->c, x, 1, &n), out, err);
  cel_mlx_release(m->c, x);
  return s;
}

// Norms whose weight is 1 + w get their 1 here; it is added in f32.
static bool plus_one(const cel_arch *a, cel_weight_role role) {
  switch (role) {
    case CEL_W_FINAL_NORM:
    case CEL_W_ATTN_NORM:
    case CEL_W_ATTN_POST_NORM:
    case CEL_W_MLP_NORM:
    case CEL_W_MLP_POST_NORM: return a->norm == CEL_NORM_RMS_PLUS_ONE || a->norm == CEL_NORM_LAYER_PLUS_ONE;
    case CEL_W_Q_NORM:
    case CEL_W_K_NORM: return a->norm == CEL_NORM_RMS_PLUS_ONE && a->qk_norm != CEL_QK_NORM_HEAD_LAYER;
    default: return false;
  }
}

static cel_status find_norm(cel_mlx_model *m, cel_weight_role role, const char *name, int64_t n, arr *out, cel_err *err) {
  if (!plus_one(&m->base.arch, role)) return find_vector(m, name, n, m->type, out, err);
  arr x;
  CEL_TRY(find_vector(m, name, n, CEL_MLX_F32, &x, err));
  cel_status s = settle(m, cel_mlx_cast(m->c, cel_mlx_scalar_op(m->c, CEL_MLX_ADD, x, 1), m->type), out, err);
  cel_mlx_release(m->c, x);
  return s;
}

static cel_status find_bias(cel_mlx_model *m, const char *name, int64_t n, cel_mlx_weight *w, cel_err *err) {
  arr x;
  CEL_TRY(find_vector(m, name, n, m->type, &x, err));
  w->bias = x;
  if (w->stack == 0) return CEL_OK;
  int64_t dims[2] = {w->stack, w->rows};
  cel_status s = settle(m, cel_mlx_reshape(m->c, x, 2, dims), &w->bias, err);
  cel_mlx_release(m->c, x);
  return s;
}

// nvfp4 stacks may have one for each matrix: all of it is times this / (448 * 6).
static cel_status find_global_scale(cel_mlx_model *m, const char *module, cel_mlx_weight *w, cel_err *err) {
  char name[256];
  arr x;
  snprintf(name, sizeof name, "%s.global_scale", module);
  cel_status s = find_vector(m, name, w->stack, CEL_MLX_F32, &x, err);
  if (s != CEL_OK) return s == CEL_NOT_FOUND ? CEL_OK : s;
  s = settle(m, cel_mlx_scalar_op(m->c, CEL_MLX_DIV, x, 448 * 6), &w->global_scale, err);
  cel_mlx_release(m->c, x);
  return s;
}

// lora_A [r, in], lora_B [out, r] and the scale, where the checkpoint has an adapter for the module.
static cel_status find_adapter(cel_mlx_model *m, const char *module, cel_mlx_weight *w, cel_err *err) {
  char low[240], high[240], scale[240];
  cel_weight unused;
  cel_err none = {0};
  snprintf(low, sizeof low, "%s.lora_A", module);
  if (cel_checkpoint_weight(m->checkpoint, low, &unused, &none) == CEL_NOT_FOUND) return CEL_OK;
  snprintf(high, sizeof high, "%s.lora_B", module);
  snprintf(scale, sizeof scale, "%s.lora_scale", module);
  cel_mlx_weight a = {0}, b = {0};
  cel_weight_shape want = {.kind = CEL_WEIGHT_MATRIX, .rows = -1, .cols = w->cols};
  arr by = NULL;
  cel_status s = find_matrix(m, low, &want, &a, err);
  want = (cel_weight_shape){.kind = CEL_WEIGHT_MATRIX, .rows = w->rows, .cols = a.rows};
  if (s == CEL_OK) s = find_matrix(m, high, &want, &b, err);
  if (s == CEL_OK) s = find_vector(m, scale, 1, CEL_MLX_F32, &by, err);
  w->low = a.matrix;
  w->high = b.matrix;
  if (s == CEL_OK && a.matrix.scales) s = cel_fail(err, CEL_UNSUPPORTED, "%s: a quantized adapter is not supported", low);
  if (s == CEL_OK) {
    arr scaled = cel_mlx_binary_op(m->c, CEL_MLX_MUL, cel_mlx_cast(m->c, a.matrix.w, CEL_MLX_F32), by);
    s = settle(m, cel_mlx_cast(m->c, scaled, m->type), &w->low.w, err);
    cel_mlx_release(m->c, a.matrix.w);
  }
  cel_mlx_release(m->c, by);
  return s;
}

// ---- roles -----------------------------------------------------------------------------------------------

// Sinks join scores, and are of their type; what else is no module is used in f32.
static cel_mlx_type type_of_tensor(const cel_mlx_model *m, cel_weight_role role) {
  return role == CEL_W_SINKS ? m->type : CEL_MLX_F32;
}

static cel_status one(cel_mlx_model *m, cel_weight_role role, int layer, cel_err *err) {
  const cel_arch *a = &m->base.arch;
  if (!cel_arch_weight_wanted(a, role, layer, cel_checkpoint_has_matrix, (void *)(uintptr_t)m->checkpoint)) return CEL_OK;
  cel_mlx_weight *w = cel_mlx_weight_of(m, role, layer);
  char module[200], name[256];
  if (!cel_arch_weight_name(a, role, layer, module, sizeof module)) {
    return cel_fail(err, CEL_INVALID, "the name of weight %d is too long", (int)role);
  }
  cel_mlx_path(m->c, "%s", module);
  cel_weight_shape s = cel_arch_weight_shape(a, role, layer);
  if (s.kind == CEL_WEIGHT_TENSOR) return find_vector(m, module, s.rows, type_of_tensor(m, role), &w->vector, err);
  if (s.kind == CEL_WEIGHT_VECTOR) {
    snprintf(name, sizeof name, "%s.weight", module);
    CEL_TRY(find_norm(m, role, name, s.rows, &w->vector, err));
  } else {
    CEL_TRY(find_matrix(m, module, &s, w, err));
    if (cel_arch_is_linear(role)) CEL_TRY(find_adapter(m, module, w, err));
  }
  if (s.kind == CEL_WEIGHT_STACK && w->matrix.mode && !strcmp(w->matrix.mode, "nvfp4")) CEL_TRY(find_global_scale(m, module, w, err));
  int64_t n = s.kind == CEL_WEIGHT_VECTOR ? s.rows : w->rows * CEL_MAX(w->stack, 1);
  if (role == CEL_W_CONV) n = a->hidden;  // one per channel, not per tap
  snprintf(name, sizeof name, "%s.bias", module);
  return s.bias ? find_bias(m, name, n, w, err) : CEL_OK;
}

static cel_status take(void *m, cel_weight_role role, int layer, cel_err *err) { return one(m, role, layer, err); }

static bool has(void *m, cel_weight_role role) { return cel_mlx_weight_of(m, role, -1)->present; }

static void share(void *m, cel_weight_role from, cel_weight_role to) {
  *cel_mlx_weight_of(m, to, -1) = *cel_mlx_weight_of(m, from, -1);
}

cel_status cel_mlx_load_weights(cel_mlx_model *m, cel_err *err) {
  static const cel_weight_taker taker = {take, has, share};
  const cel_arch *a = &m->base.arch;
  m->weights = calloc((size_t)(a->n_layers + 1) * CEL_W_COUNT, sizeof *m->weights);
  if (!m->weights) return cel_fail_oom(err, "a model's weights");
  CEL_TRY(cel_arch_take_weights(a, true, &taker, m, err));
  m->base.vocab = cel_mlx_weight_of(m, CEL_W_HEAD, -1)->rows;
  return CEL_OK;
}

void cel_mlx_release_weights(cel_mlx_model *m) {
  if (!m->weights) return;
  int64_t n = (int64_t)(m->base.arch.n_layers + 1) * CEL_W_COUNT;
  const cel_mlx_weight *embed = cel_mlx_weight_of(m, CEL_W_EMBED, -1);
  for (int64_t i = 0; i < n; i++) {
    cel_mlx_weight *w = &m->weights[i];
    if (w != embed && w->matrix.w && w->matrix.w == embed->matrix.w) continue;  // the head that is the embedding
    arr all[] = {w->matrix.w, w->matrix.scales, w->matrix.biases, w->bias, w->global_scale, w->vector, w->low.w, w->high.w,
                 w->low.scales, w->low.biases, w->high.scales, w->high.biases};
    for (int k = 0; k < CEL_COUNT(all); k++) cel_mlx_release(m->c, all[k]);
  }
  free(m->weights);
}
