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
// positions, adapters, and routers and gates of experts, which choose and are left alone.
static bool is_weight_matrix(const char *name, int rank) {
  static const char *const others[] = {"norm", "conv1d", "position", "token_types", "ffn_gate_inp", "router", "rope_", "lora_",
                                       "altup_proj.", "altup_unembd_proj.", "altup_router", "altup_predict", "altup_correct", "laurel_",
                                       "per_layer_model_proj."};  // GGUF's names of Gemma 3n, which llama.cpp leaves alone
  if (rank < 2 || !cel_str_ends(cel_str_of(name), CEL_STR(".weight"))) return false;
  if (cel_str_ends(cel_str_of(name), CEL_STR(".gate.weight")) || cel_str_ends(cel_str_of(name), CEL_STR("expert_gate.weight"))) return false;
  for (int i = 0; i < CEL_COUNT(others); i++) {
    if (strstr(name, others[i])) return false;
  }
  return true;
}

static bool quantizes(const cel_scheme *s) { return s->kind != CEL_SCHEME_KEEP && s->kind != CEL_SCHEME_PLAIN; }

// Can the new rows be copied from the source's, one by one?
static bool rows_fit(const cel_move *m) {
  for (int i = 0; i < m->n_segments; i++) {
    const cel_tensor *t = m->segments[i].from.tensor;
    if (m->segments[i].turned || m->segments[i].from.scales || t->swapped || t->dtype != m->from.tensor->dtype) return false;
  }
  return !m->columns.kind && m->from.cols % cel_dtype_of(m->from.tensor->dtype)->block == 0;
}

// Readers of GGUF want these in F32 whatever their rank.
static bool is_small(const char *name) {
  return strstr(name, "_norm.") || strstr(name, "ffn_gate_inp") || strstr(name, "shortconv.conv") || strstr(name, "ssm_conv1d") ||
         strstr(name, "altup_predict_coef") || strstr(name, "altup_correct_coef") || cel_str_ends(cel_str_of(name), CEL_STR(".bias"));
}

// What a tensor becomes. Vectors of a GGUF file are F32, as readers want them.
static cel_scheme choose(cel_conversion *v, const cel_move *m, const char *name) {
  const cel_tensor *t = m->from.tensor;
  bool number = cel_dtype_of(t->dtype)->widen != NULL || m->from.scales;
  bool changed = m->add != 0 || !rows_fit(m), gguf = v->o->to == CEL_FORMAT_GGUF;
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
  if (gguf && (t->rank < 2 || (v->row && is_small(name)))) plain.dtype = CEL_DT_F32;
  bool lossless = cel_conversion_is_raw(v) || v->c->format == v->o->to;  // nothing asks for another format
  bool keepable = gguf ? cel_dtype_of(t->dtype)->gguf_type >= 0 : cel_dtype_of(t->dtype)->safetensors != NULL;
  if (!changed && !m->from.scales && keepable && (plain.dtype == t->dtype || (lossless && !v->o->dtype_given))) return keep;
  return plain;
}

// ---- between the two worlds -------------------------------------------------------------------------------

static bool is_norm(cel_weight_role role) {
  static const cel_weight_role norms[] = {CEL_W_FINAL_NORM, CEL_W_ATTN_NORM, CEL_W_ATTN_POST_NORM, CEL_W_MLP_NORM,
                                          CEL_W_MLP_POST_NORM, CEL_W_Q_NORM, CEL_W_K_NORM};
  for (int i = 0; i < CEL_COUNT(norms); i++) {
    if (role == norms[i]) return true;
  }
  return false;
}

// Norms of weight 1 + w: GGUF has the sum, a folder w, and mlx-lm's files of gated delta nets the sum again.
static float shift_of(const cel_conversion *v, cel_weight_role role, cel_str part) {
  bool such = v->row ? v->row->traits & CEL_GGUF_PLUS_ONE : v->arch.norm == CEL_NORM_RMS_PLUS_ONE || v->arch.norm == CEL_NORM_LAYER_PLUS_ONE;
  bool sum = v->o->to == CEL_FORMAT_GGUF || (cel_conversion_is_mlx(v) && v->arch.delta.kernel);
  if (!such || !is_norm(role) || !cel_str_is(part, ".weight")) return 0;
  return (float)sum - (float)v->norms_have_one;
}

