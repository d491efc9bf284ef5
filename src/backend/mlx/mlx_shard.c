// Tensor parallel (Shoeybi et al. 2019): every process has some of the heads and some of the MLP's columns. The matrices that
// make them are cut by rows, those that take them by columns, and what the latter give is summed over the processes.
#include <string.h>

#include "backend/mlx/mlx_model.h"

bool cel_mlx_is_partial(cel_weight_role role) {
  return role == CEL_W_O || role == CEL_W_DOWN || role == CEL_W_SHARED_DOWN || role == CEL_W_EXPERT_DOWN;
}

static bool is_cut_by_rows(cel_weight_role role) {
  switch (role) {
    case CEL_W_Q:
    case CEL_W_K:
    case CEL_W_V:
    case CEL_W_QKV:
    case CEL_W_GATE:
    case CEL_W_UP:
    case CEL_W_EXPERT_GATE:
    case CEL_W_EXPERT_UP:
    case CEL_W_EXPERT_GATE_UP:
    case CEL_W_SHARED_GATE:
    case CEL_W_SHARED_UP: return true;
    default: return false;
  }
}

// This process's part of x, of `parts` along a dimension, in memory of its own. Fewer parts than processes: neighbours have
// the same.
static cel_status cut(cel_mlx_model *m, arr *x, int dim, int parts, cel_err *err) {
  if (!*x || parts == 1) return CEL_OK;
  int64_t width = cel_mlx_dim(*x, dim) / parts, at = width * (m->rank * parts / m->n_ranks);
  arr kept = cel_mlx_keep(m->c, cel_mlx_contiguous(m->c, cel_mlx_slice(m->c, *x, dim, at, at + width, 1)));
  cel_mlx_end_scope(m->c);
  cel_status s = cel_mlx_eval(m->c, &kept, 1, true, err);
  cel_mlx_release(m->c, s == CEL_OK ? *x : kept);
  if (s == CEL_OK) *x = kept;
  return s;
}

static cel_status cut_matrix(cel_mlx_model *m, cel_mlx_weight *w, bool rows, int parts, cel_err *err) {
  int dim = (w->stack > 0) + !rows;
  CEL_TRY(cut(m, &w->matrix.w, dim, parts, err));
  CEL_TRY(cut(m, &w->matrix.scales, dim, parts, err));
  CEL_TRY(cut(m, &w->matrix.biases, dim, parts, err));
  if (rows) CEL_TRY(cut(m, &w->bias, w->stack > 0, parts, err));
  *(rows ? &w->rows : &w->cols) /= parts;
  return CEL_OK;
}

// Keys and values have fewer heads: where not even one for each process, neighbours share one.
static int parts_of(const cel_mlx_model *m, cel_weight_role role) {
  return role == CEL_W_K || role == CEL_W_V ? CEL_MIN(m->base.arch.n_kv, m->n_ranks) : m->n_ranks;
}

static cel_status refuse(const cel_mlx_model *m, const char *what, cel_err *err) {
  return cel_fail(err, CEL_UNSUPPORTED, "%s cannot be shared by %d devices on MLX: %s", m->base.arch.model_type, m->n_ranks, what);
}

static cel_status check_blocks(const cel_mlx_model *m, cel_err *err) {
  const cel_arch *a = &m->base.arch;
  int n = m->n_ranks;
  if (a->mla.kv_rank > 0) return refuse(m, "latent attention", err);
  if (a->conv.kernel > 0 || a->delta.kernel > 0) return refuse(m, "recurrent layers", err);
  if (a->gemma3n.planes > 0) return refuse(m, "planes", err);
  if (a->qk_norm == CEL_QK_NORM_FLAT || a->qk_norm == CEL_QK_NORM_HEAD_LAYER) return refuse(m, "norms over all heads", err);
  if (m->checkpoint->adapter) return refuse(m, "an adapter", err);
  bool few = n % a->n_kv == 0 && !a->names[CEL_W_QKV];
  if (a->n_q % n || (a->n_kv % n && !few)) return refuse(m, "its heads do not divide", err);
  return CEL_OK;
}

// Of a matrix, rows, and columns by whole groups.
static cel_status check_matrix(const cel_mlx_model *m, cel_weight_role role, const cel_mlx_weight *w, cel_err *err) {
  int64_t group = w->matrix.group > 0 ? CEL_MAX(w->matrix.group, 32) : 1, n = m->n_ranks;
  bool halves = role == CEL_W_EXPERT_GATE_UP && !m->base.arch.moe.interleaved;
  if (halves) return refuse(m, "experts whose gate and up are one matrix", err);
  if (cel_mlx_is_partial(role) ? w->cols % (n * group) : w->rows % parts_of(m, role)) return refuse(m, "its widths do not divide", err);
  return CEL_OK;
}

cel_status cel_mlx_shard(cel_mlx_model *m, cel_err *err) {
  cel_arch *a = &m->base.arch;
  CEL_TRY(check_blocks(m, err));
  for (int layer = 0; layer < a->n_layers; layer++) {
    for (int role = CEL_W_FIRST_OF_LAYER; role < CEL_W_COUNT; role++) {
      cel_mlx_weight *w = cel_mlx_weight_of(m, (cel_weight_role)role, layer);
      if (role == CEL_W_SINKS) CEL_TRY(cut(m, &w->vector, 0, m->n_ranks, err));
      bool rows = is_cut_by_rows((cel_weight_role)role);
      if (!w->present || !(rows || cel_mlx_is_partial((cel_weight_role)role))) continue;
      CEL_TRY(check_matrix(m, (cel_weight_role)role, w, err));
      CEL_TRY(cut_matrix(m, w, rows, parts_of(m, (cel_weight_role)role), err));
    }
  }
  a->n_q /= m->n_ranks;
  a->n_kv /= CEL_MIN(a->n_kv, m->n_ranks);
  a->moe.inter /= m->n_ranks;
  return CEL_OK;
}
