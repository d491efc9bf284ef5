// Which tensors a new file gets, and what becomes of each.
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "model/checkpoint_private.h"
#include "model/tensor_list.h"
#include "model/write/conversion_private.h"

static bool is_float(cel_dtype t) { return t == CEL_DT_F32 || t == CEL_DT_F16 || t == CEL_DT_BF16; }

// The plain type of what a tensor holds. Blocks of GGUF have none: F16 is the nearest that holds their values.
static cel_dtype own_dtype(const cel_conversion *v, const cel_weight *w) {
  cel_dtype t = w->tensor->dtype;
  if (v->o->dtype_given) return v->o->dtype;
  if (w->biases) return w->scales->dtype;
  if (is_float(t)) return t;
  if (t == CEL_DT_F64) return CEL_DT_F32;
  return cel_dtype_of(t)->block > 1 ? CEL_DT_F16 : v->plain;
}

// ---- what is quantized ----------------------------------------------------------------------------------

// Linears and embeddings. Norms are vectors; a matrix that is none of both is known by its name: convolutions,
// positions, and routers, which choose experts and are left alone.
static bool is_weight_matrix(const char *name, int rank) {
  static const char *const others[] = {"norm", "conv1d", "position", "token_types", "ffn_gate_inp", "router", "ssm_", "rope_"};
  if (rank < 2 || !cel_str_ends(cel_str_of(name), CEL_STR(".weight"))) return false;
  for (int i = 0; i < CEL_COUNT(others); i++) {
    if (strstr(name, others[i])) return false;
  }
  return true;
}

static bool quantizes(const cel_scheme *s) { return s->kind != CEL_SCHEME_KEEP && s->kind != CEL_SCHEME_PLAIN; }

// What a tensor becomes. Vectors of a GGUF file are F32, as readers want them.
static cel_scheme choose(cel_conversion *v, const cel_move *m, const char *name) {
  const cel_tensor *t = m->from.tensor;
  bool number = cel_dtype_of(t->dtype)->widen != NULL || m->from.scales;
  bool changed = m->add != 0, gguf = v->o->to == CEL_FORMAT_GGUF;
  cel_scheme keep = {.kind = CEL_SCHEME_KEEP}, plain = {.kind = CEL_SCHEME_PLAIN, .dtype = own_dtype(v, &m->from)};
  if (!number) return keep;
  if (!gguf && v->c->format == CEL_FORMAT_GGUF) plain.dtype = v->plain;  // a folder has one type
  if (quantizes(&v->o->scheme) && is_weight_matrix(name, t->rank)) {
    if (cel_scheme_fits(&v->o->scheme, m->from.cols)) {
      cel_scheme s = v->o->scheme;
      if (s.kind != CEL_SCHEME_BLOCKS) s.dtype = plain.dtype;
      v->n_quantized++;
      return s;
    }
    v->n_left++;
  }
  if (gguf && t->rank < 2) plain.dtype = CEL_DT_F32;
  bool lossless = cel_conversion_is_raw(v) || v->c->format == v->o->to;  // nothing asks for another format
  bool keepable = gguf ? cel_dtype_of(t->dtype)->gguf_type >= 0 : cel_dtype_of(t->dtype)->safetensors != NULL;
  if (!changed && !m->from.scales && keepable && (plain.dtype == t->dtype || (lossless && !v->o->dtype_given))) return keep;
  return plain;
}

// ---- between the two worlds -------------------------------------------------------------------------------

// Norms of a file that has them as 1 + w are stored with the 1 in GGUF.
static float shift_of(const cel_conversion *v, cel_weight_role role) {
  static const cel_weight_role norms[] = {CEL_W_FINAL_NORM, CEL_W_ATTN_NORM, CEL_W_ATTN_POST_NORM, CEL_W_MLP_NORM,
                                          CEL_W_MLP_POST_NORM, CEL_W_Q_NORM, CEL_W_K_NORM};
  if (!v->family->plus_one) return 0;
  for (int i = 0; i < CEL_COUNT(norms); i++) {
    if (role == norms[i]) return v->o->to == CEL_FORMAT_GGUF ? 1.0f : -1.0f;
  }
  return 0;
}

static void set_order(const cel_conversion *v, cel_weight_role role, cel_move *m) {
  int64_t d = v->arch.head_dim, rows = m->from.rows;
  if (m->from.tensor->rank < 2) rows = m->from.cols;  // a bias
  if (!v->family->neighbours || (role != CEL_W_Q && role != CEL_W_K) || rows % d != 0) return;
  m->order = v->o->to == CEL_FORMAT_GGUF ? CEL_ROWS_TO_NEIGHBOURS : CEL_ROWS_TO_HALVES;
  m->head_rows = d;
  if (m->from.tensor->rank < 2) {  // each value is a row
    m->from.rows = rows;
    m->from.cols = 1;
  }
}

static cel_status translate(cel_conversion *v, const cel_tensor *t, cel_move *m, char *name, int bytes, cel_err *err) {
  cel_weight_role role;
  if (!cel_gguf_name_of(&v->arch, t->name, name, bytes, &role)) {
    return cel_fail(err, CEL_UNSUPPORTED, "%s: tensor \"%s\" has no %s name in a model of the family %s", t->file,
                    cel_show(cel_str_of(t->name)).text, v->o->to == CEL_FORMAT_GGUF ? "GGUF" : "Hugging Face", v->arch.family->name);
  }
  m->add = shift_of(v, role);
  set_order(v, role, m);
  if (v->o->to != CEL_FORMAT_GGUF) snprintf(name, (size_t)bytes, "%s", t->name);
  return CEL_OK;
}

