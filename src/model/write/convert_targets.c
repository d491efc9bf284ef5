// Between a folder's tensors and a GGUF file's: under which name each is written, and which rows it takes from where. Both
// sides are known by their canonical modules (names of arch.h), which the loader has made of either.
#include <string.h>

#include "base/macros.h"
#include "model/checkpoint_private.h"
#include "model/write/convert_target.h"

// ---- the rules of the family's files ---------------------------------------------------------------------

static bool gguf_has(const cel_target *x, const char *form) {
  char hf[CEL_TARGET_NAME], name[CEL_TARGET_NAME];
  return cel_form_write(form, (cel_holes){0, 0}, CEL_STR(".weight"), hf, sizeof hf) &&
         cel_name_to_gguf(hf, x->v->row->names, name, sizeof name);
}

static bool counts(const cel_target *x, const cel_file_rule *r) {
  if (cel_arch_role_named(&x->v->arch, r->parts[0]) == CEL_W_COUNT) return false;
  return !cel_target_to_gguf(x) || gguf_has(x, r->module);
}

static int part_of(const cel_file_rule *r, const char *form) {
  for (int i = 0; i < CEL_COUNT(r->parts) && r->parts[i]; i++) {
    if (!strcmp(r->parts[i], form)) return i;
  }
  return -1;
}

// Did the source's files have the rule's module?
static bool was_there(const cel_target *x, const cel_file_rule *r) {
  const cel_tensor_list *filed = &x->v->c->priv->filed;
  char name[CEL_TARGET_NAME];
  return cel_form_write(r->module, (cel_holes){x->at.i, 0}, x->part, name, sizeof name) && cel_tensor_list_find(filed->items, filed->n, name);
}

// The rule of the family's files that makes `form` a part of another module; *part: which one. To GGUF those rules alone
// count whose module GGUF has a name for. Of rules with the same first part the one that the source's files were of.
static const cel_file_rule *rule_of(const cel_target *x, const char *form, int *part) {
  const cel_file_rule *found = NULL;
  for (const cel_file_rule *r = x->v->arch.family->files; r && r->module; r++) {
    int i = part_of(r, form);
    if (i < 0 || !counts(x, r) || (found && (strcmp(found->parts[0], r->parts[0]) != 0 || was_there(x, found)))) continue;
    if (found && !was_there(x, r)) continue;
    found = r;
    *part = i;
  }
  return found;
}

// ---- one of the canonical tensors ---------------------------------------------------------------------------

static bool is_convolution(const cel_target *x) { return (x->role == CEL_W_CONV || x->role == CEL_W_DELTA_CONV) && cel_str_is(x->part, ".weight"); }

// [channels, taps] in GGUF; a folder has a 1 between the two, one of mlx-lm's behind them.
static cel_status emit_convolution(const cel_target *x, const char *name) {
  cel_weight w;
  CEL_TRY(cel_target_open(x, x->t, &w));
  if (x->t->rank < 2 || x->t->dims[0] < 1) return cel_target_bad_shape(x);
  int64_t n = x->t->dims[0], taps = w.rows * w.cols / n, last = cel_conversion_is_mlx(x->v) ? 1 : taps;
  if (taps < 1) return cel_target_bad_shape(x);
  w.rows = n * taps / last;
  w.cols = last;
  cel_segment s = cel_segment_of(&w, 1);
  if (cel_target_to_gguf(x)) return cel_target_emit(x, &s, 1, (const int64_t[]){n, taps}, 2, name);
  return cel_target_emit(x, &s, 1, (const int64_t[]){n, taps / last, last}, 3, name);
}

static cel_status plain_to_gguf(cel_target *x) {
  const char *form = x->v->arch.names[x->role];
  char name[CEL_TARGET_NAME];
  int part, n = 1;
  const cel_file_rule *r = rule_of(x, form, &part);
  if (r && part > 0) return CEL_OK;  // goes with the first part
  CEL_TRY(cel_target_name(x, r ? r->module : form, name));
  while (r && n < CEL_COUNT(r->parts) && r->parts[n]) n++;
  if (r && n > 1) return cel_target_emit_joined(x, r->parts, n, 1, name);
  return is_convolution(x) ? emit_convolution(x, name) : cel_target_emit_whole(x, name);
}

