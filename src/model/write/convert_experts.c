// Stacks of experts: cut, joined and turned round, as GGUF, mlx-lm and Hugging Face's files have them.
#include <string.h>

#include "base/macros.h"
#include "model/checkpoint_private.h"
#include "model/write/convert_target.h"

// ---- as mlx-lm and GGUF have them ---------------------------------------------------------------------

// Gate and up in one, and which dimension is that of their rows.
static cel_status open_both(const cel_target *x, cel_weight *w, int64_t dims[CEL_TENSOR_MAX_RANK], int *rank, int *rows) {
  CEL_TRY(cel_target_open(x, x->t, w));
  *rank = cel_target_shape(x, w, dims);
  *rows = x->values ? *rank - 1 : *rank - 2;
  return *rows < 1 || dims[*rows] % 2 != 0 || dims[*rows] == 0 ? cel_target_bad_shape(x) : CEL_OK;
}

// Every second row, or one half of a group's, of gate and up in one.
static cel_status emit_half(const cel_target *x, cel_weight_role role, bool up) {
  cel_weight w;
  int64_t dims[CEL_TENSOR_MAX_RANK];
  int rank, rows;
  char name[CEL_TARGET_NAME];
  const char *form = cel_target_to_gguf(x) ? x->v->arch.names[role] : cel_mlx_form_of(x->v->arch.model_type, role);
  CEL_TRY(cel_target_name(x, form, name));
  CEL_TRY(open_both(x, &w, dims, &rank, &rows));
  cel_segment s = {.from = w, .n = dims[rows] / 2, .stride = dims[rows], .step = 1, .first = up ? dims[rows] / 2 : 0};
  if (x->v->arch.moe.interleaved) s.first = up, s.step = 2;
  dims[rows] /= 2;
  return cel_target_emit(x, &s, 1, dims, rank, name);
}

cel_status cel_target_emit_halves(const cel_target *x) {
  CEL_TRY(emit_half(x, CEL_W_EXPERT_GATE, false));
  return emit_half(x, CEL_W_EXPERT_UP, true);
}

cel_status cel_target_stack_to_mlx(const cel_target *x) { return cel_target_emit_as(x, cel_mlx_form_of(x->v->arch.model_type, x->role)); }

// ---- as Hugging Face has them ---------------------------------------------------------------------------

// A stack that is a tensor by itself there, no module: experts.down_proj, experts.down_proj_bias.
static cel_status stack_name(const cel_target *x, const char *form, char name[CEL_TARGET_NAME]) {
  cel_str part = cel_str_is(x->part, ".weight") ? CEL_STR("") : cel_str_is(x->part, ".bias") ? CEL_STR("_bias") : x->part;
  return cel_form_write(form, x->at, part, name, CEL_TARGET_NAME) ? CEL_OK : cel_target_no_name(x);
}

// The bytes as the file has them, input first or not.
static cel_status emit_stack(const cel_target *x, const char *form) {
  char name[CEL_TARGET_NAME];
  cel_tensor *t = CEL_NEW(&x->v->arena, cel_tensor);
  if (!t) return cel_fail_oom(x->err, form);
  CEL_TRY(stack_name(x, form, name));
  *t = *x->t;
  if (t->swapped) t->dims[1] = x->t->dims[2], t->dims[2] = x->t->dims[1], t->swapped = false;
  cel_target as_filed = *x;
  as_filed.t = t;
  return cel_target_emit_whole(&as_filed, name);
}

// One or two stacks [E, out, in] as one [E, in, out]; of two the columns are the one's and the other's in turn.
static cel_status emit_turned(const cel_target *x, const cel_weight *w, int n, const char *form) {
  int64_t dims[CEL_TENSOR_MAX_RANK];
  char name[CEL_TARGET_NAME];
  CEL_TRY(stack_name(x, form, name));
  int rank = cel_target_shape(x, &w[0], dims);
  if (rank != 3 || dims[0] < 1) return cel_target_bad_shape(x);
  cel_segment s[2];
  for (int i = 0; i < n; i++) s[i] = (cel_segment){.from = w[i], .n = w[i].cols, .stride = w[i].rows / dims[0], .step = 1, .turned = true};
  int64_t out = dims[1] * n;
  dims[1] = dims[2];
  dims[2] = out;
  return cel_target_emit(x, s, n, dims, rank, name);
}

