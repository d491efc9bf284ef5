// Moves for one tensor: sources opened, names and shapes made, rows that must fill them.
#include <string.h>

#include "base/checked.h"
#include "base/macros.h"
#include "model/checkpoint_private.h"
#include "model/write/convert_target.h"

cel_status cel_target_no_name(const cel_target *x) {
  return cel_fail(x->err, CEL_UNSUPPORTED, "%s: tensor \"%s\" has no %s name in a model of the family %s", x->t->file,
                  cel_show(cel_str_of(x->t->name)).text, cel_target_to_gguf(x) ? "GGUF" : "Hugging Face", x->v->arch.family->name);
}

cel_status cel_target_bad_shape(const cel_target *x) {
  return cel_fail(x->err, CEL_MALFORMED, "%s: tensor \"%s\" %s is none the config asks for", x->t->file,
                  cel_show(cel_str_of(x->t->name)).text, cel_show_dims(x->t->dims, x->t->rank).text);
}

// ---- sources ----------------------------------------------------------------------------------------

cel_status cel_target_open(const cel_target *x, const cel_tensor *t, cel_weight *out) {
  bool skip;
  CEL_TRY(cel_write_plan_source(x->v->c, t, out, &skip, x->err));
  if (!x->values) return CEL_OK;
  out->rows *= out->cols;
  out->cols = 1;
  return CEL_OK;
}

// The tensor of another role beside this one.
cel_status cel_target_open_role(const cel_target *x, cel_weight_role role, cel_weight *out) {
  char name[CEL_TARGET_NAME];
  const char *form = x->v->arch.names[role];
  const cel_tensor *t = form && cel_form_write(form, x->at, x->part, name, sizeof name) ? cel_checkpoint_find(x->v->c, name) : NULL;
  if (t) return cel_target_open(x, t, out);
  return cel_fail(x->err, CEL_NOT_FOUND, "%s: tensor \"%s\" is there, the one that belongs to it is missing (%s)", x->t->file,
                  cel_show(cel_str_of(x->t->name)).text, form ? form : "?");
}