static void set_order(const cel_conversion *v, cel_weight_role role, cel_move *m) {
  int64_t d = v->arch.head_dim;
  if (!v->row || !(v->row->traits & CEL_GGUF_NEIGHBOURS) || (role != CEL_W_Q && role != CEL_W_K) || m->from.rows % d != 0) return;
  m->rows = (cel_reorder){.kind = v->o->to == CEL_FORMAT_GGUF ? CEL_ROWS_TO_NEIGHBOURS : CEL_ROWS_TO_HALVES, .width = d};
}

cel_reorder cel_conversion_tiles(const cel_conversion *v, int64_t first, int64_t width) {
  const cel_delta *d = &v->arch.delta;
  if (!v->row || !(v->row->traits & CEL_GGUF_TILED) || d->n_k == d->n_v) return (cel_reorder){.kind = CEL_ROWS_AS_THEY_ARE};
  int64_t ratio = d->n_v / d->n_k;
  bool gguf = v->o->to == CEL_FORMAT_GGUF;
  return (cel_reorder){CEL_ROWS_BY_TURNS, first, width, gguf ? d->n_k : ratio, gguf ? ratio : d->n_k};
}

// Whatever has rows, or columns, of value heads.
static cel_status set_tiles(const cel_conversion *v, cel_weight_role role, cel_move *m, cel_err *err) {
  const cel_delta *d = &v->arch.delta;
  int64_t keys = 2 * (int64_t)d->n_k * d->d_k, values = (int64_t)d->n_v * d->d_v;
  const struct { cel_weight_role role; int64_t first, width; } rows[] = {
    {CEL_W_DELTA_QKV, keys, d->d_v}, {CEL_W_DELTA_CONV, keys, d->d_v}, {CEL_W_DELTA_Z, 0, d->d_v}, {CEL_W_DELTA_B, 0, 1},
    {CEL_W_DELTA_A, 0, 1}, {CEL_W_DELTA_A_LOG, 0, 1}, {CEL_W_DELTA_DT_BIAS, 0, 1},
  };
  bool fits = true;
  if (!d->kernel) return CEL_OK;
  for (int i = 0; i < CEL_COUNT(rows); i++) {
    if (rows[i].role != role) continue;
    // mlx-lm's convolutions have a row for each tap of a channel.
    int64_t taps = role == CEL_W_DELTA_CONV ? CEL_MAX(m->from.rows / (keys + values), 1) : 1;
    m->rows = cel_conversion_tiles(v, rows[i].first * taps, rows[i].width * taps);
    fits = !m->rows.kind || m->from.rows == (rows[i].first + d->n_v * rows[i].width) * taps;
  }
  if (role == CEL_W_DELTA_OUT) {
    m->columns = cel_conversion_tiles(v, 0, d->d_v);
    fits = !m->columns.kind || m->from.cols == values;
  }
  if (fits) return CEL_OK;
  return cel_fail(err, CEL_MALFORMED, "%s: tensor \"%s\" %s is none of %d value heads", m->from.tensor->file,
                  cel_show(cel_str_of(m->from.tensor->name)).text, cel_show_dims(m->from.tensor->dims, m->from.tensor->rank).text, d->n_v);
}

static cel_status add_named(cel_conversion *v, const cel_move *m, const char *name, cel_err *err) {
  static const char head[] = "model.";
  char inner[1024];
  if (!cel_conversion_is_inner(v) || strncmp(name, head, strlen(head)) != 0) return cel_write_plan_add(&v->plan, m, name, err);
  int n = snprintf(inner, sizeof inner, "model.language_model.%s", name + strlen(head));
  if (n < 0 || (size_t)n >= sizeof inner) return cel_fail(err, CEL_MALFORMED, "%s: a tensor's name is too long", v->c->path);
  return cel_write_plan_add(&v->plan, m, inner, err);
}

cel_status cel_conversion_add(cel_conversion *v, cel_move *m, cel_weight_role role, cel_str part, const char *name, cel_err *err) {
  m->add = shift_of(v, role, part);
  set_order(v, role, m);
  CEL_TRY(set_tiles(v, role, m, err));
  m->to = choose(v, m, name);
  // What chooses experts is F32 in files of every type: it is corrected by steps smaller than 16 bits have.
  if (role == CEL_W_ROUTER_CORRECTION && m->to.kind == CEL_SCHEME_PLAIN) m->to.dtype = CEL_DT_F32;
  return add_named(v, m, name, err);
}

