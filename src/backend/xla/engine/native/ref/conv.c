// convolution: for each result element the products of a window of lhs with a slice of rhs, spatial places
// ascending, the input feature innermost.
#include "backend/xla/engine/native/ref/contract.h"
#include "base/checked.h"

typedef struct conv {
  int spatial;
  int64_t in_batch, in_feature, k_in, k_out, out_batch, out_feature;  // dimension numbers
  int64_t in_space[CEL_HLO_MAX_RANK], k_space[CEL_HLO_MAX_RANK], out_space[CEL_HLO_MAX_RANK];
  int64_t stride[CEL_HLO_MAX_RANK], lhs_dilation[CEL_HLO_MAX_RANK], rhs_dilation[CEL_HLO_MAX_RANK];
  int64_t low[CEL_HLO_MAX_RANK], high[CEL_HLO_MAX_RANK], reversal[CEL_HLO_MAX_RANK];
  int64_t feature_groups, batch_groups;
  int64_t window[CEL_HLO_MAX_RANK];  // kernel sizes per spatial dimension
  int64_t features;                  // input features per group
  int64_t in_strides[CEL_HLO_MAX_RANK], k_strides[CEL_HLO_MAX_RANK], out_strides[CEL_HLO_MAX_RANK];
} conv;

// Whether two dimension numbers and a list together name every dimension once.
static bool covers(int rank, int64_t a, int64_t b, const int64_t *list) {
  unsigned seen = 1u << a | 1u << b;
  for (int d = 0; d < rank - 2; d++) seen |= 1u << list[d];
  return seen == (1u << rank) - 1;
}

static cel_status read_dimensions(const cel_ref_call *c, int rank, conv *v) {
  CEL_TRY(cel_ref_int_attr(c, "input_batch_dimension", -1, 0, rank, &v->in_batch));
  CEL_TRY(cel_ref_int_attr(c, "input_feature_dimension", -1, 0, rank, &v->in_feature));
  CEL_TRY(cel_ref_int_attr(c, "kernel_input_feature_dimension", -1, 0, rank, &v->k_in));
  CEL_TRY(cel_ref_int_attr(c, "kernel_output_feature_dimension", -1, 0, rank, &v->k_out));
  CEL_TRY(cel_ref_int_attr(c, "output_batch_dimension", -1, 0, rank, &v->out_batch));
  CEL_TRY(cel_ref_int_attr(c, "output_feature_dimension", -1, 0, rank, &v->out_feature));
  CEL_TRY(cel_ref_ints(c, "input_spatial_dimensions", v->spatial, -1, 0, rank, v->in_space));
  CEL_TRY(cel_ref_ints(c, "kernel_spatial_dimensions", v->spatial, -1, 0, rank, v->k_space));
  CEL_TRY(cel_ref_ints(c, "output_spatial_dimensions", v->spatial, -1, 0, rank, v->out_space));
  if (!covers(rank, v->in_batch, v->in_feature, v->in_space) || !covers(rank, v->k_in, v->k_out, v->k_space) ||
      !covers(rank, v->out_batch, v->out_feature, v->out_space))
    return cel_ref_misfit(c, "a dimension is named twice");
  return CEL_OK;
}

static cel_status read_conv(const cel_ref_call *c, conv *v) {
  const cel_hlo_type *x = c->in[0].type, *w = c->in[1].type, *y = c->out[0].type;
  if (x->rank < 2 || w->rank != x->rank || y->rank != x->rank)
    return cel_ref_misfit(c, "operands and result need one rank of at least 2");
  *v = (conv){.spatial = x->rank - 2};
  CEL_TRY(read_dimensions(c, x->rank, v));
  CEL_TRY(cel_ref_ints(c, "window_strides", v->spatial, 1, 1, INT32_MAX, v->stride));
  CEL_TRY(cel_ref_ints(c, "lhs_dilation", v->spatial, 1, 1, INT32_MAX, v->lhs_dilation));
  CEL_TRY(cel_ref_ints(c, "rhs_dilation", v->spatial, 1, 1, INT32_MAX, v->rhs_dilation));
  CEL_TRY(cel_ref_ints(c, "window_reversal", v->spatial, 0, 0, 2, v->reversal));
  CEL_TRY(cel_ref_pairs(c, "padding", v->spatial, v->low, v->high));
  CEL_TRY(cel_ref_int_attr(c, "feature_group_count", 1, 1, INT32_MAX, &v->feature_groups));
  CEL_TRY(cel_ref_int_attr(c, "batch_group_count", 1, 1, INT32_MAX, &v->batch_groups));
  v->features = w->dims[v->k_in];
  for (int d = 0; d < v->spatial; d++) v->window[d] = w->dims[v->k_space[d]];
  for (int d = 0; d < x->rank; d++)
    if (x->dims[d] > INT32_MAX || w->dims[d] > INT32_MAX || y->dims[d] > INT32_MAX)
      return cel_ref_misfit(c, "a dimension is too large");
  cel_ref_strides(x->rank, x->dims, v->in_strides);
  cel_ref_strides(w->rank, w->dims, v->k_strides);
  cel_ref_strides(y->rank, y->dims, v->out_strides);
  return CEL_OK;
}

