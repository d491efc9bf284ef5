// Weights that one side has in other pieces than the other: attention by kv head, latent attention, gated delta nets, Gemma 3n.
#include <math.h>

#include "base/macros.h"
#include "model/checkpoint_private.h"
#include "model/write/convert_target.h"

// ---- attention by kv head ------------------------------------------------------------------------------------

// q, k or v of a product whose rows are grouped by kv head.
static cel_status emit_of_groups(const cel_target *x, cel_weight_role role, const char *form, int64_t first, int64_t n) {
  const cel_arch *a = &x->v->arch;
  cel_weight w;
  int64_t dims[CEL_TENSOR_MAX_RANK], d = a->head_dim, in_group = a->n_q / a->n_kv;
  char name[CEL_TARGET_NAME];
  CEL_TRY(cel_target_name(x, form, name));
  CEL_TRY(cel_target_open(x, x->t, &w));
  int rank = cel_target_shape(x, &w, dims);
  if (rank < 1) return cel_target_bad_shape(x);
  dims[0] = a->n_kv * n * d;
  cel_segment s = {.from = w, .n = n * d, .stride = (in_group + 2) * d, .first = first * d, .step = 1};
  cel_target part = *x;
  part.role = role;
  return cel_target_emit(&part, &s, 1, dims, rank, name);
}

cel_status cel_target_emit_qkv(const cel_target *x) {
  int64_t in_group = x->v->arch.n_q / x->v->arch.n_kv;
  CEL_TRY(emit_of_groups(x, CEL_W_Q, "model.layers.{i}.self_attn.q_proj", 0, in_group));
  CEL_TRY(emit_of_groups(x, CEL_W_K, "model.layers.{i}.self_attn.k_proj", in_group, 1));
  return emit_of_groups(x, CEL_W_V, "model.layers.{i}.self_attn.v_proj", in_group + 1, 1);
}

// ---- latent attention -------------------------------------------------------------------------------------

cel_status cel_target_emit_kv_parts(const cel_target *x) {
  const cel_arch *a = &x->v->arch;
  const cel_mla *l = &a->mla;
  cel_weight w;
  char name[CEL_TARGET_NAME];
  CEL_TRY(cel_target_open(x, x->t, &w));
  cel_segment k = {.from = w, .n = w.cols, .stride = l->nope + l->v, .step = 1, .turned = true};
  cel_segment v = {.from = w, .n = l->v, .stride = l->nope + l->v, .first = l->nope, .step = 1};
  CEL_TRY(cel_target_name(x, "model.layers.{i}.self_attn.embed_q", name));
  CEL_TRY(cel_target_emit(x, &k, 1, (const int64_t[]){a->n_q, w.cols, l->nope}, 3, name));
  CEL_TRY(cel_target_name(x, "model.layers.{i}.self_attn.unembed_out", name));
  return cel_target_emit(x, &v, 1, (const int64_t[]){a->n_q, l->v, w.cols}, 3, name);
}

cel_status cel_target_emit_kv_whole(const cel_target *x) {
  const cel_arch *a = &x->v->arch;
  const cel_mla *l = &a->mla;
  cel_weight k, v;
  char name[CEL_TARGET_NAME];
  CEL_TRY(cel_target_open(x, x->t, &k));
  CEL_TRY(cel_target_open_role(x, CEL_W_UNEMBED_OUT, &v));
  CEL_TRY(cel_target_name(x, "model.layers.{i}.self_attn.kv_b_proj", name));
  cel_segment s[2] = {{.from = k, .n = l->nope, .stride = l->kv_rank, .step = 1, .turned = true}, cel_segment_of(&v, a->n_q)};
  return cel_target_emit(x, s, 2, (const int64_t[]){(int64_t)a->n_q * (l->nope + l->v), l->kv_rank}, 2, name);
}

// ---- gated delta nets -----------------------------------------------------------------------------------------

// A folder has the rows of q, k, v and z by key head, GGUF those of all heads' q, then all k, all v, and z in a tensor of its
// own; so that v and z count the value heads of a key head as one.
cel_status cel_target_emit_delta_parts(const cel_target *x) {
  const cel_delta *d = &x->v->arch.delta;
  int64_t v = (int64_t)(d->n_v / d->n_k) * d->d_v, all = 2 * d->d_k + 2 * v, hidden;
  cel_weight w;
  char name[CEL_TARGET_NAME];
  CEL_TRY(cel_target_open(x, x->t, &w));
  cel_segment q = {.from = w, .n = (int64_t)d->n_k * d->d_k, .stride = w.rows, .step = 1, .run = d->d_k, .jump = all}, s[3] = {q, q, q};
  s[1].first = d->d_k;
  s[2].first = 2 * d->d_k;
  s[2].run = v;
  s[2].n = d->n_k * v;
  hidden = w.cols;
  CEL_TRY(cel_target_name(x, "model.layers.{i}.linear_attn.in_proj_qkv", name));
  CEL_TRY(cel_target_emit(x, s, 3, (const int64_t[]){2 * q.n + s[2].n, hidden}, 2, name));
  cel_segment z = {.from = w, .n = v, .stride = all, .first = 2 * d->d_k + v, .step = 1};
  CEL_TRY(cel_target_name(x, "model.layers.{i}.linear_attn.in_proj_z", name));
  return cel_target_emit(x, &z, 1, (const int64_t[]){d->n_k * v, hidden}, 2, name);
}

