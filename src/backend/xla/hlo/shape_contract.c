// Rules of dot_general and convolution. The element type they give is the left operand's: the result may
// be of another (i8 times i8 to i32), which the caller declares.
#include <string.h>

#include "backend/xla/hlo/shape.h"

enum { R = CEL_HLO_MAX_RANK };

// precision_config: a LIST of two of the words; producers also write one or none.
static cel_status check_precision(cel_shape *s) {
  const cel_hlo_attr *a = cel_hlo_find_attr(s->op, "precision_config");
  if (!a) return CEL_OK;
  if (a->kind != CEL_HLO_ATTR_LIST || a->n > 2)
    return cel_shape_fail(s, "precision_config must be a list of at most two precisions");
  for (int64_t i = 0; i < a->n; i++) {
    const cel_hlo_attr *p = a->list[i];
    if (p->kind != CEL_HLO_ATTR_ENUM ||
        (strcmp(p->s, "DEFAULT") != 0 && strcmp(p->s, "HIGH") != 0 && strcmp(p->s, "HIGHEST") != 0))
      return cel_shape_fail(s, "precision_config[%d] must be DEFAULT, HIGH or HIGHEST", (int)i);
  }
  return CEL_OK;
}

static cel_status check_pairs(cel_shape *s, const char *what, const int64_t *a, int n_a, const int64_t *b, int n_b) {
  const cel_hlo_type *x = cel_shape_in(s, 0), *y = cel_shape_in(s, 1);
  if (n_a != n_b) return cel_shape_fail(s, "%d left and %d right %s dimensions", n_a, n_b, what);
  for (int i = 0; i < n_a; i++) {
    cel_shape_text tx, ty;
    if (x->dims[a[i]] != y->dims[b[i]])
      return cel_shape_fail(s, "%s dimensions %lld of %s and %lld of %s differ: %lld and %lld", what, (long long)a[i],
                            cel_shape_show(&tx, x), (long long)b[i], cel_shape_show(&ty, y), (long long)x->dims[a[i]],
                            (long long)y->dims[b[i]]);
  }
  return CEL_OK;
}

cel_status cel_rule_dot_general(cel_shape *s) {
  const cel_hlo_type *x = cel_shape_in(s, 0), *y = cel_shape_in(s, 1);
  int64_t xb[R], yb[R], xc[R], yc[R], dims[2 * R];
  int n_xb, n_yb, n_xc, n_yc, rank = 0;
  cel_shape_text a, b;
  if (x->etype != y->etype)
    return cel_shape_fail(s, "operands are %s and %s, their element types must be equal", cel_shape_show(&a, x),
                          cel_shape_show(&b, y));
  CEL_TRY(cel_shape_dims(s, "lhs_batching_dimensions", x->rank, xb, &n_xb));
  CEL_TRY(cel_shape_dims(s, "rhs_batching_dimensions", y->rank, yb, &n_yb));
  CEL_TRY(cel_shape_dims(s, "lhs_contracting_dimensions", x->rank, xc, &n_xc));
  CEL_TRY(cel_shape_dims(s, "rhs_contracting_dimensions", y->rank, yc, &n_yc));
  CEL_TRY(cel_shape_disjoint(s, "lhs_batching_dimensions", xb, n_xb, "lhs_contracting_dimensions", xc, n_xc));
  CEL_TRY(cel_shape_disjoint(s, "rhs_batching_dimensions", yb, n_yb, "rhs_contracting_dimensions", yc, n_yc));
  CEL_TRY(check_pairs(s, "batching", xb, n_xb, yb, n_yb));
  CEL_TRY(check_pairs(s, "contracting", xc, n_xc, yc, n_yc));
  CEL_TRY(check_precision(s));
  for (int i = 0; i < n_xb; i++) dims[rank++] = x->dims[xb[i]];
  for (int i = 0; i < x->rank; i++)
    if (!cel_shape_has(xb, n_xb, i) && !cel_shape_has(xc, n_xc, i)) dims[rank++] = x->dims[i];
  for (int i = 0; i < y->rank; i++)
    if (!cel_shape_has(yb, n_yb, i) && !cel_shape_has(yc, n_yc, i)) dims[rank++] = y->dims[i];
  return cel_shape_give_tensor(s, x->etype, rank, dims);
}