static cel_status check(const cel_ref_call *c, const conv *v) {
  const cel_hlo_type *x = c->in[0].type, *w = c->in[1].type, *y = c->out[0].type;
  int64_t out = w->dims[v->k_out], batch = x->dims[v->in_batch], steps;
  if (v->feature_groups > 1 && v->batch_groups > 1) return cel_ref_misfit(c, "feature and batch groups at once");
  if (x->dims[v->in_feature] != v->features * v->feature_groups || out % v->feature_groups || out % v->batch_groups ||
      batch % v->batch_groups || y->dims[v->out_feature] != out || y->dims[v->out_batch] != batch / v->batch_groups)
    return cel_ref_misfit(c, "features, batches and groups do not fit");
  steps = cel_hlo_elements(y);
  for (int d = 0; d < v->spatial; d++)
    if (!cel_mul_i64(steps, v->window[d], &steps)) return cel_ref_spend(c->frame->run, -1);
  if (!cel_mul_i64(steps, v->features, &steps)) steps = -1;
  return cel_ref_spend(c->frame->run, steps);
}

// Where lhs is read for a place of the window, without batch and feature; false: padding or a gap.
static bool input_at(const cel_ref_call *c, const conv *v, const int64_t *out, const int64_t *win, int64_t *at) {
  *at = 0;
  for (int d = 0; d < v->spatial; d++) {
    int64_t k = v->reversal[d] ? v->window[d] - 1 - win[d] : win[d], dim = v->in_space[d];
    int64_t place = out[v->out_space[d]] * v->stride[d] + k * v->rhs_dilation[d] - v->low[d];
    if (place < 0 || place % v->lhs_dilation[d] || place / v->lhs_dilation[d] >= c->in[0].type->dims[dim])
      return false;
    *at += place / v->lhs_dilation[d] * v->in_strides[dim];
  }
  return true;
}

static void one_element(const cel_ref_call *c, const conv *v, cel_ref_sum sum, const char *x, const char *w,
                        const int64_t *index, int64_t i) {
  int64_t bytes = cel_ref_sum_bytes(sum), win[CEL_HLO_MAX_RANK] = {0};
  int64_t o = index[v->out_feature], out = c->in[1].type->dims[v->k_out];
  int64_t group = o / (out / v->feature_groups);      // feature group of this output feature
  int64_t batch_group = o / (out / v->batch_groups);  // batch group, likewise
  int64_t batch = index[v->out_batch] + batch_group * c->out[0].type->dims[v->out_batch];
  union {
    float f;
    double d;
    uint64_t i;
    cel_ref_complex c;
  } acc;
  memset(&acc, 0, sizeof acc);
  bool empty = v->features == 0;
  for (int d = 0; d < v->spatial; d++) empty = empty || v->window[d] == 0;
  if (!empty) do {
      int64_t at, k = o * v->k_strides[v->k_out];
      if (!input_at(c, v, index, win, &at)) continue;
      at += batch * v->in_strides[v->in_batch] + group * v->features * v->in_strides[v->in_feature];
      for (int d = 0; d < v->spatial; d++) k += win[d] * v->k_strides[v->k_space[d]];
      for (int64_t f = 0; f < v->features; f++)
        cel_ref_sum_add(sum, &acc, x + (at + f * v->in_strides[v->in_feature]) * bytes,
                        w + (k + f * v->k_strides[v->k_in]) * bytes, 1);
    } while (cel_ref_next(v->spatial, v->window, win));
  cel_ref_sum_store(sum, &acc, 0, &c->out[0], i);
}

static cel_status load(const cel_ref_call *c, const cel_ref_tensor *t, cel_ref_sum sum, void **out) {
  int64_t n = cel_hlo_elements(t->type);
  CEL_TRY(cel_ref_scratch(c, n, cel_ref_sum_bytes(sum), out));
  for (int64_t i = 0; i < n; i++) cel_ref_sum_load(sum, t, i, *out, i);
  return CEL_OK;
}

cel_status cel_ref_convolution(const cel_ref_call *c) {
  conv v;
  if (c->op->n_operands != 2) return cel_ref_misfit(c, "it needs two operands");
  CEL_TRY(read_conv(c, &v));
  CEL_TRY(check(c, &v));
  const cel_hlo_type *y = c->out[0].type;
  cel_ref_sum sum = cel_ref_sum_of(y->etype);
  void *x = NULL, *w = NULL;
  cel_status status;
  CEL_TRY_DONE(status, load(c, &c->in[0], sum, &x));
  CEL_TRY_DONE(status, load(c, &c->in[1], sum, &w));
  int64_t index[CEL_HLO_MAX_RANK] = {0};
  for (int64_t i = 0, n = cel_hlo_elements(y); i < n; i++) {
    one_element(c, &v, sum, x, w, index, i);
    (void)cel_ref_next(y->rank, y->dims, index);
  }
done:
  cel_ref_scratch_free(c, w);
  cel_ref_scratch_free(c, x);
  return status;
}
