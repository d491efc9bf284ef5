// gather and scatter: slices at places that come from a tensor of indices. Starts of gather are clamped so
// that the slice lies inside; updates of scatter that lie outside are dropped.
#include "backend/xla/engine/native/ref/internal.h"

// What both have in common, under gather's names. "Windows" are offset dims (gather), update windows (scatter).
typedef struct places {
  const cel_ref_tensor *indices;
  const cel_hlo_type *operand, *whole;         // whole: gather's result, scatter's updates
  int64_t window[CEL_HLO_MAX_RANK];            // dims of whole that walk inside a slice
  int64_t missing[2 * CEL_HLO_MAX_RANK];       // operand dims a slice does not keep: collapsed, then batching
  int64_t batching[CEL_HLO_MAX_RANK];          // operand dims ...
  int64_t indices_batching[CEL_HLO_MAX_RANK];  // ... paired with dims of indices
  int64_t index_map[CEL_HLO_MAX_RANK];         // operand dim of each component of an index vector
  int64_t vector_dim;
  int n_window, n_missing, n_batching, n_index_map;
  int64_t batch[CEL_HLO_MAX_RANK], kept[CEL_HLO_MAX_RANK];  // dims of whole that walk over slices; kept operand dims
  int n_batch, n_kept;
  int64_t operand_strides[CEL_HLO_MAX_RANK], indices_strides[CEL_HLO_MAX_RANK];
} places;

typedef struct names {
  const char *window, *collapsed, *batching, *indices_batching, *index_map;
} names;

static cel_status read_lists(const cel_ref_call *c, const names *n, places *p) {
  int collapsed, paired, rank = p->operand->rank, indices_rank = p->indices->type->rank;
  CEL_TRY(cel_ref_list(c, n->window, 0, p->whole->rank, p->window, &p->n_window));
  CEL_TRY(cel_ref_list(c, n->collapsed, 0, rank, p->missing, &collapsed));
  CEL_TRY(cel_ref_list(c, n->batching, 0, rank, p->batching, &p->n_batching));
  CEL_TRY(cel_ref_list(c, n->indices_batching, 0, indices_rank, p->indices_batching, &paired));
  CEL_TRY(cel_ref_list(c, n->index_map, 0, rank, p->index_map, &p->n_index_map));
  CEL_TRY(cel_ref_int_attr(c, "index_vector_dim", 0, 0, indices_rank + 1, &p->vector_dim));
  if (paired != p->n_batching) return cel_ref_misfit(c, "batching dimensions of operand and indices are not paired");
  for (int i = 0; i < p->n_batching; i++) {
    p->missing[collapsed + i] = p->batching[i];
    if (p->indices_batching[i] == p->vector_dim) return cel_ref_misfit(c, "the index vector is a batching dimension");
  }
  p->n_missing = collapsed + p->n_batching;
  return CEL_OK;
}

static cel_status read_places(const cel_ref_call *c, const names *n, places *p) {
  CEL_TRY(read_lists(c, n, p));
  const cel_hlo_type *it = p->indices->type;
  if (!cel_etype_is_int(it->etype)) return cel_ref_misfit(c, "the indices are no integers");
  p->n_batch = cel_ref_others(p->whole->rank, p->window, p->n_window, p->batch);
  p->n_kept = cel_ref_others(p->operand->rank, p->missing, p->n_missing, p->kept);
  int vector = p->vector_dim < it->rank ? 1 : 0;
  int64_t components = vector ? it->dims[p->vector_dim] : 1;
  if (p->n_kept != p->n_window)
    return cel_ref_misfit(c, "window dimensions do not match the operand's kept dimensions");
  if (p->n_batch != it->rank - vector || components != p->n_index_map)
    return cel_ref_misfit(c, "the indices' shape does not match");
  for (int i = 0, k = 0; i < it->rank; i++)
    if (i != p->vector_dim && it->dims[i] != p->whole->dims[p->batch[k++]])
      return cel_ref_misfit(c, "the indices' dimensions do not match");
  cel_ref_strides(p->operand->rank, p->operand->dims, p->operand_strides);
  cel_ref_strides(it->rank, it->dims, p->indices_strides);
  return CEL_OK;
}

// Component `which` of the index vector that belongs to a place in `whole`.
static int64_t start_component(const places *p, const int64_t *index, int which) {
  const cel_hlo_type *it = p->indices->type;
  int64_t at = 0;
  for (int d = 0, k = 0; d < it->rank; d++) {
    if (d == p->vector_dim)
      at += which * p->indices_strides[d];
    else
      at += index[p->batch[k++]] * p->indices_strides[d];
  }
  int64_t x = cel_ref_get_int(it->etype, p->indices->data, at);
  return x < 0 && cel_ref_class(it->etype) == 'U' ? INT64_MAX : x;
}

// Start of the slice in the operand (before clamping), without the walk inside the window.
static void start_of(const places *p, const int64_t *index, int64_t *start) {
  for (int d = 0; d < p->operand->rank; d++) start[d] = 0;
  for (int i = 0; i < p->n_index_map; i++) start[p->index_map[i]] = start_component(p, index, i);
}

static void add_batch_and_window(const places *p, const int64_t *index, int64_t *at) {
  for (int i = 0; i < p->n_batching; i++) {
    int64_t d = p->indices_batching[i];
    at[p->batching[i]] += index[p->batch[d < p->vector_dim ? d : d - 1]];
  }
  for (int i = 0; i < p->n_window; i++) at[p->kept[i]] += index[p->window[i]];
}

