// reduce, reduce_window, map, select_and_scatter: regions applied to scalars.
#include "backend/xla/engine/native/ref/internal.h"

static bool same_dims(const cel_hlo_type *a, const cel_hlo_type *b) {
  return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0;
}

// n inputs of one shape, then n scalars, n results of one shape; the region takes 2n arguments of the
// results' element types (inputs are converted to them).
static cel_status check(const cel_ref_call *c, int n, cel_ref_body *body) {
  if (n < 1 || c->op->n_operands != 2 * n)
    return cel_ref_misfit(c, "it needs as many inputs as initial values and results");
  CEL_TRY(cel_ref_body_init(body, c, 0, 2 * n, n));
  for (int k = 0; k < n; k++) {
    if (!same_dims(c->in[k].type, c->in[0].type) || !same_dims(c->out[k].type, c->out[0].type))
      return cel_ref_misfit(c, "inputs or results have different shapes");
    if (c->in[n + k].type->rank != 0) return cel_ref_misfit(c, "an initial value is no scalar");
    cel_etype t = c->out[k].type->etype;
    if (body->block->args[k]->type->etype != t || body->block->args[n + k]->type->etype != t ||
        !cel_ref_body_returns(body, k, t))
      return cel_ref_misfit(c, "its region's arguments and results do not have the results' element types");
  }
  return CEL_OK;
}

static void put_init(const cel_ref_call *c, int n, int64_t at) {
  for (int k = 0; k < n; k++)
    cel_ref_convert_element(c->in[n + k].type->etype, c->in[n + k].data, 0, c->out[k].type->etype, c->out[k].data,
                            at);
}

// results[at] = body(results[at], element); from < 0 takes the initial values as element.
static cel_status fold(const cel_ref_call *c, const cel_ref_body *body, int n, int64_t at, int64_t from) {
  const void *args[CEL_REF_MAX_SCALARS];
  void *results[CEL_REF_MAX_SCALARS];
  char elements[CEL_REF_MAX_SCALARS][CEL_REF_SCALAR_BYTES];
  for (int k = 0; k < n; k++) {
    const cel_ref_tensor *x = from < 0 ? &c->in[n + k] : &c->in[k];
    cel_etype t = c->out[k].type->etype;
    cel_ref_convert_element(x->type->etype, x->data, from < 0 ? 0 : from, t, elements[k], 0);
    results[k] = (char *)c->out[k].data + at * cel_ref_bytes(t);
    args[k] = results[k];
    args[n + k] = elements[k];
  }
  return cel_ref_body_apply(body, args, results);
}

static cel_status reduce(const cel_ref_call *c) {
  int n = c->op->n_results, n_dims;
  cel_ref_body body;
  int64_t dims[CEL_HLO_MAX_RANK], kept[CEL_HLO_MAX_RANK], strides[CEL_HLO_MAX_RANK];
  CEL_TRY(check(c, n, &body));
  const cel_hlo_type *x = c->in[0].type, *y = c->out[0].type;
  CEL_TRY(cel_ref_list(c, "dimensions", 0, x->rank, dims, &n_dims));
  int n_kept = cel_ref_others(x->rank, dims, n_dims, kept);
  if (n_kept != y->rank) return cel_ref_misfit(c, "the result's rank does not match");
  for (int d = 0; d < n_kept; d++)
    if (x->dims[kept[d]] != y->dims[d]) return cel_ref_misfit(c, "the result's shape does not match");
  cel_ref_strides(y->rank, y->dims, strides);
  for (int64_t i = 0, count = cel_hlo_elements(y); i < count; i++) put_init(c, n, i);
  int64_t index[CEL_HLO_MAX_RANK] = {0};
  for (int64_t i = 0, count = cel_hlo_elements(x); i < count; i++) {
    int64_t at = 0;
    for (int d = 0; d < n_kept; d++) at += index[kept[d]] * strides[d];
    CEL_TRY(fold(c, &body, n, at, i));
    (void)cel_ref_next(x->rank, x->dims, index);
  }
  return CEL_OK;
}

// ---- windows -----------------------------------------------------------------------------------

