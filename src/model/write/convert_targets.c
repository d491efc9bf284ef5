// Between a folder's tensors and a GGUF file's: under which name each is written, and which rows it takes from where. Both
// sides are known by their canonical modules (names of arch.h), which the loader has made of either.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/macros.h"
#include "model/checkpoint_private.h"
#include "model/tensor_list.h"
#include "model/write/conversion_private.h"

enum { NAME_MOST = 512 };

typedef struct target {
  cel_conversion *v;
  const cel_tensor *t;  // the canonical one that this is about
  cel_weight_role role;
  cel_holes at;
  cel_str part;         // ".weight", ".bias"; empty where the role is a tensor
  bool values;          // each value counts as a row: of biases and the like
  cel_err *err;
} target;

static bool to_gguf(const target *x) { return x->v->o->to == CEL_FORMAT_GGUF; }

static cel_status no_name(const target *x) {
  return cel_fail(x->err, CEL_UNSUPPORTED, "%s: tensor \"%s\" has no %s name in a model of the family %s", x->t->file,
                  cel_show(cel_str_of(x->t->name)).text, to_gguf(x) ? "GGUF" : "Hugging Face", x->v->arch.family->name);
}

static cel_status bad_shape(const target *x) {
  return cel_fail(x->err, CEL_MALFORMED, "%s: tensor \"%s\" %s is none the config asks for", x->t->file,
                  cel_show(cel_str_of(x->t->name)).text, cel_show_dims(x->t->dims, x->t->rank).text);
}

// ---- sources ----------------------------------------------------------------------------------------

static cel_status open_tensor(const target *x, const cel_tensor *t, cel_weight *out) {
  bool skip;
  CEL_TRY(cel_write_plan_source(x->v->c, t, out, &skip, x->err));
  if (!x->values) return CEL_OK;
  out->rows *= out->cols;
  out->cols = 1;
  return CEL_OK;
}

// The tensor of another role beside this one.
static cel_status open_role(const target *x, cel_weight_role role, cel_weight *out) {
  char name[NAME_MOST];
  const char *form = x->v->arch.names[role];
  const cel_tensor *t = form && cel_form_write(form, x->at, x->part, name, sizeof name) ? cel_checkpoint_find(x->v->c, name) : NULL;
  if (t) return open_tensor(x, t, out);
  return cel_fail(x->err, CEL_NOT_FOUND, "%s: tensor \"%s\" is there, the one that belongs to it is missing (%s)", x->t->file,
                  cel_show(cel_str_of(x->t->name)).text, form ? form : "?");
}

static cel_segment all_of(const cel_weight *w, int64_t groups) {
  int64_t n = w->rows / CEL_MAX(groups, 1);
  return (cel_segment){.from = *w, .n = n, .stride = n, .step = 1};
}

// ---- new tensors ------------------------------------------------------------------------------------

// From the first row that is read for a group to the last, both counted.
static int64_t rows_read(const cel_segment *e, int64_t cols) {
  if (e->turned) return cols;
  return e->run ? (e->n / e->run - 1) * e->jump + (e->run - 1) * e->step + 1 : (e->n - 1) * e->step + 1;
}

// Shape and role are set; the segments' rows must fill it.
static cel_status emit(const target *x, const cel_segment *s, int n, const int64_t *dims, int rank, const char *name) {
  cel_tensor *t = CEL_NEW(&x->v->arena, cel_tensor);
  cel_move m = {.from = s[0].from, .n_segments = n};
  int64_t values = 1;
  if (!t) return cel_fail_oom(x->err, name);
  *t = *s[0].from.tensor;
  t->rank = rank;
  for (int i = 0; i < rank; i++) {
    t->dims[i] = dims[i];
    if (!cel_mul_i64(values, dims[i], &values)) return bad_shape(x);
  }
  m.from.tensor = t;
  m.from.cols = x->values || rank == 0 ? 1 : dims[rank - 1];
  m.from.rows = m.from.cols ? values / m.from.cols : 0;
  m.woven = n == 2 && s[0].turned && s[1].turned;
  int64_t across = m.woven ? m.from.cols / 2 : m.from.cols;
  if (m.woven && (m.from.cols % 2 != 0 || s[0].n != s[1].n || s[0].stride != s[1].stride || s[0].first != s[1].first)) return bad_shape(x);
  for (int i = 0; i < n; i++) {
    const cel_segment *e = m.segments + i;
    m.segments[i] = s[i];
    m.group_rows += m.woven && i ? 0 : e->n;
    int64_t read = rows_read(e, across);
    if (e->n < 1 || (e->run && e->n % e->run != 0) || e->first < 0 || (e->turned ? e->n : m.from.cols) != e->from.cols || read < 1) return bad_shape(x);
  }
  int64_t groups = m.group_rows ? m.from.rows / m.group_rows : 0;
  if (groups < 1 || m.from.rows % m.group_rows != 0) return bad_shape(x);
  for (int i = 0; i < n; i++) {
    const cel_segment *e = m.segments + i;
    int64_t read = rows_read(e, across);
    if ((groups - 1) * e->stride + e->first + read > e->from.rows) return bad_shape(x);
  }
  return cel_conversion_add(x->v, &m, x->role, x->part, name, x->err);
}