// gpt-oss: weights with the input first, and of gate and up one row of each in turn.
static cel_status emit_gate_and_up(const cel_target *x, const char *form) {
  cel_weight w[2];
  int64_t dims[CEL_TENSOR_MAX_RANK];
  char name[CEL_TARGET_NAME];
  CEL_TRY(cel_target_open(x, x->t, &w[0]));
  CEL_TRY(cel_target_open_role(x, CEL_W_EXPERT_UP, &w[1]));
  if (!x->values) return emit_turned(x, w, 2, form);
  CEL_TRY(stack_name(x, form, name));
  int rank = cel_target_shape(x, &w[0], dims);
  if (rank != 2 || w[0].rows != w[1].rows) return cel_target_bad_shape(x);
  cel_segment s[2];
  for (int i = 0; i < 2; i++) s[i] = (cel_segment){.from = w[i], .n = 1, .stride = 1, .step = 1};
  dims[1] *= 2;
  return cel_target_emit(x, s, 2, dims, rank, name);
}

static cel_status expert_of_gpt_oss(const cel_target *x) {
  static const char gate_up[] = "model.layers.{i}.mlp.experts.gate_up_proj", down[] = "model.layers.{i}.mlp.experts.down_proj";
  const char *form = x->role == CEL_W_EXPERT_DOWN ? down : gate_up;
  cel_weight w;
  if (x->role == CEL_W_EXPERT_UP) return CEL_OK;  // goes with gate
  if (x->role == CEL_W_EXPERT_GATE) return emit_gate_and_up(x, form);
  if (x->t->swapped || x->values) return emit_stack(x, form);
  CEL_TRY(cel_target_open(x, x->t, &w));
  return emit_turned(x, &w, 1, form);
}

// Has the source a folder's stack of gate and up in one, where other files of the family keep experts apart?
static bool is_fused_in_files(const cel_target *x) {
  char name[CEL_TARGET_NAME];
  const char *form = x->v->arch.names[CEL_W_EXPERT_GATE_UP];
  return x->v->c->format == CEL_FORMAT_SAFETENSORS && form && cel_form_write(form, x->at, CEL_STR(".weight"), name, sizeof name) &&
         cel_checkpoint_find(x->v->c, name) && !x->t->parts;
}

// Gate or up of each expert, out of a stack with the rows of gate ahead of those of up.
static cel_status emit_half_apart(const cel_target *x, cel_weight_role role, bool up) {
  const char *form = cel_hf_form_of(x->v->arch.model_type, role);
  cel_weight w;
  int64_t dims[CEL_TENSOR_MAX_RANK];
  int rank, rows;
  char name[CEL_TARGET_NAME];
  CEL_TRY(open_both(x, &w, dims, &rank, &rows));
  if (dims[0] < 1) return cel_target_bad_shape(x);
  int64_t n = dims[rows] /= 2;
  for (int64_t e = 0; e < dims[0]; e++) {
    cel_segment s = {.from = w, .n = n, .stride = n, .first = (2 * e + up) * n, .step = 1};
    if (!form || !cel_form_write(form, (cel_holes){x->at.i, e}, x->part, name, sizeof name)) return cel_target_no_name(x);
    CEL_TRY(cel_target_emit(x, &s, 1, dims + 1, rank - 1, name));
  }
  return CEL_OK;
}

static cel_status emit_halves_apart(const cel_target *x) {
  CEL_TRY(emit_half_apart(x, CEL_W_EXPERT_GATE, false));
  return emit_half_apart(x, CEL_W_EXPERT_UP, true);
}

// The rows of each expert's gate, then those of its up.
static cel_status emit_one_after_the_other(const cel_target *x, const char *form) {
  const char *const parts[] = {x->v->arch.names[CEL_W_EXPERT_GATE], x->v->arch.names[CEL_W_EXPERT_UP]};
  char name[CEL_TARGET_NAME];
  CEL_TRY(cel_target_name(x, form, name));
  return cel_target_emit_joined(x, parts, 2, x->v->arch.moe.n_experts, name);
}

cel_status cel_target_expert_to_folder(const cel_target *x) {
  const cel_arch *a = &x->v->arch;
  const char *fused = cel_hf_form_of(a->model_type, CEL_W_EXPERT_GATE_UP);
  if (a->moe.interleaved) return expert_of_gpt_oss(x);
  if (!fused && is_fused_in_files(x)) return emit_stack(x, a->names[x->role]);
  if (!fused && x->role == CEL_W_EXPERT_GATE_UP) return emit_halves_apart(x);
  if (fused && x->role == CEL_W_EXPERT_UP) return CEL_OK;  // goes with gate
  if (fused && x->role == CEL_W_EXPERT_GATE) return emit_one_after_the_other(x, fused);
  const char *form = cel_hf_form_of(a->model_type, x->role);
  return strstr(form, "{e}") ? cel_target_emit_apart(x, form) : cel_target_emit_as(x, form);
}