// -exp(A_log), as readers compute with it.
cel_status cel_target_emit_rates(const cel_target *x) {
  cel_weight w;
  char name[CEL_TARGET_NAME];
  CEL_TRY(cel_target_name(x, "model.layers.{i}.ssm_a", name));
  CEL_TRY(cel_write_plan_source(x->v->c, x->t, &w, &(bool){false}, x->err));
  float *rates = CEL_NEW_ARRAY(&x->v->arena, float, w.cols + 1);
  if (!rates) return cel_fail_oom(x->err, name);
  if (w.rows != 1 || w.cols != x->v->arch.delta.n_v || !cel_dtype_of(x->t->dtype)->widen) return cel_target_bad_shape(x);
  cel_weight_row(&w, 0, rates);
  for (int64_t i = 0; i < w.cols; i++) rates[i] = -expf(rates[i]);
  cel_move m = {.from = {.rows = 1, .cols = w.cols}, .computed = rates, .to = {.kind = CEL_SCHEME_PLAIN, .dtype = CEL_DT_F32},
                .columns = cel_conversion_tiles(x->v, 0, 1)};
  return cel_write_plan_add(&x->v->plan, &m, name, x->err);
}

cel_status cel_target_emit_delta_whole(const cel_target *x) {
  const cel_delta *d = &x->v->arch.delta;
  int64_t v = (int64_t)(d->n_v / d->n_k) * d->d_v, k = (int64_t)d->n_k * d->d_k;
  cel_weight w, z;
  char name[CEL_TARGET_NAME];
  CEL_TRY(cel_target_name(x, cel_hf_form_of(x->v->arch.model_type, CEL_W_DELTA_QKVZ), name));
  CEL_TRY(cel_target_open(x, x->t, &w));
  CEL_TRY(cel_target_open_role(x, CEL_W_DELTA_Z, &z));
  cel_segment q = {.from = w, .n = d->d_k, .stride = d->d_k, .step = 1}, s[4] = {q, q, q, cel_segment_of(&z, d->n_k)};
  s[1].first = k;
  s[2] = (cel_segment){.from = w, .n = v, .stride = v, .first = 2 * k, .step = 1};
  return cel_target_emit(x, s, 4, (const int64_t[]){2 * k + 2 * d->n_k * v, w.cols}, 2, name);
}

cel_status cel_target_emit_ba(const cel_target *x) {
  const cel_delta *d = &x->v->arch.delta;
  cel_weight beta, alpha;
  char name[CEL_TARGET_NAME];
  CEL_TRY(cel_target_name(x, cel_hf_form_of(x->v->arch.model_type, CEL_W_DELTA_BA), name));
  CEL_TRY(cel_target_open(x, x->t, &beta));
  CEL_TRY(cel_target_open_role(x, CEL_W_DELTA_A, &alpha));
  cel_segment s[2] = {cel_segment_of(&beta, d->n_k), cel_segment_of(&alpha, d->n_k)};
  return cel_target_emit(x, s, 2, (const int64_t[]){2 * d->n_v, beta.cols}, 2, name);
}

// ---- Gemma 3n -------------------------------------------------------------------------------------------------

// The matrices of all planes in one stack, which goes with the first.
cel_status cel_target_emit_planes(const cel_target *x, const char *stem) {
  int n = x->v->arch.gemma3n.planes - 1;
  cel_segment s[CEL_MOVE_SEGMENTS];
  cel_weight w;
  char name[CEL_TARGET_NAME];
  if (x->at.i > 0) return CEL_OK;
  if (n > CEL_MOVE_SEGMENTS) {
    return cel_fail(x->err, CEL_UNSUPPORTED, "%s: altup_num_inputs is %d; at most %d are written to GGUF", x->v->c->path, n + 1,
                    CEL_MOVE_SEGMENTS + 1);
  }
  for (int i = 0; i < n; i++) {
    cel_target plane = *x;
    plane.at.i = i;
    CEL_TRY(cel_target_open_role(&plane, x->role, &w));
    s[i] = cel_segment_of(&w, 1);
  }
  CEL_TRY(cel_target_name(x, stem, name));
  return cel_target_emit(x, s, n, (const int64_t[]){n, s[0].from.rows, s[0].from.cols}, 3, name);
}

// As many rows as the vocabulary has. What it has no row for takes that of token 0.
cel_status cel_target_emit_per_layer(const cel_target *x) {
  cel_weight w, embed;
  char name[CEL_TARGET_NAME];
  CEL_TRY(cel_target_open(x, x->t, &w));
  CEL_TRY(cel_target_open_role(x, CEL_W_EMBED, &embed));
  cel_segment s[2] = {cel_segment_of(&w, 1), {.from = w, .n = embed.rows - w.rows}};
  s[0].n = s[0].stride = CEL_MIN(w.rows, embed.rows);
  CEL_TRY(cel_target_name(x, x->v->arch.names[x->role], name));
  return cel_target_emit(x, s, s[1].n > 0 ? 2 : 1, (const int64_t[]){embed.rows, w.cols}, 2, name);
}