// Rotations that GGUF keeps in a tensor: what a folder says in its config.
static bool is_rope_table(const char *name) { return !strcmp(name, "rope_freqs.weight"); }

static bool has_experts(const char *name) {
  return strstr(name, ".experts.") || strstr(name, ".switch_mlp.");
}

static cel_status add_tensor(cel_conversion *v, const cel_tensor *t, cel_err *err) {
  cel_move m = {0};
  char name[1024];
  bool skip;
  CEL_TRY(cel_write_plan_source(v->c, t, &m.from, &skip, err));
  if (skip || (v->family && is_rope_table(t->name))) return CEL_OK;
  if (has_experts(t->name) || !m.from.tensor->data) {
    return cel_fail(err, CEL_UNSUPPORTED, "%s: tensor \"%s\": mixtures of experts are not converted yet (from one GGUF file to another "
                    "they are)", t->file, cel_show(cel_str_of(t->name)).text);
  }
  if (snprintf(name, sizeof name, "%s", t->name) >= (int)sizeof name) {
    return cel_fail(err, CEL_UNSUPPORTED, "%s: a tensor's name of more than %zu bytes", t->file, sizeof name - 1);
  }
  if (v->family) CEL_TRY(translate(v, t, &m, name, sizeof name, err));
  m.to = choose(v, &m, name);
  return cel_write_plan_add(&v->plan, &m, name, err);
}

static cel_status add_rope_table(cel_conversion *v, cel_err *err) {
  const cel_rope *r = &v->arch.ropes[0];
  float *divisors = CEL_NEW_ARRAY(&v->arena, float, r->dims / 2 + 1);
  if (!divisors) return cel_fail_oom(err, "a rotation");
  if (!cel_rope_divisors(r, divisors)) return CEL_OK;
  cel_move m = {.from = {.rows = 1, .cols = r->dims / 2}, .computed = divisors, .to = {.kind = CEL_SCHEME_PLAIN, .dtype = CEL_DT_F32}};
  return cel_write_plan_add(&v->plan, &m, "rope_freqs.weight", err);
}

// ---- a GGUF file as it is -----------------------------------------------------------------------------------

static cel_status add_raw(cel_conversion *v, const cel_gguf *g, const cel_gguf_tensor *from, cel_err *err) {
  cel_tensor *t = CEL_NEW(&v->arena, cel_tensor);
  if (!t) return cel_fail_oom(err, "a tensor");
  *t = (cel_tensor){.name = cel_arena_dup(&v->arena, from->name.p, from->name.n), .dtype = from->dtype, .rank = from->rank,
                    .data = g->data + from->offset, .bytes = from->bytes, .file = g->file};
  if (!t->name) return cel_fail_oom(err, "a tensor's name");
  for (int i = 0; i < t->rank; i++) t->dims[i] = from->dims[t->rank - 1 - i];
  cel_move m = {0};
  bool skip;
  CEL_TRY(cel_write_plan_source(v->c, t, &m.from, &skip, err));
  m.to = choose(v, &m, t->name);
  return cel_write_plan_add(&v->plan, &m, t->name, err);
}

static cel_status plan_raw(cel_conversion *v, cel_err *err) {
  const cel_checkpoint_private *p = v->c->priv;
  for (int64_t k = 0; k < p->n_parts; k++) {
    for (int64_t i = 0; i < p->parts[k].n_tensors; i++) CEL_TRY(add_raw(v, &p->parts[k], &p->parts[k].tensors[i], err));
  }
  return CEL_OK;
}

// The type most of a model is in: that of its embedding, or of its first matrix.
static cel_dtype main_dtype(const cel_conversion *v) {
  const cel_tensor *t = cel_checkpoint_find(v->c, "model.embed_tokens.weight");
  for (int64_t i = 0; !t && i < v->c->n_tensors; i++) {
    if (v->c->tensors[i].rank == 2) t = &v->c->tensors[i];
  }
  if (v->o->dtype_given) return v->o->dtype;
  if (!t) return CEL_DT_F32;
  if (is_float(t->dtype)) return t->dtype;
  if (t->dtype != CEL_DT_U32) return cel_dtype_of(t->dtype)->block > 1 ? CEL_DT_F16 : CEL_DT_BF16;
  const cel_tensor *scales = cel_checkpoint_find(v->c, "model.embed_tokens.scales");
  return scales && is_float(scales->dtype) ? scales->dtype : CEL_DT_BF16;
}

cel_status cel_conversion_plan(cel_conversion *v, cel_err *err) {
  v->plan.arena = &v->arena;
  v->plain = main_dtype(v);
  if (cel_conversion_is_raw(v)) return plan_raw(v, err);
  for (int64_t i = 0; i < v->c->n_tensors; i++) CEL_TRY(add_tensor(v, &v->c->tensors[i], err));
  if (v->family && v->o->to == CEL_FORMAT_GGUF) CEL_TRY(add_rope_table(v, err));
  if (v->plan.n) return CEL_OK;
  return cel_fail(err, CEL_INVALID, "%s: no tensors to write", v->c->path);
}
