// Rules of operations that make or move elements.
#include <string.h>

#include "backend/xla/hlo/shape.h"
#include "base/checked.h"

enum { R = CEL_HLO_MAX_RANK };

static cel_status want_etype(cel_shape *s, const cel_hlo_type *got, cel_etype want) {
  cel_shape_text text;
  if (got->etype != want)
    return cel_shape_fail(s, "the result is %s, its element type must be %s", cel_shape_show(&text, got),
                          cel_etype_spelling(want));
  return CEL_OK;
}

cel_status cel_rule_constant(cel_shape *s) {
  const cel_hlo_attr *value = cel_hlo_find_attr(s->op, "value");
  if (!value || value->kind != CEL_HLO_ATTR_DENSE)
    return cel_shape_fail(s, "attribute value is missing or is not a dense literal");
  const cel_hlo_type *t = value->type;
  return cel_shape_give_tensor(s, t->etype, t->rank, t->dims);
}

cel_status cel_rule_iota(cel_shape *s) {
  int64_t d;
  return cel_shape_int(s, "iota_dimension", 0, R - 1, &d);
}

cel_status cel_check_iota(cel_shape *s) {
  const cel_hlo_type *y;
  int64_t d;
  CEL_TRY(cel_shape_declared(s, &y));
  if (y->rank == 0) return cel_shape_fail(s, "the result is a scalar, it needs a dimension");
  CEL_TRY(cel_shape_int(s, "iota_dimension", 0, y->rank - 1, &d));
  if (y->etype == CEL_ET_PRED) return cel_shape_fail(s, "the result is of i1, it must be of numbers");
  return CEL_OK;
}

cel_status cel_rule_bitcast(cel_shape *s) {
  (void)s;
  return CEL_OK;
}

// The wider side has no last dimension of parts, the narrower one has.
static bool splits(const cel_hlo_type *wide, const cel_hlo_type *narrow) {
  if (narrow->rank != wide->rank + 1) return false;
  for (int i = 0; i < wide->rank; i++)
    if (narrow->dims[i] != wide->dims[i]) return false;
  int64_t bits;
  return cel_mul_i64(narrow->dims[wide->rank], cel_etype_bits(narrow->etype), &bits) &&
         bits == cel_etype_bits(wide->etype);
}

cel_status cel_check_bitcast(cel_shape *s) {
  const cel_hlo_type *x = cel_shape_in(s, 0), *y;
  CEL_TRY(cel_shape_declared(s, &y));
  int from = cel_etype_bits(x->etype), to = cel_etype_bits(y->etype);
  bool fits = from == to ? cel_shape_same_dims(x, y) : from > to ? splits(x, y) : splits(y, x);
  cel_shape_text a, b;
  if ((cel_etype_class(x->etype) == 'C') != (cel_etype_class(y->etype) == 'C'))
    return cel_shape_fail(s, "from %s to %s: complex goes to complex only", cel_shape_show(&a, x),
                          cel_shape_show(&b, y));
  if (!fits)
    return cel_shape_fail(s, "from %s to %s: shapes must be equal for equal widths, else the narrower type has one "
                          "last dimension more, of the parts",
                          cel_shape_show(&a, x), cel_shape_show(&b, y));
  return CEL_OK;
}

cel_status cel_rule_broadcast_in_dim(cel_shape *s) {
  int64_t map[R];
  int n;
  CEL_TRY(cel_shape_dims(s, "broadcast_dimensions", R, map, &n));
  if (n != cel_shape_in(s, 0)->rank)
    return cel_shape_fail(s, "broadcast_dimensions has %d entries, the operand has rank %d", n,
                          cel_shape_in(s, 0)->rank);
  return CEL_OK;
}