static cel_status one_to_gguf(cel_target *x) {
  if (cel_conversion_in_metadata(x->role)) return CEL_OK;
  switch (x->role) {
    case CEL_W_QKV: return cel_target_emit_qkv(x);
    case CEL_W_KV_B: return x->v->row->traits & CEL_GGUF_SPLIT_KV ? cel_target_emit_kv_parts(x) : plain_to_gguf(x);
    case CEL_W_EXPERT_GATE_UP: return cel_target_emit_halves(x);
    case CEL_W_DELTA_QKVZ: return cel_target_emit_delta_parts(x);
    case CEL_W_DELTA_BA: return cel_target_emit_as(x, "model.layers.{i}.ssm_ba");
    case CEL_W_DELTA_A_LOG: return cel_target_emit_rates(x);
    case CEL_W_ALTUP_PROJECTION: return cel_target_emit_planes(x, "model.altup_projections");
    case CEL_W_ALTUP_UNEMBED: return cel_target_emit_planes(x, "model.altup_unembed_projections");
    case CEL_W_PLE_EMBED: return cel_target_emit_per_layer(x);
    default: return plain_to_gguf(x);
  }
}

static cel_status plain_to_folder(cel_target *x) {
  const char *own = cel_hf_form_of(x->v->arch.model_type, x->role), *form = own ? own : x->v->arch.names[x->role];
  int64_t dims[CEL_TENSOR_MAX_RANK];
  char name[CEL_TARGET_NAME];
  int part, n = 1;
  cel_weight w;
  const cel_file_rule *r = rule_of(x, form, &part);
  if (r && r->form == CEL_FILE_JOINED) return cel_target_emit_apart(x, r->module);
  if (r && part > 0) return CEL_OK;
  CEL_TRY(cel_target_name(x, r ? r->module : form, name));
  while (r && n < CEL_COUNT(r->parts) && r->parts[n]) n++;
  if (r && n > 1) return cel_target_emit_joined(x, r->parts, n, 1, name);
  if (is_convolution(x)) return emit_convolution(x, name);
  CEL_TRY(cel_target_open(x, x->t, &w));
  int rank = cel_target_shape(x, &w, dims);
  if (x->role == CEL_W_ACT_BETA || x->role == CEL_W_ACT_EPS) rank = 0;
  if (x->role == CEL_W_ROUTER_CORRECTION && strstr(form, "moe_statics") && rank == 1) dims[1] = dims[0], dims[0] = 1, rank = 2;  // Ernie's
  cel_segment s = cel_segment_of(&w, 1);
  return cel_target_emit(x, &s, 1, dims, rank, name);
}

static cel_status one_to_folder(cel_target *x) {
  const cel_arch *a = &x->v->arch;
  bool split_kv = cel_conversion_is_mlx(x->v) && cel_mlx_splits_kv(a->model_type);
  bool grouped = cel_hf_form_of(a->model_type, CEL_W_DELTA_QKVZ) != NULL;  // by key head
  if (cel_conversion_is_mlx(x->v) && cel_mlx_form_of(a->model_type, x->role)) return cel_target_stack_to_mlx(x);
  if (cel_conversion_is_mlx(x->v) && x->role == CEL_W_EXPERT_GATE_UP) return cel_target_emit_halves(x);
  switch (x->role) {
    case CEL_W_KV_B: return split_kv ? cel_target_emit_kv_parts(x) : plain_to_folder(x);
    case CEL_W_EMBED_Q: return split_kv ? plain_to_folder(x) : cel_target_emit_kv_whole(x);
    case CEL_W_UNEMBED_OUT: return split_kv ? plain_to_folder(x) : CEL_OK;
    case CEL_W_DELTA_QKV: return grouped ? cel_target_emit_delta_whole(x) : plain_to_folder(x);
    case CEL_W_DELTA_B: return grouped ? cel_target_emit_ba(x) : plain_to_folder(x);
    case CEL_W_DELTA_Z:
    case CEL_W_DELTA_A: return grouped ? CEL_OK : plain_to_folder(x);
    case CEL_W_EXPERT_GATE_UP:
    case CEL_W_EXPERT_GATE:
    case CEL_W_EXPERT_UP:
    case CEL_W_EXPERT_DOWN: return cel_target_expert_to_folder(x);
    default: return plain_to_folder(x);
  }
}

cel_status cel_conversion_translate(cel_conversion *v, const cel_tensor *t, cel_err *err) {
  cel_target x = {.v = v, .t = t, .at = {-1, -1}, .err = err};
  x.role = cel_role_of(&v->arch, t->name, &x.at.i, &x.part);
  if (x.role == CEL_W_COUNT) return cel_target_no_name(&x);
  x.values = t->rank < 2 || cel_str_is(x.part, ".bias");
  return cel_target_to_gguf(&x) ? one_to_gguf(&x) : one_to_folder(&x);
}