static cel_status gguf_name(const target *x, const char *form, char name[NAME_MOST]) {
  char hf[NAME_MOST];
  bool ok = cel_form_write(form, x->at, x->part, hf, sizeof hf) && cel_name_to_gguf(hf, x->v->row->names, name, NAME_MOST);
  return ok ? CEL_OK : no_name(x);
}

static bool gguf_has(const target *x, const char *form) {
  char hf[NAME_MOST], name[NAME_MOST];
  return cel_form_write(form, (cel_holes){0, 0}, CEL_STR(".weight"), hf, sizeof hf) &&
         cel_name_to_gguf(hf, x->v->row->names, name, sizeof name);
}

// As the source has it, under this name.
static cel_status emit_whole(const target *x, const int64_t *dims, int rank, const char *name) {
  cel_weight w;
  CEL_TRY(open_tensor(x, x->t, &w));
  cel_segment s = all_of(&w, 1);
  return emit(x, &s, 1, dims, rank, name);
}

// Dimensions of the values, also of packed words.
static int shape_of(const target *x, const cel_weight *w, int64_t dims[CEL_TENSOR_MAX_RANK]) {
  memcpy(dims, x->t->dims, sizeof x->t->dims);
  if (x->t->rank && !x->values) dims[x->t->rank - 1] = w->cols;
  return x->t->rank;
}

// ---- joined by rows: q, k and v, or gate and up ---------------------------------------------------------

static bool counts(const target *x, const cel_file_rule *r) {
  if (cel_arch_role_named(&x->v->arch, r->parts[0]) == CEL_W_COUNT) return false;
  return !to_gguf(x) || gguf_has(x, r->module);
}

static int part_of(const cel_file_rule *r, const char *form) {
  for (int i = 0; i < CEL_COUNT(r->parts) && r->parts[i]; i++) {
    if (!strcmp(r->parts[i], form)) return i;
  }
  return -1;
}

// Did the source's files have the rule's module?
static bool was_there(const target *x, const cel_file_rule *r) {
  const cel_tensor_list *filed = &x->v->c->priv->filed;
  char name[NAME_MOST];
  return cel_form_write(r->module, (cel_holes){x->at.i, 0}, x->part, name, sizeof name) && cel_tensor_list_find(filed->items, filed->n, name);
}