static cel_status gather(const cel_ref_call *c) {
  static const names n = {"offset_dims", "collapsed_slice_dims", "operand_batching_dims",
                          "start_indices_batching_dims", "start_index_map"};
  const cel_ref_tensor *x = &c->in[0], *y = &c->out[0];
  if (c->op->n_operands != 2 || x->type->etype != y->type->etype)
    return cel_ref_misfit(c, "operands and result do not fit");
  places p = {.indices = &c->in[1], .operand = x->type, .whole = y->type};
  CEL_TRY(read_places(c, &n, &p));
  int64_t sizes[CEL_HLO_MAX_RANK], index[CEL_HLO_MAX_RANK] = {0}, at[CEL_HLO_MAX_RANK];
  CEL_TRY(cel_ref_ints(c, "slice_sizes", x->type->rank, 0, 0, INT64_MAX, sizes));
  for (int d = 0; d < x->type->rank; d++)
    if (sizes[d] > x->type->dims[d]) return cel_ref_misfit(c, "a slice is larger than the operand");
  int bytes = cel_ref_bytes(x->type->etype);
  for (int64_t i = 0, count = cel_hlo_elements(y->type); i < count; i++) {
    start_of(&p, index, at);
    for (int d = 0; d < x->type->rank; d++) at[d] = CEL_MAX(0, CEL_MIN(at[d], x->type->dims[d] - sizes[d]));
    add_batch_and_window(&p, index, at);
    for (int d = 0; d < x->type->rank; d++)
      if (at[d] >= x->type->dims[d]) return cel_ref_misfit(c, "a slice reaches outside the operand");
    int64_t from = cel_ref_at(x->type->rank, p.operand_strides, at);
    cel_ref_move(bytes, x->data, from, y->data, i);
    (void)cel_ref_next(y->type->rank, y->type->dims, index);
  }
  return CEL_OK;
}

// results[k][at] = body(results..., updates...), update i, all k together.
static cel_status apply_update(const cel_ref_call *c, const cel_ref_body *body, int n, int64_t at, int64_t i) {
  const void *args[CEL_REF_MAX_SCALARS];
  void *results[CEL_REF_MAX_SCALARS];
  char updates[CEL_REF_MAX_SCALARS][CEL_REF_SCALAR_BYTES];
  for (int k = 0; k < n; k++) {
    cel_etype t = c->out[k].type->etype;
    results[k] = (char *)c->out[k].data + at * cel_ref_bytes(t);
    args[k] = results[k];
    cel_ref_convert_element(c->in[n + 1 + k].type->etype, c->in[n + 1 + k].data, i, t, updates[k], 0);
    args[n + k] = updates[k];
  }
  return cel_ref_body_apply(body, args, results);
}

static cel_status check_scatter(const cel_ref_call *c, int n) {
  if (n < 1 || c->op->n_operands != 2 * n + 1)
    return cel_ref_misfit(c, "it needs inputs, indices and as many updates");
  for (int k = 0; k < n; k++)
    if (cel_hlo_elements(c->in[k].type) != cel_hlo_elements(c->out[k].type) ||
        cel_hlo_elements(c->in[k].type) != cel_hlo_elements(c->in[0].type) ||
        cel_hlo_elements(c->in[n + 1 + k].type) != cel_hlo_elements(c->in[n + 1].type))
      return cel_ref_misfit(c, "inputs, updates or results differ in shape");
  return CEL_OK;
}

static cel_status check_body_types(const cel_ref_call *c, const cel_ref_body *body, int n) {
  for (int k = 0; k < n; k++)
    if (body->block->args[k]->type->etype != c->out[k].type->etype ||
        body->block->args[n + k]->type->etype != c->out[k].type->etype ||
        !cel_ref_body_returns(body, k, c->out[k].type->etype))
      return cel_ref_misfit(c, "its region's arguments and results do not have the results' element types");
  return CEL_OK;
}

static cel_status scatter(const cel_ref_call *c) {
  static const names names_ = {"update_window_dims", "inserted_window_dims", "input_batching_dims",
                               "scatter_indices_batching_dims", "scatter_dims_to_operand_dims"};
  int n = c->op->n_results;
  cel_ref_body body;
  CEL_TRY(check_scatter(c, n));
  const cel_hlo_type *x = c->in[0].type, *u = c->in[n + 1].type;
  places p = {.indices = &c->in[n], .operand = x, .whole = u};
  CEL_TRY(read_places(c, &names_, &p));
  CEL_TRY(cel_ref_body_init(&body, c, 0, 2 * n, n));
  CEL_TRY(check_body_types(c, &body, n));
  for (int k = 0; k < n; k++)
    for (int64_t i = 0, count = cel_hlo_elements(x); i < count; i++)
      cel_ref_convert_element(c->in[k].type->etype, c->in[k].data, i, c->out[k].type->etype, c->out[k].data, i);
  int64_t index[CEL_HLO_MAX_RANK] = {0}, at[CEL_HLO_MAX_RANK];
  for (int64_t i = 0, count = cel_hlo_elements(u); i < count; i++, (void)cel_ref_next(u->rank, u->dims, index)) {
    start_of(&p, index, at);
    bool inside = true;
    for (int d = 0; d < x->rank; d++) inside = inside && at[d] < x->dims[d] && at[d] > -(int64_t)INT32_MAX * 4096;
    if (!inside) continue;  // also keeps the sums below from overflowing
    add_batch_and_window(&p, index, at);
    for (int d = 0; d < x->rank; d++) inside = inside && at[d] >= 0 && at[d] < x->dims[d];
    if (inside) CEL_TRY(apply_update(c, &body, n, cel_ref_at(x->rank, p.operand_strides, at), i));
  }
  return CEL_OK;
}

cel_ref_fn *cel_ref_find_index(cel_hlo_opcode op) {
  return op == CEL_HLO_GATHER ? gather : op == CEL_HLO_SCATTER ? scatter : NULL;
}
