// dot_general: operands are brought to [batch, m, k] and [batch, k, n]; then for each k in ascending order a
// whole row of n sums takes one product each, so every sum adds in that order and rows run side by side.
#include "backend/xla/engine/native/ref/contract.h"
#include "base/checked.h"

// ---- sums of products --------------------------------------------------------------------------

cel_ref_sum cel_ref_sum_of(cel_etype result) {
  if (result == CEL_ET_F64) return CEL_REF_SUM_F64;
  if (cel_ref_class(result) == 'C') return result == CEL_ET_C64 ? CEL_REF_SUM_C64 : CEL_REF_SUM_C128;
  return cel_ref_class(result) == 'F' ? CEL_REF_SUM_F32 : CEL_REF_SUM_INT;
}

int64_t cel_ref_sum_bytes(cel_ref_sum s) { return s == CEL_REF_SUM_F32 ? 4 : s == CEL_REF_SUM_C128 ? 16 : 8; }

void cel_ref_sum_load(cel_ref_sum s, const cel_ref_tensor *x, int64_t i, void *out, int64_t j) {
  static const cel_etype as[] = {CEL_ET_F32, CEL_ET_F64, CEL_ET_I64, CEL_ET_C64, CEL_ET_C128};
  cel_ref_convert_element(x->type->etype, x->data, i, as[s], out, j);
}

// i1 sums are "any product is true", all others wrap to their width.
void cel_ref_sum_store(cel_ref_sum s, const void *in, int64_t j, const cel_ref_tensor *y, int64_t i) {
  static const cel_etype as[] = {CEL_ET_F32, CEL_ET_F64, CEL_ET_I64, CEL_ET_C64, CEL_ET_C128};
  cel_ref_convert_element(as[s], in, j, y->type->etype, y->data, i);
}

static void add_f32(float *acc, float a, const float *b, int64_t n) {
  for (int64_t j = 0; j < n; j++) acc[j] += a * b[j];
}
static void add_f64(double *acc, double a, const double *b, int64_t n) {
  for (int64_t j = 0; j < n; j++) acc[j] += a * b[j];
}
static void add_int(uint64_t *acc, uint64_t a, const uint64_t *b, int64_t n) {
  for (int64_t j = 0; j < n; j++) acc[j] += a * b[j];
}
static void add_c64(void *acc, const void *a, const void *b, int64_t n) {
  cel_ref_complex x = cel_ref_get_complex(CEL_ET_C64, a, 0);
  for (int64_t j = 0; j < n; j++) {
    cel_ref_complex p = cel_ref_complex_multiply(CEL_ET_C64, x, cel_ref_get_complex(CEL_ET_C64, b, j));
    cel_ref_put_complex(CEL_ET_C64, acc, j, cel_ref_get_complex(CEL_ET_C64, acc, j) + p);
  }
}
static void add_c128(cel_ref_complex *acc, cel_ref_complex a, const cel_ref_complex *b, int64_t n) {
  for (int64_t j = 0; j < n; j++) acc[j] += cel_ref_complex_multiply(CEL_ET_C128, a, b[j]);
}

void cel_ref_sum_add(cel_ref_sum s, void *acc, const void *a, const void *b, int64_t n) {
  switch (s) {
    case CEL_REF_SUM_F32: add_f32(acc, *(const float *)a, b, n); break;
    case CEL_REF_SUM_F64: add_f64(acc, *(const double *)a, b, n); break;
    case CEL_REF_SUM_INT: add_int(acc, *(const uint64_t *)a, b, n); break;
    case CEL_REF_SUM_C64: add_c64(acc, a, b, n); break;
    case CEL_REF_SUM_C128: add_c128(acc, *(const cel_ref_complex *)a, b, n); break;
  }
}

// ---- dot_general -------------------------------------------------------------------------------

// One operand: its dimensions in three groups, and the product of each group.
typedef struct side {
  const cel_ref_tensor *t;
  int64_t batch[CEL_HLO_MAX_RANK], contract[CEL_HLO_MAX_RANK], free[CEL_HLO_MAX_RANK];
  int n_batch, n_contract, n_free;
  int64_t batches, k, m;
} side;

static int64_t product(const cel_hlo_type *t, const int64_t *dims, int n) {
  int64_t p = 1;  // divides the element count, or is 0
  for (int i = 0; i < n; i++) p *= t->dims[dims[i]];
  return p;
}

static cel_status read_side(const cel_ref_call *c, int which, const char *batch, const char *contract, side *s) {
  *s = (side){.t = &c->in[which]};
  int rank = s->t->type->rank, n_both = 0;
  int64_t both[2 * CEL_HLO_MAX_RANK];
  CEL_TRY(cel_ref_list(c, batch, 0, rank, s->batch, &s->n_batch));
  CEL_TRY(cel_ref_list(c, contract, 0, rank, s->contract, &s->n_contract));
  for (int i = 0; i < s->n_batch; i++) both[n_both++] = s->batch[i];
  for (int i = 0; i < s->n_contract; i++) both[n_both++] = s->contract[i];
  s->n_free = cel_ref_others(rank, both, n_both, s->free);
  if (s->n_free + n_both != rank) return cel_ref_misfit(c, "a dimension is listed twice");
  s->batches = product(s->t->type, s->batch, s->n_batch);
  s->k = product(s->t->type, s->contract, s->n_contract);
  s->m = product(s->t->type, s->free, s->n_free);
  return CEL_OK;
}