cel_segment cel_segment_of(const cel_weight *w, int64_t groups) {
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
cel_status cel_target_emit(const cel_target *x, const cel_segment *s, int n, const int64_t *dims, int rank, const char *name) {
  cel_tensor *t = CEL_NEW(&x->v->arena, cel_tensor);
  cel_move m = {.from = s[0].from, .n_segments = n};
  int64_t values = 1;
  if (!t) return cel_fail_oom(x->err, name);
  *t = *s[0].from.tensor;
  t->rank = rank;
  for (int i = 0; i < rank; i++) {
    t->dims[i] = dims[i];
    if (!cel_mul_i64(values, dims[i], &values)) return cel_target_bad_shape(x);
  }
  m.from.tensor = t;
  m.from.cols = x->values || rank == 0 ? 1 : dims[rank - 1];
  m.from.rows = m.from.cols ? values / m.from.cols : 0;
  m.woven = n == 2 && s[0].turned && s[1].turned;
  int64_t across = m.woven ? m.from.cols / 2 : m.from.cols;
  if (m.woven && (m.from.cols % 2 != 0 || s[0].n != s[1].n || s[0].stride != s[1].stride || s[0].first != s[1].first)) return cel_target_bad_shape(x);
  for (int i = 0; i < n; i++) {
    const cel_segment *e = m.segments + i;
    m.segments[i] = s[i];
    m.group_rows += m.woven && i ? 0 : e->n;
    int64_t read = rows_read(e, across);
    if (e->n < 1 || (e->run && e->n % e->run != 0) || e->first < 0 || (e->turned ? e->n : m.from.cols) != e->from.cols || read < 1) return cel_target_bad_shape(x);
  }
  int64_t groups = m.group_rows ? m.from.rows / m.group_rows : 0;
  if (groups < 1 || m.from.rows % m.group_rows != 0) return cel_target_bad_shape(x);
  for (int i = 0; i < n; i++) {
    const cel_segment *e = m.segments + i;
    int64_t read = rows_read(e, across);
    if ((groups - 1) * e->stride + e->first + read > e->from.rows) return cel_target_bad_shape(x);
  }
  return cel_conversion_add(x->v, &m, x->role, x->part, name, x->err);
}

cel_status cel_target_name(const cel_target *x, const char *form, char name[CEL_TARGET_NAME]) {
  char hf[CEL_TARGET_NAME];
  bool ok = form && cel_form_write(form, x->at, x->part, cel_target_to_gguf(x) ? hf : name, CEL_TARGET_NAME);
  if (ok && cel_target_to_gguf(x)) ok = cel_name_to_gguf(hf, x->v->row->names, name, CEL_TARGET_NAME);
  return ok ? CEL_OK : cel_target_no_name(x);
}

// Dimensions of the values, also of packed words.
int cel_target_shape(const cel_target *x, const cel_weight *w, int64_t dims[CEL_TENSOR_MAX_RANK]) {
  memcpy(dims, x->t->dims, sizeof x->t->dims);
  if (x->t->rank && !x->values) dims[x->t->rank - 1] = w->cols;
  return x->t->rank;
}

cel_status cel_target_emit_whole(const cel_target *x, const char *name) {
  cel_weight w;
  int64_t dims[CEL_TENSOR_MAX_RANK];
  CEL_TRY(cel_target_open(x, x->t, &w));
  int rank = cel_target_shape(x, &w, dims);
  cel_segment s = cel_segment_of(&w, 1);
  return cel_target_emit(x, &s, 1, dims, rank, name);
}

cel_status cel_target_emit_as(const cel_target *x, const char *form) {
  char name[CEL_TARGET_NAME];
  CEL_TRY(cel_target_name(x, form, name));
  return cel_target_emit_whole(x, name);
}

// ---- joined by rows --------------------------------------------------------------------------------

// `groups`: how often the parts take turns (experts).
cel_status cel_target_emit_joined(const cel_target *x, const char *const *parts, int n, int64_t groups, const char *name) {
  cel_segment s[CEL_MOVE_SEGMENTS];
  int64_t dims[CEL_TENSOR_MAX_RANK], rows = 0;
  int rank = 0;
  for (int i = 0; i < n; i++) {
    cel_weight_role role = cel_arch_role_named(&x->v->arch, parts[i]);
    cel_weight w;
    if (role == CEL_W_COUNT) return cel_target_no_name(x);
    CEL_TRY(cel_target_open_role(x, role, &w));
    s[i] = cel_segment_of(&w, groups);
    rows += s[i].n;
    if (i == 0) rank = cel_target_shape(x, &w, dims);
  }
  if (rank < 1) return cel_target_bad_shape(x);
  dims[x->values ? rank - 1 : rank - 2 + (rank < 2)] = rows;
  return cel_target_emit(x, s, n, dims, rank, name);
}

// A tensor for each of the outermost dimension.
cel_status cel_target_emit_apart(const cel_target *x, const char *form) {
  cel_weight w;
  int64_t dims[CEL_TENSOR_MAX_RANK];
  char name[CEL_TARGET_NAME];
  CEL_TRY(cel_target_open(x, x->t, &w));
  int rank = cel_target_shape(x, &w, dims);
  if (rank < 2 || dims[0] < 1) return cel_target_bad_shape(x);
  for (int64_t e = 0; e < dims[0]; e++) {
    cel_segment s = cel_segment_of(&w, dims[0]);
    s.first = e * s.n;
    if (!cel_form_write(form, (cel_holes){x->at.i, e}, x->part, name, sizeof name)) return cel_target_no_name(x);
    CEL_TRY(cel_target_emit(x, &s, 1, dims + 1, rank - 1, name));
  }
  return CEL_OK;
}