typedef struct window {
  int rank;
  int64_t size[CEL_HLO_MAX_RANK], stride[CEL_HLO_MAX_RANK], base[CEL_HLO_MAX_RANK], dilation[CEL_HLO_MAX_RANK];
  int64_t low[CEL_HLO_MAX_RANK], high[CEL_HLO_MAX_RANK];
  int64_t strides[CEL_HLO_MAX_RANK];  // of the input
} window;

static cel_status read_window(const cel_ref_call *c, const cel_hlo_type *x, window *w) {
  *w = (window){.rank = x->rank};
  CEL_TRY(cel_ref_ints(c, "window_dimensions", x->rank, 1, 1, INT32_MAX, w->size));
  CEL_TRY(cel_ref_ints(c, "window_strides", x->rank, 1, 1, INT32_MAX, w->stride));
  CEL_TRY(cel_ref_ints(c, "base_dilations", x->rank, 1, 1, INT32_MAX, w->base));
  CEL_TRY(cel_ref_ints(c, "window_dilations", x->rank, 1, 1, INT32_MAX, w->dilation));
  CEL_TRY(cel_ref_pairs(c, "padding", x->rank, w->low, w->high));
  cel_ref_strides(x->rank, x->dims, w->strides);
  for (int d = 0; d < x->rank; d++)
    if (x->dims[d] > INT32_MAX) return cel_ref_misfit(c, "a dimension is too large for windows");
  return CEL_OK;
}

// Where in the input place `in_window` of the window of result `index` lies; -1: in padding or a gap.
static int64_t window_at(const window *w, const cel_hlo_type *x, const int64_t *index, const int64_t *in_window) {
  int64_t at = 0;
  for (int d = 0; d < w->rank; d++) {
    if (index[d] > INT32_MAX) return -1;
    int64_t place = index[d] * w->stride[d] + in_window[d] * w->dilation[d] - w->low[d];
    if (place < 0 || place % w->base[d] != 0 || place / w->base[d] >= x->dims[d]) return -1;
    at += place / w->base[d] * w->strides[d];
  }
  return at;
}

static cel_status reduce_window(const cel_ref_call *c) {
  int n = c->op->n_results;
  cel_ref_body body;
  window w;
  CEL_TRY(check(c, n, &body));
  const cel_hlo_type *x = c->in[0].type, *y = c->out[0].type;
  if (x->rank != y->rank) return cel_ref_misfit(c, "the result's rank does not match");
  CEL_TRY(read_window(c, x, &w));
  int64_t index[CEL_HLO_MAX_RANK] = {0};
  for (int64_t i = 0, count = cel_hlo_elements(y); i < count; i++) {
    int64_t inner[CEL_HLO_MAX_RANK] = {0};
    put_init(c, n, i);
    do CEL_TRY(fold(c, &body, n, i, window_at(&w, x, index, inner)));  // padding holds the initial values
    while (cel_ref_next(w.rank, w.size, inner));
    (void)cel_ref_next(y->rank, y->dims, index);
  }
  return CEL_OK;
}

// The place of the element `select` prefers in a window, padding left out; -1 when there is none.
static cel_status select_in_window(const cel_ref_call *c, const cel_ref_body *body, const window *w,
                                   const int64_t *index, int64_t *chosen) {
  const cel_ref_tensor *x = &c->in[0];
  int64_t inner[CEL_HLO_MAX_RANK] = {0}, bytes = cel_ref_bytes(x->type->etype);
  *chosen = -1;
  do {
    int64_t at = window_at(w, x->type, index, inner);
    CEL_TRY(cel_ref_spend(c->frame->run, 1));
    if (at < 0) continue;
    char keep = 1;
    if (*chosen >= 0) {
      const void *args[2] = {(const char *)x->data + *chosen * bytes, (const char *)x->data + at * bytes};
      void *results[1] = {&keep};
      CEL_TRY(cel_ref_body_apply(body, args, results));
    }
    if (*chosen < 0 || !keep) *chosen = at;
  } while (cel_ref_next(w->rank, w->size, inner));
  return CEL_OK;
}

