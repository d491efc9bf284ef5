// sort and chlo.top_k. Both are stable merge sorts of positions.
#include "backend/xla/engine/native/ref/internal.h"

// Whether the element at position b goes before the one at a (a stands left of b).
typedef cel_status goes_first(const void *context, int64_t a, int64_t b, bool *yes);

// Merges [lo, mid) and [mid, hi) of `from` into `to`.
static cel_status merge(const int64_t *from, int64_t *to, int64_t lo, int64_t mid, int64_t hi, goes_first *first,
                        const void *context) {
  int64_t a = lo, b = mid;
  for (int64_t i = lo; i < hi; i++) {
    bool take_b = a >= mid;
    if (a < mid && b < hi) CEL_TRY(first(context, from[a], from[b], &take_b));
    to[i] = take_b ? from[b++] : from[a++];
  }
  return CEL_OK;
}

// Sorts 0 .. n-1 into *sorted, which is `x` or `y` (both of n).
static cel_status sort_positions(int64_t n, int64_t *x, int64_t *y, goes_first *first, const void *context,
                                 int64_t **sorted) {
  for (int64_t i = 0; i < n; i++) x[i] = i;
  for (int64_t width = 1; width < n; width *= 2) {
    for (int64_t lo = 0; lo < n; lo += 2 * width)
      CEL_TRY(merge(x, y, lo, CEL_MIN(lo + width, n), CEL_MIN(lo + 2 * width, n), first, context));
    int64_t *t = x;
    x = y;
    y = t;
  }
  *sorted = x;
  return CEL_OK;
}

// One line of the inputs along the sorted dimension.
typedef struct line {
  const cel_ref_call *c;
  const cel_ref_body *body;
  int64_t base, stride;
} line;

static cel_status compare_in_line(const void *context, int64_t a, int64_t b, bool *yes) {
  const line *l = context;
  const void *args[CEL_REF_MAX_SCALARS];
  char before = 0;
  void *results[1] = {&before};
  for (int k = 0; k < l->c->op->n_operands; k++) {
    int64_t bytes = cel_ref_bytes(l->c->in[k].type->etype);
    args[2 * k] = (const char *)l->c->in[k].data + (l->base + b * l->stride) * bytes;
    args[2 * k + 1] = (const char *)l->c->in[k].data + (l->base + a * l->stride) * bytes;
  }
  CEL_TRY(cel_ref_body_apply(l->body, args, results));
  *yes = before != 0;
  return CEL_OK;
}

static cel_status sort_line(const line *l, int64_t n, int64_t *x, int64_t *y) {
  const cel_ref_call *c = l->c;
  int64_t *sorted;
  CEL_TRY(sort_positions(n, x, y, compare_in_line, l, &sorted));
  for (int k = 0; k < c->op->n_operands; k++) {
    int64_t bytes = cel_ref_bytes(c->in[k].type->etype);
    for (int64_t i = 0; i < n; i++)
      memcpy((char *)c->out[k].data + (l->base + i * l->stride) * bytes,
             (const char *)c->in[k].data + (l->base + sorted[i] * l->stride) * bytes, (size_t)bytes);
  }
  return CEL_OK;
}

static cel_status check_sort(const cel_ref_call *c, cel_ref_body *body) {
  int n = c->op->n_operands;
  if (c->op->n_results != n) return cel_ref_misfit(c, "it needs as many results as inputs");
  CEL_TRY(cel_ref_body_init(body, c, 0, 2 * n, 1));
  if (!cel_ref_body_returns(body, 0, CEL_ET_PRED)) return cel_ref_misfit(c, "its comparator does not return i1");
  for (int k = 0; k < n; k++) {
    const cel_hlo_type *x = c->in[k].type, *y = c->out[k].type;
    if (x->etype != y->etype || cel_hlo_elements(x) != cel_hlo_elements(y) || x->rank != c->in[0].type->rank ||
        memcmp(x->dims, c->in[0].type->dims, (size_t)x->rank * sizeof x->dims[0]) != 0 ||
        body->block->args[2 * k]->type->etype != x->etype || body->block->args[2 * k + 1]->type->etype != x->etype)
      return cel_ref_misfit(c, "inputs, results and comparator do not fit");
  }
  return CEL_OK;
}