// Copies an operand into `out` with its dimensions in the order `order`, as numbers of the sum.
static void pack(const side *s, const int64_t *order, cel_ref_sum sum, void *out) {
  const cel_hlo_type *t = s->t->type;
  int64_t dims[CEL_HLO_MAX_RANK], strides[CEL_HLO_MAX_RANK], natural[CEL_HLO_MAX_RANK], index[CEL_HLO_MAX_RANK] = {0};
  cel_ref_strides(t->rank, t->dims, natural);
  for (int d = 0; d < t->rank; d++) {
    dims[d] = t->dims[order[d]];
    strides[d] = natural[order[d]];
  }
  for (int64_t i = 0, n = cel_hlo_elements(t); i < n; i++) {
    cel_ref_sum_load(sum, s->t, cel_ref_at(t->rank, strides, index), out, i);
    (void)cel_ref_next(t->rank, dims, index);
  }
}

static void append(int64_t *order, int *n, const int64_t *dims, int count) {
  for (int i = 0; i < count; i++) order[(*n)++] = dims[i];
}

// y[b, m, n] = sum over k of x[b, m, k] * w[b, k, n]
static void multiply(const side *l, const side *r, cel_ref_sum sum, const char *x, const char *w, char *row,
                     const cel_ref_tensor *y) {
  int64_t bytes = cel_ref_sum_bytes(sum), n = r->m;
  for (int64_t b = 0; b < l->batches; b++)
    for (int64_t m = 0; m < l->m; m++) {
      memset(row, 0, (size_t)(n * bytes));
      for (int64_t k = 0; k < l->k; k++)
        cel_ref_sum_add(sum, row, x + ((b * l->m + m) * l->k + k) * bytes, w + (b * l->k + k) * n * bytes, n);
      for (int64_t j = 0; j < n; j++) cel_ref_sum_store(sum, row, j, y, (b * l->m + m) * n + j);
    }
}

static cel_status check(const cel_ref_call *c, const side *l, const side *r) {
  const cel_hlo_type *a = l->t->type, *b = r->t->type;
  if (l->n_batch != r->n_batch || l->n_contract != r->n_contract)
    return cel_ref_misfit(c, "its dimension lists are not paired");
  for (int i = 0; i < l->n_batch; i++)
    if (a->dims[l->batch[i]] != b->dims[r->batch[i]]) return cel_ref_misfit(c, "batching dimensions differ");
  for (int i = 0; i < l->n_contract; i++)
    if (a->dims[l->contract[i]] != b->dims[r->contract[i]]) return cel_ref_misfit(c, "contracting dimensions differ");
  int64_t size, products;
  if (!cel_mul_i64(l->batches, l->m, &size) || !cel_mul_i64(size, r->m, &size) ||
      size != cel_hlo_elements(c->out[0].type))
    return cel_ref_misfit(c, "the result's shape does not match");
  if (!cel_mul_i64(size, l->k, &products)) products = -1;
  return cel_ref_spend(c->frame->run, products);
}

cel_status cel_ref_dot_general(const cel_ref_call *c) {
  side l, r;
  if (c->op->n_operands != 2) return cel_ref_misfit(c, "it needs two operands");
  if (cel_hlo_find_attr(c->op, "algorithm"))
    return cel_fail(c->err, CEL_UNSUPPORTED, "dot_general with an explicit algorithm is not evaluated");
  CEL_TRY(read_side(c, 0, "lhs_batching_dimensions", "lhs_contracting_dimensions", &l));
  CEL_TRY(read_side(c, 1, "rhs_batching_dimensions", "rhs_contracting_dimensions", &r));
  CEL_TRY(check(c, &l, &r));
  cel_ref_sum sum = cel_ref_sum_of(c->out[0].type->etype);
  int64_t bytes = cel_ref_sum_bytes(sum), order[2 * CEL_HLO_MAX_RANK];
  void *x = NULL, *w = NULL, *row = NULL;
  cel_status status;
  int n = 0;
  CEL_TRY_DONE(status, cel_ref_scratch(c, cel_hlo_elements(l.t->type), bytes, &x));
  CEL_TRY_DONE(status, cel_ref_scratch(c, cel_hlo_elements(r.t->type), bytes, &w));
  CEL_TRY_DONE(status, cel_ref_scratch(c, r.m, bytes, &row));
  append(order, &n, l.batch, l.n_batch);
  append(order, &n, l.free, l.n_free);
  append(order, &n, l.contract, l.n_contract);
  pack(&l, order, sum, x);
  n = 0;
  append(order, &n, r.batch, r.n_batch);
  append(order, &n, r.contract, r.n_contract);
  append(order, &n, r.free, r.n_free);
  pack(&r, order, sum, w);
  multiply(&l, &r, sum, x, w, row, &c->out[0]);
done:
  cel_ref_scratch_free(c, row);
  cel_ref_scratch_free(c, w);
  cel_ref_scratch_free(c, x);
  return status;
}