cel_status cel_check_broadcast_in_dim(cel_shape *s) {
  const cel_hlo_type *x = cel_shape_in(s, 0), *y;
  int64_t map[R];
  int n;
  CEL_TRY(cel_shape_declared(s, &y));
  CEL_TRY(want_etype(s, y, x->etype));
  CEL_TRY(cel_shape_dims(s, "broadcast_dimensions", y->rank, map, &n));
  for (int i = 0; i < x->rank; i++) {
    cel_shape_text a, b;
    if (x->dims[i] != 1 && x->dims[i] != y->dims[map[i]])
      return cel_shape_fail(s, "dimension %d of %s goes to dimension %lld of %s: the sizes must be equal, or 1", i,
                            cel_shape_show(&a, x), (long long)map[i], cel_shape_show(&b, y));
  }
  return CEL_OK;
}

cel_status cel_rule_concatenate(cel_shape *s) {
  const cel_hlo_type *first = cel_shape_in(s, 0);
  int64_t d, dims[R];
  CEL_TRY(cel_shape_int(s, "dimension", 0, first->rank - 1, &d));
  memcpy(dims, first->dims, sizeof dims);
  for (int i = 1; i < s->op->n_operands; i++) {
    const cel_hlo_type *t = cel_shape_in(s, i);
    bool fits = t->etype == first->etype && t->rank == first->rank;
    for (int k = 0; fits && k < t->rank; k++) fits = k == d || t->dims[k] == first->dims[k];
    cel_shape_text a, b;
    if (!fits)
      return cel_shape_fail(s, "operand %d is %s, outside dimension %lld it must agree with %s", i,
                            cel_shape_show(&a, t), (long long)d, cel_shape_show(&b, first));
    if (!cel_add_i64(dims[d], t->dims[d], &dims[d])) return cel_shape_fail(s, "dimension %lld is too large", (long long)d);
  }
  return cel_shape_give_tensor(s, first->etype, first->rank, dims);
}

// Operands `first` and on are `rank` integer scalars of one type.
static cel_status check_starts(cel_shape *s, int first, int rank) {
  int n = s->op->n_operands - first;
  if (n != rank) return cel_shape_fail(s, "%d start indices for a rank of %d", n, rank);
  for (int i = first; i < s->op->n_operands; i++) {
    const cel_hlo_type *t = cel_shape_in(s, i);
    cel_shape_text text;
    if (t->rank || !cel_etype_is_int(t->etype))
      return cel_shape_fail(s, "start index %d is %s, it must be an integer scalar", i - first,
                            cel_shape_show(&text, t));
    CEL_TRY(cel_shape_same_type(s, first, i));
  }
  return CEL_OK;
}

cel_status cel_rule_dynamic_slice(cel_shape *s) {
  const cel_hlo_type *x = cel_shape_in(s, 0);
  int64_t sizes[R];
  CEL_TRY(check_starts(s, 1, x->rank));
  CEL_TRY(cel_shape_ints(s, "slice_sizes", x->rank, 0, sizes));
  for (int i = 0; i < x->rank; i++)
    if (sizes[i] > x->dims[i])
      return cel_shape_fail(s, "slice_sizes[%d] = %lld, dimension %d of the operand has %lld", i, (long long)sizes[i],
                            i, (long long)x->dims[i]);
  return cel_shape_give_tensor(s, x->etype, x->rank, sizes);
}

cel_status cel_rule_dynamic_update_slice(cel_shape *s) {
  const cel_hlo_type *x = cel_shape_in(s, 0), *update = cel_shape_in(s, 1);
  cel_shape_text a, b;
  bool fits = update->etype == x->etype && update->rank == x->rank;
  for (int i = 0; fits && i < x->rank; i++) fits = update->dims[i] <= x->dims[i];
  if (!fits)
    return cel_shape_fail(s, "the update is %s, it must be of the operand's element type and rank and no larger (%s)",
                          cel_shape_show(&a, update), cel_shape_show(&b, x));
  CEL_TRY(check_starts(s, 2, x->rank));
  return cel_shape_give(s, x);
}

cel_status cel_rule_get_dimension_size(cel_shape *s) {
  int64_t d;
  CEL_TRY(cel_shape_int(s, "dimension", 0, cel_shape_in(s, 0)->rank - 1, &d));
  return cel_shape_give_tensor(s, CEL_ET_I32, 0, NULL);
}