static cel_status sort(const cel_ref_call *c) {
  cel_ref_body body;
  int64_t dim, strides[CEL_HLO_MAX_RANK], dims[CEL_HLO_MAX_RANK], index[CEL_HLO_MAX_RANK] = {0};
  void *scratch;
  CEL_TRY(check_sort(c, &body));
  const cel_hlo_type *x = c->in[0].type;
  CEL_TRY(cel_ref_int_attr(c, "dimension", -1, -x->rank, x->rank, &dim));
  if (dim < 0) dim += x->rank;
  if (cel_hlo_elements(x) == 0) return CEL_OK;
  cel_ref_strides(x->rank, x->dims, strides);
  memcpy(dims, x->dims, sizeof dims);
  int64_t n = dims[dim];
  dims[dim] = 1;
  CEL_TRY(cel_ref_scratch(c, n, 2 * (int64_t)sizeof(int64_t), &scratch));
  int64_t *positions = scratch;
  cel_status status = CEL_OK;
  do {
    line l = {c, &body, cel_ref_at(x->rank, strides, index), strides[dim]};
    status = sort_line(&l, n, positions, positions + n);
  } while (status == CEL_OK && cel_ref_next(x->rank, dims, index));
  cel_ref_scratch_free(c, scratch);
  return status;
}

// ---- top_k -------------------------------------------------------------------------------------

typedef struct row {
  cel_etype t;
  const char *data;
} row;

// Descending; floats in total order, so NaN comes before infinity. Equal ones keep their order.
static cel_status is_greater(const void *context, int64_t a, int64_t b, bool *yes) {
  const row *r = context;
  if (cel_ref_class(r->t) != 'F') {
    int64_t x = cel_ref_get_int(r->t, r->data, a), y = cel_ref_get_int(r->t, r->data, b);
    *yes = cel_ref_class(r->t) == 'S' ? y > x : (uint64_t)y > (uint64_t)x;
    return CEL_OK;
  }
  uint64_t top = (uint64_t)1 << (cel_ref_bits(r->t) - 1);
  uint64_t x = cel_ref_get_bits(r->t, r->data, a), y = cel_ref_get_bits(r->t, r->data, b);
  x = x & top ? top - 1 - (x & (top - 1)) : x | top;
  y = y & top ? top - 1 - (y & (top - 1)) : y | top;
  *yes = y > x;
  return CEL_OK;
}

// The k largest along the last dimension, and where they were.
static cel_status top_k(const cel_ref_call *c) {
  const cel_ref_tensor *x = &c->in[0];
  int rank = x->type->rank;
  int64_t k, bytes = cel_ref_bytes(x->type->etype);
  void *scratch;
  if (cel_ref_class(x->type->etype) == 'C') return cel_ref_refuse(c, x->type);
  if (rank < 1 || c->op->n_results != 2) return cel_ref_misfit(c, "it needs a dimension and two results");
  int64_t n = x->type->dims[rank - 1], rows = n ? cel_hlo_elements(x->type) / n : 0;
  CEL_TRY(cel_ref_int_attr(c, "k", -1, 0, n + 1, &k));
  const cel_ref_tensor *values = &c->out[0], *places = &c->out[1];
  if (cel_hlo_elements(values->type) != rows * k || cel_hlo_elements(places->type) != rows * k ||
      values->type->etype != x->type->etype || !cel_etype_is_int(places->type->etype))
    return cel_ref_misfit(c, "the results do not have the shape of k values per row");
  CEL_TRY(cel_ref_scratch(c, n, 2 * (int64_t)sizeof(int64_t), &scratch));
  cel_status status = CEL_OK;
  for (int64_t r = 0; status == CEL_OK && r < rows; r++) {
    row line_ = {x->type->etype, (const char *)x->data + r * n * bytes};
    int64_t *sorted = NULL;
    status = cel_ref_spend(c->frame->run, n);
    if (status == CEL_OK) status = sort_positions(n, scratch, (int64_t *)scratch + n, is_greater, &line_, &sorted);
    for (int64_t i = 0; status == CEL_OK && i < k; i++) {
      memcpy((char *)values->data + (r * k + i) * bytes, line_.data + sorted[i] * bytes, (size_t)bytes);
      cel_ref_put_int(places->type->etype, places->data, r * k + i, (uint64_t)sorted[i]);
    }
  }
  cel_ref_scratch_free(c, scratch);
  return status;
}

cel_ref_fn *cel_ref_find_sort(cel_hlo_opcode op) {
  return op == CEL_HLO_SORT ? sort : op == CEL_HLO_CHLO_TOP_K ? top_k : NULL;
}