static cel_status check_select_and_scatter(const cel_ref_call *c, cel_ref_body *select, cel_ref_body *scatter) {
  if (c->op->n_operands != 3 || c->op->n_results != 1 || c->in[2].type->rank != 0)
    return cel_ref_misfit(c, "it needs operand, source and a scalar initial value");
  const cel_hlo_type *x = c->in[0].type, *y = c->out[0].type;
  CEL_TRY(cel_ref_body_init(select, c, 0, 2, 1));
  CEL_TRY(cel_ref_body_init(scatter, c, 1, 2, 1));
  if (!same_dims(x, y) || x->rank != c->in[1].type->rank) return cel_ref_misfit(c, "operands and result do not fit");
  if (!cel_ref_body_returns(select, 0, CEL_ET_PRED)) return cel_ref_misfit(c, "its select region does not return i1");
  if (!cel_ref_body_returns(scatter, 0, y->etype))
    return cel_ref_misfit(c, "its scatter region does not return the result's element type");
  for (int k = 0; k < 2; k++)
    if (select->block->args[k]->type->etype != x->etype || scatter->block->args[k]->type->etype != y->etype)
      return cel_ref_misfit(c, "its regions' arguments do not have the element types of operand and result");
  return CEL_OK;
}

static cel_status select_and_scatter(const cel_ref_call *c) {
  cel_ref_body select, scatter;
  window w;
  CEL_TRY(check_select_and_scatter(c, &select, &scatter));
  const cel_hlo_type *x = c->in[0].type;
  const cel_ref_tensor *source = &c->in[1], *init = &c->in[2], *y = &c->out[0];
  cel_etype t = y->type->etype;
  CEL_TRY(read_window(c, x, &w));
  for (int64_t i = 0, n = cel_hlo_elements(y->type); i < n; i++)
    cel_ref_convert_element(init->type->etype, init->data, 0, t, y->data, i);
  int64_t index[CEL_HLO_MAX_RANK] = {0};
  for (int64_t i = 0, n = cel_hlo_elements(source->type); i < n; i++) {
    int64_t at;
    char value[CEL_REF_SCALAR_BYTES];
    CEL_TRY(select_in_window(c, &select, &w, index, &at));
    (void)cel_ref_next(source->type->rank, source->type->dims, index);
    if (at < 0) continue;
    void *results[1] = {(char *)y->data + at * cel_ref_bytes(t)};
    const void *args[2] = {results[0], value};
    cel_ref_convert_element(source->type->etype, source->data, i, t, value, 0);
    CEL_TRY(cel_ref_body_apply(&scatter, args, results));
  }
  return CEL_OK;
}

// ---- map ---------------------------------------------------------------------------------------

static cel_status map(const cel_ref_call *c) {
  int n = c->op->n_operands;
  cel_ref_body body;
  CEL_TRY(cel_ref_body_init(&body, c, 0, n, 1));
  const cel_ref_tensor *y = &c->out[0];
  for (int k = 0; k < n; k++)
    if (!same_dims(c->in[k].type, y->type) || body.block->args[k]->type->etype != c->in[k].type->etype)
      return cel_ref_misfit(c, "inputs, result and region do not fit");
  if (!cel_ref_body_returns(&body, 0, y->type->etype))
    return cel_ref_misfit(c, "its region does not return the result's element type");
  for (int64_t i = 0, count = cel_hlo_elements(y->type); i < count; i++) {
    const void *args[CEL_REF_MAX_SCALARS];
    for (int k = 0; k < n; k++) args[k] = (const char *)c->in[k].data + i * cel_ref_bytes(c->in[k].type->etype);
    void *results[1] = {(char *)y->data + i * cel_ref_bytes(y->type->etype)};
    CEL_TRY(cel_ref_body_apply(&body, args, results));
  }
  return CEL_OK;
}

cel_ref_fn *cel_ref_find_reduce(cel_hlo_opcode op) {
  switch (op) {
    case CEL_HLO_REDUCE: return reduce;
    case CEL_HLO_REDUCE_WINDOW: return reduce_window;
    case CEL_HLO_SELECT_AND_SCATTER: return select_and_scatter;
    case CEL_HLO_MAP: return map;
    default: return NULL;
  }
}