// Where the three kinds of dimensions of one operand (or the result) of a convolution are.
typedef struct conv_dims {
  int64_t first, second;  // batch and feature, or kernel input and output feature
  int64_t spatial[R];
} conv_dims;

static cel_status read_dims(cel_shape *s, const char *first, const char *second, const char *spatial, int rank,
                            conv_dims *d) {
  int n;
  CEL_TRY(cel_shape_int(s, first, 0, rank - 1, &d->first));
  CEL_TRY(cel_shape_int(s, second, 0, rank - 1, &d->second));
  CEL_TRY(cel_shape_dims(s, spatial, rank, d->spatial, &n));
  if (n != rank - 2) return cel_shape_fail(s, "%s has %d entries, it must have %d", spatial, n, rank - 2);
  if (d->first == d->second || cel_shape_has(d->spatial, n, d->first) || cel_shape_has(d->spatial, n, d->second))
    return cel_shape_fail(s, "%s, %s and %s must be distinct", first, second, spatial);
  return CEL_OK;
}

static cel_status check_groups(cel_shape *s, const conv_dims *in, const conv_dims *kernel, int64_t *batch_groups) {
  const cel_hlo_type *x = cel_shape_in(s, 0), *k = cel_shape_in(s, 1);
  int64_t groups;
  CEL_TRY(cel_shape_int_or(s, "feature_group_count", 1, 1, INT64_MAX, &groups));
  CEL_TRY(cel_shape_int_or(s, "batch_group_count", 1, 1, INT64_MAX, batch_groups));
  if (groups != 1 && *batch_groups != 1)
    return cel_shape_fail(s, "feature_group_count and batch_group_count are both greater than 1");
  int64_t batch = x->dims[in->first], features = x->dims[in->second];
  int64_t k_in = k->dims[kernel->first], k_out = k->dims[kernel->second];
  if (batch % *batch_groups || k_out % *batch_groups)
    return cel_shape_fail(s, "batch_group_count %lld must divide the batch (%lld) and the output features (%lld)",
                          (long long)*batch_groups, (long long)batch, (long long)k_out);
  if (features % groups || k_out % groups || k_in != features / groups)
    return cel_shape_fail(s, "%lld input features in %lld groups, a kernel of %lld input and %lld output features",
                          (long long)features, (long long)groups, (long long)k_in, (long long)k_out);
  return CEL_OK;
}

cel_status cel_rule_convolution(cel_shape *s) {
  const cel_hlo_type *x = cel_shape_in(s, 0), *k = cel_shape_in(s, 1);
  conv_dims in, kernel, out;
  int rank = x->rank, n = rank - 2;
  int64_t stride[R], low[R], high[R], x_dilation[R], k_dilation[R], reversal[R], batch_groups, dims[R] = {0};
  cel_shape_text a, b;
  if (rank < 2 || k->rank != rank || x->etype != k->etype)
    return cel_shape_fail(s, "operands are %s and %s, they must have one element type and one rank of at least 2",
                          cel_shape_show(&a, x), cel_shape_show(&b, k));
  CEL_TRY(read_dims(s, "input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions", rank, &in));
  CEL_TRY(read_dims(s, "kernel_input_feature_dimension", "kernel_output_feature_dimension",
                    "kernel_spatial_dimensions", rank, &kernel));
  CEL_TRY(read_dims(s, "output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions", rank, &out));
  CEL_TRY(cel_shape_ints_or(s, "window_strides", n, 1, 1, stride));
  CEL_TRY(cel_shape_padding(s, n, low, high));
  CEL_TRY(cel_shape_ints_or(s, "lhs_dilation", n, 1, 1, x_dilation));
  CEL_TRY(cel_shape_ints_or(s, "rhs_dilation", n, 1, 1, k_dilation));
  CEL_TRY(cel_shape_ints_or(s, "window_reversal", n, 0, 0, reversal));
  CEL_TRY(check_precision(s));
  CEL_TRY(check_groups(s, &in, &kernel, &batch_groups));
  dims[out.first] = x->dims[in.first] / batch_groups;
  dims[out.second] = k->dims[kernel.second];
  for (int i = 0; i < n; i++)
    CEL_TRY(cel_shape_windows(s, x->dims[in.spatial[i]], x_dilation[i], low[i], high[i], k->dims[kernel.spatial[i]],
                              k_dilation[i], stride[i], &dims[out.spatial[i]]));
  return cel_shape_give_tensor(s, x->etype, rank, dims);
}