// Not tensors of a folder: rotations, which its config says, and what the reader of GGUF has put beside them in a folder's form.
static bool has_other_form(const char *name) {
  static const char *const tails[] = {".ssm_a", ".ssm_ba.weight", "altup_projections.weight", "altup_unembed_projections.weight"};
  for (int i = 0; i < CEL_COUNT(tails); i++) {
    if (cel_str_ends(cel_str_of(name), cel_str_of(tails[i]))) return true;
  }
  return cel_str_starts(cel_str_of(name), CEL_STR("rope_f"));
}

// What Phi-4 multimodal carries beside its weights; text goes through the weights alone.
static bool is_adapter(const cel_conversion *v, const char *name) {
  return v->row && v->o->to == CEL_FORMAT_GGUF && (strstr(name, ".lora_A.") || strstr(name, ".lora_B."));
}

// Of a layer behind the last: what predicts further tokens (DeepSeek-V3, GLM 4.5), which nothing here runs.
static bool is_beyond(const cel_conversion *v, const char *name) {
  cel_str s = cel_str_of(name), head = CEL_STR("model.layers.");
  int64_t n = 0;
  if (!v->arch.n_layers || !cel_str_starts(s, head)) return false;
  size_t i = head.n;
  while (i < s.n && i < head.n + 7 && s.p[i] >= '0' && s.p[i] <= '9') n = n * 10 + (s.p[i++] - '0');
  return i > head.n && i < s.n && s.p[i] == '.' && n >= v->arch.n_layers;
}

static void note_beyond(const cel_conversion *v) {
  char text[160];
  if (!v->has_beyond || !v->o->note) return;
  snprintf(text, sizeof text, "layers from %d on are left out: the model has %d, others predict further tokens and are not run here",
           v->arch.n_layers, v->arch.n_layers);
  v->o->note(v->o->note_context, text);
}

static cel_status add_tensor(cel_conversion *v, const cel_tensor *t, cel_err *err) {
  cel_move m = {0};
  bool skip;
  if (is_beyond(v, t->name)) return v->has_beyond = true, CEL_OK;
  CEL_TRY(cel_write_plan_source(v->c, t, &m.from, &skip, err));
  if (is_adapter(v, t->name)) {
    v->adapters_left = true;
    return CEL_OK;
  }
  if (skip || (v->row && has_other_form(t->name))) return CEL_OK;
  if (v->row) return cel_conversion_translate(v, t, err);
  cel_str part;
  int64_t layer;
  if (v->rearranged && cel_role_of(&v->arch, t->name, &layer, &part) != CEL_W_COUNT) return cel_conversion_translate(v, t, err);
  if (!m.from.tensor->data || t->swapped) {
    return cel_fail(err, CEL_UNSUPPORTED, "%s: tensor \"%s\" is a stack of experts, and the family %s has no such weight: how its files keep it "
                    "is not known", t->file, cel_show(cel_str_of(t->name)).text, v->rearranged ? v->arch.family->name : "?");
  }
  m.to = choose(v, &m, t->name);
  return add_named(v, &m, t->name, err);
}

static cel_status add_divisors(cel_conversion *v, const float *divisors, int n, const char *name, cel_err *err) {
  cel_move m = {.from = {.rows = 1, .cols = n}, .computed = divisors, .to = {.kind = CEL_SCHEME_PLAIN, .dtype = CEL_DT_F32}};
  return cel_write_plan_add(&v->plan, &m, name, err);
}

static cel_status add_rope_table(cel_conversion *v, cel_err *err) {
  const cel_rope *r = &v->arch.ropes[0];
  float *divisors = CEL_NEW_ARRAY(&v->arena, float, r->dims / 2 + 1);
  if (!divisors) return cel_fail_oom(err, "a rotation");
  if (v->arch.n_ropes && r->type == CEL_ROPE_LONGROPE) {
    CEL_TRY(add_divisors(v, r->long_factor, r->dims / 2, "rope_factors_long.weight", err));
    return add_divisors(v, r->short_factor, r->dims / 2, "rope_factors_short.weight", err);
  }
  if (!v->arch.n_ropes || !cel_rope_divisors(r, divisors)) return CEL_OK;
  return add_divisors(v, divisors, r->dims / 2, "rope_freqs.weight", err);
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
  note_beyond(v);
  if (v->row && v->o->to == CEL_FORMAT_GGUF) CEL_TRY(add_rope_table(v, err));
  if (v->adapters_left && v->o->note) v->o->note(v->o->note_context, "the model's adapters (lora_A, lora_B) are left out");
  if (v->plan.n) return CEL_OK;
  return cel_fail(err, CEL_INVALID, "%s: no tensors to write", v->c->path);
}