cel_status cel_rule_pad(cel_shape *s) {
  const cel_hlo_type *x = cel_shape_in(s, 0), *value = cel_shape_in(s, 1);
  int64_t low[R], high[R], interior[R], dims[R];
  const int64_t far = INT64_C(1) << 60;
  cel_shape_text text;
  if (value->rank || value->etype != x->etype)
    return cel_shape_fail(s, "the padding value is %s, it must be a scalar of %s", cel_shape_show(&text, value),
                          cel_etype_spelling(x->etype));
  CEL_TRY(cel_shape_ints(s, "edge_padding_low", x->rank, INT64_MIN, low));
  CEL_TRY(cel_shape_ints(s, "edge_padding_high", x->rank, INT64_MIN, high));
  CEL_TRY(cel_shape_ints(s, "interior_padding", x->rank, 0, interior));
  for (int i = 0; i < x->rank; i++) {
    int64_t gaps;
    if (!cel_mul_i64(x->dims[i] ? x->dims[i] - 1 : 0, interior[i], &gaps) || gaps > far || x->dims[i] > far ||
        low[i] > far || low[i] < -far || high[i] > far || high[i] < -far)
      return cel_shape_fail(s, "padding of dimension %d is too large", i);
    dims[i] = x->dims[i] + gaps + low[i] + high[i];
    if (dims[i] < 0) return cel_shape_fail(s, "padding of dimension %d leaves less than nothing", i);
  }
  return cel_shape_give_tensor(s, x->etype, x->rank, dims);
}

cel_status cel_rule_reshape(cel_shape *s) {
  (void)s;
  return CEL_OK;
}

cel_status cel_check_reshape(cel_shape *s) {
  const cel_hlo_type *x = cel_shape_in(s, 0), *y;
  CEL_TRY(cel_shape_declared(s, &y));
  CEL_TRY(want_etype(s, y, x->etype));
  cel_shape_text a, b;
  if (cel_hlo_elements(x) != cel_hlo_elements(y))
    return cel_shape_fail(s, "from %s (%lld elements) to %s (%lld): the numbers must be equal", cel_shape_show(&a, x),
                          (long long)cel_hlo_elements(x), cel_shape_show(&b, y), (long long)cel_hlo_elements(y));
  return CEL_OK;
}

cel_status cel_rule_reverse(cel_shape *s) {
  int64_t dims[R];
  int n;
  CEL_TRY(cel_shape_dims(s, "dimensions", cel_shape_in(s, 0)->rank, dims, &n));
  return cel_shape_give(s, cel_shape_in(s, 0));
}

cel_status cel_rule_slice(cel_shape *s) {
  const cel_hlo_type *x = cel_shape_in(s, 0);
  int64_t start[R], limit[R], stride[R], dims[R];
  CEL_TRY(cel_shape_ints(s, "start_indices", x->rank, 0, start));
  CEL_TRY(cel_shape_ints(s, "limit_indices", x->rank, 0, limit));
  CEL_TRY(cel_shape_ints_or(s, "strides", x->rank, 1, 1, stride));
  for (int i = 0; i < x->rank; i++) {
    if (start[i] > limit[i] || limit[i] > x->dims[i])
      return cel_shape_fail(s, "dimension %d: [%lld:%lld] of a size of %lld", i, (long long)start[i],
                            (long long)limit[i], (long long)x->dims[i]);
    int64_t n = limit[i] - start[i];
    dims[i] = n ? (n - 1) / stride[i] + 1 : 0;
  }
  return cel_shape_give_tensor(s, x->etype, x->rank, dims);
}

cel_status cel_rule_transpose(cel_shape *s) {
  const cel_hlo_type *x = cel_shape_in(s, 0);
  int64_t permutation[R], dims[R];
  int n;
  CEL_TRY(cel_shape_dims(s, "permutation", x->rank, permutation, &n));
  if (n != x->rank) return cel_shape_fail(s, "permutation has %d entries, the operand has rank %d", n, x->rank);
  for (int i = 0; i < n; i++) dims[i] = x->dims[permutation[i]];
  return cel_shape_give_tensor(s, x->etype, n, dims);
}