// The rule of the family's files that makes `form` a part of another module; *part: which one. To GGUF those rules alone
// count whose module GGUF has a name for. Of rules with the same first part the one that the source's files were of.
static const cel_file_rule *rule_of(const target *x, const char *form, int *part) {
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

// `groups`: how often the parts take turns (experts).
static cel_status emit_joined(const target *x, const char *const *parts, int n, int64_t groups, const char *name) {
  cel_segment s[CEL_MOVE_SEGMENTS];
  int64_t dims[CEL_TENSOR_MAX_RANK], rows = 0;
  int rank = 0;
  for (int i = 0; i < n; i++) {
    cel_weight_role role = cel_arch_role_named(&x->v->arch, parts[i]);
    cel_weight w;
    if (role == CEL_W_COUNT) return no_name(x);
    CEL_TRY(open_role(x, role, &w));
    s[i] = all_of(&w, groups);
    rows += s[i].n;
    if (i == 0) rank = shape_of(x, &w, dims);
  }
  if (rank < 1) return bad_shape(x);
  dims[x->values ? rank - 1 : rank - 2 + (rank < 2)] = rows;
  return emit(x, s, n, dims, rank, name);
}

// A tensor for each of the outermost dimension.
static cel_status emit_apart(const target *x, const char *form) {
  cel_weight w;
  int64_t dims[CEL_TENSOR_MAX_RANK];
  char name[NAME_MOST];
  CEL_TRY(open_tensor(x, x->t, &w));
  int rank = shape_of(x, &w, dims);
  if (rank < 2 || dims[0] < 1) return bad_shape(x);
  for (int64_t e = 0; e < dims[0]; e++) {
    cel_segment s = all_of(&w, dims[0]);
    s.first = e * s.n;
    if (!cel_form_write(form, (cel_holes){x->at.i, e}, x->part, name, sizeof name)) return no_name(x);
    CEL_TRY(emit(x, &s, 1, dims + 1, rank - 1, name));
  }
  return CEL_OK;
}

// Every second row, or one half of a group's, of gate and up in one.
static cel_status emit_half(const target *x, cel_weight_role role, bool up) {
  cel_weight w;
  int64_t dims[CEL_TENSOR_MAX_RANK];
  char name[NAME_MOST];
  if (to_gguf(x)) CEL_TRY(gguf_name(x, x->v->arch.names[role], name));
  else if (!cel_form_write(cel_mlx_form_of(x->v->arch.model_type, role), x->at, x->part, name, sizeof name)) return no_name(x);
  CEL_TRY(open_tensor(x, x->t, &w));
  int rank = shape_of(x, &w, dims), rows = x->values ? rank - 1 : rank - 2;
  if (rows < 1 || dims[rows] % 2 != 0 || dims[rows] == 0) return bad_shape(x);
  cel_segment s = {.from = w, .n = dims[rows] / 2, .stride = dims[rows], .step = 1, .first = up ? dims[rows] / 2 : 0};
  if (x->v->arch.moe.interleaved) s.first = up, s.step = 2;
  dims[rows] /= 2;
  return emit(x, &s, 1, dims, rank, name);
}

// q, k or v of a product whose rows are grouped by kv head.
static cel_status emit_of_groups(const target *x, cel_weight_role role, const char *form, int64_t first, int64_t n) {
  const cel_arch *a = &x->v->arch;
  cel_weight w;
  int64_t dims[CEL_TENSOR_MAX_RANK], d = a->head_dim, in_group = a->n_q / a->n_kv;
  char name[NAME_MOST];
  CEL_TRY(gguf_name(x, form, name));
  CEL_TRY(open_tensor(x, x->t, &w));
  int rank = shape_of(x, &w, dims);
  if (rank < 1) return bad_shape(x);
  dims[0] = a->n_kv * n * d;
  cel_segment s = {.from = w, .n = n * d, .stride = (in_group + 2) * d, .first = first * d, .step = 1};
  target part = *x;
  part.role = role;
  return emit(&part, &s, 1, dims, rank, name);
}

static cel_status emit_qkv(const target *x) {
  int64_t in_group = x->v->arch.n_q / x->v->arch.n_kv;
  CEL_TRY(emit_of_groups(x, CEL_W_Q, "model.layers.{i}.self_attn.q_proj", 0, in_group));
  CEL_TRY(emit_of_groups(x, CEL_W_K, "model.layers.{i}.self_attn.k_proj", in_group, 1));
  return emit_of_groups(x, CEL_W_V, "model.layers.{i}.self_attn.v_proj", in_group + 1, 1);
}

// ---- latent attention -------------------------------------------------------------------------------------

static cel_status emit_kv_parts(const target *x) {
  const cel_arch *a = &x->v->arch;
  const cel_mla *l = &a->mla;
  cel_weight w;
  char name[NAME_MOST];
  CEL_TRY(open_tensor(x, x->t, &w));
  cel_segment k = {.from = w, .n = w.cols, .stride = l->nope + l->v, .step = 1, .turned = true};
  cel_segment v = {.from = w, .n = l->v, .stride = l->nope + l->v, .first = l->nope, .step = 1};
  CEL_TRY(gguf_name(x, "model.layers.{i}.self_attn.embed_q", name));
  CEL_TRY(emit(x, &k, 1, (const int64_t[]){a->n_q, w.cols, l->nope}, 3, name));
  CEL_TRY(gguf_name(x, "model.layers.{i}.self_attn.unembed_out", name));
  return emit(x, &v, 1, (const int64_t[]){a->n_q, l->v, w.cols}, 3, name);
}

static cel_status emit_kv_whole(const target *x) {
  const cel_arch *a = &x->v->arch;
  const cel_mla *l = &a->mla;
  cel_weight k, v;
  char name[NAME_MOST];
  CEL_TRY(open_tensor(x, x->t, &k));
  CEL_TRY(open_role(x, CEL_W_UNEMBED_OUT, &v));
  cel_segment s[2] = {{.from = k, .n = l->nope, .stride = l->kv_rank, .step = 1, .turned = true}, all_of(&v, a->n_q)};
  if (!cel_form_write("model.layers.{i}.self_attn.kv_b_proj", x->at, x->part, name, sizeof name)) return no_name(x);
  return emit(x, s, 2, (const int64_t[]){(int64_t)a->n_q * (l->nope + l->v), l->kv_rank}, 2, name);
}

// ---- gated delta nets -----------------------------------------------------------------------------------------

// A folder has the rows of q, k, v and z by key head, GGUF those of all heads' q, then all k, all v, and z in a tensor of its
// own; so that v and z count the value heads of a key head as one.
static cel_status emit_delta_parts(const target *x) {
  const cel_delta *d = &x->v->arch.delta;
  int64_t v = (int64_t)(d->n_v / d->n_k) * d->d_v, all = 2 * d->d_k + 2 * v, hidden;
  cel_weight w;
  char name[NAME_MOST];
  CEL_TRY(open_tensor(x, x->t, &w));
  cel_segment q = {.from = w, .n = (int64_t)d->n_k * d->d_k, .stride = w.rows, .step = 1, .run = d->d_k, .jump = all}, s[3] = {q, q, q};
  s[1].first = d->d_k;
  s[2].first = 2 * d->d_k;
  s[2].run = v;
  s[2].n = d->n_k * v;
  hidden = w.cols;
  CEL_TRY(gguf_name(x, "model.layers.{i}.linear_attn.in_proj_qkv", name));
  CEL_TRY(emit(x, s, 3, (const int64_t[]){2 * q.n + s[2].n, hidden}, 2, name));
  cel_segment z = {.from = w, .n = v, .stride = all, .first = 2 * d->d_k + v, .step = 1};
  CEL_TRY(gguf_name(x, "model.layers.{i}.linear_attn.in_proj_z", name));
  return emit(x, &z, 1, (const int64_t[]){d->n_k * v, hidden}, 2, name);
}

// -exp(A_log), as readers compute with it.
static cel_status emit_rates(const target *x) {
  cel_weight w;
  char name[NAME_MOST];
  CEL_TRY(gguf_name(x, "model.layers.{i}.ssm_a", name));
  CEL_TRY(cel_write_plan_source(x->v->c, x->t, &w, &(bool){false}, x->err));
  float *rates = CEL_NEW_ARRAY(&x->v->arena, float, w.cols + 1);
  if (!rates) return cel_fail_oom(x->err, name);
  if (w.rows != 1 || w.cols != x->v->arch.delta.n_v || !cel_dtype_of(x->t->dtype)->widen) return bad_shape(x);
  cel_weight_row(&w, 0, rates);
  for (int64_t i = 0; i < w.cols; i++) rates[i] = -expf(rates[i]);
  cel_move m = {.from = {.rows = 1, .cols = w.cols}, .computed = rates, .to = {.kind = CEL_SCHEME_PLAIN, .dtype = CEL_DT_F32}};
  return cel_write_plan_add(&x->v->plan, &m, name, x->err);
}

static cel_status emit_as(const target *x, const char *form) {
  cel_weight w;
  int64_t dims[CEL_TENSOR_MAX_RANK];
  char name[NAME_MOST];
  CEL_TRY(gguf_name(x, form, name));
  CEL_TRY(open_tensor(x, x->t, &w));
  int rank = shape_of(x, &w, dims);
  return emit_whole(x, dims, rank, name);
}

static cel_status folder_name(const target *x, cel_weight_role role, char name[NAME_MOST]) {
  const char *form = cel_hf_form_of(x->v->arch.model_type, role);
  return form && cel_form_write(form, x->at, x->part, name, NAME_MOST) ? CEL_OK : no_name(x);
}

static cel_status emit_delta_whole(const target *x) {
  const cel_delta *d = &x->v->arch.delta;
  int64_t v = (int64_t)(d->n_v / d->n_k) * d->d_v, k = (int64_t)d->n_k * d->d_k;
  cel_weight w, z;
  char name[NAME_MOST];
  CEL_TRY(folder_name(x, CEL_W_DELTA_QKVZ, name));
  CEL_TRY(open_tensor(x, x->t, &w));
  CEL_TRY(open_role(x, CEL_W_DELTA_Z, &z));
  cel_segment q = {.from = w, .n = d->d_k, .stride = d->d_k, .step = 1}, s[4] = {q, q, q, all_of(&z, d->n_k)};
  s[1].first = k;
  s[2] = (cel_segment){.from = w, .n = v, .stride = v, .first = 2 * k, .step = 1};
  return emit(x, s, 4, (const int64_t[]){2 * k + 2 * d->n_k * v, w.cols}, 2, name);
}

static cel_status emit_ba(const target *x) {
  const cel_delta *d = &x->v->arch.delta;
  cel_weight beta, alpha;
  char name[NAME_MOST];
  CEL_TRY(folder_name(x, CEL_W_DELTA_BA, name));
  CEL_TRY(open_tensor(x, x->t, &beta));
  CEL_TRY(open_role(x, CEL_W_DELTA_A, &alpha));
  cel_segment s[2] = {all_of(&beta, d->n_k), all_of(&alpha, d->n_k)};
  return emit(x, s, 2, (const int64_t[]){2 * d->n_v, beta.cols}, 2, name);
}

// ---- Gemma 3n -------------------------------------------------------------------------------------------------

// The matrices of all planes in one stack, which goes with the first.
static cel_status emit_planes(const target *x, const char *stem) {
  int n = x->v->arch.gemma3n.planes - 1;
  cel_segment s[CEL_MOVE_SEGMENTS];
  cel_weight w;
  char name[NAME_MOST];
  if (x->at.i > 0) return CEL_OK;
  if (n > CEL_MOVE_SEGMENTS) {
    return cel_fail(x->err, CEL_UNSUPPORTED, "%s: altup_num_inputs is %d; at most %d are written to GGUF", x->v->c->path, n + 1,
                    CEL_MOVE_SEGMENTS + 1);
  }
  for (int i = 0; i < n; i++) {
    target plane = *x;
    plane.at.i = i;
    CEL_TRY(open_role(&plane, x->role, &w));
    s[i] = all_of(&w, 1);
  }
  CEL_TRY(gguf_name(x, stem, name));
  return emit(x, s, n, (const int64_t[]){n, s[0].from.rows, s[0].from.cols}, 3, name);
}

// As many rows as the vocabulary has. What it has no row for takes that of token 0.
static cel_status emit_per_layer(const target *x) {
  cel_weight w, embed;
  char name[NAME_MOST];
  CEL_TRY(open_tensor(x, x->t, &w));
  CEL_TRY(open_role(x, CEL_W_EMBED, &embed));
  cel_segment s[2] = {all_of(&w, 1), {.from = w, .n = embed.rows - w.rows}};
  s[0].n = s[0].stride = CEL_MIN(w.rows, embed.rows);
  CEL_TRY(gguf_name(x, x->v->arch.names[x->role], name));
  return emit(x, s, s[1].n > 0 ? 2 : 1, (const int64_t[]){embed.rows, w.cols}, 2, name);
}

// ---- one of the canonical tensors ---------------------------------------------------------------------------

static bool is_convolution(cel_weight_role role) { return role == CEL_W_CONV || role == CEL_W_DELTA_CONV; }

static cel_status plain_to_gguf(target *x) {
  const char *form = x->v->arch.names[x->role];
  int64_t dims[CEL_TENSOR_MAX_RANK];
  char name[NAME_MOST];
  int part, n = 1;
  cel_weight w;
  const cel_file_rule *r = rule_of(x, form, &part);
  if (r && part > 0) return CEL_OK;  // goes with the first part
  CEL_TRY(gguf_name(x, r ? r->module : form, name));
  while (r && n < CEL_COUNT(r->parts) && r->parts[n]) n++;
  if (r && n > 1) return emit_joined(x, r->parts, n, 1, name);
  CEL_TRY(open_tensor(x, x->t, &w));
  int rank = shape_of(x, &w, dims);
  if (is_convolution(x->role) && rank == 3 && dims[1] == 1) dims[1] = dims[2], rank = 2;
  return emit_whole(x, dims, rank, name);
}

static cel_status emit_halves(const target *x) {
  CEL_TRY(emit_half(x, CEL_W_EXPERT_GATE, false));
  return emit_half(x, CEL_W_EXPERT_UP, true);
}

static cel_status one_to_gguf(target *x) {
  if (cel_conversion_in_metadata(x->role)) return CEL_OK;
  switch (x->role) {
    case CEL_W_QKV: return emit_qkv(x);
    case CEL_W_KV_B: return x->v->row->traits & CEL_GGUF_SPLIT_KV ? emit_kv_parts(x) : plain_to_gguf(x);
    case CEL_W_EXPERT_GATE_UP: return emit_halves(x);
    case CEL_W_DELTA_QKVZ: return emit_delta_parts(x);
    case CEL_W_DELTA_BA: return emit_as(x, "model.layers.{i}.ssm_ba");
    case CEL_W_DELTA_A_LOG: return emit_rates(x);
    case CEL_W_ALTUP_PROJECTION: return emit_planes(x, "model.altup_projections");
    case CEL_W_ALTUP_UNEMBED: return emit_planes(x, "model.altup_unembed_projections");
    case CEL_W_PLE_EMBED: return emit_per_layer(x);
    default: return plain_to_gguf(x);
  }
}

static cel_status plain_to_folder(target *x) {
  const char *own = cel_hf_form_of(x->v->arch.model_type, x->role), *form = own ? own : x->v->arch.names[x->role];
  int64_t dims[CEL_TENSOR_MAX_RANK];
  char name[NAME_MOST];
  int part, n = 1;
  cel_weight w;
  const cel_file_rule *r = rule_of(x, form, &part);
  if (strstr(form, "{e}")) return emit_apart(x, form);
  if (r && r->form == CEL_FILE_JOINED) return emit_apart(x, r->module);
  if (r && part > 0) return CEL_OK;
  if (!cel_form_write(r ? r->module : form, x->at, x->part, name, sizeof name)) return no_name(x);
  while (r && n < CEL_COUNT(r->parts) && r->parts[n]) n++;
  if (r && n > 1) return emit_joined(x, r->parts, n, 1, name);
  CEL_TRY(open_tensor(x, x->t, &w));
  int rank = shape_of(x, &w, dims);
  if (is_convolution(x->role) && rank == 2) dims[2] = dims[1], dims[1] = 1, rank = 3;
  if (x->role == CEL_W_ACT_BETA || x->role == CEL_W_ACT_EPS) rank = 0;
  if (x->role == CEL_W_ROUTER_CORRECTION && strstr(form, "moe_statics") && rank == 1) dims[1] = dims[0], dims[0] = 1, rank = 2;  // Ernie's
  return emit_whole(x, dims, rank, name);
}

// A stack of experts as mlx-lm has it.
static cel_status stack_to_mlx(const target *x) {
  int64_t dims[CEL_TENSOR_MAX_RANK];
  char name[NAME_MOST];
  cel_weight w;
  if (!cel_form_write(cel_mlx_form_of(x->v->arch.model_type, x->role), x->at, x->part, name, sizeof name)) return no_name(x);
  CEL_TRY(open_tensor(x, x->t, &w));
  int rank = shape_of(x, &w, dims);
  return emit_whole(x, dims, rank, name);
}

// ---- experts as Hugging Face has them ------------------------------------------------------------------------

// A stack that is a tensor by itself there, no module: experts.down_proj, experts.down_proj_bias.
static cel_status stack_name(const target *x, const char *form, char name[NAME_MOST]) {
  cel_str part = cel_str_is(x->part, ".weight") ? CEL_STR("") : cel_str_is(x->part, ".bias") ? CEL_STR("_bias") : x->part;
  return cel_form_write(form, x->at, part, name, NAME_MOST) ? CEL_OK : no_name(x);
}

// The bytes as the file has them, input first or not.
static cel_status emit_stack(const target *x, const char *form) {
  cel_weight w;
  int64_t dims[CEL_TENSOR_MAX_RANK];
  char name[NAME_MOST];
  cel_tensor *t = CEL_NEW(&x->v->arena, cel_tensor);
  if (!t) return cel_fail_oom(x->err, form);
  CEL_TRY(stack_name(x, form, name));
  *t = *x->t;
  if (t->swapped) t->dims[1] = x->t->dims[2], t->dims[2] = x->t->dims[1], t->swapped = false;
  CEL_TRY(open_tensor(x, t, &w));
  target as_filed = *x;
  as_filed.t = t;
  int rank = shape_of(&as_filed, &w, dims);
  cel_segment s = all_of(&w, 1);
  return emit(&as_filed, &s, 1, dims, rank, name);
}

// One or two stacks [E, out, in] as one [E, in, out]; of two the columns are the one's and the other's in turn.
static cel_status emit_turned(const target *x, const cel_weight *w, int n, const char *form) {
  int64_t dims[CEL_TENSOR_MAX_RANK];
  char name[NAME_MOST];
  CEL_TRY(stack_name(x, form, name));
  int rank = shape_of(x, &w[0], dims);
  if (rank != 3 || dims[0] < 1) return bad_shape(x);
  cel_segment s[2];
  for (int i = 0; i < n; i++) s[i] = (cel_segment){.from = w[i], .n = w[i].cols, .stride = w[i].rows / dims[0], .step = 1, .turned = true};
  int64_t out = dims[1] * n;
  dims[1] = dims[2];
  dims[2] = out;
  return emit(x, s, n, dims, rank, name);
}

// gpt-oss: weights with the input first, and of gate and up one row of each in turn.
static cel_status emit_gate_and_up(const target *x, const char *form) {
  cel_weight w[2];
  int64_t dims[CEL_TENSOR_MAX_RANK];
  char name[NAME_MOST];
  CEL_TRY(open_tensor(x, x->t, &w[0]));
  CEL_TRY(open_role(x, CEL_W_EXPERT_UP, &w[1]));
  if (!x->values) return emit_turned(x, w, 2, form);
  CEL_TRY(stack_name(x, form, name));
  int rank = shape_of(x, &w[0], dims);
  if (rank != 2 || w[0].rows != w[1].rows) return bad_shape(x);
  cel_segment s[2];
  for (int i = 0; i < 2; i++) s[i] = (cel_segment){.from = w[i], .n = 1, .stride = 1, .step = 1};
  dims[1] *= 2;
  return emit(x, s, 2, dims, rank, name);
}

static cel_status expert_of_gpt_oss(const target *x) {
  static const char gate_up[] = "model.layers.{i}.mlp.experts.gate_up_proj", down[] = "model.layers.{i}.mlp.experts.down_proj";
  const char *form = x->role == CEL_W_EXPERT_DOWN ? down : gate_up;
  cel_weight w;
  if (x->role == CEL_W_EXPERT_UP) return CEL_OK;  // goes with gate
  if (x->role == CEL_W_EXPERT_GATE) return emit_gate_and_up(x, form);
  if (x->t->swapped || x->values) return emit_stack(x, form);
  CEL_TRY(open_tensor(x, x->t, &w));
  return emit_turned(x, &w, 1, form);
}

static bool is_expert(cel_weight_role role) { return role >= CEL_W_EXPERT_GATE && role <= CEL_W_EXPERT_DOWN; }

// Has the source a folder's stack of gate and up in one, where other files of the family keep experts apart?
static bool is_fused_in_files(const target *x) {
  char name[NAME_MOST];
  const char *form = x->v->arch.names[CEL_W_EXPERT_GATE_UP];
  return x->v->c->format == CEL_FORMAT_SAFETENSORS && is_expert(x->role) && form && cel_form_write(form, x->at, CEL_STR(".weight"), name, sizeof name) &&
         cel_checkpoint_find(x->v->c, name) && !x->t->parts;
}

// Gate or up of each expert, out of a stack with the rows of gate ahead of those of up.
static cel_status emit_half_apart(const target *x, cel_weight_role role, bool up) {
  const char *form = cel_hf_form_of(x->v->arch.model_type, role);
  cel_weight w;
  int64_t dims[CEL_TENSOR_MAX_RANK];
  char name[NAME_MOST];
  CEL_TRY(open_tensor(x, x->t, &w));
  int rank = shape_of(x, &w, dims), rows = x->values ? rank - 1 : rank - 2;
  if (rows < 1 || dims[0] < 1 || dims[rows] % 2 != 0 || dims[rows] == 0) return bad_shape(x);
  int64_t n = dims[rows] /= 2;
  for (int64_t e = 0; e < dims[0]; e++) {
    cel_segment s = {.from = w, .n = n, .stride = n, .first = (2 * e + up) * n, .step = 1};
    if (!form || !cel_form_write(form, (cel_holes){x->at.i, e}, x->part, name, sizeof name)) return no_name(x);
    CEL_TRY(emit(x, &s, 1, dims + 1, rank - 1, name));
  }
  return CEL_OK;
}

static cel_status emit_halves_apart(const target *x) {
  CEL_TRY(emit_half_apart(x, CEL_W_EXPERT_GATE, false));
  return emit_half_apart(x, CEL_W_EXPERT_UP, true);
}

static cel_status one_to_folder(target *x) {
  const cel_arch *a = &x->v->arch;
  bool fused = cel_hf_form_of(a->model_type, CEL_W_EXPERT_GATE_UP) != NULL;
  bool grouped = cel_hf_form_of(a->model_type, CEL_W_DELTA_QKVZ) != NULL;  // by key head
  char name[NAME_MOST];
  if (cel_conversion_is_mlx(x->v) && cel_mlx_form_of(a->model_type, x->role)) return stack_to_mlx(x);
  if (cel_conversion_is_mlx(x->v) && x->role == CEL_W_EXPERT_GATE_UP) return emit_halves(x);
  if (a->moe.interleaved && is_expert(x->role)) return expert_of_gpt_oss(x);
  if (!fused && is_fused_in_files(x)) return emit_stack(x, a->names[x->role]);
  switch (x->role) {
    case CEL_W_EMBED_Q: return emit_kv_whole(x);
    case CEL_W_UNEMBED_OUT: return CEL_OK;
    case CEL_W_DELTA_QKV: return grouped ? emit_delta_whole(x) : plain_to_folder(x);
    case CEL_W_DELTA_B: return grouped ? emit_ba(x) : plain_to_folder(x);
    case CEL_W_DELTA_Z:
    case CEL_W_DELTA_A: return grouped ? CEL_OK : plain_to_folder(x);
    case CEL_W_EXPERT_GATE_UP: return fused ? plain_to_folder(x) : emit_halves_apart(x);
    case CEL_W_EXPERT_UP: return fused ? CEL_OK : plain_to_folder(x);
    case CEL_W_EXPERT_GATE:
      if (!fused) return plain_to_folder(x);
      if (!cel_form_write(cel_hf_form_of(a->model_type, CEL_W_EXPERT_GATE_UP), x->at, x->part, name, sizeof name)) return no_name(x);
      return emit_joined(x, (const char *const[]){a->names[CEL_W_EXPERT_GATE], a->names[CEL_W_EXPERT_UP]}, 2, a->moe.n_experts, name);
    default: return plain_to_folder(x);
  }
}

cel_status cel_conversion_translate(cel_conversion *v, const cel_tensor *t, cel_err *err) {
  target x = {.v = v, .t = t, .at = {-1, -1}, .err = err};
  x.role = cel_role_of(&v->arch, t->name, &x.at.i, &x.part);
  if (x.role == CEL_W_COUNT) return no_name(&x);
  x.values = t->rank < 2 || cel_str_is(x.part, ".bias");
  return to_gguf(&x) ? one_to_gguf(&x) : one_to_folder(&x);
}
